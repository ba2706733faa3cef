//! `demo`: runs the library's main work on real input with one command.
//!
//! This half installs the tools and builds the PTX. The other half, in `program/`, does the work. It is a separate program so
//! that the project's other commands are not linked with the library.

use std::path::PathBuf;
use std::time::Instant;

use cuda_builder::{Toolchain, ToolchainOptions};
use fs_err as fs;

use crate::build_ptx::{self, Built};
use crate::manifest::{Manifest, Tools};
use crate::{Result, command, project};

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
    // Check before anything is built.
    if let Some(input) = arguments.input.as_ref().filter(|input| !input.is_file()) {
        return Err(format!("demo: a picture required, {} is no file", input.display()).into());
    }
    let ptx = if arguments.committed_ptx {
        println!("PTX      the committed modules of host/ptx");
        None
    } else {
        Some(build()?)
    };
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| project::target_dir().join("demo"));
    fs::create_dir_all(&folder)?;

    eprintln!("building the demo's program; the first time takes some minutes");
    // With the profile and the features that the tests have: the README's second command then builds little.
    let mut command = command::program(&["--features=xtask/demo", "--bin=demo"]);
    command.arg("--out").arg(std::path::absolute(&folder)?);
    if let Some(input) = &arguments.input {
        command.arg("--input").arg(std::path::absolute(input)?);
    }
    if let Some(size) = arguments.size {
        command.arg("--size").arg(size.to_string());
    }
    match ptx {
        Some(folder) => command.env("WARPWRIGHT_PTX_DIR", folder),
        None => command.env_remove("WARPWRIGHT_PTX_DIR"),
    };
    command::finish("demo", &mut command)
}

/// Installs the tools if needed, builds every module from its Rust sources, and reports whether the result is the committed
/// one. Returns the folder of the modules.
fn build() -> Result<PathBuf> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    println!("tools    {}", toolchain.summary());
    let folder = project::target_dir().join("demo-ptx");
    let committed = Manifest::read(&project::ptx_folder().join("manifest.json"))
        .ok()
        .flatten();
    let start = Instant::now();
    let built = build_ptx::shipped(&toolchain)?;
    let mut other = Vec::new();
    for Built { record, text } in &built {
        let old = committed.as_ref();
        let old = old.and_then(|it| it.record(&record.arch, &record.family));
        if old.is_none_or(|old| old.sha256 != record.sha256) {
            other.push(record.file());
        }
        project::write(&folder.join(record.file()), text.as_bytes())?;
    }
    println!(
        "PTX      {} modules from gpu/src in {:.0} s",
        built.len(),
        start.elapsed().as_secs_f64()
    );
    let tools = committed.and_then(|it| Some(it.modules.first()?.tools.clone()));
    println!(
        "         {}",
        compared(&other, &Tools::of(&toolchain), tools)
    );
    Ok(folder)
}

/// Returns one line that compares the modules with the committed ones, of which `other` differ.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::tools;

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
