//! Profiles the benchmark's cases with Nsight Compute, which runs this program again for each case.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use warpwright::Device;

use super::families::{self, Family};
use super::peers::{Peers, toolkit};
use super::{Bench, Mode, Result, Scale};
use crate::counters::Kernel;
use crate::counters::metrics::METRICS;
use crate::record::{Outcome, Record, Row};
pub use report::without_folders;

/// The program's command for one case. Its arguments are the family, and the work with the size.
pub const COMMAND: &str = "one";

/// The text in the tool's error if the user may not read counters.
const NOT_ALLOWED: &str = "ERR_NVGPUCTRPERM";

/// The number of similar names that an error for an unknown name lists.
const NEAR: usize = 5;

/// Returns the cases of a run.
fn cases(scale: Scale) -> Vec<Row> {
    let device = Device::cpu();
    let peers = Peers::new(device.clone(), false);
    let mut bench = Bench::new(device, scale, Mode::List, peers, |_| {});
    families::all().for_each(|family| family.run(&mut bench));
    bench.into_rows()
}

/// Returns the cases of a run, and those that only a quick run has.
fn all_cases() -> Vec<Row> {
    let mut all = cases(Scale::Full);
    for row in cases(Scale::Quick) {
        if !all.iter().any(|other| other.name() == row.name()) {
            all.push(row);
        }
    }
    all
}

/// Returns the cases to profile: those with these names, or those that missed an aim in a record, or all that have an aim for
/// their share of a ceiling. `family` keeps those whose family's name contains it.
///
/// # Errors
/// Returns an error if there is no such family or case.
pub fn chosen(from: Option<&Record>, family: Option<&str>, names: &[String]) -> Result<Vec<Row>> {
    let wanted = |row: &Row| family.is_none_or(|part| row.family.contains(part));
    let all = all_cases();
    if !all.iter().any(wanted) {
        return Err(no_family(family.unwrap_or_default()).into());
    }
    let mut rows: Vec<Row> = match from {
        _ if !names.is_empty() => named(&all, names, wanted)?,
        Some(record) => {
            let missed = record.rows.iter().filter(|row| record.is_missed(row));
            missed.cloned().collect()
        }
        None => {
            let mut aimed = cases(Scale::Full);
            aimed.retain(|row| row.aim.share.is_some());
            aimed
        }
    };
    rows.retain(wanted);
    Ok(rows)
}

/// Returns the cases with these names.
fn named(all: &[Row], names: &[String], wanted: impl Fn(&Row) -> bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in names {
        let is_it = |row: &&Row| row.name() == *name || case_name(row) == *name;
        let found: Vec<_> = all.iter().filter(|row| wanted(row)).filter(is_it).collect();
        if found.is_empty() {
            return Err(unknown(all.iter().filter(|row| wanted(row)), name).into());
        }
        rows.extend(found.into_iter().cloned());
    }
    Ok(rows)
}

/// Returns a case's name within its family.
fn case_name(row: &Row) -> String {
    format!("{}, {}", row.work, row.size)
}

/// Returns the error for an unknown case name, with similar names.
fn unknown<'a>(rows: impl Iterator<Item = &'a Row>, name: &str) -> String {
    let likeness = |row: &Row| {
        let names = [row.name(), case_name(row)];
        let near = names.map(|it| strsim::normalized_damerau_levenshtein(&it, name));
        near.into_iter().fold(0.0, f64::max)
    };
    let mut near: Vec<(f64, String)> = rows.map(|row| (likeness(row), row.name())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = near.into_iter().take(NEAR);
    let near: Vec<String> = near.map(|(_, name)| format!("`{name}`")).collect();
    format!(
        "the name of a case required, given `{name}`; near it are {}",
        near.join(", ")
    )
}

/// Runs our part of one case for a profiler, on the device that `device` opens: the case is verified and warmed up, then one
/// operation runs between the profiler's marks. Returns the text to print.
///
/// # Errors
/// Returns an error if there is no such case or the answer is wrong, and the errors of the library and the driver.
pub fn one(device: impl FnOnce() -> Result<Device>, family: &str, name: &str) -> Result<String> {
    let known = Family::called(family).ok_or_else(|| no_family(family))?;
    let wanted = format!("{family}: {name}");
    let has_it = |scale: &Scale| cases(*scale).iter().any(|row| row.name() == wanted);
    let Some(scale) = [Scale::Full, Scale::Quick].into_iter().find(has_it) else {
        let all = all_cases();
        let of_family = all.iter().filter(|row| row.family == family);
        return Err(unknown(of_family, name).into());
    };
    let device = device()?;
    let peers = Peers::new(device.clone(), false);
    let mut bench = Bench::new(device, scale, Mode::Profile, peers, |_| {}).only(wanted.clone());
    known.run(&mut bench);
    let rows = bench.into_rows();
    let ours = rows.first().and_then(Row::ours);
    match ours.map(|ours| &ours.outcome) {
        Some(Outcome::Verified) => Ok(format!("{wanted}: right, and done once for a profiler")),
        outcome => {
            let reason = outcome.and_then(Outcome::reason);
            let reason = reason.unwrap_or_else(|| "not run".to_owned());
            Err(format!("{wanted}: {reason}").into())
        }
    }
}

/// Returns the error for an unknown family.
fn no_family(given: &str) -> String {
    let known: Vec<_> = families::all().map(Family::name).collect();
    format!(
        "one of the families {} required, given {given}",
        known.join(", ")
    )
}

/// Nsight Compute, and the metrics requested from it.
pub struct Profiler {
    program: PathBuf,
    version: String,
    metrics: Vec<&'static str>,
}

impl Profiler {
    /// Finds the installed profiler.
    ///
    /// # Errors
    /// Returns an error if there is none, or if it cannot be started.
    pub fn find() -> Result<Self> {
        let program = toolkit("bin", "ncu").ok_or(
            "ncu (Nsight Compute) required, found none; it is part of the CUDA toolkit: install that, and put its \
             bin folder on PATH or set CUDA_HOME",
        )?;
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said
            .lines()
            .find_map(|line| line.trim().strip_prefix("Version "));
        let version = version.and_then(|line| line.split_whitespace().next());
        Ok(Self {
            version: version.map_or_else(
                || "Nsight Compute".to_owned(),
                |version| format!("Nsight Compute {version}"),
            ),
            program,
            metrics: METRICS.iter().map(|metric| metric.name).collect(),
        })
    }

    /// Returns its name and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the kernels of one operation of a case. A metric that the tool does not know is left out from then on and
    /// reported on standard error.
    ///
    /// # Errors
    /// The outer error affects every case: the tool cannot be started, or may not read counters. The inner error says why this
    /// case has no counters.
    pub fn kernels(&mut self, case: &Row) -> Result<Result<Vec<Kernel>, String>> {
        let Self {
            program, metrics, ..
        } = self;
        kernels(metrics, |metrics| start(program, metrics, case))
    }
}

/// Runs the tool on a case.
fn start(program: &Path, metrics: &str, case: &Row) -> Result<Ended> {
    let output = Command::new(program)
        .args(["--profile-from-start", "off", "--clock-control", "none"])
        .args(["--csv", "--page", "raw", "--print-units", "base"])
        .args(["--metrics", metrics])
        .arg(std::env::current_exe()?)
        .args([COMMAND, &case.family, &case_name(case)])
        // Numbers depend on the locale.
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended {
        output: text(&output.stdout),
        errors: text(&output.stderr),
        well: output.status.success(),
        how: output.status.to_string(),
    })
}

/// A run of the tool.
#[derive(Debug, Clone)]
struct Ended {
    output: String,
    errors: String,
    well: bool,
    how: String,
}

/// Runs the tool and returns the kernels. It runs the tool again as long as there are unknown metrics to leave out.
fn kernels(
    metrics: &mut Vec<&'static str>,
    mut start: impl FnMut(&str) -> Result<Ended>,
) -> Result<Result<Vec<Kernel>, String>> {
    loop {
        let ended = start(&metrics.join(","))?;
        let found = report::kernels(&ended.output);
        if ended.well && found.is_ok() {
            return Ok(found);
        }
        let reason = report::complaint(&ended.output, &ended.errors, &ended.how);
        if reason.contains(NOT_ALLOWED) {
            return Err(format!("the counters may not be read: {reason}").into());
        }
        let named = report::named(&ended.output, &ended.errors);
        let (unknown, known): (Vec<_>, Vec<_>) =
            metrics.iter().partition(|name| named.contains(name));
        if unknown.is_empty() || known.is_empty() {
            return Ok(Err(match found {
                Err(error) => format!("{reason} ({error})"),
                Ok(_) => reason,
            }));
        }
        eprintln!("ncu: {reason}; left out: {}", unknown.join(", "));
        *metrics = known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::metrics::DRAM_READ;
    use crate::record::tests::record;

    fn names(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::name).collect()
    }

    #[test]
    fn without_a_record_the_cases_with_an_aim_for_the_share_are_chosen() {
        let rows = chosen(None, None, &[]).unwrap();
        assert!(rows.len() > 20 && rows.iter().all(|row| row.aim.share.is_some()));
        assert!(names(&rows).contains(&"reduce: sum u8, 2^28".to_owned()));
        // Cases that only a quick run has are not included.
        let rows = chosen(None, Some("map"), &[]).unwrap();
        assert_eq!(names(&rows), ["map: sin f32, 2^28", "map: sqrt f32, 2^28"]);
    }

    #[test]
    fn of_a_record_the_cases_that_missed_an_aim_are_chosen() {
        let rows = chosen(Some(&record()), None, &[]).unwrap();
        // The aim of the first for its share, and of the product for its ratio.
        assert_eq!(
            names(&rows),
            ["reduce: sum f32, 2^20", "gemm: product f32, 1024^3"]
        );
        let rows = chosen(Some(&record()), Some("gemm"), &[]).unwrap();
        assert_eq!(names(&rows), ["gemm: product f32, 1024^3"]);
    }

    #[test]
    fn cases_are_chosen_by_name() {
        let given = |family, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            chosen(None, family, &names)
        };
        let rows = given(None, &["sum u8, 2^28", "gemm: product f64, 2048^3"]).unwrap();
        assert_eq!(
            names(&rows),
            [
                "reduce: sum u8, 2^28",
                "scan: sum u8, 2^28",
                "gemm: product f64, 2048^3"
            ]
        );
        // A case that only a quick run has.
        assert_eq!(given(Some("map"), &["sin f32, 2^26"]).unwrap().len(), 1);
        let error = given(None, &["sum u8, 2^29"]).unwrap_err().to_string();
        assert!(
            error.contains("given `sum u8, 2^29`") && error.contains("`reduce: sum u8, 2^28`"),
            "{error}"
        );
        let error = given(Some("map"), &["sum u8, 2^28"])
            .unwrap_err()
            .to_string();
        assert!(!error.contains("`reduce"), "{error}");
        let error = given(Some("nothing"), &[]).unwrap_err().to_string();
        assert!(error.contains("given nothing"), "{error}");
    }

    /// A fake tool that does not know `unknown`.
    fn tool(unknown: &str) -> impl FnMut(&str) -> Result<Ended> {
        let titles = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\"";
        move |metrics| {
            let knows = !metrics.contains(unknown);
            let output = if knows {
                format!("{titles}\n\"\",\"\",\"\",\"\"\n\"0\",\"a\",\"(1, 1, 1)\",\"(2, 1, 1)\"\n")
            } else {
                format!("==ERROR== Failed to find metric {unknown}\n")
            };
            Ok(Ended {
                output,
                errors: String::new(),
                well: knows,
                how: "exit status: 1".to_owned(),
            })
        }
    }

    #[test]
    fn a_metric_that_the_tool_does_not_know_is_left_out() {
        let mut metrics: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        let found = kernels(&mut metrics, tool(DRAM_READ)).unwrap().unwrap();
        assert_eq!(found[0].grid, [2, 1, 1]);
        assert_eq!(metrics.len(), METRICS.len() - 1);
        assert!(!metrics.contains(&DRAM_READ));
        // No metric is left.
        let found = kernels(&mut vec![DRAM_READ], tool(DRAM_READ)).unwrap();
        let error = found.unwrap_err();
        assert!(
            error.contains("Failed to find metric dram__bytes_read.sum"),
            "{error}"
        );
    }

    #[test]
    fn a_run_that_failed_gives_no_counters() {
        let mut metrics = vec![DRAM_READ];
        let mut failing = |errors: &str| {
            let mut ended = tool("nothing")("").unwrap();
            ended.well = false;
            ended.errors = errors.to_owned();
            kernels(&mut metrics, |_| Ok(ended.clone()))
        };
        let found = failing("error: sum f32: wrong: at 0\n").unwrap();
        assert_eq!(found, Err("sum f32: wrong: at 0".to_owned()));
        let error = failing("==ERROR== ERR_NVGPUCTRPERM - no permission\n").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the counters may not be read: ERR"),
            "{error}"
        );
    }

    fn no_device() -> Result<Device> {
        Err("a device".into())
    }

    #[test]
    fn one_names_what_is_near_a_case_that_there_is_not() {
        let error = one(no_device, "reduce", "sum f33, 2^28").unwrap_err();
        assert!(
            error.to_string().contains("`reduce: sum f32, 2^28`"),
            "{error}"
        );
        let error = one(no_device, "reduces", "sum f32, 2^28").unwrap_err();
        assert!(error.to_string().contains("given reduces"), "{error}");
        // A known name gets as far as opening the device, even for a case of a quick run.
        for name in ["sin f32, 2^28", "sin f32, 2^26"] {
            let error = one(no_device, "map", name).unwrap_err();
            assert_eq!(error.to_string(), "a device");
        }
    }

    #[test]
    fn only_the_case_of_the_name_is_done() {
        let device = Device::cpu();
        let peers = Peers::new(device.clone(), false);
        let mut bench = Bench::new(device, Scale::Tiny, Mode::Verify, peers, |_| {})
            .only("reduce: min i32, 2^12".to_owned());
        families::all().for_each(|family| family.run(&mut bench));
        let rows = bench.into_rows();
        assert_eq!(names(&rows), ["reduce: min i32, 2^12"]);
        assert_eq!(rows[0].ours().unwrap().outcome, Outcome::Verified);
    }
}
