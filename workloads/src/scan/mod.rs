//! Scans of an array.
//!
//! Sums are checked with whole numbers and products with powers of two, so that floats must be exact too, apart from the
//! rounding of 16-bit results. The rounding of sums is checked with fractions, against its bound.

mod segments;
mod wide;

use half::{bf16, f16};
use warpwright::ops::scan::{Operator, Scannable};
use warpwright::{Device, Result, Vector};

pub use self::segments::{Given, Segmented};
pub use self::wide::Wide;
use crate::sample::{Make, Part, spread};
use crate::{Family, Number, Prepared, Problem, Scale, Verdict, Workload};

/// Lengths around a chunk of 16 bytes, and around one and several tiles of 32 KiB of each element size.
const LENGTHS: [usize; 11] = [0, 1, 2, 15, 17, 33, 1023, 4096, 4097, 8193, 33_000];
const LARGE: [usize; 4] = [1 << 20, 3_000_017, (1 << 24) + 1, 1 << 25];

/// The kind of values of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Values for which the operator's results are exact.
    Exact,
    /// Values of every kind, with NaN at this position.
    NanAt(usize),
    /// Fractions. Their sums may have the rounding errors of a chain of at most this many operations.
    Fractions(usize),
}

/// Prepares a request with the options of a [`Scan`].
macro_rules! with_options {
    ($scan:expr, $request:expr, $variant:expr) => {
        with_options!($scan, $scan.initial(), $request, $variant)
    };
    ($scan:expr, $initial:expr, $request:expr, $variant:expr) => {{
        let mut request = crate::with_variant!($request, $variant);
        if $scan.exclusive {
            request = request.exclusive();
        }
        if let Some(initial) = $initial {
            request = request.initial(initial);
        }
        Ok(crate::prepared!(request.prepare()?, |it| it
            .output()?
            .to_vec()))
    }};
}
use with_options;

/// A scan.
#[derive(Clone)]
pub struct Scan<T> {
    operator: Operator,
    len: usize,
    part: Part,
    data: Data,
    exclusive: bool,
    /// Whether there is an initial value: the first of another stream of values.
    initial: bool,
    make: Make<T>,
}

impl<T: Number> Scan<T> {
    /// Makes the inclusive scan of `len` elements.
    pub fn new(operator: Operator, len: usize, data: Data) -> Self {
        let from_hash = match (data, operator) {
            (Data::Fractions(_), _) => T::fraction,
            (Data::NanAt(_), _) => T::any,
            (Data::Exact, Operator::Sum) => T::whole,
            (Data::Exact, Operator::Product) => T::factor,
            (Data::Exact, _) => T::any,
        };
        Self {
            operator,
            len,
            part: Part::WHOLE,
            data,
            exclusive: false,
            initial: false,
            make: Make::hashed(from_hash),
        }
    }

    /// Returns the same scan with other values, which must match its [`Data`].
    #[must_use]
    pub fn of(self, make: Make<T>) -> Self {
        Self { make, ..self }
    }

    /// Returns the exclusive scan, with an initial value.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            initial: true,
            ..self
        }
    }

    /// Returns the same scan of elements that start after `elements` elements of their allocation.
    #[must_use]
    pub fn behind(self, elements: usize) -> Self {
        let part = Part([elements, 0]);
        Self { part, ..self }
    }

    fn values(&self, set: usize) -> Vec<T> {
        let mut values = self.make.values(self.part.total(self.len), 13, set);
        if let (Data::NanAt(place), Some(nan)) = (self.data, T::NAN) {
            values[self.part.0[0] + place] = nan;
        }
        values
    }

    fn initial(&self) -> Option<T> {
        self.initial.then(|| self.make.values(1, 14, 0)[0])
    }

    /// Checks the results of `values` behind `initial`. They may have a wider type than the values.
    fn results<Out: Number>(&self, initial: Option<Out>, values: &[T], found: &[Out]) -> Verdict {
        if found.len() != values.len() {
            let (expected, found) = (values.len(), found.len());
            return Err(format!("expected {expected} elements, found {found}"));
        }
        let mut state = State::new(self.operator, self.data);
        if let Some(initial) = initial {
            state.take(initial);
        }
        for (at, value) in values.iter().enumerate() {
            if self.exclusive {
                state.check(found[at], at)?;
            }
            state.take(*value);
            if !self.exclusive {
                state.check(found[at], at)?;
            }
        }
        Ok(())
    }
}

/// The exact prefix so far.
struct State {
    operator: Operator,
    chain: Option<usize>,
    len: usize,
    /// The sum or the product of integers, modulo 2^128, or of floats that are whole.
    whole: i128,
    /// The sum, its compensation and its magnitude, or the product.
    real: f64,
    lost: f64,
    magnitude: f64,
    /// The rank of the extreme; `None` before the first value.
    rank: Option<Option<i128>>,
}

impl State {
    fn new(operator: Operator, data: Data) -> Self {
        let is_product = operator == Operator::Product;
        Self {
            operator,
            chain: match data {
                Data::Fractions(chain) => Some(chain),
                _ => None,
            },
            len: 0,
            whole: i128::from(is_product),
            real: f64::from(u8::from(is_product)),
            lost: 0.0,
            magnitude: 0.0,
            rank: None,
        }
    }

    fn take<T: Number>(&mut self, value: T) {
        self.len += 1;
        match self.operator {
            Operator::Sum if T::NAN.is_none() => {
                self.whole = self.whole.wrapping_add(value.integer());
            }
            Operator::Sum => {
                // Neumaier's compensated summation (1974).
                let value = value.real();
                let next = self.real + value;
                self.lost += match self.real.abs() >= value.abs() {
                    true => (self.real - next) + value,
                    false => (value - next) + self.real,
                };
                self.real = next;
                self.magnitude += value.abs();
            }
            Operator::Product if T::NAN.is_none() => {
                self.whole = self.whole.wrapping_mul(value.integer());
            }
            Operator::Product => self.real *= value.real(),
            Operator::Min | Operator::Max => {
                let rank = value.rank();
                let least = self.operator == Operator::Min;
                self.rank = Some(match self.rank {
                    None => rank,
                    Some(so_far) => so_far.zip(rank).map(|(a, b)| match least {
                        true => a.min(b),
                        false => a.max(b),
                    }),
                });
            }
            other => unreachable!("an oracle of {other}"),
        }
    }

    /// Checks the result at a position.
    fn check<T: Number>(&self, found: T, at: usize) -> Verdict {
        let wrong =
            |expected: String| Err(format!("at {at}: expected {expected}, found {found:?}"));
        if let Operator::Min | Operator::Max = self.operator {
            // An exclusive scan without an initial value starts with the identity, which the tests check.
            return match self.rank {
                Some(rank) if rank != found.rank() => wrong(format!("rank {rank:?}")),
                _ => Ok(()),
            };
        }
        if T::NAN.is_none() {
            let mask = u64::MAX >> (64 - 8 * size_of::<T>());
            let differs = (self.whole ^ found.integer()) as u64 & mask != 0;
            return match differs {
                true => wrong(format!("{} modulo {mask}", self.whole)),
                false => Ok(()),
            };
        }
        let expected = self.real + self.lost;
        match self.chain {
            Some(chain) => {
                let unit = match size_of::<T>() {
                    8 => f64::EPSILON / 2.0,
                    _ => f64::from(f32::EPSILON) / 2.0,
                };
                let bound = chain.min(self.len) as f64 * unit * self.magnitude;
                crate::within(found.real(), expected, bound)
                    .map_err(|error| format!("at {at}: {error}"))
            }
            None if T::from_f64(expected).real() != found.real() => wrong(expected.to_string()),
            None => Ok(()),
        }
    }
}

impl<T: Number + Scannable> Problem for Scan<T> {
    type Input = Vector<T>;
    type Answer = Vec<T>;
    type Truth = Vec<T>;

    fn family(&self) -> &'static str {
        "scan"
    }

    fn name(&self) -> String {
        let kind = match self.exclusive {
            true => "exclusive ",
            false => "",
        };
        let elements = self.part.name("elements", self.len);
        let name = format!("{kind}{} of {elements} {}", self.operator.name(), T::NAME);
        match self.data {
            Data::Exact => name,
            Data::NanAt(place) => format!("{name}, NaN at {place}"),
            Data::Fractions(_) => format!("{name}, rounded"),
        }
    }

    fn bytes(&self) -> usize {
        2 * self.len * size_of::<T>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<T>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T>>> {
        let values = input.slice(self.part.range(self.len))?;
        let request = device.scan_request(values, self.operator);
        with_options!(self, request, variant)
    }

    fn wavers(&self, variant: &str) -> bool {
        let rounds = matches!(self.operator, Operator::Sum | Operator::Product);
        variant == "look_back" && rounds && T::NAN.is_some()
    }

    fn truth(&self, set: usize) -> Vec<T> {
        self.part.of(self.values(set), self.len, 1)
    }

    fn check(&self, truth: &Vec<T>, answer: &Vec<T>) -> Verdict {
        self.results(self.initial(), truth, answer)
    }
}

/// The family `scan`.
pub const FAMILY: Family = Family {
    name: "scan",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| Workload::new(Scan::<f32>::new(Operator::Sum, len, Data::Exact)),
    operations,
    same_everywhere: false,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<u8>(&mut all, scale);
    of_type::<u16>(&mut all, scale);
    of_type::<u32>(&mut all, scale);
    of_type::<u64>(&mut all, scale);
    of_type::<i32>(&mut all, scale);
    of_type::<i64>(&mut all, scale);
    of_type::<f32>(&mut all, scale);
    of_type::<f64>(&mut all, scale);
    of_type::<f16>(&mut all, scale);
    of_type::<bf16>(&mut all, scale);
    // To first order, the error of any order of additions is at most that of one chain of all elements.
    for len in scale.all(&[1000, 20_011], &[1 << 22]) {
        let data = Data::Fractions(usize::MAX);
        all.push(Workload::new(Scan::<f32>::new(Operator::Sum, len, data)));
        all.push(Workload::new(Scan::<f64>::new(Operator::Sum, len, data)));
    }
    all.extend(segments::checks(scale));
    all.extend(wide::checks(scale));
    all
}

fn of_type<T: Number + Scannable>(all: &mut Vec<Workload>, scale: Scale) {
    let mut add = |problem: Scan<T>| all.push(Workload::new(problem));
    let sums = scale.all(&LENGTHS, &LARGE);
    for len in sums {
        add(Scan::new(Operator::Sum, len, Data::Exact));
    }
    for operator in Operator::ALL {
        for len in scale.all(&[1, 8999], &LARGE[1..2]) {
            add(Scan::new(operator, len, Data::Exact).exclusive());
        }
        // The first element is not aligned for wide loads.
        add(Scan {
            part: Part([1, 2]),
            ..Scan::new(operator, 9998, Data::Exact)
        });
    }
    for operator in [Operator::Min, Operator::Max] {
        add(Scan::new(operator, 20_011, Data::Exact));
        if T::NAN.is_some() {
            for place in [0, 9000] {
                add(Scan::new(operator, 12_000, Data::NanAt(place)));
            }
        }
    }
}

/// Returns the problems that the variants are timed with: the sums of `f32`.
fn timings(size: usize) -> Vec<Workload> {
    let sum = Scan::<f32>::new(Operator::Sum, size, Data::Exact);
    vec![Workload::new(sum)]
}

fn operations() -> Vec<Workload> {
    let floats = |operator| {
        let make = match operator {
            // A long product of these neither vanishes nor overflows.
            Operator::Product => |hash| 1.0 + spread(hash) as f32 / 4096.0,
            _ => |hash| spread(hash) as f32,
        };
        let data = match operator {
            Operator::Sum => Data::Fractions(usize::MAX),
            _ => Data::Exact,
        };
        (Scan::new(operator, 9000, data)).of(Make::hashed(make))
    };
    let mut all = vec![
        Workload::new(floats(Operator::Sum)),
        Workload::new(floats(Operator::Max).exclusive()),
    ];
    let words = |operator| Scan::<u32>::new(operator, 9001, Data::Exact);
    all.extend(Operator::ALL.map(|operator| Workload::new(words(operator))));
    let bytes = Scan::<u8>::new(Operator::Sum, 70_001, Data::Exact);
    all.push(Workload::new(bytes));
    all.extend(segments::operations());
    all.extend(wide::operations());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_results_pass_and_wrong_ones_do_not() {
        let sum = Scan::<u8>::new(Operator::Sum, 3, Data::Exact);
        assert_eq!(sum.results(None, &[200, 100, 1], &[200_u8, 44, 45]), Ok(()));
        let wrong = sum
            .results(None, &[200, 100, 1], &[200_u8, 44, 46])
            .unwrap_err();
        assert!(wrong.contains("at 2"), "{wrong}");
        assert!(sum.results(None, &[200, 100, 1], &[200_u8, 44]).is_err());
        let exclusive = Scan::<i32>::new(Operator::Product, 2, Data::Exact)
            .of(Make::given(vec![3, 5]))
            .exclusive();
        assert_eq!(
            exclusive.results(exclusive.initial(), &[3, 5], &[3, 9]),
            Ok(())
        );
        assert!(
            exclusive
                .results(exclusive.initial(), &[3, 5], &[9, 45])
                .is_err()
        );
        let least = Scan::<f32>::new(Operator::Min, 3, Data::Exact);
        let nan = f32::NAN;
        assert_eq!(
            least.results(None, &[0.0, -0.0, nan], &[0.0, -0.0, nan]),
            Ok(())
        );
        assert!(
            least
                .results(None, &[0.0, -0.0, nan], &[0.0, 0.0, nan])
                .is_err()
        );
        assert!(
            least
                .results(None, &[0.0, -0.0, nan], &[0.0, -0.0, -0.0])
                .is_err()
        );
        let halves = Scan::<f64>::new(Operator::Sum, 2, Data::Fractions(usize::MAX));
        assert_eq!(halves.results(None, &[0.5, 0.25], &[0.5, 0.75]), Ok(()));
        assert!(
            halves
                .results(None, &[0.5, 0.25], &[0.5, nan.into()])
                .is_err()
        );
        assert!(
            halves
                .results(None, &[0.5, 0.25], &[0.5, 0.75 + 1e-14])
                .is_err()
        );
    }
}
