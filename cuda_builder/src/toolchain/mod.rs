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

/// The Rust version that the project's own PTX is built with, and the one that gets installed where
/// none is there.
pub const PINNED_RUST: &str = "1.96.0";

/// The oldest Rust version that compiles device code.
pub(crate) const MINIMUM_RUST: (u32, u32) = (1, 96);
/// The oldest LLVM whose `opt` and `llc` do what the builder asks of them.
pub(crate) const MINIMUM_LLVM: u32 = 22;

const VERSION_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Where a [`Toolchain`]'s compiler was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolchainSource {
    /// Named by [`ToolchainOptions`] or by the environment.
    Explicit,
    /// The rustup toolchain of this name.
    Rustup(String),
    /// The system's packages, or anything else on `PATH`.
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

/// Explicit settings for the search. What is not set is searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolchainOptions {
    /// The Rust compiler for device code.
    pub rustc: Option<PathBuf>,
    /// The folder that holds `llvm-link`, `opt` and `llc`.
    pub llvm_bin: Option<PathBuf>,
    /// The Rust version to take if there is one among several: of the others, those nearest to
    /// [`PINNED_RUST`] come first.
    pub prefer_rust: Option<String>,
}

impl ToolchainOptions {
    /// The settings of the environment variables `WARPWRIGHT_RUSTC` and `WARPWRIGHT_LLVM_BIN`.
    pub fn from_env() -> Self {
        let path = |value: Option<std::ffi::OsString>| value.map(PathBuf::from);
        Self {
            rustc: path(variable("WARPWRIGHT_RUSTC")),
            llvm_bin: path(variable("WARPWRIGHT_LLVM_BIN")),
            prefer_rust: None,
        }
    }
}

/// Tools for device code that fit each other.
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
    /// The commit that the compiler was built from, if it says.
    pub rust_commit: Option<String>,
    /// The version of the LLVM inside the compiler, such as `22.1.8`.
    pub rust_llvm_version: String,
    /// The version of the LLVM tools, such as `22.1.8`.
    pub llvm_version: String,
    /// The compiler's folder of libraries and sources.
    pub sysroot: PathBuf,
    /// Where the compiler was found.
    pub source: ToolchainSource,
}

/// All that a search for tools came upon.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Usable tools, best first.
    pub usable: Vec<Toolchain>,
    /// What was looked at and why it cannot be used.
    pub rejected: Vec<(PathBuf, String)>,
}

impl Toolchain {
    /// The best tools on this machine, with the settings of the environment. Installs nothing.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] with what was looked at and what to type.
    pub fn discover() -> Result<Self, CudaBuilderError> {
        Self::discover_with(&ToolchainOptions::from_env())
    }

    /// The best tools on this machine. Installs nothing.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] with what was looked at and what to type.
    pub fn discover_with(options: &ToolchainOptions) -> Result<Self, CudaBuilderError> {
        let survey = Self::survey(options)?;
        survey
            .usable
            .into_iter()
            .next()
            .ok_or_else(|| install::not_found(&survey.rejected))
    }

    /// All tools on this machine, the best first, and what cannot be used and why.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] where an explicit setting names something that cannot be used.
    pub fn survey(options: &ToolchainOptions) -> Result<Survey, CudaBuilderError> {
        search::survey(options)
    }

    /// The best tools on this machine; where there are none, they are installed: by rustup where it
    /// answers, else by `apt-get` where it is there and we may use it.
    ///
    /// Processes that install at the same time wait for each other. `verbose` prints to standard
    /// error what is being done.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] with what was tried and what to type.
    pub fn install(options: &ToolchainOptions, verbose: bool) -> Result<Self, CudaBuilderError> {
        install::install(options, verbose)
    }

    /// The path of one of the LLVM tools.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.llvm_bin
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// One line: the versions and where they are from.
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

/// The standard output of a short command, or why there is none.
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
