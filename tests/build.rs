//! Compiles `fault-driver`, a shared library that the tests open in the place of the CUDA driver.

use std::{env, path::PathBuf};

#[path = "src/faults/compile.rs"]
mod compile;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/faults/compile.rs");
    println!("cargo:rerun-if-changed=fault-driver");
    let variable =
        |name| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
    let workspace = variable("CARGO_MANIFEST_DIR").join("..");
    let library = variable("OUT_DIR").join("libfault_driver.so");
    compile::compile(&workspace, &library).unwrap_or_else(|error| panic!("{error}"));
}
