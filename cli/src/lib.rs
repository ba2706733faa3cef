//! The parts of the program `warpwright` apart from the command line: file formats, output files, plots, a synthetic picture,
//! and the checks and timings behind `verify` and `ladder`.
//!
//! The kernels and the operations are in the library `warpwright`. This crate reads their inputs from files and writes their
//! results to files.

pub mod array;
pub mod error;
pub mod input;
pub mod ladder;
pub mod npy;
pub mod output;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod render;
pub mod ulp;
pub mod verify;

use std::time::Duration;

use warpwright::{Device, DeviceKind, Result};

/// Runs work that can be queued repeatedly, and returns the time that the device takes for it.
///
/// # Errors
/// Returns the errors of the work and of the library.
pub fn timed(device: &Device, mut enqueue: impl FnMut() -> Result<()>) -> Result<Duration> {
    // A CUDA device's first launch loads the kernels, which is not part of the operation.
    if device.kind() != DeviceKind::Cpu {
        enqueue()?;
    }
    Ok(device.time(enqueue)?.1)
}
