//! `profile`: runs one kernel on the GPU under Nsight Compute.

use std::process::Command;

use crate::{Result, bundle, command};

/// What to profile.
#[derive(clap::Args)]
pub struct Arguments {
    /// The kernel, as in `reduce_best`; or one instance of it, as in `reduce_best__sum_f32`.
    kernel: String,
}

/// Runs the command. The report is written to the current folder.
pub fn run(arguments: &Arguments) -> Result<()> {
    // Check before anything is built.
    bundle::toolkit_program("ncu", "ncu (Nsight Compute)")
        .map_err(|error| format!("profile: {error}"))?;
    let mut command = Command::new("sh");
    command
        .arg(bundle::tools()?.join("profile.sh"))
        .arg(&arguments.kernel);
    command::finish("profile", &mut command)
}
