//! The workloads that run with mutations: the checks of `warpwright verify --quick`, variant by variant, and the unchanged
//! kernels of the planted defects, which have fences, masks and asynchronous copies that no family has yet.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_std::cpu::{Checks, LaunchError, Options, Order};
use defects::DEFECTS;
use defects::harness::launch_on_cpu;
use warpwright::{CpuOptions, Device, Error};
use warpwright_cli::verify::{Single, Verification, Wrong};

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The result was right.
    Right,
    /// The variant does not support the case.
    Cannot,
    /// The result was wrong, or there was an error other than a fault of a lane.
    Wrong(String),
    /// There was a fault: the check that found it, or `always`, and its message.
    Fault(String, String),
}

/// One case of a workload.
pub struct Case<'a> {
    /// The description of the case.
    pub name: String,
    run: Box<dyn Fn(Options) -> Outcome + 'a>,
}

/// A variant, or a kernel, with its cases.
pub struct Workload<'a> {
    /// The family and the variant, or the kernel.
    pub name: String,
    /// The cases of the workload.
    pub cases: Vec<Case<'a>>,
}

/// The data that the workloads borrow from.
pub struct Source {
    verification: Verification,
    kernels: bool,
}

impl Case<'_> {
    /// Runs the case. A panic of the host also counts as a wrong result.
    pub fn run(&self, order: Order, checks: Checks) -> Outcome {
        let run = || {
            (self.run)(Options {
                order,
                checks,
                ..Options::default()
            })
        };
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Outcome::Wrong("a panic of the host".to_owned()))
    }
}

impl Source {
    /// Makes the workloads of the named families, and of the planted defects' kernels if `defects` is named; all of them
    /// without a name.
    ///
    /// # Errors
    /// Returns an error for an unknown name.
    pub fn new(names: &[String]) -> Result<Self, String> {
        let known = |name: &String| {
            name == DEFECTS_NAME || warpwright::families().iter().any(|f| f.name == name)
        };
        if let Some(name) = names.iter().find(|name| !known(name)) {
            return Err(format!(
                "a family or `{DEFECTS_NAME}` required, given `{name}`"
            ));
        }
        let wanted = |name: &str| names.is_empty() || names.iter().any(|given| given == name);
        let families: Vec<_> = warpwright::families()
            .iter()
            .filter(|family| wanted(family.name))
            .collect();
        Ok(Self {
            verification: Verification::new(&Device::cpu(), &families, None).small(),
            kernels: wanted(DEFECTS_NAME),
        })
    }

    /// Returns the workloads, in the same order every time.
    ///
    /// # Panics
    /// Panics if an unchanged kernel of a planted defect faults.
    pub fn workloads(&self) -> Vec<Workload<'_>> {
        let mut all: Vec<Workload<'_>> = Vec::new();
        for single in self.verification.checks() {
            let name = format!("{} {}", single.workload.family(), single.variant);
            let case = Case {
                name: single.workload.name(),
                run: Box::new(move |options| verified(single, options)),
            };
            match all.last_mut() {
                Some(last) if last.name == name => last.cases.push(case),
                _ => all.push(Workload {
                    name,
                    cases: vec![case],
                }),
            }
        }
        if self.kernels {
            // Several defects are made from one kernel.
            let first = |defect: &&defects::Defect| {
                let of = |other: &defects::Defect| (other.kernels[0].name, other.shape);
                let mut all = DEFECTS.iter();
                all.find(|other| of(other) == of(defect))
                    .is_some_and(|found| found.name == defect.name)
            };
            all.extend(DEFECTS.iter().filter(first).map(unchanged));
        }
        all
    }
}

/// The name of the planted defects' kernels.
pub const DEFECTS_NAME: &str = "defects";

fn verified(single: Single<'_>, options: Options) -> Outcome {
    let chosen = CpuOptions::default()
        .checks(options.checks)
        .order(options.order);
    match single.run(&Device::cpu_with(chosen)) {
        Ok(()) => Outcome::Right,
        Err(Wrong::Library(Error::NotEligible { .. })) => Outcome::Cannot,
        Err(Wrong::Library(Error::Launch(error))) => stopped(&error),
        Err(Wrong::Library(error)) => Outcome::Wrong(error.to_string()),
        Err(Wrong::Result(text)) => Outcome::Wrong(text),
    }
}

fn stopped(error: &LaunchError) -> Outcome {
    match error {
        LaunchError::Fault(fault) => {
            let check = fault.kind.check();
            let check = check.map_or_else(|| "always".to_owned(), |check| check.to_string());
            Outcome::Fault(check, fault.to_string())
        }
        error => Outcome::Wrong(error.to_string()),
    }
}

/// Makes the workload of the unchanged kernel of a planted defect. Its result with checks must be the one without.
fn unchanged<'a>(defect: &'static defects::Defect) -> Workload<'a> {
    let launch = |options| launch_on_cpu(defect, false, options);
    let plain = Options {
        order: Order::Forward,
        checks: Checks::NONE,
        ..Options::default()
    };
    let expected = launch(plain).unwrap_or_else(|error| panic!("{}: {error}", defect.name));
    let run = move |options| match launch(options) {
        Ok(found) if found == expected => Outcome::Right,
        Ok(found) => {
            let at = found.iter().zip(&expected).position(|(a, b)| a != b);
            Outcome::Wrong(format!("another result at {}", at.unwrap_or(0)))
        }
        Err(error) => stopped(&error),
    };
    Workload {
        name: format!("{DEFECTS_NAME} {}", defect.name),
        cases: vec![Case {
            name: "its launch".to_owned(),
            run: Box::new(run),
        }],
    }
}
