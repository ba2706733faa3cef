//! Checks every variant of every family against plain Rust, on a device.
//!
//! The problems and their oracles are those of [`warpwright_workloads`].

use warpwright::{Device, Error, Family};
use warpwright_workloads::{Scale, Workload, checks};

/// The results of one variant's checks.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The family.
    pub family: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// The number of checks that passed.
    pub passed: usize,
    /// The problems that the variant does not support, with its reasons.
    pub not_eligible: Vec<String>,
    /// The failed checks: what was computed, what was expected and what was found.
    pub failures: Vec<String>,
}

/// The reason why a check did not pass.
#[derive(Debug)]
pub enum Wrong {
    /// The library returned an error.
    Library(Error),
    /// The result is wrong.
    Result(String),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Library(error)
    }
}

/// The checks of a device: its families, variants and cases.
pub struct Verification {
    device: Device,
    parts: Vec<(&'static Family, Vec<&'static str>, Vec<Workload>)>,
}

impl Verification {
    /// Prepares the checks of these families, for all their variants or for the given one.
    pub fn new(device: &Device, families: &[&'static Family], variant: Option<&str>) -> Self {
        let scale = Scale::of(device);
        let part = |family: &&'static Family| {
            let names = family.variants.iter().map(|row| row.name);
            let wanted = names.filter(|name| variant.is_none_or(|variant| variant == *name));
            (*family, wanted.collect(), checks(family.name, scale))
        };
        Verification {
            device: device.clone(),
            parts: families.iter().map(part).collect(),
        }
    }

    /// Leaves out the large problems of a GPU, which would take hours under a sanitizer.
    #[must_use]
    pub fn small(mut self) -> Self {
        for (family, _, list) in &mut self.parts {
            *list = checks(family.name, Scale::Small);
        }
        self
    }

    /// Returns the checks one by one, variant after variant.
    pub fn checks(&self) -> impl Iterator<Item = Single<'_>> {
        self.parts.iter().flat_map(|(_, variants, workloads)| {
            variants.iter().flat_map(move |variant| {
                workloads
                    .iter()
                    .map(move |workload| Single { variant, workload })
            })
        })
    }

    /// Returns the number of checks.
    pub fn len(&self) -> usize {
        self.parts
            .iter()
            .map(|(_, variants, workloads)| variants.len() * workloads.len())
            .sum()
    }

    /// Returns whether there are no checks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs the checks, and calls `after` after each; passes one tally per variant to `tally`.
    ///
    /// A variant fails if it has no checks, or if it supports none of them.
    pub fn run(&self, mut after: impl FnMut(), mut tally: impl FnMut(Tally)) {
        for (family, variants, workloads) in &self.parts {
            for variant in variants {
                let mut result = Tally {
                    family: family.name,
                    variant,
                    passed: 0,
                    not_eligible: Vec::new(),
                    failures: Vec::new(),
                };
                for workload in workloads {
                    let single = Single { variant, workload };
                    result.note(&workload.name(), single.run(&self.device));
                    after();
                }
                if result.passed == 0 && result.failures.is_empty() {
                    result.failures.push("nothing was checked".to_owned());
                }
                tally(result);
            }
        }
    }
}

/// One check of one variant.
#[derive(Clone, Copy)]
pub struct Single<'a> {
    /// The variant.
    pub variant: &'static str,
    /// The workload of the check.
    pub workload: &'a Workload,
}

impl Single<'_> {
    /// Runs the check on a device, which need not be the one that it was made for.
    ///
    /// # Errors
    /// Returns the reason why it did not pass.
    pub fn run(&self, device: &Device) -> Result<(), Wrong> {
        let verdict = self.workload.check(device, self.variant)?;
        verdict.map_err(Wrong::Result)
    }
}

impl Tally {
    fn note(&mut self, case: &str, result: Result<(), Wrong>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(Wrong::Library(Error::NotEligible { reason, .. })) => {
                self.not_eligible.push(format!("{case}: {reason}"));
            }
            Err(Wrong::Library(error)) => self.failures.push(format!("{case}: {error}")),
            Err(Wrong::Result(text)) => self.failures.push(format!("{case}: {text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpwright::ops::calls::Calls;
    use warpwright_workloads::{Prepared, Problem, Verdict};

    use super::*;

    #[test]
    fn every_family_has_checks() {
        for family in warpwright::families() {
            let count = |scale| checks(family.name, scale).len();
            let (small, large) = (count(Scale::Small), count(Scale::Large));
            assert!(small > 0 && large > small, "{}", family.name);
        }
    }

    fn naive(workloads: Vec<Workload>) -> Tally {
        let mut families = warpwright::families().iter();
        let family = families.find(|it| it.name == "transpose").unwrap();
        let mut verification = Verification::new(&Device::cpu(), &[family], Some("naive"));
        verification.parts[0].2 = workloads;
        let mut tallies = Vec::new();
        verification.run(|| {}, |tally| tallies.push(tally));
        assert_eq!(tallies.len(), 1);
        tallies.remove(0)
    }

    #[test]
    fn a_variant_that_checks_nothing_has_failed() {
        assert_eq!(naive(Vec::new()).failures, ["nothing was checked"]);
    }

    /// A problem that ends in a given way.
    #[derive(Clone)]
    struct Ends(&'static str, Result<Verdict, Error>);

    impl Problem for Ends {
        type Input = ();
        type Answer = Vec<u8>;
        type Truth = ();

        fn family(&self) -> &'static str {
            "transpose"
        }

        fn name(&self) -> String {
            self.0.to_owned()
        }

        fn bytes(&self) -> usize {
            0
        }

        fn input(&self, _: &Device, _: usize) -> Result<(), Error> {
            Ok(())
        }

        fn prepare(
            &self,
            _: &Device,
            (): &(),
            _: Option<&str>,
        ) -> Result<Prepared<'_, Vec<u8>>, Error> {
            let _verdict = self.1.clone()?;
            let (none, kernels) = (|(): &()| 0, |(): &()| Vec::new());
            Ok(Prepared::new(
                (),
                none,
                kernels,
                |()| Ok(Calls::default()),
                |()| Ok(()),
                |()| Ok(Vec::new()),
            ))
        }

        fn truth(&self, _: usize) {}

        fn check(&self, (): &(), _: &Vec<u8>) -> Verdict {
            self.1.clone().unwrap()
        }
    }

    #[test]
    fn a_wrong_result_is_a_failure_and_a_refusal_is_counted() {
        let refused = Error::NotEligible {
            family: "transpose",
            variant: "naive",
            reason: "so".into(),
        };
        let tally = naive(vec![
            Workload::new(Ends("right", Ok(Ok(())))),
            Workload::new(Ends("wrong", Ok(Err("expected 2, found 1".to_owned())))),
            Workload::new(Ends("refused", Err(refused))),
        ]);
        assert_eq!(tally.passed, 1);
        assert_eq!(tally.failures, ["wrong: expected 2, found 1"]);
        assert_eq!(tally.not_eligible, ["refused: so"]);
    }
}
