//! `tune`: builds a kernel for every policy row, and the program that times them, and runs it.

use std::path::Path;

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
    let mut command = command::program(&[
        "--release",
        "--package=warpwright-bench",
        "--features=tuning",
    ]);
    command.args(["tune", &arguments.family]);
    if arguments.cpu {
        command.args(["--device", "cpu"]);
    } else {
        let to = project::target_dir().join("tune");
        let family = (arguments.family != "all").then_some(arguments.family.as_str());
        build(&to, family)?;
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

/// Builds the kernels of every row of every table of tuning, or of one family's: a file per architecture that is shipped, with
/// the kernels of the families that are shipped for it.
pub fn build(folder: &Path, family: Option<&str>) -> Result<()> {
    fs_err::create_dir_all(folder)?;
    // No table of tuning is for one device alone.
    let general = (project::SHIPPED.iter()).filter(|(arch, _)| !project::is_specific(*arch));
    for (arch, families) in general {
        let module = match (family, *families) {
            (Some(family), families) if families.is_empty() || families.contains(&family) => {
                Module::new("tune").prefix(format!("tune_{family}_"))
            }
            (Some(_), _) => continue,
            (None, []) => Module::family("tune"),
            (None, families) => (families.iter()).fold(Module::new("tune"), |module, family| {
                module.prefix(format!("tune_{family}_"))
            }),
        };
        // The crate also has the kernels that ship, and those of the other families.
        let modules = [module, Module::new("other").prefix("")];
        let built = CudaBuilder::new(project::root().join("gpu"))
            .build_args(&["--features", "tuning"])
            .target_dir(project::target_dir().join("cuda-builder"))
            .install_tools(true)
            .verbose(true)
            .arch(*arch)
            // The same as for the library's own kernels.
            .ptx_version(project::ptx_version(*arch))
            .panic_messages(PanicMessages::None)
            .modules(modules)
            .only(["tune"])
            .build_modules()?;
        let path = (built.into_iter().next())
            .ok_or("tune: a module required, given none")?
            .path;
        fs_err::copy(&path, folder.join(format!("{}.ptx", arch.sm())))?;
    }
    Ok(())
}
