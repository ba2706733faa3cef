//! The first operation of a process, each measured in a new process.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs, process, ptr};

use serde::{Deserialize, Serialize};
use warpwright::Device;
use warpwright_workloads::Family;

use super::super::Result;
use super::super::driver::Driver;
use crate::overhead::{Cold, Start};
use crate::record::Outcome;

/// The program's command for one such process. Its argument is the family.
pub const COMMAND: &str = "first-operation";

/// The times that such a process reports, in seconds.
#[derive(Serialize, Deserialize)]
struct Told {
    /// From opening the driver's library to the end of the first call in a context.
    context: f64,
    /// From then on: opening the library's device, and the operation from input to output on the host.
    first: f64,
}

/// Runs the command, and returns the text to print.
///
/// # Errors
/// Returns the errors of the driver and the library, and an error for a wrong answer.
pub fn child(family: &str) -> Result<String> {
    let found = Family::called(family);
    let found = found.ok_or_else(|| format!("a family required, given `{family}`"))?;
    let workload = (found.few)(64);
    let start = Instant::now();
    context()?;
    let context = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let device = Device::cuda(0)?;
    let input = workload.input(&device)?;
    let mut ready = input.prepare(&device, None)?;
    ready.enqueue()?;
    ready.bits()?;
    let first = start.elapsed().as_secs_f64();
    ready.check()?.map_err(|text| format!("{family}: {text}"))?;
    Ok(serde_json::to_string(&Told { context, first })?)
}

/// Does what every program that uses the card must do, by the driver's functions alone. The context stays, so that the library
/// finds the same one.
fn context() -> Result<()> {
    let driver = Driver::open()?;
    let (mut device, mut context) = (0, ptr::null_mut());
    let (mut free, mut total) = (0, 0);
    // SAFETY: each function writes to the given variables only.
    unsafe {
        driver.init(0)?;
        driver.device(&mut device, 0)?;
        driver.retain(&mut context, device)?;
        driver.set_current(context)?;
        driver.memory(&mut free, &mut total)?;
    }
    // Closing the driver's library under the context would add to the time.
    std::mem::forget(driver);
    Ok(())
}

/// Measures the start of a family in `processes` processes each, without and with the driver's cache of compiled kernels.
pub fn starts(family: &str, processes: usize) -> Cold {
    let uncached = start(family, processes, None);
    let cached = Cache::new(family).and_then(|cache| {
        // This process fills the cache.
        one(family, Some(cache.folder()))?;
        Ok(start(family, processes, Some(cache.folder())))
    });
    let cached = cached.unwrap_or_else(failed);
    Cold {
        family: family.to_owned(),
        uncached,
        cached,
    }
}

fn start(family: &str, processes: usize, cache: Option<&Path>) -> Start {
    let told: Result<Vec<Told>> = (0..processes).map(|_| one(family, cache)).collect();
    let told = match told {
        Ok(told) => told,
        Err(error) => return failed(error),
    };
    let times = |of: fn(&Told) -> f64| {
        let times: Vec<f64> = told.iter().map(of).collect();
        Outcome::of(&times, 1)
    };
    Start {
        context: times(|told| told.context),
        first: times(|told| told.first),
    }
}

fn failed(error: Box<dyn Error>) -> Start {
    let outcome = Outcome::from(error);
    Start {
        context: outcome.clone(),
        first: outcome,
    }
}

/// Runs one process. Without a folder it has no driver cache.
fn one(family: &str, cache: Option<&Path>) -> Result<Told> {
    let mut command = Command::new(env::current_exe()?);
    command.args([COMMAND, family]);
    for variable in [
        "CUDA_CACHE_DISABLE",
        "CUDA_CACHE_PATH",
        "CUDA_CACHE_MAXSIZE",
    ] {
        command.env_remove(variable);
    }
    match cache {
        Some(folder) => command.env("CUDA_CACHE_PATH", folder),
        None => command.env("CUDA_CACHE_DISABLE", "1"),
    };
    let output = command.stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, text.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A folder for the driver's cache, removed when dropped.
struct Cache {
    folder: PathBuf,
}

impl Cache {
    fn new(family: &str) -> Result<Self> {
        // The driver runs the code in this folder.
        let name = format!("bench-{}-{family}", process::id());
        let folder = system::folder::private(&system::folder::temporary(&name))?;
        Ok(Self { folder })
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // Files left in the temporary folder do no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
