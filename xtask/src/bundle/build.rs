//! Builds the contents of a bundle.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch, PanicMessages};
use fs_err as fs;
use serde::Deserialize;

use crate::{Result, build_ptx, command, project, sources};

/// The profile of shipped programs: optimized, and small.
const PROFILE: &[&str] = &[
    "--profile=bundle",
    "--config=profile.bundle.inherits='release'",
    "--config=profile.bundle.debug=0",
    "--config=profile.bundle.strip=true",
];

/// A test program.
#[derive(Debug, PartialEq, Eq)]
pub struct Executable {
    /// The package of the test.
    pub package: String,
    /// The name of the test, or of the library or program that has these unit tests.
    pub target: String,
    /// Whether these are unit tests.
    pub unit: bool,
    /// The path of the program.
    pub path: PathBuf,
}

impl Executable {
    /// Returns a name that no other test program of the workspace has.
    pub fn name(&self) -> String {
        let Self {
            package,
            target,
            unit,
            ..
        } = self;
        if *unit {
            format!("{package}-unit-{target}")
        } else {
            format!("{package}-{target}")
        }
    }
}

/// The programs that cargo built.
pub struct Built {
    /// The program `warpwright`.
    pub program: PathBuf,
    /// All test programs, ordered by name.
    pub tests: Vec<Executable>,
    /// The programs of the workspace's examples, and the benchmark: names and paths.
    pub examples: Vec<(String, PathBuf)>,
}

/// Builds the program and the tests of all packages except the excluded ones.
pub fn workspace(excluded: &[&str]) -> Result<Built> {
    let mut arguments = vec!["test", "--workspace", "--no-run"];
    arguments.push("--features=warpwright-bench/tuning");
    for package in excluded {
        arguments.extend(["--exclude", package]);
    }
    read(&cargo(&arguments)?)
}

/// Builds only the program.
pub fn program() -> Result<PathBuf> {
    Ok(read(&cargo(&[
        "build",
        "--package=warpwright-cli",
        "--bin=warpwright",
    ])?)?
    .program)
}

/// Builds the kernels of the test `device_library`, as the test does if there is a compiler.
pub fn device_tests(arch: NvvmArch, to: &Path) -> Result<()> {
    let builder = kernels_of_tests("device").arch(arch);
    builder
        .build_args(&["--features=vek"])
        .copy_to(to)
        .build()?;
    Ok(())
}

/// Builds the kernels of the test `programs`, as the test does if there is a compiler.
pub fn program_tests(messages: PanicMessages, folder: &Path) -> Result<()> {
    let name = format!("programs-{messages:?}.ptx").to_lowercase();
    let builder = kernels_of_tests("programs").panic_messages(messages);
    builder.copy_to(folder.join(name)).build()?;
    Ok(())
}

/// Returns the builder of a crate of kernels in `cuda_std/tests`.
fn kernels_of_tests(name: &str) -> CudaBuilder {
    CudaBuilder::new(project::root().join("cuda_std/tests").join(name))
        .install_tools(true)
        .target_dir(project::target_dir().join("cuda-builder"))
}

/// Returns the folder of the PTX with source lines. The PTX is rebuilt if the sources have changed.
pub fn ptx_with_lines() -> Result<PathBuf> {
    let folder = project::target_dir().join("ptx-line");
    let (stamp, hash) = (folder.join("sources"), sources::hash()?);
    if fs::read_to_string(&stamp).is_ok_and(|built| built == hash) {
        return Ok(folder);
    }
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    build_ptx::with_lines()?;
    fs::write(stamp, hash)?;
    Ok(folder)
}

/// Runs cargo with `arguments` and the profile of bundles, and returns its report.
fn cargo(arguments: &[&str]) -> Result<String> {
    let mut command = command::cargo();
    command
        .args(arguments)
        .args(PROFILE)
        .arg("--message-format=json-render-diagnostics");
    command::output("bundle", &mut command)
}

/// The used parts of a line of cargo's report.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn read(report: &str) -> Result<Built> {
    let (mut program, mut tests, mut examples) = (None, Vec::new(), Vec::new());
    for line in report.lines() {
        let message: Message = serde_json::from_str(line)
            .map_err(|error| format!("cargo's report: {error}: {line}"))?;
        let Message {
            package_id: Some(id),
            target: Some(target),
            profile: Some(profile),
            executable: Some(path),
            ..
        } = message
        else {
            continue;
        };
        if message.reason != "compiler-artifact" {
            continue;
        }
        let is = |kind: &str| target.kind.iter().any(|found| found == kind);
        if profile.test {
            let unit = !is("test");
            tests.push(Executable {
                package: package(&id),
                target: target.name,
                unit,
                path,
            });
        } else if is("example") || (is("bin") && target.name == "warpwright-bench") {
            examples.push((target.name, path));
        } else if is("bin") && target.name == "warpwright" {
            program = Some(path);
        }
    }
    tests.sort_by_key(Executable::name);
    let program = program.ok_or("cargo did not report the program `warpwright`")?;
    examples.sort();
    Ok(Built {
        program,
        tests,
        examples,
    })
}

/// Returns the name in a package's identity: `path+file:///w/host#warpwright@0.1.0`, or `…/xtask#0.1.0` if the folder has the
/// package's name.
fn package(id: &str) -> String {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => place.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_in_two_ways() {
        assert_eq!(
            package("path+file:///w/host#warpwright@0.1.0"),
            "warpwright"
        );
        assert_eq!(package("path+file:///w/xtask#0.1.0"), "xtask");
    }

    #[test]
    fn cargos_report_is_read() {
        let artifact = |kind: &str, name: &str, test: bool, path: Option<&str>| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": "path+file:///w/cli#warpwright-cli@0.1.0",
                "target": {"name": name, "kind": [kind], "src_path": "x"},
                "profile": {"test": test, "opt_level": "3"},
                "executable": path,
            })
            .to_string()
        };
        let mut report = [
            artifact("lib", "warpwright_cli", false, None),
            artifact("test", "good_input", true, Some("/t/good")),
            artifact("lib", "warpwright_cli", true, Some("/t/lib")),
            artifact("bin", "warpwright", true, Some("/t/bin")),
            artifact("bin", "warpwright", false, Some("/t/warpwright")),
            artifact("example", "sanity", false, Some("/t/sanity")),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let built = read(&report.join("\n")).unwrap();
        assert_eq!(built.program, Path::new("/t/warpwright"));
        assert_eq!(
            built.examples,
            [("sanity".to_owned(), PathBuf::from("/t/sanity"))]
        );
        let names: Vec<String> = built.tests.iter().map(Executable::name).collect();
        assert_eq!(
            names,
            [
                "warpwright-cli-good_input",
                "warpwright-cli-unit-warpwright",
                "warpwright-cli-unit-warpwright_cli"
            ]
        );
        report[4].clear();
        assert!(read(&report[..4].join("\n")).is_err());
    }
}
