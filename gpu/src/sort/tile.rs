//! What a block does with the digits of a tile of keys: count them, and find the place of each key in the sorted tile.
//!
//! ```text
//! places:     first[d] = the tile's keys with a digit below d                        (a thread per digit, and a scan)
//!             counts[w][d] = first[d] + the keys with digit d in the warps before w
//! a key:      place = atomic_add(counts[warp][digit], 1)                             (in the kernels)
//!             crowded tile: same = the lanes whose keys have the digit               (match.any, or a ballot per bit)
//!                 place = counts[warp][digit] + the lanes of `same` below; the lowest of them adds the number of all
//! look_back:  end = the tile
//!             repeat: load the words of tiles end - 2, ...; wait for the word of tile end - 1
//!                 from end - 1 down, as far as the words are there: add the number of each
//!                 a word with the number of all tiles so far is the last; else end -= the words added
//! ```
//!
//! An atomic addition per key is the least work, but additions to one counter wait for each other. So a tile is crowded if one
//! digit has more than an eighth of its keys. The words of several tiles are loaded at once, because each trip to memory is a
//! long wait.
//!
//! Warp `w` has the keys `32 * items * w` and on of the tile, lane by lane: key `i` of lane `l` is number
//! `32 * (items * w + i) + l`. So the keys that a warp takes in one step are neighbors, and each step's come after those of the
//! step before: the ballots keep the order of equal digits.

use core::sync::atomic::Ordering;

use cuda_std::{
    atomic::{Backoff, Scope},
    prelude::*,
    shared::DynamicShared,
    unrolled,
    warp::FULL_MASK,
};

use super::{
    bits::{Bits, DIGITS},
    policy::WORDS,
};

/// The words of [`Block::words`] from the sums of the warps on.
const SHIFT: usize = 28;
const MASK: usize = 29;
const LEFT: usize = 30;
const TILE: usize = 31;

/// The tag of a status word with a tile's own count; see [`look_back`].
pub const COUNTED: u32 = 1 << 30;
/// The bits of a status word that are a number of keys.
pub const VALUE: u32 = COUNTED - 1;

/// A thread's numbers, and the shared memory that a block has for the digits of its keys.
#[derive(Clone, Copy)]
pub struct Block {
    /// The thread's index in the block.
    pub tid: usize,
    /// The thread's index in its warp.
    pub lane: usize,
    /// The warp's index in the block.
    pub warp: usize,
    /// For each warp and digit: its number of keys, then the place of the next of them in the sorted tile.
    pub counts: Shared<u32>,
    /// The sums of the warps, and what thread 0 tells the others.
    words: Shared<u32>,
}

impl Block {
    /// Takes the shared memory for `warps` warps.
    #[inline(always)]
    #[track_caller]
    pub fn new(memory: &mut DynamicShared, warps: usize) -> Self {
        let tid = thread::thread_idx_x() as usize;
        Self {
            tid,
            lane: warp::lane_id() as usize,
            warp: tid / 32,
            counts: memory.carve(warps * DIGITS),
            words: memory.carve(WORDS),
        }
    }

    /// Takes the next tile. Every thread must call it; it ends with a barrier.
    #[inline(always)]
    #[track_caller]
    pub fn next_tile(self, tickets: GlobalMut<u32>, ticket: u32) -> usize {
        if self.tid == 0 {
            self.words.set(TILE, tickets.atomic_add(ticket as usize, 1));
        }
        thread::sync_threads();
        self.words.get(TILE) as usize
    }

    /// Writes the digit's bits and the number of keys, which are read back after the next barrier. What is read back is not
    /// known to the compiler, which would otherwise keep all digits of a thread's keys in registers that it does not have.
    #[inline(always)]
    #[track_caller]
    pub fn note(self, [shift, mask, left]: [u32; 3]) {
        if self.tid == 0 {
            self.words.set(SHIFT, shift);
            self.words.set(MASK, mask);
            self.words.set(LEFT, left);
        }
    }

    /// Returns what [`note`](Self::note) wrote.
    #[inline(always)]
    #[track_caller]
    pub fn noted(self) -> [u32; 3] {
        [SHIFT, MASK, LEFT].map(|word| self.words.get(word))
    }

    /// Sets the counts of the thread's warp to 0.
    #[inline(always)]
    #[track_caller]
    pub fn clear(self) {
        unrolled!(j < 2 => {
            self.counts.set_chunk(self.warp * DIGITS + j * 128 + self.lane * 4, [0_u32; 4]);
        });
        sync_warp();
    }

    /// Returns the element of [`counts`](Self::counts) for a digit of one of the thread's keys.
    #[inline(always)]
    pub fn slot(self, digit: u32) -> usize {
        self.warp * DIGITS + digit as usize
    }

    /// Makes the counts of `warps` warps the places at which each warp's keys of each digit begin in the sorted tile of `len`
    /// keys. `counted` gets the number of keys with digit `tid`, in threads below 256, as soon as it is known.
    ///
    /// Every thread must call it. It begins and ends with a barrier.
    #[inline(always)]
    #[track_caller]
    #[allow(unused_assignments)]
    pub fn places(self, warps: usize, len: u32, counted: impl FnOnce(u32)) -> Places {
        thread::sync_threads();
        let (tid, counts) = (self.tid, self.counts);
        let (mut count, mut inclusive) = (0, 0);
        if tid < DIGITS {
            unrolled!(j < warps of 32 => {
                count += counts.get(j * DIGITS + tid);
            });
            counted(count);
            inclusive = warp::inclusive_scan(count, |a, b| a + b);
            if self.lane == 31 {
                self.words.set(self.warp, inclusive);
            }
        }
        thread::sync_threads();
        let mut first = 0;
        if tid < DIGITS {
            first = inclusive - count;
            unrolled!(j < 8 => {
                let sum = self.words.get(j);
                if j < self.warp {
                    first += sum;
                }
            });
            let mut sum = first;
            unrolled!(j < warps of 32 => {
                let value = counts.get(j * DIGITS + tid);
                counts.set(j * DIGITS + tid, sum);
                sum += value;
            });
        }
        let crowded = thread::sync_threads_or((count > len / CROWD).into()) != 0;
        Places { first, crowded }
    }

    /// Returns the place of the lane's key in the sorted tile, by ballots: each digit's keys keep their order. Every lane of
    /// the warp must call it, and only the keys `inside` the tile have a place.
    #[inline(always)]
    #[track_caller]
    pub fn place_by_ballots(self, digit: u32, inside: bool) -> usize {
        let mut same = warp::ballot(FULL_MASK, inside);
        unrolled!(bit < 8 => {
            let set = digit >> bit & 1 != 0;
            let with = warp::ballot(FULL_MASK, set);
            same &= if set { with } else { !with };
        });
        self.place_among(same, digit, inside)
    }

    /// Like [`place_by_ballots`](Self::place_by_ballots), by an instruction that takes a turn for each digit in the warp.
    #[inline(always)]
    #[track_caller]
    pub fn place_by_match(self, digit: u32, inside: bool) -> usize {
        let outside = DIGITS as u32;
        let same = warp::match_any(FULL_MASK, if inside { digit } else { outside });
        self.place_among(same, digit, inside)
    }

    /// Returns the place of the lane's key, where the lanes in `same` have its digit.
    #[inline(always)]
    #[track_caller]
    fn place_among(self, same: u32, digit: u32, inside: bool) -> usize {
        let slot = self.slot(digit);
        let below = (same & ((1 << self.lane) - 1)).count_ones();
        let before = self.counts.get(slot);
        sync_warp();
        if inside && below == 0 {
            self.counts.set(slot, before + same.count_ones());
        }
        sync_warp();
        (before + below) as usize
    }

    /// Sets the places of `warps` warps back to what [`places`](Self::places) made them, when every key has taken one: a warp's
    /// keys of a digit begin where those of the warp before end.
    ///
    /// Every thread must call it. It begins and ends with a barrier.
    #[inline(always)]
    #[track_caller]
    pub fn places_again(self, warps: usize) {
        thread::sync_threads();
        let mut begin = [0; 8];
        unrolled!(j < 8 => {
            let digit = j * 32 + self.lane;
            begin[j] = match (self.warp, digit) {
                (0, 0) => 0,
                (0, _) => self.counts.get((warps - 1) * DIGITS + digit - 1),
                _ => self.counts.get((self.warp - 1) * DIGITS + digit),
            };
        });
        thread::sync_threads();
        unrolled!(j < 8 => {
            self.counts.set(self.slot((j * 32 + self.lane) as u32), begin[j]);
        });
        thread::sync_threads();
    }
}

/// What [`Block::places`] returns.
#[derive(Clone, Copy)]
pub struct Places {
    /// The place of the first key with digit `tid` in the sorted tile; meaningless from thread 256 on.
    pub first: u32,
    /// Whether one digit has so many of the tile's keys that atomic additions would wait for each other.
    pub crowded: bool,
}

/// A digit that more than one key in `CROWD` has makes a tile crowded.
const CROWD: u32 = 8;

/// Waits for the lanes of the warp, all of which must call it.
#[inline(always)]
#[track_caller]
pub fn sync_warp() {
    // SAFETY: all lanes of the warp call it.
    unsafe { warp::sync_warp(FULL_MASK) }
}

/// Keeps the lanes of a warp together on the CPU executor, where each lane runs on alone. On the GPU they are together, nearly
/// always, and nothing depends on it.
#[inline(always)]
#[track_caller]
pub fn keep_together() {
    #[cfg(not(target_arch = "nvptx64"))]
    sync_warp();
}

/// Returns the number of keys with `digit` in the tiles before `tile`, which is at least 1.
///
/// `states` has a word for every tile and digit. Its two highest bits are a tag: [`COUNTED`] with the tile's own number of
/// keys, `known` with the number in all tiles up to this one, anything else before that. A tile's block took its ticket before
/// this one did, so it runs, and its word comes. The value is in the word, so that relaxed accesses are enough.
#[inline(always)]
#[track_caller]
pub fn look_back(
    states: GlobalMut<u32>,
    tile: usize,
    digit: usize,
    known: u32,
    predecessors: usize,
) -> u32 {
    let (mut end, mut sum) = (tile, 0);
    loop {
        let mut words = [0; 4];
        unrolled!(j < 4 => {
            if 0 < j && j < predecessors && j < end {
                words[j] = states.atomic_load(
                    (end - 1 - j) * DIGITS + digit,
                    Ordering::Relaxed,
                    Scope::Device,
                );
            }
        });
        words[0] = states.wait_until_with(
            (end - 1) * DIGITS + digit,
            Ordering::Relaxed,
            Scope::Device,
            Backoff::NONE,
            |word| word & !VALUE == known || word & !VALUE == COUNTED,
        );
        let (mut open, mut done, mut used) = (true, false, 0);
        unrolled!(j < 4 => {
            if j < predecessors && open && j < end {
                let tag = words[j] & !VALUE;
                done = tag == known;
                open = tag == COUNTED;
                if done || open {
                    sum += words[j] & VALUE;
                    used += 1;
                }
            }
        });
        if done {
            return sum;
        }
        end -= used;
    }
}

/// Returns the shift that leaves a key's bits up to and with the digit.
#[inline(always)]
pub fn unused_bits<U: Bits>(shift: u32, mask: u32) -> u32 {
    U::BITS - shift - mask.count_ones()
}
