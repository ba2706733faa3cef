//! Compiles `fault-driver`, a shared library that the tests open in the place of the CUDA driver, and writes the compiler's
//! flags to `rustflags`: a build outside of the workspace with the same flags need not compile the same crates again.

use std::{env, fs, path::PathBuf};

#[path = "src/faults/compile.rs"]
mod compile;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/faults/compile.rs");
    println!("cargo:rerun-if-changed=fault-driver");
    let variable =
        |name| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let file = variable("OUT_DIR").join("rustflags");
    fs::write(&file, flags).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let workspace = variable("CARGO_MANIFEST_DIR").join("..");
    let library = variable("OUT_DIR").join("libfault_driver.so");
    compile::compile(&workspace, &library).unwrap_or_else(|error| panic!("{error}"));
}
