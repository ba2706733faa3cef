//! A list of every row of every table, with its kernels.

use std::any::Any;

use cuda_std::kernel::KernelDescriptor;

use super::{Policy, row};
use crate::{
    columns, convolution, gemm, histogram, map, random, reduce, rows, scan, select, sort, transpose,
};

/// A row of a family's table, with its kernels for one element type.
#[derive(Debug)]
pub struct Candidate {
    /// The family's name.
    pub family: &'static str,
    /// The key of the kernels: words of the names of the benchmark's cases, such as `f32`, `sin` or `sum_f32`.
    pub key: &'static str,
    /// The row's position among the candidates of the table.
    pub row: usize,
    /// The row's values as text: `block: 256, resident: 8`.
    pub label: String,
    policy: Box<dyn Any + Send + Sync>,
    pairs: Vec<[&'static KernelDescriptor; 2]>,
    chosen: fn(u32, usize) -> usize,
}

impl Candidate {
    /// Returns the row's values, the family's [`Policy`], and pairs of the library's kernels and the kernels to launch in their
    /// place. The latter are made with these values and have the contracts of the library's.
    pub fn into_parts(
        self,
    ) -> (
        Box<dyn Any + Send + Sync>,
        Vec<[&'static KernelDescriptor; 2]>,
    ) {
        (self.policy, self.pairs)
    }

    /// Returns the bytes of an element of the kernels' type. Keys without a type are of `f32`.
    pub fn bytes(&self) -> usize {
        match self.key.rsplit('_').next() {
            Some("u8") => 1,
            Some("u16") => 2,
            Some("f64" | "u64") => 8,
            Some("u128") => 16,
            _ => 4,
        }
    }

    /// Returns whether this row is chosen for modules of an architecture.
    pub fn is_chosen(&self, architecture: u32) -> bool {
        (self.chosen)(architecture, self.bytes()) == self.row
    }
}

/// Returns all candidates, family by family.
pub fn candidates() -> Vec<Candidate> {
    let families = [
        of::<histogram::policy::Policy>(),
        of::<rows::policy::Policy>(),
        of::<map::policy::Policy>(),
        of::<convolution::policy::Policy>(),
        of::<random::policy::Policy>(),
        of::<sort::policy::Policy>(),
        of::<gemm::policy::Policy>(),
        of::<reduce::policy::Policy>(),
        of::<transpose::policy::Policy>(),
        of::<columns::policy::Policy>(),
        of::<scan::policy::Policy>(),
        of::<select::policy::Policy>(),
    ];
    families.into_iter().flatten().collect()
}

fn of<P: Policy>() -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for it in P::KERNELS.iter().copied().flatten() {
        let pair = [it.shipped, it.instance];
        let same = |other: &&mut Candidate| (other.key, other.row) == (it.key, it.row);
        if let Some(candidate) = all.iter_mut().find(same) {
            candidate.pairs.push(pair);
            continue;
        }
        let policy = P::CANDIDATES[it.row];
        all.push(Candidate {
            family: P::FAMILY,
            key: it.key,
            row: it.row,
            policy: Box::new(policy),
            label: label(&policy),
            pairs: vec![pair],
            chosen: |architecture, bytes| row(P::CHOICES, architecture, bytes),
        });
    }
    all
}

/// Returns a row's values as text: `block: 256, resident: 8` of `Policy { block: 256, resident: 8 }`.
fn label(policy: &impl std::fmt::Debug) -> String {
    let text = format!("{policy:?}");
    let fields = text.split_once('{').map_or("", |(_, fields)| fields);
    fields.trim_end_matches('}').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_numbers() {
        #[derive(Debug)]
        #[allow(dead_code)]
        struct Policy {
            block: usize,
            chunks: [usize; 2],
        }
        let policy = Policy {
            block: 256,
            chunks: [1, 2],
        };
        assert_eq!(label(&policy), "block: 256, chunks: [1, 2]");
    }
}
