//! Operations of a whole block: loads and stores of tiles, scan, reduction, exchange between thread orders, sort, ranks by
//! digits, and runs of equal neighbors.
//!
//! Every thread of a block of `THREADS` threads must call them, at one source line. `THREADS` is a multiple of 32 up to 1024,
//! and must be the block's size; threads are counted as [`thread::linear_thread_idx`] does. The caller passes the shared
//! memory that an operation needs, of the length that the `…_len` function beside it states. When a call returns, other
//! threads may still read there: put a barrier between it and the next use of that memory, by another call too.
//!
//! A tile's `THREADS * ITEMS` items are held by its threads in one of two orders:
//!
//! | order | item `k` of thread `t` is the tile's item |
//! | --- | --- |
//! | striped | `k * THREADS + t` |
//! | blocked | `t * ITEMS + k` |
//!
//! Striped order suits loads and stores, blocked order suits scans. `ITEMS` is 1 to 32. Tiles of a single warp need no shared
//! memory and no barriers: see [`warp`](crate::warp).
//!
//! | functions | what they do | shared memory | barriers |
//! | --- | --- | --- | --- |
//! | [`load_striped`], [`store_striped`], `…_part` | a tile from and to global memory | none | none |
//! | [`load_blocked`], [`store_blocked`], `…_part` | the same, in blocked order | [`exchange_len`] | 0 or 1 |
//! | [`striped_to_blocked`], [`blocked_to_striped`] | exchange | [`exchange_len`] | 1 |
//! | [`inclusive_scan`], [`exclusive_scan`], [`reduce`] | one value per thread, by any operator | [`scan_len`] | 1 |
//! | [`sort`], [`sort_pairs`], `…_to_striped` | a stable radix sort | [`exchange_len`], [`rank_len`] | 1, and 5 per digit |
//! | [`rank_digits`] | places of a stable sort by one digit | [`rank_len`] | 4 |
//! | [`run_heads`], [`run_tails`] | items that differ from a neighbor | one per thread | 1 |
//! | [`Runs::encode`], [`Runs::from_lengths`] | runs of items, or of given lengths | one per run, [`runs_len`] | 3 or 2 |
//! | [`Runs::decode`] | a window of the items of runs | that of the runs | none |
//!
//! Results are the same on every device, also those of floats: the order of operations in scans and reductions depends on
//! `THREADS` alone.
//!
//! ```
//! use cuda_std::{block, prelude::*};
//!
//! /// The sum of all values before each value, of one tile of 256 * 4.
//! #[kernel(launch_bounds(256))]
//! pub unsafe fn scan_tile(values: GlobalMut<u32>) {
//!     let memory = shared![u32; block::exchange_len::<4>(256)];
//!     let totals = shared![u32; block::scan_len(256)];
//!     let items = block::load_blocked::<_, 256, 4>(values, 0, memory);
//!     let sum: u32 = items.iter().sum();
//!     let (mut before, _) = block::exclusive_scan::<_, 256>(sum, 0, totals, |a, b| a + b);
//!     let sums = items.map(|item| {
//!         let sum = before;
//!         before += item;
//!         sum
//!     });
//!     thread::sync_threads();
//!     block::store_blocked::<_, 256, 4>(values, 0, sums, memory);
//! }
//! ```

mod exchange;
mod load;
mod rank;
mod runs;
mod scan;
mod sort;
mod ticket;

pub use crate::tile::TileSource;
pub use exchange::{blocked_to_striped, exchange_len, striped_to_blocked};
pub use load::{
    load_blocked, load_blocked_part, load_striped, load_striped_part, store_blocked,
    store_blocked_part, store_striped, store_striped_part,
};
pub use rank::{DigitRanks, rank_digits, rank_len};
pub use runs::{Runs, run_heads, run_tails, runs_len};
pub use scan::{exclusive_scan, inclusive_scan, reduce, scan_len};
pub use sort::{sort, sort_pairs, sort_pairs_to_striped, sort_to_striped};
pub use ticket::{is_last, is_last_named};

use crate::thread;

/// Checks a block's number of threads as far as the compiler knows it.
const fn is_block(threads: usize) -> bool {
    threads > 0 && threads <= 1024 && threads.is_multiple_of(32)
}

/// Checks the numbers of threads and of items per thread of a tile.
pub(crate) const fn is_tile(threads: usize, items: usize) -> bool {
    is_block(threads) && items > 0 && items <= 32
}

/// Returns this thread's index in the block.
#[inline(always)]
fn index() -> usize {
    thread::linear_thread_idx() as usize
}
