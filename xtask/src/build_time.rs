//! `build-time`: builds the library from scratch as a user's project does, and reports the time and the size of programs with
//! it. It does the same for the program and for the README's two commands. Everything runs on two cores.

mod commands;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;
use std::{fmt, fs, thread};

use clap::ValueEnum;
use serde::Deserialize;

use crate::{Result, command, project};

/// The number of cores of all measurements.
const CORES: usize = 2;
/// The aim for the library's build on these cores, in seconds.
const WANTED: f64 = 60.0;
/// The aim for the smallest program, in bytes without symbols.
const SMALLEST: u64 = 4 << 20;
/// Crates that took less than this many seconds are not listed.
const LISTED: f64 = 2.0;

/// The programs: names and texts.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "one-family",
        r#"
fn main() -> warpwright::Result<()> {
    let device = warpwright::Device::auto()?;
    println!("{}", device.sum(&device.upload(&[1.0_f32, 2.0])?)?);
    Ok(())
}
"#,
    ),
    (
        "all-families",
        r#"
use warpwright::{Device, Generator, ops::map::Sin};

fn main() -> warpwright::Result<()> {
    let device = Device::auto()?;
    let values = device.upload(&[1.0_f32, 2.0, 3.0, 4.0])?;
    let matrix = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    println!("{} {:?}", device.sum(&values)?, device.argmax(&values)?);
    println!("{:?}", device.column_sums(&matrix)?.to_vec()?);
    println!("{:?}", device.row_sums(&matrix)?.to_vec()?);
    println!("{:?}", device.transpose(&matrix)?.to_vec()?);
    println!("{:?}", device.histogram_range(&values, 4, 0.0, 4.0)?);
    println!("{:?}", device.matmul(&matrix, &matrix)?.to_vec()?);
    println!("{:?}", device.convolve(&values, &[0.25, 0.5, 0.25])?.to_vec()?);
    println!("{:?}", device.map(&values, Sin)?.to_vec()?);
    let mut random = device.generator(Generator::Philox, 1)?;
    println!("{:?}", random.normal(4, 0.0_f32, 1.0)?.to_vec()?);
    Ok(())
}
"#,
    ),
];

/// How to build.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to build; everything where nothing is named.
    #[arg(value_enum, value_name = "PART")]
    parts: Vec<Part>,
    /// Compilers at a time; as many as there are cores where it is not given.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Something to build from nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// The library as a user's project builds it, and the sizes of programs with it.
    Library,
    /// The program, optimized.
    Program,
    /// `cargo xtask demo`, up to its first result and to its end.
    Demo,
    /// `cargo test --workspace`, up to its end.
    Tests,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let cores = keep_to_cores()?;
    let all = Part::value_variants();
    let chosen = |part: &&Part| arguments.parts.is_empty() || arguments.parts.contains(part);
    println!("{}", headline(arguments));
    println!("on {cores} cores");
    for part in all.iter().filter(chosen) {
        match part {
            Part::Library => library(arguments.jobs)?,
            Part::Program => commands::program(arguments.jobs)?,
            Part::Demo => commands::demo(arguments.jobs)?,
            Part::Tests => commands::tests(arguments.jobs)?,
        }
    }
    Ok(())
}

/// Returns the command, as the record begins.
fn headline(arguments: &Arguments) -> String {
    let mut line = "# cargo xtask build-time".to_owned();
    for part in arguments.parts.iter().filter_map(Part::to_possible_value) {
        line += &format!(" {}", part.get_name());
    }
    if let Some(jobs) = arguments.jobs {
        line += &format!(" --jobs {jobs}");
    }
    line
}

/// The duration of a build, in seconds.
struct Timed {
    wall: f64,
    /// The processor time.
    cpu: f64,
}

impl Timed {
    /// Returns the share of processor time of each of [`CORES`] cores.
    fn share(&self) -> f64 {
        self.cpu / CORES as f64
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wall, cpu, share) = (self.wall, self.cpu, self.share());
        write!(
            f,
            "  {cpu:.1} s of processor time: {share:.1} s on each of two cores\n  \
             {wall:.1} s on the clock, which counts what else the machine does"
        )
    }
}

/// Does the work and times it.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<Timed> {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    work()?;
    Ok(Timed {
        wall: start.elapsed().as_secs_f64(),
        cpu: cpu_seconds() - cpu,
    })
}

/// Restricts this process and its children to [`CORES`] cores, if the system supports it. Returns the number of cores.
fn keep_to_cores() -> Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let allowed = sched_getaffinity(None)?;
        let mut kept = CpuSet::new();
        let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        cores.take(CORES).for_each(|core| kept.set(core));
        sched_setaffinity(None, &kept)?;
    }
    Ok(thread::available_parallelism()?.get())
}

/// Builds the library, and reports the sizes of programs with it.
fn library(jobs: Option<usize>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let package = Package::new(folder.path(), jobs)?;
    let took =
        timed(|| package.cargo(&["build", "--release", "--timings", "--package=warpwright"]))?;
    let share = took.share();
    println!("the library and all that it depends on, optimised, from nothing:\n{took}");
    units(&package.target())?;
    println!("programs, in bytes as built and without symbols:");
    let mut smallest = u64::MAX;
    for (name, _) in PROGRAMS {
        let binary = format!("--bin={name}");
        package.cargo(&["rustc", "--release", &binary])?;
        let built = package.size(name)?;
        package.cargo(&["rustc", "--release", &binary, "--", "-Cstrip=symbols"])?;
        let stripped = package.size(name)?;
        smallest = smallest.min(stripped);
        println!("  {name}: {built} {stripped}");
    }
    if share > WANTED {
        return Err(format!(
            "build-time: at most {WANTED} s on each of two cores wanted, found {share:.1} s"
        )
        .into());
    }
    if smallest > SMALLEST {
        return Err(format!(
            "build-time: a smallest program of at most {SMALLEST} bytes wanted, found {smallest}"
        )
        .into());
    }
    Ok(())
}

/// A user's project, outside of the workspace.
struct Package {
    folder: PathBuf,
    jobs: Option<usize>,
}

impl Package {
    fn new(folder: &Path, jobs: Option<usize>) -> Result<Self> {
        let library = project::root().join("host");
        let manifest = format!(
            "[package]\nname = \"build-time\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nwarpwright = {{ path = {library:?} }}\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        // The versions of the workspace.
        fs::copy(
            project::root().join("Cargo.lock"),
            folder.join("Cargo.lock"),
        )?;
        let programs = folder.join("src/bin");
        fs::create_dir_all(&programs)?;
        for (name, text) in PROGRAMS {
            fs::write(programs.join(format!("{name}.rs")), text)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            jobs,
        })
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn cargo(&self, arguments: &[&str]) -> Result<()> {
        let mut cargo = commands::fresh(&self.target(), self.jobs);
        cargo
            .args(arguments)
            .current_dir(&self.folder)
            .stdout(Stdio::null());
        command::finish("build-time", &mut cargo)
    }

    fn size(&self, name: &str) -> Result<u64> {
        Ok(fs::metadata(self.target().join("release").join(name))?.len())
    }
}

/// Prints the slow units from cargo's page of timings in a target folder.
fn units(target: &Path) -> Result<()> {
    let page = target.join("cargo-timings/cargo-timing.html");
    let page = fs::read_to_string(&page)
        .map_err(|error| format!("build-time: {}: {error}", page.display()))?;
    let mut units = units_of(&page)?;
    units.retain(|unit| unit.duration >= LISTED);
    units.sort_by(|one, other| other.duration.total_cmp(&one.duration));
    for unit in units {
        println!("  {:>5.1} s  {}", unit.duration, unit.title());
    }
    Ok(())
}

/// A unit of cargo's work.
#[derive(Debug, Deserialize)]
struct Unit {
    name: String,
    version: String,
    /// The target of the package; empty for its library.
    target: String,
    /// The duration in seconds.
    duration: f64,
}

impl Unit {
    fn title(&self) -> String {
        let Self {
            name,
            version,
            target,
            ..
        } = self;
        format!("{name} {version}{target}")
    }
}

/// Returns the units in cargo's page.
fn units_of(page: &str) -> Result<Vec<Unit>> {
    const START: &str = "UNIT_DATA = ";
    let (_, rest) = page
        .split_once(START)
        .ok_or("build-time: units in cargo's page of timings required, found none")?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Vec<Unit>>();
    let units = values.next().ok_or("build-time: the units end at once")?;
    Ok(units?)
}

/// Returns the processor time, in seconds, of all child processes that this process and its children have waited for.
fn cpu_seconds() -> f64 {
    /// Ticks per second. Linux reports a hundred to programs, whatever its own clock does.
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The words after the name, which may contain spaces: the 14th and 15th are the children's time in user and in system mode.
    let words = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = words.split(' ').skip(13).take(2);
    ticks
        .filter_map(|word| word.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn cargos_page_is_read() {
        let page = r#"<script>
const UNIT_DATA = [{"i": 0, "name": "a", "version": "0.1.0", "mode": "todo", "target": " build script (run)",
"start": 0.1, "duration": 2.5, "unblocked_units": [1]}];
const CONCURRENCY_DATA = [];
</script>"#;
        let units = units_of(page).unwrap();
        assert_eq!(units.len(), 1);
        assert_eq!(units[0].title(), "a 0.1.0 build script (run)");
        assert!(units[0].duration == 2.5);
        assert!(units_of("nothing").is_err());
        assert!(units_of("UNIT_DATA = nonsense").is_err());
    }

    #[test]
    fn parts_are_named_as_they_are_asked_for() {
        let mut arguments = Arguments {
            parts: Vec::new(),
            jobs: None,
        };
        assert_eq!(headline(&arguments), "# cargo xtask build-time");
        arguments.parts = ["demo", "tests"]
            .map(|name| Part::from_str(name, false).unwrap())
            .into();
        arguments.jobs = Some(1);
        let line = "# cargo xtask build-time demo tests --jobs 1";
        assert_eq!(headline(&arguments), line);
        assert_eq!(Part::value_variants().len(), 4);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn children_are_kept_to_two_cores() {
        // This affects only the current thread: the other tests' threads keep their cores.
        let cores = keep_to_cores().unwrap();
        assert!((1..=CORES).contains(&cores));
        let child = Command::new("nproc").output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&child.stdout).trim(),
            cores.to_string()
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn children_take_processor_time() {
        let before = cpu_seconds();
        let shell = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(
            Command::new("sh")
                .args(["-c", shell])
                .status()
                .unwrap()
                .success()
        );
        assert!(cpu_seconds() > before);
    }
}
