//! `mutants`: every synchronising operation of every kernel dropped or weakened in turn, and what the sanitizer says.

use crate::{Result, project};

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

/// Runs the command: the tables and lists, below a line with the command itself.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut given = vec!["--orders".to_owned(), arguments.orders.to_string()];
    given.extend(arguments.families.iter().cloned());
    println!("# cargo xtask mutants {}", given.join(" "));
    let status = project::cargo()
        .args([
            "run",
            "--quiet",
            "-p",
            "warpwright-tests",
            "--bin",
            "mutants",
            "--",
        ])
        .args(&given)
        .current_dir(project::root())
        .status()
        .map_err(|error| format!("mutants: cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("mutants: it ended with {status}: see above").into()),
    }
}
