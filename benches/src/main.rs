//! `warpwright-bench`: the library beside its peers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use warpwright::{Device, DeviceKind};
use warpwright_bench::record::{Card, FORMAT, Record};
use warpwright_bench::run::{
    self, Bench, Mode, Result, Scale, ceilings,
    families::FAMILIES,
    peers::{Peers, survey},
};
use warpwright_bench::table;

/// Times the library beside CUB and the other peers that are installed here.
#[derive(Parser)]
#[command(name = "warpwright-bench", version)]
struct Arguments {
    /// Only the families whose names contain this.
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
    /// Write the record to DIR/<card>/<date>-bench.json, and a page with charts beside it.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PeersOption {
    /// All that are installed.
    All,
    /// None.
    None,
}

fn main() -> ExitCode {
    match start(&Arguments::parse()) {
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
    if families.is_empty() {
        let known: Vec<_> = FAMILIES.iter().map(|(name, _)| *name).collect();
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
        families.iter().try_for_each(|(_, run)| run(&mut bench))?;
        println!();
        survey()
            .iter()
            .for_each(|peer| println!("{}", table::peer(peer)));
        return Ok(true);
    }
    let start = std::time::Instant::now();
    let device =
        Device::cuda(0).map_err(|error| format!("the benchmark needs a CUDA device: {error}"))?;
    let peers = Peers::new(device.clone(), arguments.peers == PeersOption::All);
    let card = card(&device);
    println!("{}", table::card(&card));
    for peer in peers.list() {
        println!("{}", table::peer(&peer));
    }
    let ceilings = ceilings::measure(&device, scale)?;
    for ceiling in &ceilings {
        println!("{}", table::ceiling(ceiling));
    }
    let shown = ceilings.clone();
    let mut family = String::new();
    let mut bench = Bench::new(device, scale, Mode::Time, peers, move |row| {
        if family != row.family {
            println!("\n{}\n{}", row.family, table::head());
            family.clone_from(&row.family);
        }
        println!("{}", table::row(row, &shown));
    });
    families.iter().try_for_each(|(_, run)| run(&mut bench))?;
    let peers = bench.peers().list();
    let rows = bench.into_rows();
    let right = run::ours_are_right(&rows);
    let date = time::OffsetDateTime::now_utc().date();
    let record = Record {
        format: FORMAT,
        command: std::iter::once("warpwright-bench".to_owned())
            .chain(std::env::args().skip(1))
            .collect::<Vec<_>>()
            .join(" "),
        date: date.to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        quick: arguments.quick,
        card,
        ceilings,
        peers,
        rows,
        seconds: start.elapsed().as_secs_f64(),
    };
    println!("\n{}", table::foot(&record));
    if let Some(folder) = &arguments.record {
        let folder = folder.join(record.card.folder());
        fs::create_dir_all(&folder)
            .map_err(|error| format!("creating {}: {error}", folder.display()))?;
        write(
            &folder.join(format!("{}-bench.json", record.date)),
            &record.to_text(),
        )?;
    }
    Ok(right)
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
    debug_assert!(matches!(info.kind, DeviceKind::Cuda { .. }));
    Card {
        name: info.name.clone(),
        compute_capability: version(info.compute_capability),
        cuda: version(info.driver_version),
        multiprocessors: info.multiprocessors,
        memory_bytes: info.memory_bytes,
        l2_bytes: info.l2_bytes,
    }
}
