//! Test data: numbers made from a counter, the same in every run and on every machine.

use std::ops::Range;
use std::sync::Arc;

use crate::parallel;

/// Returns a hash of 64 bits. Every bit of the input affects every bit of the output. The rounds are those of SplitMix64
/// (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub fn hash(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns `len` values, each made from its own hash. Another `stream` gives other values.
pub fn values<T: Send>(len: usize, stream: u64, from_hash: impl Fn(u64) -> T + Sync) -> Vec<T> {
    indexed(len, stream, |_, hash| from_hash(hash))
}

/// Returns `len` values, each made from its position and its own hash.
pub fn indexed<T: Send>(len: usize, stream: u64, make: impl Fn(usize, u64) -> T + Sync) -> Vec<T> {
    /// The number of values that a thread makes at a time.
    const PART: usize = 1 << 14;
    let start = hash(stream);
    let one = |index| make(index, hash(start.wrapping_add(index as u64)));
    // A process that makes few values starts no threads.
    parallel::map(len, PART, one)
}

/// Returns the stream of a set's values, for problems with several sets.
pub(crate) fn stream(stream: u64, set: usize) -> u64 {
    stream | (set as u64) << 32
}

type MakeOne<T> = dyn Fn(usize, usize, u64) -> T + Send + Sync;

/// A function that makes the values of a problem independently of each other.
pub struct Make<T>(Arc<MakeOne<T>>);

impl<T> Clone for Make<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + 'static> Make<T> {
    /// Makes values by a function of the position, of the number of values, and of a hash.
    pub fn by(make: impl Fn(usize, usize, u64) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes values by a function of a hash.
    pub fn hashed(from_hash: impl Fn(u64) -> T + Send + Sync + 'static) -> Self {
        Self::by(move |_, _, hash| from_hash(hash))
    }

    /// Uses these values, of which there must be as many as the problem has.
    pub fn given(values: impl Into<Arc<[T]>>) -> Self
    where
        T: Copy + Sync,
    {
        let values = values.into();
        Self::by(move |at, _, _| values[at])
    }

    /// Returns a set's values.
    pub(crate) fn values(&self, len: usize, stream: u64, set: usize) -> Vec<T> {
        indexed(len, self::stream(stream, set), |at, hash| {
            (self.0)(at, len, hash)
        })
    }
}

/// A part of an array or of the rows of a matrix, given by the number of elements or rows before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part(pub [usize; 2]);

impl Part {
    /// The whole.
    pub const WHOLE: Self = Self([0; 2]);

    /// Returns the total number for a part of length `len`.
    pub fn total(self, len: usize) -> usize {
        self.0[0] + len + self.0[1]
    }

    /// Returns the range of the part.
    pub fn range(self, len: usize) -> Range<usize> {
        self.0[0]..self.0[0] + len
    }

    /// Returns a name: `33`, or `elements 1 to 34 of 36` of these `units`.
    pub fn name(self, units: &str, len: usize) -> String {
        let Range { start, end } = self.range(len);
        match self.total(len) {
            total if total == len => len.to_string(),
            total => format!("{units} {start} to {end} of {total}"),
        }
    }

    /// Returns the part's values out of all values, where each of the `len` has `width` values.
    pub fn of<T>(self, mut values: Vec<T>, len: usize, width: usize) -> Vec<T> {
        let Range { start, end } = self.range(len);
        values.truncate(end * width);
        values.drain(..start * width);
        values
    }
}

/// Returns a number between -1 and 1, in steps that `f32` represents.
pub fn unit(hash: u64) -> f64 {
    f64::from((hash as i32) >> 8) / f64::from(1 << 23)
}

/// Returns a number of the normal distribution N(0, 1), below 7, from the halves of a hash (Box, Muller, "A note on the
/// generation of random normal deviates", 1958).
pub fn normal(hash: u64) -> f64 {
    let [radius, turn] =
        [hash >> 32, hash & 0xffff_ffff].map(|half| (half as f64 + 0.5) / 2f64.powi(32));
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * turn)
}

/// Returns a number of either sign and of many magnitudes, up to 512: another order of additions gives other last bits.
pub fn spread(hash: u64) -> f64 {
    let part = (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    part * f64::from(1_u32 << (hash % 20)) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = values(100, 1, |hash| hash);
        assert_eq!(first, values(100, 1, |hash| hash));
        assert_ne!(first, values(100, 2, |hash| hash));
        assert_ne!(first, values(100, stream(1, 1), |hash| hash));
        assert!(values(0, 1, |hash| hash).is_empty());
    }

    #[test]
    fn made_values_are_those_of_their_positions() {
        assert_eq!(Make::given(vec![3, 1, 2]).values(3, 1, 5), [3, 1, 2]);
        let ends = Make::by(|at, len, _| (at, len));
        assert_eq!(ends.values(2, 1, 0), [(0, 2), (1, 2)]);
        let hashed = Make::hashed(|hash| hash);
        assert_eq!(hashed.values(9, 1, 2), values(9, stream(1, 2), |hash| hash));
    }

    #[test]
    fn normal_numbers_have_their_moments() {
        let numbers = values(1 << 16, 3, normal);
        let mean = |power| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / 65_536.0;
        // Within five standard deviations.
        assert!(mean(1).abs() < 0.02 && (mean(2) - 1.0).abs() < 0.03);
        assert!(mean(3).abs() < 0.08 && (mean(4) - 3.0).abs() < 0.2);
        let ends = [0, u64::MAX, 0xffff_ffff, 0xffff_ffff << 32].map(normal);
        assert!(ends.iter().all(|end| end.abs() < 7.0), "{ends:?}");
    }

    #[test]
    fn the_order_of_additions_matters_for_what_is_spread() {
        let numbers = values(3071, 6, |hash| spread(hash) as f32);
        let forwards: f32 = numbers.iter().sum();
        let backwards: f32 = numbers.iter().rev().sum();
        assert_ne!(forwards.to_bits(), backwards.to_bits());
        let numbers = values(83, 12, spread);
        assert_ne!(numbers.iter().sum::<f64>(), numbers.iter().rev().sum());
    }

    #[test]
    fn a_part_is_what_lies_between() {
        let part = Part([1, 2]);
        assert_eq!((part.total(3), part.range(3)), (6, 1..4));
        assert_eq!(part.name("rows", 3), "rows 1 to 4 of 6");
        assert_eq!(part.of((0..12).collect(), 3, 2), [2, 3, 4, 5, 6, 7]);
        assert_eq!(Part::WHOLE.name("rows", 3), "3");
    }
}
