//! The search for compilers and LLVM tools.

use std::cmp::Reverse;
use std::env;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};

use super::{
    MINIMUM_LLVM, MINIMUM_RUST, PINNED_RUST, Survey, Toolchain, ToolchainOptions, ToolchainSource,
    ask,
};
use crate::CudaBuilderError;

const TOOLS: [&str; 3] = ["llvm-link", "opt", "llc"];

pub(super) fn survey(options: &ToolchainOptions) -> Result<Survey, CudaBuilderError> {
    let llvm_bin = options.llvm_bin.as_deref();
    if let Some(folder) = llvm_bin {
        llvm_tools_version(folder).map_err(|reason| {
            CudaBuilderError::Tools(format!("LLVM tools named by the settings: {reason}"))
        })?;
    }
    if let Some(rustc) = &options.rustc {
        let found = examine(rustc, ToolchainSource::Explicit, llvm_bin).map_err(|reason| {
            CudaBuilderError::Tools(format!("Rust compiler named by the settings: {reason}"))
        })?;
        return Ok(Survey {
            usable: vec![found],
            rejected: Vec::new(),
        });
    }
    let mut survey = Survey::default();
    for (rustc, source) in candidates() {
        match examine(&rustc, source, llvm_bin) {
            Ok(found) => survey.usable.push(found),
            Err(reason) => survey.rejected.push((rustc, reason)),
        }
    }
    // The sort is stable: rustup's toolchains stay before the system's of the same version.
    survey.usable.sort_by_key(|found| {
        let preferred = options.prefer_rust.as_deref() == Some(found.rust_version.as_str());
        let pinned = found.rust_version == PINNED_RUST;
        (
            Reverse(preferred),
            Reverse(pinned),
            numbers(&found.rust_version),
        )
    });
    Ok(survey)
}

/// Returns all candidate Rust compilers, rustup's first.
fn candidates() -> Vec<(PathBuf, ToolchainSource)> {
    let mut found: Vec<(PathBuf, ToolchainSource)> = Vec::new();
    let mut seen = Vec::new();
    let mut add = |rustc: PathBuf, source: ToolchainSource| {
        let Ok(real) = fs::canonicalize(&rustc) else {
            return;
        };
        // rustup's proxy runs the toolchain that the folder selects. The toolchains themselves are listed separately.
        if real.file_stem().is_some_and(|stem| stem == "rustup") || seen.contains(&real) {
            return;
        }
        seen.push(real);
        found.push((rustc, source));
    };
    for toolchain in rustup_toolchains() {
        let name = toolchain
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        add(
            toolchain.join("bin").join(exe("rustc")),
            ToolchainSource::Rustup(name),
        );
    }
    for folder in path_folders()
        .into_iter()
        .chain([PathBuf::from("/usr/bin")])
    {
        add(folder.join(exe("rustc")), ToolchainSource::System);
    }
    found
}

fn rustup_toolchains() -> Vec<PathBuf> {
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".rustup")));
    let Some(home) = home else { return Vec::new() };
    let Ok(folders) = fs::read_dir(home.join("toolchains")) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = folders.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn path_folders() -> Vec<PathBuf> {
    env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}

fn exe(name: &str) -> String {
    format!("{name}{EXE_SUFFIX}")
}

/// Checks whether `rustc` can be used, and with which LLVM tools.
fn examine(
    rustc: &Path,
    source: ToolchainSource,
    llvm_bin: Option<&Path>,
) -> Result<Toolchain, String> {
    let version = ask(rustc, &["-vV"])?;
    let field = |name: &str| {
        version
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim().to_owned())
    };
    let rust_version = field("release:").ok_or("it does not tell its version")?;
    let rust_llvm_version = field("LLVM version:").ok_or("it does not tell its LLVM version")?;
    let host = field("host:").ok_or("it does not tell its host")?;
    let rust_commit = field("commit-hash:").filter(|commit| commit != "unknown");
    let wanted = format!("{}.{}", MINIMUM_RUST.0, MINIMUM_RUST.1);
    if numbers(&rust_version) < vec![MINIMUM_RUST.0, MINIMUM_RUST.1] {
        return Err(format!(
            "Rust {wanted} or newer required, it is {rust_version}"
        ));
    }
    let rust_major = major(&rust_llvm_version).ok_or("its LLVM version is no number")?;
    if rust_major < MINIMUM_LLVM {
        return Err(format!(
            "LLVM {MINIMUM_LLVM} or newer required, it has {rust_llvm_version}"
        ));
    }
    let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim());
    let sources = sysroot.join("lib/rustlib/src/rust/library");
    if !sources.join("core/src/lib.rs").is_file() {
        return Err(format!(
            "the library sources are not in {}",
            sources.display()
        ));
    }

    let (llvm_bin, llvm_version) = match llvm_bin {
        Some(folder) => (folder.to_owned(), llvm_tools_version(folder)?),
        None => find_llvm(&sysroot, &host, rust_major)?,
    };
    if major(&llvm_version) != Some(rust_major) {
        return Err(format!(
            "LLVM tools of version {rust_major} required, since rustc {rust_version} has LLVM \
             {rust_llvm_version}; those in {} are of version {llvm_version}",
            llvm_bin.display()
        ));
    }
    Ok(Toolchain {
        cargo: find_cargo(rustc),
        rustc: rustc.to_owned(),
        llvm_bin,
        rust_version,
        rust_commit,
        rust_llvm_version,
        llvm_version,
        sysroot,
        source,
    })
}

/// Returns the first folder with LLVM tools of the compiler's major version.
fn find_llvm(sysroot: &Path, host: &str, major_version: u32) -> Result<(PathBuf, String), String> {
    let mut folders = vec![
        sysroot.join("lib/rustlib").join(host).join("bin"),
        PathBuf::from(format!("/usr/lib/llvm-{major_version}/bin")),
        PathBuf::from(format!("/usr/lib/llvm{major_version}/bin")),
        PathBuf::from(format!("/usr/lib64/llvm{major_version}/bin")),
        PathBuf::from(format!("/opt/homebrew/opt/llvm@{major_version}/bin")),
    ];
    folders.extend(path_folders());
    let mut other = String::new();
    for folder in folders {
        if !TOOLS.iter().all(|tool| folder.join(exe(tool)).is_file()) {
            continue;
        }
        match llvm_tools_version(&folder) {
            Ok(version) if major(&version) == Some(major_version) => return Ok((folder, version)),
            Ok(version) => {
                other = format!("; those in {} are of version {version}", folder.display());
            }
            Err(reason) => other = format!("; {reason}"),
        }
    }
    Err(format!(
        "no LLVM tools ({}) of version {major_version} found{other}",
        TOOLS.join(", ")
    ))
}

/// Returns the common version of all three tools of a folder.
fn llvm_tools_version(folder: &Path) -> Result<String, String> {
    let mut common: Option<String> = None;
    for tool in TOOLS {
        let path = folder.join(exe(tool));
        if !path.is_file() {
            return Err(format!("`{tool}` is not in {}", folder.display()));
        }
        let text = ask(&path, &["--version"])?;
        let version = parse_llvm_version(&text)
            .ok_or_else(|| format!("{} does not tell its LLVM version", path.display()))?;
        if common.as_ref().is_some_and(|other| *other != version) {
            return Err(format!(
                "the tools in {} are of different versions",
                folder.display()
            ));
        }
        common = Some(version);
    }
    common.ok_or_else(|| "no tools".to_owned())
}

/// Returns the number after `LLVM version`, without a suffix such as `-rust-1.96.0-stable`.
fn parse_llvm_version(text: &str) -> Option<String> {
    let rest = text.split("LLVM version ").nth(1)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// Parses `1.97.0-nightly` as `[1, 97, 0]`.
fn numbers(version: &str) -> Vec<u32> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

/// Returns the cargo beside the compiler, else the one that runs this process, else the one on `PATH`.
fn find_cargo(rustc: &Path) -> PathBuf {
    let beside = rustc.with_file_name(exe("cargo"));
    if beside.is_file() {
        return beside;
    }
    env::var_os("CARGO")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from("cargo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_versions_are_read() {
        let rustup = "LLVM (http://llvm.org/):\n  LLVM version 22.1.2-rust-1.96.0-stable\n  Opt";
        assert_eq!(parse_llvm_version(rustup).as_deref(), Some("22.1.2"));
        let debian = "Debian LLVM version 22.1.8\n  Optimized build.";
        assert_eq!(parse_llvm_version(debian).as_deref(), Some("22.1.8"));
        assert_eq!(parse_llvm_version("clang 22"), None);
        assert_eq!(major("22.1.8"), Some(22));
    }

    #[test]
    fn rust_versions_are_ordered_as_numbers() {
        assert_eq!(numbers("1.97.0-nightly"), [1, 97, 0]);
        assert!(numbers("1.95.0") < vec![1, 96]);
        assert!(numbers("1.96.0") >= vec![1, 96]);
        assert!(numbers("1.100.0") > numbers("1.96.0"));
    }

    #[test]
    fn explicit_settings_that_cannot_be_used_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let options = ToolchainOptions {
            llvm_bin: Some(folder.path().to_owned()),
            ..Default::default()
        };
        let error = survey(&options).unwrap_err().to_string();
        assert!(error.contains("`llvm-link` is not in"), "{error}");

        let rustc = Some(folder.path().join("no-rustc"));
        let error = survey(&ToolchainOptions {
            rustc,
            ..Default::default()
        })
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("Rust compiler named by the settings"),
            "{error}"
        );
    }

    #[cfg(unix)]
    mod with_stand_ins {
        use std::process::Command;

        use super::*;

        /// Another process writes the file. A file that this process had open for writing could not be run while another
        /// test starts a program.
        fn script(path: &Path, text: &str) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let status = Command::new("sh")
                .args([
                    "-c",
                    "printf '%s\\n' '#!/bin/sh' \"$2\" > \"$1\" && chmod 755 \"$1\"",
                    "sh",
                ])
                .arg(path)
                .arg(text)
                .status()
                .unwrap();
            assert!(status.success());
        }

        fn stand_in(folder: &Path, rust: &str, rust_llvm: &str, tools_llvm: &str) -> PathBuf {
            let rustc = folder.join("bin/rustc");
            script(
                &rustc,
                &format!(
                    "if [ \"$1\" = -vV ]; then printf 'release: {rust}\\nhost: x86_64-unknown\\n\
                     LLVM version: {rust_llvm}\\n'; else echo {}; fi",
                    folder.display()
                ),
            );
            for tool in TOOLS {
                let path = folder.join("lib/rustlib/x86_64-unknown/bin").join(tool);
                script(&path, &format!("echo 'LLVM version {tools_llvm}-rust'"));
            }
            rustc
        }

        fn add_sources(folder: &Path) {
            let core = folder.join("lib/rustlib/src/rust/library/core/src");
            fs::create_dir_all(&core).unwrap();
            fs::write(core.join("lib.rs"), "").unwrap();
        }

        #[test]
        fn what_fits_is_taken() {
            let folder = tempfile::tempdir().unwrap();
            let rustc = stand_in(folder.path(), "1.97.0-nightly", "22.1.4", "22.1.4");
            add_sources(folder.path());
            let found = examine(&rustc, ToolchainSource::Explicit, None).unwrap();
            assert_eq!(found.rust_version, "1.97.0-nightly");
            assert_eq!(found.llvm_version, "22.1.4");
            assert_eq!(found.rust_commit, None);
        }

        #[test]
        fn missing_sources_are_named() {
            let folder = tempfile::tempdir().unwrap();
            let rustc = stand_in(folder.path(), "1.96.0", "22.1.8", "22.1.8");
            let reason = examine(&rustc, ToolchainSource::Explicit, None).unwrap_err();
            assert!(reason.contains("library sources are not in"), "{reason}");
        }

        #[test]
        fn an_old_compiler_is_refused() {
            let folder = tempfile::tempdir().unwrap();
            let rustc = stand_in(folder.path(), "1.95.0", "22.1.2", "22.1.2");
            add_sources(folder.path());
            let reason = examine(&rustc, ToolchainSource::Explicit, None).unwrap_err();
            assert_eq!(reason, "Rust 1.96 or newer required, it is 1.95.0");
        }

        #[test]
        fn tools_of_another_llvm_are_refused() {
            let folder = tempfile::tempdir().unwrap();
            let rustc = stand_in(folder.path(), "1.99.0", "23.1.0", "22.1.8");
            add_sources(folder.path());
            let bin = folder.path().join("lib/rustlib/x86_64-unknown/bin");
            let reason = examine(&rustc, ToolchainSource::Explicit, Some(&bin)).unwrap_err();
            assert!(
                reason.contains("LLVM tools of version 23 required"),
                "{reason}"
            );
            assert!(reason.contains("are of version 22.1.8"), "{reason}");
        }
    }
}
