//! `counts`: the sizes of the project's proofs, counted by the programs that make them.

use crate::{Result, command};

/// The programs: the title, the options of `cargo run`, and the arguments.
const PROGRAMS: &[(&str, &[&str], &[&str])] = &[
    (
        "planted-defect counts",
        &["-p", "warpwright-defects", "--bin", "planted-defect"],
        &["counts"],
    ),
    (
        "injected-faults",
        &["-p", "warpwright-tests", "--bin", "injected-faults"],
        &[],
    ),
];

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// In how many orders of blocks and lanes every variant of every family is checked.
    #[arg(long, value_name = "N", default_value_t = 4)]
    orders: u32,
}

/// Runs the command. It prints lines `name: number` below a line with the program that counted them.
pub fn run(arguments: &Arguments) -> Result<()> {
    println!("# cargo xtask counts --orders {}", arguments.orders);
    for (title, options, program) in PROGRAMS {
        println!("## {title}");
        for line in output(options, program)?.lines() {
            println!("{}", colon(line));
        }
    }
    let orders = arguments.orders.to_string();
    let verify = [
        "--json", "--device", "cpu", "verify", "--quick", "--orders", &orders,
    ];
    let options = ["--release", "-p", "warpwright-cli", "--bin", "warpwright"];
    println!("## warpwright verify --quick --orders {orders}");
    let text = output(&options, &verify)?;
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

/// Rewrites `name number` as `name: number`.
fn colon(line: &str) -> String {
    match line.rsplit_once(' ') {
        Some((name, number)) if !name.ends_with(':') => format!("{name}: {number}"),
        _ => line.to_owned(),
    }
}

/// Returns the output of a program of the workspace.
fn output(options: &[&str], arguments: &[&str]) -> Result<String> {
    command::output("counts", command::program(options).args(arguments))
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
