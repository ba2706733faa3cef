//! What a thread adds the elements of 16 neighbouring bytes in, row after row: a part of each column.

use cuda_std::{Plain, view::Wide};

use crate::{axis::CHUNK, reduce::narrow::fold_words};

/// Elements of 16 bytes, at most.
pub const MOST_LANES: usize = 16;

/// The parts, of type `P`, of as many elements of type `T` as 16 bytes have.
pub trait Parts<T: Copy, P>: Copy {
    /// Those of no row: `empty` each.
    fn new(empty: P) -> Self;

    /// Adds a row, each of its elements as `add` does.
    fn add_row(self, row: Wide<T>, add: impl Fn(P, T) -> P) -> Self;

    /// Each part; those behind the elements of 16 bytes are as they were.
    fn each(self) -> [P; MOST_LANES];
}

/// One by one.
#[derive(Clone, Copy)]
pub struct Each<P>([P; MOST_LANES]);

impl<T: Copy, P: Plain> Parts<T, P> for Each<P> {
    #[inline(always)]
    fn new(empty: P) -> Self {
        Self([empty; MOST_LANES])
    }

    #[inline(always)]
    fn add_row(self, row: Wide<T>, add: impl Fn(P, T) -> P) -> Self {
        Self(row.fold(self.0, |mut parts, value, lane| {
            parts[lane] = add(parts[lane], value);
            parts
        }))
    }

    #[inline(always)]
    fn each(self) -> [P; MOST_LANES] {
        self.0
    }
}

/// Sums of bytes, two to a word: of each word of a row the bytes at even places in one, those at odd ones in the next.
#[derive(Clone, Copy)]
pub struct Pairs([u32; MOST_LANES / 2]);

const _: () = assert!(CHUNK * u8::MAX as usize <= u16::MAX as usize);

impl Parts<u8, u32> for Pairs {
    #[inline(always)]
    fn new(_empty: u32) -> Self {
        Self([0; MOST_LANES / 2])
    }

    #[inline(always)]
    fn add_row(self, row: Wide<u8>, _add: impl Fn(u32, u8) -> u32) -> Self {
        let halves = 0x00ff_00ff;
        let (pairs, _) = fold_words(row, (self.0, 0), u32::from, |(mut pairs, at), word| {
            pairs[at] += word & halves;
            pairs[at + 1] += word >> 8 & halves;
            (pairs, at + 2)
        });
        Self(pairs)
    }

    #[inline(always)]
    fn each(self) -> [u32; MOST_LANES] {
        core::array::from_fn(|lane| {
            let pair = self.0[lane / 4 * 2 + lane % 2];
            pair >> (lane / 2 % 2 * 16) & 0xffff
        })
    }
}
