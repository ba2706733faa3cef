//! `warpwright ladder`

use serde::Serialize;
use std::time::{Duration, Instant};
use warpwright::cuda_std::cpu::Checks;
use warpwright::{Device, DeviceKind};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::ladder::{Ladder, Problem, Rung};
use warpwright_cli::progress;

use super::{check_variant, failed, families, open};
use crate::args::{Global, Ladder as Options};
use crate::report::{self, Answer};

/// A rung as JSON.
#[derive(Serialize)]
struct Row {
    family: &'static str,
    variant: &'static str,
    problem: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gigabytes_per_second: Option<f64>,
    /// The share of the copy rate measured in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_copy: Option<f64>,
    copy_gigabytes_per_second: f64,
    /// The rate of floating-point operations, if they are the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    teraflops: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_eligible: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Checks and times every rung of every family.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let families = families(options.family.as_deref())?;
    check_variant(&families, global.variant.as_deref())?;
    let device = open(global.device)?;
    let place = place(&device)?;
    let start = Instant::now();
    let variant = global.variant.as_deref();
    let size = options.size.map(|size| size.0);
    let (mut rows, mut wrong) = (Vec::new(), 0);
    for family in families {
        let rungs = family
            .variants
            .iter()
            .filter(|row| variant.is_none_or(|name| name == row.name));
        let names: Vec<_> = rungs.map(|row| row.name).collect();
        let bar = progress::steps("timing", names.len() as u64);
        let ladders =
            Ladder::run(&device, family.name, &names, size, || bar.inc(1)).map_err(failed)?;
        bar.finish_and_clear();
        for ladder in &ladders {
            if !global.json {
                report::print(|out| table(out, ladder, &place))?;
            }
            for rung in &ladder.rungs {
                if let Problem::Wrong(text) = &rung.result {
                    wrong += 1;
                    report::note(&format!("{} {}: {text}", ladder.family, rung.variant));
                }
                rows.push(row(ladder, rung));
            }
        }
    }
    if global.json {
        report::json(&Answer {
            value: Some(rows),
            device: Some(device.kind().to_string()),
            seconds: Some(start.elapsed().as_secs_f64()),
            ..Answer::default()
        })?;
    }
    if wrong > 0 {
        return Err(Error::failed(format!(
            "ladder: {wrong} variants gave a wrong result on {} and were not timed: run `warpwright verify`",
            device.kind()
        )));
    }
    Ok(())
}

/// Returns a description of the device on which the rungs are timed. For the CPU it names the threads and the checks, because
/// the rate depends on them.
fn place(device: &Device) -> Result<String> {
    if device.kind() != DeviceKind::Cpu {
        return Ok(device.kind().to_string());
    }
    let checks = Checks::from_env()
        .map_err(Error::usage)?
        .unwrap_or_default();
    let threads = match rayon::current_num_threads() {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    Ok(format!("cpu with {threads} and the checks `{checks}`"))
}

/// Prints the table of a ladder. A family that arithmetic limits has operations in place of bytes, and no copy beside it.
fn table(out: &mut dyn std::io::Write, ladder: &Ladder, place: &str) -> std::io::Result<()> {
    let Ladder {
        family,
        problem,
        copy_rate,
        ..
    } = ladder;
    let is_of_bytes = ladder.operations.is_none();
    write!(out, "{family}: {problem} on {place}")?;
    if is_of_bytes {
        let rate = report::significant(copy_rate / 1e9);
        write!(out, "; a copy within the device: {rate} GB/s")?;
    }
    let (unit, of_copy) = if is_of_bytes {
        ("GB/s", format!(" {:>10}", "of copy"))
    } else {
        ("TFLOP/s", String::new())
    };
    writeln!(
        out,
        "\n  {:<24} {:>10} {unit:>12}{of_copy}",
        "variant", "time"
    )?;
    for rung in &ladder.rungs {
        let Problem::Timed(time) = &rung.result else {
            untimed(out, rung)?;
            continue;
        };
        write!(
            out,
            "  {:<24} {:>10}",
            rung.variant,
            report::duration(*time)
        )?;
        match ladder.operation_rate(*time) {
            Some(rate) => writeln!(out, " {:>12}", report::significant(rate / 1e12))?,
            None => {
                let rate = ladder.rate(*time);
                writeln!(
                    out,
                    " {:>10} {:>8} %",
                    report::significant(rate / 1e9),
                    report::significant(100.0 * rate / copy_rate)
                )?;
            }
        }
    }
    writeln!(out)
}

/// Prints the line of a rung that was not timed.
fn untimed(out: &mut dyn std::io::Write, rung: &Rung) -> std::io::Result<()> {
    match &rung.result {
        Problem::NotEligible(reason) => {
            writeln!(out, "  {:<24} cannot do this: {reason}", rung.variant)
        }
        _ => writeln!(out, "  {:<24} WRONG RESULT", rung.variant),
    }
}

fn row(ladder: &Ladder, rung: &Rung) -> Row {
    let time = match rung.result {
        Problem::Timed(time) => Some(time),
        _ => None,
    };
    let rate = match ladder.operations {
        None => time.map(|time: Duration| ladder.rate(time)),
        Some(_) => None,
    };
    Row {
        family: ladder.family,
        variant: rung.variant,
        problem: ladder.problem.clone(),
        seconds: time.map(|time| time.as_secs_f64()),
        gigabytes_per_second: rate.map(|rate| rate / 1e9),
        share_of_copy: rate.map(|rate| rate / ladder.copy_rate),
        copy_gigabytes_per_second: ladder.copy_rate / 1e9,
        teraflops: time
            .and_then(|time| ladder.operation_rate(time))
            .map(|rate| rate / 1e12),
        not_eligible: match &rung.result {
            Problem::NotEligible(reason) => Some(reason.clone()),
            _ => None,
        },
        failure: match &rung.result {
            Problem::Wrong(text) => Some(text.clone()),
            _ => None,
        },
    }
}
