//! Builds the programs of the examples with this workspace's `cust`.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::Path;

use crate::command;

/// The start of the text of a kernel that is embedded in a program.
const ENTRY: &[u8] = b".visible .entry ";

/// Builds the program of the crate in `folder`, whose build script builds its kernels, and copies it to `programs`.
pub fn build(folder: &Path, root: &Path, programs: Option<&Path>) -> Result<String, String> {
    let text = |error: std::io::Error| error.to_string();
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(text)?;
    let manifest: toml::Table = manifest.parse().map_err(|error| format!("{error}"))?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name")?.as_str())
        .ok_or("error: a package with a name required, given none")?;
    let target = root.join("programs");
    let mut command = command::cargo();
    command
        .args(["build", "--release", "--package", name])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTFLAGS")
        // The build script finds the tools as `setup` does.
        .env("WARPWRIGHT_INSTALL_TOOLS", "1");
    let output = system::process::run(&mut command, None, false)
        .map_err(|error| format!("error: cargo {error}"))?;
    if !output.status.success() {
        return Err(output.stderr);
    }
    let file = format!("{name}{EXE_SUFFIX}");
    let program = target.join("release").join(&file);
    let bytes = fs::read(&program).map_err(text)?;
    let kernels = bytes
        .windows(ENTRY.len())
        .filter(|part| *part == ENTRY)
        .count();
    if kernels == 0 {
        return Err("error: kernels in the program required, found none".to_owned());
    }
    if let Some(programs) = programs {
        fs::create_dir_all(programs).map_err(text)?;
        fs::copy(&program, programs.join(&file)).map_err(text)?;
    }
    Ok(format!(
        "a program of {} KiB with {kernels} kernels in it",
        bytes.len() >> 10
    ))
}
