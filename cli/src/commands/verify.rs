//! `warpwright verify`

use std::time::Instant;

use serde::Serialize;
use warpwright::cuda_std::cpu::{Checks, Order};
use warpwright::{CpuOptions, Device};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::progress;
use warpwright_cli::verify::{Tally, Verification};

use super::{check_variant, families, open};
use crate::args::{DeviceChoice, Global, Verify};
use crate::report::{self, Answer};

/// The maximum number of a variant's failures that are shown.
const SHOWN: usize = 5;

/// All tallies as JSON.
#[derive(Serialize)]
struct Total {
    passed: usize,
    not_eligible: usize,
    failed: usize,
    /// The number of orders of blocks and lanes in which each check ran.
    orders: usize,
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

/// Checks variants against plain Rust. Fails if any check fails.
pub fn run(global: &Global, options: &Verify) -> Result<()> {
    let families = families(options.family.as_deref())?;
    check_variant(&families, global.variant.as_deref())?;
    let devices = devices(global.device, options.orders)?;
    let [device, ..] = &devices[..] else {
        return Err(Error::usage("verify: at least one order is needed"));
    };
    let start = Instant::now();
    let verification = |device| {
        let all = Verification::new(device, &families, global.variant.as_deref());
        if options.quick { all.small() } else { all }
    };
    let steps = verification(device).len() * devices.len();
    let bar = progress::steps("checking", steps as u64);
    let mut total = Total {
        passed: 0,
        not_eligible: 0,
        failed: 0,
        orders: devices.len(),
        variants: Vec::new(),
    };
    let mut printed = Ok(());
    for (done, device) in devices.iter().enumerate() {
        let last = done + 1 == devices.len();
        verification(device).run(
            || bar.inc(1),
            |tally| {
                let row = total.add(tally, |text| bar.suspend(|| report::note(text)));
                if last && !global.json && printed.is_ok() {
                    printed = bar.suspend(|| report::print(|out| writeln!(out, "{}", line(row))));
                }
            },
        );
    }
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
                "{passed} checks passed, {failed} failed on {}{} in {}",
                device.kind(),
                orders(&devices, options.orders),
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

/// Returns the devices to check on: the chosen one, or the CPU once for every order.
fn devices(choice: DeviceChoice, orders: Option<u64>) -> Result<Vec<Device>> {
    let Some(orders) = orders else {
        return Ok(vec![open(choice)?]);
    };
    if matches!(choice, DeviceChoice::Cuda(_)) {
        return Err(Error::usage(
            "verify: --orders is of the CPU executor: a GPU runs blocks and lanes in its own order",
        ));
    }
    let asked = Checks::from_env().map_err(Error::usage)?;
    let options = CpuOptions::default().checks(asked.unwrap_or(Checks::ALL));
    let order = |order| Device::cpu_with(options.order(order));
    Ok(Order::several(orders).map(order).collect())
}

/// Returns ` in 5 orders, WARPWRIGHT_CHECK=all`, or nothing without orders.
fn orders(devices: &[Device], orders: Option<u64>) -> String {
    let checks = match Checks::from_env() {
        Ok(Some(checks)) => checks,
        _ => Checks::ALL,
    };
    orders.map_or_else(String::new, |_| {
        format!(" in {} orders with the checks `{checks}`", devices.len())
    })
}

impl Total {
    /// Adds a variant's tally, and returns the variant's total.
    fn add(&mut self, tally: Tally, remark: impl Fn(&str)) -> &Row {
        let name = format!("{} {}", tally.family, tally.variant);
        let shown = tally.failures.iter().take(SHOWN);
        shown.for_each(|text| remark(&format!("{name}: {text}")));
        if tally.failures.len() > SHOWN {
            let more = tally.failures.len() - SHOWN;
            remark(&format!("{name}: and {more} more"));
        }
        self.passed += tally.passed;
        self.not_eligible += tally.not_eligible.len();
        self.failed += tally.failures.len();
        let found = self
            .variants
            .iter()
            .position(|row| (row.family, row.variant) == (tally.family, tally.variant));
        let position = found.unwrap_or_else(|| {
            self.variants.push(Row {
                family: tally.family,
                variant: tally.variant,
                passed: 0,
                not_eligible: 0,
                failures: Vec::new(),
            });
            self.variants.len() - 1
        });
        let row = &mut self.variants[position];
        row.passed += tally.passed;
        row.not_eligible += tally.not_eligible.len();
        row.failures.extend(tally.failures);
        row
    }
}

/// Returns `reduce sequential ok 817 checks`.
fn line(row: &Row) -> String {
    let state = if row.failures.is_empty() {
        "ok"
    } else {
        "FAILED"
    };
    let mut line = format!(
        "{:<10} {:<24} {state:<7} {} passed",
        row.family, row.variant, row.passed
    );
    if !row.failures.is_empty() {
        line.push_str(&format!(", {} failed", row.failures.len()));
    }
    if row.not_eligible > 0 {
        line.push_str(&format!(", {} that it cannot do", row.not_eligible));
    }
    line
}
