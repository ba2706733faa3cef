//! Peers that can do a work in several ways. The fastest way with the right answer is used.

use std::time::Duration;

use warpwright::{Device, Vector};

use super::super::{Result, pointer};
use super::Absent;

/// The number of zeros before and after the values of a [`Signal`]; more than half of the widest mask.
pub const MARGIN: usize = 128;

/// The addresses of a vector that a filter reads.
#[derive(Debug, Clone, Copy)]
pub struct Signal {
    /// The first value, aligned to 256 bytes. There are [`MARGIN`] zeros before it and after the last value.
    pub values: u64,
    /// Half a mask's width of zeros, aligned to 256 bytes, then the same values, and as many zeros again.
    pub halo: u64,
}

/// A function that queues a work from a signal to an address.
pub type Queue = Box<dyn FnMut(Signal, u64) -> Result<()>>;

/// One way of several.
pub struct Way {
    /// The way's name.
    pub name: String,
    prepare: Box<dyn Fn() -> Result<Queue>>,
}

impl Way {
    /// Makes a way that `prepare` prepares.
    pub fn new(name: String, prepare: impl Fn() -> Result<Queue> + 'static) -> Self {
        Self {
            name,
            prepare: Box::new(prepare),
        }
    }
}

/// Returns the fastest of the ways whose answer passes `check`, and its name. The answer has `len` values.
///
/// # Errors
/// Returns the fault of each way if none passes.
pub fn fastest(
    device: &Device,
    ways: Vec<Way>,
    signal: Signal,
    len: usize,
    check: impl Fn(&[f32]) -> Result<(), String>,
) -> Result<(String, Queue), Absent> {
    let mut reasons = Vec::new();
    let mut tried: Vec<(Duration, Way)> = Vec::new();
    for way in ways {
        // Only one way at a time holds its workspace.
        let time = (way.prepare)().and_then(|mut queue| timed(device, &mut queue, signal, len));
        match time {
            Ok(time) => tried.push((time, way)),
            Err(error) => reasons.push(format!("{}: {error}", way.name)),
        }
    }
    tried.sort_by_key(|(time, _)| *time);
    for (_, way) in tried {
        let mut queue = (way.prepare)()?;
        // Zeros, so that a way that writes nothing does not pass with another one's answer.
        let mut output: Vector<f32> = device.zeros(len)?;
        queue(signal, pointer(&mut output))?;
        match check(&output.to_vec()?) {
            Ok(()) => return Ok((way.name, queue)),
            Err(wrong) => reasons.push(format!("{}: {wrong}", way.name)),
        }
    }
    Err(Absent::Failed(format!(
        "none of its ways is right: {}",
        reasons.join("; ")
    )))
}

/// Returns the time of one operation, after one that is not timed.
fn timed(device: &Device, queue: &mut Queue, signal: Signal, len: usize) -> Result<Duration> {
    const REPEATS: u32 = 3;
    let mut output: Vector<f32> = device.zeros(len)?;
    let to = pointer(&mut output);
    queue(signal, to)?;
    device.synchronize()?;
    let (done, time) = device.time(|| Ok((0..REPEATS).try_for_each(|_| queue(signal, to))))?;
    done?;
    Ok(time / REPEATS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a way that takes `milliseconds` and writes this value.
    fn way(name: &str, milliseconds: u64, value: Result<f32, &'static str>) -> Way {
        Way::new(name.to_owned(), move || {
            let value = value?;
            Ok(Box::new(move |_, to| {
                std::thread::sleep(Duration::from_millis(milliseconds));
                // SAFETY: the test gives the address of one value on the host.
                unsafe { *(to as *mut f32) = value };
                Ok(())
            }))
        })
    }

    #[test]
    fn the_fastest_right_way_is_taken() {
        let signal = Signal { values: 0, halo: 0 };
        let check = |found: &[f32]| match found {
            [7.0] => Ok(()),
            other => Err(format!("found {other:?}")),
        };
        let device = Device::cpu();
        let ways = vec![
            way("slow", 20, Ok(7.0)),
            way("wrong", 0, Ok(8.0)),
            way("none", 0, Err("no room")),
            way("quick", 2, Ok(7.0)),
        ];
        let Ok((name, _)) = fastest(&device, ways, signal, 1, check) else {
            panic!("one is right")
        };
        assert_eq!(name, "quick");
        let ways = vec![way("wrong", 0, Ok(8.0)), way("none", 0, Err("no room"))];
        let Err(error) = fastest(&device, ways, signal, 1, check) else {
            panic!("none is right")
        };
        let text = error.to_string();
        assert!(
            text.contains("none: no room") && text.contains("wrong: found [8.0]"),
            "{text}"
        );
    }
}
