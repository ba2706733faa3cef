//! Operations of a whole block: scan, reduction, exchange between thread orders, and ranks by digits.
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
//! Striped order suits loads and stores, blocked order suits scans. `ITEMS` is at most 32.
//!
//! ```
//! use cuda_std::{block, prelude::*};
//!
//! /// The sum of all values before each value, of one tile of 256 * 4.
//! #[kernel(launch_bounds(256))]
//! pub unsafe fn scan_tile(values: GlobalMut<u32>) {
//!     let memory = shared![u32; block::exchange_len::<4>(256)];
//!     let totals = shared![u32; block::scan_len(256)];
//!     let t = thread::thread_idx_x() as usize;
//!     let striped = core::array::from_fn(|k| values.get(k * 256 + t));
//!     let items = block::striped_to_blocked::<_, 256, 4>(striped, memory);
//!     let sum: u32 = items.iter().sum();
//!     let (mut before, _) = block::exclusive_scan::<_, 256>(sum, 0, totals, |a, b| a + b);
//!     let sums = items.map(|item| {
//!         let sum = before;
//!         before += item;
//!         sum
//!     });
//!     thread::sync_threads();
//!     let striped = block::blocked_to_striped::<_, 256, 4>(sums, memory);
//!     cuda_std::unrolled!(k < 4 => { values.set(k * 256 + t, striped[k]); });
//! }
//! ```

mod exchange;
mod rank;
mod scan;

pub use exchange::{blocked_to_striped, exchange_len, striped_to_blocked};
pub use rank::{DigitRanks, rank_digits, rank_len};
pub use scan::{exclusive_scan, inclusive_scan, reduce, scan_len};

use crate::thread;

/// Checks a block's number of threads as far as the compiler knows it.
const fn is_block(threads: usize) -> bool {
    threads > 0 && threads <= 1024 && threads.is_multiple_of(32)
}

/// Returns this thread's index in the block.
#[inline(always)]
fn index() -> usize {
    thread::linear_thread_idx() as usize
}
