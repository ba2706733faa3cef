//! The bodies of the kernels.
//!
//! ```text
//! sort_tile:  sort each thread's elements in registers; run = a thread's elements
//!             while run < the tile: merge pairs of runs, each thread its elements of the merged order; run *= 2
//! merge:      warps 0 and 1: how many elements of the first side come before the tile, and before the next one
//!             load both parts, merge them, each thread its elements, and write the tile
//!             searches that passed each other: write nothing, but note it; the last block then copies the whole input
//! cut_by_warp, between low and high:
//!             each lane looks at one of 32 places between them; the ballot leaves one of 33 parts
//! ```
//!
//! Looks in global memory depend on each other: 33 parts need a fifth of the looks that halves need. A comparison that is no
//! order, or an input that is not sorted, can make searches pass each other. The output has all elements of the input even
//! then.

use super::{
    CONTROL_LEN, Compare, Compared, THREADS,
    tile::{Lists, Side, Tile, shift_of, tid},
};
use core::sync::atomic::Ordering;

use crate::{
    Global, GlobalMut, Plain, Shared,
    atomic::Scope,
    block,
    merge::{room_len, tile_len},
    shared::DynamicShared,
    thread, unrolled,
    warp::{self, FULL_MASK},
};

/// What is merged.
#[derive(Clone, Copy)]
pub enum Sides<T> {
    /// Two sorted arrays.
    Arrays(Global<T>, Global<T>),
    /// Sorted runs of one array, all as long as this number says but for the last: a multiple of the tile. The first is merged
    /// with the second, the third with the fourth, and so on.
    Runs(Global<T>, u64),
}

impl<T: Plain> Sides<T> {
    /// Returns the two sides of the merge to which element `at` of the output belongs, and the first element of the merge.
    #[inline(always)]
    fn around(self, at: usize) -> (Side<T>, Side<T>, usize) {
        match self {
            Self::Arrays(a, b) => (whole(a), whole(b), 0),
            Self::Runs(array, run) => {
                let (len, run) = (array.len(), run as usize);
                let begin = at - at % (2 * run);
                let middle = len.min(begin + run);
                let all = whole(array);
                let b = all.part(middle, len.min(begin + 2 * run) - middle);
                (all.part(begin, middle - begin), b, begin)
            }
        }
    }

    /// Returns element `i` of the input, the first array before the second.
    #[inline(always)]
    #[track_caller]
    fn get(self, i: usize) -> T {
        match self {
            Self::Arrays(a, b) if i >= a.len() => b.get(i - a.len()),
            Self::Arrays(array, _) | Self::Runs(array, _) => array.get(i),
        }
    }
}

#[inline(always)]
fn whole<T: Plain>(array: Global<T>) -> Side<T> {
    Side {
        array,
        from: 0,
        len: array.len(),
    }
}

/// The values of a merge of arrays: those of the first one, of the second one, and their places in the output.
#[derive(Clone, Copy)]
pub struct Values {
    /// The values of the first array.
    pub a: Global<u8>,
    /// The values of the second array.
    pub b: Global<u8>,
    /// The places of the merged values.
    pub output: GlobalMut<u8>,
    /// The bytes of a value: 1, 2, 4, 8 or 16.
    pub bytes: u32,
}

impl Values {
    /// Copies this thread's share of `len` values: value `source(i)` goes to place `at + i`. Sources below
    /// `of_a` are those of the first array from value `starts[0]` on, and others those of the second one from `starts[1]` on.
    #[inline(always)]
    #[track_caller]
    fn copy(
        self,
        len: usize,
        at: usize,
        of_a: usize,
        starts: [usize; 2],
        source: impl Fn(usize) -> usize + Copy,
    ) {
        match self.bytes {
            1 => self.copy_of::<u8>(len, at, of_a, starts, source),
            2 => self.copy_of::<u16>(len, at, of_a, starts, source),
            4 => self.copy_of::<u32>(len, at, of_a, starts, source),
            8 => self.copy_of::<u64>(len, at, of_a, starts, source),
            _ => self.copy_of::<u128>(len, at, of_a, starts, source),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn copy_of<V: Plain>(
        self,
        len: usize,
        at: usize,
        of_a: usize,
        starts: [usize; 2],
        source: impl Fn(usize) -> usize,
    ) {
        // SAFETY: the kernel's caller gives values of this size, aligned to it.
        let (a, b, output) = unsafe {
            (
                self.a.cast::<V>(),
                self.b.cast::<V>(),
                self.output.cast::<V>(),
            )
        };
        let mut i = tid();
        while i < len {
            let from = source(i);
            let value = if from < of_a {
                a.get(starts[0] + from)
            } else {
                b.get(starts[1] + (from - of_a))
            };
            output.set(at + i, value);
            i += THREADS;
        }
    }
}

/// Sorts each tile of the input by itself. Equal elements keep their order.
///
/// `output` may be `input`.
///
/// Launch: a block of [`THREADS`] threads for each tile of [`tile_len`] elements; dynamic shared memory of
/// [`shared_bytes`](super::shared_bytes). Reads and writes every element once. Three barriers for each doubling of the sorted
/// parts of a tile.
///
/// # Contract
/// `output` has as many elements as `input`, and is the same array or does not overlap it.
#[inline(always)]
#[track_caller]
pub fn sort_tile<C: Compare>(
    compare: Compared<C>,
    input: Global<C::Item>,
    output: GlobalMut<C::Item>,
) {
    let compare = compare.compare();
    let (tile, _, _) = carve::<C::Item>();
    let items = const { Tile::<C::Item>::ITEMS };
    let first = thread::block_idx_x() as usize * tile_len::<C::Item>();
    let len = (input.len() - first).min(tile_len::<C::Item>());
    let start = input.as_ptr().wrapping_add(first).cast_mut();
    // In place, other blocks write the elements before and behind the tile.
    // SAFETY: it is a part of the input.
    let all = whole(unsafe { Global::from_raw_parts(start, len) });
    let loaded = tile.load(all, all.part(all.len, 0));
    thread::sync_threads();
    let (len, own) = (all.len as u32, (tid() * items) as u32);
    let sorted = tile.sorted_items(compare, loaded.a[0] as usize, own, len);
    thread::sync_threads();
    let from = shift_of::<C::Item>(output.as_ptr().addr(), first);
    tile.put(&sorted, from, own, len);
    thread::sync_threads();
    let mut run = items as u32;
    while run < len {
        let begin = own - own % (2 * run);
        let place = |i: u32| from as u32 + i.min(len);
        let lists = Lists {
            a: [place(begin), place(begin + run)],
            b: [place(begin + run), place(begin + 2 * run)],
        };
        let diagonal = (own - begin).min(lists.len());
        let merged = tile.merge(compare, lists, diagonal);
        tile.put(&merged.items, from, own, len);
        thread::sync_threads();
        run *= 2;
    }
    tile.write(from, all.len, output, first);
}

/// Merges sorted arrays. Equal elements of the first array come first, and keep their order.
///
/// Launch: a block of [`THREADS`] threads for each tile of [`tile_len`] elements of the output; dynamic shared memory of
/// [`shared_bytes`](super::shared_bytes). Reads and writes every element once, and a few more of the inputs for each block.
/// Exact: the result is the same in every launch on every device. If the input is not sorted, the output has its elements in
/// some order.
///
/// # Contract
/// `output` has as many elements as the inputs together, and does not overlap them. For more than one tile `control` has
/// [`CONTROL_LEN`] elements, which are 0; the launch leaves them 0.
#[inline(always)]
#[track_caller]
pub fn merge_tiles<C: Compare>(
    compare: Compared<C>,
    sides: Sides<C::Item>,
    output: GlobalMut<C::Item>,
    control: GlobalMut<u32>,
) {
    merge::<C>(compare, sides, output, control, None);
}

/// Merges sorted keys, and their values with them. Otherwise as [`merge_tiles`].
///
/// The shared memory is [`pairs_shared_bytes`](super::pairs_shared_bytes). Reads and writes every key and every value once.
///
/// # Contract
/// That of [`merge_tiles`]. There are as many values as keys, of the given size and aligned to it, and the merged values
/// overlap nothing.
#[inline(always)]
#[track_caller]
pub fn merge_pair_tiles<C: Compare>(
    compare: Compared<C>,
    [a, b]: [Global<C::Item>; 2],
    output: GlobalMut<C::Item>,
    control: GlobalMut<u32>,
    values: Values,
) {
    merge::<C>(compare, Sides::Arrays(a, b), output, control, Some(values));
}

#[inline(always)]
#[track_caller]
fn merge<C: Compare>(
    compare: Compared<C>,
    sides: Sides<C::Item>,
    output: GlobalMut<C::Item>,
    control: GlobalMut<u32>,
    values: Option<Values>,
) {
    let compare = compare.compare();
    let (tile, ends, mut memory) = carve::<C::Item>();
    let items = const { Tile::<C::Item>::ITEMS };
    let first = thread::block_idx_x() as usize * tile_len::<C::Item>();
    let len = (output.len() - first).min(tile_len::<C::Item>());
    let (a, b, begin) = sides.around(first);
    let warp = tid() / 32;
    if warp < 2 {
        let cut = cut_by_warp(compare, a, b, first - begin + warp * len);
        if tid().is_multiple_of(32) {
            ends.set(warp, cut as u64);
        }
    }
    thread::sync_threads();
    let [from, to] = [ends.get(0) as usize, ends.get(1) as usize];
    // Searches of an input that is not sorted can pass each other.
    let meets = from <= to && to - from <= len;
    if meets {
        let starts = [from, first - begin - from];
        let parts = [to - from, len - (to - from)];
        let lists = tile.load(a.part(starts[0], parts[0]), b.part(starts[1], parts[1]));
        thread::sync_threads();
        let own = ((tid() * items) as u32).min(lists.len());
        let merged = tile.merge(compare, lists, own);
        let shift = shift_of::<C::Item>(output.as_ptr().addr(), first);
        tile.put(&merged.items, shift, own, len as u32);
        if let Some(values) = values {
            let sources = memory.carve::<u16>(tile_len::<C::Item>());
            unrolled!(k < items of 16 => {
                let i = own as usize + k;
                if i < len {
                    sources.set(i, merged.source(lists, own, k) as u16);
                }
            });
            thread::sync_threads();
            values.copy(len, first, parts[0], starts, |i| {
                usize::from(sources.get(i))
            });
        } else {
            thread::sync_threads();
        }
        tile.write(shift, len, output, first);
    } else if tid() == 0 {
        control.atomic_store(1, 1, Ordering::Relaxed, Scope::Device);
    }
    let tiles = thread::grid_dim_x();
    if tiles > 1 && block::is_last(control, 0, tiles) {
        put_back(sides, output, control, values);
    }
}

/// Leaves the input's elements in their order, if the parts of some tiles did not follow one another. The last block calls it.
#[inline(always)]
#[track_caller]
fn put_back<T: Plain>(
    sides: Sides<T>,
    output: GlobalMut<T>,
    control: GlobalMut<u32>,
    values: Option<Values>,
) {
    debug_assert!(control.len() == CONTROL_LEN);
    let missed = if tid() == 0 {
        control.atomic_load(1, Ordering::Relaxed, Scope::Device)
    } else {
        0
    };
    if thread::sync_threads_or(missed) == 0 {
        return;
    }
    if tid() == 0 {
        control.atomic_store(1, 0, Ordering::Relaxed, Scope::Device);
    }
    let mut i = tid();
    while i < output.len() {
        output.set(i, sides.get(i));
        i += THREADS;
    }
    if let (Some(values), Sides::Arrays(a, _)) = (values, sides) {
        values.copy(output.len(), 0, a.len(), [0; 2], |i| i);
    }
}

/// Carves the tile and the two ends of the first side's part.
#[inline(always)]
#[track_caller]
fn carve<T: Plain>() -> (Tile<T>, Shared<u64>, DynamicShared) {
    // SAFETY: the only one in the kernel; the launch gives `shared_bytes`.
    let mut memory = unsafe { DynamicShared::new() };
    let elements = memory.carve::<T>(room_len::<T>());
    let ends = memory.carve::<u64>(2);
    let starts = memory.carve::<u32>(THREADS);
    (Tile { elements, starts }, ends, memory)
}

/// Returns how many of the first `diagonal` elements of the merged order are of the first side. All lanes of a warp call it:
/// each looks at one of 32 places at a time.
#[inline(always)]
#[track_caller]
fn cut_by_warp<C: Compare>(
    compare: C,
    a: Side<C::Item>,
    b: Side<C::Item>,
    diagonal: usize,
) -> usize {
    let lane = tid() % 32;
    let mut low = diagonal.saturating_sub(b.len);
    let mut high = diagonal.min(a.len);
    while low < high {
        // 33 parts of this many places or fewer, with a look between neighbors.
        let step = (high - low) / 33 + 1;
        let place = low + lane * step + step - 1;
        let is_behind = place >= high || compare.is_less(b.get(diagonal - 1 - place), a.get(place));
        let before = warp::ballot(FULL_MASK, is_behind).trailing_zeros() as usize;
        high = high.min(low + before * step + step - 1);
        low += before * step;
    }
    low
}
