//! `warpwright ulp`

use std::time::Instant;

use serde::Serialize;
use warpwright_cli::error::{Error, Result};
use warpwright_cli::progress;
use warpwright_cli::ulp::{self, Measured, Sample, Unit};

use super::{failed, open};
use crate::args::{Global, Ulp};
use crate::report::{self, Answer};

/// A measurement as JSON.
#[derive(Serialize)]
struct Row {
    function: &'static str,
    arguments: &'static str,
    count: u64,
    unit: &'static str,
    error: f64,
    bound: f64,
    at: String,
    holds: bool,
}

/// Measures the errors of the device functions. Fails if one exceeds the documented error.
pub fn run(global: &Global, options: &Ulp) -> Result<()> {
    if let Some(name) = &global.variant {
        return Err(Error::usage(format!(
            "ulp measures functions, which have no variant `{name}`"
        )));
    }
    let device = open(global.device)?;
    let sample = if options.full {
        Sample::FULL
    } else {
        Sample::QUICK
    };
    let start = Instant::now();
    let bar = progress::steps("measuring", sample.steps());
    let rows = ulp::measure(&device, sample, || bar.inc(1)).map_err(failed)?;
    bar.finish_and_clear();
    let time = start.elapsed();
    if global.json {
        report::json(&Answer {
            value: Some(rows.iter().map(row).collect::<Vec<_>>()),
            device: Some(device.kind().to_string()),
            seconds: Some(time.as_secs_f64()),
            ..Answer::default()
        })?;
    } else {
        report::print(|out| {
            writeln!(
                out,
                "| function | arguments | measured | largest error | stated bound |"
            )?;
            writeln!(out, "| --- | --- | --- | --- | --- |")?;
            rows.iter()
                .try_for_each(|row| writeln!(out, "{}", line(row)))?;
            writeln!(out, "\non {} in {}", device.kind(), report::duration(time))
        })?;
    }
    let wrong: Vec<_> = rows.iter().filter(|row| !row.holds()).collect();
    for row in &wrong {
        report::note(&format!("{}, {}: {}", row.function, row.arguments, row.at));
        if let Some((count, example)) = &row.differ {
            report::note(&format!(
                "{}: {count} results differ between {} and the CPU: {example}",
                row.function,
                device.kind()
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "ulp: {} errors are larger than stated on {}: see the lines above",
        wrong.len(),
        device.kind()
    )))
}

/// Returns a row of the table in Markdown.
fn line(row: &Measured) -> String {
    let number = |value: f64| match row.unit {
        Unit::Ulp => format!("{value:.3} ulp"),
        unit if value > 0.0 => format!("2^{:.2} {}", value.log2(), unit.name()),
        unit => format!("0 {}", unit.name()),
    };
    let remark = if row.holds() { "" } else { " EXCEEDED" };
    format!(
        "| `{}` | {} | {} | {} | {}{remark} |",
        row.function,
        row.arguments,
        row.count,
        number(row.error),
        number(row.bound)
    )
}

fn row(row: &Measured) -> Row {
    Row {
        function: row.function,
        arguments: row.arguments,
        count: row.count,
        unit: row.unit.name(),
        error: row.error,
        bound: row.bound,
        at: row.at.clone(),
        holds: row.holds(),
    }
}
