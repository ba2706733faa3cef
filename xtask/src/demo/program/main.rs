//! The demo's work: runs every variant of every family on a picture, checks it against plain Rust, times it, and shows the
//! results.

mod parts;
mod picture;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use warpwright::Device;
use warpwright_bench::table::time;

use parts::{Ground, part};
use picture::Picture;

/// The result of every step. On failure, the text of the error goes to standard error.
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

/// Runs the demo, and returns the number of wrong results.
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
    let mut pictures = vec!["input.png"];
    let ground = Ground {
        device: &device,
        image: &picture,
        out: &arguments.out,
    };
    for family in warpwright_workloads::FAMILIES {
        let table = part(&ground, family)?;
        print!("\n{table}");
        right += table.right();
        wrong += table.wrong();
        pictures.extend(table.picture);
    }
    let path = |name: &str| arguments.out.join(name).display().to_string();
    let paths: Vec<_> = pictures.into_iter().map(path).collect();
    println!("\npictures {}", paths.join("\n         "));
    let took = time(start.elapsed().as_secs_f64());
    println!("results  {right} as in plain Rust, {wrong} wrong; all in {took}");
    Ok(wrong)
}
