//! Builds the kernel to PTX, which the program includes.

use std::{env, path::Path};

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it for build scripts");
    CudaBuilder::new("../kernels")
        // The oldest architecture to support: the driver compiles the PTX for newer ones.
        .arch(NvvmArch::Compute75)
        .copy_to(Path::new(&out).join("kernels.ptx"))
        .build()
        .unwrap();
}
