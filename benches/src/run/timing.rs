//! Verifies and times the contenders of a case, in turn.

use std::time::Duration;

use warpwright::Device;

use super::driver::Marks;
use super::{Absent, Contender, Contest, Mode, Result, Rival, Scale, contender};
use crate::record::{self, OURS, Outcome};

/// The approximate duration of a sample, so that neither the clock's resolution nor the first launch matters.
const SAMPLE: Duration = Duration::from_millis(2);
/// The maximum number of operations in a sample.
const MOST_REPEATS: f64 = 512.0;

/// A contender and its result so far.
struct Runner<'a> {
    /// The contender as the record has it, without an outcome.
    named: record::Contender,
    state: State<'a>,
}

enum State<'a> {
    Ready {
        contender: Box<dyn Contender + 'a>,
        repeats: u32,
        expected: f64,
        samples: Vec<f64>,
    },
    Out(Outcome),
}

/// Verifies all contenders, then does what the mode requests with those that were right: times them in turn, sample by sample.
pub(super) fn run(
    device: &Device,
    mode: Mode,
    scale: Scale,
    contest: Contest<'_>,
) -> Vec<record::Contender> {
    let Contest { sets, ours, rivals } = contest;
    let ours = Rival {
        name: OURS.into(),
        ratio_aim: None,
        way: None,
        contender: Ok(ours),
    };
    let mut runners: Vec<Runner<'_>> = std::iter::once(ours)
        .chain(rivals)
        .map(|rival| {
            let Rival {
                name,
                ratio_aim,
                way,
                contender: made,
            } = rival;
            let state = match made {
                Ok(contender) => verified(contender, sets),
                Err(Absent::Missing(reason)) => State::Out(Outcome::Missing(reason)),
                Err(Absent::Failed(reason)) => State::Out(Outcome::Failed(reason)),
            };
            let named = record::Contender {
                ratio_aim,
                way,
                ..contender(&name, Outcome::Verified)
            };
            Runner { named, state }
        })
        .collect();
    if mode == Mode::Time {
        for runner in &mut runners {
            runner.warm_up(device, sets);
        }
        let slowest = runners.iter().map(Runner::expected).fold(0.0, f64::max);
        for _ in 0..rounds(scale, slowest) {
            for runner in &mut runners {
                runner.sample(device, sets);
            }
        }
    }
    if mode == Mode::Profile {
        for runner in &mut runners {
            runner.profile(device, sets);
        }
    }
    runners
        .into_iter()
        .map(|runner| runner.finished(mode))
        .collect()
}

/// Returns the number of samples if the longest takes `seconds`.
fn rounds(scale: Scale, seconds: f64) -> usize {
    let (budget, most) = scale.pick((0.15, 31), (0.05, 11), (0.0, 1));
    ((budget / seconds.max(1e-6)) as usize).clamp(5.min(most), most)
}

/// Verifies a contender's answers on the first and the last set.
fn verified(mut contender: Box<dyn Contender + '_>, sets: usize) -> State<'_> {
    for set in [0, sets.saturating_sub(1)] {
        let answer = contender.enqueue(set).and_then(|()| contender.check(set));
        match answer {
            Ok(Ok(())) => {}
            Ok(Err(text)) => return State::Out(Outcome::Wrong(text)),
            Err(error) => return State::Out(error.into()),
        }
    }
    State::Ready {
        contender,
        repeats: 1,
        expected: 0.0,
        samples: Vec::new(),
    }
}

/// Warms up, then runs one operation alone between the marks that a profiler waits for.
fn profiled(contender: &mut (dyn Contender + '_), device: &Device, sets: usize) -> Result<()> {
    contender.sample(device, sets, 2)?;
    device.synchronize()?;
    let marks = Marks::open()?;
    // SAFETY: the library has made its context current in the thread; the function takes no arguments.
    unsafe { marks.start_profiler()? };
    contender.enqueue(0)?;
    device.synchronize()?;
    // SAFETY: as above.
    unsafe { marks.stop_profiler() }
}

impl<'a> Runner<'a> {
    /// Finds the number of operations of a sample.
    fn warm_up(&mut self, device: &Device, sets: usize) {
        let State::Ready {
            contender,
            repeats,
            expected,
            ..
        } = &mut self.state
        else {
            return;
        };
        let first = contender
            .sample(device, sets, 2)
            .and_then(|_| contender.sample(device, sets, 4));
        match first {
            Ok(first) => {
                let wanted = (SAMPLE.as_secs_f64() / first.max(1e-9))
                    .ceil()
                    .clamp(1.0, MOST_REPEATS);
                (*repeats, *expected) = (wanted as u32, first * (wanted + 1.0));
            }
            Err(error) => self.state = State::Out(error.into()),
        }
    }

    fn sample(&mut self, device: &Device, sets: usize) {
        let State::Ready {
            contender,
            repeats,
            samples,
            ..
        } = &mut self.state
        else {
            return;
        };
        match contender.sample(device, sets, *repeats) {
            Ok(seconds) => samples.push(seconds),
            Err(error) => self.state = State::Out(error.into()),
        }
    }

    /// Runs one operation for a profiler.
    fn profile(&mut self, device: &Device, sets: usize) {
        if let State::Ready { contender, .. } = &mut self.state
            && let Err(error) = profiled(contender.as_mut(), device, sets)
        {
            self.state = State::Out(error.into());
        }
    }

    /// Returns the expected seconds of a sample.
    fn expected(&self) -> f64 {
        match &self.state {
            State::Ready { expected, .. } => *expected,
            State::Out(_) => 0.0,
        }
    }

    fn finished(self, mode: Mode) -> record::Contender {
        let outcome = match self.state {
            State::Out(outcome) => outcome,
            State::Ready { .. } if mode != Mode::Time => Outcome::Verified,
            State::Ready {
                samples, repeats, ..
            } => Outcome::of(&samples, repeats),
        };
        record::Contender {
            outcome,
            ..self.named
        }
    }
}
