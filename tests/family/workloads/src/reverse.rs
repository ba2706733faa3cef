//! The reversal: exact.

use warpwright::{Device, Result, Vector};

use crate::sample::Make;
use crate::{Family, Prepared, Problem, Verdict, Workload, equal, prepared, with_variant};

/// The reversal of a vector.
#[derive(Clone)]
pub struct Reversal {
    len: usize,
}

impl Reversal {
    fn values(&self, set: usize) -> Vec<u32> {
        Make::hashed(|hash| hash as u32).values(self.len, 41, set)
    }
}

impl Problem for Reversal {
    type Input = Vector<u32>;
    type Answer = Vec<u32>;
    type Truth = Vec<u32>;

    fn family(&self) -> &'static str {
        "reverse"
    }

    fn name(&self) -> String {
        format!("reversal of {} u32", self.len)
    }

    fn bytes(&self) -> usize {
        2 * self.len * size_of::<u32>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<u32>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<u32>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<u32>>> {
        let request = with_variant!(device.reverse_request(input), variant);
        Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()))
    }

    fn truth(&self, set: usize) -> Vec<u32> {
        self.values(set).into_iter().rev().collect()
    }

    fn check(&self, truth: &Vec<u32>, answer: &Vec<u32>) -> Verdict {
        equal(answer, truth)
    }
}

/// The family `reverse`.
pub const FAMILY: Family = Family {
    name: "reverse",
    checks: |scale| lengths(scale.pick(3001, 300_001)),
    timings: |size| vec![of(size)],
    sizes: [16, 28],
    few: of,
    operations: || vec![of(5003)],
    same_everywhere: true,
};

fn of(len: usize) -> Workload {
    Workload::new(Reversal { len })
}

/// Returns the problems of lengths around a block's, and of one more.
fn lengths(more: usize) -> Vec<Workload> {
    [0, 1, 255, 256, 257, more].map(of).into()
}
