//! `sanitize`: runs every kernel on the GPU under compute-sanitizer.

use std::process::Command;

use clap::ValueEnum;

use crate::{Result, bundle, command, project};

/// What to check.
#[derive(clap::Args)]
pub struct Arguments {
    /// The tools to run; all four by default.
    #[arg(value_enum, value_name = "TOOL")]
    tools: Vec<Tool>,
    /// Check this family only.
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
}

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, ValueEnum)]
enum Tool {
    /// Accesses out of bounds or misaligned, and leaks.
    Memcheck,
    /// Lanes that touch the same shared memory without an order between them.
    Racecheck,
    /// Reads of global memory that was never written.
    Initcheck,
    /// Barriers that not all lanes reach.
    Synccheck,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(family) = &arguments.family {
        project::require_family("sanitize", family)?;
    }
    // Check before anything is built.
    bundle::toolkit_program("compute-sanitizer", "compute-sanitizer")
        .map_err(|error| format!("sanitize: {error}"))?;
    let mut command = Command::new("sh");
    command.arg(bundle::tools()?.join("sanitize.sh"));
    for tool in &arguments.tools {
        command.args(
            tool.to_possible_value()
                .map(|value| value.get_name().to_owned()),
        );
    }
    if let Some(family) = &arguments.family {
        command.env("FAMILY", family);
    }
    command::finish("sanitize", &mut command)
}
