//! `cross-check`: checks the crates that go into users' programs for other systems.
//!
//! It needs none of their compilers: nothing is linked, and the standard library is built from the sources that `setup`
//! installs for `core`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cuda_builder::{Toolchain, ToolchainOptions};

use crate::{Result, project};

/// The targets that are checked by default.
const TARGETS: &[&str] = &[
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-msvc",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
];

/// The library, its dependencies, and the builder of users' kernels.
const PACKAGES: &[&str] = &[
    "warpwright-system",
    "warpwright-cust-core",
    "warpwright-cust-derive",
    "warpwright-cust",
    "warpwright-cuda-std",
    "warpwright-cuda-builder",
    "warpwright",
];

/// What to check for.
#[derive(clap::Args)]
pub struct Arguments {
    /// Rust's names of targets; Linux on arm64, Windows by either linker and macOS where none is given.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// Checks for each target in turn.
pub fn run(arguments: &Arguments) -> Result<()> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    let given: BTreeSet<&str> = arguments.targets.iter().map(String::as_str).collect();
    let targets = match given.is_empty() {
        true => TARGETS.to_vec(),
        false => given.into_iter().collect(),
    };
    let mut failed = Vec::new();
    for target in targets {
        let mut command = std::process::Command::new(&toolchain.cargo);
        command
            .args(["check", "--quiet", "--locked", "--target", target])
            .arg("-Zbuild-std=std,panic_abort")
            .args(PACKAGES.iter().flat_map(|package| ["--package", package]))
            .current_dir(project::root())
            .env("RUSTC", &toolchain.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env(
                "CARGO_TARGET_DIR",
                project::target_dir().join("cross-check"),
            )
            // The standard library is compiled and then discarded.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "none")
            .env_remove("RUSTFLAGS")
            .envs(import_libraries(target, &toolchain)?)
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        let output = system::process::run(&mut command, None, false)
            .map_err(|error| format!("cross-check: {}: {error}", toolchain.cargo.display()))?;
        let good = output.status.success();
        println!("{} {target}", if good { "ok    " } else { "fails " });
        if !good {
            failed.push(target.to_owned());
        }
        // The errors, and warnings that only this target has.
        eprint!("{}", output.stderr);
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "cross-check: every target required, failed {}",
        failed.join(", ")
    )
    .into())
}

/// Returns the setting for a target whose compiler makes import libraries by another tool. LLVM's library tool does that if it
/// is called by that tool's name.
fn import_libraries(target: &str, toolchain: &Toolchain) -> Result<Option<(String, String)>> {
    if !target.ends_with("-windows-gnu") {
        return Ok(None);
    }
    let mut tool = toolchain.llvm_bin.join(exe("llvm-dlltool"));
    if !tool.is_file() {
        tool = project::target_dir()
            .join("cross-check")
            .join(exe("dlltool"));
        link(&toolchain.llvm_bin.join(exe("llvm-ar")), &tool)?;
    }
    let name = target.replace('-', "_").to_uppercase();
    Ok(Some((
        format!("CARGO_TARGET_{name}_RUSTFLAGS"),
        format!("-Cdlltool={}", tool.display()),
    )))
}

fn exe(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Gives a program a second name. (A copy would not find its libraries.)
fn link(program: &Path, name: &Path) -> Result<()> {
    if !program.is_file() {
        let path = program.display();
        return Err(format!("cross-check: {path} required, which is not there").into());
    }
    std::fs::create_dir_all(name.parent().unwrap_or(name))?;
    let _ = std::fs::remove_file(name);
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, name)?;
    #[cfg(not(unix))]
    std::fs::hard_link(program, name)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_by_gnus_linker_needs_a_library_tool() {
        let folder = tempfile::tempdir().unwrap();
        let toolchain = Toolchain {
            rustc: PathBuf::new(),
            cargo: PathBuf::new(),
            llvm_bin: folder.path().to_owned(),
            rust_version: String::new(),
            rust_commit: None,
            rust_llvm_version: String::new(),
            llvm_version: String::new(),
            sysroot: PathBuf::new(),
            source: cuda_builder::ToolchainSource::Explicit,
        };
        for target in TARGETS.iter().filter(|target| !target.ends_with("-gnu")) {
            assert_eq!(import_libraries(target, &toolchain).unwrap(), None);
        }
        let tool = folder.path().join(exe("llvm-dlltool"));
        std::fs::write(&tool, "").unwrap();
        let (name, flags) = import_libraries("x86_64-pc-windows-gnu", &toolchain)
            .unwrap()
            .unwrap();
        assert_eq!(name, "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS");
        assert_eq!(flags, format!("-Cdlltool={}", tool.display()));
        let missing = link(
            &folder.path().join("llvm-ar"),
            &folder.path().join("dlltool"),
        );
        assert!(
            missing
                .unwrap_err()
                .to_string()
                .contains("required, which is not there")
        );
    }
}
