//! `tune`: builds a kernel for every policy row, and the program that times them, and runs it.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, Module, PanicMessages};

use crate::{Result, command, project};

/// What to sweep over.
#[derive(clap::Args)]
pub struct Arguments {
    /// The family, or `all`.
    #[arg(value_name = "FAMILY")]
    family: String,
    /// Put the record into benches/record, in the folder of the card.
    #[arg(long)]
    record: bool,
    /// Fewer sizes and samples.
    #[arg(long)]
    quick: bool,
    /// Verify every row at small sizes on the CPU executor, and time nothing of use.
    #[arg(long, conflicts_with = "record")]
    cpu: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut command = command::program(&["--release", "--package=warpwright-bench"]);
    command.args(["tune", &arguments.family]);
    if arguments.cpu {
        command.args(["--device", "cpu"]);
    } else {
        let to = project::target_dir().join("tune.ptx");
        build(&to)?;
        command.arg("--ptx").arg(to);
    }
    if arguments.quick {
        command.arg("--quick");
    }
    if arguments.record {
        command
            .arg("--record")
            .arg(project::root().join("benches/record"));
    }
    command::finish("tune", &mut command)
}

/// Builds the module of all policy rows.
pub fn build(to: &Path) -> Result<()> {
    // The crate also has the kernels that ship.
    let modules = [Module::family("tune"), Module::new("own").prefix("")];
    let built = CudaBuilder::new(project::root().join("gpu"))
        .build_args(&["--features", "tuning"])
        .target_dir(project::target_dir().join("cuda-builder"))
        .install_tools(true)
        .verbose(true)
        // The same as for the library's own kernels.
        .panic_messages(PanicMessages::None)
        .modules(modules)
        .only(["tune"])
        .build_modules()?;
    let path: PathBuf = built
        .into_iter()
        .next()
        .ok_or("tune: a module required, given none")?
        .path;
    fs_err::copy(&path, to)?;
    Ok(())
}
