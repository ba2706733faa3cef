//! A block's tile: which of its elements the predicate selects.
//!
//! ```text
//! load ROUNDS x 16 bytes per thread, all in flight
//! masks[round] = a bit for each element that is there and selected
//! ranks:      counts of 4 rounds (of 2 where a round has more than 128 elements) side by side in a word
//!             one scan over the lanes: where the lane's selected elements of these rounds begin in the warp
//!             totals[warp] = the warp's number; barrier; below = the sum of the warps before
//! compacted:  write each selected element to place below + start of its round + its number in the mask
//! ```
//!
//! A scan over the lanes is five shuffles that depend on each other. With counts side by side one scan serves four rounds. A
//! field cannot overflow: it counts the elements of one round of a warp.

use core::marker::PhantomData;

use super::{Arguments, Predicate, before, look_back::Taken, tile_len};
use crate::{
    Global, GlobalMut, Plain, Shared,
    map::{First, MapInput, Passed, Second},
    ring::Ring,
    thread, unrolled,
    view::Wide,
    warp::{self, FULL_MASK},
};

/// Takes a tile for the block, by a ticket. One barrier.
#[inline(always)]
#[track_caller]
pub(super) fn take<F: Predicate, A: Arguments<F>, const THREADS: usize, const ROUNDS: usize>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    control: GlobalMut<u64>,
    words: Shared<u64>,
) -> (Taken, Tile<F, A, THREADS>) {
    if thread::thread_idx_x() == 0 {
        words.set(0, control.atomic_add(0, 1));
    }
    thread::sync_threads();
    let taken = Taken::of(words.get(0));
    let tile = Tile {
        predicate,
        items,
        second,
        shift: before::<First<F>>(items.as_ptr().addr()),
        first: taken.tile * tile_len::<First<F>>(THREADS, ROUNDS),
        arguments: PhantomData,
    };
    (taken, tile)
}

/// What a thread knows of a tile once its selected elements are counted.
pub(super) struct Counted<T, const ROUNDS: usize> {
    /// This thread's elements, and for each load a mask of those that are selected.
    pub loaded: [Wide<T>; ROUNDS],
    pub masks: [u32; ROUNDS],
    /// The position of each load's first selected element among those of the warp.
    pub starts: [u32; ROUNDS],
    /// The selected elements of the warps before.
    pub below: u32,
    /// The selected elements of the tile.
    pub selected: u32,
}

/// A tile's elements: those of a warp follow one another, and so do those of a round of it.
#[derive(Clone, Copy)]
pub(super) struct Tile<F: Predicate, A, const THREADS: usize> {
    pub predicate: Passed<F>,
    pub items: Global<First<F>>,
    pub second: Global<Second<F>>,
    /// Places before element 0: place `shift` is element 0, and places that are a multiple of 16 bytes are aligned.
    pub shift: usize,
    /// The tile's first place.
    pub first: usize,
    pub arguments: PhantomData<A>,
}

impl<F: Predicate, A: Arguments<F>, const THREADS: usize> Tile<F, A, THREADS> {
    /// Returns the first place of a load of this thread.
    #[inline(always)]
    pub fn chunk_first<const ROUNDS: usize>(&self, round: usize) -> usize {
        let t = thread::thread_idx_x() as usize;
        let load = t / 32 * 32 * ROUNDS + round * 32 + t % 32;
        self.first + load * Wide::<First<F>>::LEN
    }

    /// Returns the tile's first place with an element, and the place behind its last one.
    #[inline(always)]
    pub fn bounds<const ROUNDS: usize>(&self) -> (usize, usize) {
        let end = self.first + tile_len::<First<F>>(THREADS, ROUNDS);
        let all = self.shift + self.items.len();
        (self.first.max(self.shift), end.min(all).max(self.shift))
    }

    /// Loads the tile, and counts the selected elements. One barrier.
    #[inline(always)]
    #[track_caller]
    pub fn count<const ROUNDS: usize>(&self, totals: Shared<u32>) -> Counted<First<F>, ROUNDS> {
        let t = thread::thread_idx_x() as usize;
        let (loaded, masks) = self.load_and_test::<ROUNDS>();
        let starts = ranked::<First<F>, ROUNDS>(&masks, totals);
        thread::sync_threads();
        let (mut below, mut selected) = (0, 0);
        let mut w = 0;
        while w < THREADS / 32 {
            let total = totals.get(w);
            if w < t / 32 {
                below += total;
            }
            selected += total;
            w += 1;
        }
        Counted {
            loaded,
            masks,
            starts,
            below,
            selected,
        }
    }

    /// Returns this thread's elements, and for each load a mask of those that are selected.
    #[inline(always)]
    #[track_caller]
    fn load_and_test<const ROUNDS: usize>(&self) -> ([Wide<First<F>>; ROUNDS], [u32; ROUNDS]) {
        let mut loaded = [Wide::ZERO; ROUNDS];
        let mut masks = [0; ROUNDS];
        let (first, end) = self.bounds::<ROUNDS>();
        if end - first == tile_len::<First<F>>(THREADS, ROUNDS) {
            unrolled!(round < ROUNDS => {
                let at = self.chunk_first::<ROUNDS>(round) - self.shift;
                loaded[round] = self.items.get_wide_streaming(at);
            });
            unrolled!(round < ROUNDS => {
                let at = self.chunk_first::<ROUNDS>(round) - self.shift;
                masks[round] = self.test(loaded[round], at, |_| true, true);
            });
        } else {
            unrolled!(round < ROUNDS => {
                let chunk = self.chunk_first::<ROUNDS>(round);
                let is_there = |k: usize| first <= chunk + k && chunk + k < end;
                let mut wide = Wide::ZERO;
                unrolled!(k < { Wide::<First<F>>::LEN } of 16 => {
                    if is_there(k) {
                        wide = wide.with(k, self.items.get(chunk + k - self.shift));
                    }
                });
                loaded[round] = wide;
                masks[round] = self.test(wide, chunk.wrapping_sub(self.shift), is_there, false);
            });
        }
        (loaded, masks)
    }

    /// Returns this thread's elements in a slot of a ring, which has tile `number`, and for each chunk a mask of those that are
    /// selected. The first tile begins with the first element.
    #[inline(always)]
    #[track_caller]
    pub fn examine<const ROUNDS: usize>(
        &self,
        ring: Ring<First<F>, ROUNDS>,
        slot: usize,
        number: usize,
    ) -> ([Wide<First<F>>; ROUNDS], [u32; ROUNDS]) {
        let (mut loaded, mut masks) = ([Wide::ZERO; ROUNDS], [0; ROUNDS]);
        unrolled!(r < ROUNDS => { loaded[r] = ring.elements(slot, r); });
        let len = self.items.len();
        if (number + 1) * ring.tile_len() <= len {
            unrolled!(r < ROUNDS => {
                let at = ring.position(number, r);
                masks[r] = self.test(loaded[r], at, |_| true, true);
            });
        } else {
            unrolled!(r < ROUNDS => {
                let at = ring.position(number, r);
                masks[r] = self.test(loaded[r], at, |k| at + k < len, false);
            });
        }
        (loaded, masks)
    }

    /// Returns the mask of the selected ones of the elements from `at` on that are there.
    #[inline(always)]
    #[track_caller]
    pub fn test(
        &self,
        wide: Wide<First<F>>,
        at: usize,
        is_there: impl Fn(usize) -> bool,
        all: bool,
    ) -> u32 {
        if const { A::NEIGHBORS } {
            return self.test_neighbors(wide, at, is_there);
        }
        match const { Wide::<First<F>>::LEN } {
            16 => self.test_arrays::<16>(wide, at, is_there, all),
            8 => self.test_arrays::<8>(wide, at, is_there, all),
            4 => self.test_arrays::<4>(wide, at, is_there, all),
            2 => self.test_arrays::<2>(wide, at, is_there, all),
            _ => self.test_arrays::<1>(wide, at, is_there, all),
        }
    }

    /// `all` says that every element is there, and `N` is their number.
    #[inline(always)]
    #[track_caller]
    fn test_arrays<const N: usize>(
        &self,
        wide: Wide<First<F>>,
        at: usize,
        is_there: impl Fn(usize) -> bool,
        all: bool,
    ) -> u32 {
        let mut others: [Option<Second<F>>; N] = [None; N];
        if const { F::In::ARRAYS > 1 } {
            let bytes = N * size_of::<Second<F>>();
            let address = self
                .second
                .as_ptr()
                .addr()
                .wrapping_add(at.wrapping_mul(size_of::<Second<F>>()));
            if all && matches!(bytes, 1 | 2 | 4 | 8 | 16) && address.is_multiple_of(bytes) {
                let chunk = self.second.get_chunk_streaming::<N>(at);
                unrolled!(k < N of 16 => { others[k] = Some(chunk[k]); });
            } else {
                unrolled!(k < N of 16 => {
                    if is_there(k) {
                        others[k] = Some(self.second.get(at.wrapping_add(k)));
                    }
                });
            }
        }
        wide.fold(0, |mask, item, k| {
            let (index, other) = (at.wrapping_add(k), others[k % N]);
            // SAFETY: the elements of a second array that are there have been loaded.
            let selected = is_there(k) && unsafe { self.predicate.call_joined(index, item, other) };
            mask | u32::from(selected) << k
        })
    }

    #[inline(always)]
    #[track_caller]
    fn test_neighbors(
        &self,
        wide: Wide<First<F>>,
        at: usize,
        is_there: impl Fn(usize) -> bool,
    ) -> u32 {
        let mut before = warp::shuffle_up(FULL_MASK, wide.last(), 1);
        if warp::lane_id() == 0 && is_there(0) && at > 0 {
            before = self.items.get(at - 1);
        }
        wide.fold(0, |mask, item, k| {
            let index = at.wrapping_add(k);
            let other = A::second(before);
            // SAFETY: the element before is the second one.
            let is_selected = || unsafe { self.predicate.call_joined(index, item, other) };
            let selected = is_there(k) && (index == 0 || is_selected());
            before = item;
            mask | u32::from(selected) << k
        })
    }
}

/// Writes the warp's number of selected elements to `totals`, and returns the position of each load's first selected element
/// among those of the warp.
#[inline(always)]
#[track_caller]
pub(super) fn ranked<T: Plain, const ROUNDS: usize>(
    masks: &[u32; ROUNDS],
    totals: Shared<u32>,
) -> [u32; ROUNDS] {
    let t = thread::thread_idx_x() as usize;
    let mut starts = [0_u32; ROUNDS];
    let total = if const { Wide::<T>::LEN <= 4 } {
        ranks::<ROUNDS, 4>(masks, &mut starts, 0)
    } else {
        ranks::<ROUNDS, 2>(masks, &mut starts, 0)
    };
    if t % 32 == 31 {
        totals.set(t / 32, total);
    }
    starts
}

/// Writes this thread's selected elements to `compact`, behind the `below` elements of the warps before.
#[inline(always)]
#[track_caller]
pub(super) fn compacted<T: Plain, const ROUNDS: usize>(
    loaded: &[Wide<T>; ROUNDS],
    masks: &[u32; ROUNDS],
    starts: &[u32; ROUNDS],
    below: u32,
    compact: Shared<T>,
) {
    unrolled!(round < ROUNDS => {
        let mut rank = below + starts[round];
        loaded[round].fold((), |(), item, k| {
            if masks[round] >> k & 1 != 0 {
                compact.set(rank as usize, item);
                rank += 1;
            }
        });
    });
}

/// Computes for each round where the lane's selected elements begin, counted from `base` on. Returns `base` plus all selected
/// elements of the warp. `FIELDS` counts share a word: 4, if a round of a warp has at most 128 elements, otherwise 2.
#[inline(always)]
#[track_caller]
fn ranks<const ROUNDS: usize, const FIELDS: usize>(
    masks: &[u32; ROUNDS],
    starts: &mut [u32; ROUNDS],
    mut base: u32,
) -> u32 {
    let bits = const { 32 / FIELDS };
    unrolled!(word < ROUNDS => {
        if word.is_multiple_of(FIELDS) {
            let mut counts = 0_u32;
            unrolled!(field < FIELDS => {
                if word + field < ROUNDS {
                    counts |= masks[(word + field) % ROUNDS].count_ones() << (bits * field);
                }
            });
            let up_to = warp::inclusive_scan(counts, |a, b| a + b);
            let below = up_to - counts;
            let all = warp::shuffle(FULL_MASK, up_to, 31);
            unrolled!(field < FIELDS => {
                if word + field < ROUNDS {
                    let of = |counts: u32| counts >> (bits * field) & (u32::MAX >> (32 - bits));
                    starts[(word + field) % ROUNDS] = base + of(below);
                    base += of(all);
                }
            });
        }
    });
    base
}
