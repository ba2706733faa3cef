//! `asan` and `fuzz`: builds with checks that the compiler inserts.
//!
//! Both are unstable options of rustc, which a stock compiler accepts with `RUSTC_BOOTSTRAP=1`. The run-time library of
//! AddressSanitizer comes with the compiler. All crates come from the lock files, with the hashes there.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::{Result, command, project};

/// The target of instrumented builds, which is this machine. It must be named, so that build scripts and procedural macros are
/// not instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The library contains the kernels, but they are not what is tested.
const PLAIN_KERNELS: &str = "profile.dev.package.warpwright-gpu.opt-level=0";

/// The tests that run under AddressSanitizer. They are one build, so that the kernels are compiled once.
const ASAN: &[&str] = &[
    "-p",
    "warpwright",
    "-p",
    "warpwright-tests",
    "-p",
    "warpwright-cli",
    "--lib",
    "--test",
    "faults",
    "--test",
    "mutations",
];

/// The text about what this covers, and what not.
const COVERED: &str = "\
AddressSanitizer has seen: the way to the driver, and the CUDA side's handles, memory and launches, on a
mock driver; buffers, views, pinned memory and the launches of all families, while every driver call
fails once; the readers of .npy files and pictures, and the parser of the arguments, on mutated files.
It does not see what kernels do: the CPU executor's own checks do, in `cargo test`.";

/// What `fuzz` is told.
#[derive(clap::Args)]
pub struct Fuzz {
    /// How long each target runs, in seconds.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u32,
    /// The targets; all of them by default.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

fn cargo(flags: &str, folder: &str) -> Command {
    let mut command = command::cargo();
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", project::target_dir().join(folder));
    command
}

/// Runs tests of the host crates under AddressSanitizer.
pub fn asan() -> Result<()> {
    let mut command = cargo("-Zsanitizer=address", "asan");
    command
        .args(["test", "--locked", "--target", TARGET])
        .args(["--config", PLAIN_KERNELS])
        .args(ASAN);
    command::finish("asan", &mut command)?;
    println!("{COVERED}");
    Ok(())
}

/// Fuzzes the targets in `fuzz/`, each for the given seconds, from the corpus of `cli/tests`.
pub fn fuzz(arguments: &Fuzz) -> Result<()> {
    // libFuzzer is C++ and is compiled by the build.
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        return Err(format!(
            "fuzz: a C++ compiler required, {} given (CXX names another); `cargo test -p warpwright-cli --test \
             mutations` needs none, and runs the targets on mutations of the corpus",
            compiler.display()
        )
        .into());
    }
    let flags = [
        "--cfg fuzzing",
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
        "-Cllvm-args=-sanitizer-coverage-trace-compares",
        "-Zsanitizer=address",
    ]
    .join(" ");
    let targets = targets(&arguments.targets)?;
    for target in &targets {
        println!("fuzz: {target}, {} seconds", arguments.seconds);
        // Findings are kept for the next run here. The committed corpus does not change.
        let found = project::target_dir().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&found)?;
        let mut command = cargo(&flags, "fuzz");
        command
            .args([
                "run",
                "--locked",
                "--manifest-path",
                "fuzz/Cargo.toml",
                "--target",
                TARGET,
            ])
            .args(["--bin", target, "--"])
            .arg(found)
            .arg(corpus().join(target))
            .arg(format!("-max_total_time={}", arguments.seconds))
            .args(["-max_len=4096", "-timeout=10", "-rss_limit_mb=4096"]);
        command::finish("fuzz", &mut command)?;
    }
    Ok(())
}

fn corpus() -> std::path::PathBuf {
    project::root().join("cli/tests/corpus")
}

/// Returns the requested targets, which must have a folder in the corpus.
fn targets(asked: &[String]) -> Result<Vec<String>> {
    let mut known = Vec::new();
    for entry in std::fs::read_dir(corpus())? {
        known.push(entry?.file_name().to_string_lossy().into_owned());
    }
    known.sort();
    for target in asked {
        if !known.contains(target) || Path::new(target).components().count() != 1 {
            return Err(
                format!("fuzz: one of {} required, {target} given", known.join(", ")).into(),
            );
        }
    }
    Ok(if asked.is_empty() {
        known
    } else {
        asked.to_vec()
    })
}
