//! Every variant of every family against plain Rust, on a device.
//!
//! The oracles are loops over the values in `f64` or in integers, written without a look at the kernels. The
//! data is chosen so that results are exact wherever an operation can be; where it rounds, the
//! comparison is `error <= bound`, which a NaN fails.

mod axis;
mod convolution;
mod gemm;
mod histogram;
mod map;
pub(crate) mod random;
mod reduce;
mod transpose;

use std::fmt::Debug;

use warpwright::ops::axis::Axis;
use warpwright::{Device, DeviceKind, Error, Family};

pub use convolution::{Sample, convolved};
pub(crate) use map::wave;

/// What one variant did.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The family.
    pub family: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// How many checks it passed.
    pub passed: usize,
    /// Problems that it said it cannot do, with its reasons.
    pub not_eligible: Vec<String>,
    /// The checks it failed: what was computed, what was expected and what came out.
    pub failures: Vec<String>,
}

/// One check of a variant.
pub(crate) struct Case {
    /// What is computed, such as `sum of 33 f32`.
    name: String,
    check: Check,
}

/// Does a check with a variant on a device.
type Check = Box<dyn Fn(&Device, &str) -> Result<(), Wrong>>;

/// Why a check did not pass.
#[derive(Debug)]
pub enum Wrong {
    /// The library refused or failed.
    Library(Error),
    /// The result is not the expected one.
    Result(String),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Library(error)
    }
}

impl Case {
    fn new(name: String, check: impl Fn(&Device, &str) -> Result<(), Wrong> + 'static) -> Self {
        Case {
            name,
            check: Box::new(check),
        }
    }
}

/// The result of a comparison of two values that must be equal.
fn equal<T: PartialEq + Debug>(found: T, expected: T) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::Result(format!(
        "expected {expected:?}, found {found:?}"
    )))
}

/// The result of a comparison element by element.
fn all_equal<T: PartialEq + Debug>(found: &[T], expected: &[T]) -> Result<(), Wrong> {
    if found.len() != expected.len() {
        let (found, expected) = (found.len(), expected.len());
        return Err(Wrong::Result(format!(
            "expected {expected} elements, found {found}"
        )));
    }
    let mut pairs = found.iter().zip(expected).enumerate();
    match pairs.find(|(_, (found, expected))| found != expected) {
        None => Ok(()),
        Some((index, (found, expected))) => Err(Wrong::Result(format!(
            "at {index}: expected {expected:?}, found {found:?}"
        ))),
    }
}

/// How large the problems are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// For the CPU executor, which runs lanes one by one.
    Small,
    /// For a GPU: the small problems and larger ones.
    Large,
}

fn cases(family: &str, scale: Scale) -> Vec<Case> {
    match family {
        "transpose" => transpose::cases(scale),
        "reduce" => reduce::cases(scale),
        "columns" => axis::cases(Axis::Columns, scale),
        "rows" => axis::cases(Axis::Rows, scale),
        "histogram" => histogram::cases(scale),
        "gemm" => gemm::cases(scale),
        "convolution" => convolution::cases(scale),
        "map" => map::cases(scale),
        "random" => random::cases(scale),
        _ => Vec::new(),
    }
}

/// A check of a whole device: its families, variants and cases.
pub struct Verification {
    device: Device,
    parts: Vec<(&'static Family, Vec<&'static str>, Vec<Case>)>,
}

impl Verification {
    /// Prepares the checks of these families, of all their variants or of the one that is named.
    pub fn new(device: &Device, families: &[&'static Family], variant: Option<&str>) -> Self {
        let scale = if device.kind() == DeviceKind::Cpu {
            Scale::Small
        } else {
            Scale::Large
        };
        let part = |family: &&'static Family| {
            let names = family.variants.iter().map(|row| row.name);
            let wanted = names.filter(|name| variant.is_none_or(|variant| variant == *name));
            (*family, wanted.collect(), cases(family.name, scale))
        };
        Verification {
            device: device.clone(),
            parts: families.iter().map(part).collect(),
        }
    }

    /// Leaves out the large problems of a GPU: under a sanitizer they would take hours.
    #[must_use]
    pub fn small(mut self) -> Self {
        for (family, _, list) in &mut self.parts {
            *list = cases(family.name, Scale::Small);
        }
        self
    }

    /// The checks one by one, variant after variant.
    pub fn checks(&self) -> impl Iterator<Item = Single<'_>> {
        self.parts.iter().flat_map(|(family, variants, cases)| {
            let family = family.name;
            variants.iter().flat_map(move |variant| {
                cases.iter().map(move |case| Single {
                    family,
                    variant,
                    case,
                })
            })
        })
    }

    /// The number of checks.
    pub fn len(&self) -> usize {
        self.parts
            .iter()
            .map(|(_, variants, cases)| variants.len() * cases.len())
            .sum()
    }

    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does the checks, and calls `after` after each; gives one tally per variant to `tally`.
    ///
    /// A variant without a check, or whose every check was one that it cannot do, has failed.
    pub fn run(&self, mut after: impl FnMut(), mut tally: impl FnMut(Tally)) {
        for (family, variants, cases) in &self.parts {
            for variant in variants {
                let mut result = Tally {
                    family: family.name,
                    variant,
                    passed: 0,
                    not_eligible: Vec::new(),
                    failures: Vec::new(),
                };
                for case in cases {
                    result.note(&case.name, (case.check)(&self.device, variant));
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
    /// The family.
    pub family: &'static str,
    /// The variant.
    pub variant: &'static str,
    case: &'a Case,
}

impl Single<'_> {
    /// What is computed.
    pub fn name(&self) -> &str {
        &self.case.name
    }

    /// Does the check on a device, which need not be the one that it was made for.
    ///
    /// # Errors
    /// Why it did not pass.
    pub fn run(&self, device: &Device) -> Result<(), Wrong> {
        (self.case.check)(device, self.variant)
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
    use super::*;

    #[test]
    fn every_family_has_cases() {
        for family in warpwright::families() {
            assert!(
                !cases(family.name, Scale::Small).is_empty(),
                "{}",
                family.name
            );
            let (small, large) = (
                cases(family.name, Scale::Small).len(),
                cases(family.name, Scale::Large).len(),
            );
            assert!(large > small, "{}", family.name);
        }
    }

    #[test]
    fn wrong_results_are_noticed() {
        assert!(equal(1, 1).is_ok());
        assert!(equal(1, 2).is_err());
        assert!(equal(f32::NAN, f32::NAN).is_err());
        assert!(all_equal(&[1, 2], &[1, 2]).is_ok());
        assert!(all_equal(&[1, 2], &[1, 3]).is_err());
        assert!(all_equal(&[1, 2], &[1]).is_err());
    }

    #[test]
    fn a_variant_that_checks_nothing_has_failed() {
        let family = warpwright::families()
            .iter()
            .find(|f| f.name == "transpose")
            .unwrap();
        let mut verification = Verification::new(&Device::cpu(), &[family], Some("naive"));
        verification.parts[0].2.clear();
        let mut failed = 0;
        verification.run(|| {}, |tally| failed += tally.failures.len());
        assert_eq!(failed, 1);
    }

    #[test]
    fn a_wrong_case_is_a_failure_and_a_refused_one_is_counted() {
        let family = warpwright::families()
            .iter()
            .find(|f| f.name == "transpose")
            .unwrap();
        let mut verification = Verification::new(&Device::cpu(), &[family], Some("naive"));
        let refused = Error::NotEligible {
            family: "transpose",
            variant: "naive",
            reason: "so".into(),
        };
        verification.parts[0].2 = vec![
            Case::new("right".to_owned(), |_, _| Ok(())),
            Case::new("wrong".to_owned(), |_, _| equal(1, 2)),
            Case::new("refused".to_owned(), move |_, _| {
                Err(Wrong::Library(refused.clone()))
            }),
        ];
        let mut tallies = Vec::new();
        verification.run(|| {}, |tally| tallies.push(tally));
        assert_eq!(tallies.len(), 1);
        assert_eq!(tallies[0].passed, 1);
        assert_eq!(tallies[0].failures, ["wrong: expected 2, found 1"]);
        assert_eq!(tallies[0].not_eligible, ["refused: so"]);
    }
}
