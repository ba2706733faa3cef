//! What the commands know of the project: its folders, its families, what is shipped.

use std::path::{Path, PathBuf};

use cuda_builder::{Module, NvvmArch, PtxVersion};

/// The architectures that PTX is shipped for. The driver compiles the oldest for every later device; a
/// later one is added with the first kernel that has instructions of it. (Built for sm_80, all of today's
/// kernels are the same text but for the line that names the architecture.)
pub const SHIPPED: &[NvvmArch] = &[NvvmArch::Compute75];

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

/// The root of the workspace.
pub fn root() -> PathBuf {
    // Cargo sets the variable when it runs us; a checkout may have moved since we were compiled.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// The target folder of the workspace.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The crate of kernels.
pub fn gpu_crate() -> PathBuf {
    root().join("gpu")
}

/// The folder of the committed PTX.
pub fn ptx_folder() -> PathBuf {
    root().join("host/ptx")
}
