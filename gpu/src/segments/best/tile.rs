//! The reduction of a tile.

use cuda_std::{
    Plain, bf16, block, f16, prelude::*, scan::Open, shared::DynamicShared, unrolled, view::Wide,
};

use super::{
    NONE,
    join::{Tiles, join},
};
use crate::{
    block::is_last,
    reduce::{Max, Min, Product, Sum},
    segments::{Offsets, Segmented, policy::*, with_segments},
};

/// Writes to `output[s]` the reduction of every segment that ends in a tile, but for the first that ends there; and for each
/// tile what [`segments_join`](super::segments_join) takes. If `ticket` has an element, the last block does the work of that
/// kernel too. For `count` see [`Offsets::new`].
///
/// Launch: a block of 256 threads for each [`tile_steps`] of the steps that there may be; dynamic shared memory of
/// [`shared_bytes`]. Blocks behind the last step end at once. Reads every element and every offset once.
///
/// Determinism: the order depends on the offsets alone.
///
/// # Safety
/// The offsets do not fall, and lie in the input. `starts` is empty, or as [`segments_cut`](super::segments_cut) writes it,
/// with an element more than there are blocks. `firsts`, `rests` and `ends` have an element per block, `output` has one per
/// segment; nothing overlaps. `ticket` is empty, or its element is 0 and there are at most [`MOST_IN_ONE_LAUNCH`] blocks; the
/// kernel leaves it 0.
#[kernel(launch_bounds(BLOCK as u32, RESIDENT), instances = with_segments)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn segments_best<R: Segmented>(
    input: Global<R::In>,
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    starts: Global<u64>,
    firsts: GlobalMut<R::Acc>,
    rests: GlobalMut<R::Acc>,
    ends: GlobalMut<u64>,
    ticket: GlobalMut<u32>,
    output: GlobalMut<R::Out>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, input.len());
    let tiles = Tiles::<R> {
        steps: offsets.steps(),
        firsts,
        rests,
        ends,
    };
    let from = thread::block_idx_x() as usize * const { tile_steps(size_of::<R::In>()) };
    if from < tiles.steps {
        reduce_tile(input, offsets, starts, tiles, output);
    }
    if !ticket.is_empty() && is_last(ticket, 0, thread::grid_dim_x()) {
        join(tiles, 0, output);
    }
}

/// Reduces the tile of this block.
#[inline(always)]
#[track_caller]
fn reduce_tile<R: Segmented>(
    input: Global<R::In>,
    offsets: Offsets,
    starts: Global<u64>,
    tiles: Tiles<R>,
    output: GlobalMut<R::Out>,
) {
    let size = const { size_of::<R::In>() };
    let scan = shared![Open<R::Acc>; block::scan_len(BLOCK)];
    let found = shared![u64; 2];
    // SAFETY: the only one in the kernel; the launch gives `shared_bytes`.
    let words: Shared<u32> =
        unsafe { DynamicShared::new() }.carve(const { tile_words(size_of::<R::In>()) });
    // SAFETY: it starts at a multiple of 16 bytes.
    let elements: Shared<R::In> = unsafe { words.cast() };
    let tile = thread::block_idx_x() as usize;
    let tid = thread::thread_idx_x();
    let from = tile * tile_steps(size);
    let to = (from + tile_steps(size)).min(tiles.steps);
    let [first_end, end_end] = if starts.is_empty() {
        let warp = tid / 32;
        if warp < 2 {
            let before = offsets.ends_before(if warp == 0 { from } else { to });
            if tid.is_multiple_of(32) {
                found.set(warp as usize, before as u64);
            }
        }
        thread::sync_threads();
        [found.get(0), found.get(1)]
    } else {
        [starts.get(tile), starts.get(tile + 1)]
    };
    let (first_end, end_end) = (first_end as usize, end_end as usize);
    let first = offsets.begin() + from - first_end;
    let (steps, ends) = ((to - from) as u32, (end_end - first_end) as u32);
    let len = steps - ends;

    // The ends come first in shared memory, then the elements: element 0 of the tile has the place `shift`. A tile has so few
    // steps that 32 bits are enough for places.
    let behind = (ends + 1).next_multiple_of(4) as usize * 4 / size;
    let shift = copy(input, elements, first, len as usize, behind) as u32;
    let mut end = tid;
    while end < ends {
        let at = offsets.get(first_end + end as usize + 1) - first;
        words.set(end as usize, shift + at as u32);
        end += BLOCK as u32;
    }
    if tid == 0 {
        words.set(ends as usize, u32::MAX);
    }
    thread::sync_threads();

    let value = |i: u32| R::load(elements.get(i as usize), 0);
    let mut acc = R::IDENTITY;
    let mut up_to_first = R::IDENTITY;
    let (mut begin, mut end) = (0, 0);
    if ends == 0 {
        let mut i = shift + tid;
        while i < shift + len {
            acc = R::combine(acc, value(i));
            i += BLOCK as u32;
        }
    } else {
        let items = const { items(size_of::<R::In>()) as u32 };
        let step = (tid * items).min(steps);
        let mut left = items.min(steps - step);
        // The ends before the thread's first step.
        let (mut low, mut high) = (step.saturating_sub(len), step.min(ends));
        while low < high {
            let middle = (low + high) / 2;
            if words.get(middle as usize) + middle < shift + step {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (begin, end) = (low, low);
        let mut i = shift + step - end;
        let mut next = words.get(end as usize);
        while left > 0 {
            let is_element = i < next;
            let added = if is_element {
                R::combine(acc, value(i))
            } else {
                R::IDENTITY
            };
            if !is_element {
                // The result of the thread's first end is not final.
                output.set(first_end + end as usize, R::finish(acc));
                next = words.get(end as usize + 1);
            }
            up_to_first = if end == begin { acc } else { up_to_first };
            i += u32::from(is_element);
            end += u32::from(!is_element);
            acc = added;
            left -= 1;
        }
    }
    let own = Open::new(acc, begin < end);
    let none = Open::new(R::IDENTITY, false);
    let (before, all) =
        block::exclusive_scan::<_, BLOCK>(own, none, scan, |a: Open<_>, b| a.then(b, R::combine));
    if begin < end {
        let up_to = R::combine(before.acc, up_to_first);
        if before.ended == 0 {
            tiles.firsts.set(tile, up_to);
        } else {
            output.set(first_end + begin as usize, R::finish(up_to));
        }
    }
    if tid == 0 {
        tiles.rests.set(tile, all.acc);
        let end = if ends > 0 { first_end as u64 } else { NONE };
        tiles.ends.set(tile, end);
    }
}

/// Copies `len` elements from `first` on to shared memory, to place `behind` or a few on, and returns the place of the first.
/// The loads of 16 bytes are all under way at once; they take elements beside the wanted ones along. Only where that would
/// leave the array, elements are copied one by one.
#[inline(always)]
#[track_caller]
fn copy<T: Plain>(
    input: Global<T>,
    elements: Shared<T>,
    first: usize,
    len: usize,
    behind: usize,
) -> usize {
    match const { loads(size_of::<T>()) } {
        3 => copy_by::<T, 3, 1>(input, elements, first, len, behind),
        6 => copy_by::<T, 6, 1>(input, elements, first, len, behind),
        12 => copy_by::<T, 6, 2>(input, elements, first, len, behind),
        _ => unreachable!(),
    }
}

/// Returns the loads of 16 bytes that a thread needs for a tile of elements of `bytes` bytes, wherever they begin.
const fn loads(bytes: usize) -> usize {
    (tile_steps(bytes) * bytes + 15)
        .div_ceil(16)
        .div_ceil(BLOCK)
}

/// [`copy`] with `LOADS` loads per thread, in `PASSES` passes: enough for a tile.
#[inline(always)]
#[track_caller]
fn copy_by<T: Plain, const LOADS: usize, const PASSES: usize>(
    input: Global<T>,
    elements: Shared<T>,
    first: usize,
    len: usize,
    behind: usize,
) -> usize {
    let lanes = Wide::<T>::LEN;
    let tid = thread::thread_idx_x() as usize;
    // The elements of the first load that come before the wanted ones.
    let shift = (input.as_ptr().addr() / size_of::<T>() + first) % lanes;
    let wides = (shift + len).div_ceil(lanes);
    // Load `wide` takes the elements from `first + wide * lanes - shift` on.
    let from = usize::from(first < shift);
    let to = if first + wides * lanes - shift > input.len() {
        wides - 1
    } else {
        wides
    };
    let at = |wide: usize| first + wide * lanes - shift;
    if from < to {
        unrolled!(pass < PASSES => {
            // All threads load, so that no load waits for a branch.
            let wide = |round: usize| from + (pass * LOADS + round) * BLOCK + tid;
            let loaded: [Wide<T>; LOADS] = core::array::from_fn(|round| {
                input.get_wide_streaming(at(wide(round).min(to - 1)))
            });
            unrolled!(round < LOADS => {
                if wide(round) < to {
                    elements.set_wide(behind + wide(round) * lanes, loaded[round]);
                }
            });
        });
    }
    let edge = |begin: usize, end: usize| {
        if begin + tid < end {
            elements.set(behind + shift + begin + tid - first, input.get(begin + tid));
        }
    };
    if from > 0 {
        edge(first, (first + lanes - shift).min(first + len));
    }
    if from <= to && to < wides {
        edge(at(to).max(first), first + len);
    }
    behind + shift
}
