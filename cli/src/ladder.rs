//! The ladder of a family: each rung is checked, timed, and compared with the device's copy rate from the same run.

use std::time::Duration;

use warpwright::{Device, Error, InvalidKind, Matrix, Result};
use warpwright_workloads::{Ready, Scale, Workload, timings};

/// The times of one family's rungs for one problem.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The family.
    pub family: &'static str,
    /// The problem of every rung, such as `sum of 1000 f32`.
    pub problem: String,
    /// The minimum number of bytes that the problem must read and write.
    pub bytes: u64,
    /// The floating-point operations of the problem, if they and not the bytes are the limit.
    pub operations: Option<u64>,
    /// The rate of a copy that moves as many bytes, in bytes read and written per second: the median of samples taken before
    /// and after each rung.
    pub copy_rate: f64,
    /// The rungs, in the family's order.
    pub rungs: Vec<Rung>,
}

/// One rung.
#[derive(Debug, Clone)]
pub struct Rung {
    /// The variant.
    pub variant: &'static str,
    /// The result of the rung.
    pub result: Problem,
}

/// The result of a rung.
#[derive(Debug, Clone)]
pub enum Problem {
    /// The result was right; this is the median time.
    Timed(Duration),
    /// The variant does not support the problem, for this reason.
    NotEligible(String),
    /// The result was wrong; the rung was not timed.
    Wrong(String),
}

/// The time that all samples of a copy or a rung should take together.
const SAMPLING: Duration = Duration::from_millis(400);

/// The minimum length of a sample, so that the clock's resolution and a launch's overhead do not matter.
const LEAST_SAMPLE: Duration = Duration::from_millis(1);

/// The bytes of memory that a ladder may need per element: values, expected results, results, and the copy's buffers.
const BYTES: u64 = 32;

/// The minimum and maximum number of samples.
const SAMPLES: (usize, usize) = (3, 50);

impl Ladder {
    /// Checks and times these variants of a family on its problems of about `size` elements (by default a size that suits the
    /// device), and calls `after` after each variant of each problem.
    ///
    /// # Errors
    /// Returns the library's errors, except for a variant that does not support the problem; [`Error::Invalid`] for a family
    /// without a ladder, and for a size that does not fit in memory.
    pub fn run(
        device: &Device,
        family: &'static str,
        variants: &[&'static str],
        size: Option<usize>,
        mut after: impl FnMut(),
    ) -> Result<Vec<Ladder>> {
        let room = device.free_memory()?.min(Device::cpu().free_memory()?) / BYTES;
        if let Some(size) = size.filter(|size| *size as u64 > room) {
            return Err(Error::Invalid {
                kind: InvalidKind::TooLarge,
                operation: "ladder",
                required: format!("a size of at most {room} elements, for which there is memory"),
                given: size.to_string(),
            });
        }
        let workloads = timings(family, Scale::of(device), size);
        if workloads.is_empty() {
            return Err(Error::Invalid {
                kind: InvalidKind::Name,
                operation: "ladder",
                required: "a family with a ladder".to_owned(),
                given: family.to_owned(),
            });
        }
        workloads
            .iter()
            .map(|workload| one(device, workload, variants, &mut after))
            .collect()
    }

    /// Returns the bytes per second of a rung that took this long.
    pub fn rate(&self, time: Duration) -> f64 {
        self.bytes as f64 / time.as_secs_f64().max(1e-12)
    }

    /// Returns the floating-point operations per second of a rung that took this long, if they are the limit.
    pub fn operation_rate(&self, time: Duration) -> Option<f64> {
        self.operations
            .map(|operations| operations as f64 / time.as_secs_f64().max(1e-12))
    }
}

/// Times every variant of one workload.
fn one(
    device: &Device,
    workload: &Workload,
    variants: &[&'static str],
    mut after: impl FnMut(),
) -> Result<Ladder> {
    let copied = Copied::new(device, workload.bytes())?;
    let input = workload.input(device)?;
    let mut copies = Vec::new();
    let mut rungs = Vec::new();
    for &variant in variants {
        copies.push(copied.time(device)?);
        let result = match input.prepare(device, Some(variant)) {
            Ok(mut ready) => timed(device, &mut *ready)?,
            Err(Error::NotEligible { reason, .. }) => Problem::NotEligible(reason),
            Err(error) => return Err(error),
        };
        rungs.push(Rung { variant, result });
        copies.push(copied.time(device)?);
        after();
    }
    Ok(Ladder {
        family: workload.family(),
        problem: workload.name(),
        bytes: workload.bytes() as u64,
        operations: workload.operations(),
        copy_rate: copied.bytes() as f64 / median(&mut copies).as_secs_f64().max(1e-12),
        rungs,
    })
}

fn timed(device: &Device, ready: &mut dyn Ready) -> Result<Problem> {
    ready.enqueue()?;
    if let Err(text) = ready.check()? {
        return Ok(Problem::Wrong(text));
    }
    sampled(device, || ready.enqueue()).map(Problem::Timed)
}

/// A buffer for timing copies.
struct Copied(Matrix<u8>);

impl Copied {
    /// Makes a buffer whose copy reads and writes `bytes` bytes.
    fn new(device: &Device, bytes: usize) -> Result<Self> {
        let half = (bytes / 2).max(1);
        // Not zeros, because zero pages may share memory.
        Ok(Self(device.upload_matrix(&vec![1; half], 1, half)?))
    }

    fn bytes(&self) -> usize {
        2 * self.0.as_vector().len()
    }

    /// Returns the time of one copy. The transpose of a matrix of one row is a plain copy within the device.
    fn time(&self, device: &Device) -> Result<Duration> {
        let mut prepared = device.transpose_request(&self.0).prepare()?;
        prepared.enqueue()?;
        sampled(device, || prepared.enqueue())
    }
}

/// Returns the median time of work that has already run at least once.
fn sampled(device: &Device, mut enqueue: impl FnMut() -> Result<()>) -> Result<Duration> {
    let first = device.time(&mut enqueue)?.1;
    // Short work is repeated within a sample.
    let repeats = (LEAST_SAMPLE.as_secs_f64() / first.as_secs_f64().max(1e-9)).ceil();
    let repeats = repeats.clamp(1.0, 1000.0) as u32;
    let sample = (first * repeats).max(Duration::from_nanos(1));
    let count = (SAMPLING.as_secs_f64() / sample.as_secs_f64()) as usize;
    let mut times = Vec::new();
    // Work that takes longer than the whole sampling time is not run again.
    if count == 0 {
        return Ok(first);
    }
    for _ in 0..count.clamp(SAMPLES.0, SAMPLES.1) {
        let ((), time) = device.time(|| (0..repeats).try_for_each(|_| enqueue()))?;
        times.push(time / repeats);
    }
    Ok(median(&mut times))
}

/// Returns the middle of the times, the lower one of two.
fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times
        .get(times.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use warpwright::ops::calls::Calls;
    use warpwright_workloads::Verdict;

    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let mut times = [5, 1, 3].map(Duration::from_secs);
        assert_eq!(median(&mut times), Duration::from_secs(3));
        assert_eq!(
            median(&mut [4, 2].map(Duration::from_secs)),
            Duration::from_secs(2)
        );
        assert_eq!(median(&mut []), Duration::ZERO);
    }

    #[test]
    fn every_family_has_a_ladder_with_right_results() {
        let device = Device::cpu();
        for family in warpwright::families() {
            let names: Vec<_> = family.variants.iter().map(|row| row.name).collect();
            let mut calls = 0;
            let ladders =
                Ladder::run(&device, family.name, &names, Some(3000), || calls += 1).unwrap();
            assert_eq!(calls, names.len() * ladders.len());
            assert!(!ladders.is_empty());
            let workloads = timings(family.name, Scale::of(&device), Some(3000));
            assert_eq!(ladders.len(), workloads.len());
            for (ladder, workload) in ladders.iter().zip(&workloads) {
                assert_eq!(ladder.rungs.len(), names.len());
                assert!(ladder.copy_rate > 0.0 && ladder.bytes > 0);
                for rung in &ladder.rungs {
                    let is_timed = matches!(rung.result, Problem::Timed(_));
                    let is_excluded = workload.excludes(rung.variant);
                    assert!(is_timed != is_excluded, "{} {rung:?}", family.name);
                }
            }
        }
        assert!(Ladder::run(&device, "none", &[], None, || {}).is_err());
    }

    #[test]
    fn a_wrong_rung_is_not_timed() {
        struct Bad;
        impl Ready for Bad {
            fn workspace_bytes(&self) -> usize {
                0
            }

            fn kernels(&self) -> Vec<&'static str> {
                Vec::new()
            }

            fn calls(&mut self) -> Result<Calls> {
                Ok(Calls::default())
            }

            fn bits(&self) -> Result<Vec<u8>> {
                Ok(Vec::new())
            }

            fn enqueue(&mut self) -> Result<()> {
                Ok(())
            }
            fn check(&self) -> Result<Verdict> {
                Ok(Err("expected 1, found 2".to_owned()))
            }
        }
        let result = timed(&Device::cpu(), &mut Bad).unwrap();
        assert!(matches!(result, Problem::Wrong(text) if text.contains("found 2")));
    }
}
