//! The project's own commands from scratch: the program's build, and the two commands of the README.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{timed, units};
use crate::{Result, command, project};

/// Builds the program, optimized.
pub fn program(jobs: Option<usize>) -> Result<()> {
    let target = target()?;
    let took = timed(|| {
        let mut cargo = fresh(target.path(), jobs);
        cargo.args([
            "build",
            "--release",
            "--timings",
            "--package=warpwright-cli",
        ]);
        command::finish("build-time", &mut cargo)
    })?;
    println!("the program, `cargo build --release`, from nothing:\n{took}");
    units(target.path())
}

/// Runs the README's first command, up to its first result.
pub fn demo(jobs: Option<usize>) -> Result<()> {
    let target = target()?;
    let mut first = None;
    let took = timed(|| {
        let mut cargo = fresh(target.path(), jobs);
        first = until_first_result(cargo.args(["xtask", "demo"]))?;
        Ok(())
    })?;
    let first = first.ok_or("build-time: a result of `cargo xtask demo` required, found none")?;
    println!(
        "`cargo xtask demo` from nothing but the tools for device code:\n  \
         {first:.1} s on the clock to the first result\n{took}, to its end"
    );
    Ok(())
}

/// Runs the README's second command, to its end.
pub fn tests(jobs: Option<usize>) -> Result<()> {
    let target = target()?;
    let took = timed(|| {
        let mut cargo = fresh(target.path(), jobs);
        // The results go to standard error like the builds' progress: standard output is the record.
        cargo
            .args(["test", "--workspace"])
            .stdout(std::io::stderr());
        command::finish("build-time", &mut cargo)
    })?;
    println!("`cargo test --workspace` from nothing but the tools for device code:\n{took}");
    Ok(())
}

/// Makes a new target folder beside the ordinary one.
fn target() -> Result<tempfile::TempDir> {
    let folder = project::target_dir();
    std::fs::create_dir_all(&folder)?;
    Ok(tempfile::Builder::new()
        .prefix("build-time")
        .tempdir_in(folder)?)
}

/// Returns a cargo command in the workspace with an empty target folder.
pub fn fresh(target: &Path, jobs: Option<usize>) -> Command {
    let mut cargo = command::cargo();
    cargo
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS");
    if let Some(jobs) = jobs {
        cargo.env("CARGO_BUILD_JOBS", jobs.to_string());
    }
    cargo
}

/// Runs the demo to its end, and copies its output to standard error. Returns the seconds until the first line with a result.
fn until_first_result(demo: &mut Command) -> Result<Option<f64>> {
    let start = Instant::now();
    let mut child = demo
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("build-time: cargo could not be started: {error}"))?;
    let mut first = None;
    let output = child.stdout.take();
    let lines = output
        .into_iter()
        .flat_map(|output| BufReader::new(output).split(b'\n'));
    for line in lines.map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if first.is_none() && is_result(&line) {
            first = Some(start.elapsed().as_secs_f64());
        }
        eprintln!("{line}");
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(first),
        false => Err(format!("build-time: the demo ended with {status}: see above").into()),
    }
}

/// Returns whether a line of the demo is a row of a family's table with a right result.
fn is_result(line: &str) -> bool {
    line.starts_with("  ") && line.split_whitespace().nth(1) == Some("ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_results_are_told_from_the_rest() {
        let table = "device   cpu: CPU executor\nsum of 16 ok\n  variant                 result        time\n  \
                     best                    ok         2.00 ms        2.00\n";
        let results: Vec<bool> = table.lines().map(is_result).collect();
        assert_eq!(results, [false, false, false, true]);
    }

    #[cfg(unix)]
    #[test]
    fn the_first_result_comes_before_the_end_and_a_failure_is_an_error() {
        let demo = |script: &str| {
            let start = Instant::now();
            let first = until_first_result(Command::new("sh").args(["-c", script]));
            (first, start.elapsed().as_secs_f64())
        };
        let (first, end) = demo("echo a; echo '  best  ok  1 ms'; sleep 0.5; echo '  b  ok'");
        let first = first.unwrap().unwrap();
        assert!(first + 0.3 < end, "{first} of {end}");
        assert_eq!(demo("echo a").0.unwrap(), None);
        assert!(demo("echo '  best  ok'; exit 3").0.is_err());
    }

    #[test]
    fn the_readme_has_these_commands() {
        let readme = std::fs::read_to_string(project::root().join("README.md")).unwrap();
        let (_, part) = readme.split_once("## Two commands").unwrap();
        let commands: Vec<&str> = part
            .lines()
            .filter_map(|line| Some(line.strip_prefix("$ ")?.split('#').next()?.trim()))
            .take(2)
            .collect();
        assert_eq!(commands, ["cargo xtask demo", "cargo test --workspace"]);
    }
}
