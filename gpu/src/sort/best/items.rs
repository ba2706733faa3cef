//! One pass over keys whose order among equals can be seen: keys with values or positions, and keys sorted by some of their
//! bits.

use cuda_std::{Plain, prelude::*, shared::DynamicShared, unrolled};

use super::keys::{Order, Starts, placed, publish};
use crate::{
    sort::{
        bits::{Bits, Column, DIGITS, Pass, Twists},
        policy::{Policy, column_bytes},
        tile::{Block, COUNTED, keep_together},
    },
    tuning::{Numbers, Tuned, numbers},
};

/// Moves the keys and their values to where the digit of this pass belongs. Keys with equal digits keep their order.
///
/// The tile that is sorted in shared memory consists of tags: a key's digit and its number in the tile. Keys and values go
/// through shared memory in the order in which they are read, and are taken from there by the sorted tags. Tags that are not in
/// ascending order are equal digits that changed places. Values are read while the tile waits for the tiles before it.
///
/// Without an `output` only the values are written. Without `values_in`, `column` says whether the values are positions.
/// The other arguments are those of [`sort_best_keys`](super::sort_best_keys).
///
/// Launch: a block of the policy's threads per `pass.tile` keys; dynamic shared memory of [`Policy::shared_bytes`]. Reads and
/// writes every key and value once. Exact.
///
/// # Safety
/// As for [`sort_best_keys`](super::sort_best_keys). `output` is empty or has its elements. If `column.bytes` is not 0,
/// `values_out` has room for a value of this size, aligned to it, for each key of the output; and `values_in` has one for each
/// key, unless the values are positions.
#[kernel(
    launch_bounds(
        numbers::<Policy, U>(ROW).threads as u32,
        numbers::<Policy, U>(ROW).resident
    ),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64)),
    tuned(b4 as u32: 0..10, b8 as u64: 0..10)
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn sort_best_items<U: Bits, const ROW: usize>(
    input: Global<U>,
    output: GlobalMut<U>,
    values_in: Global<u8>,
    values_out: GlobalMut<u8>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    states: GlobalMut<u32>,
    pass: Pass,
    twists: Twists<U>,
    column: Column,
) {
    let values = Values {
        input: values_in,
        output: values_out,
        column,
    };
    let order = Order { tickets, states };
    sweep::<U, Numbers<U, ROW>, false>(input, output, values, begins, order, pass, twists);
}

/// The values of a sort.
#[derive(Clone, Copy)]
pub struct Values {
    /// The values in the keys' order.
    pub input: Global<u8>,
    /// The places of the values.
    pub output: GlobalMut<u8>,
    /// What they are.
    pub column: Column,
}

impl Values {
    /// Copies value number `from`, or makes it, as number `to` of the output.
    #[inline(always)]
    #[track_caller]
    pub fn copy(self, from: usize, to: usize) {
        let Self {
            input,
            output,
            column,
        } = self;
        let position = column.first + from as u64;
        match (column.bytes, column.positions != 0) {
            (0, _) => {}
            (4, true) => places_of(output).set(to, position as u32),
            (_, true) => places_of(output).set(to, position),
            (1, _) => places_of::<u8>(output).set(to, values_of(input).get(from)),
            (2, _) => places_of::<u16>(output).set(to, values_of(input).get(from)),
            (4, _) => places_of::<u32>(output).set(to, values_of(input).get(from)),
            (8, _) => places_of::<u64>(output).set(to, values_of(input).get(from)),
            _ => places_of::<u128>(output).set(to, values_of(input).get(from)),
        }
    }
}

/// The bits of a tag that are a key's number in its tile.
const NUMBER: u32 = 0xffff;
/// A value that comes after every tag.
const PAST: u32 = u32::MAX;

/// One pass, with the values of the policy row `N`. `BALLOTS`: ranks by ballots.
#[inline(always)]
#[track_caller]
pub fn sweep<U: Bits, N: Tuned<Policy>, const BALLOTS: bool>(
    input: Global<U>,
    output: GlobalMut<U>,
    values: Values,
    begins: GlobalMut<u64>,
    order: Order,
    pass: Pass,
    twists: Twists<U>,
) {
    let threads = const { N::POLICY.threads };
    let items = const {
        assert!(N::POLICY.items <= 32 && N::POLICY.threads * N::POLICY.items <= NUMBER as usize);
        N::POLICY.items
    };
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let block = Block::new(&mut memory, threads / 32);
    let starts = Starts::new(&mut memory);
    let tags = memory.carve::<u32>(pass.tile as usize + 1);
    let exchange = memory.carve::<u128>(pass.tile as usize * column_bytes(size_of::<U>()) / 16);
    // SAFETY: the memory is aligned for the largest element.
    let column_keys = unsafe { exchange.cast::<U>() };
    let (tid, n) = (block.tid, input.len());

    let tile = block.next_tile(order.tickets, pass.ticket);
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
    unrolled!(i < items of 32 => {
        if full || at(i) < left {
            counts.atomic_add(block.slot(digit(keys[i])), 1);
        }
    });
    let mut tile_count = 0;
    let places = block.places(threads / 32, left as u32, |count| {
        tile_count = count;
        publish(
            order.states,
            tile,
            tid,
            if tile == 0 { pass.known } else { COUNTED } | count,
        );
    });

    let [shift, mask, noted_left] = block.noted();
    let digit = |key: U| key.digit(shift, mask);
    let left = noted_left as usize;
    if BALLOTS || places.crowded {
        unrolled!(i < items of 32 => {
            let inside = full || at(i) < left;
            let digit = digit(keys[i]);
            let place = if BALLOTS {
                block.place_by_ballots(digit, inside)
            } else {
                block.place_by_match(digit, inside)
            };
            if inside {
                tags.set(place, digit << 16 | at(i) as u32);
                column_keys.set(at(i), keys[i]);
            }
        });
    } else {
        unrolled!(i < items of 32 => {
            if full || at(i) < left {
                let digit = digit(keys[i]);
                let place = counts.atomic_add(block.slot(digit), 1) as usize;
                tags.set(place, digit << 16 | at(i) as u32);
                column_keys.set(at(i), keys[i]);
            }
            keep_together();
        });
    }
    let moved = Moved {
        values,
        from,
        left,
        threads,
        held: const {
            let words = N::POLICY.items * column_bytes(size_of::<U>()) / size_of::<u32>();
            if words < HELD { words } else { HELD }
        },
        room: exchange,
    };
    let is_given = values.column.bytes != 0 && values.column.positions == 0;
    let mut held = [0; HELD];
    if is_given {
        held = moved.load();
    }
    if tid < DIGITS {
        let begin = placed(
            begins,
            order.states,
            pass,
            tile,
            n,
            tile_count,
            const { N::POLICY.predecessors },
        );
        starts.set(tid, begin.wrapping_sub(places.first.into()));
    }
    if tid == 0 {
        tags.set(left, PAST);
    }
    thread::sync_threads();

    let sorted = Sorted {
        tags,
        starts,
        left,
        threads,
        wide: pass.wide != 0,
    };
    let write = |number: usize, to| output.set(to, column_keys.get(number).untwist(twists.output));
    let bad = if output.is_empty() {
        sorted.each(|_, _| ())
    } else {
        sorted.each(write)
    };
    if !BALLOTS && thread::sync_threads_or(bad.into()) != 0 {
        block.places_again(threads / 32);
        let mut i = 0;
        while i < items {
            let inside = at(i) < left;
            let digit = if inside {
                digit(column_keys.get(at(i)))
            } else {
                0
            };
            let place = block.place_by_ballots(digit, inside);
            if inside {
                tags.set(place, digit << 16 | at(i) as u32);
            }
            i += 1;
        }
        thread::sync_threads();
        if !output.is_empty() {
            sorted.each(write);
        }
    }
    let column = values.column;
    match (column.bytes, column.positions != 0) {
        (0, _) => {}
        (4, true) => {
            let output = places_of::<u32>(values.output);
            let first = column.first as u32 + from as u32;
            sorted.each(|number, to| output.set(to, first + number as u32));
        }
        (_, true) => {
            let output = places_of::<u64>(values.output);
            let first = column.first + from as u64;
            sorted.each(|number, to| output.set(to, first + number as u64));
        }
        _ => moved.write(sorted, held),
    }
}

/// A sorted tile.
#[derive(Clone, Copy)]
struct Sorted {
    tags: Shared<u32>,
    starts: Starts,
    /// The keys of the tile.
    left: usize,
    /// The threads of the block.
    threads: usize,
    /// Whether the output has more than 2^32 keys.
    wide: bool,
}

/// The keys or values that a thread has under way at a time.
const UNROLL: usize = 4;

impl Sorted {
    /// Calls `each` for this thread's share of the sorted keys: with the key's number in the tile, and its place in the output.
    /// Returns whether a key among them has changed places with the one behind it.
    #[inline(always)]
    #[track_caller]
    fn each(self, each: impl Fn(usize, usize)) -> bool {
        self.each_of(|_| true, each)
    }

    /// Like [`each`](Self::each), for keys whose number is `wanted`.
    #[inline(always)]
    #[track_caller]
    fn each_of(self, wanted: impl Fn(usize) -> bool, each: impl Fn(usize, usize)) -> bool {
        let mut place = thread::thread_idx_x() as usize;
        let mut bad = false;
        while place + (UNROLL - 1) * self.threads < self.left {
            unrolled!(i < UNROLL => {
                bad |= self.one(place + i * self.threads, &wanted, &each);
            });
            place += UNROLL * self.threads;
        }
        while place < self.left {
            bad |= self.one(place, &wanted, &each);
            place += self.threads;
        }
        bad
    }

    #[inline(always)]
    #[track_caller]
    fn one(
        self,
        place: usize,
        wanted: &impl Fn(usize) -> bool,
        each: &impl Fn(usize, usize),
    ) -> bool {
        let tag = self.tags.get(place);
        let number = (tag & NUMBER) as usize;
        if wanted(number) {
            let to = if self.wide {
                self.starts.wide(tag >> 16, place)
            } else {
                self.starts.narrow(tag >> 16, place)
            };
            each(number, to);
        }
        tag > self.tags.get(place + 1)
    }
}

/// The most words of values that a thread holds.
const HELD: usize = 32;

/// The values of a tile on their way through shared memory, in parts: as many values at a time as there is room for. A thread
/// holds its share of a part in registers, from its load until the shared memory is free.
#[derive(Clone, Copy)]
struct Moved {
    values: Values,
    /// The first value of the tile.
    from: usize,
    /// The values of the tile.
    left: usize,
    /// The threads of the block.
    threads: usize,
    /// The most words that a thread holds, a constant.
    held: usize,
    room: Shared<u128>,
}

impl Moved {
    /// Returns the end of the part that begins with value `begin` of the tile.
    #[inline(always)]
    fn end(self, begin: usize) -> usize {
        let room = self.room.len() * size_of::<u128>();
        let bytes = room.min(self.threads * self.held * size_of::<u32>());
        // A shift is less work than a division.
        let most = bytes >> self.values.column.bytes.trailing_zeros();
        self.left.min(begin + most)
    }

    /// Loads this thread's share of the first part.
    #[inline(always)]
    #[track_caller]
    fn load(self) -> [u32; HELD] {
        match self.values.column.bytes {
            1 => self.load_words::<u8>(0),
            2 => self.load_words::<u16>(0),
            _ => self.load_words::<u32>(0),
        }
    }

    /// Writes this thread's share of the first part to shared memory.
    #[inline(always)]
    #[track_caller]
    fn store(self, held: [u32; HELD]) {
        match self.values.column.bytes {
            1 => self.store_words::<u8>(0, held),
            2 => self.store_words::<u16>(0, held),
            _ => self.store_words::<u32>(0, held),
        }
    }

    /// Loads this thread's share of the part that begins with value `begin` of the tile, as words of type `W`: a value, or a
    /// part of one.
    #[inline(always)]
    #[track_caller]
    fn load_words<W: Bits>(self, begin: usize) -> [u32; HELD] {
        let (first, count) = self.words::<W>(begin);
        let (input, tid) = (
            values_of::<W>(self.values.input),
            thread::thread_idx_x() as usize,
        );
        let most = self.held;
        let mut held = [0; HELD];
        // Values of less than a word are rarer, and not worth the instructions.
        if size_of::<W>() == size_of::<u32>() && count == self.threads * most {
            unrolled!(i < most of 32 => {
                held[i] = input.get_streaming(first + i * self.threads + tid).to_word() as u32;
            });
        } else {
            unrolled!(i < most of 32 => {
                if i * self.threads + tid < count {
                    held[i] = input.get_streaming(first + i * self.threads + tid).to_word() as u32;
                }
            });
        }
        held
    }

    #[inline(always)]
    #[track_caller]
    fn store_words<W: Bits>(self, begin: usize, held: [u32; HELD]) {
        let (_, count) = self.words::<W>(begin);
        // SAFETY: the memory is aligned for the largest element.
        let room = unsafe { self.room.cast::<W>() };
        let (most, tid) = (self.held, thread::thread_idx_x() as usize);
        unrolled!(i < most of 32 => {
            if i * self.threads + tid < count {
                room.set(i * self.threads + tid, W::from_word(held[i].into()));
            }
        });
    }

    /// Returns the first word of a part, and the number of words.
    #[inline(always)]
    fn words<W: Bits>(self, begin: usize) -> (usize, usize) {
        let each = self.values.column.bytes as usize / size_of::<W>();
        ((self.from + begin) * each, (self.end(begin) - begin) * each)
    }

    /// Writes all values to where they belong. `held` is what [`load`](Self::load) returned.
    #[inline(always)]
    #[track_caller]
    fn write(self, sorted: Sorted, held: [u32; HELD]) {
        // The keys in the memory have been written.
        thread::sync_threads();
        self.store(held);
        thread::sync_threads();
        let mut end = self.end(0);
        match self.values.column.bytes {
            1 => self.write_part::<u8>(sorted, 0, end),
            2 => self.write_part::<u16>(sorted, 0, end),
            4 => self.write_part::<u32>(sorted, 0, end),
            8 => self.write_part::<u64>(sorted, 0, end),
            _ => self.write_part::<u128>(sorted, 0, end),
        }
        // Only these can be wider than the room for a key.
        while end < self.left {
            let begin = end;
            let held = self.load_words::<u32>(begin);
            thread::sync_threads();
            self.store_words::<u32>(begin, held);
            thread::sync_threads();
            end = self.end(begin);
            match self.values.column.bytes {
                8 => self.write_part::<u64>(sorted, begin, end),
                _ => self.write_part::<u128>(sorted, begin, end),
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    fn write_part<V: Plain>(self, sorted: Sorted, begin: usize, end: usize) {
        // SAFETY: the memory is aligned for the largest element.
        let room = unsafe { self.room.cast::<V>() };
        let output = places_of::<V>(self.values.output);
        sorted.each_of(
            |number| begin <= number && number < end,
            |number, to| output.set(to, room.get(number - begin)),
        );
    }
}

/// Returns the places of values as those of elements of type `V`.
#[inline(always)]
pub fn places_of<V: Plain>(values: GlobalMut<u8>) -> GlobalMut<V> {
    // SAFETY: the kernel's caller gives values of this size, aligned to it.
    unsafe { values.cast() }
}

/// Returns values as elements of type `V`.
#[inline(always)]
pub fn values_of<V: Plain>(values: Global<u8>) -> Global<V> {
    // SAFETY: as above.
    unsafe { values.cast() }
}
