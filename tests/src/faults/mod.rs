//! Injected faults: every driver call of every operation is made to fail once.
//!
//! The library opens the mock driver `fault-driver` in place of `libcuda.so.1`. The mock driver forwards calls to a real driver
//! or works without one. If a call fails, the operation must return an error that names the call (or succeed, if the call only
//! releases something), leave no objects in the driver, and work when it is run again.
//!
//! A process has only one driver, so the faults are injected in a child process: [`in_child`] starts it, and [`child`] is its
//! work.

mod driver;
mod inject;

use std::{ffi::CString, fs, path::Path, process::Command, time::Duration};

use system::process;

pub use driver::{Driver, Live, Plan};
pub use inject::Counts;

/// The shared library that [`child`] opens as the driver.
static DRIVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfault_driver.so"));

/// The variable that marks the child process, and gives its kind.
const CHILD: &str = "WARPWRIGHT_FAULTS";
/// The variable that tells the library which driver to open.
const LIBRARY: &str = "WARPWRIGHT_LIBCUDA";
/// The variable that tells the child which driver is the real one, if the environment names it.
const REAL: &str = "WARPWRIGHT_FAULTS_REAL";
/// The time limit of a child; a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(900);

/// The driver behind the mock driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// No driver. The mock devices do everything except running kernels.
    Mock,
    /// The driver of this machine.
    RealDriver,
}

impl Behind {
    fn word(self) -> &'static str {
        match self {
            Self::Mock => "mock",
            Self::RealDriver => "real",
        }
    }
}

/// Returns the driver behind the mock driver if this process is the child.
pub fn is_child() -> Option<Behind> {
    let word = std::env::var(CHILD).ok()?;
    [Behind::Mock, Behind::RealDriver]
        .into_iter()
        .find(|behind| behind.word() == word)
}

/// Makes a folder for a mock driver without devices, in which linkers find it as `libcuda.so.1` and as `libcuda.so`.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn stand_in() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("libcuda.so.1"), DRIVER)?;
    std::os::unix::fs::symlink("libcuda.so.1", folder.path().join("libcuda.so"))?;
    Ok(folder)
}

/// Starts `program`, which must call [`child`], and returns its output.
///
/// # Errors
/// Returns the output if the program failed, crashed or took too long.
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

/// Runs the test `child` of this program on mock devices. The test must print `done` at its end.
///
/// # Panics
/// Panics if the test fails or does not print `done`: a name that fits no test would pass as well.
pub fn run_child(child: &str, done: &str) {
    let mut program = Command::new(std::env::current_exe().expect("a path"));
    program.args([child, "--exact", "--nocapture"]);
    match in_child(&mut program, Behind::Mock) {
        Ok(output) => assert!(output.contains(done), "{output}"),
        Err(why) => panic!("{why}"),
    }
}

/// Opens the driver of a process that [`in_child`] started. Without a real driver it has one mock device.
///
/// # Errors
/// Returns an error if it cannot be opened.
pub fn driver(behind: Behind) -> Result<Driver, String> {
    let path = std::env::var_os(LIBRARY).ok_or_else(|| format!("{LIBRARY} is not set"))?;
    let driver = Driver::open(Path::new(&path))?;
    match behind {
        Behind::Mock => driver.devices(1, 1 << 30),
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
/// Returns what went wrong, one line each.
pub fn child(behind: Behind) -> Result<Counts, String> {
    inject::all(&driver(behind)?, behind)
}
