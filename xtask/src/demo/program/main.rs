//! The demo's work: every variant of every family on a picture, checked against plain Rust, timed, and
//! shown.

mod axis;
mod convolution;
mod gemm;
mod histogram;
mod map;
mod picture;
mod random;
mod reduce;
mod table;
mod transpose;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use warpwright::ops::axis::Axis;
use warpwright::{Device, DeviceKind};
use warpwright_bench::table::time;

use picture::Picture;
use table::{Row, Table};

/// What every step gives: on failure, the text of the error goes to standard error.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// What to work on.
#[derive(Parser)]
struct Arguments {
    /// A picture to read.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Where to put the pictures.
    #[arg(long)]
    out: PathBuf,
    /// The width of the picture that is drawn.
    #[arg(long)]
    size: Option<u32>,
}

/// How a variant did: its time, and what is wrong with its result.
type Timed = (Duration, std::result::Result<(), String>);

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Err(error) = warpwright_cli::output::remove_on_signals() {
        eprintln!("error: demo: signals cannot be taken: {error}");
        return ExitCode::FAILURE;
    }
    match run(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("error: demo: {wrong} results are wrong, see the tables");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Gives the number of wrong results.
fn run(arguments: &Arguments) -> Result<usize> {
    let device = Device::auto()?;
    println!("device   {}: {}", device.kind(), device.info().name);
    let start = Instant::now();
    let picture = match &arguments.input {
        Some(path) => Picture::read(path)?,
        None => Picture::drawn(arguments.size, device.kind()),
    };
    let took = time(start.elapsed().as_secs_f64());
    println!(
        "picture  {} pixels of 8 bits, {} in {took}",
        picture.size(),
        picture.origin
    );
    picture.save(&arguments.out.join("input.png"))?;

    let start = Instant::now();
    let (mut right, mut wrong) = (0, 0);
    for family in warpwright::families() {
        let table = match family.name {
            "transpose" => transpose::run(&device, &picture, family, &arguments.out)?,
            "reduce" => reduce::run(&device, &picture, family)?,
            "columns" => axis::run(&device, &picture, family, Axis::Columns)?,
            "rows" => axis::run(&device, &picture, family, Axis::Rows)?,
            "histogram" => histogram::run(&device, &picture, family, &arguments.out)?,
            "gemm" => gemm::run(&device, &picture, family, &arguments.out)?,
            "convolution" => convolution::run(&device, &picture, family, &arguments.out)?,
            "map" => map::run(&device, &picture, family)?,
            "random" => random::run(&device, &picture, family, &arguments.out)?,
            // A family without a part here must not go unnoticed.
            other => return Err(format!("the family {other} has no part in the demo").into()),
        };
        print!("\n{table}");
        right += table.right();
        wrong += table.wrong();
    }
    println!(
        "\npictures {}",
        [
            "input.png",
            transpose::FILE,
            histogram::FILE,
            gemm::FILE,
            convolution::FILE,
            random::FILE,
        ]
        .map(|name| { arguments.out.join(name).display().to_string() })
        .join("\n         ")
    );
    let took = time(start.elapsed().as_secs_f64());
    println!("results  {right} as in plain Rust, {wrong} wrong; all in {took}");
    Ok(wrong)
}

/// Runs work that was queued once before, and tells how long the device takes for it.
fn timed(
    device: &Device,
    mut enqueue: impl FnMut() -> warpwright::Result<()>,
) -> warpwright::Result<Duration> {
    // A CUDA device compiles a kernel before its first launch, which is no part of the work.
    if device.kind() != DeviceKind::Cpu {
        enqueue()?;
    }
    Ok(device.time(enqueue)?.1)
}

/// A row of a family's table for what came of a variant. One that cannot do the problem says so, and
/// counts neither as right nor as wrong.
fn row(variant: &'static str, bytes: u64, result: warpwright::Result<Timed>) -> Result<Row> {
    match result {
        Ok((time, Ok(()))) => Ok(Row::Right {
            variant,
            time,
            bytes,
        }),
        Ok((_, Err(text))) => Ok(Row::Wrong { variant, text }),
        Err(warpwright::Error::NotEligible { reason, .. }) => {
            Ok(Row::NotEligible { variant, reason })
        }
        Err(error) => Err(error.into()),
    }
}

/// What is wrong with a result, if it is not the expected one.
fn compare<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> std::result::Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {found:?}"))
}
