//! Cumulative sums of a wider type than the elements: held to the oracle of a scan, whose sums have any width.

use std::marker::PhantomData;

use half::{bf16, f16};
use warpwright::ops::scan::{Operator, Scannable, Widen};
use warpwright::{Device, Result, Vector};

use super::{Data, Scan, with_options};
use crate::sample::{Make, Part};
use crate::{Number, Prepared, Problem, Scale, Verdict, Workload};

/// Lengths around a row of a warp, and around one and several tiles of 16 KiB of each element size.
const LENGTHS: [usize; 11] = [0, 1, 3, 127, 129, 4096, 4097, 8191, 16_384, 16_385, 70_001];
const LARGE: [usize; 3] = [1 << 20, (1 << 24) + 1, 1 << 26];

/// The cumulative sums, as `Out`, of a scan's elements.
#[derive(Clone)]
pub struct Wide<T, Out> {
    scan: Scan<T>,
    out: PhantomData<Out>,
}

impl<T: Number, Out: Number> Wide<T, Out> {
    /// Makes the sums of `len` elements.
    pub fn new(len: usize, data: Data) -> Self {
        Self::of(Scan::new(Operator::Sum, len, data))
    }

    /// Makes the wide sums in the place of those of `scan`.
    fn of(scan: Scan<T>) -> Self {
        let out = PhantomData;
        Self { scan, out }
    }

    /// Returns the initial value, if there is one.
    fn initial(&self) -> Option<Out> {
        let values = || Make::hashed(Out::whole).values(1, 14, 0);
        self.scan.initial.then(|| values()[0])
    }
}

impl<T: Number + Scannable + Widen<Out>, Out: Number> Problem for Wide<T, Out> {
    type Input = Vector<T>;
    type Answer = Vec<Out>;
    type Truth = Vec<T>;

    fn family(&self) -> &'static str {
        "scan"
    }

    fn name(&self) -> String {
        format!("{} to {}", self.scan.name(), Out::NAME)
    }

    fn bytes(&self) -> usize {
        self.scan.len * (size_of::<T>() + size_of::<Out>())
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<T>> {
        self.scan.input(device, set)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<Out>>> {
        let values = input.slice(self.scan.part.range(self.scan.len))?;
        let request = device.cumulative_sum_wide_request(values);
        with_options!(self.scan, self.initial(), request, variant)
    }

    fn excludes(&self, variant: &str) -> bool {
        variant != "best"
    }

    fn truth(&self, set: usize) -> Vec<T> {
        self.scan.truth(set)
    }

    fn check(&self, truth: &Vec<T>, answer: &Vec<Out>) -> Verdict {
        self.scan.results(self.initial(), truth, answer)
    }
}

/// Returns the problems that the variants are checked with.
pub(super) fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_types::<u8, u32>(&mut all, scale);
    of_types::<u8, u64>(&mut all, scale);
    of_types::<u16, u32>(&mut all, scale);
    of_types::<u16, u64>(&mut all, scale);
    of_types::<u32, u64>(&mut all, scale);
    of_types::<i32, i64>(&mut all, scale);
    of_types::<f16, f32>(&mut all, scale);
    of_types::<bf16, f32>(&mut all, scale);
    all
}

fn of_types<T: Number + Scannable + Widen<Out>, Out: Number>(
    all: &mut Vec<Workload>,
    scale: Scale,
) {
    let mut add = |scan: Scan<T>| all.push(Workload::new(Wide::<T, Out>::of(scan)));
    let sums = |len| Scan::new(Operator::Sum, len, Data::Exact);
    for len in scale.all(&LENGTHS, &LARGE) {
        add(sums(len));
    }
    for len in scale.all(&[1, 20_011], &LARGE[1..2]) {
        add(sums(len).exclusive());
    }
    // The first element is not aligned for wide loads.
    add(Scan {
        part: Part([1, 2]),
        ..sums(19_998)
    });
    let rounded = Data::Fractions(usize::MAX);
    add(Scan::new(Operator::Sum, 20_011, rounded));
}

pub(super) fn operations() -> Vec<Workload> {
    let rounded = Data::Fractions(usize::MAX);
    vec![
        Workload::new(Wide::<u8, u32>::new(40_001, Data::Exact)),
        Workload::new(Wide::<bf16, f32>::new(20_001, rounded)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_wrap_in_the_type_of_the_results() {
        let bytes = Wide::<u8, u32>::new(3, Data::Exact);
        let given = vec![200, 100, 1];
        assert_eq!(bytes.check(&given, &vec![200, 300, 301]), Ok(()));
        assert!(bytes.check(&given, &vec![200, 44, 45]).is_err());
        assert!(bytes.check(&given, &vec![200, 300]).is_err());
        let signed = Wide::<i32, i64>::new(2, Data::Exact);
        let given = vec![i32::MIN, -1];
        let sums = vec![i64::from(i32::MIN), i64::from(i32::MIN) - 1];
        assert_eq!(signed.check(&given, &sums), Ok(()));
        assert!(
            signed
                .check(&given, &vec![sums[0], sums[1] & 0xffff_ffff])
                .is_err()
        );
        let words = Wide::<u32, u64>::new(2, Data::Exact);
        assert!(
            words
                .check(&vec![u32::MAX, 1], &vec![u32::MAX.into(), 0])
                .is_err()
        );
    }
}
