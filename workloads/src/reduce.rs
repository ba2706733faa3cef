//! Reductions of a whole array.
//!
//! Sums are checked with whole numbers and products with powers of two. Floats must then be exact too, and an element that is
//! missing or added twice is always noticed. The rounding of sums is checked with fractions, against its bound.

use half::{bf16, f16};
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright::{Device, Result, Vector};

use crate::parallel;
use crate::sample::{Make, Part, spread};
use crate::{
    Bits, Family, Number, Prepared, Problem, Scale, Total, Verdict, Workload, prepared,
    with_variant, within,
};

const LENGTHS: [usize; 13] = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 4097, 9001, 20_011];
const LARGE: [usize; 3] = [1 << 20, 3_000_017, (1 << 24) + 1];

/// The kind of values of a reduction.
#[derive(Clone, Copy)]
pub enum Data {
    /// Values for which the operator's result is exact.
    Exact,
    /// The same value everywhere.
    Equal,
    /// Values of every kind, with NaN at these positions.
    NanAt(&'static [usize]),
    /// Fractions. Their sum, mean or product may have the rounding errors of a chain of at most this many operations.
    Fractions(usize),
}

/// A reduction.
#[derive(Clone)]
pub struct Reduction<T> {
    operator: Operator,
    len: usize,
    part: Part,
    data: Data,
    make: Make<T>,
    /// Whether the result is written to an array on the device. Minima and maxima are then of the family `segments`.
    stays: bool,
}

impl<T: Number> Reduction<T> {
    /// Makes the reduction of `len` elements.
    pub fn new(operator: Operator, len: usize, data: Data) -> Self {
        let from_hash = match (data, operator) {
            (Data::Equal, _) => |_| T::whole(3),
            (Data::Fractions(_), _) => T::fraction,
            (Data::NanAt(_), _) => T::any,
            (Data::Exact, Operator::Sum | Operator::Mean) => T::whole,
            (Data::Exact, Operator::Product) => T::factor,
            (Data::Exact, _) => T::any,
        };
        Self {
            operator,
            len,
            part: Part::WHOLE,
            data,
            make: Make::hashed(from_hash),
            stays: false,
        }
    }

    /// Returns the same reduction with other values, which must match its [`Data`].
    #[must_use]
    pub fn of(self, make: Make<T>) -> Self {
        Self { make, ..self }
    }

    /// Returns the same reduction of elements that start after `elements` elements of their allocation.
    #[must_use]
    pub fn behind(self, elements: usize) -> Self {
        let part = Part([elements, 0]);
        Self { part, ..self }
    }
}

impl<T: Reducible> Bits for Option<Value<T>> {
    fn bits(&self) -> Vec<u8> {
        match self {
            None => Vec::new(),
            Some(Value::Sum(sum)) => bytemuck::bytes_of(sum).to_vec(),
            Some(Value::Element(element)) => bytemuck::bytes_of(element).to_vec(),
            Some(Value::Index(index)) => index.to_ne_bytes().to_vec(),
            Some(Value::Mean(mean)) => mean.to_ne_bytes().to_vec(),
            Some(_) => unreachable!("bits of another result"),
        }
    }
}

/// The expected result, from the oracle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// No result.
    None,
    /// A sum or product of integers before it wraps, or an exact one of floats.
    Whole(i128),
    /// A number and its error bound.
    Real(f64, f64),
    /// The rank of an element; `None` for a NaN.
    Rank(Option<i128>),
    /// A position.
    Index(u64),
}

impl<T: Number + Reducible<Sum: Total>> Reduction<T> {
    fn values(&self, set: usize) -> Vec<T> {
        let mut values = self.make.values(self.part.total(self.len), 6, set);
        if let (Data::NanAt(places), Some(nan)) = (self.data, T::NAN) {
            places.iter().for_each(|&place| values[place] = nan);
        }
        values
    }

    /// Checks a result.
    ///
    /// # Errors
    /// Returns what was expected and what was found.
    pub fn check(truth: &Truth, found: Option<Value<T>>) -> Verdict {
        let right = match (*truth, found) {
            (Truth::None, None) => true,
            (Truth::Whole(sum), Some(Value::Sum(found))) => found.is(sum),
            (Truth::Real(expected, bound), Some(Value::Sum(found))) => {
                return within(found.as_f64(), expected, bound);
            }
            (Truth::Real(expected, bound), Some(Value::Mean(found))) => {
                return within(found, expected, bound);
            }
            (Truth::Rank(rank), Some(Value::Element(found))) => found.rank() == rank,
            (Truth::Index(index), Some(Value::Index(found))) => found == index,
            _ => false,
        };
        if right {
            return Ok(());
        }
        Err(format!("expected {truth:?}, found {found:?}"))
    }
}

impl<T: Number + Reducible<Sum: Total>> Problem for Reduction<T> {
    type Input = Vector<T>;
    type Answer = Option<Value<T>>;
    type Truth = Truth;

    fn family(&self) -> &'static str {
        "reduce"
    }

    fn name(&self) -> String {
        let mut elements = self.part.name("elements", self.len);
        if let Data::Equal = self.data {
            elements.push_str(" equal");
        }
        let mut name = format!("{} of {elements} {}", self.operator.name(), T::NAME);
        if self.stays {
            name.push_str(" on the device");
        }
        match self.data {
            Data::NanAt(places) => format!("{name}, NaN at {places:?}"),
            Data::Fractions(_) => format!("{name}, rounded"),
            _ => name,
        }
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
    ) -> Result<Prepared<'a, Option<Value<T>>>> {
        let values = input.slice(self.part.range(self.len))?;
        let request = with_variant!(device.reduce(values), variant);
        if self.stays {
            macro_rules! of {
                ($prepare:ident, $value:ident) => {
                    prepared!(request.output_on_device().$prepare()?, |it| {
                        Ok(Some(Value::$value(it.output()?.to_vec()?[0])))
                    })
                };
            }
            return Ok(match self.operator {
                Operator::ArgMin => of!(prepare_argmin, Index),
                Operator::Mean => of!(prepare_mean, Mean),
                other => unreachable!("no problem is the {other} on the device"),
            });
        }
        let prepared = request.prepare(self.operator)?;
        Ok(prepared!(prepared, |it| it.finish()))
    }

    fn truth(&self, set: usize) -> Truth {
        let values = self.values(set);
        let chain = match self.data {
            Data::Fractions(chain) if T::Sum::ROUNDING.is_some() => Some(chain),
            _ => None,
        };
        truth(self.operator, &values[self.part.range(self.len)], chain)
    }

    fn check(&self, truth: &Truth, answer: &Option<Value<T>>) -> Verdict {
        Self::check(truth, *answer)
    }
}

/// The number of values that a thread takes at a time.
const PART: usize = 1 << 14;

/// Returns what a function gives for each part of the values.
fn parts<T: Sync, R: Send>(values: &[T], of: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    parallel::parts(values.len(), PART, |part| of(&values[part]))
}

/// Returns the result, computed by loops over the values. For sums and products of fractions, the length of the longest chain
/// of operations gives the bound.
pub(crate) fn truth<T: Number + Reducible<Sum: Total>>(
    operator: Operator,
    values: &[T],
    chain: Option<usize>,
) -> Truth {
    let sum = || -> i128 {
        let part = |part: &[T]| part.iter().map(|value| value.integer()).sum::<i128>();
        parts(values, part).into_iter().sum()
    };
    let extreme = |least: bool| match position(values, least) {
        Some(at) => Truth::Rank(values[at].rank()),
        None => Truth::None,
    };
    let index = |least: bool| {
        position(values, least).map_or(Truth::None, |index| Truth::Index(index as u64))
    };
    match (operator, chain) {
        (Operator::Sum, None) => Truth::Whole(sum()),
        (Operator::Sum, Some(chain)) => {
            let (sum, magnitudes) = compensated(values);
            let chain = chain.min(values.len()) as f64;
            Truth::Real(
                sum,
                chain * T::Sum::ROUNDING.unwrap_or_default() * magnitudes,
            )
        }
        (Operator::Product, _) if T::NAN.is_none() => {
            let part = |part: &[T]| {
                let factors = part.iter().map(|value| value.integer() as u64);
                factors.fold(1_u64, u64::wrapping_mul)
            };
            // The same bits as i64 are the same number modulo 2^64.
            let product = parts(values, part).into_iter().fold(1, u64::wrapping_mul);
            Truth::Whole((product as i64).into())
        }
        (Operator::Product, chain) => {
            let part = |part: &[T]| part.iter().map(|value| value.real()).product::<f64>();
            let product: f64 = parts(values, part).into_iter().product();
            let chain = chain.unwrap_or(0).min(values.len()) as f64;
            Truth::Real(
                product,
                chain * T::Sum::ROUNDING.unwrap_or_default() * product.abs(),
            )
        }
        (Operator::Min, _) => extreme(true),
        (Operator::Max, _) => extreme(false),
        (Operator::ArgMin, _) => index(true),
        (Operator::ArgMax, _) => index(false),
        (Operator::Mean, _) if values.is_empty() => Truth::None,
        (Operator::Mean, Some(_)) => match truth(Operator::Sum, values, chain) {
            Truth::Real(sum, bound) => {
                let (mean, len) = (sum / values.len() as f64, values.len() as f64);
                Truth::Real(mean, bound / len + f64::EPSILON * mean.abs())
            }
            other => other,
        },
        (Operator::Mean, None) => {
            let (sum, len) = (sum(), values.len() as i128);
            if sum.abs() < 1 << f64::MANTISSA_DIGITS {
                return Truth::Real(sum as f64 / len as f64, 0.0);
            }
            let mean = (sum / len) as f64 + (sum % len) as f64 / len as f64;
            Truth::Real(mean, 2.0 * f64::EPSILON * mean.abs())
        }
        (other, _) => unreachable!("an oracle of {other}"),
    }
}

/// Returns the position of the first minimum or maximum. The first NaN is both.
fn position<T: Number>(values: &[T], least: bool) -> Option<usize> {
    // The greatest key wins, and the first of equal keys.
    let key = |value: T| match value.rank() {
        None => i128::MAX,
        Some(rank) if least => -rank,
        Some(rank) => rank,
    };
    let better = |a: (usize, i128), b: (usize, i128)| if b.1 > a.1 { b } else { a };
    let best = parallel::parts(values.len(), PART, |part| {
        part.map(|at| (at, key(values[at]))).reduce(better)
    });
    // The search is in order, so that the first of equals stays.
    let best = best.into_iter().flatten().reduce(better);
    best.map(|(index, _)| index)
}

/// Returns the sum of the values and of their magnitudes, by Neumaier's compensated summation (1974), whose error is far below
/// any bound.
fn compensated<T: Number>(values: &[T]) -> (f64, f64) {
    let add = |(sum, correction): (f64, f64), value: f64| {
        let next = sum + value;
        let lost = match sum.abs() >= value.abs() {
            true => (sum - next) + value,
            false => (value - next) + sum,
        };
        (next, correction + lost)
    };
    let part = |values: &[T]| {
        let numbers = values.iter().map(|value| value.real());
        let (sum, correction) = numbers.clone().fold((0.0, 0.0), add);
        (sum + correction, numbers.map(f64::abs).sum::<f64>())
    };
    let parts = parts(values, part);
    let (sum, correction) = parts.iter().map(|part| part.0).fold((0.0, 0.0), add);
    (sum + correction, parts.iter().map(|part| part.1).sum())
}

/// The family `reduce`.
pub const FAMILY: Family = Family {
    name: "reduce",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| Workload::new(Reduction::<f32>::new(Operator::Sum, len, Data::Equal)),
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
        all.push(Workload::new(Reduction::<f32>::new(
            Operator::Sum,
            len,
            data,
        )));
        all.push(Workload::new(Reduction::<f64>::new(
            Operator::Sum,
            len,
            data,
        )));
    }
    all
}

fn of_type<T: Number + Reducible<Sum: Total>>(all: &mut Vec<Workload>, scale: Scale) {
    let mut add = |problem: Reduction<T>| all.push(Workload::new(problem));
    for operator in Operator::ALL {
        for len in scale.all(&LENGTHS, &LARGE) {
            add(Reduction::new(operator, len, Data::Exact));
        }
        // The first element is not aligned for wide loads; and nothing of an array.
        for (part, len) in [(Part([1, 2]), 4998), (Part([3, 4]), 0)] {
            add(Reduction {
                part,
                ..Reduction::new(operator, len, Data::Exact)
            });
        }
    }
    for operator in [Operator::Mean, Operator::ArgMin] {
        add(Reduction {
            stays: true,
            ..Reduction::new(operator, 3000, Data::Exact)
        });
    }
    for operator in [
        Operator::Min,
        Operator::Max,
        Operator::ArgMin,
        Operator::ArgMax,
    ] {
        // The first position wins.
        add(Reduction::new(operator, 3000, Data::Equal));
        if T::NAN.is_some() {
            for places in [&[0][..], &[2999], &[1234, 77, 2000]] {
                add(Reduction::new(operator, 3000, Data::NanAt(places)));
            }
        }
    }
}

/// Returns the problems that the variants are timed with: the sum of `f32`.
fn timings(size: usize) -> Vec<Workload> {
    let sum = Reduction::<f32>::new(Operator::Sum, size, Data::Exact);
    vec![Workload::new(sum)]
}

fn operations() -> Vec<Workload> {
    let floats = |operator| {
        let make = match operator {
            // A long product of these neither vanishes nor overflows.
            Operator::Product => |hash| 1.0 + spread(hash) as f32 / 4096.0,
            _ => |hash| spread(hash) as f32,
        };
        let problem = Reduction::new(operator, 3071, Data::Fractions(usize::MAX));
        Workload::new(problem.of(Make::hashed(make)))
    };
    let mut all: Vec<_> = Operator::ALL.map(floats).into();
    let words = Reduction::<u32>::new(Operator::ArgMin, 3000, Data::Exact);
    all.push(Workload::new(words));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let zeros = [3.0_f32, -0.0, 0.0, -0.0, 3.0];
        assert_eq!(truth(Operator::ArgMin, &zeros, None), Truth::Index(1));
        assert_eq!(truth(Operator::ArgMax, &zeros, None), Truth::Index(0));
        let nans = [1.0_f64, f64::NAN, f64::NEG_INFINITY, f64::NAN];
        assert_eq!(truth(Operator::ArgMin, &nans, None), Truth::Index(1));
        assert_eq!(truth(Operator::Max, &nans, None), Truth::Rank(None));
        assert_eq!(truth::<u8>(Operator::Min, &[], None), Truth::None);
        assert_eq!(truth(Operator::Sum, &[255_u8; 2], None), Truth::Whole(510));
        assert_eq!(truth::<u32>(Operator::Product, &[], None), Truth::Whole(1));
        let product = truth(Operator::Product, &[u64::MAX, 3], None);
        assert_eq!(
            Reduction::<u64>::check(&product, Some(Value::Sum(u64::MAX - 2))),
            Ok(())
        );
        let mean = truth(Operator::Mean, &[i64::MAX; 2], None);
        let found = Some(Value::Mean(i64::MAX as f64));
        assert_eq!(Reduction::<i64>::check(&mean, found), Ok(()));
        assert_eq!(truth::<u8>(Operator::Mean, &[], None), Truth::None);
        // The values are in several parts.
        let mut values = vec![1_i32; 100_000];
        values[50_000] = 0;
        values[70_000] = 0;
        assert_eq!(truth(Operator::ArgMin, &values, None), Truth::Index(50_000));
        assert_eq!(truth(Operator::ArgMax, &values, None), Truth::Index(0));
    }

    #[test]
    fn wrong_results_are_noticed() {
        let check = Reduction::<f32>::check;
        assert!(check(&Truth::Whole(1), Some(Value::Sum(2.0))).is_err());
        assert!(check(&Truth::Whole(1), Some(Value::Sum(f32::NAN))).is_err());
        assert!(check(&Truth::Whole(1), None).is_err());
        assert!(check(&Truth::Whole(1), Some(Value::Index(1))).is_err());
        assert!(check(&Truth::Rank(0.0_f32.rank()), Some(Value::Element(-0.0))).is_err());
        assert!(check(&Truth::Rank(None), Some(Value::Element(f32::NAN))).is_ok());
    }

    #[test]
    fn the_bound_lets_no_nan_and_no_large_error_pass() {
        let halves = truth(Operator::Sum, &[0.5_f64; 2], Some(usize::MAX));
        let check = |found| Reduction::<f64>::check(&halves, Some(Value::Sum(found)));
        assert!(check(1.0).is_ok());
        assert!(check(f64::NAN).is_err());
        assert!(check(1.0 + 1e-14).is_err());
    }
}
