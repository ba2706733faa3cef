//! The element at one position of the sorted order.

use half::{bf16, f16};
use warpwright::{Device, Result, Vector};

use super::with_nans;
use crate::sample::{Make, Part};
use crate::sort::{Key, few_keys};
use crate::{Bits, Prepared, Problem, Scale, Verdict, Workload, equal, prepared, with_variant};

/// Lengths and positions.
const SIZES: [(usize, usize); 7] = [
    (1, 0),
    (2, 1),
    (257, 128),
    (1000, 0),
    (1000, 999),
    (20_011, 10_000),
    (70_001, 69_000),
];

/// The same for a GPU.
const LARGE: [(usize, usize); 3] = [
    (300_001, 1),
    (5_000_011, 2_500_005),
    (1 << 24, (1 << 24) - 1),
];

/// The element at position `k` of the sorted order.
#[derive(Clone)]
pub struct Kth<K> {
    len: usize,
    k: usize,
    part: Part,
    what: &'static str,
    make: Make<K>,
}

impl<K: Key> Kth<K> {
    /// Makes the problem of values of every kind.
    pub fn new(len: usize, k: usize) -> Self {
        Self {
            len,
            k,
            part: Part::WHOLE,
            what: "any",
            make: with_nans(),
        }
    }

    /// Makes the problem of the median.
    pub fn median(len: usize) -> Self {
        Self::new(len, len.saturating_sub(1) / 2)
    }

    /// Returns the same problem of other values. `what` describes them.
    #[must_use]
    pub fn of(self, what: &'static str, make: Make<K>) -> Self {
        Self { what, make, ..self }
    }

    fn values(&self, set: usize) -> Vec<K> {
        self.make.values(self.part.total(self.len), 24, set)
    }
}

impl<K: Key> Problem for Kth<K> {
    type Input = Vector<K>;
    type Answer = Vec<K>;
    type Truth = Vec<K>;

    fn family(&self) -> &'static str {
        "top_k"
    }

    fn name(&self) -> String {
        let elements = self.part.name("elements", self.len);
        format!(
            "number {} of {elements} {} {}, sorted",
            self.k,
            self.what,
            K::NAME
        )
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<K>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<K>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<K>>> {
        let values = input.slice(self.part.range(self.len))?;
        let request = with_variant!(device.select_kth_request(values, self.k), variant);
        Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()))
    }

    fn excludes(&self, variant: &str) -> bool {
        variant == "two_level"
    }

    fn truth(&self, set: usize) -> Vec<K> {
        let mut values = self.part.of(self.values(set), self.len, 1);
        let (_, element, _) = values.select_nth_unstable_by_key(self.k, |value| value.rank());
        vec![*element]
    }

    fn check(&self, truth: &Vec<K>, answer: &Vec<K>) -> Verdict {
        equal(&answer.bits(), &truth.bits())
    }
}

/// Returns the problems that the variants are checked with.
pub(super) fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for (len, k) in scale.all(&SIZES, &LARGE) {
        all.push(Workload::new(Kth::<f32>::new(len, k)));
        all.push(Workload::new(Kth::<u64>::new(len, k)));
    }
    of_type::<u8>(&mut all);
    of_type::<u16>(&mut all);
    of_type::<u32>(&mut all);
    of_type::<i8>(&mut all);
    of_type::<i16>(&mut all);
    of_type::<i32>(&mut all);
    of_type::<i64>(&mut all);
    of_type::<f16>(&mut all);
    of_type::<bf16>(&mut all);
    of_type::<f32>(&mut all);
    of_type::<f64>(&mut all);
    all
}

fn of_type<K: Key>(all: &mut Vec<Workload>) {
    // The first element is not aligned for wide loads.
    let part = Part([3, 2]);
    let (what, make) = ("few", few_keys());
    let median = Kth::<K>::median(3001);
    all.push(Workload::new(Kth {
        part,
        ..median.clone()
    }));
    all.push(Workload::new(Kth {
        what,
        make,
        ..median
    }));
}

pub(super) fn operations() -> Vec<Workload> {
    vec![Workload::new(Kth::<f32>::median(3000))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let make = Make::given([2.0_f32, f32::NAN, -0.0, 0.0, -f32::NAN, 2.0]);
        let at = |k| {
            Kth {
                make: make.clone(),
                ..Kth::new(6, k)
            }
            .truth(0)[0]
        };
        assert!(at(0).is_nan() && at(0).is_sign_negative());
        assert_eq!(
            [at(1), at(2), at(3), at(4)].map(f32::to_bits),
            [-0.0_f32, 0.0, 2.0, 2.0].map(f32::to_bits)
        );
        assert!(at(5).is_nan());
    }
}
