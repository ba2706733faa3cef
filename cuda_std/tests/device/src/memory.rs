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
pub unsafe fn chunks<T: Copy, const N: usize>(input: Global<T>, output: GlobalMut<T>) {
    let tile = shared![T; 1024];
    let t = thread::thread_idx_x() as usize * N;
    let i = thread::index_1d_wide() * N;
    tile.set_chunk(t, input.get_chunk::<N>(i));
    tile.set_chunk(t + N, input.skip(N).get_chunk_readonly::<N>(i));
    thread::sync_threads();
    output.set_chunk(i, tile.get_chunk::<N>(t));
    output.set_chunk_streaming(i + N, input.get_chunk_streaming::<N>(i));
    output.set_chunk_streaming(i + 2 * N, output.get_chunk_streaming::<N>(i));
}

#[kernel(instances(u8, u16, u32, u64, f32, f64, i32))]
pub unsafe fn elements<T: Copy>(input: Global<T>, output: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    if input.is_empty() || i >= output.len() {
        return;
    }
    output.set(i, input.get(i));
    output.set_streaming(i + 1, input.get_streaming(i));
    output.set(i + 2, input.get_readonly(i));
    output.set(i + 3, output.get_streaming(i));
    // SAFETY: the address is that of the first element.
    output.set(i + 4, unsafe { input.as_ptr().read() });
}

#[kernel]
pub unsafe fn dynamic(results: GlobalMut<u64>, n: usize) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let bytes = memory.carve::<u8>(n);
    let longs = memory.carve::<u64>(n);
    let t = thread::thread_idx_x() as usize;
    bytes.set(t, t as u8);
    longs.set(t, 1);
    thread::sync_threads();
    let layout = SharedLayout::new().array::<u8>(n).array::<u64>(n);
    let raw = dynamic_shared_mem::<u8>();
    let raw_static = shared_array![u32; 32];
    // SAFETY: the launch gives `layout`'s bytes and 32 threads.
    let first = unsafe {
        raw_static.add(t).write(raw.add(t).read().into());
        raw_static.add(31 - t).read()
    };
    results.set(
        t,
        u64::from(bytes.get(n - 1 - t)) + longs.get(t) + u64::from(first),
    );
    results.set(t + 32, layout.bytes() as u64);
    results.set(
        t + 64,
        u64::from(mem::dynamic_smem_size()) + u64::from(mem::total_smem_size()),
    );
}

#[kernel]
pub unsafe fn address_spaces(results: GlobalMut<u64>) {
    let tile = shared![u32; 64];
    let mut at = 0;
    let spaces = [
        AddressSpace::Global,
        AddressSpace::Shared,
        AddressSpace::Constant,
        AddressSpace::Local,
    ];
    for space in spaces {
        // SAFETY: only the addresses are looked at.
        unsafe {
            let shared = u64::from(ptr::is_in_address_space(tile.as_ptr(), space));
            let global = u64::from(ptr::is_in_address_space(results.as_ptr(), space));
            let unknown = u64::from(ptr::is_in_address_space(
                results.get(at) as *const u8,
                space,
            ));
            results.set(at, shared + 2 * global + 4 * unknown);
            let there = ptr::convert_generic_to_specific_address_space(tile.as_ptr(), space);
            results.set(at + 1, there as u64);
            let back = ptr::convert_specific_address_space_to_generic(there, space);
            results.set(at + 2, back as u64);
        }
        at += 3;
    }
}
