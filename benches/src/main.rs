//! `warpwright-bench`: the library beside its peers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use warpwright::Device;
use warpwright_bench::overhead::Overhead;
use warpwright_bench::record::{Card, FORMAT, Record};
use warpwright_bench::run::{
    self, Bench, Mode, Result, Scale, ceilings,
    families::FAMILIES,
    overhead,
    peers::{Peers, survey},
    tune::Tuning,
};
use warpwright_bench::{compare, html, ladder, table, tuning};

/// What `--family` takes beside the families: the library's cost beyond the driver.
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
    /// Write the record to DIR/<card>/<date>-bench.json.
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
    Tune {
        /// The family, or `all`.
        #[arg(value_name = "FAMILY")]
        family: String,
        /// The module with a kernel for every row, as `cargo xtask tune` and `cargo xtask bundle` build it; without
        /// it, `tune.ptx` beside this program.
        #[arg(long, value_name = "FILE")]
        ptx: Option<PathBuf>,
        /// Where: on the GPU, or, at sizes for a test of the sweep itself, on the CPU executor.
        #[arg(long, value_enum, default_value_t = DeviceOption::Cuda)]
        device: DeviceOption,
        /// Fewer sizes and samples.
        #[arg(long)]
        quick: bool,
        /// Write the record to DIR/<card>/<date>-tune.json.
        #[arg(long, value_name = "DIR")]
        record: Option<PathBuf>,
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

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DeviceOption {
    /// The first CUDA device.
    Cuda,
    /// The CPU executor.
    Cpu,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        None => start(&arguments),
        Some(Command::Compare {
            old,
            new,
            tolerance,
        }) => compared(old, new, *tolerance),
        Some(Command::Tune {
            family,
            ptx,
            device,
            quick,
            record,
        }) => tune(family, ptx.as_deref(), *device, *quick, record.as_deref()),
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
    let families: Vec<_> = FAMILIES.iter().filter(|(name, _)| wanted(name)).collect();
    if families.is_empty() && !wanted(OVERHEAD) {
        let known = FAMILIES.iter().map(|(name, _)| *name);
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
        families.iter().for_each(|(_, run)| run(&mut bench));
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
    let mut family = String::new();
    let mut bench = Bench::new(device.clone(), scale, Mode::Time, peers, move |row| {
        if family != row.family {
            println!("\n{}\n{}", row.family, table::head());
            family.clone_from(&row.family);
        }
        println!("{}", table::row(row, &shown));
    });
    families.iter().for_each(|(_, run)| run(&mut bench));
    let peers = bench.peers().list();
    let rows = bench.into_rows();
    let overhead = match wanted(OVERHEAD) {
        true => measured(&device, scale)?,
        false => Overhead::default(),
    };
    let right = run::ours_are_right(&rows) && overhead.is_right();
    let record = Record {
        quick: arguments.quick,
        ceilings,
        peers,
        rows,
        overhead,
        ..record(card, start)
    };
    println!("\n{}", table::foot(&record));
    let mut beside = PathBuf::from("benches/record")
        .join(record.card.folder())
        .join("bench.json");
    if let Some(folder) = &arguments.record {
        beside = put(&record, folder, "bench")?;
    }
    if let Some(path) = &arguments.html {
        write(path, &html::page(&record, &ladders(&beside)))?;
    }
    Ok(right)
}

/// Sweeps over a table; whether every row was right and every chosen row is justified.
fn tune(
    family: &str,
    ptx: Option<&Path>,
    device: DeviceOption,
    quick: bool,
    folder: Option<&Path>,
) -> Result<bool> {
    let start = std::time::Instant::now();
    let (device, scale, text) = match device {
        DeviceOption::Cpu if folder.is_some() => {
            return Err(
                "tune: a record of a card required, given --record with --device cpu".into(),
            );
        }
        DeviceOption::Cpu => (Device::cpu(), Scale::Tiny, None),
        DeviceOption::Cuda => {
            let path = match ptx {
                Some(path) => path.to_owned(),
                None => std::env::current_exe()?.with_file_name("tune.ptx"),
            };
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("tune: reading {}: {error}", path.display()))?;
            let scale = if quick { Scale::Quick } else { Scale::Full };
            (cuda()?, scale, Some(text))
        }
    };
    let rows = Tuning::new(&device, text.as_deref())?;
    let known = rows.families();
    if family != "all" && !known.contains(&family) {
        return Err(format!(
            "tune: all or one of the families {} required, given {family}",
            known.join(", ")
        )
        .into());
    }
    let card = card(&device);
    println!("{}", table::card(&card));
    let ceilings = match scale {
        Scale::Tiny => Vec::new(),
        _ => ceilings::measure(&device, scale)?,
    };
    let shown = ceilings.clone();
    let peers = Peers::new(device.clone(), false);
    let mut bench = Bench::new(device, scale, Mode::Time, peers, move |row| {
        println!("{}", table::sweep(row, &shown));
    })
    .sweep(rows);
    for (_, run) in FAMILIES
        .iter()
        .filter(|(name, _)| known.contains(name) && (family == "all" || family == *name))
    {
        run(&mut bench);
    }
    let rows = bench.into_rows();
    let right = run::all_are_right(&rows);
    let record = Record {
        quick,
        ceilings,
        rows,
        ..record(card, start)
    };
    // Times on the CPU executor mean nothing.
    let timed = scale != Scale::Tiny;
    let mut justified = true;
    for group in tuning::groups(&record) {
        if timed {
            println!(
                "{} {}: {}",
                group.family,
                group.element,
                tuning::verdict(&group)
            );
        }
        for (label, reason) in &group.failed {
            println!("  {label}: {reason}");
        }
        justified &= group.is_justified();
    }
    println!("{} cases in {:.0} s", record.rows.len(), record.seconds);
    if let Some(folder) = folder {
        put(&record, folder, "tune")?;
    }
    Ok(right && (justified || !timed))
}

fn cuda() -> Result<Device> {
    Ok(Device::cuda(0).map_err(|error| format!("the benchmark needs a CUDA device: {error}"))?)
}

/// A record of nothing so far.
fn record(card: Card, start: std::time::Instant) -> Record {
    Record {
        format: FORMAT,
        command: std::iter::once("warpwright-bench".to_owned())
            .chain(std::env::args().skip(1))
            .collect::<Vec<_>>()
            .join(" "),
        date: time::OffsetDateTime::now_utc().date().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        quick: false,
        card,
        ceilings: Vec::new(),
        peers: Vec::new(),
        rows: Vec::new(),
        overhead: Overhead::default(),
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Writes a record to the folder of its card, and gives its path.
fn put(record: &Record, folder: &Path, kind: &str) -> Result<PathBuf> {
    let folder = folder.join(record.card.folder());
    fs::create_dir_all(&folder)
        .map_err(|error| format!("creating {}: {error}", folder.display()))?;
    let path = folder.join(format!("{}-{kind}.json", record.date));
    write(&path, &record.to_text())?;
    Ok(path)
}

/// What the library costs beyond the driver.
fn measured(device: &Device, scale: Scale) -> Result<Overhead> {
    println!("\n{OVERHEAD}\n{}", table::calls_head());
    let calls = overhead::calls(device, scale, |row| println!("{}", table::calls(row)))?;
    println!("{}", table::cold_head());
    let names: Vec<_> = FAMILIES.iter().map(|(name, _)| *name).collect();
    let cold = overhead::first_operations(scale, &names, |row| println!("{}", table::cold(row)));
    Ok(Overhead { cold, calls })
}

/// Whether nothing got slower.
fn compared(old: &Path, new: &Path, tolerance: f64) -> Result<bool> {
    let changes = compare::changes(&read(old)?, &read(new)?, tolerance)?;
    print!("{}", compare::text(&changes));
    Ok(!changes.iter().any(|(_, change)| change.is_worse()))
}

fn read(path: &Path) -> Result<Record> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    Ok(Record::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// The newest ladders beside a record; none where there are none.
fn ladders(record: &Path) -> Vec<ladder::Ladder> {
    let entries = record.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let newest = paths
        .filter(|path| path.to_string_lossy().ends_with("-ladder.txt"))
        .max();
    let text = newest.and_then(|path| fs::read_to_string(path).ok());
    text.and_then(|text| ladder::Record::parse(&text).ok())
        .map_or_else(Vec::new, |record| record.ladders)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn card(device: &Device) -> Card {
    let info = device.info();
    let version = |pair: Option<(u32, u32)>| {
        pair.map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
    };
    Card {
        name: info.name.clone(),
        compute_capability: version(info.compute_capability),
        cuda: version(info.driver_version),
        multiprocessors: info.multiprocessors,
        memory_bytes: info.memory_bytes,
        l2_bytes: info.l2_bytes,
    }
}
