//! `counts`: what the proofs of the project come to, counted by the programs that make them.

use std::process::Stdio;

use crate::{Result, project};

/// What is run: the title, and the arguments of `cargo run`.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "planted-defect counts",
        &[
            "-p",
            "warpwright-defects",
            "--bin",
            "planted-defect",
            "--",
            "counts",
        ],
    ),
    (
        "injected-faults",
        &["-p", "warpwright-tests", "--bin", "injected-faults"],
    ),
];

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// In how many orders of blocks and lanes every variant of every family is checked.
    #[arg(long, value_name = "N", default_value_t = 4)]
    orders: u32,
}

/// Runs the command: lines `name: number`, below a line with the program that counted them.
pub fn run(arguments: &Arguments) -> Result<()> {
    println!("# cargo xtask counts --orders {}", arguments.orders);
    for (title, program) in PROGRAMS {
        println!("## {title}");
        for line in output(title, program)?.lines() {
            println!("{}", colon(line));
        }
    }
    let orders = arguments.orders.to_string();
    let verify = [
        "--json", "--device", "cpu", "verify", "--quick", "--orders", &orders,
    ];
    let mut program = vec![
        "--release",
        "-p",
        "warpwright-cli",
        "--bin",
        "warpwright",
        "--",
    ];
    program.extend(verify);
    println!("## warpwright verify --quick --orders {orders}");
    let text = output("warpwright verify", &program)?;
    let answer: serde_json::Value = serde_json::from_str(&text)?;
    for name in ["passed", "failed", "orders"] {
        let number = answer
            .pointer(&format!("/value/{name}"))
            .and_then(serde_json::Value::as_u64)
            .ok_or_else(|| format!("counts: verify's answer has no number `{name}`: {text}"))?;
        println!("{name}: {number}");
    }
    Ok(())
}

/// `name number` as `name: number`.
fn colon(line: &str) -> String {
    match line.rsplit_once(' ') {
        Some((name, number)) if !name.ends_with(':') => format!("{name}: {number}"),
        _ => line.to_owned(),
    }
}

/// What a program of the workspace prints.
fn output(title: &str, arguments: &[&str]) -> Result<String> {
    let output = project::cargo()
        .args(["run", "--quiet"])
        .args(arguments)
        .current_dir(project::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{title}: cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{title}: it ended with {}: see above", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_divided_by_a_colon() {
        assert_eq!(colon("check_race 7"), "check_race: 7");
        assert_eq!(colon("  no memory: 254"), "  no memory: 254");
    }
}
