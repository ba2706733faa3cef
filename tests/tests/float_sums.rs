//! Float sums against exact ones, on inputs that are hard: the errors keep to the bounds that the pages state.

use rand::{Rng, seq::SliceRandom};
use warpwright::{Device, ops::reduce::Reducible};
use warpwright_tests::{
    Number,
    axis::AxisNumber,
    cases,
    compare::{self, Outcome},
    data, devices,
    exact::{self, Exact},
};

/// What makes a sum hard.
#[derive(Debug, Clone, Copy)]
enum Hard {
    /// Numbers of all magnitudes and both signs.
    AllMagnitudes,
    /// Pairs that cancel, in any order, and small numbers that are left.
    Cancellation,
    /// Nothing but numbers below the least normal one.
    Subnormals,
    /// Subnormal numbers among others.
    SomeSubnormals,
    /// Equal numbers whose sum has a rounding in every addition.
    Tenths,
    /// One large number, then small ones that vanish beside it one by one.
    LargeFirst,
}

const HARD: [Hard; 6] = [
    Hard::AllMagnitudes,
    Hard::Cancellation,
    Hard::Subnormals,
    Hard::SomeSubnormals,
    Hard::Tenths,
    Hard::LargeFirst,
];

/// A float that sums are tested for.
trait Float: Number + AxisNumber {
    /// The exponents of numbers whose sums of 2^20 do not overflow.
    const EXPONENTS: std::ops::Range<i32>;
    /// The exponent of the least positive number.
    const LEAST_EXPONENT: i32;
    /// The largest relative error of a sum along an axis of `len`, as [`AxisRequest::sum`] states it.
    ///
    /// [`AxisRequest::sum`]: warpwright::ops::axis::AxisRequest::sum
    fn axis_bound(len: usize) -> f64;
    fn value(sum: <Self as Reducible>::Sum) -> f64;
    fn axis_value(sum: <Self as warpwright::ops::axis::AxisReducible>::Sum) -> f64;
}

impl Float for f32 {
    const EXPONENTS: std::ops::Range<i32> = -126..104;
    const LEAST_EXPONENT: i32 = -149;
    fn axis_bound(_: usize) -> f64 {
        258.0 * 2.0_f64.powi(-24)
    }
    fn value(sum: f32) -> f64 {
        sum.into()
    }
    fn axis_value(sum: f32) -> f64 {
        sum.into()
    }
}

impl Float for f64 {
    const EXPONENTS: std::ops::Range<i32> = -1022..1000;
    const LEAST_EXPONENT: i32 = -1074;
    fn axis_bound(len: usize) -> f64 {
        len as f64 * 2.0_f64.powi(-53)
    }
    fn value(sum: f64) -> f64 {
        sum
    }
    fn axis_value(sum: f64) -> f64 {
        sum
    }
}

fn values<T: Float>(hard: Hard, len: usize) -> Vec<T> {
    let mut rng = data::generator(len as u64);
    let least = |times: i32| {
        f64::from(times)
            * 2.0_f64.powi(T::LEAST_EXPONENT / 2)
            * 2.0_f64.powi(T::LEAST_EXPONENT - T::LEAST_EXPONENT / 2)
    };
    let mut any = || rng.random_range(-1.0..1.0) * 2.0_f64.powi(rng.random_range(T::EXPONENTS));
    let real: Vec<f64> = match hard {
        Hard::AllMagnitudes => (0..len).map(|_| any()).collect(),
        Hard::Cancellation => {
            let mut values = Vec::new();
            while values.len() + 3 <= len {
                // As the type has it, so that it cancels to the bit.
                let large = T::from_real(any()).real();
                values.extend([large, -large, f64::from(values.len() as u32 % 7) * 1e-3]);
            }
            values.resize(len, 1e-3);
            values.shuffle(&mut rng);
            values
        }
        Hard::Subnormals => (0..len).map(|i| least(i as i32 % 2001 - 900)).collect(),
        Hard::SomeSubnormals => (0..len)
            .map(|i| {
                if i % 3 == 0 {
                    2.0_f64.powi(T::EXPONENTS.start)
                } else {
                    least(77)
                }
            })
            .collect(),
        Hard::Tenths => vec![0.1; len],
        Hard::LargeFirst => (0..len).map(|i| if i == 0 { 1e9 } else { 1e-2 }).collect(),
    };
    real.into_iter().map(T::from_real).collect()
}

/// Whether `got` is near the exact sum: off by no more than `relative` of the magnitudes' sum, and by the
/// last rounding to the type.
fn near(got: f64, (sum, magnitude): &(Exact, Exact), relative: f64) -> Outcome {
    let (off, bound) = (sum.distance(got), relative * magnitude.approximate());
    // The oracle's own last bits.
    if off <= bound * (1.0 + 1e-6) {
        Ok(())
    } else {
        Err(format!("{got:e} is {off:e} off, and may be {bound:e} off"))
    }
}

const LENGTHS: [usize; 4] = [3, 1000, 4099, 66_000];

fn whole<T: Float>() {
    for hard in HARD {
        for len in LENGTHS {
            let values = values::<T>(hard, len);
            let wanted = exact::sums(values.iter().map(|value| value.real()));
            for device in devices::all() {
                let vector = device.upload(&values).unwrap();
                for variant in cases::variants("reduce") {
                    let got = device.reduce(&vector).variant(variant.name).sum().unwrap();
                    let chain = cases::reduce_chain(variant, len, device);
                    let bound = compare::sum_bound::<T>(chain, 1.0);
                    if let Err(wrong) = near(T::value(got), &wanted, bound) {
                        panic!("{} {hard:?} {len} {}: {wrong}", device.kind(), variant.name);
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_f32() {
    whole::<f32>();
}

#[test]
fn sums_of_f64() {
    whole::<f64>();
}

/// Every column, or every row, is a hard sum.
fn along_an_axis<T: Float>() {
    for hard in HARD {
        for (lines, len) in [(3, 1000), (40, 700), (2, 20_000)] {
            let elements = values::<T>(hard, lines * len);
            for rows in [true, false] {
                let at = |line: usize, i: usize| match rows {
                    true => elements[line * len + i].real(),
                    false => elements[i * lines + line].real(),
                };
                let wanted: Vec<_> = (0..lines)
                    .map(|line| exact::sums((0..len).map(|i| at(line, i))))
                    .collect();
                let shape = if rows { (lines, len) } else { (len, lines) };
                for device in devices::all() {
                    let matrix = device.upload_matrix(&elements, shape.0, shape.1).unwrap();
                    let family = if rows { "rows" } else { "columns" };
                    for variant in cases::variants(family) {
                        let request = match rows {
                            true => device.reduce_rows(&matrix),
                            false => device.reduce_columns(&matrix),
                        };
                        let sums = request
                            .variant(variant.name)
                            .sum()
                            .unwrap()
                            .to_vec()
                            .unwrap();
                        assert_eq!(sums.len(), lines);
                        for (got, wanted) in sums.into_iter().zip(&wanted) {
                            // The last rounding, from `f64` to the type, is one more.
                            let bound = T::axis_bound(len) + T::ROUNDING;
                            if let Err(wrong) = near(T::axis_value(got), wanted, bound) {
                                panic!(
                                    "{} {hard:?} {shape:?} {family} {}: {wrong}",
                                    device.kind(),
                                    variant.name
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_f32_along_an_axis() {
    along_an_axis::<f32>();
}

#[test]
fn sums_of_f64_along_an_axis() {
    along_an_axis::<f64>();
}

/// Infinities and NaNs, wherever they are, among numbers of all magnitudes.
fn special<T: Float>() {
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    let cases: [(&[f64], f64); 6] = [
        (&[infinity], infinity),
        (&[-infinity], -infinity),
        (&[infinity, infinity], infinity),
        (&[infinity, -infinity], nan),
        (&[nan], nan),
        (&[nan, infinity], nan),
    ];
    for (special, wanted) in cases {
        for len in [2, 1000, 4099] {
            let last = len - special.len();
            for start in [0, last / 2, last] {
                let mut values = values::<T>(Hard::Tenths, len);
                for (place, value) in values[start..].iter_mut().zip(special) {
                    *place = T::from_real(*value);
                }
                for device in devices::all() {
                    let vector = device.upload(&values).unwrap();
                    for variant in cases::variants("reduce") {
                        let got = device.reduce(&vector).variant(variant.name).sum().unwrap();
                        let outcome = compare::within(T::value(got), wanted, 0.0);
                        assert!(
                            outcome.is_ok(),
                            "{special:?} {len} {}: {outcome:?}",
                            variant.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn infinities_and_nans_in_f32() {
    special::<f32>();
}

#[test]
fn infinities_and_nans_in_f64() {
    special::<f64>();
}

/// The length of the longest sum, and the elements that it repeats.
const MANY: usize = 1_000_000_000;
const PERIOD: usize = 1_000_000;

/// 10^9 terms, 4 GB: on a CUDA device; on the CPU where somebody asks for it.
fn many_terms(device: &Device, variants: &[&str]) {
    let period = values::<f32>(Hard::Cancellation, PERIOD);
    let (one, one_magnitude) = exact::sums(period.iter().map(|value| f64::from(*value)));
    let (mut sum, mut magnitude) = (Exact::default(), Exact::default());
    sum.add_times(&one, (MANY / PERIOD) as u32);
    magnitude.add_times(&one_magnitude, (MANY / PERIOD) as u32);
    let wanted = (sum, magnitude);
    let mut values = Vec::with_capacity(MANY);
    for _ in 0..MANY / PERIOD {
        values.extend_from_slice(&period);
    }
    let vector = device.upload(&values).unwrap();
    drop(values);
    for name in variants {
        let variant = cases::family("reduce").variant(name).unwrap();
        let got = device.reduce(&vector).variant(*name).sum().unwrap();
        let chain = cases::reduce_chain(variant, MANY, device);
        let bound = compare::sum_bound::<f32>(chain, 1.0);
        if let Err(wrong) = near(got.into(), &wanted, bound) {
            panic!("{} {name}: {wrong}", device.kind());
        }
    }
}

#[test]
fn a_thousand_million_terms_on_a_cuda_device() {
    let cuda = devices::Executor::Cuda.devices();
    if cuda.is_empty() {
        devices::leave_out(1);
    }
    for device in cuda {
        let all = cases::variants("reduce").iter().map(|variant| variant.name);
        // Those that take few blocks or passes; the others' partial results take their time.
        many_terms(device, &all.collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "8 GB of memory and a minute per core: run it with `-- --ignored`"]
fn a_thousand_million_terms_on_the_cpu() {
    many_terms(&Device::cpu(), &["best"]);
}
