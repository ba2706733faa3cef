//! Histograms: every variant, every value type, few bins and more than shared memory holds.

use std::fmt::Debug;

use rand::Rng;
use warpwright::{
    Device, Error, Histogram, Vector,
    ops::{
        ChosenBy,
        histogram::{BinValue, RangeValue},
    },
};
use warpwright_gpu::{
    histogram::policy::{self, Policy},
    tuning,
};
use warpwright_tests::{
    cases::{self, OFFSETS, Problem},
    compare::{self, Outcome},
    data,
    devices::{self, Executor},
    oracle,
};

/// The variants that count slices of the bins in shared memory, and refuse more slices than pay.
const SLICED: [&str; 2] = ["privatized", "privatized_coarsened"];

/// Numbers of bins: few, a byte's and its neighbours, one slice of shared memory and its neighbour,
/// several slices, and more than the sliced variants take.
const BINS: [usize; 11] = [
    1, 2, 100, 256, 257, 1000, 12288, 12289, 40000, 200_000, 400_000,
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    /// All over the bins, and about one in eight past them.
    Uniform,
    /// One bin takes all.
    Equal,
    /// Nothing in any bin; where the type allows that.
    Outside,
}

#[derive(Debug)]
struct Values {
    executor: Executor,
    pattern: Pattern,
    bins: usize,
    len: usize,
    offset: usize,
}

impl Problem for Values {
    fn executor(&self) -> Executor {
        self.executor
    }
}

fn problems() -> Vec<Values> {
    assert!(BINS.contains(&policy::RUNG_SLICE) && BINS.contains(&(policy::RUNG_SLICE + 1)));
    assert!(
        BINS.iter()
            .any(|bins| *bins > policy::RUNG_SLICE * policy::MOST_SLICES)
    );
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        let mut push = |pattern, bins, len, offset| {
            problems.push(Values {
                executor,
                pattern,
                bins,
                len,
                offset,
            });
        };
        let best = tuning::shipped::<Policy, u8>().block;
        let blocks = [policy::RUNG_BLOCK, best, policy::CHUNK];
        for len in cases::lengths(executor, &blocks) {
            push(Pattern::Uniform, 256, len, 0);
        }
        for bins in BINS {
            for len in [0, 1, 1009, 4099] {
                push(Pattern::Uniform, bins, len, 0);
            }
            push(Pattern::Equal, bins, 4099, 0);
            push(Pattern::Outside, bins, 1009, 0);
        }
        for offset in OFFSETS {
            for len in [1, 2, 15, 16, 17, 33, 4099] {
                push(Pattern::Uniform, 100, len, offset);
            }
        }
        if executor == Executor::Cuda {
            for bins in BINS {
                push(Pattern::Uniform, bins, cases::large(executor), 1);
                push(Pattern::Equal, bins, cases::large(executor), 0);
            }
        }
    }
    problems
}

/// What the request gives, held against `wanted`; a variant that cannot do it must say so.
fn check(
    got: warpwright::Result<Histogram>,
    wanted: &(Vec<u64>, u64),
    values: &Values,
    variant: &str,
) -> Outcome {
    let most = policy::RUNG_SLICE * policy::MOST_SLICES;
    if SLICED.contains(&variant) && values.bins > most {
        return match got {
            Err(Error::NotEligible {
                family: "histogram",
                variant: refused,
                ..
            }) => compare::same(&refused, &variant),
            other => Err(format!("{other:?}, though it counts {most} bins at most")),
        };
    }
    let got = got.map_err(|error| error.to_string())?;
    compare::same(&got.outside, &wanted.1)?;
    compare::same(&got.total(), &(values.len as u64))?;
    compare::same_bits(&got.counts, &wanted.0)
}

fn variants(_: &Values) -> Vec<&'static str> {
    cases::variants("histogram")
        .iter()
        .map(|variant| variant.name)
        .collect()
}

/// `values` on the device, with `around` in front (`offset` times) and behind.
fn surrounded<T: warpwright::Element>(
    device: &Device,
    values: &[T],
    offset: usize,
    around: T,
) -> warpwright::Result<Vector<T>> {
    let mut all = vec![around; offset];
    all.extend(values);
    all.extend([around; 3]);
    device.upload(&all)
}

fn numbers<T>(cut: impl Fn(u64) -> T + Sync)
where
    T: BinValue + Into<u64> + Debug,
{
    cases::run(
        &problems(),
        variants,
        |device, problem| {
            let mut rng = data::generator(problem.len as u64);
            let bins = problem.bins as u64;
            let values: Vec<T> = (0..problem.len)
                .map(|_| match problem.pattern {
                    Pattern::Uniform => cut(rng.random_range(0..bins + bins / 8 + 1)),
                    Pattern::Equal => cut(bins / 2),
                    Pattern::Outside => cut(u64::MAX),
                })
                .collect();
            let wanted = oracle::histogram(values.iter().map(|v| (*v).into()), problem.bins);
            Ok((surrounded(device, &values, problem.offset, cut(0))?, wanted))
        },
        |device, problem, (vector, wanted), variant| {
            let view = vector.slice(problem.offset..problem.offset + problem.len);
            let view = view.map_err(|error| error.to_string())?;
            let got = device
                .histogram_request(view, problem.bins)
                .variant(*variant)
                .run();
            check(got, wanted, problem, variant)
        },
    );
}

#[test]
fn u8_numbers() {
    numbers(|value| value as u8);
}

#[test]
fn u16_numbers() {
    numbers(|value| value as u16);
}

#[test]
fn u32_numbers() {
    numbers(|value| value as u32);
}

macro_rules! ranges {
    ($($name:ident: $ty:ident, $bin:path;)*) => { $(
        #[test]
        fn $name() {
            let (low, high): ($ty, $ty) = (-1.5, 2.75);
            cases::run(
                &problems(),
                variants,
                |device, problem| {
                    let mut rng = data::generator(problem.len as u64);
                    // Both ends and their neighbours, what is no number, and what is nearly nothing.
                    let edges = [
                        low,
                        high,
                        low.next_down(),
                        high.next_up(),
                        low.next_up(),
                        high.next_down(),
                        <$ty>::NAN,
                        -<$ty>::NAN,
                        <$ty>::INFINITY,
                        <$ty>::NEG_INFINITY,
                        0.0,
                        -0.0,
                        <$ty>::from_bits(1),
                        <$ty>::MAX,
                    ];
                    let values: Vec<$ty> = (0..problem.len)
                        .map(|i| match problem.pattern {
                            Pattern::Uniform if i < 200 => edges[i % edges.len()],
                            Pattern::Uniform => rng.random_range(low - 0.2..high + 0.2),
                            Pattern::Equal => high,
                            Pattern::Outside => [<$ty>::NAN, high.next_up()][i % 2],
                        })
                        .collect();
                    let bins = values.iter().map(|value| {
                        $bin(*value, problem.bins, low, high).map_or(u64::MAX, |bin| bin as u64)
                    });
                    let wanted = oracle::histogram(bins, problem.bins);
                    Ok((surrounded(device, &values, problem.offset, 0.0)?, wanted))
                },
                |device, problem, (vector, wanted), variant| {
                    let view = vector.slice(problem.offset..problem.offset + problem.len);
                    let view = view.map_err(|error| error.to_string())?;
                    let request = device.histogram_range_request(view, problem.bins, low, high);
                    check(request.variant(*variant).run(), wanted, problem, variant)
                },
            );
        }
    )* };
}
ranges! {
    f32_ranges: f32, oracle::bin_f32;
    f64_ranges: f64, oracle::bin_f64;
}

#[test]
fn no_bins_and_too_many_are_refused() {
    for device in devices::all() {
        let vector = device.upload(&[1_u8]).unwrap();
        for bins in [0, u32::MAX as usize, usize::MAX] {
            let error = device.histogram(&vector, bins).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Invalid {
                        operation: "histogram",
                        ..
                    }
                ),
                "{error:?}"
            );
            assert!(error.to_string().contains(&bins.to_string()), "{error}");
        }
        let vector = device.upload(&[1.0_f32]).unwrap();
        assert!(device.histogram_range(&vector, 0, 0.0, 1.0).is_err());
    }
}

#[test]
fn a_range_that_is_empty_or_no_number_is_refused() {
    fn check<T: RangeValue>(device: &Device, ranges: &[(T, T)]) {
        let vector = device.zeros::<T>(3).unwrap();
        for (low, high) in ranges {
            let error = device
                .histogram_range(&vector, 10, *low, *high)
                .unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Invalid {
                        operation: "histogram",
                        ..
                    }
                ),
                "{error:?}"
            );
            let text = error.to_string();
            assert!(
                text.contains(&low.to_string()) && text.contains("range"),
                "{text}"
            );
        }
    }
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    for device in devices::all() {
        check(
            device,
            &[
                (1.0, 1.0),
                (2.0, 1.0),
                (nan, 1.0),
                (0.0, nan),
                (0.0, infinity),
            ],
        );
        check(
            device,
            &[
                (-infinity, 0.0),
                (f64::MIN, f64::MAX),
                (0.0, f64::from_bits(1)),
            ],
        );
        check(
            device,
            &[(1.0_f32, 1.0), (f32::NAN, f32::NAN), (f32::MIN, f32::MAX)],
        );
    }
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let prepared = device.histogram_request(&vector, 10).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let prepared = device
        .histogram_request(&vector, 10)
        .variant("serial")
        .prepare()
        .unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("serial", ChosenBy::Caller)
    );
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let error = device
        .histogram_request(&vector, 10)
        .variant("folding")
        .run()
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::UnknownVariant {
                family: "histogram",
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    let mut variants = cases::variants("histogram").iter();
    assert!(
        variants.all(|variant| text.contains(variant.name)),
        "{text}"
    );
}

#[test]
fn queued_again_it_counts_anew() {
    for device in devices::all() {
        let values: Vec<u16> = (0..5000).map(|i| i % 300).collect();
        let vector = device.upload(&values).unwrap();
        let (counts, outside) = oracle::histogram(values.iter().map(|v| u64::from(*v)), 250);
        for variant in cases::variants("histogram") {
            let request = device.histogram_request(&vector, 250).variant(variant.name);
            let mut prepared = request.prepare().unwrap();
            for times in [1, 2, 1] {
                for _ in 0..times {
                    prepared.enqueue().unwrap();
                }
                let got = prepared.finish().unwrap();
                assert_eq!(
                    (&got.counts, got.outside),
                    (&counts, outside),
                    "{}",
                    variant.name
                );
            }
        }
    }
}
