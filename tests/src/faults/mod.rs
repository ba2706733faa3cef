//! Injected faults: every driver call of every operation is made to fail, once each.
//!
//! The library opens `fault-driver` in the place of `libcuda.so.1`, which stands before a real driver
//! or does without one. An operation that meets a failing call has to return an error that names the call
//! (or do its work all the same, where the call only gives something back), leave nothing behind in the
//! driver, and work when it is asked again.
//!
//! A process has one driver, so all of it runs in a child process: [`in_child`] starts it, [`child`] is it.

mod driver;
mod inject;

use std::{ffi::CString, fs, path::Path, process::Command, time::Duration};

use system::process;

pub use driver::{Driver, Live, Plan};
pub use inject::Counts;

/// The shared library that [`child`] opens as the driver.
static DRIVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfault_driver.so"));

/// Tells the child that it is one, and of which kind.
const CHILD: &str = "WARPWRIGHT_FAULTS";
/// The variable by which the library is told its driver.
const LIBRARY: &str = "WARPWRIGHT_LIBCUDA";
/// Tells the child which driver is the real one, where the environment names it.
const REAL: &str = "WARPWRIGHT_FAULTS_REAL";
/// How long a child may take; a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(900);

/// What is behind the driver that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Make-believe devices, which do everything but run kernels.
    MakeBelieve,
    /// The driver of this machine.
    RealDriver,
}

impl Behind {
    fn word(self) -> &'static str {
        match self {
            Self::MakeBelieve => "make-believe",
            Self::RealDriver => "real",
        }
    }
}

/// Whether this process is the child, and what is behind its driver.
pub fn is_child() -> Option<Behind> {
    let word = std::env::var(CHILD).ok()?;
    [Behind::MakeBelieve, Behind::RealDriver]
        .into_iter()
        .find(|behind| behind.word() == word)
}

/// A folder in which linkers find the driver of make-believe devices, of which it has none yet: as `libcuda.so.1`, and as
/// `libcuda.so`.
///
/// # Errors
/// That it cannot be written.
pub fn stand_in() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("libcuda.so.1"), DRIVER)?;
    std::os::unix::fs::symlink("libcuda.so.1", folder.path().join("libcuda.so"))?;
    Ok(folder)
}

/// Starts `program`, which is to call [`child`], and gives what it printed.
///
/// # Errors
/// What it printed, if it failed, crashed or took too long.
pub fn in_child(program: &mut Command, behind: Behind) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let library = folder.path().join("libfault_driver.so");
    fs::write(&library, DRIVER).map_err(|error| error.to_string())?;
    let program = program
        .env(CHILD, behind.word())
        .env(
            REAL,
            std::env::var_os(LIBRARY).unwrap_or_else(|| "libcuda.so.1".into()),
        )
        .env(LIBRARY, &library);
    let done = process::run(program, Some(PATIENCE), false)
        .map_err(|error| format!("the child {error}"))?;
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        Ok(output)
    } else {
        Err(format!("{}\n{output}\n{}", done.status, done.stderr))
    }
}

/// The driver of a process that [`in_child`] started; one make-believe device where there is none behind it.
///
/// # Errors
/// That it cannot be opened.
pub fn driver(behind: Behind) -> Result<Driver, String> {
    let path = std::env::var_os(LIBRARY).ok_or_else(|| format!("{LIBRARY} is not set"))?;
    let driver = Driver::open(Path::new(&path))?;
    match behind {
        Behind::MakeBelieve => driver.devices(1, 1 << 30),
        Behind::RealDriver => {
            let real = std::env::var(REAL).map_err(|error| error.to_string())?;
            let real = CString::new(real).map_err(|error| error.to_string())?;
            driver.stand_before(&real)?;
        }
    }
    Ok(driver)
}

/// Injects the faults, in a process that [`in_child`] started.
///
/// # Errors
/// What went wrong, a line each.
pub fn child(behind: Behind) -> Result<Counts, String> {
    inject::all(&driver(behind)?, behind)
}
