//! Rows of the tables of tuning as contenders in the benchmark's cases: the sweep of `cargo xtask tune`.
//!
//! Each runs through the library's own operations, on a handle that takes its numbers and its kernels.

use std::fmt::Debug;
use std::sync::Arc;

use warpwright::{Candidate, Device};
use warpwright_gpu::tuning::{Policy, row};
use warpwright_tune as kernels;

use super::{Absent, Contender, Result, Rival, Spec};
use crate::record::CHOSEN;

/// All rows that there are kernels for.
pub struct Tuning {
    rows: Vec<Row>,
}

/// A row, for one kind of element.
#[derive(Clone)]
struct Row {
    family: &'static str,
    /// The words of its key.
    words: Vec<&'static str>,
    label: String,
    device: Device,
    candidate: Arc<Candidate>,
}

impl Tuning {
    /// The rows, to be run on `device`. `ptx` is the text of their module; on the CPU executor none is needed.
    ///
    /// # Errors
    /// If the module does not have their kernels.
    pub fn new(device: &Device, ptx: Option<&str>) -> Result<Self> {
        let mut all = Self { rows: Vec::new() };
        macro_rules! add {
            ($family:ident) => {
                all.add(device, ptx, kernels::$family::candidates())?
            };
        }
        kernels::for_each_family!(add);
        Ok(all)
    }

    fn add<P: Policy>(
        &mut self,
        device: &Device,
        ptx: Option<&str>,
        candidates: Vec<kernels::Candidate<P>>,
    ) -> Result<()> {
        for it in candidates {
            let architecture = device.table_architecture(P::FAMILY);
            let chosen = row(P::CHOICES, architecture, it.bytes()) == it.row;
            let label = format!("{}{}", label(&it.policy), if chosen { CHOSEN } else { "" });
            // SAFETY: the kernels are made for this row, with the contracts of those that they replace.
            let candidate = Arc::new(unsafe { Candidate::new(it.policy, &it.pairs, ptx)? });
            self.rows.push(Row {
                family: P::FAMILY,
                words: it.words().collect(),
                label,
                device: device.with_candidate(candidate.clone()),
                candidate,
            });
        }
        Ok(())
    }

    /// The families that have rows.
    pub fn families(&self) -> Vec<&'static str> {
        let mut families: Vec<_> = self.rows.iter().map(|row| row.family).collect();
        families.dedup();
        families
    }

    /// The rows that can do a case: the words of their key are in its name.
    fn of(&self, spec: &Spec) -> Candidates {
        let words: Vec<&str> = spec.work.split([' ', ',']).collect();
        let fits = |row: &&Row| {
            row.family == spec.family && row.words.iter().all(|word| words.contains(word))
        };
        Candidates {
            rows: self.rows.iter().filter(fits).cloned().collect(),
        }
    }
}

/// The rows that take part in a case.
#[derive(Default)]
pub struct Candidates {
    rows: Vec<Row>,
}

impl Candidates {
    /// Those for a case; without a sweep none.
    pub(super) fn of(tuning: Option<&Tuning>, spec: &Spec) -> Self {
        tuning.map_or_else(Self::default, |tuning| tuning.of(spec))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The contenders, each made by `make` on its row's handle.
    pub fn rivals<'a>(
        &self,
        make: impl Fn(&Device) -> Result<Box<dyn Contender + 'a>>,
    ) -> Vec<Rival<'a>> {
        let contender = |row: &Row| -> Result<Box<dyn Contender + 'a>, Absent> {
            Ok(Box::new(Watched {
                inner: make(&row.device)?,
                seen: row.candidate.launches(),
                candidate: row.candidate.clone(),
            }))
        };
        let rivals = self.rows.iter().map(|row| Rival {
            name: row.label.clone().into(),
            ratio_aim: None,
            way: None,
            contender: contender(row),
        });
        rivals.collect()
    }
}

/// A contender that is right only if its row's kernels have run.
struct Watched<'a> {
    inner: Box<dyn Contender + 'a>,
    candidate: Arc<Candidate>,
    seen: u64,
}

impl Contender for Watched<'_> {
    fn enqueue(&mut self, set: usize) -> Result<()> {
        self.inner.enqueue(set)
    }

    fn check(&mut self, set: usize) -> Result<Result<(), String>> {
        let launches = self.candidate.launches();
        if launches == self.seen {
            return Ok(Err("the row's kernels did not run".to_owned()));
        }
        self.seen = launches;
        self.inner.check(set)
    }
}

/// A row's numbers: `block: 256, resident: 8` of `Policy { block: 256, resident: 8 }`.
fn label(policy: &impl Debug) -> String {
    let text = format!("{policy:?}");
    let fields = text.split_once('{').map_or("", |(_, fields)| fields);
    fields.trim_end_matches('}').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_table_has_kernels_and_one_of_each_kind_is_chosen() {
        fn check<P: Policy>(candidates: Vec<kernels::Candidate<P>>) {
            let all: Vec<usize> = candidates.iter().map(|it| it.row).collect();
            for (position, policy) in P::CANDIDATES.iter().enumerate() {
                assert!(all.contains(&position), "{}: row {position}", P::FAMILY);
                let same = P::CANDIDATES.iter().filter(|other| *other == policy);
                assert_eq!(same.count(), 1, "{}: {policy:?} twice", P::FAMILY);
            }
            for it in &candidates {
                assert_eq!(it.policy, P::CANDIDATES[it.row]);
                for [own, other] in &it.pairs {
                    assert!(
                        other.name.ends_with(&format!("_{}", it.row)),
                        "{}",
                        other.name
                    );
                    assert_eq!(own.raw_params(), other.raw_params(), "{}", other.name);
                }
                let of_key = candidates.iter().filter(|other| other.key == it.key);
                let chosen = of_key.filter(|other| row(P::CHOICES, 75, other.bytes()) == other.row);
                assert_eq!(chosen.count(), 1, "{} {}", P::FAMILY, it.key);
            }
        }
        macro_rules! each {
            ($family:ident) => {
                check(kernels::$family::candidates())
            };
        }
        kernels::for_each_family!(each);
    }

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
