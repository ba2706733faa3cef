//! The executors of the tests: always the CPU, and every CUDA device that the library supports.

use std::sync::OnceLock;

use cuda_std::cpu::{Checks, Order};
use warpwright::{CpuOptions, Device, DeviceKind};

use crate::left_out;

/// The variable that makes the absence of a CUDA device a failure.
pub const REQUIRE_CUDA: &str = "WARPWRIGHT_REQUIRE_CUDA";

/// A kind of executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Executor {
    /// The CPU executor.
    Cpu,
    /// CUDA devices.
    Cuda,
}

impl Executor {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Cuda];

    /// Returns the devices of this kind.
    ///
    /// # Panics
    /// Panics if a CUDA device is required and there is none, or if one does not open.
    pub fn devices(self) -> &'static [Device] {
        static CPU: OnceLock<[Device; 1]> = OnceLock::new();
        match self {
            Self::Cpu => CPU.get_or_init(|| [cpu()]),
            Self::Cuda => cuda(),
        }
    }
}

/// Returns the CPU executor with every check on, unless the environment sets other checks.
///
/// # Panics
/// Panics if the environment's value is invalid.
pub fn cpu() -> Device {
    Device::cpu_with(checked())
}

/// Returns [`cpu`] with this order of blocks and lanes.
///
/// # Panics
/// Panics as [`cpu`] does.
pub fn cpu_in(order: Order) -> Device {
    Device::cpu_with(checked().order(order))
}

fn checked() -> CpuOptions {
    let asked = Checks::from_env().unwrap_or_else(|why| panic!("{why}"));
    CpuOptions::default().checks(asked.unwrap_or(Checks::ALL))
}

fn cuda() -> &'static [Device] {
    static CUDA: OnceLock<Result<Vec<Device>, String>> = OnceLock::new();
    let found = CUDA.get_or_init(|| {
        let mut devices = Vec::new();
        for info in Device::list() {
            // The library's kernels need 7.5, and it refuses older devices.
            if info.compute_capability < Some((7, 5)) {
                continue;
            }
            if let DeviceKind::Cuda { ordinal } = info.kind {
                let device = Device::cuda(ordinal);
                devices
                    .push(device.map_err(|error| format!("{} does not open: {error}", info.kind))?);
            }
        }
        if devices.is_empty() && required() {
            let why = Device::cuda(0)
                .err()
                .map_or_else(String::new, |error| format!(": {error}"));
            return Err(format!(
                "{REQUIRE_CUDA} is set and there is no CUDA device{why}"
            ));
        }
        Ok(devices)
    });
    match found {
        Ok(devices) => devices,
        Err(why) => panic!("{why}"),
    }
}

/// Returns whether the absence of a CUDA device is a failure.
fn required() -> bool {
    std::env::var_os(REQUIRE_CUDA).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns every device, the CPU first. Without a CUDA device, one CUDA case is counted as left out.
pub fn all() -> impl Iterator<Item = &'static Device> {
    leave_out(usize::from(Executor::Cuda.devices().is_empty()));
    Executor::ALL.into_iter().flat_map(Executor::devices)
}

/// Returns two CUDA devices. Without them, the case is counted as left out.
pub fn two() -> Option<[&'static Device; 2]> {
    match Executor::Cuda.devices() {
        [first, second, ..] => Some([first, second]),
        [_] => {
            left_out::note(1, "CUDA", "there is one CUDA device, and these need two");
            None
        }
        [] => {
            leave_out(1);
            None
        }
    }
}

/// Records that `cases` cases were left out because there is no CUDA device. The process prints the total when it ends,
/// whatever its tests print.
pub fn leave_out(cases: usize) {
    left_out::note(cases, "CUDA", &no_device());
}

fn no_device() -> String {
    format!("there is no CUDA device; {REQUIRE_CUDA}=1 forbids that")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there_and_first() {
        assert_eq!(all().next().unwrap().kind(), DeviceKind::Cpu);
        assert_eq!(Executor::Cpu.devices().len(), 1);
    }

    #[test]
    fn the_note_says_how_to_forbid_it() {
        assert!(no_device().contains("WARPWRIGHT_REQUIRE_CUDA=1"));
    }
}
