//! The project's own commands: `cargo xtask <command>`.

mod bench;
mod build_ptx;
mod build_time;
mod bundle;
mod command;
mod counts;
mod cross_check;
mod cubins;
mod demo;
mod docs;
mod doctor;
mod instrumented;
mod lines;
mod manifest;
mod mutants;
mod package;
mod profile;
mod project;
#[path = "../../host/src/ptx.rs"]
#[allow(
    dead_code,
    reason = "the library's own, which uses more of it: what is assembled is what it would give the driver"
)]
mod ptx;
mod rust_cuda;
mod sanitize;
mod sass;
#[path = "../../host/shipped.rs"]
#[allow(
    dead_code,
    reason = "that of the library's build script, which reads what is packed here"
)]
mod shipped;
mod sources;
mod tidy;
mod tune;
mod usage;
mod wgmma_registers;
mod wheel;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// The result of every command. On failure, the text of the error goes to standard error.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install the tools for device code and say what was found.
    Setup,
    /// Say which tools for device code are there; install nothing.
    Doctor,
    /// Build every kernel to PTX, and show what each needs.
    BuildPtx(build_ptx::Arguments),
    /// Show the machine code of one kernel.
    Sass(sass::Arguments),
    /// Do the main job on a picture: build the PTX, run every variant, check and show the results.
    Demo(demo::Arguments),
    /// Time every case beside the peers that are installed, on the GPU.
    Bench(bench::Arguments),
    /// Time every row of the tables of tuning in turn, on the GPU.
    Tune(tune::Arguments),
    /// Build the library, the program, the demo and the tests from nothing on two cores, and say how long that takes.
    BuildTime(build_time::Arguments),
    /// Collect the program and the tests in a folder, for a GPU machine without Rust.
    Bundle(bundle::Arguments),
    /// Build the programs and kernels of a checkout of Rust-CUDA, with no line of source changed.
    RustCuda(rust_cuda::Arguments),
    /// Check the library and what it is built on for other systems: compile, link nothing.
    CrossCheck(cross_check::Arguments),
    /// Run every kernel on the GPU under compute-sanitizer.
    Sanitize(sanitize::Arguments),
    /// Profile one kernel on the GPU with Nsight Compute.
    Profile(profile::Arguments),
    /// Print how many cases, orders, planted defects and injected faults the project's proofs have.
    Counts(counts::Arguments),
    /// Count the lines of code of each crate, now and at another commit.
    Lines(lines::Arguments),
    /// Drop and weaken every synchronizing operation of every kernel in turn, and print what the sanitizer reports.
    Mutants(mutants::Arguments),
    /// Write the tables in the pages from the records of runs on a card.
    Docs(docs::Arguments),
    /// Run tests of the host crates under AddressSanitizer.
    Asan,
    /// Fuzz the readers of files and the parser of the arguments.
    Fuzz(instrumented::Fuzz),
    /// Build the wheel for Python, install it in an environment of its own, and run its tests there.
    Wheel(wheel::Arguments),
    /// Make the packages for crates.io, the library's with its PTX in one archive, and check their sizes.
    Package(package::Arguments),
    /// Check the invariants of the architecture.
    Tidy,
}

fn main() -> ExitCode {
    if let Err(reason) = system::environment::require_own_privileges("cargo xtask") {
        eprintln!("error: {reason}");
        return ExitCode::FAILURE;
    }
    let result = match Arguments::parse().command {
        Command::Setup => doctor::setup(),
        Command::Doctor => doctor::doctor(),
        Command::BuildPtx(arguments) => build_ptx::run(&arguments),
        Command::Sass(arguments) => sass::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::BuildTime(arguments) => build_time::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::RustCuda(arguments) => rust_cuda::run(&arguments),
        Command::CrossCheck(arguments) => cross_check::run(&arguments),
        Command::Sanitize(arguments) => sanitize::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
        Command::Counts(arguments) => counts::run(&arguments),
        Command::Lines(arguments) => lines::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Asan => instrumented::asan(),
        Command::Fuzz(arguments) => instrumented::fuzz(&arguments),
        Command::Wheel(arguments) => wheel::wheel(&arguments),
        Command::Package(arguments) => package::run(&arguments),
        Command::Tidy => tidy::run(subcommands()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the names of all commands.
fn subcommands() -> Vec<String> {
    let command = Arguments::command();
    command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}
