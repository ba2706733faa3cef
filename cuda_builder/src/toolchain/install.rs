//! Installs the tools, if requested.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use system::environment::variable;

use super::{PINNED_RUST, Toolchain, ToolchainOptions};
use crate::CudaBuilderError;
use crate::lock::FileLock;
use crate::process;

/// The time limit of rustup, which gives up by itself earlier if no server answers.
const RUSTUP_LIMIT: Duration = Duration::from_secs(300);
const APT_LIMIT: Duration = Duration::from_secs(900);
const APT_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "llvm-22"];

pub(super) fn install(
    options: &ToolchainOptions,
    verbose: bool,
) -> Result<Toolchain, CudaBuilderError> {
    if let Ok(found) = Toolchain::discover_with(options) {
        return Ok(found);
    }
    let folder = private("device tools", &tools_folder())?;
    let _lock = FileLock::acquire(&folder.join("install.lock"))?;
    // Another process may have installed them while this one waited.
    let survey = Toolchain::survey(options)?;
    if let Some(found) = survey.usable.into_iter().next() {
        return Ok(found);
    }
    let mut tried = Vec::new();
    for (name, attempt) in [
        ("rustup", with_rustup as fn(bool) -> Result<(), String>),
        ("apt-get", with_apt as fn(bool) -> Result<(), String>),
    ] {
        match attempt(verbose) {
            Ok(()) => match Toolchain::discover_with(options) {
                Ok(found) => return Ok(found),
                Err(error) => tried.push(format!("{name}: installed, but {error}")),
            },
            Err(reason) => tried.push(format!("{name}: {reason}")),
        }
    }
    Err(CudaBuilderError::Tools(format!(
        "{}\n  tried {}",
        not_found(&survey.rejected),
        tried.join("\n  tried ")
    )))
}

/// Returns the folder for tools that no package manager provides, with the locks of all installations.
pub(crate) fn tools_folder() -> PathBuf {
    variable("WARPWRIGHT_TOOLS_DIR")
        .map_or_else(|| system::folder::of_user().join("tools"), PathBuf::from)
}

/// Creates the folder at `path` if it is missing, and refuses it if another user could write to it.
pub(crate) fn private(operation: &str, path: &Path) -> Result<PathBuf, CudaBuilderError> {
    system::folder::private(path).map_err(|reason| refused(operation, &reason))
}

/// Returns the one-line error for a folder or file that another user could have written.
pub(crate) fn refused(operation: &str, reason: &str) -> CudaBuilderError {
    CudaBuilderError::Tools(format!(
        "{operation}: {reason}; remove it, or set WARPWRIGHT_TOOLS_DIR to a folder that is yours alone"
    ))
}

/// Returns the error for a machine without tools: one line with the command to type, then what was searched.
pub(super) fn not_found(rejected: &[(PathBuf, String)]) -> CudaBuilderError {
    let mut text = format!(
        "device tools: a Rust compiler of version 1.96 or newer with its sources and LLVM tools \
         required, none found; type `{}`",
        advice()
    );
    for (path, reason) in rejected {
        text += &format!("\n  looked at {}: {reason}", path.display());
    }
    CudaBuilderError::Tools(text)
}

fn advice() -> String {
    if on_path("rustup").is_some() {
        rustup_arguments().fold("rustup".to_owned(), |line, word| line + " " + word)
    } else if on_path("apt-get").is_some() {
        format!(
            "apt-get install --no-install-recommends {}",
            APT_PACKAGES.join(" ")
        )
    } else {
        "WARPWRIGHT_RUSTC=<path of rustc> WARPWRIGHT_LLVM_BIN=<folder of opt and llc>".to_owned()
    }
}

fn rustup_arguments() -> impl Iterator<Item = &'static str> {
    [
        "toolchain",
        "install",
        PINNED_RUST,
        "--profile",
        "minimal",
        "--no-self-update",
    ]
    .into_iter()
    .chain(["--component", "rust-src", "--component", "llvm-tools"])
}

fn with_rustup(verbose: bool) -> Result<(), String> {
    let rustup = on_path("rustup").ok_or("it is not on PATH")?;
    let mut command = Command::new(rustup);
    command.args(rustup_arguments());
    announce(verbose, &command);
    process::clear_parent_cargo(&mut command);
    finish(&mut command, RUSTUP_LIMIT, verbose)
}

fn with_apt(verbose: bool) -> Result<(), String> {
    let apt = on_path("apt-get").ok_or("it is not on PATH")?;
    if !is_root() {
        return Err("it needs root".to_owned());
    }
    let base = || {
        let mut command = Command::new(&apt);
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-o", "DPkg::Lock::Timeout=600"]);
        command
    };
    let mut update = base();
    update.args(["-q", "update"]);
    announce(verbose, &update);
    finish(&mut update, APT_LIMIT, verbose)?;
    let mut install = base();
    install
        .args(["-q", "install", "-y", "--no-install-recommends"])
        .args(APT_PACKAGES);
    announce(verbose, &install);
    finish(&mut install, APT_LIMIT, verbose)
}

fn announce(verbose: bool, command: &Command) {
    if verbose {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let line: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        eprintln!("device tools: running {}", line.join(" "));
    }
}

fn finish(command: &mut Command, limit: Duration, verbose: bool) -> Result<(), String> {
    match process::run(command, Some(limit), verbose) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(last_line(&output.stderr)),
        Err(error) => Err(error.to_string()),
    }
}

fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("it gave no reason").trim().to_owned()
}

/// Returns the path of a program if it is on `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(&name))
        .find(|path: &PathBuf| path.is_file())
}

#[cfg(unix)]
fn is_root() -> bool {
    super::ask(Path::new("id"), &["-u"]).is_ok_and(|text| text.trim() == "0")
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_in_the_first_line_and_the_reasons_follow() {
        let rejected = [(PathBuf::from("/opt/rustc"), "it is old".to_owned())];
        let text = not_found(&rejected).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("; type `"), "{text}");
        assert_eq!(lines[1], "  looked at /opt/rustc: it is old");
    }

    #[test]
    fn the_last_line_that_says_something_is_the_reason() {
        assert_eq!(
            last_line("info: a\nerror: no network\n\n"),
            "error: no network"
        );
        assert_eq!(last_line(""), "it gave no reason");
    }

    #[test]
    fn rustup_installs_the_pinned_version_and_never_itself() {
        let words: Vec<&str> = rustup_arguments().collect();
        assert!(words.contains(&PINNED_RUST) && words.contains(&"--no-self-update"));
    }
}
