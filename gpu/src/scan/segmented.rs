//! Scans of segments, and what says where segments begin.

use cuda_std::{
    bf16, f16,
    map::{First, Passed, Second},
    prelude::*,
    scan::{Scan, Start, THREADS, pieces::first_chunk, scan_segmented_tiles},
    select::{Arguments, Neighbors, Predicate, is_selected, is_selected_after},
    unrolled,
    view::Wide,
};

use super::{
    instances::with_scans,
    ops::*,
    policy::{KEY_CHUNKS, KEY_GROUP, Policy},
};
use crate::{
    reduce::{Max, Min},
    segments::with_keys,
    select::predicates::Changed,
    tuning::shipped,
};

/// Scans segments in a single launch, with a block per tile. A bit of `heads` for each element says whether a segment begins
/// there.
///
/// Launch: a block of [`Policy::threads`] threads for each tile of [`Policy::tile_bytes`]. Static shared memory of 33
/// accumulators with a flag each. If an array does not start at a multiple of 16 bytes, dynamic shared memory of a tile. Reads
/// every element and every bit once, and writes every result once.
///
/// Determinism: the same input gives the same bits, on every device and for every alignment.
///
/// # Safety
/// The contract of [`scan_segmented_tiles`] must hold.
#[kernel(
    launch_bounds(
        shipped::<Policy, R::In>().of_segments().threads as u32,
        shipped::<Policy, R::In>().of_segments().resident[0]
    ),
    instances = with_scans
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn scan_segmented<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    heads: Global<u32>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    batches: GlobalMut<u64>,
    start: Start,
) {
    let (threads, windows) = const {
        let row = shipped::<Policy, R::In>().of_segments();
        (row.threads, row.windows)
    };
    scan_segmented_tiles::<R>(
        threads, windows, input, output, heads, control, statuses, batches, start,
    );
}

/// Sets the bit of each offset that is below `elements`. An offset is 1 or 2 words, the low bits first.
///
/// Launch: a thread per offset, or more, in blocks of 256. Reads every offset once. The lanes of a warp whose bits are in one
/// word write it together.
///
/// # Safety
/// The offsets do not fall. `heads` has a bit for each of `elements` elements.
#[kernel(launch_bounds(THREADS as u32))]
pub unsafe fn scan_heads_of_offsets(
    offsets: Global<u32>,
    per_offset: u32,
    elements: usize,
    heads: GlobalMut<u32>,
) {
    /// What stands for no word.
    const NONE: u32 = u32::MAX;
    let i = thread::index_1d_wide();
    let mut own = [NONE, 0];
    if i < offsets.len() / per_offset as usize {
        let offset = if per_offset == 1 {
            offsets.get(i) as usize
        } else {
            let [low, high] = offsets.get_chunk(2 * i);
            (u64::from(high) << 32 | u64::from(low)) as usize
        };
        if offset < elements {
            own = [(offset / 32) as u32, 1 << (offset % 32)];
        }
    }
    let [word, bits] = warp::inclusive_scan(own, |before: [u32; 2], next: [u32; 2]| {
        let same = if before[0] == next[0] { before[1] } else { 0 };
        [next[0], next[1] | same]
    });
    let next = warp::shuffle_down(warp::FULL_MASK, word, 1);
    if word != NONE && (warp::lane_id() == 31 || next != word) {
        heads.atomic_or(word as usize, bits);
    }
}

/// Writes a bit for each of `elements` elements: whether it is the first of `width`.
///
/// Launch: a thread per word of `heads`, or more, in blocks of 256. Writes every word once.
///
/// # Safety
/// `width` is not 0, and `heads` has a bit for each element.
#[kernel(launch_bounds(THREADS as u32))]
pub unsafe fn scan_heads_of_rows(width: usize, elements: usize, heads: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let first = 32 * i;
    if first >= elements {
        return;
    }
    let mut at = first.next_multiple_of(width);
    let mut bits = 0;
    while at < elements && at - first < 32 {
        bits |= 1 << (at - first);
        at += width;
    }
    heads.set(i, bits);
}

/// Writes a bit for each key: whether it differs from the one before. If `counts` has elements, writes to `counts[g]` how many
/// of the [`KEY_GROUP`] keys from key `g * KEY_GROUP` on do.
///
/// Launch: blocks of 256 threads, [`KEY_CHUNKS`] times 16 bytes of keys for each thread, for as many keys as there are and
/// groups of `counts` have; static shared memory of 8 words. Reads every key once, the first of each 16 bytes and the one
/// before it once more, and writes every word once. Keys that do not start at a multiple of 16 bytes are all read twice.
///
/// # Safety
/// `heads` has a bit for each key.
#[kernel(launch_bounds(THREADS as u32), instances = with_keys)]
pub unsafe fn scan_heads_of_keys<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    keys: Global<First<F>>,
    heads: GlobalMut<u32>,
    counts: GlobalMut<u64>,
) {
    let len = const { Wide::<First<F>>::LEN };
    let lanes_per_word = 32 / len;
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize * (THREADS * KEY_CHUNKS * len);
    let first = block + first_chunk(KEY_CHUNKS) * len;
    let is_aligned = keys.as_ptr().addr().is_multiple_of(16);
    let mut bits = [0; KEY_CHUNKS];
    if is_aligned && block + THREADS * KEY_CHUNKS * len <= keys.len() {
        // SAFETY: the keys start at a multiple of 16 bytes.
        let words = unsafe { keys.cast::<u32>() };
        let mut chunks = [[0; 4]; KEY_CHUNKS];
        unrolled!(r < KEY_CHUNKS => {
            chunks[r] = words.get_chunk_streaming((first / len + r * 32) * 4);
        });
        unrolled!(r < KEY_CHUNKS => {
            let at = first + r * 32 * len;
            let chunk = Wide::<First<F>>::from_chunk(chunks[r]);
            (_, bits[r]) = chunk.fold((None, 0), |(before, bits), key, i| {
                let is_head = match before {
                    None => is_head::<F, A>(predicate, keys, at),
                    Some(before) => is_selected_after::<F, A>(predicate, at + i, key, before),
                };
                (Some(key), bits | u32::from(is_head) << i)
            });
        });
    } else {
        unrolled!(r < KEY_CHUNKS => {
            let at = first + r * 32 * len;
            let mut i = 0;
            while i < len && at + i < keys.len() {
                bits[r] |= u32::from(is_head::<F, A>(predicate, keys, at + i)) << i;
                i += 1;
            }
        });
    }
    if !counts.is_empty() {
        count_groups(
            &bits,
            const { THREADS * KEY_CHUNKS * Wide::<First<F>>::LEN / KEY_GROUP },
            counts,
        );
    }
    unrolled!(r < KEY_CHUNKS => {
        let mut word = bits[r] << (tid % lanes_per_word * len);
        unrolled!(k < 5 => {
            if 1 << k < lanes_per_word {
                word |= warp::shuffle_xor(warp::FULL_MASK, word, 1 << k);
            }
        });
        let at = (first + r * 32 * len) / 32;
        if tid.is_multiple_of(lanes_per_word) && at < heads.len() {
            heads.set(at, word);
        }
    });
}

/// Writes the number of heads of each of the `groups` groups of a block's keys. `bits` are those of the thread's chunks.
#[inline(always)]
#[track_caller]
fn count_groups(bits: &[u32; KEY_CHUNKS], groups: usize, counts: GlobalMut<u64>) {
    let totals = shared![u32; THREADS / 32];
    let tid = thread::thread_idx_x() as usize;
    let mut own = 0;
    unrolled!(r < KEY_CHUNKS => { own += bits[r].count_ones(); });
    let total = warp::reduce(own, |a, b| a + b);
    if tid.is_multiple_of(32) {
        totals.set(tid / 32, total);
    }
    thread::sync_threads();
    let group = thread::block_idx_x() as usize * groups + tid;
    if tid < groups && group < counts.len() {
        let warps = THREADS / 32 / groups;
        let mut sum = 0;
        let mut w = 0;
        while w < warps {
            sum += totals.get(tid * warps + w);
            w += 1;
        }
        counts.set(group, sum.into());
    }
}

/// Returns whether key `i` differs from the one before it.
#[inline(always)]
#[track_caller]
fn is_head<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    keys: Global<First<F>>,
    i: usize,
) -> bool {
    // SAFETY: no element is read through a view without elements.
    let second = unsafe { Global::<Second<F>>::from_raw_parts(core::ptr::null_mut(), 0) };
    is_selected::<F, A>(predicate, keys, second, i)
}
