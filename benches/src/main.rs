//! The program `warpwright-bench`: times the library and its peers.

mod program;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice::from_ref;

use clap::Parser;
use warpwright::Device;
use warpwright_bench::overhead::{Form, Overhead};
use warpwright_bench::record::Record;
use warpwright_bench::run::{
    self, Bench, Mode, Result, Scale, ceilings, counters as profiling, families, overhead,
    peers::{Peers, survey},
};
use warpwright_bench::{compare, html, sheets, table};

use program::counting;
use program::files::{card, cuda, ladders, put, read, record, write};

/// The value of `--family` for the library's cost beyond the driver.
const OVERHEAD: &str = "overhead";

/// Times the library beside CUB and the other peers that are installed here.
#[derive(Parser)]
#[command(
    name = "warpwright-bench",
    version,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only the families whose names contain this; `overhead` is what the library costs beyond the driver.
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
    /// Which peers to time beside ours.
    #[arg(long, value_enum, default_value_t = PeersOption::All)]
    peers: PeersOption,
    /// Fewer sizes and samples.
    #[arg(long)]
    quick: bool,
    /// List the cases and the peers, and do nothing.
    #[arg(long)]
    list: bool,
    /// Write the record to DIR/<card>/<date>-bench.json; with --family to <date>-bench-FAMILY.json.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Write a page with charts to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Compare two records of one card, and fail where something got slower.
    Compare {
        /// The record that was before.
        #[arg(value_name = "OLD.json")]
        old: PathBuf,
        /// The record that is now.
        #[arg(value_name = "NEW.json")]
        new: PathBuf,
        /// By how much a time may be longer: 0.05 for 5 %. What lies within the spread of a record passes too.
        #[arg(long, default_value_t = 0.05)]
        tolerance: f64,
    },
    /// Time every row of a family's table of tuning in turn, and say whether the row that ships is the fastest.
    #[cfg(feature = "tuning")]
    Tune {
        /// The family, or `all`.
        #[arg(value_name = "FAMILY")]
        family: String,
        /// The folder of the modules with a kernel for every row, as `cargo xtask tune` and `cargo xtask bundle` build
        /// them; without it, `tune` beside this program.
        #[arg(long, value_name = "DIR")]
        ptx: Option<PathBuf>,
        /// Where: on the GPU, or, at sizes for a test of the sweep itself, on the CPU executor.
        #[arg(long, value_enum, default_value_t = DeviceOption::Cuda)]
        device: DeviceOption,
        /// Fewer sizes and samples.
        #[arg(long)]
        quick: bool,
        /// Write the record to DIR/<card>/<date>-tune.json; of one family to <date>-tune-FAMILY.json.
        #[arg(long, value_name = "DIR")]
        record: Option<PathBuf>,
    },
    /// Count what the kernels of a case do, with Nsight Compute (ncu): of the cases that missed an aim in a record, of
    /// those that are named, or of all that have an aim for their share of a ceiling.
    Counters {
        /// A record of the benchmark: its cases that missed an aim.
        #[arg(long, value_name = "RECORD.json")]
        from: Option<PathBuf>,
        /// Only the families whose names contain this.
        #[arg(long, value_name = "FAMILY")]
        family: Option<String>,
        /// A case, as `--list` names it; may be given several times.
        #[arg(long, value_name = "NAME", conflicts_with = "from")]
        case: Vec<String>,
        /// Write the record to DIR/<card>/<date>-counters.json.
        #[arg(long, value_name = "DIR")]
        record: Option<PathBuf>,
    },
    /// Do one case for a profiler: one operation between the marks that it waits for.
    #[command(name = profiling::COMMAND, hide = true)]
    One {
        /// The family.
        #[arg(value_name = "FAMILY")]
        family: String,
        /// The work and the size, as in `sum f32, 2^28`.
        #[arg(value_name = "CASE")]
        case: String,
    },
    /// Do one operation of a family as the first of this process, and tell how long that took.
    #[command(name = overhead::COMMAND, hide = true)]
    FirstOperation {
        /// The family.
        #[arg(value_name = "FAMILY")]
        family: String,
    },
    /// Write the page with charts of a record.
    Page {
        /// The record.
        #[arg(value_name = "RECORD.json")]
        record: PathBuf,
        /// The page.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PeersOption {
    /// All that are installed.
    All,
    /// None.
    None,
}

#[cfg(feature = "tuning")]
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceOption {
    /// The first CUDA device.
    Cuda,
    /// The CPU executor.
    Cpu,
}

fn main() -> ExitCode {
    if let Err(reason) = system::environment::require_own_privileges("warpwright-bench") {
        eprintln!("error: {reason}");
        return ExitCode::FAILURE;
    }
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        None => start(&arguments),
        Some(Command::Compare {
            old,
            new,
            tolerance,
        }) => compared(old, new, *tolerance),
        #[cfg(feature = "tuning")]
        Some(Command::Tune {
            family,
            ptx,
            device,
            quick,
            record,
        }) => program::tune::run(family, ptx.as_deref(), *device, *quick, record.as_deref()),
        Some(Command::Counters {
            from,
            family,
            case,
            record,
        }) => counting::run(from.as_deref(), family.as_deref(), case, record.as_deref()),
        Some(Command::One { family, case }) => profiling::one(cuda, family, case).map(|told| {
            println!("{told}");
            true
        }),
        Some(Command::FirstOperation { family }) => overhead::child(family).map(|told| {
            println!("{told}");
            true
        }),
        Some(Command::Page { record, output }) => read(record)
            .and_then(|found| write(output, &html::page(&found, &ladders(record))))
            .map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<bool> {
    let scale = if arguments.quick {
        Scale::Quick
    } else {
        Scale::Full
    };
    let wanted = |name: &str| {
        arguments
            .family
            .as_deref()
            .is_none_or(|part| name.contains(part))
    };
    let families: Vec<_> = families::all()
        .filter(|family| wanted(family.name()))
        .collect();
    if families.is_empty() && !wanted(OVERHEAD) {
        let known = families::all().map(families::Family::name);
        let known: Vec<_> = known.chain([OVERHEAD]).collect();
        return Err(format!(
            "one of the families {} required, given {}",
            known.join(", "),
            arguments.family.as_deref().unwrap_or_default()
        )
        .into());
    }
    if arguments.list {
        let device = Device::cpu();
        let peers = Peers::new(device.clone(), false);
        let mut bench = Bench::new(device, scale, Mode::List, peers, |row| {
            println!("{}", row.name())
        });
        families.iter().for_each(|family| family.run(&mut bench));
        if wanted(OVERHEAD) {
            println!("{OVERHEAD}");
        }
        println!();
        survey()
            .iter()
            .for_each(|peer| println!("{}", table::peer(peer)));
        return Ok(true);
    }
    let start = std::time::Instant::now();
    let device = cuda()?;
    let peers = Peers::new(device.clone(), arguments.peers == PeersOption::All);
    let card = card(&device);
    println!("{}", table::card(&card));
    for peer in peers.list() {
        println!("{}", table::peer(&peer));
    }
    let ceilings = match families.as_slice() {
        [] => Vec::new(),
        _ => ceilings::measure(&device, scale)?,
    };
    for ceiling in &ceilings {
        println!("{}", table::ceiling(ceiling));
    }
    let shown = ceilings.clone();
    let mut head = String::new();
    let mut bench = Bench::new(device.clone(), scale, Mode::Time, peers, move |row| {
        let sheet = sheets::cases(&shown, &[row], &sheets::names(&[row]));
        let its = format!("\n{}\n{}", row.family, sheet.head());
        if its != head {
            print!("{its}");
            head = its;
        }
        print!("{}", sheet.body());
    });
    families.iter().for_each(|family| family.run(&mut bench));
    let peers = bench.peers();
    let rows = bench.into_rows();
    let mut record = Record {
        quick: arguments.quick,
        ceilings,
        peers: peers.list(),
        rows,
        ..record(card, start)
    };
    // A record of a part does not replace a complete one.
    let kind = match &arguments.family {
        Some(family) => format!("bench-{family}"),
        None => "bench".to_owned(),
    };
    let keep = |record: &Record| {
        let folder = arguments.record.as_deref()?;
        Some(put(
            &record.card,
            &record.date,
            &kind,
            &record.to_text(),
            folder,
        ))
    };
    if wanted(OVERHEAD) {
        // If the run is interrupted from here on, its cases are kept.
        keep(&record).transpose()?;
        record.overhead = measured(&device, &peers, scale)?;
        record.seconds = start.elapsed().as_secs_f64();
    }
    let right = run::ours_are_right(&record.rows) && record.overhead.is_right();
    println!("\n{}", table::foot(&record));
    let beside = match keep(&record) {
        Some(path) => path?,
        None => PathBuf::from("benches/record")
            .join(record.card.folder())
            .join("bench.json"),
    };
    if let Some(path) = &arguments.html {
        write(path, &html::page(&record, &ladders(&beside)))?;
    }
    Ok(right)
}

/// Measures the library's cost beyond the driver.
fn measured(device: &Device, peers: &Peers, scale: Scale) -> Result<Overhead> {
    print!("\n{OVERHEAD}\n{}", sheets::calls(&[]).head());
    let mut shown = Vec::new();
    let calls = overhead::calls(device, scale, |row| {
        shown.push(row.clone());
        // A line has both forms.
        if row.form == Form::Once {
            print!("{}", sheets::calls(&std::mem::take(&mut shown)).body());
        }
    })?;
    print!("{}", sheets::graphs(&[]).head());
    let graphs = overhead::graphs(device, peers, scale, |row| {
        print!("{}", sheets::graphs(from_ref(row)).body());
    })?;
    print!("{}", sheets::cold(&[]).head());
    let names: Vec<_> = families::all().map(families::Family::name).collect();
    let cold = overhead::first_operations(scale, &names, |row| {
        print!("{}", sheets::cold(from_ref(row)).body());
    });
    Ok(Overhead {
        cold,
        calls,
        graphs,
    })
}

/// Returns whether nothing became slower.
fn compared(old: &Path, new: &Path, tolerance: f64) -> Result<bool> {
    let changes = compare::changes(&read(old)?, &read(new)?, tolerance)?;
    print!("{}", compare::text(&changes));
    Ok(!changes.iter().any(|(_, change)| change.is_worse()))
}
