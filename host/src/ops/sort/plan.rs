//! The launches of a sort.
//!
//! ```text
//! sweeps:
//!     one launch counts the digits of all passes
//!     for each pass, the lowest digit first; keys go to and fro between a room and the output, and end in the output:
//!         for each part of the keys that one launch takes:                       (a status word has 30 bits for a number)
//!             one launch moves the part's keys to where their digits belong
//!             the beginnings for the next part are in another row, which the launch writes
//!             tag = another one than that of the launch before; the last tag differs from the first of the next sort too
//! ```
//!
//! A launch takes a status word with its own tag for one of its own. Since tags differ, nothing has to be cleared between
//! launches. Parts differ in their number of tiles, so that words of older launches remain, and a single launch follows itself.
//! In these two cases the words are cleared.

use cuda_std::kernel::EntryOf;
use warpwright_gpu::sort::{
    Bits, Column, DIGITS, Kernels, Pass, Range, SortBestItems, SortBestKeys, Twist, Twists,
    policy::{self, Policy},
};
#[cfg(feature = "ladder")]
use warpwright_gpu::sort::{FAMILY, REDUCE_THEN_SCAN_PLACES, Variant};

use super::{
    By, SortKey,
    data::{Data, Given, Keys},
};
use crate::{
    buffer::Element,
    error::Result,
    ops::{
        Strided,
        plan::{Place, Plan},
    },
};

/// Returns the twist that makes ascending numbers of keys in this order.
pub(in crate::ops) fn twist<K: SortKey>(is_descending: bool) -> Twist<K::Bits> {
    let Twist { magnitude, flip } = K::TWIST;
    let flip = if is_descending {
        flip ^ K::Bits::ONES
    } else {
        flip
    };
    Twist { magnitude, flip }
}

/// Plans a sort.
pub(super) fn sort<K: SortKey>(
    plan: &mut Plan<'_>,
    by: By,
    keys: Keys<K::Bits>,
    data: Data,
) -> Result<()> {
    let by = by.compared::<K>(plan.operation)?;
    sort_bits(plan, by, keys, data)
}

/// How the bits of keys are compared.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Compared<U> {
    pub range: Range,
    pub twist: Twist<U>,
    /// As in [`By`].
    pub tile: Option<[usize; 2]>,
}

impl<U: Bits> Compared<U> {
    /// All bits as a number, the greatest first.
    pub const DESCENDING: Self = Self {
        range: Range {
            first: 0,
            bits: U::BITS,
        },
        twist: Twist {
            flip: U::ONES,
            ..Twist::NONE
        },
        tile: None,
    };
}

/// Plans a sort of keys as bits: by the chosen variant, or by `best` if the plan is of another family.
pub(super) fn sort_bits<U: Kernels + Element>(
    plan: &mut Plan<'_>,
    by: Compared<U>,
    keys: Keys<U>,
    data: Data,
) -> Result<()> {
    let problem = Problem {
        len: keys.input.len(),
        keys,
        data,
        by,
    };
    if problem.len == 0 {
        return Ok(());
    }
    #[cfg(feature = "ladder")]
    if plan.family.name == FAMILY.name {
        match Variant::ALL[plan.choice.index] {
            Variant::Naive => return problem.naive(plan),
            Variant::ReduceThenScan => return problem.reduce_then_scan(plan),
            Variant::Ballot => return problem.sweeps(plan, U::BALLOT, false),
            _ => {}
        }
    }
    problem.best(plan)
}

/// Plans a sort that writes the positions of numbers, the greatest number first.
pub(in crate::ops) fn descending_positions<U: Kernels + Element>(
    plan: &mut Plan<'_>,
    numbers: Place<U>,
    positions: Place<u64>,
) -> Result<()> {
    let data = Data::Positions(positions.cast(), size_of::<u64>());
    sort_bits(plan, Compared::DESCENDING, Keys::unwritten(numbers), data)
}

/// Plans a gather: element `i` of the output is number `positions[i]` of `input`. A position has `per_position` words; with 0
/// every element keeps its place. There are as many values as positions or elements.
pub(super) fn gather<U: Kernels + Element>(
    plan: &mut Plan<'_>,
    (input, output): (Place<U>, Place<U>),
    (positions, per_position): (Place<u32>, u32),
    values: Given,
    column: Column,
) -> Result<()> {
    let len = match per_position as usize {
        0 => input.len(),
        words => positions.len() / words,
    };
    if len == 0 {
        return Ok(());
    }
    let config = plan.linear(len.div_ceil(policy::GATHER_BLOCK), policy::GATHER_BLOCK)?;
    let Given {
        input: values_in,
        output: values_out,
        ..
    } = values;
    let args = (
        input,
        positions,
        per_position,
        output,
        values_in,
        values_out,
        column,
    );
    // SAFETY: the positions are those of a sort of the input, and no output overlaps an input.
    unsafe { plan.launch(U::GATHER, config, args) };
    Ok(())
}

/// The kernels of a sweep: over keys alone, and over keys and values.
type Sweeps<U> = (Option<EntryOf<SortBestKeys<U>>>, EntryOf<SortBestItems<U>>);

/// The source and the destination of each pass over the keys or the values.
type Moves<T> = Vec<(Place<T>, Place<T>)>;

/// What is sorted.
#[derive(Clone, Copy)]
struct Problem<U> {
    len: usize,
    keys: Keys<U>,
    data: Data,
    by: Compared<U>,
}

impl<U: Kernels + Element> Problem<U> {
    fn best(&self, plan: &mut Plan<'_>) -> Result<()> {
        if self.is_small(plan) {
            return self.small(plan);
        }
        self.sweeps(plan, (U::KEYS, U::ITEMS), true)
    }

    fn is_small(&self, plan: &Plan<'_>) -> bool {
        let bytes = policy::small_shared_bytes(self.len.min(policy::SMALL_KEYS), size_of::<U>());
        self.by.tile.is_none()
            && self.len <= policy::SMALL_KEYS
            && bytes <= plan.device.info().shared_bytes_per_block
    }

    /// Plans one launch of one block.
    fn small(&self, plan: &mut Plan<'_>) -> Result<()> {
        let shared = policy::small_shared_bytes(self.len, size_of::<U>());
        let config = plan.linear(1, policy::small_threads(self.len))?;
        let (input, values) = (self.keys.input, self.values());
        let output = self.keys.output.unwrap_or(Place::none());
        let args = (
            input,
            output,
            values.input,
            values.output,
            self.by.range,
            self.twists(0, 1),
            self.column(0, 0),
        );
        // SAFETY: input and output have as many keys, and the block has room for them. So have the values.
        unsafe { plan.launch(U::SMALL, config.with_shared(shared as u32), args) };
        Ok(())
    }

    /// Plans a sweep per digit. `with_first` is whether the first pass over all bits of keys alone has a kernel of its own.
    fn sweeps(
        &self,
        plan: &mut Plan<'_>,
        (later, items): Sweeps<U>,
        with_first: bool,
    ) -> Result<()> {
        let (size, passes) = (size_of::<U>(), self.by.range.passes());
        let is_whole = self.by.range.bits == U::BITS;
        let keys_alone = is_whole && matches!(self.data, Data::None);
        // For bytes there is only the first pass over keys alone.
        let keys_alone = keys_alone && (later.is_some() || with_first);
        // Without values and with all bits the first pass needs no order.
        let free_first = keys_alone && with_first;

        let most_bytes = plan.device.info().shared_bytes_per_block;
        let policy: Policy = if keys_alone {
            plan.policy(later.unwrap_or(U::FIRST), size)
        } else {
            plan.policy(items, size)
        };
        let [most_tile, most_tiles] = self.by.tile.unwrap_or([usize::MAX; 2]);
        let value_bytes = self.values().bytes;
        let tile = if keys_alone {
            policy.keys_tile(size, most_bytes)
        } else {
            let most = policy.items_tile(size, value_bytes, most_bytes);
            policy.share(most, self.len, plan.device.info().multiprocessors as usize)
        };
        let tile = tile.min(most_tile);
        let shared = if keys_alone {
            policy.keys_shared_bytes(size, tile)
        } else {
            policy.items_shared_bytes(size, value_bytes, tile)
        } as u32;
        let part = ((policy::MOST_KEYS_PER_LAUNCH - 1) / tile).min(most_tiles) * tile;
        let parts = self.len.div_ceil(part);
        let ordered = (passes as usize - usize::from(free_first)) * parts;
        let tiles = self.len.min(part).div_ceil(tile);

        let begins = plan.room::<u64>((passes as usize + 2) * DIGITS);
        let tickets = plan.room::<u32>(passes as usize * parts);
        // The tags of the words are those of the last launch, which are not those of the first.
        let states = plan.zeros::<u32>(if ordered > 0 { tiles * DIGITS } else { 0 });
        self.count(plan, begins, tickets)?;

        let keys = self.key_moves(plan, passes);
        let values = self.value_moves(plan, passes);
        let mut launches = 0;
        for pass in 0..passes {
            let first = free_first && pass == 0;
            let (shift, mask) = self.by.range.digit(pass);
            let (source, target) = keys[pass as usize];
            let (values_in, values_out) = values[pass as usize];
            for at in 0..parts {
                let from = at * part;
                let len = part.min(self.len - from);
                let row = |at: usize| match at {
                    0 => pass,
                    _ => passes + (at % 2) as u32,
                };
                let is_last = first || at + 1 == parts;
                let begin = if first { pass } else { row(at) };
                let known = if first || parts > 1 || ordered == 1 {
                    2
                } else {
                    tag(launches, ordered)
                };
                let words = Pass {
                    shift,
                    mask,
                    tile: tile as u32,
                    ticket: pass * parts as u32 + at as u32,
                    begin,
                    next: if is_last { begin } else { row(at + 1) },
                    known: known << 30,
                    wide: u32::from(self.len > 1 << 32 || self.by.tile.is_some()),
                };
                if !first {
                    if parts > 1 || ordered == 1 {
                        plan.clear(states);
                    }
                    launches += 1;
                }
                let config = plan.linear(len.div_ceil(tile), policy.threads)?;
                let config = config.with_shared(shared);
                let (input, twists) = (source.part(from, len), self.twists(pass, passes));
                if keys_alone {
                    let kernel = match later {
                        Some(later) if !first => later,
                        _ => U::FIRST,
                    };
                    let args = (input, target, begins, tickets, states, words, twists);
                    // SAFETY: source and target have all keys and do not overlap. The counts are those of the keys. The ticket
                    // is 0, and no status has the tag.
                    unsafe { plan.launch(kernel, config, args) };
                } else {
                    let column = self.column(pass, from);
                    let bytes = column.bytes as usize;
                    let values_in = match values_in.len() {
                        0 => values_in,
                        _ => values_in.part(from * bytes, len * bytes),
                    };
                    let args = (
                        input, target, values_in, values_out, begins, tickets, states, words,
                        twists, column,
                    );
                    // SAFETY: as above; there are as many values as keys.
                    unsafe { plan.launch(items, config, args) };
                }
            }
        }
        Ok(())
    }

    /// Plans counting the digits.
    fn count(&self, plan: &mut Plan<'_>, begins: Place<u64>, tickets: Place<u32>) -> Result<()> {
        let passes = self.by.range.passes();
        let counts = plan.zeros::<u64>(passes as usize * DIGITS);
        let done = plan.zeros::<u32>(1);
        let most_bytes = plan.device.info().shared_bytes_per_block;
        let copies = policy::digits_copies(passes, most_bytes);
        let strided = Strided {
            kernel: U::COUNT.descriptor(),
            threads: policy::DIGITS_BLOCK as u32,
            shared_bytes: policy::digits_shared_bytes(passes, copies) as u32,
            blocks_per_multiprocessor: 2,
            least_per_block: policy::DIGITS_LEAST_PER_BLOCK,
        };
        let blocks = strided.blocks(plan.device, plan.operation, self.len)?;
        let blocks = blocks.max(self.len.div_ceil(u32::MAX as usize));
        let config = plan.linear(blocks, policy::DIGITS_BLOCK)?;
        let args = (
            self.keys.input,
            counts,
            begins,
            tickets,
            done,
            self.by.range,
            self.by.twist,
            copies.ilog2(),
        );
        // SAFETY: the rooms have 256 elements per digit. The counts and `done` are 0, and the kernel leaves them 0.
        unsafe { plan.launch(U::COUNT, config.with_shared(strided.shared_bytes), args) };
        Ok(())
    }

    /// Plans three launches per digit.
    #[cfg(feature = "ladder")]
    fn reduce_then_scan(&self, plan: &mut Plan<'_>) -> Result<()> {
        let passes = self.by.range.passes();
        let (count, scatter) = U::REDUCE_THEN_SCAN;
        let tiles = self.len.div_ceil(policy::RUNG_TILE);
        let counts = plan.room::<u64>(tiles * DIGITS);
        let totals = plan.room::<u64>(DIGITS);
        let keys = self.key_moves(plan, passes);
        let values = self.value_moves(plan, passes);
        let config = plan.linear(tiles, policy::RUNG_BLOCK)?;
        let rows = plan.linear(DIGITS, policy::RUNG_BLOCK)?;
        for pass in 0..passes {
            let (shift, mask) = self.by.range.digit(pass);
            let (source, target) = keys[pass as usize];
            let (values_in, values_out) = values[pass as usize];
            let words = Pass {
                shift,
                mask,
                tile: policy::RUNG_TILE as u32,
                ticket: 0,
                begin: 0,
                next: 0,
                known: 0,
                wide: 1,
            };
            let twists = self.twists(pass, passes);
            let args = (
                source,
                target,
                values_in,
                values_out,
                counts,
                totals,
                words,
                twists,
                self.column(pass, 0),
            );
            let bytes = policy::RUNG_SCATTER_BYTES as u32;
            // SAFETY: there is a count per tile and digit. Source and target have all keys and values and do not overlap.
            unsafe {
                plan.launch(count, config, (source, counts, words, twists));
                plan.launch(REDUCE_THEN_SCAN_PLACES, rows, (counts, totals));
                plan.launch(scatter, config.with_shared(bytes), args);
            }
        }
        Ok(())
    }

    /// Plans a launch per step of the network, and a gather.
    #[cfg(feature = "ladder")]
    fn naive(&self, plan: &mut Plan<'_>) -> Result<()> {
        let step = U::NAIVE;
        let positions = plan.room::<u64>(self.len);
        let padded = self.len.next_power_of_two().max(2);
        let config = plan.linear(
            (padded / 2).div_ceil(policy::RUNG_BLOCK),
            policy::RUNG_BLOCK,
        )?;
        let input = self.keys.input;
        let mut block = 2;
        while block <= padded {
            let mut distance = block / 2;
            while distance > 0 {
                let mirrored = u32::from(distance == block / 2);
                let args = (
                    input,
                    positions,
                    distance,
                    mirrored,
                    self.by.range,
                    self.by.twist,
                );
                // SAFETY: there is a position per key.
                unsafe { plan.launch(step, config, args) };
                distance /= 2;
            }
            block *= 2;
        }
        let mut values = self.values();
        let mut source = input;
        if self.keys.in_place {
            source = self.copied(plan, input);
            if let Data::Given(given) = self.data {
                values.input = self.copied(plan, given.input);
            }
        }
        let output = self.keys.output.unwrap_or(Place::none());
        let positions = (positions.cast(), 2);
        gather(plan, (source, output), positions, values, self.column(0, 0))
    }

    /// Returns a room with a copy of `from`.
    #[cfg(feature = "ladder")]
    fn copied<T>(&self, plan: &mut Plan<'_>, from: Place<T>) -> Place<T> {
        let to = plan.room(from.len());
        plan.copy_to(from, to);
        to
    }

    /// Returns the places of the values.
    fn values(&self) -> Given {
        match self.data {
            Data::None => Given::none(),
            Data::Given(given) => given,
            Data::Positions(output, bytes) => Given {
                input: Place::none(),
                output,
                bytes,
            },
        }
    }

    /// Returns what the values of a pass are, from key `first` on.
    fn column(&self, pass: u32, first: usize) -> Column {
        Column {
            bytes: self.values().bytes as u32,
            positions: u32::from(pass == 0 && matches!(self.data, Data::Positions(..))),
            first: first as u64,
        }
    }

    fn twists(&self, pass: u32, passes: u32) -> Twists<U> {
        let of = |is_here: bool| if is_here { self.by.twist } else { Twist::NONE };
        Twists {
            input: of(pass == 0),
            output: of(pass + 1 == passes),
        }
    }

    /// Plans the places of the keys in each pass.
    fn key_moves(&self, plan: &mut Plan<'_>, passes: u32) -> Moves<U> {
        let Keys {
            input,
            output,
            in_place,
        } = self.keys;
        match output {
            Some(output) => self.moves(plan, input, output, in_place, passes),
            None => {
                // The last pass writes no keys.
                let rooms = [1, 2].map(|from| if passes > from { self.len } else { 0 });
                let rooms = rooms.map(|len| plan.room::<U>(len));
                let mut source = input;
                let mut moves = Moves::new();
                for pass in 0..passes as usize {
                    let is_last = pass + 1 == passes as usize;
                    let target = if is_last {
                        Place::none()
                    } else {
                        rooms[pass % 2]
                    };
                    moves.push((source, target));
                    source = target;
                }
                moves
            }
        }
    }

    /// Plans the places of the values in each pass.
    fn value_moves(&self, plan: &mut Plan<'_>, passes: u32) -> Moves<u8> {
        let Given { input, output, .. } = self.values();
        let in_place = self.keys.in_place && matches!(self.data, Data::Given(_));
        self.moves(plan, input, output, in_place, passes)
    }

    /// Plans moves from `input` to `output`, by way of one room.
    fn moves<T>(
        &self,
        plan: &mut Plan<'_>,
        input: Place<T>,
        output: Place<T>,
        in_place: bool,
        passes: u32,
    ) -> Moves<T> {
        let needs_copy = in_place && passes % 2 == 1;
        let room = plan.room::<T>(if passes > 1 || needs_copy {
            output.len()
        } else {
            0
        });
        let mut source = input;
        if needs_copy {
            plan.copy_to(input, room);
            source = room;
        }
        let mut moves = Moves::new();
        for pass in 0..passes {
            let target = if (passes - 1 - pass).is_multiple_of(2) {
                output
            } else {
                room
            };
            moves.push((source, target));
            source = target;
        }
        moves
    }
}

/// Returns the tag of the status words of one of several launches: another one than that of the launch before, where the last
/// one is before the first. 0 is the tag at the start, and 1 that of a tile's own count.
fn tag(launch: usize, launches: usize) -> u32 {
    if launch + 1 == launches && launches % 2 == 1 {
        return 0;
    }
    2 + (launch % 2) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_launch_meets_the_tag_of_the_one_before() {
        for launches in 2..=8 {
            let tags: Vec<u32> = (0..launches).map(|it| tag(it, launches)).collect();
            assert!(tags.iter().all(|tag| [0, 2, 3].contains(tag)), "{tags:?}");
            assert_ne!(tags[0], 0, "what the memory is set to");
            for (at, tag) in tags.iter().enumerate() {
                assert_ne!(*tag, tags[(at + 1) % launches], "{tags:?}");
            }
        }
    }
}
