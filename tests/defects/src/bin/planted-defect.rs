//! Runs planted defects one by one, so that another sanitizer can look at them, and compares it with ours.
//!
//! ```text
//! planted-defect list                     every defect, with the checks and the lines that report it
//! planted-defect counts                   runs them all in several orders, and prints what came of it:
//!                                         a name and a number per line
//! planted-defect ptx                      the defects' PTX, on standard output
//! planted-defect run NAME [correct]       one launch on the first CUDA device
//! planted-defect cpu NAME [correct]       one launch on the CPU executor, with every check
//! planted-defect compare [PROGRAM ARG…]   every defect under compute-sanitizer, as a table
//! ```
//!
//! `WARPWRIGHT_DEFECTS_PTX` names a file with the PTX for machines that cannot build it. `compare` starts
//! `compute-sanitizer`, or what is given, with the arguments given before its own.

use std::{
    collections::BTreeMap,
    process::{Command, ExitCode},
    time::Duration,
};

use cuda_std::cpu::{Checks, LaunchError, Options, Order};
use defects::harness::{ORDERS, expected, find, launch_on, launch_on_cpu, markers, orders, ptx};
use defects::{DEFECTS, Defect};
use system::process::{self, RunError};
use warpwright::{Device, Module};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["list"] => list(),
        ["counts"] => counts(),
        ["ptx"] => ptx().map(|text| print!("{text}")),
        ["run", name] => run(name, true),
        ["run", name, "correct"] => run(name, false),
        ["cpu", name] => cpu(name, true),
        ["cpu", name, "correct"] => cpu(name, false),
        ["compare"] => compare(&["compute-sanitizer"]),
        ["compare", ref program @ ..] => compare(program),
        _ => Err(
            "list, counts, ptx, run NAME [correct], cpu NAME [correct] or compare required"
                .to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("planted-defect: {why}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Result<&'static Defect, String> {
    find(name).ok_or_else(|| format!("there is no defect `{name}`"))
}

fn run(name: &str, planted: bool) -> Result<(), String> {
    let defect = named(name)?;
    let module = Module::from_ptx(ptx()?).map_err(|error| error.to_string())?;
    let device = Device::cuda(0).map_err(|error| error.to_string())?;
    // SAFETY: nothing else uses this process's context.
    unsafe { launch_on(&device, &module, defect, planted) }.map_err(|error| error.to_string())
}

fn cpu(name: &str, planted: bool) -> Result<(), String> {
    fault(named(name)?, planted, Checks::ALL).map_or(Ok(()), |error| Err(error.to_string()))
}

/// What the CPU executor says of a defect in the first order in which it shows; none if nothing.
fn fault(defect: &Defect, planted: bool, checks: Checks) -> Option<LaunchError> {
    let order = orders(defect)[0];
    launch_on_cpu(
        defect,
        planted,
        Options {
            order,
            checks,
            ..Options::default()
        },
    )
    .err()
}

/// The check that a defect is planted for, and the line that it reports.
fn told(defect: &Defect) -> (Option<Checks>, String) {
    match fault(defect, true, markers(defect)[0].checks[0]) {
        Some(LaunchError::Fault(fault)) => {
            let at = fault.kind.places().first().map(|at| at.line());
            let line = at.map_or_else(String::new, |line| format!("{}.rs:{line}", defect.file));
            (fault.kind.check(), line)
        }
        _ => (None, String::new()),
    }
}

fn list() -> Result<(), String> {
    for defect in DEFECTS {
        let (check, line) = told(defect);
        let check = check.map_or_else(|| "-".to_owned(), |check| check.to_string());
        println!("{:<42} {check:<5} {line}", defect.name);
    }
    println!("{} defects", DEFECTS.len());
    Ok(())
}

/// Runs every kernel with and without its defect in every order, and prints how many there are, by check and
/// by family, how many runs found the defect where it is, and how many without it were clean.
fn counts() -> Result<(), String> {
    let (mut caught, mut clean, mut wrong) = (0_u64, 0_u64, Vec::new());
    let mut by_name = BTreeMap::new();
    for defect in DEFECTS {
        let (family, _) = defect.name.split_once('_').unwrap_or((defect.name, ""));
        let check = markers(defect)[0].checks[0];
        for name in [format!("family_{family}"), format!("check_{check}")] {
            *by_name.entry(name).or_insert(0_u64) += 1;
        }
        for order in Order::several(ORDERS) {
            let checks = Checks::ALL;
            let run = |planted| {
                launch_on_cpu(
                    defect,
                    planted,
                    Options {
                        order,
                        checks,
                        ..Options::default()
                    },
                )
            };
            let shows = orders(defect).contains(&order);
            let found = match run(true) {
                Err(LaunchError::Fault(fault)) => expected(defect, &fault),
                Err(error) => Err(error.to_string()),
                Ok(_) if !shows => Ok(()),
                Ok(_) => Err("nothing was found".to_owned()),
            };
            match found {
                Ok(()) => caught += u64::from(shows),
                Err(why) => wrong.push(format!("{} in the order {order}: {why}", defect.name)),
            }
            match run(false) {
                Ok(_) => clean += 1,
                Err(error) => wrong.push(error.to_string()),
            }
        }
    }
    println!("defects {}", DEFECTS.len());
    for (name, count) in by_name {
        println!("{name} {count}");
    }
    println!("orders {ORDERS}");
    println!("caught {caught}");
    println!("clean {clean}");
    println!("wrong {}", wrong.len());
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

/// The tool of compute-sanitizer that looks for what a check looks for.
fn tool(check: Checks) -> &'static str {
    match check {
        Checks::INIT => "initcheck",
        Checks::RACE => "racecheck",
        Checks::SYNC => "synccheck",
        _ => "memcheck",
    }
}

fn compare(program: &[&str]) -> Result<(), String> {
    println!("| defect | here | at | compute-sanitizer | defect | unchanged |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let (mut agree, mut seen_here) = (0, 0);
    for defect in DEFECTS {
        let (check, line) = told(defect);
        let Some(check) = check else {
            return Err(format!("{}: nothing was found on the CPU", defect.name));
        };
        seen_here += 1;
        let planted = sanitize(program, tool(check), &["run", defect.name])?;
        let correct = sanitize(program, tool(check), &["run", defect.name, "correct"])?;
        agree += usize::from(planted.starts_with("seen"));
        println!(
            "| `{}` | {check} | {line} | {} | {planted} | {correct} |",
            defect.name,
            tool(check)
        );
    }
    println!();
    println!("{seen_here} seen here, {agree} of them by compute-sanitizer too");
    Ok(())
}

/// Runs this program under the sanitizer, and tells what it counted.
fn sanitize(program: &[&str], tool: &str, arguments: &[&str]) -> Result<String, String> {
    /// Lanes that wait for each other may do so for ever.
    const PATIENCE: Duration = Duration::from_secs(60);
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let [name, before @ ..] = program else {
        return Err("a program is needed".to_owned());
    };
    let mut command = Command::new(name);
    command
        .args(before)
        .args(["--tool", tool])
        .arg(own)
        .args(arguments);
    let output = match process::run(&mut command, Some(PATIENCE), false) {
        Ok(output) => output,
        Err(RunError::TimedOut(_)) => return Ok("hangs".to_owned()),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    Ok(match counted(&String::from_utf8_lossy(&output.stdout)) {
        None => "no summary".to_owned(),
        Some(0) => "nothing".to_owned(),
        Some(count) => format!("seen ({count})"),
    })
}

/// The number behind `SUMMARY:` in the sanitizer's last lines.
fn counted(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once("SUMMARY: ")?;
    rest.split(' ').next()?.parse().ok()
}
