//! Operations of warps and blocks: `block`, and the scans of `warp`.

use cuda_std::{block, prelude::*, shared::DynamicShared, unrolled};

/// Packs an affine map `x -> factor * x + offset`, whose composition is associative and not commutative.
fn compose(first: u64, then: u64) -> u64 {
    let unpack = |both: u64| ((both >> 32) as u32, both as u32);
    let ((a, b), (c, d)) = (unpack(first), unpack(then));
    u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
}

/// Eight results for a thread: the warp's inclusive and exclusive scan and reduction; the block's inclusive scan and its
/// total; the exclusive scan and its total; the reduction. Exclusive scans start from `INITIAL`.
///
/// Launch: blocks of `THREADS`, shared memory of [`block::scan_len`] elements.
#[kernel(instances(t32: (32), t96: (96), t1024: (1024)))]
pub unsafe fn scans<const THREADS: usize>(values: Global<u64>, results: GlobalMut<u64>) {
    // SAFETY: the only one in this kernel.
    let memory = unsafe { DynamicShared::new() }.carve::<u64>(block::scan_len(THREADS));
    let i = thread::index_1d_wide();
    let value = values.get(i);
    let put = |at: usize, value| results.set(8 * i + at, value);
    put(0, warp::inclusive_scan(value, compose));
    put(1, warp::exclusive_scan(value, INITIAL, compose));
    put(2, warp::reduce(value, compose));
    let (inclusive, total) = block::inclusive_scan::<_, THREADS>(value, memory, compose);
    put(3, inclusive);
    put(4, total);
    thread::sync_threads();
    let (exclusive, total) = block::exclusive_scan::<_, THREADS>(value, INITIAL, memory, compose);
    put(5, exclusive);
    put(6, total);
    thread::sync_threads();
    put(7, block::reduce::<_, THREADS>(value, memory, compose));
}

/// The map before the first one in exclusive scans.
pub const INITIAL: u64 = 3 << 32 | 4;

/// Sorts the tile of 128 * 5 values of each block by bits 8 to 11, stable: ranks by digit, then an exchange. The values come
/// and go in striped order.
#[kernel(launch_bounds(128))]
pub unsafe fn sorts_by_digit(values: Global<u32>, results: GlobalMut<u32>) {
    let memory = shared![u32; block::exchange_len::<5>(128)];
    let counters = shared![u32; block::rank_len(128, 4)];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 640;
    let mut items = [0; 5];
    unrolled!(k < 5 => { items[k] = values.get(first + k * 128 + t); });
    let items = block::striped_to_blocked::<_, 128, 5>(items, memory);
    thread::sync_threads();
    // The order of `rank_digits` is by warp.
    unrolled!(k < 5 => { memory.set(5 * t + k, items[k]); });
    thread::sync_threads();
    let mut items = [0; 5];
    unrolled!(k < 5 => { items[k] = memory.get(t / 32 * 160 + k * 32 + t % 32); });
    let digits = [0, 1, 2, 3, 4].map(|k: usize| items[k] >> 8 & 15);
    let ranked = block::rank_digits::<128, 5, 4>(digits, counters);
    unrolled!(k < 5 => { memory.set(ranked.ranks[k] as usize, items[k]); });
    thread::sync_threads();
    let mut sorted = [0; 5];
    unrolled!(k < 5 => { sorted[k] = memory.get(5 * t + k); });
    thread::sync_threads();
    let sorted = block::blocked_to_striped::<_, 128, 5>(sorted, memory);
    unrolled!(k < 5 => { results.set(first + k * 128 + t, sorted[k]); });
}
