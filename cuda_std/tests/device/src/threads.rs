//! `thread`.

use cuda_std::prelude::*;

/// What a lane of [`places`] writes.
pub const PLACES: usize = 19;

/// Where every lane is: [`PLACES`] results for each, in the order of [`thread::index`].
#[kernel(launch_bounds(256, 2))]
pub unsafe fn places(results: GlobalMut<u32>) {
    let values: [u32; PLACES] = [
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
        thread::index(),
        thread::index_1d(),
        thread::index_1d_wide() as u32,
        thread::grid_stride() as u32,
        thread::linear_thread_idx(),
        thread::warp_size(),
        u32::from(thread::first()),
    ];
    let first = thread::index() as usize * PLACES;
    for (at, value) in values.into_iter().enumerate() {
        results.set(first + at, value);
    }
}

/// Four results for a lane: what the barriers tell of the predicates of the block's lanes, and the number
/// that another lane of the block, of another warp, has left in shared memory.
#[kernel(launch_bounds(256))]
pub unsafe fn barriers(predicates: Global<u32>, results: GlobalMut<u32>) {
    let left = shared![u32; 256];
    let i = thread::index_1d_wide();
    let t = thread::thread_idx_x() as usize;
    let predicate = predicates.get(i);
    results.set(4 * i, thread::sync_threads_count(predicate));
    results.set(4 * i + 1, thread::sync_threads_and(predicate));
    results.set(4 * i + 2, thread::sync_threads_or(predicate));
    left.set(t, i as u32);
    thread::sync_threads();
    results.set(4 * i + 3, left.get((t + 101) % 256));
}

/// Fences, in this order; and a sleep.
#[kernel]
pub unsafe fn fences_and_sleep(values: GlobalMut<u32>) {
    values.set(0, 1);
    thread::block_fence();
    values.set(0, 2);
    thread::grid_fence();
    values.set(0, 3);
    thread::device_fence();
    values.set(0, 4);
    thread::system_fence();
    values.set(0, 5);
    thread::nanosleep(values.get(1));
    values.set(0, 6);
}

/// A barrier between two branches on the same condition, which a compiler might put into both arms of one.
#[kernel]
pub unsafe fn barrier_between_branches(results: GlobalMut<u32>, few: u32) {
    let tile = shared![u32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0;
    if (t as u32) < few {
        let mut i = t;
        while i < results.len() {
            sum += results.get(i);
            i += 7;
        }
    }
    tile.set(t, sum);
    thread::sync_threads();
    if t < 32 && (t as u32) < few {
        results.set(t, tile.get(t) + tile.get(t + 32));
    }
}

/// Seventeen results for a lane, in the order of [`thread::index`].
#[cfg(feature = "vek")]
#[kernel]
pub unsafe fn vectors(results: GlobalMut<u32>) {
    let first = thread::index() as usize * 17;
    let vectors = [
        thread::thread_idx(),
        thread::block_idx(),
        thread::block_dim(),
        thread::grid_dim(),
        thread::index_3d(),
    ];
    for (at, vector) in vectors.into_iter().enumerate() {
        results.set(first + 3 * at, vector.x);
        results.set(first + 3 * at + 1, vector.y);
        results.set(first + 3 * at + 2, vector.z);
    }
    let flat = thread::index_2d();
    results.set(first + 15, flat.x);
    results.set(first + 16, flat.y);
}

/// Two named barriers: each half of a block of 128 reverses its values by itself.
#[kernel(launch_bounds(128))]
pub unsafe fn named_barriers(values: Global<u32>, results: GlobalMut<u32>) {
    let tile = shared![u32; 128];
    let i = thread::index_1d_wide();
    let t = thread::thread_idx_x() as usize;
    tile.set(t, values.get(i));
    thread::sync_threads_named(1 + t as u32 / 64, 64);
    results.set(i, tile.get(t ^ 63));
}
