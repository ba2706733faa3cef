//! The PTX of the kernels that use every device function of `cuda_std`.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch, PanicMessages};

/// The variable that names a folder with that PTX (`sm_75.ptx` and so on), for machines that cannot build it.
pub const PTX_DIR: &str = "WARPWRIGHT_DEVICE_TESTS_PTX";

/// Builds the kernels for an architecture, installing the device tools if they are missing.
///
/// # Errors
/// Returns the builder's errors.
pub fn build(arch: NvvmArch) -> Result<PathBuf, CudaBuilderError> {
    builder("device")
        .arch(arch)
        .build_args(&["--features=vek"])
        .build()
}

/// Returns the builder of a crate of kernels in `cuda_std/tests`. It installs the device tools if they are missing.
pub fn builder(crate_of_kernels: &str) -> CudaBuilder {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    CudaBuilder::new(root.join("cuda_std/tests").join(crate_of_kernels))
        .install_tools(true)
        .target_dir(target.join("cuda-builder"))
}

/// Returns the text of the PTX for an architecture: from a file in the folder that [`PTX_DIR`] names, otherwise built now.
///
/// # Panics
/// Panics if the file cannot be read, or if the builder returns an error.
pub fn ptx(arch: NvvmArch) -> String {
    text(&format!("{}.ptx", arch.sm()), || build(arch))
}

/// Returns the PTX of `cuda_std/tests/programs` as [`ptx`] does, for the oldest architecture, with these panic messages.
///
/// # Panics
/// Panics as [`ptx`] does.
pub fn programs(messages: PanicMessages) -> String {
    let name = format!("programs-{messages:?}.ptx").to_lowercase();
    text(&name, || {
        builder("programs").panic_messages(messages).build()
    })
}

fn text(file: &str, build: impl FnOnce() -> Result<PathBuf, CudaBuilderError>) -> String {
    let path = match std::env::var_os(PTX_DIR) {
        Some(folder) => Path::new(&folder).join(file),
        None => build().unwrap_or_else(|error| panic!("{error}")),
    };
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
