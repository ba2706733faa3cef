//! Measures the library's cost beyond the driver: the first operation of a process, operations on one element, and graphs.

mod bare;
mod cases;
mod cold;
mod graphs;

use std::time::{Duration, Instant};

use warpwright::Device;

pub use self::cases::{Case, cases};
pub use self::cold::{COMMAND, child, starts};
pub use self::graphs::graphs;
use super::driver::Driver;
use super::{Result, Scale};
use crate::overhead::{Calls, Cold, Form};
use crate::record::Outcome;

/// The approximate duration of a sample.
const SAMPLE: Duration = Duration::from_millis(2);
/// The minimum and maximum number of operations in a sample.
const REPEATS: [f64; 2] = [16.0, 2048.0];

/// Times the operations on one element and the driver calls that they need, in turn. `report` is called after each.
///
/// # Errors
/// Returns an error if a case cannot be prepared. Later errors are in the case's row.
pub fn calls(device: &Device, scale: Scale, mut report: impl FnMut(&Calls)) -> Result<Vec<Calls>> {
    let driver = Driver::open()?;
    let samples = scale.pick(41, 11, 3);
    let mut rows = Vec::new();
    cases(device, &driver, |mut case| {
        for form in [Form::Prepared, Form::Once] {
            let row = of(&mut case, form, samples);
            report(&row);
            rows.push(row);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Measures the first operations of the families `wanted`, in separate processes. `report` is called after each.
pub fn first_operations(scale: Scale, wanted: &[&str], mut report: impl FnMut(&Cold)) -> Vec<Cold> {
    let processes = scale.pick(7, 3, 1);
    let rows = wanted.iter().map(|family| {
        let row = starts(family, processes);
        report(&row);
        row
    });
    rows.collect()
}

/// Measures one case in one form.
fn of(case: &mut Case<'_>, form: Form, samples: usize) -> Calls {
    let stopped = |outcome: Outcome| [outcome.clone(), outcome];
    let [ours, bare] = timed(case, form, samples).unwrap_or_else(stopped);
    Calls {
        family: case.family.to_owned(),
        work: case.work.clone(),
        form,
        ours,
        bare,
    }
}

/// Returns our times and those of the bare calls, after both answers were verified, or the outcome of both.
fn timed(case: &mut Case<'_>, form: Form, samples: usize) -> Result<[Outcome; 2], Outcome> {
    case.verify()?.map_err(Outcome::Wrong)?;
    let ours = |case: &mut Case<'_>| match form {
        Form::Prepared => case.again(),
        Form::Once => case.once().map(drop),
    };
    let bare = |case: &mut Case<'_>| match form {
        Form::Prepared => case.bare_again(),
        Form::Once => case.bare_once().map(drop),
    };
    let mut sample =
        |work: &dyn Fn(&mut Case<'_>) -> Result<()>, repeats| sample(|| work(case), repeats);
    // The first sample warms up, and shows how many operations make a sample.
    sample(&ours, 16)?;
    sample(&bare, 16)?;
    let one = sample(&ours, 64)?.max(1e-9);
    let [least, most] = REPEATS;
    let repeats = (SAMPLE.as_secs_f64() / one).clamp(least, most) as u32;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..samples {
        times[0].push(sample(&ours, repeats)?);
        times[1].push(sample(&bare, repeats)?);
    }
    Ok(times.map(|times| Outcome::of(&times, repeats)))
}

/// Returns the seconds of one of `repeats` operations.
fn sample(mut work: impl FnMut() -> Result<()>, repeats: u32) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..repeats {
        work()?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(repeats))
}
