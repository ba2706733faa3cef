//! The parts of the program `warpwright` that are not about command lines: file formats, output
//! files, plots, a synthetic picture, and the checks and timings behind `verify` and `ladder`.
//!
//! The kernels and the operations live in the library `warpwright`; this crate brings files to them and
//! their results back into files.

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

/// Runs work that can be queued repeatedly and tells how long the device takes for it.
///
/// # Errors
/// What the work and the library report.
pub fn timed(device: &Device, mut enqueue: impl FnMut() -> Result<()>) -> Result<Duration> {
    // A CUDA device's first launch loads the kernels, which is no part of the operation.
    if device.kind() != DeviceKind::Cpu {
        enqueue()?;
    }
    Ok(device.time(enqueue)?.1)
}
