//! The records and other files of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use warpwright::Device;
use warpwright_bench::ladder;
use warpwright_bench::overhead::Overhead;
use warpwright_bench::record::{Card, FORMAT, Record};
use warpwright_bench::run::Result;
use warpwright_bench::run::counters::without_folders;

/// Opens the first CUDA device.
pub fn cuda() -> Result<Device> {
    Ok(Device::cuda(0).map_err(|error| format!("the benchmark needs a CUDA device: {error}"))?)
}

/// Returns a record's description of a device.
pub fn card(device: &Device) -> Card {
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

/// Returns the command line, without the folders of absolute paths.
pub fn command() -> String {
    let shown = |argument: String| {
        let argument = without_folders(&argument);
        if argument.contains(' ') {
            format!("\"{argument}\"")
        } else {
            argument
        }
    };
    std::iter::once("warpwright-bench".to_owned())
        .chain(std::env::args().skip(1).map(shown))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the day in UTC, as `2026-11-21`.
pub fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}

/// Returns an empty record.
pub fn record(card: Card, start: Instant) -> Record {
    Record {
        format: FORMAT,
        command: command(),
        date: today(),
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

/// Writes a record to the folder of its card, and returns its path.
pub fn put(card: &Card, date: &str, kind: &str, text: &str, folder: &Path) -> Result<PathBuf> {
    let folder = folder.join(card.folder());
    fs::create_dir_all(&folder)
        .map_err(|error| format!("creating {}: {error}", folder.display()))?;
    let path = folder.join(format!("{date}-{kind}.json"));
    write(&path, text)?;
    Ok(path)
}

/// Reads a record.
pub fn read(path: &Path) -> Result<Record> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    Ok(Record::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Returns the newest ladders beside a record, or an empty list.
pub fn ladders(record: &Path) -> Vec<ladder::Ladder> {
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

/// Writes a file, and prints its path.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
