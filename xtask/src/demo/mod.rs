//! `demo`: the main job on real input in one command.
//!
//! This half sets the tools up and builds the PTX; the other half, the program in `program/`, does the work
//! and is a program of its own so that the project's other commands need not be linked with the library.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use cuda_builder::{CudaBuilder, PanicMessages, Toolchain, ToolchainOptions};

use crate::manifest::{Manifest, Tools};
use crate::{Result, project};

/// What to show.
#[derive(clap::Args)]
pub struct Arguments {
    /// A PNG or JPEG picture to work on, instead of one that is drawn.
    #[arg(long, value_name = "IMAGE")]
    input: Option<PathBuf>,
    /// Where to put the pictures; `demo` in the target folder by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The width of the picture that is drawn, in pixels; by default as suits the device.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    size: Option<u32>,
    /// Take the committed PTX: no tools for device code are needed.
    #[arg(long)]
    committed_ptx: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    // Before anything is built.
    if let Some(input) = arguments.input.as_ref().filter(|input| !input.is_file()) {
        return Err(format!("demo: a picture required, {} is no file", input.display()).into());
    }
    let ptx = if arguments.committed_ptx {
        println!("PTX      the committed modules of host/ptx");
        None
    } else {
        Some(build_ptx()?)
    };
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| project::target_dir().join("demo"));
    fs::create_dir_all(&folder)
        .map_err(|error| format!("creating {}: {error}", folder.display()))?;

    eprintln!("building the demo's program; the first time takes some minutes");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .args([
            "run",
            "--quiet",
            "--release",
            "--package=xtask",
            "--features=demo",
            "--bin=demo",
        ])
        .arg("--")
        .arg("--out")
        .arg(std::path::absolute(&folder)?);
    if let Some(input) = &arguments.input {
        command.arg("--input").arg(std::path::absolute(input)?);
    }
    if let Some(size) = arguments.size {
        command.arg("--size").arg(size.to_string());
    }
    command.current_dir(project::root());
    match ptx {
        Some(folder) => command.env("WARPWRIGHT_PTX_DIR", folder),
        None => command.env_remove("WARPWRIGHT_PTX_DIR"),
    };
    let status = command
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("demo: it failed, see above".into())
    }
}

/// Installs the tools if needed, builds every module from its Rust sources, and says whether the result is
/// what is committed. Gives the folder of the modules.
fn build_ptx() -> Result<PathBuf> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    println!("tools    {}", toolchain.summary());
    let folder = project::target_dir().join("demo-ptx");
    let start = Instant::now();
    let (mut equal, mut other) = (0, Vec::new());
    for &arch in project::SHIPPED {
        let modules = CudaBuilder::new(project::gpu_crate())
            .toolchain(&toolchain)
            .target_dir(project::target_dir().join("cuda-builder"))
            .verbose(true)
            .arch(arch)
            .ptx_version(project::ptx_version(arch))
            .panic_messages(PanicMessages::None)
            .modules(project::modules())
            .build_modules()?;
        fs::create_dir_all(folder.join(arch.sm()))?;
        for module in modules {
            let name = format!("{}/{}.ptx", arch.sm(), module.name);
            let text = fs::read_to_string(&module.path)?;
            match fs::read_to_string(project::ptx_folder().join(&name)) {
                Ok(committed) if committed.replace('\r', "") == text => equal += 1,
                _ => other.push(name.clone()),
            }
            fs::write(folder.join(&name), text)?;
        }
    }
    let count = equal + other.len();
    println!(
        "PTX      {count} modules from gpu/src in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    println!(
        "         {}",
        compared(&other, &Tools::of(&toolchain), committed_tools())
    );
    Ok(folder)
}

/// One line on how the modules compare with those committed, of which `other` differ.
fn compared(other: &[String], tools: &Tools, committed: Option<Tools>) -> String {
    match (other, committed) {
        ([], _) => "the same as the committed PTX, byte for byte".to_owned(),
        (_, Some(committed)) if committed != *tools => format!(
            "{} differ from the committed PTX, which {committed} built",
            other.join(", ")
        ),
        _ => format!(
            "{} differ from the committed PTX: the sources have changed since, see `cargo xtask \
             build-ptx`",
            other.join(", ")
        ),
    }
}

fn committed_tools() -> Option<Tools> {
    let manifest = Manifest::read(&project::ptx_folder().join("manifest.json")).ok()??;
    Some(manifest.modules.first()?.tools.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(rustc: &str) -> Tools {
        Tools {
            rustc: rustc.into(),
            rustc_llvm: "22.1.8".into(),
            llvm: "22.1.8".into(),
        }
    }

    #[test]
    fn the_comparison_gives_the_reason() {
        let other = ["sm_75/sum.ptx".to_owned()];
        assert!(compared(&[], &tools("1"), None).contains("byte for byte"));
        let text = compared(&other, &tools("1.97.0"), Some(tools("1.96.0")));
        assert!(text.contains("which rustc 1.96.0"), "{text}");
        for committed in [None, Some(tools("1.97.0"))] {
            let text = compared(&other, &tools("1.97.0"), committed);
            assert!(text.contains("cargo xtask build-ptx"), "{text}");
        }
    }
}
