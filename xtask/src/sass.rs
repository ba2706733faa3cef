//! `sass`: shows the machine code of one kernel.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use cuda_builder::NvvmArch;
use cuda_builder::assemble::{CUOBJDUMP, NVDISASM, Ptxas};

use crate::manifest::Manifest;
use crate::{Result, command, project};

/// What to show.
#[derive(clap::Args)]
pub struct Arguments {
    /// The kernel's entry, as in the manifest.
    entry: String,
    /// The architecture whose PTX is taken; by default the newest that has the kernel.
    #[arg(long, value_name = "ARCH")]
    arch: Option<NvvmArch>,
    /// Assemble for this architecture, if it is not the PTX's own: the code that a newer card would
    /// run.
    #[arg(long, value_name = "ARCH")]
    target: Option<NvvmArch>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = project::ptx_folder();
    let manifest = Manifest::read(&folder.join("manifest.json"))?
        .ok_or("host/ptx/manifest.json is not there; type `cargo xtask build-ptx`")?;
    let record = manifest
        .modules
        .iter()
        .filter(|record| arguments.arch.is_none_or(|arch| arch.sm() == record.arch))
        .filter(|record| record.entries.contains(&arguments.entry))
        .max_by_key(|record| record.arch.parse::<NvvmArch>().ok())
        .ok_or_else(|| not_found(&arguments.entry, &manifest))?;
    let target = match arguments.target {
        Some(arch) => arch,
        None => record.arch.parse()?,
    };
    let ptxas = Ptxas::install(true)?;
    let cuobjdump = CUOBJDUMP.install("cuobjdump", true)?;
    let nvdisasm = NVDISASM.install("nvdisasm", true)?;
    let temporary = tempfile::tempdir()?;
    let cubin = temporary.path().join("module.cubin");
    ptxas.assemble_to(&folder.join(record.file()), target, &cubin)?;
    let mut command = Command::new(&cuobjdump);
    command
        .args(["-sass", "-fun", &arguments.entry])
        .arg(&cubin)
        // The tool looks for the disassembler on `PATH`.
        .env("PATH", path_with(nvdisasm.parent())?);
    print!("{}", command::output("sass", &mut command)?);
    Ok(())
}

fn path_with(folder: Option<&Path>) -> Result<OsString> {
    let old = env::var_os("PATH").unwrap_or_default();
    let folders = folder
        .map(Path::to_owned)
        .into_iter()
        .chain(env::split_paths(&old));
    Ok(env::join_paths(folders)?)
}

fn not_found(entry: &str, manifest: &Manifest) -> String {
    let mut near: Vec<&str> = manifest
        .modules
        .iter()
        .flat_map(|record| &record.entries)
        .map(String::as_str)
        .filter(|name| name.contains(entry))
        .collect();
    near.sort_unstable();
    near.dedup();
    if near.is_empty() {
        format!("sass: an entry of host/ptx/manifest.json required, given `{entry}`")
    } else {
        format!(
            "sass: one entry required, `{entry}` is part of {}",
            near.join(", ")
        )
    }
}
