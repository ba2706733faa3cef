//! `wheel`: builds the library for Python, installs it in an environment of its own, and runs its tests there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, command, project};

/// What builds the wheel.
const MATURIN: &str = "maturin==1.16.0";

/// What `wheel` is told.
#[derive(clap::Args)]
pub struct Arguments {
    /// The profile of cargo's that the wheel is built with.
    #[arg(long, default_value = "release", value_name = "NAME")]
    profile: String,
    /// The Python to build and test with, 3.9 or later.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: PathBuf,
}

/// Checks the sources, builds the wheel, and tests it.
pub fn wheel(arguments: &Arguments) -> Result<()> {
    let source = project::root().join("python");
    let folder = project::target_dir().join("wheel");
    let cargo = |words: &[&str]| {
        let mut command = command::cargo();
        command.current_dir(&source).args(words);
        command.env("CARGO_TARGET_DIR", project::target_dir());
        command::finish("wheel", &mut command)
    };
    cargo(&["fmt", "--check"])?;
    let profile = arguments.profile.as_str();
    cargo(&[
        "clippy",
        "--locked",
        "--profile",
        profile,
        "--",
        "-D",
        "warnings",
    ])?;

    let tools = environment(&arguments.python, &folder.join("tools"))?;
    install(&tools, &[MATURIN])?;
    let wheels = folder.join("dist");
    remove(&wheels)?;
    let mut maturin = Command::new(&tools);
    maturin
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", project::target_dir())
        .args(["-m", "maturin", "build", "--locked", "--profile", profile])
        .arg("--out")
        .arg(&wheels)
        .arg("--interpreter")
        .arg(&tools);
    command::finish("wheel", &mut maturin)?;
    let built = fs::read_dir(&wheels)?
        .next()
        .ok_or("wheel: maturin built no wheel")??;

    let clean = environment(&arguments.python, &folder.join("clean"))?;
    install(&clean, &[&built.path().to_string_lossy()])?;
    let mut tests = Command::new(&clean);
    tests
        .current_dir(&source)
        .args(["-m", "unittest", "discover", "-s", "tests"]);
    command::finish("wheel", &mut tests)?;
    println!(
        "wheel: {}, {} bytes",
        built.path().display(),
        built.metadata()?.len()
    );
    Ok(())
}

/// Makes an empty environment of Python's. Returns its interpreter.
fn environment(python: &Path, folder: &Path) -> Result<PathBuf> {
    remove(folder)?;
    let mut command = Command::new(python);
    command.args(["-m", "venv"]).arg(folder);
    command::finish("wheel", &mut command).map_err(|error| {
        format!("{error}\nwheel: a Python with the module venv required (python3-venv on Debian)")
    })?;
    let inside = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    Ok(folder.join(inside))
}

fn install(python: &Path, packages: &[&str]) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ])
    .args(["--only-binary", ":all:"])
    .args(packages)
    // With `-m`, Python searches the working directory for modules first.
    .current_dir(env::temp_dir());
    command::finish("wheel", &mut pip)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
