//! `thread`.

use cuda_std::prelude::*;

#[kernel(launch_bounds(256, 2))]
pub unsafe fn places(results: GlobalMut<u32>) {
    let values = [
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
        thread::linear_thread_idx(),
        thread::warp_size(),
        u32::from(thread::first()),
    ];
    let mut sum = 0u32;
    for value in values {
        sum = sum.wrapping_mul(31).wrapping_add(value);
    }
    let mut i = thread::index_1d_wide();
    while i < results.len() {
        results.set(i, sum);
        i += thread::grid_stride();
    }
}

#[kernel]
pub unsafe fn barriers(results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let predicate = results.get(i);
    thread::sync_threads();
    let count = thread::sync_threads_count(predicate);
    let all = thread::sync_threads_and(predicate);
    let any = thread::sync_threads_or(predicate);
    results.set(i, count);
    thread::block_fence();
    results.set(i, all);
    thread::grid_fence();
    results.set(i, any);
    thread::device_fence();
    thread::nanosleep(predicate);
    thread::system_fence();
    results.set(i, 0);
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

#[cfg(feature = "vek")]
#[kernel]
pub unsafe fn vectors(results: GlobalMut<u32>) {
    let place =
        thread::thread_idx() + thread::block_idx() * thread::block_dim() + thread::grid_dim();
    let sum = place.sum() + thread::index_2d().sum() + thread::index_3d().sum();
    results.set(thread::index_1d_wide(), sum);
}
