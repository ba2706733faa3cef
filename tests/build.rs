//! Compiles `fault-driver`, a shared library that the tests open in the place of the CUDA driver.

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=fault-driver");
    let variable = |name| env::var_os(name).unwrap_or_else(|| panic!("{name} is not set"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libfault_driver.so");
    // As the driver, for the machine that the tests are for, and without the flags of this build: a
    // sanitizer's, for one, are for the library and not for what stands in for NVIDIA's.
    let output = Command::new(variable("RUSTC"))
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort"])
        .args(["-O", "-Cstrip=symbols", "--target"])
        .arg(variable("TARGET"))
        .arg("-o")
        .arg(library)
        .arg("fault-driver/lib.rs")
        .output()
        .unwrap_or_else(|error| panic!("the compiler: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
