//! Reductions of segments and of runs of equal keys, and run lengths. Values are those of the family `reduce`, and each segment
//! is held to the oracle of a whole array.

mod means;
mod runs;

use half::{bf16, f16};
use rayon::prelude::*;
use warpwright::ops::reduce::{self, Reducible, Value};
use warpwright::ops::segments::{Operator, Segments};
use warpwright::ops::select::Ordered;
use warpwright::{Device, Result, Vector};

pub use self::means::Means;
pub(crate) use self::runs::Keys;
pub use self::runs::{ByKey, Key, Lengths, Runs};
use crate::parallel;
use crate::reduce::{Data, Reduction, Truth, truth};
use crate::sample::{self, Make, Part, spread};
use crate::{
    Bits, Family, Number, Prepared, Problem, Scale, Total, Verdict, Workload, prepared,
    with_variant,
};

/// Numbers of elements and of segments.
const SIZES: [(usize, usize); 12] = [
    (0, 0),
    (0, 5),
    (1, 1),
    (5, 0),
    (100, 1),
    (257, 300),
    (1000, 10),
    (4099, 4099),
    (8193, 2),
    (20_011, 700),
    (3001, 20_011),
    (40_003, 3),
];

/// Sizes for a GPU.
const LARGE: [(usize, usize); 7] = [
    (1 << 20, 1000),
    (1 << 20, 1 << 20),
    (3_000_017, 1),
    (3_000_017, 11),
    (5_000_011, 300_007),
    (1_000_003, 5_000_011),
    (20_000_003, 3),
];

/// Numbers of keys.
const LENGTHS: [usize; 8] = [0, 1, 33, 257, 4099, 8193, 20_011, 40_003];

/// Numbers of keys for a GPU.
const LARGE_LENGTHS: [usize; 2] = [1 << 20, 5_000_011];

/// How elements are cut into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Anywhere.
    Random,
    /// A third of the segments are empty, one has most elements, and the others have one or none.
    Skewed,
}

impl Cut {
    /// Returns the offsets of `count` segments of `len` elements, which begin behind `begin` others.
    pub fn offsets(self, begin: usize, len: usize, count: usize) -> Vec<u64> {
        let (begin, len) = (begin as u64, len as u64);
        let inner = count.saturating_sub(1);
        let mut offsets = match self {
            Self::Random => sample::values(inner, 32, |hash| hash % (len + 1)),
            Self::Skewed => sample::indexed(inner, 32, |at, hash| match 3 * at / inner {
                0 => 0,
                _ => len.saturating_sub(hash % (inner as u64)),
            }),
        };
        offsets.par_sort_unstable();
        offsets.insert(0, 0);
        if count > 0 {
            offsets.push(len);
        }
        offsets.iter().map(|offset| begin + offset).collect()
    }
}

/// A number of a type that segments can be made of.
pub trait Item: Number + Reducible<Sum: Total> + Ordered {}
impl<T: Number + Reducible<Sum: Total> + Ordered> Item for T {}

/// A reduction of segments given by offsets.
#[derive(Clone)]
pub struct Reduce<T> {
    operator: Operator,
    len: usize,
    /// The number of segments.
    count: usize,
    cut: Cut,
    /// Whether offsets have 64 bits.
    is_wide: bool,
    /// Whether each step of `best` is a launch of its own.
    is_apart: bool,
    /// The part of the elements that is in segments, of those that the operation is given.
    part: Part,
    /// The part of an array that the operation is given.
    view: Part,
    data: Data,
    make: Make<T>,
}

/// Returns the operator of a whole array.
fn whole(operator: Operator) -> reduce::Operator {
    match operator {
        Operator::Sum => reduce::Operator::Sum,
        Operator::Product => reduce::Operator::Product,
        Operator::Min => reduce::Operator::Min,
        Operator::Max => reduce::Operator::Max,
        other => unreachable!("an oracle of {other}"),
    }
}

impl<T: Item> Reduce<T> {
    /// Makes the sums of `count` segments of any length of `len` elements.
    pub fn new(len: usize, count: usize) -> Self {
        Self::by(Operator::Sum, len, count, Data::Exact)
    }

    fn by(operator: Operator, len: usize, count: usize, data: Data) -> Self {
        Self {
            operator,
            len,
            count,
            cut: Cut::Random,
            is_wide: false,
            is_apart: false,
            part: Part::WHOLE,
            view: Part::WHOLE,
            data,
            make: made(operator, data),
        }
    }

    /// Returns the values that the operation is given.
    fn values(&self, set: usize) -> Vec<T> {
        let given = self.part.total(self.len);
        let values = self.make.values(self.view.total(given), 31, set);
        self.view.of(values, given, 1)
    }

    /// Returns the range of the elements that the operation is given.
    fn here(&self) -> std::ops::Range<usize> {
        self.view.range(self.part.total(self.len))
    }

    /// Returns a description of what is computed of the segments.
    fn described(&self, what: &str) -> String {
        let elements = self.view.name("elements", self.part.total(self.len));
        let inside = match self.part {
            Part::WHOLE => String::new(),
            part => format!(", {} of them", part.name("elements", self.len)),
        };
        let apart = if self.is_apart { ", step by step" } else { "" };
        let wide = if self.is_wide { ", 64-bit offsets" } else { "" };
        let rounded = match self.data {
            Data::Fractions(_) => ", rounded",
            _ => "",
        };
        format!(
            "{what} of {} {} segments of {elements} {}{inside}{wide}{apart}{rounded}",
            self.count,
            match self.cut {
                Cut::Random => "random",
                Cut::Skewed => "skewed",
            },
            T::NAME,
        )
    }

    /// Returns the offsets, which are the same for all sets.
    fn offsets(&self) -> Vec<u64> {
        self.cut.offsets(self.part.0[0], self.len, self.count)
    }
}

/// Makes segments, with offsets of 64 bits if `is_wide`, otherwise of 32.
pub(crate) fn segments(device: &Device, offsets: &[u64], is_wide: bool) -> Result<Segments> {
    if is_wide {
        return device.segments(device.upload(offsets)?);
    }
    let narrow: Vec<_> = offsets.iter().map(|offset| *offset as u32).collect();
    device.segments(device.upload(&narrow)?)
}

/// Returns the values for an operator.
fn made<T: Item>(operator: Operator, data: Data) -> Make<T> {
    Make::hashed(match (data, operator) {
        (Data::Fractions(_), _) => T::fraction,
        (_, Operator::Sum) => T::whole,
        (_, Operator::Product) => T::factor,
        _ => T::any,
    })
}

/// The results of segments, as those of whole arrays.
#[derive(Debug, Clone)]
pub struct Results<T: Reducible>(pub Vec<Value<T>>);

impl<T: Reducible> Bits for Results<T> {
    fn bits(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|value| Some(*value).bits())
            .collect()
    }
}

impl<T: Item> Problem for Reduce<T> {
    type Input = (Vector<T>, Segments);
    type Answer = Results<T>;
    type Truth = Vec<Truth>;

    fn family(&self) -> &'static str {
        "segments"
    }

    fn name(&self) -> String {
        self.described(self.operator.name())
    }

    fn bytes(&self) -> usize {
        let result = match self.operator {
            Operator::Sum | Operator::Product => size_of::<T::Sum>(),
            _ => size_of::<T>(),
        };
        let offset = if self.is_wide { 8 } else { 4 };
        self.len * size_of::<T>() + self.count * (offset + result)
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        // The device has what lies beside the view too.
        let given = self.part.total(self.len);
        let all = self.make.values(self.view.total(given), 31, set);
        let offsets = self.offsets();
        let segments = segments(device, &offsets, self.is_wide)?;
        Ok((device.upload(&all)?, segments))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (values, segments): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Results<T>>> {
        let values = values.slice(self.here())?;
        let mut request = with_variant!(device.reduce_segments(values, segments), variant);
        if self.is_apart {
            request = request.apart();
        }
        macro_rules! of {
            ($prepare:ident, $value:ident) => {
                prepared!(request.$prepare()?, |it| {
                    let results = it.output()?.to_vec()?;
                    Ok(Results(results.into_iter().map(Value::$value).collect()))
                })
            };
        }
        Ok(match self.operator {
            Operator::Sum => of!(prepare_sum, Sum),
            Operator::Product => of!(prepare_product, Sum),
            Operator::Min => of!(prepare_min, Element),
            Operator::Max => of!(prepare_max, Element),
            other => unreachable!("a workload of {other}"),
        })
    }

    fn truth(&self, set: usize) -> Vec<Truth> {
        let (values, offsets) = (self.values(set), self.offsets());
        let of = |at: usize| {
            let segment = &values[offsets[at] as usize..offsets[at + 1] as usize];
            truth_of(self.operator, segment, self.data)
        };
        parallel::map(offsets.len() - 1, 256, of)
    }

    fn check(&self, truth: &Vec<Truth>, answer: &Results<T>) -> Verdict {
        check_all(truth, &answer.0, |truth, value| {
            Reduction::check(truth, Some(*value))
        })
    }
}

/// Returns the expected result of one segment.
fn truth_of<T: Item>(operator: Operator, segment: &[T], data: Data) -> Truth {
    let chain = match data {
        Data::Fractions(chain) if T::Sum::ROUNDING.is_some() => Some(chain),
        _ => None,
    };
    match (operator, segment.is_empty()) {
        (Operator::Min, true) => Truth::Rank(T::HIGHEST.rank()),
        (Operator::Max, true) => Truth::Rank(T::LOWEST.rank()),
        _ => truth(whole(operator), segment, chain),
    }
}

/// Checks the result of every segment.
fn check_all<E, A>(truth: &[E], answer: &[A], check: impl Fn(&E, &A) -> Verdict) -> Verdict {
    if truth.len() != answer.len() {
        return Err(format!(
            "expected {} results, found {}",
            truth.len(),
            answer.len()
        ));
    }
    let mut pairs = truth.iter().zip(answer).enumerate();
    pairs.try_for_each(|(s, (truth, found))| {
        check(truth, found).map_err(|wrong| format!("segment {s}: {wrong}"))
    })
}

/// The family `segments`.
pub const FAMILY: Family = Family {
    name: "segments",
    checks,
    timings,
    sizes: [16, 28],
    few: |len| Workload::new(Reduce::<f32>::new(len, len.min(3))),
    operations,
    same_everywhere: false,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for (len, count) in scale.all(&SIZES, &LARGE) {
        for cut in [Cut::Random, Cut::Skewed] {
            let sums = Reduce {
                cut,
                ..Reduce::<f32>::new(len, count)
            };
            all.push(Workload::new(sums));
            let maxima = Reduce {
                cut,
                is_wide: true,
                is_apart: true,
                ..Reduce::<f64>::by(Operator::Max, len, count, Data::Exact)
            };
            all.push(Workload::new(maxima));
        }
    }
    of_type::<u8>(&mut all);
    of_type::<u16>(&mut all);
    of_type::<u32>(&mut all);
    of_type::<i32>(&mut all);
    of_type::<u64>(&mut all);
    of_type::<i64>(&mut all);
    of_type::<f16>(&mut all);
    of_type::<bf16>(&mut all);
    of_type::<f32>(&mut all);
    of_type::<f64>(&mut all);
    means::checks(&mut all);
    let len = scale.pick(20_011, 3_000_017);
    let data = Data::Fractions(usize::MAX);
    all.push(Workload::new(Reduce::<f32>::by(
        Operator::Sum,
        len,
        7,
        data,
    )));
    for len in scale.all(&LENGTHS, &LARGE_LENGTHS) {
        all.push(Workload::new(Lengths::<u8>::new(len)));
        all.push(Workload::new(ByKey::<u8, f32>::new(len)));
        let one = Keys::<u32>::new(len).of("equal", Make::hashed(|_| 7));
        all.push(Workload::new(Lengths(one.clone())));
        all.push(Workload::new(ByKey::<_, i32>::with(one, Data::Exact)));
        let each = Keys::<u64>::new(len).of("different", Make::by(|at, _, _| at as u64));
        all.push(Workload::new(Lengths(each.clone())));
        all.push(Workload::new(ByKey::<_, f64>::with(each, Data::Exact)));
    }
    all
}

/// Adds the problems of a type of elements, which is a type of keys too.
fn of_type<T: Item + Key>(all: &mut Vec<Workload>) {
    for operator in Operator::ALL {
        for (len, count, cut, is_apart) in [
            (3001, 40, Cut::Random, false),
            (9001, 9001, Cut::Random, false),
            (9001, 40, Cut::Random, true),
            // More than 255 empty segments in a row: only the distinct offsets are kept.
            (2000, 1500, Cut::Skewed, false),
        ] {
            // The first element is not aligned for wide loads, and not all elements are in segments.
            all.push(Workload::new(Reduce {
                view: Part([3, 2]),
                part: Part([5, 1]),
                cut,
                is_apart,
                ..Reduce::<T>::by(operator, len, count, Data::Exact)
            }));
        }
    }
    let unaligned = Keys {
        part: Part([3, 2]),
        ..Keys::<T>::new(5003)
    };
    all.push(Workload::new(Lengths(unaligned.clone())));
    all.push(Workload::new(ByKey::<_, u16>::with(unaligned, Data::Exact)));
}

/// Returns the problems that the variants are timed with.
fn timings(size: usize) -> Vec<Workload> {
    vec![
        Workload::new(Reduce::<f32>::new(size, 10)),
        Workload::new(Reduce::<f32>::new(size, (size / 27).max(1))),
        Workload::new(ByKey::<u8, f32>::new(size)),
        Workload::new(Lengths::<u8>::new(size)),
    ]
}

fn operations() -> Vec<Workload> {
    let data = Data::Fractions(usize::MAX);
    let mut all: Vec<_> = Operator::ALL
        .map(|operator| {
            let make = match operator {
                // A long product of these neither vanishes nor overflows.
                Operator::Product => |hash| 1.0 + spread(hash) as f32 / 4096.0,
                _ => |hash| spread(hash) as f32,
            };
            Workload::new(Reduce {
                make: Make::hashed(make),
                ..Reduce::<f32>::by(operator, 20_011, 9, data)
            })
        })
        .into();
    all.push(Workload::new(Reduce {
        is_apart: true,
        ..Reduce::<f32>::by(Operator::Sum, 20_011, 9, data)
    }));
    all.push(Workload::new(Means::<f32>::rounded(20_011, 9)));
    all.push(Workload::new(ByKey::<u16, f32>::with(
        Keys::new(20_011),
        data,
    )));
    all.push(Workload::new(Lengths::<u8>::new(5003)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let sums = Reduce {
            make: Make::given([1_u8, 2, 255, 255]),
            part: Part([1, 0]),
            ..Reduce::new(3, 1)
        };
        assert_eq!(sums.offsets(), [1, 4]);
        assert_eq!(sums.truth(0), [Truth::Whole(512)]);
        let none: [f32; 0] = [];
        let infinity = Truth::Rank(f32::INFINITY.rank());
        assert_eq!(truth_of(Operator::Min, &none, Data::Exact), infinity);
        let one = Truth::Real(1.0, 0.0);
        assert_eq!(truth_of(Operator::Product, &none, Data::Exact), one);
        let keys = Keys::new(5).of(
            "given",
            Make::given([0.0_f32, -0.0, f32::NAN, f32::NAN, 1.0]),
        );
        assert_eq!(Keys::starts(&keys.here(0)), [0, 2, 3, 4, 5]);
        let lengths = Lengths(Keys::new(4).of("given", Make::given([5_u8, 5, 1, 5]))).truth(0);
        assert_eq!(
            (lengths.keys, lengths.values),
            (vec![5, 1, 5], vec![2, 1, 1])
        );
        let by_key = ByKey {
            make: Make::given([1_u32, 2, 3, 4]),
            ..ByKey::with(
                Keys::new(4).of("given", Make::given([5_u8, 5, 1, 5])),
                Data::Exact,
            )
        };
        assert_eq!(by_key.truth(0).values, [3, 3, 4].map(Truth::Whole));
    }

    #[test]
    fn cuts_are_offsets() {
        for (len, count) in SIZES {
            for cut in [Cut::Random, Cut::Skewed] {
                let offsets = Reduce::<u8> {
                    cut,
                    ..Reduce::new(len, count)
                }
                .offsets();
                assert_eq!(offsets.len(), count + 1);
                assert!(offsets.is_sorted() && offsets[0] == 0);
                assert!(count == 0 || offsets[count] == len as u64);
            }
        }
    }

    #[test]
    fn wrong_results_are_noticed() {
        let sums = Reduce::<u32> {
            make: Make::given([1, 2]),
            ..Reduce::new(2, 1)
        };
        let truth = sums.truth(0);
        let check = |sums_found: &[u64]| {
            let found = sums_found.iter().map(|sum| Value::Sum(*sum)).collect();
            sums.check(&truth, &Results(found))
        };
        assert!(check(&[3]).is_ok());
        assert!(check(&[4]).is_err() && check(&[]).is_err() && check(&[3, 3]).is_err());
    }
}
