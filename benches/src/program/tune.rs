//! The command `tune`: the sweep over the tables of tuning.

use std::fs;
use std::path::Path;
use std::time::Instant;

use warpwright::Device;
use warpwright_bench::record::Record;
use warpwright_bench::run::{
    Bench, Mode, Result, Scale, all_are_right, ceilings, families, peers::Peers, tune::Tuning,
};
use warpwright_bench::tuning::{groups, verdict};
use warpwright_bench::{sheets, table};

use super::files::{card, cuda, put, record};
use crate::DeviceOption;

/// Reads the modules `sm_75.ptx` and so on of a folder that a device can run, the oldest architecture first.
fn modules_for(device: &Device, folder: &Path) -> std::io::Result<Vec<String>> {
    let capability = device.info().compute_capability.unwrap_or_default();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let architecture = stem.and_then(|stem| stem.strip_prefix("sm_")?.parse::<u32>().ok());
        if let Some(architecture) = architecture
            && architecture <= 10 * capability.0 + capability.1
        {
            found.push((architecture, path));
        }
    }
    found.sort();
    if found.is_empty() {
        let required = "a file such as `sm_75.ptx`, for this card or an earlier one, required";
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, required));
    }
    found
        .iter()
        .map(|(_, path)| fs::read_to_string(path))
        .collect()
}

/// Sweeps over a table. Returns whether every row was right and every chosen row is justified.
pub fn run(
    family: &str,
    ptx: Option<&Path>,
    device: DeviceOption,
    quick: bool,
    folder: Option<&Path>,
) -> Result<bool> {
    let start = Instant::now();
    let (device, scale, modules) = match device {
        DeviceOption::Cpu if folder.is_some() => {
            return Err(
                "tune: a record of a card required, given --record with --device cpu".into(),
            );
        }
        DeviceOption::Cpu => (Device::cpu(), Scale::Tiny, Vec::new()),
        DeviceOption::Cuda => {
            let folder = match ptx {
                Some(path) => path.to_owned(),
                None => std::env::current_exe()?.with_file_name("tune"),
            };
            let scale = if quick { Scale::Quick } else { Scale::Full };
            let device = cuda()?;
            let modules = modules_for(&device, &folder).map_err(|error| {
                format!(
                    "tune: the kernels of the tables required (in a bundle, `tar xf kernels.tar.xz` unpacks them): \
                     reading {}: {error}",
                    folder.display()
                )
            })?;
            (device, scale, modules)
        }
    };
    let known = Tuning::families();
    if family != "all" && !known.contains(&family) {
        return Err(format!(
            "tune: all or one of the families {} required, given {family}",
            known.join(", ")
        )
        .into());
    }
    let rows = Tuning::new(&device, &modules, family)?;
    let card = card(&device);
    println!("{}", table::card(&card));
    let ceilings = match scale {
        Scale::Tiny => Vec::new(),
        _ => ceilings::measure(&device, scale)?,
    };
    let shown = ceilings.clone();
    let peers = Peers::new(device.clone(), false);
    let mut bench = Bench::new(device, scale, Mode::Time, peers, move |row| {
        println!("{}\n{}", row.name(), sheets::sweep(row, &shown).text());
    })
    .sweep(rows);
    for known in families::all().filter(|it| known.contains(&it.name())) {
        if ["all", known.name()].contains(&family) {
            known.run(&mut bench);
        }
    }
    let rows = bench.into_rows();
    let right = all_are_right(&rows);
    let record = Record {
        quick,
        ceilings,
        rows,
        ..record(card, start)
    };
    // Times on the CPU executor have no meaning.
    let timed = scale != Scale::Tiny;
    let mut justified = true;
    for group in groups(&record) {
        if timed {
            println!("{} {}: {}", group.family, group.element, verdict(&group));
        }
        for (label, reason) in &group.failed {
            println!("  {label}: {reason}");
        }
        justified &= group.is_justified();
    }
    println!("{} cases in {:.0} s", record.rows.len(), record.seconds);
    if let Some(folder) = folder {
        let kind = match family {
            "all" => "tune".to_owned(),
            family => format!("tune-{family}"),
        };
        put(&record.card, &record.date, &kind, &record.to_text(), folder)?;
    }
    Ok(right && (justified || !timed))
}
