//! Indices, grids and the order of lanes on the CPU executor.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, unchecked};
use cuda_std::{
    cpu::Order,
    kernel::{Kernel, LaunchConfig, RawParam},
    mem,
    prelude::*,
    ptr::{self, AddressSpace},
};

#[kernel]
pub unsafe fn where_am_i(results: GlobalMut<u32>) {
    let i = thread::index() as usize;
    let place = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
        thread::linear_thread_idx(),
        warp::lane_id(),
        warp::warp_id(),
        u32::from(thread::first()),
    ];
    for (k, value) in place.into_iter().enumerate() {
        results.set(i * 16 + k, value);
    }
}

#[test]
fn every_lane_knows_where_it_is() {
    let (grid, block) = ([3u32, 2, 5], [5u32, 4, 3]);
    let config = LaunchConfig {
        grid,
        block,
        shared_bytes: 0,
    };
    let threads = 60;
    let mut results = vec![u32::MAX; 30 * threads * 16];
    Args::new()
        .view(&mut results)
        .launch::<WhereAmI>(config)
        .unwrap();
    let mut i = 0;
    for b in 0..30u32 {
        for t in 0..threads as u32 {
            let expected = [
                t % 5,
                t / 5 % 4,
                t / 20,
                b % 3,
                b / 3 % 2,
                b / 6,
                5,
                4,
                3,
                3,
                2,
                5,
                t,
                t % 32,
                t / 32,
                u32::from(b == 0 && t == 0),
            ];
            assert_eq!(results[i * 16..][..16], expected, "block {b}, lane {t}");
            i += 1;
        }
    }
}

#[kernel]
pub unsafe fn doubles(values: GlobalMut<u32>) {
    let mut i = thread::index_1d_wide();
    assert_eq!(i, thread::index_1d() as usize);
    while i < values.len() {
        values.set(i, values.get(i) * 2);
        i += thread::grid_stride();
    }
}

#[test]
fn grid_stride_loops_cover_odd_sizes_once() {
    for n in [0usize, 1, 2, 31, 32, 33, 255, 256, 257, 1009, 10_007] {
        for (blocks, threads) in [(1, 1), (1, 32), (3, 33), (7, 128)] {
            let mut values: Vec<u32> = (0..n as u32).collect();
            let config = LaunchConfig::linear(blocks, threads);
            Args::new()
                .view(&mut values)
                .launch::<Doubles>(config)
                .unwrap();
            assert!(
                values.iter().enumerate().all(|(i, v)| *v == 2 * i as u32),
                "{n}, {config:?}"
            );
        }
    }
}

#[kernel]
pub unsafe fn block_sums(values: Global<u32>, sums: GlobalMut<u32>) {
    let partials = shared![u32; 256];
    let t = thread::thread_idx_x() as usize;
    partials.set(t, values.get(thread::index_1d_wide()));
    thread::sync_threads();
    let mut width = 128;
    while width > 0 {
        if t < width {
            partials.set(t, partials.get(t) + partials.get(t + width));
        }
        thread::sync_threads();
        width /= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x() as usize, partials.get(0));
    }
}

#[kernel]
pub unsafe fn racy(values: GlobalMut<u32>) {
    // No barrier between the write of one lane and the read of another.
    let slot = shared![u32; 64];
    let t = thread::thread_idx_x() as usize;
    slot.set(t, t as u32);
    values.set(t, slot.get((t + 1) % 64));
}

#[test]
fn a_correct_kernel_is_the_same_in_every_order_and_a_racy_one_is_not() {
    let mut values: Vec<u32> = (0..256 * 5).map(|i| i * i).collect();
    let expected: Vec<u32> = values.chunks(256).map(|block| block.iter().sum()).collect();
    for order in ORDERS {
        let mut sums = vec![0; 5];
        Args::new()
            .view(&mut values)
            .view(&mut sums)
            .launch_in::<BlockSums>(LaunchConfig::linear(5, 256), order)
            .unwrap();
        assert_eq!(sums, expected, "{order:?}");
    }

    let run = |order| {
        let mut values = vec![0; 64];
        Args::new()
            .view(&mut values)
            .launch_with::<Racy>(block(64), unchecked(order))
            .unwrap();
        values
    };
    let results: Vec<Vec<u32>> = ORDERS.into_iter().map(run).collect();
    for (i, a) in results.iter().enumerate() {
        for b in &results[..i] {
            assert_ne!(a, b, "the race does not show");
        }
    }
    // Each order is itself reproducible.
    assert_eq!(run(Order::Seeded(42)), run(Order::Seeded(42)));
}

#[kernel]
pub unsafe fn fresh_shared(results: GlobalMut<u32>) {
    let cell = shared![u32; 1];
    let b = thread::block_idx_x() as usize;
    results.set(b, cell.get(0));
    cell.set(0, 7);
}

#[test]
fn shared_memory_never_holds_what_an_earlier_block_left() {
    let mut results = vec![0u32; 50];
    Args::new()
        .view(&mut results)
        .launch_with::<FreshShared>(LaunchConfig::linear(50, 1), unchecked(Order::Forward))
        .unwrap();
    // Undefined is a pattern that is no use as a value, not zero.
    assert_eq!(results, vec![0xA5A5_A5A5; 50]);
}

#[kernel]
pub unsafe fn two_arrays(results: GlobalMut<usize>) {
    let mut sum = 0;
    for _ in 0..3 {
        // The same place in the source is the same array.
        sum += shared_array![f64; 4].addr();
    }
    results.set(0, sum);
    results.set(1, shared_array![f64; 4].addr());
    results.set(2, mem::total_smem_size() as usize);
    results.set(3, mem::dynamic_smem_size() as usize);
    let value = 1u32;
    let first = shared_array![u8; 16];
    // SAFETY: pointers to live memory.
    unsafe {
        let kinds = [
            AddressSpace::Global,
            AddressSpace::Shared,
            AddressSpace::Local,
            AddressSpace::Constant,
        ];
        for (k, kind) in kinds.into_iter().enumerate() {
            let bits = usize::from(ptr::is_in_address_space(first, kind))
                | usize::from(ptr::is_in_address_space(&raw const value, kind)) << 1
                | usize::from(ptr::is_in_address_space(results.as_ptr(), kind)) << 2
                | usize::from(ptr::is_in_address_space(
                    cuda_std::shared::dynamic_shared_mem::<u32>(),
                    kind,
                )) << 3;
            results.set(4 + k, bits);
        }
        let there = ptr::convert_generic_to_specific_address_space(first, AddressSpace::Shared);
        let back = ptr::convert_specific_address_space_to_generic(there, AddressSpace::Shared);
        results.set(8, usize::from(core::ptr::eq(back, first)));
    }
}

#[test]
fn shared_arrays_belong_to_their_place_in_the_source() {
    let mut results = vec![0usize; 9];
    Args::new()
        .view(&mut results)
        .launch::<TwoArrays>(block(1).with_shared(100))
        .unwrap();
    assert_eq!(results[0] % 3, 0);
    assert_ne!(results[0] / 3, results[1]);
    assert_eq!(results[0] / 3 % 16, 0);
    assert_eq!(results[2..4], [100 + 64, 100]);
    assert_eq!(results[4..], [0b0100, 0b1001, 0b0010, 0, 1]);
}

#[kernel(launch_bounds(64, 3), instances(f32, wide: (f64)))]
pub unsafe fn described<T: Copy>(
    _input: Global<T>,
    _output: GlobalMut<T>,
    _n: u32,
    _scale: [f32; 2],
) {
}

#[kernel(launch_bounds(32 * N, size_of::<T>() as u32), instances(small: (u8, 1), large: (f64, 4)))]
pub unsafe fn bounded<T: Copy, const N: u32>(_input: Global<T>) {}

#[test]
fn every_instance_has_its_own_launch_bounds() {
    let bounds = [Bounded::<u8, 1>::DESCRIPTOR, Bounded::<f64, 4>::DESCRIPTOR]
        .map(|it| (it.max_threads, it.min_blocks));
    assert_eq!(bounds, [(32, 1), (128, 8)]);
}

#[test]
fn descriptors_say_what_a_launch_needs() {
    let narrow = Described::<f32>::DESCRIPTOR;
    let wide = Described::<f64>::DESCRIPTOR;
    assert_eq!(
        (narrow.name, wide.name),
        ("described__f32", "described__wide")
    );
    assert_eq!(
        (narrow.max_threads, narrow.min_blocks, narrow.raw_params()),
        (64, 3, 6)
    );
    assert_eq!(narrow.param_names, ["_input", "_output", "_n", "_scale"]);
    let word = RawParam { size: 8, align: 8 };
    let expected: [&[RawParam]; 4] = [
        &[word, word],
        &[word, word],
        &[RawParam { size: 4, align: 4 }],
        &[RawParam { size: 8, align: 4 }],
    ];
    assert_eq!(narrow.params, expected);
}
