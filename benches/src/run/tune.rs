//! Policy rows as contenders in the benchmark's cases: the sweep of `cargo xtask tune`.
//!
//! Each row runs through the library's own operations, on a handle that uses its values and its kernels.

use std::rc::Rc;

use warpwright::Device;

use super::{Absent, Contender, Result, Rival, Spec};

/// All policy rows that have kernels: none without the feature `tuning`.
pub struct Tuning {
    rows: Vec<Row>,
}

/// A policy row for one element type.
#[derive(Clone)]
pub struct Row {
    /// The family.
    pub family: &'static str,
    /// The words of its key.
    pub words: Vec<&'static str>,
    /// Its values, and whether it is the chosen row.
    pub label: String,
    /// A handle that uses its values and its kernels.
    pub device: Device,
    /// Returns how many times its kernels were launched.
    pub launches: Rc<dyn Fn() -> u64>,
}

impl Tuning {
    /// Makes the rows of `family`, or of `all`, to run on `device`. `ptx` are the texts of their modules, the oldest
    /// architecture first; the CPU executor needs none.
    ///
    /// # Errors
    /// Returns an error if no module has one of their kernels.
    #[cfg(feature = "tuning")]
    pub fn new(device: &Device, ptx: &[String], family: &str) -> Result<Self> {
        let mut rows = Vec::new();
        for it in warpwright_gpu::tuning::candidates() {
            if !["all", it.family].contains(&family) {
                continue;
            }
            let architecture = device.table_architecture(it.family);
            let chosen = if it.is_chosen(architecture) {
                crate::record::CHOSEN
            } else {
                ""
            };
            let (family, words) = (it.family, it.key.split('_').collect());
            let label = format!("{}{chosen}", it.label);
            let candidate = std::sync::Arc::new(warpwright::Candidate::new(it, ptx)?);
            rows.push(Row {
                family,
                words,
                label,
                device: device.with_candidate(candidate.clone()),
                launches: Rc::new(move || candidate.launches()),
            });
        }
        Ok(Self { rows })
    }

    /// Returns the families that have rows.
    #[cfg(feature = "tuning")]
    pub fn families() -> Vec<&'static str> {
        let mut families: Vec<_> = warpwright_gpu::tuning::candidates()
            .into_iter()
            .map(|row| row.family)
            .collect();
        families.dedup();
        families
    }

    /// Returns the rows that can do a case: those whose key's words are all in the case's name.
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

/// The policy rows that take part in a case.
#[derive(Default)]
pub struct Candidates {
    rows: Vec<Row>,
}

impl Candidates {
    /// Returns the rows for a case, or none without a sweep.
    pub(super) fn of(tuning: Option<&Tuning>, spec: &Spec) -> Self {
        tuning.map_or_else(Self::default, |tuning| tuning.of(spec))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the contenders, each made by `make` on its row's handle.
    pub fn rivals<'a>(
        &self,
        make: impl Fn(&Device) -> Result<Box<dyn Contender + 'a>>,
    ) -> Vec<Rival<'a>> {
        let contender = |row: &Row| -> Result<Box<dyn Contender + 'a>, Absent> {
            Ok(Box::new(Watched {
                inner: make(&row.device)?,
                seen: (row.launches)(),
                launches: row.launches.clone(),
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

/// A contender that is right only if its row's kernels ran.
struct Watched<'a> {
    inner: Box<dyn Contender + 'a>,
    launches: Rc<dyn Fn() -> u64>,
    seen: u64,
}

impl Contender for Watched<'_> {
    fn enqueue(&mut self, set: usize) -> Result<()> {
        self.inner.enqueue(set)
    }

    fn check(&mut self, set: usize) -> Result<Result<(), String>> {
        let launches = (self.launches)();
        if launches == self.seen {
            return Ok(Err("the row's kernels did not run".to_owned()));
        }
        self.seen = launches;
        self.inner.check(set)
    }
}
