//! The tools for device code: a Rust compiler with its library sources, and LLVM's tools.

mod install;
mod search;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use system::environment::variable;

use crate::CudaBuilderError;
use crate::process;

pub(crate) use install::{on_path, private, refused, tools_folder};

/// The Rust version that the project's own PTX is built with, and that is installed if there is none.
pub const PINNED_RUST: &str = "1.96.0";

/// The oldest Rust version that compiles device code.
pub(crate) const MINIMUM_RUST: (u32, u32) = (1, 96);
/// The oldest LLVM whose `opt` and `llc` the builder supports.
pub(crate) const MINIMUM_LLVM: u32 = 22;

const VERSION_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// The origin of a [`Toolchain`]'s compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolchainSource {
    /// [`ToolchainOptions`] or the environment named the compiler.
    Explicit,
    /// The compiler is rustup's toolchain of this name.
    Rustup(String),
    /// The compiler comes from the system's packages or another folder on `PATH`.
    System,
}

impl fmt::Display for ToolchainSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("explicit setting"),
            Self::Rustup(name) => write!(f, "rustup toolchain {name}"),
            Self::System => f.write_str("system"),
        }
    }
}

/// Explicit settings for the search. Unset tools are searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolchainOptions {
    /// The Rust compiler for device code.
    pub rustc: Option<PathBuf>,
    /// The folder that holds `llvm-link`, `opt` and `llc`.
    pub llvm_bin: Option<PathBuf>,
    /// The preferred Rust version if there are several. Of the other versions, those nearest to [`PINNED_RUST`] come first.
    pub prefer_rust: Option<String>,
}

impl ToolchainOptions {
    /// Returns the settings of the environment variables `WARPWRIGHT_RUSTC` and `WARPWRIGHT_LLVM_BIN`.
    pub fn from_env() -> Self {
        let path = |value: Option<std::ffi::OsString>| value.map(PathBuf::from);
        Self {
            rustc: path(variable("WARPWRIGHT_RUSTC")),
            llvm_bin: path(variable("WARPWRIGHT_LLVM_BIN")),
            prefer_rust: None,
        }
    }
}

/// A set of matching tools for device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The Rust compiler.
    pub rustc: PathBuf,
    /// The cargo that drives it.
    pub cargo: PathBuf,
    /// The folder of the LLVM tools.
    pub llvm_bin: PathBuf,
    /// The compiler's version, such as `1.96.0`.
    pub rust_version: String,
    /// The commit that the compiler was built from, if the compiler reports it.
    pub rust_commit: Option<String>,
    /// The version of the LLVM inside the compiler, such as `22.1.8`.
    pub rust_llvm_version: String,
    /// The version of the LLVM tools, such as `22.1.8`.
    pub llvm_version: String,
    /// The compiler's folder of libraries and sources.
    pub sysroot: PathBuf,
    /// The origin of the compiler.
    pub source: ToolchainSource,
}

/// The result of a search for tools.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Usable tools, best first.
    pub usable: Vec<Toolchain>,
    /// The candidates that cannot be used, with the reasons.
    pub rejected: Vec<(PathBuf, String)>,
}

impl Toolchain {
    /// Finds the best tools on this machine, with the settings of the environment. Installs nothing.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`], which lists what was searched and the command to type.
    pub fn discover() -> Result<Self, CudaBuilderError> {
        Self::discover_with(&ToolchainOptions::from_env())
    }

    /// Finds the best tools on this machine, with the given settings. Installs nothing.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`], which lists what was searched and the command to type.
    pub fn discover_with(options: &ToolchainOptions) -> Result<Self, CudaBuilderError> {
        let survey = Self::survey(options)?;
        survey
            .usable
            .into_iter()
            .next()
            .ok_or_else(|| install::not_found(&survey.rejected))
    }

    /// Finds all tools on this machine, the best first, and those that cannot be used with the reasons.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`] if an explicit setting names tools that cannot be used.
    pub fn survey(options: &ToolchainOptions) -> Result<Survey, CudaBuilderError> {
        search::survey(options)
    }

    /// Finds the best tools on this machine, or installs them if there are none: by rustup if it works, else by `apt-get`
    /// if it exists and the user may run it.
    ///
    /// Processes that install at the same time wait for each other. `verbose` prints the progress to standard error.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`], which lists what was tried and the command to type.
    pub fn install(options: &ToolchainOptions, verbose: bool) -> Result<Self, CudaBuilderError> {
        install::install(options, verbose)
    }

    /// Returns the path of one of the LLVM tools.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.llvm_bin
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Returns one line with the versions and the origin of the tools.
    pub fn summary(&self) -> String {
        format!(
            "rustc {} (LLVM {}) from {}, LLVM tools {} in {}",
            self.rust_version,
            self.rust_llvm_version,
            self.source,
            self.llvm_version,
            self.llvm_bin.display()
        )
    }
}

/// Returns the standard output of a short command, or why it failed.
pub(crate) fn ask(program: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(args);
    process::clear_parent_cargo(&mut command);
    match process::run(&mut command, Some(VERSION_LIMIT), false) {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let reason = output
                .stderr
                .lines()
                .next()
                .unwrap_or("it gave no reason")
                .to_owned();
            Err(format!(
                "`{} {}` failed: {reason}",
                program.display(),
                args.join(" ")
            ))
        }
        Err(error) => Err(format!("`{}` {error}", program.display())),
    }
}
