//! `bench`: builds the benchmark optimized and runs it.

use crate::{Result, command, project};

/// What to time.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only the families whose names contain this.
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
    /// Which peers to time beside ours: `all` that are installed, or `none`.
    #[arg(long, value_name = "PEERS", default_value = "all")]
    peers: String,
    /// Put the record into benches/record, in the folder of the card.
    #[arg(long)]
    record: bool,
    /// Fewer sizes and samples.
    #[arg(long)]
    quick: bool,
    /// List the cases and the peers, and do nothing.
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut command = command::program(&["--release", "--package=warpwright-bench"]);
    command.args(["--peers", &arguments.peers]);
    if let Some(family) = &arguments.family {
        command.args(["--family", family]);
    }
    if arguments.quick {
        command.arg("--quick");
    }
    if arguments.list {
        command.arg("--list");
    }
    command
        .arg("--html")
        .arg(project::target_dir().join("bench.html"));
    if arguments.record {
        command
            .arg("--record")
            .arg(project::root().join("benches/record"));
    }
    command::finish("bench", &mut command)
}
