//! What the commands know of the project: its folders, its families, what is shipped.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{Module, NvvmArch, PtxVersion};

use crate::Result;

/// The architectures that PTX is shipped for. The driver compiles the oldest for every later device; a
/// later one is added with the first kernel that has instructions of it. (Built for sm_80, all of today's
/// kernels are the same text but for the line that names the architecture.)
pub const SHIPPED: &[NvvmArch] = &[NvvmArch::Compute75];

/// The architectures that machine code of what `auto` launches is shipped for, beside the PTX, so that the first call on a
/// machine does not wait for the driver's compiler. Code runs on its own generation alone, and each architecture adds what
/// it packs to, most of a megabyte, to every program with the library: the cards whose times are published have it.
pub const ASSEMBLED: &[NvvmArch] = &[NvvmArch::Compute90];

/// These architectures, each with the one whose PTX is assembled for it: the newest, as the driver is given it.
pub fn assembled() -> Vec<(NvvmArch, NvvmArch)> {
    let newest = |arch| SHIPPED.iter().copied().filter(|from| *from <= arch).max();
    let pair = |&arch: &NvvmArch| Some((arch, newest(arch)?));
    ASSEMBLED.iter().filter_map(pair).collect()
}

/// The kernels that `auto` launches of a family, without the suffix of the instance.
pub fn best_kernels(family: &str) -> &'static [&'static str] {
    warpwright_gpu::family(family)
        .and_then(|family| family.variants.last())
        .map_or(&[], |best| best.kernels)
}

/// The version of PTX for an architecture: the lowest that has the instructions in use.
pub fn ptx_version(arch: NvvmArch) -> PtxVersion {
    arch.default_ptx_version()
}

/// Kernels that may use local memory: the start of the name, and the reason.
pub const LOCAL_MEMORY_ALLOWED: &[(&str, &str)] = &[];

/// The families of kernels: the entries of a family are named `<family>_<variant>__<suffix>`.
pub fn families() -> Vec<&'static str> {
    warpwright_gpu::FAMILIES
        .iter()
        .map(|family| family.name)
        .collect()
}

/// One PTX module per family.
pub fn modules() -> Vec<Module> {
    families().into_iter().map(Module::family).collect()
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    // Cargo sets the variable when it runs us; a checkout may have moved since we were compiled.
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// The target folder of the workspace.
pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The crate of kernels.
pub fn gpu_crate() -> PathBuf {
    root().join("gpu")
}

/// The folder of the committed PTX.
pub fn ptx_folder() -> PathBuf {
    root().join("host/ptx")
}

/// The files in the folders of a folder, in order.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries =
            fs::read_dir(folder).map_err(|e| format!("reading {}: {e}", folder.display()))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry?.path());
        }
        paths.sort();
        Ok(paths)
    };
    let mut files = Vec::new();
    for part in list(folder)?.into_iter().filter(|path| path.is_dir()) {
        files.extend(list(&part)?);
    }
    Ok(files)
}

/// Writes the file if it says something else; folders on the way are made.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("writing {}: {error}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, content).map_err(failed)?;
    fs::rename(&unfinished, path).map_err(failed)?;
    Ok(())
}
