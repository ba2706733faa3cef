//! Projects outside of the workspace, which tests build as a user would.

use std::process::Command;

/// Cargo with settings by which the library is compiled sooner and runs slower. They are the same for all projects, so
/// that what one has built serves the others.
pub fn cargo(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    // The library's own kernels, of which these projects run few and on little. Their own keep their profile.
    for package in ["warpwright", "warpwright-gpu"] {
        command.arg(format!(
            "--config=profile.dev.package.{package}.opt-level=0"
        ));
    }
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env("CARGO_INCREMENTAL", "0");
    command
}
