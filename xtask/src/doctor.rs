//! `setup` and `doctor`: install and report the tools for device code.

use cuda_builder::assemble::Ptxas;
use cuda_builder::{CudaBuilderError, PINNED_RUST, Toolchain, ToolchainOptions};

use crate::Result;

/// Installs the missing tools.
pub fn setup() -> Result<()> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    println!("compiler   {}", toolchain.summary());
    println!("cargo      {}", toolchain.cargo.display());
    print_ptxas(Ptxas::install(true));
    Ok(())
}

/// Reports the installed tools.
pub fn doctor() -> Result<()> {
    let survey = Toolchain::survey(&ToolchainOptions::from_env())?;
    for (index, toolchain) in survey.usable.iter().enumerate() {
        let mark = if index == 0 {
            "compiler  "
        } else {
            "  also    "
        };
        println!("{mark} {}", toolchain.summary());
    }
    for (path, reason) in &survey.rejected {
        println!("  not      {}: {reason}", path.display());
    }
    print_ptxas(Ptxas::discover());
    match survey.usable.first() {
        None => Err("device tools: none can be used; type `cargo xtask setup`".into()),
        Some(first) if first.rust_version != PINNED_RUST => {
            println!(
                "note       the committed PTX is built with Rust {PINNED_RUST}; with another \
                 version `build-ptx --check` compares the sources only"
            );
            Ok(())
        }
        Some(_) => Ok(()),
    }
}

fn print_ptxas(found: Result<Ptxas, CudaBuilderError>) {
    match found {
        Ok(ptxas) => println!("ptxas      {} in {}", ptxas.version, ptxas.path.display()),
        Err(error) => println!("ptxas      none, registers and spills are not shown: {error}"),
    }
}
