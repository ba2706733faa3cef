//! One pass over keys alone: the loop on the page of [`best`](super). A thread holds its keys in registers.

use cuda_std::{prelude::*, shared::DynamicShared, unrolled};

use crate::{
    sort::{
        bits::{Bits, DIGITS, Pass, Twists},
        policy::Policy,
        tile::{Block, COUNTED, keep_together, look_back, unused_bits},
    },
    tuning::{Numbers, Tuned, numbers},
};

/// Moves the keys to where their digit of this pass belongs, in any order among equal digits: the first pass over keys alone
/// that are sorted by all their bits.
///
/// `begins[256 * pass.begin + d]` is where the next keys with digit `d` go; the kernel moves it on.
///
/// Launch: a block of the policy's threads per `pass.tile` keys; dynamic shared memory of [`Policy::keys_shared_bytes`]. Reads
/// and writes every key once. The order among equal digits changes from run to run.
///
/// # Safety
/// `input` and `output` do not overlap. Where the digits of `input` begin in `output` leaves room for all of them, and `begins`
/// has 256 elements for the pass, which nothing else uses.
#[kernel(
    launch_bounds(
        numbers::<Policy, U>(ROW).threads as u32,
        numbers::<Policy, U>(ROW).resident
    ),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64)),
    tuned(b4 as u32: 0..10, b8 as u64: 0..10)
)]
pub unsafe fn sort_best_first<U: Bits, const ROW: usize>(
    input: Global<U>,
    output: GlobalMut<U>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    states: GlobalMut<u32>,
    pass: Pass,
    twists: Twists<U>,
) {
    let order = Order { tickets, states };
    sweep::<U, Numbers<U, ROW>, true, false>(input, output, begins, order, pass, twists);
}

/// Moves the keys to where their digit of this pass belongs. Keys with equal digits keep their order, if keys with equal digits
/// are in the order of their lower bits.
///
/// `begins[256 * pass.begin + d]` is where the keys with digit `d` begin; where the next ones would begin goes to row
/// `pass.next`. `states` has 256 words per tile, whose tags differ from `pass.known` and `COUNTED`.
///
/// Launch: a block of the policy's threads per `pass.tile` keys; dynamic shared memory of [`Policy::keys_shared_bytes`]. Reads
/// and writes every key once. Exact.
///
/// # Safety
/// `input` and `output` do not overlap. Where the digits of `input` begin in `output` leaves room for all of them. The element
/// of `tickets` is 0, `states` has its words, and nothing else uses either. There are fewer than 2^30 keys.
#[kernel(
    launch_bounds(
        numbers::<Policy, U>(ROW).threads as u32,
        numbers::<Policy, U>(ROW).resident
    ),
    instances(b2: (u16), b4: (u32), b8: (u64)),
    tuned(b4 as u32: 0..10, b8 as u64: 0..10)
)]
pub unsafe fn sort_best_keys<U: Bits, const ROW: usize>(
    input: Global<U>,
    output: GlobalMut<U>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    states: GlobalMut<u32>,
    pass: Pass,
    twists: Twists<U>,
) {
    let order = Order { tickets, states };
    sweep::<U, Numbers<U, ROW>, false, false>(input, output, begins, order, pass, twists);
}

/// What brings the tiles of a pass in order.
#[derive(Clone, Copy)]
pub struct Order {
    /// The counters from which blocks take their tiles.
    pub tickets: GlobalMut<u32>,
    /// A word for every tile and digit.
    pub states: GlobalMut<u32>,
}

/// One pass, with the values of the policy row `N`. `FIRST`: without an order among equal digits. `BALLOTS`: ranks by ballots.
#[inline(always)]
#[track_caller]
pub fn sweep<U: Bits, N: Tuned<Policy>, const FIRST: bool, const BALLOTS: bool>(
    input: Global<U>,
    output: GlobalMut<U>,
    begins: GlobalMut<u64>,
    order: Order,
    pass: Pass,
    twists: Twists<U>,
) {
    let threads = const { N::POLICY.threads };
    let items = const {
        assert!(N::POLICY.keys <= 32 && N::POLICY.threads >= DIGITS);
        N::POLICY.keys
    };
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let block = Block::new(&mut memory, threads / 32);
    let starts = Starts::new(&mut memory);
    let sorted = memory.carve::<U>(pass.tile as usize + 1);
    let (tid, n) = (block.tid, input.len());

    let tile = if FIRST {
        thread::block_idx_x() as usize
    } else {
        block.next_tile(order.tickets, pass.ticket)
    };
    let from = tile * pass.tile as usize;
    let left = (n - from).min(pass.tile as usize);
    let full = left == threads * items;
    // The number in the tile of this thread's key `i`.
    let at = |i: usize| block.warp * (32 * items) + i * 32 + block.lane;
    let mut keys = [U::ZERO; 32];
    if full {
        unrolled!(i < items of 32 => {
            keys[i] = input.get_streaming(from + at(i)).twist(twists.input);
        });
    } else {
        unrolled!(i < items of 32 => {
            if at(i) < left {
                keys[i] = input.get(from + at(i)).twist(twists.input);
            }
        });
    }
    block.note([pass.shift, pass.mask, left as u32]);
    block.clear();
    let counts = block.counts;
    let digit = |key: U| key.digit(pass.shift, pass.mask);
    if full {
        unrolled!(i < items of 32 => {
            counts.atomic_add(block.slot(digit(keys[i])), 1);
        });
    } else {
        unrolled!(i < items of 32 => {
            if at(i) < left {
                counts.atomic_add(block.slot(digit(keys[i])), 1);
            }
        });
    }
    let mut begin = 0;
    let mut tile_count = 0;
    let places = block.places(threads / 32, left as u32, |count| {
        tile_count = count;
        if FIRST {
            begin = begins.atomic_add(pass.begin as usize * DIGITS + tid, count.into());
        } else {
            publish(
                order.states,
                tile,
                tid,
                if tile == 0 { pass.known } else { COUNTED } | count,
            );
        }
    });

    let [shift, mask, noted_left] = block.noted();
    let digit = |key: U| key.digit(shift, mask);
    let noted_left = noted_left as usize;
    if BALLOTS || places.crowded {
        unrolled!(i < items of 32 => {
            let inside = full || at(i) < noted_left;
            let place = if BALLOTS {
                block.place_by_ballots(digit(keys[i]), inside)
            } else {
                block.place_by_match(digit(keys[i]), inside)
            };
            if inside {
                sorted.set(place, keys[i]);
            }
        });
    } else if full {
        unrolled!(i < items of 32 => {
            let place = counts.atomic_add(block.slot(digit(keys[i])), 1);
            sorted.set(place as usize, keys[i]);
            keep_together();
        });
    } else {
        unrolled!(i < items of 32 => {
            if at(i) < noted_left {
                let place = counts.atomic_add(block.slot(digit(keys[i])), 1);
                sorted.set(place as usize, keys[i]);
            }
            keep_together();
        });
    }
    if tid < DIGITS {
        if !FIRST {
            begin = placed(
                begins,
                order.states,
                pass,
                tile,
                n,
                tile_count,
                const { N::POLICY.predecessors },
            );
        }
        starts.set(tid, begin.wrapping_sub(places.first.into()));
    }
    if tid == 0 {
        // Nothing comes before the last key's successor.
        sorted.set(left, U::ONES);
    }
    thread::sync_threads();

    let unused = unused_bits::<U>(shift, mask);
    let checked = !FIRST && !BALLOTS;
    // Whether a key has the digit of the next one, and the bits below that are greater: they have changed places.
    let mut bad = false;
    if full && pass.wide == 0 {
        unrolled!(i < items of 32 => {
            let place = i * threads + tid;
            let key = sorted.get(place);
            let to = starts.narrow(digit(key), place);
            output.set(to, key.untwist(twists.output));
            if checked {
                bad |= key.without(unused) > sorted.get(place + 1).without(unused);
            }
        });
    } else {
        let mut place = tid;
        while place < noted_left {
            let key = sorted.get(place);
            let to = starts.wide(digit(key), place);
            output.set(to, key.untwist(twists.output));
            if checked {
                bad |= key.without(unused) > sorted.get(place + 1).without(unused);
            }
            place += threads;
        }
    }
    if !checked || thread::sync_threads_or(bad.into()) == 0 {
        return;
    }
    block.places_again(threads / 32);
    let mut i = 0;
    while i < items {
        let inside = at(i) < noted_left;
        let key = if inside {
            input.get(from + at(i)).twist(twists.input)
        } else {
            U::ZERO
        };
        let place = block.place_by_ballots(digit(key), inside);
        if inside {
            sorted.set(place, key);
        }
        i += 1;
    }
    thread::sync_threads();
    let mut place = tid;
    while place < noted_left {
        let key = sorted.get(place);
        output.set(starts.wide(digit(key), place), key.untwist(twists.output));
        place += threads;
    }
}

/// Stores a status word.
#[inline(always)]
#[track_caller]
pub fn publish(states: GlobalMut<u32>, tile: usize, digit: usize, word: u32) {
    use core::sync::atomic::Ordering;
    use cuda_std::atomic::Scope;
    states.atomic_store(
        tile * DIGITS + digit,
        word,
        Ordering::Relaxed,
        Scope::Device,
    );
}

/// Returns where the tile's keys with this thread's digit begin in the output, and tells the tiles behind.
#[inline(always)]
#[track_caller]
pub fn placed(
    begins: GlobalMut<u64>,
    states: GlobalMut<u32>,
    pass: Pass,
    tile: usize,
    len: usize,
    count: u32,
    predecessors: usize,
) -> u64 {
    let tid = thread::thread_idx_x() as usize;
    let mut before = 0;
    if tile > 0 {
        before = look_back(states, tile, tid, pass.known, predecessors);
        publish(states, tile, tid, pass.known | (before + count));
    }
    let begin = begins.get(pass.begin as usize * DIGITS + tid) + u64::from(before);
    let is_last = len - tile * pass.tile as usize <= pass.tile as usize;
    if is_last && pass.next != pass.begin {
        begins.set(pass.next as usize * DIGITS + tid, begin + u64::from(count));
    }
    begin
}

/// Where a sorted tile goes: the key at place `p` with digit `d` becomes element `starts[d] + p` of the output. The sum is
/// modulo 2^64, and is in two halves, of which most sorts need one.
#[derive(Clone, Copy)]
pub struct Starts {
    low: Shared<u32>,
    high: Shared<u32>,
}

impl Starts {
    /// Takes the shared memory.
    #[inline(always)]
    #[track_caller]
    pub fn new(memory: &mut DynamicShared) -> Self {
        Self {
            low: memory.carve(DIGITS),
            high: memory.carve(DIGITS),
        }
    }

    /// Sets the start of a digit.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, digit: usize, start: u64) {
        self.low.set(digit, start as u32);
        self.high.set(digit, (start >> 32) as u32);
    }

    /// Returns the element for the key at `place`, for an output of at most 2^32 elements.
    #[inline(always)]
    #[track_caller]
    pub fn narrow(self, digit: u32, place: usize) -> usize {
        self.low.get(digit as usize).wrapping_add(place as u32) as usize
    }

    /// Returns the element for the key at `place`.
    #[inline(always)]
    #[track_caller]
    pub fn wide(self, digit: u32, place: usize) -> usize {
        let start = u64::from(self.high.get(digit as usize)) << 32
            | u64::from(self.low.get(digit as usize));
        start.wrapping_add(place as u64) as usize
    }
}
