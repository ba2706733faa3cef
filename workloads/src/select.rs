//! Selections: elements are copied and keep their order, so they must be equal.

use std::fmt::Debug;

use warpwright::cuda_std::{bf16, f16};
use warpwright::ops::select::Compare;
use warpwright::{Device, Element, Result, Vector, VectorView};

use crate::sample::{Make, Part};
use crate::{
    Bits, Family, Prepared, Problem, Scale, Verdict, Workload, equal, prepared, with_variant,
};

const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 257, 1000, 8193, 20_011];
const LARGE: [usize; 2] = [1 << 20, 5_000_011];

/// What is selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind<T> {
    /// Elements above a value.
    Greater(T),
    /// Elements above a value, with the others behind them.
    Partition(T),
    /// Elements whose flag is set.
    Flagged,
    /// Elements that differ from the one before.
    Unique,
}

/// The answer: the elements, and the number of those that are selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected<T> {
    /// The selected elements, and for a partition the others.
    pub elements: Vec<T>,
    /// The number of selected elements.
    pub count: usize,
}

impl<T: Element> Bits for Selected<T> {
    fn bits(&self) -> Vec<u8> {
        let mut bits = self.elements.bits();
        bits.extend(self.count.to_ne_bytes());
        bits
    }
}

/// An element type.
pub trait Value: Element + PartialOrd + Debug {
    /// Prepares a variant.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn prepare<'a>(
        device: &Device,
        values: VectorView<'a, Self>,
        flags: VectorView<'a, u8>,
        kind: Kind<Self>,
        is_persistent: bool,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Selected<Self>>>;
}

macro_rules! values {
    ($($type:ident)*) => { $(
        impl Value for $type {
            fn prepare<'a>(
                device: &Device,
                values: VectorView<'a, Self>,
                flags: VectorView<'a, u8>,
                kind: Kind<Self>,
                is_persistent: bool,
                variant: Option<&str>,
            ) -> Result<Prepared<'a, Selected<Self>>> {
                macro_rules! way {
                    ($request:expr) => {
                        if is_persistent { $request.persistent() } else { $request }
                    };
                }
                macro_rules! of {
                    ($request:expr, |$it:ident, $count:ident| $len:expr) => {{
                        let request = with_variant!($request, variant);
                        Ok(prepared!(request.prepare()?, |$it| {
                            let $count = $it.count()?;
                            let elements = $it.output()?.slice(..$len)?.to_vec()?;
                            Ok(Selected { elements, count: $count })
                        }))
                    }};
                }
                match kind {
                    Kind::Greater(value) => of!(
                        way!(device.select_request(values, Compare::greater(value))),
                        |it, count| count
                    ),
                    Kind::Partition(value) => of!(
                        device.partition_request(values, Compare::greater(value)),
                        |it, count| it.output()?.len()
                    ),
                    Kind::Flagged => of!(
                        way!(device.select_flagged_request(values, flags)),
                        |it, count| count
                    ),
                    Kind::Unique => of!(way!(device.unique_request(values)), |it, count| count),
                }
            }
        }
    )* };
}
values!(u8 u16 u32 i32 u64 i64 f16 bf16 f32 f64);

/// A selection.
#[derive(Clone)]
pub struct Selection<T> {
    len: usize,
    kind: Kind<T>,
    part: Part,
    what: String,
    make: Make<T>,
    is_persistent: bool,
}

impl<T: Value> Selection<T> {
    /// Makes a selection. `what` describes the values, such as `u8`.
    pub fn new(len: usize, kind: Kind<T>, what: &str, make: Make<T>) -> Self {
        Self {
            len,
            kind,
            part: Part::WHOLE,
            what: what.to_owned(),
            make,
            is_persistent: false,
        }
    }

    /// Returns the same selection by persistent blocks, which the library launches for large inputs alone.
    #[must_use]
    pub fn persistent(self) -> Self {
        Self {
            is_persistent: true,
            ..self
        }
    }

    fn values(&self, set: usize) -> Vec<T> {
        self.make.values(self.part.total(self.len), 6, set)
    }

    /// Returns the flags, which are the same for all sets.
    fn flags(&self) -> Vec<u8> {
        let len = match self.kind {
            Kind::Flagged => self.part.total(self.len),
            _ => 0,
        };
        Make::hashed(|hash| hash as u8 & 0x40).values(len, 7, 0)
    }
}

impl<T: Value> Problem for Selection<T> {
    type Input = (Vector<T>, Vector<u8>);
    type Answer = Selected<T>;
    type Truth = Selected<T>;

    fn family(&self) -> &'static str {
        "select"
    }

    fn name(&self) -> String {
        let elements = self.part.name("elements", self.len);
        let how = match self.kind {
            Kind::Greater(value) => format!("above {value:?}"),
            Kind::Partition(value) => format!("partitioned at {value:?}"),
            Kind::Flagged => "with a flag".to_owned(),
            Kind::Unique => "unique".to_owned(),
        };
        let persistent = if self.is_persistent {
            ", persistent"
        } else {
            ""
        };
        format!("{elements} {}, {how}{persistent}", self.what)
    }

    fn bytes(&self) -> usize {
        // The elements that are written depend on the values: half of them, in the cases that are timed.
        let size = size_of::<T>();
        match self.kind {
            Kind::Partition(_) => 2 * self.len * size,
            Kind::Flagged => self.len * (size + size / 2 + 1),
            _ => self.len * (size + size / 2),
        }
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let flags = device.upload(&self.flags())?;
        Ok((device.upload(&self.values(set))?, flags))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (values, flags): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Selected<T>>> {
        let range = self.part.range(self.len);
        let flags = match self.kind {
            Kind::Flagged => flags.slice(range.clone())?,
            _ => flags.view(),
        };
        let (values, is_persistent) = (values.slice(range)?, self.is_persistent);
        T::prepare(device, values, flags, self.kind, is_persistent, variant)
    }

    fn truth(&self, set: usize) -> Selected<T> {
        let (values, flags) = (self.values(set), self.flags());
        let (mut elements, mut others) = (Vec::new(), Vec::new());
        let range = self.part.range(self.len);
        for i in range.clone() {
            let selected = match self.kind {
                Kind::Greater(value) | Kind::Partition(value) => values[i] > value,
                Kind::Flagged => flags[i] != 0,
                Kind::Unique => i == range.start || values[i] != values[i - 1],
            };
            if selected {
                elements.push(values[i]);
            } else if matches!(self.kind, Kind::Partition(_)) {
                others.push(values[i]);
            }
        }
        let count = elements.len();
        elements.append(&mut others);
        Selected { elements, count }
    }

    fn check(&self, truth: &Selected<T>, answer: &Selected<T>) -> Verdict {
        // Bytes, because a NaN that is copied does not equal itself.
        let bytes = |selected: &Selected<T>| selected.elements.bits();
        if truth.count != answer.count {
            let (expected, found) = (truth.count, answer.count);
            return Err(format!("expected {expected} elements, found {found}"));
        }
        equal(&bytes(answer), &bytes(truth))
    }
}

/// The family `select`.
pub const FAMILY: Family = Family {
    name: "select",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| {
        let values = Make::hashed(|hash| hash as u32);
        Workload::new(Selection::new(len, Kind::Unique, "u32", values))
    },
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for len in scale.all(&LENGTHS, &LARGE) {
        integers(&mut all, len, "u8", [128, 0, 255], |hash| hash as u8);
        integers(&mut all, len, "u16", [30_000, 0, 65_535], |hash| {
            hash as u16
        });
        integers(&mut all, len, "i32", [0, i32::MIN, i32::MAX], |hash| {
            hash as i32
        });
        integers(&mut all, len, "u64", [1 << 63, 0, u64::MAX], |hash| hash);
        // NaNs, infinities and zeros of both signs among the numbers.
        let single = |hash: u64| match hash % 16 {
            0 => f32::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f32::INFINITY,
            4 => f32::NEG_INFINITY,
            _ => (hash >> 32) as i32 as f32,
        };
        for kind in [
            Kind::Greater(0.0),
            Kind::Greater(f32::INFINITY),
            Kind::Partition(-1e9),
            Kind::Flagged,
            Kind::Unique,
        ] {
            all.push(Workload::new(Selection::new(
                len,
                kind,
                "f32",
                Make::hashed(single),
            )));
        }
        let double = |hash: u64| f64::from(hash as i8) / 16.0;
        for kind in [Kind::Greater(-0.0), Kind::Unique] {
            all.push(Workload::new(Selection::new(
                len,
                kind,
                "f64",
                Make::hashed(double),
            )));
        }
    }
    let len = scale.pick(9001, 300_001);
    integers(&mut all, len, "u32", [1 << 31, 0, u32::MAX], |hash| {
        hash as u32
    });
    integers(&mut all, len, "i64", [0, i64::MIN, i64::MAX], |hash| {
        hash as i64
    });
    halves(&mut all, len, "f16", f16::from_f32);
    halves(&mut all, len, "bf16", bf16::from_f32);
    // More tiles than a block has in its ring, and a tile that is not whole.
    let len = scale.pick(70_007, 5_000_011);
    persistent(&mut all, len, "u8", 128, |hash| hash as u8);
    persistent(&mut all, len, "u16", 40_000, |hash| hash as u16);
    persistent(&mut all, len, "u32", 1 << 31, |hash| hash as u32);
    persistent(&mut all, len, "i32", 1 << 30, |hash| hash as i32);
    persistent(&mut all, len, "u64", 1 << 63, |hash| hash);
    persistent(&mut all, len, "i64", -1 << 62, |hash| hash as i64);
    let small = |hash: u64| f32::from(hash as i8);
    persistent(&mut all, len, "f16", f16::ZERO, move |hash| {
        f16::from_f32(small(hash))
    });
    persistent(&mut all, len, "bf16", bf16::ONE, move |hash| {
        bf16::from_f32(small(hash))
    });
    persistent(&mut all, len, "f32", 100.0, small);
    persistent(&mut all, len, "f64", -100.0, move |hash| small(hash).into());
    // The first element is not aligned for wide loads.
    for kind in [
        Kind::Greater(100),
        Kind::Partition(100),
        Kind::Flagged,
        Kind::Unique,
    ] {
        let part = Selection {
            part: Part([3, 2]),
            ..Selection::new(9001, kind, "u8", Make::hashed(|hash| hash as u8))
        };
        all.push(Workload::new(part));
    }
    all
}

/// Adds selections with these bounds, and of elements that repeat.
fn integers<T: Value>(
    all: &mut Vec<Workload>,
    len: usize,
    what: &str,
    bounds: [T; 3],
    make: fn(u64) -> T,
) {
    let mut push = |kind, make: Make<T>, what: &str| {
        all.push(Workload::new(Selection::new(len, kind, what, make)));
    };
    for bound in bounds {
        push(Kind::Greater(bound), Make::hashed(make), what);
    }
    push(Kind::Partition(bounds[0]), Make::hashed(make), what);
    push(Kind::Flagged, Make::hashed(make), what);
    let runs = Make::by(move |at, _, _| make(crate::sample::hash(at as u64 / 5 % 3)));
    push(Kind::Unique, runs, &format!("{what} in runs"));
}

/// Adds selections by persistent blocks, of elements that repeat.
fn persistent<T: Value>(
    all: &mut Vec<Workload>,
    len: usize,
    what: &str,
    bound: T,
    make: impl Fn(u64) -> T + Send + Sync + 'static,
) {
    let runs = Make::by(move |at, _, _| make(crate::sample::hash(at as u64 / 3)));
    for kind in [Kind::Greater(bound), Kind::Flagged, Kind::Unique] {
        let what = format!("{what} in runs");
        let problem = Selection::new(len, kind, &what, runs.clone());
        all.push(Workload::new(problem.persistent()));
    }
}

/// Adds selections of small numbers, NaNs and infinities.
fn halves<T: Value>(all: &mut Vec<Workload>, len: usize, what: &str, from: fn(f32) -> T) {
    let value = move |hash: u64| match hash % 16 {
        0 => from(f32::NAN),
        1 => from(-0.0),
        2 => from(f32::NEG_INFINITY),
        _ => from(f32::from(hash as u8 as i8 & 7)),
    };
    for kind in [Kind::Greater(from(0.0)), Kind::Flagged, Kind::Unique] {
        let problem = Selection::new(len, kind, what, Make::hashed(value));
        all.push(Workload::new(problem));
    }
}

/// Returns the problems that the variants are timed with: half of the values are selected.
fn timings(size: usize) -> Vec<Workload> {
    let values = Make::hashed(|hash| (hash >> 40) as f32);
    let half = Kind::Greater((1 << 23) as f32);
    vec![Workload::new(Selection::new(size, half, "f32", values))]
}

fn operations() -> Vec<Workload> {
    let floats = || Make::hashed(|hash| (hash >> 40) as f32);
    let bytes = || Make::hashed(|hash| hash as u8 & 3);
    let half = (1 << 23) as f32;
    vec![
        Workload::new(Selection::new(3001, Kind::Greater(half), "f32", floats())),
        Workload::new(Selection::new(3001, Kind::Partition(half), "f32", floats())),
        Workload::new(Selection::new(3001, Kind::Flagged, "f32", floats())),
        Workload::new(Selection::new(5003, Kind::Unique, "u8", bytes())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let values = [3_u8, 3, 1, 5, 5, 5, 1];
        let truth = |kind| Selection::new(7, kind, "u8", Make::given(values)).truth(0);
        assert_eq!(truth(Kind::Greater(2)).elements, [3, 3, 5, 5, 5]);
        assert_eq!(truth(Kind::Unique).elements, [3, 1, 5, 1]);
        let partition = truth(Kind::Partition(2));
        assert_eq!(
            (partition.count, &partition.elements[..]),
            (5, &[3, 3, 5, 5, 5, 1, 1][..])
        );
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let problem = Selection::new(3, Kind::Greater(1_u8), "u8", Make::given([1, 2, 3]));
        let truth = problem.truth(0);
        let wrong = |elements: &[u8], count| {
            let elements = elements.to_vec();
            problem
                .check(&truth, &Selected { elements, count })
                .is_err()
        };
        assert!(!wrong(&[2, 3], 2));
        assert!(wrong(&[3, 2], 2) && wrong(&[2], 1) && wrong(&[2, 3, 1], 3));
    }
}
