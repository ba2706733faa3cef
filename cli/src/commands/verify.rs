//! `warpwright verify`

use std::time::Instant;

use serde::Serialize;
use warpwright_cli::error::{Error, Result};
use warpwright_cli::progress;
use warpwright_cli::verify::{Tally, Verification};

use super::{check_variant, families, open};
use crate::args::{Global, Verify};
use crate::report::{self, Answer};

/// How many of a variant's failures are shown.
const SHOWN: usize = 5;

/// All tallies in JSON.
#[derive(Serialize)]
struct Total {
    passed: usize,
    not_eligible: usize,
    failed: usize,
    variants: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    family: &'static str,
    variant: &'static str,
    passed: usize,
    not_eligible: usize,
    failures: Vec<String>,
}

/// Checks variants against plain Rust; fails if any check does.
pub fn run(global: &Global, options: &Verify) -> Result<()> {
    let families = families(options.family.as_deref())?;
    check_variant(&families, global.variant.as_deref())?;
    let device = open(global.device)?;
    let start = Instant::now();
    let mut verification = Verification::new(&device, &families, global.variant.as_deref());
    if options.quick {
        verification = verification.small();
    }
    let bar = progress::steps("checking", verification.len() as u64);
    let mut total = Total {
        passed: 0,
        not_eligible: 0,
        failed: 0,
        variants: Vec::new(),
    };
    let mut printed = Ok(());
    verification.run(
        || bar.inc(1),
        |tally| {
            if !global.json && printed.is_ok() {
                printed = bar.suspend(|| report::print(|out| writeln!(out, "{}", line(&tally))));
            }
            total.add(tally, |text| bar.suspend(|| report::note(text)));
        },
    );
    bar.finish_and_clear();
    printed?;
    let seconds = start.elapsed();
    let (passed, failed) = (total.passed, total.failed);
    if global.json {
        report::json(&Answer {
            value: Some(total),
            device: Some(device.kind().to_string()),
            seconds: Some(seconds.as_secs_f64()),
            ..Answer::default()
        })?;
    } else {
        report::print(|out| {
            writeln!(
                out,
                "{passed} checks passed, {failed} failed on {} in {}",
                device.kind(),
                report::duration(seconds)
            )
        })?;
    }
    if failed > 0 {
        return Err(Error::failed(format!(
            "verify: {failed} checks failed on {}: see the lines above",
            device.kind()
        )));
    }
    Ok(())
}

impl Total {
    fn add(&mut self, tally: Tally, remark: impl Fn(&str)) {
        let name = format!("{} {}", tally.family, tally.variant);
        tally
            .failures
            .iter()
            .take(SHOWN)
            .for_each(|text| remark(&format!("{name}: {text}")));
        if tally.failures.len() > SHOWN {
            remark(&format!(
                "{name}: and {} more",
                tally.failures.len() - SHOWN
            ));
        }
        self.passed += tally.passed;
        self.not_eligible += tally.not_eligible.len();
        self.failed += tally.failures.len();
        self.variants.push(Row {
            family: tally.family,
            variant: tally.variant,
            passed: tally.passed,
            not_eligible: tally.not_eligible.len(),
            failures: tally.failures,
        });
    }
}

/// `reduce     sequential              ok      817 checks`
fn line(tally: &Tally) -> String {
    let state = if tally.failures.is_empty() {
        "ok"
    } else {
        "FAILED"
    };
    let mut line = format!(
        "{:<10} {:<24} {state:<7} {} passed",
        tally.family, tally.variant, tally.passed
    );
    if !tally.failures.is_empty() {
        line.push_str(&format!(", {} failed", tally.failures.len()));
    }
    if !tally.not_eligible.is_empty() {
        line.push_str(&format!(", {} that it cannot do", tally.not_eligible.len()));
    }
    line
}
