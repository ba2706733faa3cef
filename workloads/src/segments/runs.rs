//! Runs of equal keys: the sums of their values, and their lengths.

use std::fmt::Debug;

use warpwright::ops::reduce::Value;
use warpwright::ops::segments::Operator;
use warpwright::ops::select::Selectable;
use warpwright::{Device, Element, Result, Vector};

use super::{Item, check_all, made, truth_of};
use crate::parallel;
use crate::reduce::{Data, Reduction, Truth};
use crate::sample::{self, Make, Part};
use crate::{Bits, Number, Prepared, Problem, Verdict, equal, prepared, with_variant};

/// The runs of keys: the first key of each, and what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs<K, V> {
    /// The keys.
    pub keys: Vec<K>,
    /// A value for each.
    pub values: Vec<V>,
}

impl<K: Element, V: Element> Bits for Runs<K, V> {
    fn bits(&self) -> Vec<u8> {
        let mut bits = self.keys.bits();
        bits.extend(self.values.bits());
        bits
    }
}

/// A type of keys.
pub trait Key: Number + Selectable + PartialEq + Debug {}
impl<K: Number + Selectable + PartialEq + Debug> Key for K {}

/// Keys in runs.
#[derive(Clone)]
pub(crate) struct Keys<K> {
    pub len: usize,
    pub part: Part,
    pub what: String,
    pub make: Make<K>,
}

impl<K: Key> Keys<K> {
    /// Makes keys of 16 values, in runs of four on the average.
    pub fn new(len: usize) -> Self {
        Self {
            len,
            part: Part::WHOLE,
            what: K::NAME.to_owned(),
            make: Make::by(|at, _, _| K::whole(sample::hash(at as u64 / 4) >> 60)),
        }
    }

    /// Returns other keys. `what` describes them.
    pub fn of(self, what: &str, make: Make<K>) -> Self {
        let what = format!("{what} {}", K::NAME);
        Self { what, make, ..self }
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.part.name("elements", self.len), self.what)
    }

    pub fn all(&self, set: usize) -> Vec<K> {
        self.make.values(self.part.total(self.len), 33, set)
    }

    /// Returns the keys that count.
    pub fn here(&self, set: usize) -> Vec<K> {
        self.part.of(self.all(set), self.len, 1)
    }

    /// Returns where runs begin, and the end.
    pub fn starts(keys: &[K]) -> Vec<usize> {
        let is_first = |i: &usize| *i == 0 || keys[*i] != keys[*i - 1];
        let mut starts: Vec<_> = (0..keys.len()).filter(is_first).collect();
        starts.push(keys.len());
        starts
    }
}

/// The sums of the values of each run of equal keys.
#[derive(Clone)]
pub struct ByKey<K, T> {
    pub(super) keys: Keys<K>,
    pub(super) data: Data,
    pub(super) make: Make<T>,
}

impl<K: Key, T: Item> ByKey<K, T> {
    /// Makes the sums of `len` values, of keys in runs of four on the average.
    pub fn new(len: usize) -> Self {
        Self::with(Keys::new(len), Data::Exact)
    }

    pub(super) fn with(keys: Keys<K>, data: Data) -> Self {
        let make = made(Operator::Sum, data);
        Self { keys, data, make }
    }
}

impl<K: Key, T: Item> Problem for ByKey<K, T> {
    type Input = (Vector<K>, Vector<T>);
    type Answer = Runs<K, T::Sum>;
    type Truth = Runs<K, Truth>;

    fn family(&self) -> &'static str {
        "segments"
    }

    fn name(&self) -> String {
        let rounded = match self.data {
            Data::Fractions(_) => ", rounded",
            _ => "",
        };
        format!("sums of {} by {}{rounded}", T::NAME, self.keys.name())
    }

    fn bytes(&self) -> usize {
        // A run for each four keys, as in the cases that are timed.
        let (key, value) = (size_of::<K>(), size_of::<T>());
        self.keys.len * (key + value) + self.keys.len / 4 * (key + size_of::<T::Sum>())
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let values = self
            .make
            .values(self.keys.part.total(self.keys.len), 34, set);
        Ok((device.upload(&self.keys.all(set))?, device.upload(&values)?))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (keys, values): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Self::Answer>> {
        let range = self.keys.part.range(self.keys.len);
        let (keys, values) = (keys.slice(range.clone())?, values.slice(range)?);
        let request = with_variant!(device.reduce_by_key(keys, values), variant);
        Ok(prepared!(request.prepare_sum()?, |it| {
            let count = it.count()?;
            Ok(Runs {
                keys: it.keys()?.slice(..count)?.to_vec()?,
                values: it.output()?.slice(..count)?.to_vec()?,
            })
        }))
    }

    fn truth(&self, set: usize) -> Self::Truth {
        let part = self.keys.part;
        let values = self.make.values(part.total(self.keys.len), 34, set);
        let values = part.of(values, self.keys.len, 1);
        let all = self.keys.here(set);
        let starts = Keys::starts(&all);
        let of = |run: usize| {
            truth_of(
                Operator::Sum,
                &values[starts[run]..starts[run + 1]],
                self.data,
            )
        };
        Runs {
            values: parallel::map(starts.len() - 1, 256, of),
            keys: starts[..starts.len() - 1]
                .iter()
                .map(|at| all[*at])
                .collect(),
        }
    }

    fn check(&self, truth: &Self::Truth, answer: &Self::Answer) -> Verdict {
        equal(&answer.keys.bits(), &truth.keys.bits())?;
        check_all(&truth.values, &answer.values, |truth, sum| {
            Reduction::<T>::check(truth, Some(Value::Sum(*sum)))
        })
    }
}

/// The lengths of the runs of equal keys.
#[derive(Clone)]
pub struct Lengths<K>(pub(super) Keys<K>);

impl<K: Key> Lengths<K> {
    /// Makes the lengths of `len` keys in runs of four on the average.
    pub fn new(len: usize) -> Self {
        Self(Keys::new(len))
    }

    /// Returns the lengths of the runs of other keys. `what` describes them.
    #[must_use]
    pub fn of(self, what: &str, make: Make<K>) -> Self {
        Self(self.0.of(what, make))
    }
}

impl<K: Key> Problem for Lengths<K> {
    type Input = Vector<K>;
    type Answer = Runs<K, u64>;
    type Truth = Runs<K, u64>;

    fn family(&self) -> &'static str {
        "segments"
    }

    fn name(&self) -> String {
        format!("run lengths of {}", self.0.name())
    }

    fn bytes(&self) -> usize {
        let size = size_of::<K>();
        self.0.len * size + self.0.len / 4 * (size + 8)
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<K>> {
        device.upload(&self.0.all(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        keys: &'a Vector<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Runs<K, u64>>> {
        let keys = keys.slice(self.0.part.range(self.0.len))?;
        let request = with_variant!(device.run_lengths_request(keys), variant);
        Ok(prepared!(request.prepare()?, |it| {
            let count = it.count()?;
            Ok(Runs {
                keys: it.keys()?.slice(..count)?.to_vec()?,
                values: it.output()?.slice(..count)?.to_vec()?,
            })
        }))
    }

    fn truth(&self, set: usize) -> Runs<K, u64> {
        let keys = self.0.here(set);
        let starts = Keys::starts(&keys);
        let runs = starts.windows(2);
        Runs {
            values: runs.clone().map(|run| (run[1] - run[0]) as u64).collect(),
            keys: runs.map(|run| keys[run[0]]).collect(),
        }
    }

    fn check(&self, truth: &Runs<K, u64>, answer: &Runs<K, u64>) -> Verdict {
        equal(&answer.keys.bits(), &truth.keys.bits())?;
        equal(&answer.values, &truth.values)
    }
}
