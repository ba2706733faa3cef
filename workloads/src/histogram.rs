//! Histograms: counts are exact, so they must be equal.

use std::fmt::Debug;

use warpwright::{Device, Element, Histogram, Result, Vector, VectorView};

use crate::parallel;
use crate::sample::{Make, Part, spread};
use crate::{Family, Prepared, Problem, Scale, Verdict, Workload, equal, prepared, with_variant};

const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 257, 1000, 4099, 20_011];
const LARGE: [usize; 2] = [1 << 20, 5_000_011];

/// An element type.
pub trait Value: Element + Debug {
    /// Prepares a variant. The values are bin numbers, or lie in a range that the bins divide.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn prepare<'a>(
        device: &Device,
        values: VectorView<'a, Self>,
        bins: usize,
        range: Option<[Self; 2]>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Histogram>>;

    /// Returns the bin of a value by the documented rule, in this type's arithmetic, or `None` outside of all bins.
    fn bin(self, bins: usize, range: Option<[Self; 2]>) -> Option<usize>;
}

macro_rules! numbers {
    ($($type:ident)*) => { $(
        impl Value for $type {
            fn prepare<'a>(
                device: &Device,
                values: VectorView<'a, Self>,
                bins: usize,
                _: Option<[Self; 2]>,
                variant: Option<&str>,
            ) -> Result<Prepared<'a, Histogram>> {
                let request = device.histogram_request(values, bins);
                let prepared = with_variant!(request, variant).prepare()?;
                Ok(prepared!(prepared, |it| it.finish()))
            }

            fn bin(self, bins: usize, _: Option<[Self; 2]>) -> Option<usize> {
                usize::try_from(self).ok().filter(|bin| *bin < bins)
            }
        }
    )* };
}
numbers!(u8 u16 u32);

macro_rules! floats {
    ($($type:ident)*) => { $(
        impl Value for $type {
            fn prepare<'a>(
                device: &Device,
                values: VectorView<'a, Self>,
                bins: usize,
                range: Option<[Self; 2]>,
                variant: Option<&str>,
            ) -> Result<Prepared<'a, Histogram>> {
                let [low, high] = range.unwrap_or([0.0, 1.0]);
                let request = device.histogram_range_request(values, bins, low, high);
                let prepared = with_variant!(request, variant).prepare()?;
                Ok(prepared!(prepared, |it| it.finish()))
            }

            fn bin(self, bins: usize, range: Option<[Self; 2]>) -> Option<usize> {
                let [low, high] = range.unwrap_or([0.0, 1.0]);
                if !(low <= self && self <= high) {
                    return None;
                }
                let scale = bins as Self / (high - low);
                Some((((self - low) * scale) as usize).min(bins - 1))
            }
        }
    )* };
}
floats!(f32 f64);

/// A histogram.
#[derive(Clone)]
pub struct Counts<T> {
    len: usize,
    bins: usize,
    range: Option<[T; 2]>,
    part: Part,
    what: String,
    make: Make<T>,
}

impl<T: Value> Counts<T> {
    /// Makes a histogram of bin numbers. `what` describes the values, such as `u8`.
    pub fn numbers(len: usize, bins: usize, what: &str, make: Make<T>) -> Self {
        Self {
            len,
            bins,
            range: None,
            part: Part::WHOLE,
            what: what.to_owned(),
            make,
        }
    }

    /// Makes a histogram of values of a range, which the bins divide evenly.
    pub fn range(len: usize, bins: usize, range: [T; 2], what: &str, make: Make<T>) -> Self {
        Self {
            range: Some(range),
            ..Self::numbers(len, bins, what, make)
        }
    }

    fn values(&self, set: usize) -> Vec<T> {
        self.make.values(self.part.total(self.len), 4, set)
    }
}

/// The counts of a loop over the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    counts: Vec<u64>,
    outside: u64,
}

impl Truth {
    /// Checks the counts, and the number of values outside.
    ///
    /// # Errors
    /// Returns the first wrong count.
    pub fn check(&self, counts: &[u64], outside: u64) -> Verdict {
        equal(counts, &self.counts)?;
        if outside == self.outside {
            return Ok(());
        }
        Err(format!(
            "outside: expected {}, found {outside}",
            self.outside
        ))
    }
}

impl<T: Value> Problem for Counts<T> {
    type Input = Vector<T>;
    type Answer = Histogram;
    type Truth = Truth;

    fn family(&self) -> &'static str {
        "histogram"
    }

    fn name(&self) -> String {
        let elements = self.part.name("elements", self.len);
        let range = self.range.map_or_else(String::new, |[low, high]| {
            format!(" from {low:?} to {high:?}")
        });
        format!("{elements} {} in {} bins{range}", self.what, self.bins)
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<T>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Histogram>> {
        let values = input.slice(self.part.range(self.len))?;
        T::prepare(device, values, self.bins, self.range, variant)
    }

    fn truth(&self, set: usize) -> Truth {
        let values = self.values(set);
        let none = || (vec![0_u64; self.bins], 0_u64);
        let count = |(mut counts, mut outside): (Vec<u64>, u64), value: &T| {
            match value
                .bin(self.bins, self.range)
                .and_then(|bin| counts.get_mut(bin))
            {
                Some(count) => *count += 1,
                None => outside += 1,
            }
            (counts, outside)
        };
        let both = |(mut a, outside): (Vec<u64>, u64), (b, more): (Vec<u64>, u64)| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            (a, outside + more)
        };
        let values = &values[self.part.range(self.len)];
        let parts = parallel::parts(self.len, 1 << 22, |part| {
            values[part].iter().fold(none(), count)
        });
        let (counts, outside) = parts.into_iter().reduce(both).unwrap_or_else(none);
        Truth { counts, outside }
    }

    fn check(&self, truth: &Truth, answer: &Histogram) -> Verdict {
        truth.check(&answer.counts, answer.outside)
    }
}

/// The family `histogram`.
pub const FAMILY: Family = Family {
    name: "histogram",
    checks,
    timings,
    sizes: [20, 30],
    few: |len| {
        let numbers = Make::hashed(|hash| u32::from(hash as u8));
        Workload::new(Counts::numbers(len, 256, "u32", numbers))
    },
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for len in scale.all(&LENGTHS, &LARGE) {
        for bins in [1, 2, 100, 256, 300] {
            let make = Make::hashed(|hash| hash as u8);
            all.push(Workload::new(Counts::numbers(len, bins, "u8", make)));
        }
        for bins in [1, 1000, 65_536] {
            let make = Make::hashed(|hash| hash as u16);
            all.push(Workload::new(Counts::numbers(len, bins, "u16", make)));
        }
        for bins in [1, 17, 4096, 20_000, 100_000] {
            // About one value in nine lies outside.
            let make = Make::hashed(move |hash| (hash % (bins as u64 * 9 / 8 + 1)) as u32);
            all.push(Workload::new(Counts::numbers(len, bins, "u32", make)));
        }
        for (bins, range) in [
            (1, [0.0, 1.0]),
            (10, [-1.0, 1.0]),
            (1000, [-2.5, 1e-3]),
            (30_000, [1e6, 1e7]),
        ] {
            let single = range.map(|end: f64| end as f32);
            let make = Make::hashed(move |hash| ranged(hash, single.map(f64::from)) as f32);
            all.push(Workload::new(Counts::range(len, bins, single, "f32", make)));
            let make = Make::hashed(move |hash| ranged(hash, range));
            all.push(Workload::new(Counts::range(len, bins, range, "f64", make)));
        }
    }
    // All values in one bin, so that atomics contend.
    let equal = Counts::numbers(10_000, 256, "equal u8", Make::hashed(|_| 200_u8));
    let outside = Counts::numbers(10_000, 3, "u32 outside", Make::hashed(|_| u32::MAX));
    // The first element is not aligned for wide loads.
    let part = Counts {
        part: Part([1, 1]),
        ..Counts::numbers(4998, 256, "u8", Make::hashed(|hash| hash as u8))
    };
    // Nothing of an array.
    let none = Counts {
        part: Part([3, 4]),
        ..Counts::range(0, 5, [0.0, 1.0], "f32", Make::hashed(|_| 0.5_f32))
    };
    all.extend([
        Workload::new(equal),
        Workload::new(outside),
        Workload::new(part),
        Workload::new(none),
    ]);
    all
}

/// Returns a number in or slightly outside of the range; occasionally an end of it, an infinity, a NaN or a zero of either
/// sign.
fn ranged(hash: u64, [low, high]: [f64; 2]) -> f64 {
    match hash % 64 {
        0 => low,
        1 => high,
        2 => f64::NAN,
        3 => f64::INFINITY,
        4 => f64::NEG_INFINITY,
        5 => 0.0,
        6 => -0.0,
        _ => {
            let share = (hash >> 11) as f64 / (1_u64 << 53) as f64 * 1.2 - 0.1;
            low + share * (high - low)
        }
    }
}

/// Returns the problems that the variants are timed with: bytes in 256 bins.
fn timings(size: usize) -> Vec<Workload> {
    let bytes = Counts::numbers(size, 256, "u8", Make::hashed(|hash| hash as u8));
    vec![Workload::new(bytes)]
}

fn operations() -> Vec<Workload> {
    let floats = Make::hashed(|hash| spread(hash) as f32);
    let floats = Counts::range(3071, 777, [-500.0, 500.0], "f32", floats);
    let words = Counts::numbers(3000, 4000, "u16", Make::hashed(|hash| hash as u16));
    vec![Workload::new(floats), Workload::new(words)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let unit = Some([0.0, 1.0]);
        assert_eq!(1.0_f32.bin(4, unit), Some(3));
        assert_eq!(0.0_f32.bin(4, unit), Some(0));
        assert_eq!(0.25_f64.bin(4, Some([0.0, 1.0])), Some(1));
        assert_eq!(1.5_f32.bin(4, unit), None);
        assert_eq!(f64::NAN.bin(4, Some([0.0, 1.0])), None);
        assert_eq!((7_u8.bin(8, None), 8_u8.bin(8, None)), (Some(7), None));
        let problem = Counts::numbers(10, 4, "u8", Make::by(|at, _, _| at as u8));
        let truth = problem.truth(0);
        assert_eq!((&truth.counts[..], truth.outside), (&[1; 4][..], 6));
    }

    #[test]
    fn the_values_meet_every_kind() {
        let values = crate::sample::values(4096, 5, |hash| ranged(hash, [-1.0, 1.0]));
        assert!(values.iter().any(|value| value.is_nan()));
        assert!(values.contains(&1.0) && values.contains(&-1.0));
        assert!(values.iter().any(|value| *value > 1.0));
        assert!(values.iter().any(|value| *value < -1.0));
    }

    #[test]
    fn wrong_counts_are_noticed() {
        let right = Truth {
            counts: vec![1, 2],
            outside: 3,
        };
        assert!(right.check(&[1, 2], 3).is_ok());
        assert!(right.check(&[2, 1], 3).is_err());
        assert!(right.check(&[1, 2], 2).is_err());
        assert!(right.check(&[1], 3).is_err());
    }
}
