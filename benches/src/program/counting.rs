//! The command `counters`: profile counters of the cases' kernels.

use std::path::Path;
use std::time::Instant;

use warpwright_bench::counters::{FORMAT, Failed, Record, Row};
use warpwright_bench::run::Result;
use warpwright_bench::run::counters::{Profiler, chosen};
use warpwright_bench::{sheets, table};

use super::files::{card, command, cuda, put, read, today};

/// Counts the work of the cases' kernels. Returns whether every case gave counters.
pub fn run(
    from: Option<&Path>,
    family: Option<&str>,
    names: &[String],
    folder: Option<&Path>,
) -> Result<bool> {
    let start = Instant::now();
    let from = from.map(read).transpose()?;
    let cases = chosen(from.as_ref(), family, names)?;
    if cases.is_empty() {
        println!("no case missed an aim: nothing to count");
        return Ok(true);
    }
    let mut profiler = Profiler::find()?;
    let card = card(&cuda()?);
    println!("{}", table::card(&card));
    println!("{}, {} cases", profiler.version(), cases.len());
    print!("{}", sheets::counters(&[]).head());
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for case in &cases {
        match profiler.kernels(case)? {
            Ok(kernels) => {
                let kernels = kernels.into_iter().map(|kernel| Row::new(case, kernel));
                let kernels: Vec<Row> = kernels.collect();
                print!("{}", sheets::counters(&kernels).body());
                rows.extend(kernels);
            }
            Err(reason) => {
                let name = case.name();
                println!("  {name}: failed: {reason}");
                failed.push(Failed { name, reason });
            }
        }
    }
    let record = Record {
        format: FORMAT,
        command: command(),
        date: today(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: profiler.version().to_owned(),
        card,
        rows,
        failed,
        seconds: start.elapsed().as_secs_f64(),
    };
    println!(
        "\n{} kernels of {} cases in {:.0} s, {} cases failed",
        record.rows.len(),
        cases.len(),
        record.seconds,
        record.failed.len()
    );
    if let Some(folder) = folder {
        put(
            &record.card,
            &record.date,
            "counters",
            &record.to_text(),
            folder,
        )?;
    }
    Ok(record.failed.is_empty())
}
