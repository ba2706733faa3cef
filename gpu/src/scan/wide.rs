//! `best` for sums of a wider type than the elements.
//!
//! ```text
//! block: tile = ticket
//!     copy the tile to shared memory, 16 bytes per load             (one by one where the array is not aligned)
//!     own = the sum of the thread's elements of all rows; total = the block's sum
//!     warp 0: before = the sum of the tiles before                  (it may wait for other blocks)
//!     for each four rows of the warp:
//!         sums[k] = the sum of the lane's elements of row k
//!         scan all four over the lanes; row k begins with the total of row k - 1
//!         for each row: add the lane's elements one by one, write their 16 bytes of results
//! ```
//!
//! A lane has 16 bytes of the results of a row, so that a warp writes 512 bytes that follow one another. The elements are read
//! from shared memory three times: in registers, as wide as the results, they would take up to eight times their bytes.

use cuda_std::{
    bf16, f16,
    prelude::*,
    scan::{Scan, Start, pieces::*},
    unrolled,
    view::Wide,
    warp::FULL_MASK,
};

use super::{
    ops::Sum,
    policy::{WIDE_BLOCK, WIDE_CHUNKS, WIDE_RESIDENT, WIDE_TILE_BYTES, wide_windows},
};
use crate::reduce::Element;

/// An element whose sums have the wider type `Out`.
pub trait Widen<Out>: Plain {
    /// Returns the element as an `Out`: the same number.
    fn wide(self) -> Out;
}

macro_rules! widen {
    ($($ty:ty => $out:ty: |$value:ident| $wide:expr;)*) => { $(
        impl Widen<$out> for $ty {
            #[inline(always)]
            fn wide(self) -> $out {
                let $value = self;
                $wide
            }
        }
    )* };
}
widen! {
    u8 => u32: |value| value.into();
    u8 => u64: |value| value.into();
    u16 => u32: |value| value.into();
    u16 => u64: |value| value.into();
    u32 => u64: |value| value.into();
    // The bits of an `i64`.
    i32 => u64: |value| i64::from(value) as u64;
    f16 => f32: |value| Element::widen(value);
    bf16 => f32: |value| Element::widen(value);
}

/// Calls `$callback!` with one row per instance: its suffix, the scan of the wide elements, and the type of the narrow ones.
macro_rules! with_wide_sums {
    ($callback:ident) => {
        $callback! {
            sum_u8_u32: (Sum<u32>, u8),
            sum_u8_u64: (Sum<u64>, u8),
            sum_u16_u32: (Sum<u32>, u16),
            sum_u16_u64: (Sum<u64>, u16),
            sum_u32_u64: (Sum<u64>, u32),
            sum_i32_i64: (Sum<u64>, i32),
            sum_f16_f32: (Sum<f32>, f16),
            sum_bf16_f32: (Sum<f32>, bf16),
        }
    };
}
pub(super) use with_wide_sums;

/// Scans the elements, each converted to the type of the results, in a single launch: `output[i]` is the initial prefix of
/// `start` combined with elements `0` to `i`, or with those before `i` for an exclusive scan.
///
/// Launch: a block of [`WIDE_BLOCK`] threads for each tile of [`WIDE_TILE_BYTES`] of elements; static shared memory of a tile,
/// of 16 bytes for each thread, and of 33 accumulators. Reads every element once and writes every result once.
///
/// Determinism: the same input gives the same bits, on every device and for every alignment.
///
/// # Safety
/// `output` has as many elements as `input` and does not overlap it. `control`, `statuses` and `batches` are those of
/// [`Workspace`](cuda_std::scan::Workspace) for [`wide_windows`], and launches that may run at the same time do not share them.
///
/// Source: ours, of the parts of [`scan_best`](super::scan_best).
#[kernel(launch_bounds(WIDE_BLOCK as u32, WIDE_RESIDENT), instances = with_wide_sums)]
pub unsafe fn scan_wide<R: Scan, T: Widen<R::In>>(
    input: Global<T>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    batches: GlobalMut<u64>,
    start: Start,
) {
    let launch = Launch {
        threads: WIDE_BLOCK,
        windows: const { wide_windows(size_of::<R::Acc>()) },
        control,
        statuses,
        batches,
    };
    match const { Wide::<R::In>::LEN } {
        2 => scan_tile_of::<R, T, 2>(launch, input, output, start),
        _ => scan_tile_of::<R, T, 4>(launch, input, output, start),
    }
}

/// The rows whose shuffles are under way at the same time.
const TOGETHER: usize = 4;

/// Scans the block's tile. `N` is the number of results in 16 bytes.
#[inline(always)]
#[track_caller]
fn scan_tile_of<R: Scan, T: Widen<R::In>, const N: usize>(
    launch: Launch,
    input: Global<T>,
    output: GlobalMut<R::In>,
    start: Start,
) {
    // Rows of a lane are added before those of the next one.
    const { assert!(R::COMMUTATIVE) };
    let (len, rows) = const {
        let len = WIDE_TILE_BYTES / size_of::<T>();
        assert!(len.is_multiple_of(WIDE_BLOCK * N * TOGETHER));
        (len, len / (WIDE_BLOCK * N))
    };
    let stage = shared![u32; WIDE_TILE_BYTES / 4];
    let exchange = shared![u32; WIDE_BLOCK * 4];
    let totals = shared![R::Acc; 33];
    // SAFETY: static shared memory starts at a multiple of 16 bytes.
    let (elements, exchange) = unsafe { (stage.cast::<T>(), exchange.cast::<R::In>()) };
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    let row_len = 32 * N;
    // The thread's first element of row 0 of the tile.
    let mine = warp * rows * row_len + lane * N;

    let ticket = launch.ticket();
    let first = ticket as u32 as usize * len;
    load(input, first, stage);
    thread::sync_threads();
    let mut own = R::IDENTITY;
    let mut r = 0;
    while r < rows {
        let values: [T; N] = elements.get_chunk(mine + r * row_len);
        unrolled!(i < N of 4 => { own = R::combine(own, R::load(values[i].wide())); });
        r += 1;
    }
    let total = R::lanes_total(own);
    if lane == 0 {
        totals.set(warp, total);
    }
    thread::sync_threads();
    if warp == 0 {
        let total = total_of_first::<R>(totals, 0, WIDE_BLOCK / 32);
        let before = launch.before::<R>(ticket, start.initial(R::IDENTITY), total);
        if lane == 0 {
            totals.set(32, before);
        }
    }
    let before = total_of_first::<R>(totals, 0, warp);
    thread::sync_threads();
    let before = R::combine(totals.get(32), before);

    let exclusive = start.is_exclusive();
    let is_wide = output.as_ptr().addr().is_multiple_of(16) && first + len <= output.len();
    // The prefix of the row, relative to the warp's first element.
    let mut row = R::IDENTITY;
    let mut r = 0;
    while r < rows {
        let at = mine + r * row_len;
        let mut sums = [R::IDENTITY; TOGETHER];
        unrolled!(k < TOGETHER of 4 => {
            let values: [T; N] = elements.get_chunk(at + k * row_len);
            unrolled!(i < N of 4 => { sums[k] = R::combine(sums[k], R::load(values[i].wide())); });
        });
        // The shuffles of one row do not wait for those of another.
        let sums = warp::inclusive_scan(sums, |a: [R::Acc; TOGETHER], b: [R::Acc; TOGETHER]| {
            let mut both = a;
            unrolled!(k < TOGETHER of 4 => { both[k] = R::combine(a[k], b[k]); });
            both
        });
        let below = warp::shuffle_up(FULL_MASK, sums, 1);
        let ends = warp::shuffle(FULL_MASK, sums, 31);
        unrolled!(k < TOGETHER of 4 => {
            let at = at + k * row_len;
            let relative = if lane == 0 { row } else { R::combine(row, below[k]) };
            row = R::combine(row, ends[k]);
            let mut prefix = R::combine(before, relative);
            let values: [T; N] = elements.get_chunk(at);
            let mut results = [R::store(prefix); N];
            unrolled!(i < N of 4 => {
                let next = R::combine(prefix, R::load(values[i].wide()));
                results[i] = R::store(if exclusive { prefix } else { next });
                prefix = next;
            });
            // The last one has no reader.
            let _ = prefix;
            if is_wide {
                output.set_chunk_streaming(first + at, results);
            } else {
                store(output, first + at - lane * N, exchange, results);
            }
        });
        r += TOGETHER;
    }
}

/// Copies a tile, whose first element is number `first`, to shared memory, with zeros past the end of the array. The whole
/// block must call this.
#[inline(always)]
#[track_caller]
fn load<T: Plain>(input: Global<T>, first: usize, stage: Shared<u32>) {
    let len = const { Wide::<T>::LEN };
    let tid = thread::thread_idx_x() as usize;
    // SAFETY: static shared memory starts at a multiple of 16 bytes.
    let elements = unsafe { stage.cast::<T>() };
    let end = input.len();
    if input.as_ptr().addr().is_multiple_of(16) {
        // SAFETY: the array starts at a multiple of 16 bytes.
        let words = unsafe { input.cast::<u32>() };
        let mut chunks = [[0; 4]; WIDE_CHUNKS];
        let chunk = |c: usize| c * WIDE_BLOCK + tid;
        unrolled!(c < WIDE_CHUNKS of 4 => {
            if first + (chunk(c) + 1) * len <= end {
                chunks[c] = words.get_chunk_streaming(4 * (first / len + chunk(c)));
            }
        });
        unrolled!(c < WIDE_CHUNKS of 4 => { stage.set_chunk(4 * chunk(c), chunks[c]); });
        if end - first < WIDE_CHUNKS * WIDE_BLOCK * len {
            // The thread that set the last chunk to zeros adds its elements.
            let mut i = (end - first) / len * len;
            if i / len % WIDE_BLOCK == tid {
                while first + i < end {
                    elements.set(i, input.get(first + i));
                    i += 1;
                }
            }
        }
        return;
    }
    // SAFETY: any bits are a value of a plain type.
    let zero: T = unsafe { core::mem::zeroed() };
    let mut round = 0;
    while round < WIDE_CHUNKS * len {
        // The loads of one element do not wait for those of another.
        let mut values = [zero; 8];
        let at = |k: usize| (round + k) * WIDE_BLOCK + tid;
        unrolled!(k < 8 => {
            if first + at(k) < end {
                values[k] = input.get(first + at(k));
            }
        });
        unrolled!(k < 8 => { elements.set(at(k), values[k]); });
        round += 8;
    }
}

/// Writes the results of a warp's row, as far as the array has places for them. Lanes exchange them, so that neighboring lanes
/// write neighboring results. `first` is the position of the row's first result. All lanes of the warp must call this.
#[inline(always)]
#[track_caller]
fn store<T: Plain, const N: usize>(
    output: GlobalMut<T>,
    first: usize,
    exchange: Shared<T>,
    results: [T; N],
) {
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    exchange.set_chunk(tid * N, results);
    // SAFETY: all lanes of the warp get here together.
    unsafe { warp::sync_warp(FULL_MASK) };
    unrolled!(i < N of 4 => {
        let at = i * 32 + lane;
        if first + at < output.len() {
            output.set_streaming(first + at, exchange.get(warp * 32 * N + at));
        }
    });
    // SAFETY: as above.
    unsafe { warp::sync_warp(FULL_MASK) };
}
