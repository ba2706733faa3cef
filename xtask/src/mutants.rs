//! `mutants`: drops or weakens every synchronizing operation of every kernel in turn, and prints what the sanitizer reports.

use crate::{Result, command};

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// In how many orders of blocks and lanes every mutant is run.
    #[arg(long, value_name = "N", default_value_t = 6)]
    orders: u64,
    /// Families, or `defects` for the unchanged kernels of the planted defects; all without a name.
    #[arg(value_name = "FAMILY")]
    families: Vec<String>,
}

/// Runs the command. It prints tables and lists below a line with the command itself.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut given = vec!["--orders".to_owned(), arguments.orders.to_string()];
    given.extend(arguments.families.iter().cloned());
    println!("# cargo xtask mutants {}", given.join(" "));
    let mut command = command::program(&["-p", "warpwright-tests", "--bin", "mutants"]);
    command::finish("mutants", command.args(&given))
}
