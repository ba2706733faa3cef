//! The keys of the tests of sorts and merges.

use std::{cmp::Ordering, fmt::Debug};

use cuda_std::{bf16, f16};
use rand::Rng;
use warpwright::ops::sort::SortKey;

use crate::data;

/// A key of the tests.
pub trait Key: SortKey + Debug {
    /// Returns the key with the lowest of these bits.
    fn of(word: u64) -> Self;
    /// Compares as std does.
    fn compare(&self, other: &Self) -> Ordering;
    /// Returns the number whose bits a range is of.
    fn number(self) -> u64;
    /// Returns the key's own bits.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($ty:ident)*) => { $(
        impl Key for $ty {
            fn of(word: u64) -> Self {
                word as $ty
            }
            fn compare(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
            fn number(self) -> u64 {
                (i128::from(self) - i128::from($ty::MIN)) as u64
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )* };
}
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! floats {
    ($($ty:ident $bits:ident)*) => { $(
        impl Key for $ty {
            fn of(word: u64) -> Self {
                $ty::from_bits(word as $bits)
            }
            fn compare(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
            fn number(self) -> u64 {
                let bits = self.to_bits();
                let sign = 1 << ($bits::BITS - 1);
                u64::from(if bits & sign == 0 { bits | sign } else { !bits })
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    )* };
}
floats!(f16 u16 bf16 u16 f32 u32 f64 u64);

/// A distribution of keys.
#[derive(Debug, Clone, Copy)]
pub enum Pattern {
    /// The bits that so many random words have in common: fewer and fewer keys, and few of them frequent.
    And(u32),
    /// One key.
    Equal,
    /// In ascending order.
    Sorted,
    /// In descending order.
    Reverse,
    /// Equal keys, but for one of every 32.
    Foreign,
    /// A few keys are very frequent.
    Zipf,
    /// The ends of the type, zeros and NaNs of both signs and with payloads, and their neighbors.
    Edges,
}

/// All distributions.
pub const PATTERNS: [Pattern; 11] = [
    Pattern::And(1),
    Pattern::And(2),
    Pattern::And(3),
    Pattern::And(4),
    Pattern::And(5),
    Pattern::Equal,
    Pattern::Sorted,
    Pattern::Reverse,
    Pattern::Foreign,
    Pattern::Zipf,
    Pattern::Edges,
];

impl Pattern {
    /// Returns so many keys.
    pub fn keys<K: Key>(self, len: usize) -> Vec<K> {
        let mut rng = data::generator(len as u64);
        let bits = 8 * size_of::<K>() as u32;
        let mut word = || rng.random::<u64>();
        let mut keys: Vec<K> = (0..len)
            .map(|i| match self {
                Self::And(words) => K::of((0..words).fold(u64::MAX, |all, _| all & word())),
                Self::Equal => K::of(0x5ab3_91d7_5ab3_91d7),
                Self::Sorted | Self::Reverse => K::of(word()),
                Self::Foreign if i % 32 == 17 => K::of(word()),
                Self::Foreign => K::of(0x1234_5678_9abc_def0),
                Self::Zipf => K::of((u64::MAX / (word() % 1000 + 1)).rotate_left(29)),
                Self::Edges => {
                    let top = 1 << (bits - 1);
                    let edges = [0, u64::MAX, top, top - 1, f64::INFINITY.to_bits()];
                    let infinity = f32::INFINITY.to_bits().into();
                    let more = [infinity, f64::NAN.to_bits(), 0x7c00, 0x7f80, 1];
                    let all: Vec<u64> = edges.into_iter().chain(more).collect();
                    let near = all[word() as usize % all.len()].wrapping_add(word() % 3);
                    K::of(near.wrapping_sub(1) ^ if word() % 2 == 0 { top } else { 0 })
                }
            })
            .collect();
        match self {
            Self::Sorted => keys.sort_by(K::compare),
            Self::Reverse => keys.sort_by(|a, b| b.compare(a)),
            _ => {}
        }
        keys
    }
}
