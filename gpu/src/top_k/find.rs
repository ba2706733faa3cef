//! How one block finds the `k` best of its elements.
//!
//! ```text
//! narrow a part of the elements: find a threshold from which up the part has k elements, and not many more
//!     while too many elements may be above:
//!         count by the next digit of the rank (later of the position) the elements that have the digits found so far
//!         find the digit of the k-th: elements with greater digits are above
//! collect all elements above the threshold into shared memory, at least k
//! if there is no room for so many: do both again, where the part is everything
//! sort what was collected by rank, then by position
//! ```
//!
//! To count costs an addition in shared memory per element, and additions to one counter wait for each other. A comparison
//! costs next to nothing. So a small part is counted, and everything is compared.

use cuda_std::{
    block,
    prelude::*,
    shared::DynamicShared,
    unrolled,
    warp::{self, FULL_MASK},
};

use super::{
    policy::*,
    source::{Part, Ranked, Source, Threshold},
};
use crate::sort::Bits;

/// What no digit is.
const NONE: u32 = u32::MAX;

/// The elements of [`Memory::words`] from the sums on: what one thread tells the others.
const DIGIT: usize = SUMS;
const ABOVE: usize = SUMS + 1;
const INSIDE: usize = SUMS + 2;
const FOUND: usize = SUMS + 3;

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub struct Memory<U> {
    wide_sums: Shared<u64>,
    bins: Shared<u32>,
    words: Shared<u32>,
    ranks: Shared<U>,
    positions: Shared<u32>,
}

impl<U: Bits> Memory<U> {
    /// Takes the memory for up to `most` entries: [`shared_bytes`].
    #[inline(always)]
    #[track_caller]
    pub fn new(memory: &mut DynamicShared, most: usize) -> Self {
        Self {
            wide_sums: memory.carve(SUMS),
            bins: memory.carve(BINS),
            words: memory.carve(WORDS),
            ranks: memory.carve(most),
            positions: memory.carve(most),
        }
    }
}

/// Returns a threshold from which up there are at least `k` elements and at most `most`. `k` is at least 1 and at most `most`
/// and the number of elements.
///
/// Every thread of the block must call it. It ends with a barrier. Reads every rank once for each digit of 11 bits until few
/// enough elements are left.
#[inline(always)]
#[track_caller]
fn narrow<U: Bits>(source: impl Ranked<U>, k: u32, most: u32, memory: Memory<U>) -> Threshold<U> {
    // The elements that count for sure, and those that may.
    let (mut above, mut inside) = (0, source.len() as u32);
    // All ranks that may count are `low` and up to the `bits` lowest bits more.
    let (mut low, mut bits) = window(source, memory.wide_sums);
    while bits > 0 && above + inside > most {
        let (shift, mask) = next_digit(bits);
        let (from, to) = (U::from_word(low), U::from_word(low | ones(bits)));
        let digit = |i: usize| {
            let rank = source.rank(i);
            let inside = from <= rank && rank <= to;
            if inside {
                rank.digit(shift, mask)
            } else {
                NONE
            }
        };
        let found = count(source.len(), k - above, memory, digit);
        above += found.above;
        inside = found.inside;
        low |= u64::from(found.digit) << shift;
        bits = shift;
    }
    let rank = U::from_word(low);
    if above + inside <= most {
        let position = u32::MAX;
        return Threshold { rank, position };
    }
    // The ranks are the same: the lower the position, the better.
    let last = source.last();
    let (mut low, mut bits) = (0_u32, u32::BITS - last.leading_zeros());
    while bits > 0 && above + inside > most {
        let (shift, mask) = next_digit(bits);
        let to = low | ones(bits) as u32;
        let digit = |i: usize| {
            if source.rank(i) != rank {
                return NONE;
            }
            let before_last = last - source.position(i);
            let inside = low <= before_last && before_last <= to;
            if inside {
                (before_last >> shift) & mask
            } else {
                NONE
            }
        };
        let found = count(source.len(), k - above, memory, digit);
        above += found.above;
        inside = found.inside;
        low |= found.digit << shift;
        bits = shift;
    }
    let position = last - low;
    Threshold { rank, position }
}

/// Returns the shift and the mask of the next digit of the lowest `bits` bits.
#[inline(always)]
fn next_digit(bits: u32) -> (u32, u32) {
    let width = bits.min(DIGIT_BITS);
    (bits - width, (1 << width) - 1)
}

/// The digit that the element number `k` has, if those with greater digits come first.
struct Found {
    digit: u32,
    /// The elements with greater digits.
    above: u32,
    /// The elements with this digit.
    inside: u32,
}

/// Finds the digit of the `k`-th element, which some element has. Ends with a barrier.
#[inline(always)]
#[track_caller]
#[allow(unused_assignments)]
fn count<U: Bits>(len: usize, k: u32, memory: Memory<U>, digit: impl Fn(usize) -> u32) -> Found {
    const EACH: usize = BINS / BLOCK;
    let (bins, words) = (memory.bins, memory.words);
    let tid = thread::thread_idx_x() as usize;
    unrolled!(j < EACH => {
        bins.set(j * BLOCK + tid, 0);
    });
    thread::sync_threads();
    let mut first = 0;
    while first < len {
        let digits: [u32; UNROLL] = core::array::from_fn(|j| {
            let i = first + j * BLOCK + tid;
            if i < len { digit(i) } else { NONE }
        });
        unrolled!(j < UNROLL => {
            add(bins, digits[j]);
        });
        first += UNROLL * BLOCK;
    }
    thread::sync_threads();
    // Thread 0 has the greatest digits.
    let counts: [u32; EACH] = core::array::from_fn(|j| bins.get(BINS - 1 - (tid * EACH + j)));
    let sum = counts.iter().sum();
    let (mut before, _) = block::exclusive_scan::<_, BLOCK>(sum, 0, words, |a, b| a + b);
    if before < k && k <= before + sum {
        unrolled!(j < EACH => {
            if before < k && k <= before + counts[j] {
                words.set(DIGIT, (BINS - 1 - (tid * EACH + j)) as u32);
                words.set(ABOVE, before);
                words.set(INSIDE, counts[j]);
            }
            before += counts[j];
        });
    }
    thread::sync_threads();
    let [digit, above, inside] = [DIGIT, ABOVE, INSIDE].map(|word| words.get(word));
    thread::sync_threads();
    Found {
        digit,
        above,
        inside,
    }
}

/// Counts one digit per lane. Where all are the same, one addition counts them.
#[inline(always)]
#[track_caller]
fn add(bins: Shared<u32>, digit: u32) {
    let first = warp::shuffle(FULL_MASK, digit, 0);
    if warp::all(FULL_MASK, digit == first) {
        if digit != NONE && warp::lane_id() == 0 {
            bins.atomic_add(digit as usize, 32);
        }
    } else if digit != NONE {
        bins.atomic_add(digit as usize, 1);
    }
}

/// Returns the common beginning of all ranks, with zeros for the bits that differ, and the number of these bits. For ranks that
/// are not close, that is nothing and all bits.
#[inline(always)]
#[track_caller]
fn window<U: Bits, S: Ranked<U>>(source: S, sums: Shared<u64>) -> (u64, u32) {
    if !S::ARE_CLOSE {
        return (0, U::BITS);
    }
    let (mut least, mut most) = (u64::MAX, 0);
    let tid = thread::thread_idx_x() as usize;
    let mut first = 0;
    while first < source.len() {
        let ranks: [u64; UNROLL] = core::array::from_fn(|j| {
            let i = (first + j * BLOCK + tid).min(source.len() - 1);
            source.rank(i).to_word()
        });
        unrolled!(j < UNROLL => {
            least = least.min(ranks[j]);
            most = most.max(ranks[j]);
        });
        first += UNROLL * BLOCK;
    }
    let least = block::reduce::<_, BLOCK>(least, sums, |a, b| a.min(b));
    thread::sync_threads();
    let most = block::reduce::<_, BLOCK>(most, sums, |a, b| a.max(b));
    thread::sync_threads();
    let bits = u64::BITS - (least ^ most).leading_zeros();
    (least & !ones(bits), bits)
}

/// Returns a number whose lowest `bits` bits are set.
#[inline(always)]
fn ones(bits: u32) -> u64 {
    if bits == 0 {
        0
    } else {
        u64::MAX >> (64 - bits)
    }
}

/// Calls `write` with number, rank and position of the `k` best elements, number 0 first. The threads share the calls.
///
/// `k` is at least 1 and at most `most` and the number of elements. Every thread of the block must call it.
#[inline(always)]
#[track_caller]
pub fn best<U: Bits, S: Source<U>>(
    source: S,
    k: u32,
    most: u32,
    memory: Memory<U>,
    write: impl Fn(usize, U, u32),
) {
    let Memory {
        words,
        ranks,
        positions,
        ..
    } = memory;
    let tid = thread::thread_idx_x() as usize;
    let mut part = first_part(source, k as usize, most as usize);
    let found = loop {
        let is_all = part.step == 1;
        let enough = if is_all {
            // To sort more entries takes longer than to find exactly `k`.
            k.max(BLOCK as u32)
        } else {
            k + k / 4 + 8
        };
        let threshold = narrow(part, k, enough, memory);
        if tid == 0 {
            words.set(FOUND, 0);
        }
        thread::sync_threads();
        source.each_above(threshold, |i, rank| {
            if threshold.counts(rank, || source.position(i)) {
                let place = words.atomic_add(FOUND, 1) as usize;
                if place < most as usize {
                    ranks.set(place, rank);
                    positions.set(place, source.position(i));
                }
            }
        });
        thread::sync_threads();
        let found = words.get(FOUND);
        thread::sync_threads();
        if is_all || found <= most {
            break found as usize;
        }
        part = everything(source);
    };
    if found <= BLOCK {
        // Each thread counts the entries that are better than its own.
        if tid < found {
            let (rank, position) = (ranks.get(tid), positions.get(tid));
            let mut better = 0;
            for i in 0..found {
                let other = ranks.get(i);
                better += u32::from(other > rank || (other == rank && positions.get(i) < position));
            }
            if better < k {
                write(better as usize, rank, position);
            }
        }
        return;
    }
    sort(found, ranks, positions);
    let mut i = tid;
    while i < k as usize {
        write(i, ranks.get(i), positions.get(i));
        i += BLOCK;
    }
}

/// Returns the part of the elements that is counted first.
#[inline(always)]
fn first_part<U: Bits, S: Ranked<U>>(source: S, k: usize, most: usize) -> Part<S> {
    let len = source.len();
    let enough = (ENOUGH_PER_K * k).max(ENOUGH).min(most / 4 * 3);
    let wanted = (len * k / enough).max(LEAST_PART);
    let step = len / wanted;
    let part = len / (32 * step.max(1)) * 32;
    if len < LEAST_WITH_PART || step < 2 || part < 2 * k {
        return everything(source);
    }
    Part {
        source,
        step,
        len: part,
    }
}

/// Returns all elements as a part.
#[inline(always)]
fn everything<U: Bits, S: Ranked<U>>(source: S) -> Part<S> {
    Part {
        source,
        step: 1,
        len: source.len(),
    }
}

/// Sorts entries, the best first, by a network for any number of them. Begins after a barrier and ends with one.
///
/// The first step of a size compares with the mirror image, so that all steps sort in one direction and the entries behind the
/// end need not exist. A thread takes four entries through two steps, which halves the accesses to shared memory: they are what
/// takes the time.
#[inline(always)]
#[track_caller]
fn sort<U: Bits>(len: usize, ranks: Shared<U>, positions: Shared<u32>) {
    let padded = len.next_power_of_two();
    let network = Network {
        len,
        ranks,
        positions,
    };
    let mut size = 2;
    while size <= padded {
        let mut stride = size / 2;
        if size >= 4 {
            let half = size / 4;
            network.steps::<4>(padded, [[0, 3], [1, 2]], |four| {
                let within = four & (half - 1);
                let (first, last) = (4 * (four - within), 4 * (four - within) + size - 1);
                let (from, to) = (first + within, last - within);
                [from, from + half, to - half, to]
            });
            stride = size / 8;
        }
        while stride >= 2 {
            let half = stride / 2;
            network.steps::<4>(padded, [[0, 2], [1, 3]], |four| {
                let within = four & (half - 1);
                let first = 4 * (four - within) + within;
                [first, first + half, first + 2 * half, first + 3 * half]
            });
            stride /= 4;
        }
        if stride == 1 {
            network.steps::<2>(padded, [[0, 1]; 2], |two| [2 * two, 2 * two + 1, 0, 0]);
        }
        size *= 2;
    }
}

/// The entries of [`sort`].
#[derive(Clone, Copy)]
struct Network<U> {
    len: usize,
    ranks: Shared<U>,
    positions: Shared<u32>,
}

impl<U: Bits> Network<U> {
    /// Returns an entry, or behind the end one that is worse than all.
    #[inline(always)]
    #[track_caller]
    fn get(self, i: usize) -> (U, u32) {
        if i < self.len {
            (self.ranks.get(i), self.positions.get(i))
        } else {
            (U::ZERO, u32::MAX)
        }
    }

    #[inline(always)]
    #[track_caller]
    fn set(self, i: usize, (rank, position): (U, u32)) {
        if i < self.len {
            self.ranks.set(i, rank);
            self.positions.set(i, position);
        }
    }

    /// Does two steps with each group of four entries, or one with each two. The first step compares `pairs`, the second one
    /// neighbors. `places` returns where a group's entries are.
    #[inline(always)]
    #[track_caller]
    fn steps<const GROUP: usize>(
        self,
        padded: usize,
        pairs: [[usize; 2]; 2],
        places: impl Fn(usize) -> [usize; 4],
    ) {
        let mut group = thread::thread_idx_x() as usize;
        while group < padded / GROUP {
            let at = places(group);
            let mut entries = [(U::ZERO, u32::MAX); 4];
            unrolled!(j < 4 => {
                if j < GROUP {
                    entries[j] = self.get(at[j]);
                }
            });
            let mut sort = |[a, b]: [usize; 2]| {
                let (left, right) = (entries[a], entries[b]);
                if right.0 > left.0 || (right.0 == left.0 && right.1 < left.1) {
                    (entries[a], entries[b]) = (right, left);
                }
            };
            sort(pairs[0]);
            if GROUP == 4 {
                sort(pairs[1]);
                sort([0, 1]);
                sort([2, 3]);
            }
            unrolled!(j < 4 => {
                if j < GROUP {
                    self.set(at[j], entries[j]);
                }
            });
            group += BLOCK;
        }
        thread::sync_threads();
    }
}
