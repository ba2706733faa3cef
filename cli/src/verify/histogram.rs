//! Checks of the histogram: counts are exact, so they must be equal.

use warpwright::{Device, Histogram, VectorView};

use super::{Case, Scale, Wrong, all_equal, equal};
use crate::sample;

const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 257, 1000, 4099, 20_011];
const LARGE: [usize; 2] = [1 << 20, 5_000_011];

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut lengths = LENGTHS.to_vec();
    if scale == Scale::Large {
        lengths.extend(LARGE);
    }
    let mut cases = Vec::new();
    for length in lengths {
        for bins in [1, 2, 100, 256, 300] {
            numbers(length, bins, "u8", u8_counts, |hash| hash as u8, &mut cases);
        }
        for bins in [1, 1000, 65_536] {
            numbers(
                length,
                bins,
                "u16",
                u16_counts,
                |hash| hash as u16,
                &mut cases,
            );
        }
        // About one value in nine lies outside.
        for bins in [1usize, 17, 4096, 20_000, 100_000] {
            let from_hash = move |hash| (hash % (bins as u64 * 9 / 8 + 1)) as u32;
            numbers(length, bins, "u32", u32_counts, from_hash, &mut cases);
        }
        ranges::<f32>(length, &mut cases);
        ranges::<f64>(length, &mut cases);
    }
    // All in one bin, where atomics meet.
    numbers(10_000, 256, "equal u8", u8_counts, |_| 200, &mut cases);
    numbers(
        10_000,
        3,
        "u32 outside",
        u32_counts,
        |_| u32::MAX,
        &mut cases,
    );
    // A part of a vector, whose first element is not aligned for wide loads.
    cases.push(Case::new(
        "elements 1 to 4999 of 5000 u8".to_owned(),
        |device, variant| {
            let values = sample::values(5000, 3, |hash| hash as u8);
            let vector = device.upload(&values)?;
            let found = u8_counts(device, variant, vector.slice(1..4999)?, 256)?;
            compare(found, &values[1..4999], 256, |value| {
                Some(usize::from(value))
            })
        },
    ));
    cases
}

/// How a histogram of bin numbers is asked for; one function per type, since the trait behind the
/// requests says nothing of its rule to the outside.
type Count<T> = fn(&Device, &str, VectorView<'_, T>, usize) -> warpwright::Result<Histogram>;

macro_rules! counts {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(
            device: &Device,
            variant: &str,
            values: VectorView<'_, $type>,
            bins: usize,
        ) -> warpwright::Result<Histogram> {
            device.histogram_request(values, bins).variant(variant).run()
        })*
    };
}

counts!(u8_counts: u8, u16_counts: u16, u32_counts: u32);

fn numbers<T: warpwright::Element + Into<u64>>(
    length: usize,
    bins: usize,
    name: &str,
    count: Count<T>,
    from_hash: impl Fn(u64) -> T + Sync + 'static,
    cases: &mut Vec<Case>,
) {
    cases.push(Case::new(
        format!("{length} {name} in {bins} bins"),
        move |device, variant| {
            let values = sample::values(length, 4, &from_hash);
            let vector = device.upload(&values)?;
            let found = count(device, variant, vector.view(), bins)?;
            compare(found, &values, bins, |value| {
                usize::try_from(value.into()).ok()
            })
        },
    ));
}

/// A float whose histogram over a range is checked.
trait Ranged: warpwright::Element + Into<f64> + std::fmt::Debug {
    const NAME: &'static str;
    const NAN: Self;
    const INFINITY: Self;
    fn from_f64(value: f64) -> Self;
    /// The bin by the documented rule, in this type's arithmetic; none outside the range.
    fn bin(self, bins: usize, low: Self, high: Self) -> Option<usize>;
    fn count(
        device: &Device,
        variant: &str,
        values: &[Self],
        bins: usize,
        low: Self,
        high: Self,
    ) -> warpwright::Result<Histogram>;
}

macro_rules! ranged {
    ($($type:ident),*) => {
        $(impl Ranged for $type {
            const NAME: &'static str = stringify!($type);
            const NAN: Self = $type::NAN;
            const INFINITY: Self = $type::INFINITY;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn bin(self, bins: usize, low: Self, high: Self) -> Option<usize> {
                if !(low <= self && self <= high) {
                    return None;
                }
                let scale = bins as $type / (high - low);
                Some((((self - low) * scale) as usize).min(bins - 1))
            }

            fn count(
                device: &Device,
                variant: &str,
                values: &[Self],
                bins: usize,
                low: Self,
                high: Self,
            ) -> warpwright::Result<Histogram> {
                let vector = device.upload(values)?;
                device.histogram_range_request(&vector, bins, low, high).variant(variant).run()
            }
        })*
    };
}

ranged!(f32, f64);

fn ranges<T: Ranged>(length: usize, cases: &mut Vec<Case>) {
    for (bins, low, high) in [
        (1, 0.0, 1.0),
        (10, -1.0, 1.0),
        (1000, -2.5, 1e-3),
        (30_000, 1e6, 1e7),
    ] {
        let (low, high) = (T::from_f64(low), T::from_f64(high));
        let name = format!(
            "{length} {} in {bins} bins from {low:?} to {high:?}",
            T::NAME
        );
        cases.push(Case::new(name, move |device, variant| {
            let values = sample::values(length, 5, |hash| value(hash, low, high));
            let found = T::count(device, variant, &values, bins, low, high)?;
            compare(found, &values, bins, |value| value.bin(bins, low, high))
        }));
    }
}

/// Mostly numbers in and a little around the range; now and then an end of it, an infinity, a NaN or a
/// zero of either sign.
fn value<T: Ranged>(hash: u64, low: T, high: T) -> T {
    match hash % 64 {
        0 => low,
        1 => high,
        2 => T::NAN,
        3 => T::INFINITY,
        4 => T::from_f64(f64::NEG_INFINITY),
        5 => T::from_f64(0.0),
        6 => T::from_f64(-0.0),
        _ => {
            let share = (hash >> 11) as f64 / (1u64 << 53) as f64 * 1.2 - 0.1;
            let (low, high) = (low.into(), high.into());
            T::from_f64(low + share * (high - low))
        }
    }
}

/// Compares counts with those of the oracle, a loop over the values.
fn compare<T: Copy>(
    found: Histogram,
    values: &[T],
    bins: usize,
    bin: impl Fn(T) -> Option<usize>,
) -> Result<(), Wrong> {
    let mut counts = vec![0u64; bins];
    let mut outside = 0u64;
    for &value in values {
        match bin(value).and_then(|bin| counts.get_mut(bin)) {
            Some(count) => *count += 1,
            None => outside += 1,
        }
    }
    all_equal(&found.counts, &counts)?;
    equal(found.outside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        assert_eq!(1.0f32.bin(4, 0.0, 1.0), Some(3));
        assert_eq!(0.0f32.bin(4, 0.0, 1.0), Some(0));
        assert_eq!(0.25f64.bin(4, 0.0, 1.0), Some(1));
        assert_eq!(1.5f32.bin(4, 0.0, 1.0), None);
        assert_eq!(f64::NAN.bin(4, 0.0, 1.0), None);
    }

    #[test]
    fn the_values_meet_every_kind() {
        let values = sample::values(4096, 5, |hash| value(hash, -1.0f32, 1.0));
        assert!(values.iter().any(|value| value.is_nan()));
        assert!(values.contains(&1.0) && values.contains(&-1.0));
        assert!(
            values.iter().any(|value| *value > 1.0) && values.iter().any(|value| *value < -1.0)
        );
    }
}
