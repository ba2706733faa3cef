//! Drops and weakens every synchronizing operation of every kernel in turn, and prints what the sanitizer reports.
//!
//! ```text
//! mutants [--orders N] [FAMILY | defects]...
//! ```

use std::process::ExitCode;

use warpwright_tests::mutants::{self, ORDERS, Plan};

fn plan() -> Result<Plan, String> {
    let (mut names, mut orders) = (Vec::new(), ORDERS);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--orders" {
            let number = arguments.next().unwrap_or_default();
            orders = number
                .parse()
                .ok()
                .filter(|orders| *orders > 0)
                .ok_or_else(|| format!("--orders: a number from 1 required, given `{number}`"))?;
        } else {
            names.push(argument);
        }
    }
    Ok(Plan { names, orders })
}

fn main() -> ExitCode {
    // A kernel that panics because of a mutation is an expected fault.
    std::panic::set_hook(Box::new(|_| {}));
    let result = plan().and_then(|plan| mutants::run(&plan));
    let wrong = match result {
        Ok(report) => {
            println!("{}", report.markdown().trim());
            for mutant in report.unexplained() {
                eprintln!(
                    "mutants: neither reported nor another result, without a reason: {mutant}"
                );
            }
            report.wrong()
        }
        Err(why) => vec![why],
    };
    for why in &wrong {
        eprintln!("mutants: {why}");
    }
    match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
