//! One pass over keys whose order among equals can be seen: keys with values or positions, and keys sorted by some of their
//! bits.
//!
//! ```text
//! take a ticket: the number of the tile
//! start to copy the tile's keys to shared memory, then its values                              (cp.async)
//! wait for the keys; count their digits by warp
//! status[tile][digit] = the count
//! for each key: numbers[atomic_add(place of its warp and digit, 1)] = the key's number in the tile
//! look back: where this tile's keys of each digit begin in the output
//! wait for the values
//! for each place: write the key and the value of this number to where its digit begins + the place
//! if the numbers of a digit do not ascend: find the places by ballots, and write again
//! ```
//!
//! Keys and values stay where the copies put them, and no thread holds any, so that registers limit neither the tile nor the
//! number of blocks, and the values arrive while the keys are ranked.

use cuda_std::{Plain, async_copy, prelude::*, shared::DynamicShared, unrolled, warp::FULL_MASK};

use super::keys::{Order, Starts, placed, publish};
use crate::{
    sort::{
        bits::{Bits, Column, DIGITS, Pass, Twist, Twists},
        policy::Policy,
        tile::{Block, COUNTED, keep_together},
    },
    tuning::{Numbers, Tuned, numbers},
};

/// Moves the keys and their values to where the digit of this pass belongs. Keys with equal digits keep their order.
///
/// Without an `output` only the values are written. Without `values_in`, `column` says whether the values are positions.
/// The other arguments are those of [`sort_best_keys`](super::sort_best_keys).
///
/// Launch: a block of the policy's threads per `pass.tile` keys; dynamic shared memory of [`Policy::items_shared_bytes`]. Reads
/// and writes every key and value once. Exact.
///
/// # Safety
/// As for [`sort_best_keys`](super::sort_best_keys). `output` is empty or has its elements. If `column.bytes` is not 0,
/// `values_out` has room for a value of this size, aligned to it, for each key of the output; and `values_in` has one for each
/// key, unless the values are positions.
#[kernel(
    launch_bounds(
        numbers::<Policy, U>(ROW).threads as u32,
        numbers::<Policy, U>(ROW).items_resident
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

    /// Writes the value of key `number` of a tile as number `to` of the output: what is at `number` in `room`, or `position`
    /// plus the number.
    #[inline(always)]
    #[track_caller]
    fn put(self, room: Shared<u128>, number: usize, position: u64, to: usize) {
        let Self { output, column, .. } = self;
        let position = position + number as u64;
        match (column.bytes, column.positions != 0) {
            (0, _) => {}
            (4, true) => places_of(output).set(to, position as u32),
            (_, true) => places_of(output).set(to, position),
            (1, _) => places_of::<u8>(output).set(to, of(room).get(number)),
            (2, _) => places_of::<u16>(output).set(to, of(room).get(number)),
            (4, _) => places_of::<u32>(output).set(to, of(room).get(number)),
            (8, _) => places_of::<u64>(output).set(to, of(room).get(number)),
            _ => places_of::<u128>(output).set(to, room.get(number)),
        }
    }
}

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
    let column = values.column;
    let most = pass.tile as usize;
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let block = Block::new(&mut memory, threads / 32);
    let starts = Starts::new(&mut memory);
    let keys = memory.carve::<u128>((most * size_of::<U>()).div_ceil(16));
    // SAFETY: the memory is aligned for the largest element.
    let keys = unsafe { keys.cast::<U>() };
    let is_given = column.bytes != 0 && column.positions == 0;
    let value_bytes = if is_given { column.bytes as usize } else { 0 };
    let room = memory.carve::<u128>((most * value_bytes).div_ceil(16));
    let numbers = memory.carve::<u16>(most);
    let (tid, n) = (block.tid, input.len());

    let tile = block.next_tile(order.tickets, pass.ticket);
    let from = tile * most;
    let left = (n - from).min(most);
    let share = Share::new(block, most.div_ceil(threads), left);
    fetch(keys, input, from, left, threads);
    async_copy::commit_group();
    if is_given {
        let (from, bytes) = (from * value_bytes, left * value_bytes);
        // SAFETY: any element consists of bytes.
        let room = unsafe { room.cast::<u8>() };
        match value_bytes {
            1 => fetch_as::<u8>(room, values.input, from, bytes, threads),
            2 => fetch_as::<u16>(room, values.input, from, bytes, threads),
            4 => fetch_as::<u32>(room, values.input, from, bytes, threads),
            _ => fetch_as::<u64>(room, values.input, from, bytes, threads),
        }
    }
    async_copy::commit_group();
    block.clear();
    async_copy::wait_group::<1>();
    thread::sync_threads();

    let counts = block.counts;
    let digit = |key: U| key.digit(pass.shift, pass.mask);
    if twists.input != Twist::NONE {
        share.each(0, |number, inside| {
            if inside {
                keys.set(number, keys.get(number).twist(twists.input));
            }
        });
    }
    let mut i = 0;
    while i + UNROLL <= share.whole {
        let mut slots = [0; UNROLL];
        unrolled!(j < UNROLL => {
            slots[j] = block.slot(digit(keys.get(share.number(i + j))));
        });
        unrolled!(j < UNROLL => {
            counts.atomic_add(slots[j], 1);
        });
        i += UNROLL;
    }
    share.each(i, |number, inside| {
        if inside {
            counts.atomic_add(block.slot(digit(keys.get(number))), 1);
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

    let rank = |ballots: bool, number: usize, inside: bool| {
        let digit = if inside { digit(keys.get(number)) } else { 0 };
        let place = if ballots {
            block.place_by_ballots(digit, inside)
        } else {
            block.place_by_match(digit, inside)
        };
        if inside {
            numbers.set(place, number as u16);
        }
    };
    if BALLOTS {
        share.each(0, |number, inside| rank(true, number, inside));
    } else if places.crowded {
        share.each(0, |number, inside| rank(false, number, inside));
    } else {
        let mut i = 0;
        while i + UNROLL <= share.whole {
            let (mut slots, mut places) = ([0; UNROLL], [0; UNROLL]);
            unrolled!(j < UNROLL => {
                slots[j] = block.slot(digit(keys.get(share.number(i + j))));
            });
            // No store stands between the additions, which would wait for the one before.
            unrolled!(j < UNROLL => {
                places[j] = counts.atomic_add(slots[j], 1);
                keep_together();
            });
            unrolled!(j < UNROLL => {
                numbers.set(places[j] as usize, share.number(i + j) as u16);
            });
            i += UNROLL;
        }
        share.each(i, |number, inside| {
            if inside {
                let place = counts.atomic_add(block.slot(digit(keys.get(number))), 1);
                numbers.set(place as usize, number as u16);
            }
            keep_together();
        });
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
    async_copy::wait_all();
    thread::sync_threads();

    let sorted = Sorted {
        keys,
        numbers,
        starts,
        pass,
        share,
        output,
        twist: twists.output,
    };
    let position = column.first + from as u64;
    let mut walk = sorted.walk();
    if pass.wide == 0 {
        match (column.bytes, column.positions != 0) {
            (0, _) => sorted.chunks(&mut walk, |_| (), |_, ()| ()),
            (4, true) => {
                let output = places_of::<u32>(values.output);
                let made = |number: u32| position as u32 + number;
                sorted.chunks(&mut walk, made, |to, value| output.set(to, value));
            }
            (_, true) => {
                let output = places_of::<u64>(values.output);
                let made = |number: u32| position + u64::from(number);
                sorted.chunks(&mut walk, made, |to, value| output.set(to, value));
            }
            (1, _) => sorted.chunks_of::<u8>(&mut walk, room, values.output),
            (2, _) => sorted.chunks_of::<u16>(&mut walk, room, values.output),
            (4, _) => sorted.chunks_of::<u32>(&mut walk, room, values.output),
            (8, _) => sorted.chunks_of::<u64>(&mut walk, room, values.output),
            _ => sorted.chunks_of::<u128>(&mut walk, room, values.output),
        }
    }
    let one = |number: usize, to: usize| values.put(room, number, position, to);
    sorted.one_by_one(&mut walk, one);
    if BALLOTS || thread::sync_threads_or(walk.bad.into()) == 0 {
        return;
    }
    block.places_again(threads / 32);
    share.each(0, |number, inside| rank(true, number, inside));
    thread::sync_threads();
    sorted.one_by_one(&mut sorted.walk(), one);
}

/// Starts to copy elements `first..first + len` of `from` to shared memory, 16 bytes at a time if they are aligned.
#[inline(always)]
#[track_caller]
fn fetch<T: Plain>(to: Shared<T>, from: Global<T>, first: usize, len: usize, threads: usize) {
    let size = size_of::<T>();
    // SAFETY: any element consists of bytes.
    let (bytes_to, bytes_from) = unsafe { (to.cast::<u8>(), from.cast::<u8>()) };
    let mut done = 0;
    let tid = thread::thread_idx_x() as usize;
    if (from.as_ptr().addr() + first * size).is_multiple_of(16) {
        let bytes = len * size / 16 * 16;
        let mut i = 16 * tid;
        while i < bytes {
            bytes_to.copy_async_chunk::<16>(i, bytes_from, first * size + i);
            i += 16 * threads;
        }
        done = bytes / size;
    }
    let mut i = done + tid;
    while i < len {
        to.set(i, from.get_streaming(first + i));
        i += threads;
    }
}

/// [`fetch`] of `len` bytes from byte `first` on, which are elements of type `T`.
#[inline(always)]
#[track_caller]
fn fetch_as<T: Plain>(to: Shared<u8>, from: Global<u8>, first: usize, len: usize, threads: usize) {
    // SAFETY: the shared memory is aligned for the largest element; the kernel's caller gives elements of this size, aligned to
    // it.
    let (to, from) = unsafe { (to.cast::<T>(), from.cast::<T>()) };
    fetch(
        to,
        from,
        first / size_of::<T>(),
        len / size_of::<T>(),
        threads,
    );
}

/// The keys or places of a thread: those of its lane in the steps of its warp, of 32 neighbors each.
#[derive(Clone, Copy)]
struct Share {
    /// The first one of the lane.
    first: u32,
    /// The steps in which the warp has any.
    steps: usize,
    /// The steps in which every lane has one.
    whole: usize,
    /// The keys of the tile.
    left: u32,
}

/// The steps that a thread has under way at a time.
const UNROLL: usize = 4;

impl Share {
    /// Returns the share of a tile of `left` keys, of which a thread has `items` at most.
    #[inline(always)]
    fn new(block: Block, items: usize, left: usize) -> Self {
        let begin = block.warp * (32 * items);
        let own = left.saturating_sub(begin);
        Self {
            first: (begin + block.lane) as u32,
            steps: items.min(own.div_ceil(32)),
            whole: items.min(own / 32),
            left: left as u32,
        }
    }

    /// Returns the number of a step's key or place.
    #[inline(always)]
    fn number(self, step: usize) -> usize {
        (self.first + step as u32 * 32) as usize
    }

    /// Calls `each` for the steps from `step` on, with a number and whether there is such a key. All lanes of the warp do so
    /// together.
    #[inline(always)]
    #[track_caller]
    fn each(self, mut step: usize, mut each: impl FnMut(usize, bool)) {
        while step < self.steps {
            let number = self.number(step);
            each(number, number < self.left as usize);
            step += 1;
        }
    }
}

/// A sorted tile, and where it goes.
#[derive(Clone, Copy)]
struct Sorted<U: Plain> {
    keys: Shared<U>,
    /// For each place the number of its key.
    numbers: Shared<u16>,
    starts: Starts,
    pass: Pass,
    share: Share,
    /// The places of the keys, or nothing.
    output: GlobalMut<U>,
    twist: Twist<U>,
}

/// How far a thread is with its places.
struct Walk {
    /// The next step.
    step: usize,
    /// In lane 0, the tag of the place before.
    before: u32,
    /// Whether a key has changed places with the one before it.
    bad: bool,
}

impl<U: Bits> Sorted<U> {
    /// Begins with the thread's first place.
    #[inline(always)]
    #[track_caller]
    fn walk(self) -> Walk {
        let begin = self.share.first & !31;
        let mut before = 0;
        if 0 < begin && begin < self.share.left {
            let number = self.numbers.get(begin as usize - 1);
            before = self.tag(self.keys.get(number.into()), number);
        }
        Walk {
            step: 0,
            before,
            bad: false,
        }
    }

    /// Writes what there is in chunks of whole steps, to an output of at most 2^32 keys. `load` returns the value of the key
    /// with a number, and `store` writes it to its place in the output.
    #[inline(always)]
    #[track_caller]
    fn chunks<V: Copy + Default>(
        self,
        walk: &mut Walk,
        load: impl Fn(u32) -> V,
        store: impl Fn(usize, V),
    ) {
        let share = self.share;
        while walk.step + UNROLL <= share.whole {
            let mut tags = [0; UNROLL];
            let mut keys = [U::ZERO; UNROLL];
            let mut values = [V::default(); UNROLL];
            let mut to = [0_u32; UNROLL];
            // Stage by stage, so that no load waits for the one before.
            unrolled!(j < UNROLL => {
                tags[j] = self.numbers.get(share.number(walk.step + j)).into();
            });
            unrolled!(j < UNROLL => {
                keys[j] = self.keys.get(tags[j] as usize);
            });
            unrolled!(j < UNROLL => {
                values[j] = load(tags[j]);
            });
            unrolled!(j < UNROLL => {
                tags[j] = self.tag(keys[j], tags[j] as u16);
            });
            unrolled!(j < UNROLL => {
                let place = share.number(walk.step + j);
                to[j] = self.starts.narrow(tags[j] >> 16, place) as u32;
            });
            unrolled!(j < UNROLL => {
                self.check(walk, tags[j]);
            });
            if !self.output.is_empty() {
                unrolled!(j < UNROLL => {
                    self.output.set(to[j] as usize, keys[j].untwist(self.twist));
                });
            }
            unrolled!(j < UNROLL => {
                store(to[j] as usize, values[j]);
            });
            walk.step += UNROLL;
        }
    }

    /// [`chunks`](Self::chunks) with the values in `room`.
    #[inline(always)]
    #[track_caller]
    fn chunks_of<V: Plain + Default>(
        self,
        walk: &mut Walk,
        room: Shared<u128>,
        output: GlobalMut<u8>,
    ) {
        let (room, output) = (of::<V>(room), places_of::<V>(output));
        let load = |number: u32| room.get(number as usize);
        self.chunks(walk, load, |to, value| output.set(to, value));
    }

    /// Writes the rest step by step. `value` writes the value of a key: with its number, and its place in the output.
    #[inline(always)]
    #[track_caller]
    fn one_by_one(self, walk: &mut Walk, value: impl Fn(usize, usize)) {
        self.share.each(walk.step, |place, inside| {
            let (mut key, mut tag) = (U::ZERO, PAST);
            if inside {
                let number = self.numbers.get(place);
                key = self.keys.get(number.into());
                tag = self.tag(key, number);
            }
            self.check(walk, tag);
            if inside {
                let to = if self.pass.wide != 0 {
                    self.starts.wide(tag >> 16, place)
                } else {
                    self.starts.narrow(tag >> 16, place)
                };
                if !self.output.is_empty() {
                    self.output.set(to, key.untwist(self.twist));
                }
                value((tag & NUMBER) as usize, to);
            }
        });
    }

    /// Compares the tag of the thread's next place with that of the place before, which all lanes of the warp do together.
    #[inline(always)]
    #[track_caller]
    fn check(self, walk: &mut Walk, tag: u32) {
        let lane = self.share.first % 32;
        let left = warp::shuffle(FULL_MASK, tag, (lane + 31) % 32);
        let before = if lane == 0 { walk.before } else { left };
        walk.bad |= before > tag;
        walk.before = left;
    }

    /// Returns a key's digit, and its number below. Tags in ascending order are keys in order.
    #[inline(always)]
    fn tag(self, key: U, number: u16) -> u32 {
        key.digit(self.pass.shift, self.pass.mask) << 16 | u32::from(number)
    }
}

/// The bits of a tag that are a key's number in its tile.
const NUMBER: u32 = 0xffff;
/// A tag behind every other.
const PAST: u32 = u32::MAX;

/// Returns the values of a tile as elements of type `V`.
#[inline(always)]
fn of<V: Plain>(room: Shared<u128>) -> Shared<V> {
    // SAFETY: the memory is aligned for the largest element.
    unsafe { room.cast() }
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
