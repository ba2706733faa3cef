//! `view`, `shared`, `mem`, `ptr`, `constant`.

use cuda_std::{
    constant, mem,
    prelude::*,
    ptr::{self, AddressSpace},
    shared::{DynamicShared, SharedLayout, dynamic_shared_mem},
};

constant! {
    /// Weights.
    pub static DEVICE_TEST_WEIGHTS: [f32; 64];
    /// A table whose size is no multiple of 4.
    pub static DEVICE_TEST_BYTES: [u8; 7];
}

#[kernel]
pub unsafe fn constants(results: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    let sum = DEVICE_TEST_WEIGHTS.get(i % DEVICE_TEST_WEIGHTS.len())
        + DEVICE_TEST_WEIGHTS.get(3)
        + f32::from(DEVICE_TEST_BYTES.get(i % 7));
    results.set(i, sum);
}

#[kernel(instances(
    b1: (u8, 1), b2: (u8, 2), b4: (u8, 4), b8: (u8, 8), b16: (u8, 16),
    h1: (u16, 1), h8: (u16, 8), w1: (u32, 1), w2: (u32, 2), w4: (u32, 4), f4: (f32, 4),
    l1: (u64, 1), l2: (u64, 2), d2: (f64, 2), q1: (u128, 1), odd: (u32, 3)
))]
pub unsafe fn chunks<T: Plain, const N: usize>(input: Global<T>, output: GlobalMut<T>) {
    // Lane `t` moves chunks 4 t to 4 t + 3, each in another way, and has neighbours read them.
    let tile = shared![T; 1024];
    let lanes = thread::block_dim_x() as usize;
    let t = thread::thread_idx_x() as usize;
    let first = 4 * t * N;
    let (plain, readonly) = (
        input.get_chunk::<N>(first),
        input.skip(N).get_chunk_readonly::<N>(first),
    );
    tile.set_chunk(2 * t * N, plain);
    tile.set_chunk((2 * t + 1) * N, readonly);
    thread::sync_threads();
    let other = lanes - 1 - t;
    output.set_chunk(4 * other * N, tile.get_chunk::<N>(2 * other * N));
    output.set_chunk_streaming(
        (4 * other + 1) * N,
        tile.get_chunk::<N>((2 * other + 1) * N),
    );
    output.set_chunk_streaming(first + 2 * N, input.get_chunk_streaming::<N>(first + 2 * N));
    output.set_chunk(first + 3 * N, input.get_chunk::<N>(first + 3 * N));
    // What the lane has written itself.
    output.set_chunk(
        (4 * lanes + t) * N,
        output.get_chunk_streaming::<N>(first + 2 * N),
    );
}

#[kernel(instances(u8, u16, u32, u64, f32, f64, i32))]
pub unsafe fn elements<T: Copy>(input: Global<T>, output: GlobalMut<T>) {
    let i = 6 * thread::index_1d_wide();
    if input.is_empty() || i >= output.len() {
        return;
    }
    output.set(i, input.get(i));
    output.set_streaming(i + 1, input.get_streaming(i + 1));
    output.set(i + 2, input.get_readonly(i + 2));
    // SAFETY: the address is that of the first element, and the input is as long as the output.
    output.set(i + 3, unsafe { input.as_ptr().add(i + 3).read() });
    output.set(i + 4, input.get(i + 4));
    output.set(i + 5, output.get_streaming(i + 4));
}

#[kernel]
pub unsafe fn dynamic(results: GlobalMut<u64>, n: usize) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let bytes = memory.carve::<u8>(n);
    let longs = memory.carve::<u64>(n);
    let t = thread::thread_idx_x() as usize;
    bytes.set(t, t as u8);
    longs.set(t, 1000 * t as u64);
    thread::sync_threads();
    let layout = SharedLayout::new().array::<u8>(n).array::<u64>(n);
    let raw = dynamic_shared_mem::<u8>();
    let raw_static = shared_array![u32; 32];
    // SAFETY: the launch gives `layout`'s bytes and 32 threads.
    unsafe { raw_static.add(t).write(raw.add(t).read().into()) };
    thread::sync_threads();
    // SAFETY: as above.
    let first = unsafe { raw_static.add(31 - t).read() };
    results.set(
        t,
        u64::from(bytes.get(n - 1 - t)) + longs.get(t ^ 1) + (u64::from(first) << 32),
    );
    results.set(t + 32, layout.bytes() as u64);
    results.set(t + 64, mem::dynamic_smem_size().into());
    results.set(t + 96, mem::total_smem_size().into());
}

/// The kinds of memory, in the order of the results of [`address_spaces`].
pub const SPACES: [AddressSpace; 4] = [
    AddressSpace::Global,
    AddressSpace::Shared,
    AddressSpace::Constant,
    AddressSpace::Local,
];

/// For each of [`SPACES`] whether it holds a shared array (1), this kernel's results (2), a variable (4) and
/// a pointer that is given (8), in one number. Then for a given pointer, a shared array and a variable how far the
/// pointer is from what comes back from its conversion there and back, what is read through that, and whether
/// it was a small number in between.
#[kernel]
pub unsafe fn address_spaces(results: GlobalMut<u64>, unknown: Global<u32>) {
    let tile = shared![u32; 64];
    let mut variable = 77_u32;
    // The compiler must not keep it in a register.
    let local = core::hint::black_box(&raw mut variable).cast_const();
    tile.set(0, 99);
    let given = core::hint::black_box(unknown.as_ptr());
    for (at, space) in SPACES.into_iter().enumerate() {
        // SAFETY: all are live.
        let holds = unsafe {
            u64::from(ptr::is_in_address_space(tile.as_ptr(), space))
                + 2 * u64::from(ptr::is_in_address_space(results.as_ptr(), space))
                + 4 * u64::from(ptr::is_in_address_space(local, space))
                + 8 * u64::from(ptr::is_in_address_space(given, space))
        };
        results.set(at, holds);
    }
    let convert = |at: usize, pointer: *const u32, space: AddressSpace| {
        // SAFETY: the pointer is to a live number of this kind of memory.
        unsafe {
            let there = ptr::convert_generic_to_specific_address_space(pointer, space);
            let back = ptr::convert_specific_address_space_to_generic(there, space);
            results.set(at, (back.addr() as u64).wrapping_sub(pointer.addr() as u64));
            results.set(at + 1, back.read().into());
            results.set(at + 2, u64::from((there.addr() as u64) < 1 << 32));
        }
    };
    convert(4, given, AddressSpace::Global);
    convert(7, tile.as_ptr(), AddressSpace::Shared);
    convert(10, local, AddressSpace::Local);
}

/// Elements of the arrays of [`three_arrays`].
pub const THREE_LENGTHS: [usize; 3] = [1000, 300, 500];

/// Their layout: `f32`, `i32`, `f32`.
pub const THREE_ARRAYS: SharedLayout = SharedLayout::new()
    .array::<f32>(THREE_LENGTHS[0])
    .array::<i32>(THREE_LENGTHS[1])
    .array::<f32>(THREE_LENGTHS[2]);

/// Adds neighbours, and a number that has come by way of an array of another type:
/// `output[i] = input[2 i] + input[2 i + 1] + i % 300`.
///
/// Launch: one block of any size, with the bytes of [`THREE_ARRAYS`].
///
/// # Safety
/// `input` has 1000 elements, `output` 500.
#[kernel(launch_bounds(1024), dynamic_shared(THREE_ARRAYS.bytes()))]
pub unsafe fn three_arrays(input: Global<f32>, output: GlobalMut<f32>) {
    // SAFETY: the only one in this kernel; the launch gives what the layout takes.
    let mut memory = unsafe { DynamicShared::new() };
    let values = memory.carve::<f32>(THREE_LENGTHS[0]);
    let numbers = memory.carve::<i32>(THREE_LENGTHS[1]);
    let sums = memory.carve::<f32>(THREE_LENGTHS[2]);
    let (first, stride) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let mut i = first;
    while i < values.len() {
        values.set(i, input.get(i));
        i += stride;
    }
    let mut i = first;
    while i < numbers.len() {
        numbers.set(i, i as i32);
        i += stride;
    }
    thread::sync_threads();
    let mut i = first;
    while i < sums.len() {
        sums.set(i, values.get(2 * i) + values.get(2 * i + 1));
        i += stride;
    }
    thread::sync_threads();
    let mut i = first;
    while i < sums.len() {
        output.set(i, sums.get(i) + numbers.get(i % numbers.len()) as f32);
        i += stride;
    }
}

/// The layout of [`hand_laid`]: 64 bytes, then 64 doubles.
pub const HAND_LAID: SharedLayout = match SharedLayout::new().array_at::<f64>(64, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("64 is a multiple of 8"),
};

/// Reverses numbers by way of two arrays, of which the second begins at byte `offset`.
///
/// # Safety
/// 64 threads, 64 elements, the bytes of [`HAND_LAID`]; `offset` is 64.
#[kernel(dynamic_shared(HAND_LAID.bytes()))]
pub unsafe fn hand_laid(output: GlobalMut<f64>, offset: usize) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let bytes = memory.carve::<u8>(64);
    // SAFETY: by the contract.
    let doubles = unsafe { memory.carve_at::<f64>(offset, 64) };
    let t = thread::thread_idx_x() as usize;
    bytes.set(t, t as u8);
    doubles.set(t, 1.5);
    thread::sync_threads();
    output.set(t, f64::from(bytes.get(63 - t)) * doubles.get(63 - t));
}

/// Element 0 of shared memory at a constant index, written and read: `results[i] = values[block]`.
#[kernel]
pub unsafe fn first_of_shared(values: Global<u32>, results: GlobalMut<u32>) {
    let first = shared![u32; 1];
    let pair = shared![u64; 2];
    if thread::thread_idx_x() == 0 {
        first.set(0, values.get(thread::block_idx_x() as usize));
        pair.set_chunk(0, [1_u64, 2]);
    }
    thread::sync_threads();
    let [one, two] = pair.get_chunk::<2>(0);
    let sum = first.get(0) + (one + two) as u32 - 3;
    results.set(thread::index_1d_wide(), sum);
}
