//! The errors of the device functions of `f32`, measured against `f64`.
//!
//! A function of one argument is called for every `stride`-th of the 2^32 arguments, and a function of two arguments for a
//! sample of pairs. If the device is the CPU, the function's CPU body is called directly, without the executor. A CUDA device
//! computes the functions itself, and for functions that promise the same bits every result is compared with the CPU body's.
//!
//! The reference is `std`'s function of `f64`, whose own error is about 2^-29 of the measured errors.

mod functions;
mod pairs;

use rayon::prelude::*;
use warpwright::{Device, DeviceKind, Result, Vector};
pub use warpwright_workloads::Unit;

pub use functions::FUNCTIONS;
pub use pairs::PAIRS;

/// A documented bound of a function's error.
#[derive(Debug, Clone, Copy)]
pub struct Claim<A: 'static> {
    /// The arguments for which it holds.
    pub arguments: &'static str,
    /// Returns whether it holds for an argument.
    pub holds_for: fn(A) -> bool,
    /// The unit of the error.
    pub unit: Unit,
    /// Returns the largest error at an argument.
    pub bound: fn(A) -> f64,
}

/// A function with the type of its arguments: `f32`, or a pair.
#[derive(Debug, Clone, Copy)]
pub struct Function<A: 'static> {
    /// The name, with its module.
    pub name: &'static str,
    /// The CPU body.
    cpu: fn(A) -> f32,
    /// The reference.
    exact: fn(A) -> f64,
    /// The function on a device.
    device: fn(&Device, &Arguments<A>) -> Result<Vector<f32>>,
    /// Whether the CPU and the GPU give the same bits.
    same_bits: bool,
    /// The documented bounds.
    pub claims: &'static [Claim<A>],
}

/// Arguments on the host and, if that is not the CPU, on the device.
#[derive(Debug)]
struct Arguments<A> {
    host: Vec<A>,
    /// The first and, if there is one, the second number of each argument.
    device: Vec<Vector<f32>>,
}

/// The largest error found for a claim.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The function.
    pub function: &'static str,
    /// The arguments for which the claim holds.
    pub arguments: &'static str,
    /// The unit of the error.
    pub unit: Unit,
    /// The number of arguments that counted.
    pub count: u64,
    /// The largest error. If the bound depends on the argument, the error with the largest share of its bound.
    pub error: f64,
    /// The bound at that argument.
    pub bound: f64,
    /// That argument, its result and the exact one.
    pub at: String,
    /// The number of arguments for which the device and the CPU differ although they must not, with an example.
    pub differ: Option<(u64, String)>,
}

impl Measured {
    /// Returns whether the claim holds and something was measured.
    pub fn holds(&self) -> bool {
        self.count > 0 && self.error <= self.bound && self.differ.is_none()
    }
}

/// A claim's worst argument so far.
#[derive(Clone, Copy)]
struct Worst<A> {
    count: u64,
    share: f64,
    error: f64,
    at: Option<(A, f32, f64)>,
}

impl<A> Worst<A> {
    const NONE: Self = Self {
        count: 0,
        share: -1.0,
        error: 0.0,
        at: None,
    };

    fn worse(self, other: Self) -> Self {
        let count = self.count + other.count;
        let worst = if other.share > self.share {
            other
        } else {
            self
        };
        Self { count, ..worst }
    }
}

/// The measurements of a function.
struct Record<A> {
    worst: Vec<Worst<A>>,
    differ: u64,
    example: Option<(A, f32, f32)>,
}

impl<A: Copy + Send + Sync + std::fmt::Debug> Record<A> {
    fn new(claims: usize) -> Self {
        Self {
            worst: vec![Worst::NONE; claims],
            differ: 0,
            example: None,
        }
    }

    fn merge(mut self, other: Self) -> Self {
        for (own, other) in self.worst.iter_mut().zip(other.worst) {
            *own = own.worse(other);
        }
        self.differ += other.differ;
        self.example = self.example.or(other.example);
        self
    }

    fn note(&mut self, function: &Function<A>, x: A, found: Option<f32>) {
        let own = (found.is_none() || function.same_bits).then(|| (function.cpu)(x));
        if let (Some(found), Some(own)) = (found, own) {
            let same = found.to_bits() == own.to_bits() || found.is_nan() && own.is_nan();
            if !same {
                self.differ += 1;
                self.example.get_or_insert((x, found, own));
            }
        }
        let Some(found) = found.or(own) else { return };
        let exact = (function.exact)(x);
        for (claim, worst) in function.claims.iter().zip(&mut self.worst) {
            if !(claim.holds_for)(x) {
                continue;
            }
            let Some(error) = claim.unit.error(found, exact) else {
                continue;
            };
            worst.count += 1;
            let share = error / (claim.bound)(x);
            // A NaN in place of a number is an infinite error.
            let (share, error) = if share.is_nan() {
                (f64::INFINITY, f64::INFINITY)
            } else {
                (share, error)
            };
            if share > worst.share {
                (worst.share, worst.error, worst.at) = (share, error, Some((x, found, exact)));
            }
        }
    }

    fn rows(self, function: &Function<A>) -> Vec<Measured> {
        let differ = self.example.map(|(x, found, own)| {
            (
                self.differ,
                format!("f({x:?}) is {found:e}, on the CPU {own:e}"),
            )
        });
        let row = |(claim, worst): (&Claim<A>, &Worst<A>)| Measured {
            function: function.name,
            arguments: claim.arguments,
            unit: claim.unit,
            count: worst.count,
            error: worst.error,
            bound: worst.at.map_or(f64::NAN, |(x, ..)| (claim.bound)(x)),
            at: worst.at.map_or_else(String::new, |(x, found, exact)| {
                format!("f({x:?}) = {found:e}, not {exact:e}")
            }),
            differ: differ.clone(),
        };
        function.claims.iter().zip(&self.worst).map(row).collect()
    }
}

/// The number of arguments that are computed at once.
const BLOCK: u64 = 1 << 22;

/// The number of arguments of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// One-argument functions: every `stride`-th of the 2^32 numbers.
    pub stride: u64,
    /// Two-argument functions: this many pairs.
    pub pairs: u64,
}

impl Sample {
    /// A million of each.
    pub const QUICK: Self = Self {
        stride: 4099,
        pairs: 1 << 20,
    };
    /// Every number, and 2^28 pairs.
    pub const FULL: Self = Self {
        stride: 1,
        pairs: 1 << 28,
    };

    fn singles(self) -> u64 {
        (1_u64 << 32).div_ceil(self.stride)
    }

    /// Returns the number of steps that [`measure`] takes.
    pub fn steps(self) -> u64 {
        self.singles().div_ceil(BLOCK) + self.pairs.div_ceil(BLOCK)
    }
}

/// Measures every function on `device`, and calls `after` after each step.
///
/// # Errors
/// Returns the device's errors.
pub fn measure(device: &Device, sample: Sample, mut after: impl FnMut()) -> Result<Vec<Measured>> {
    let single = |i: u64| f32::from_bits((i * sample.stride) as u32);
    let mut rows = all(
        device,
        FUNCTIONS,
        sample.singles(),
        single,
        |x| [x, 0.0],
        1,
        &mut after,
    )?;
    rows.extend(all(
        device,
        PAIRS,
        sample.pairs,
        pairs::pair,
        |(x, y)| [x, y],
        2,
        &mut after,
    )?);
    Ok(rows)
}

/// Measures functions of one kind on `total` arguments.
fn all<A: Copy + Send + Sync + std::fmt::Debug>(
    device: &Device,
    functions: &[Function<A>],
    total: u64,
    argument: impl Fn(u64) -> A + Sync,
    parts: impl Fn(A) -> [f32; 2] + Sync,
    arrays: usize,
    after: &mut impl FnMut(),
) -> Result<Vec<Measured>> {
    let mut records: Vec<_> = functions
        .iter()
        .map(|function| Record::new(function.claims.len()))
        .collect();
    for block in 0..total.div_ceil(BLOCK) {
        let range = block * BLOCK..total.min((block + 1) * BLOCK);
        let host: Vec<A> = range.into_par_iter().map(&argument).collect();
        let mut arguments = Arguments {
            host,
            device: Vec::new(),
        };
        if device.kind() != DeviceKind::Cpu {
            for array in 0..arrays {
                let part = |x: &A| parts(*x)[array];
                let values: Vec<f32> = arguments.host.par_iter().map(part).collect();
                arguments.device.push(device.upload(&values)?);
            }
        }
        for (function, record) in functions.iter().zip(&mut records) {
            let found = match device.kind() {
                DeviceKind::Cpu => None,
                _ => Some((function.device)(device, &arguments)?.to_vec()?),
            };
            let empty = || Record::new(function.claims.len());
            let new = arguments
                .host
                .par_iter()
                .enumerate()
                .with_min_len(1 << 12)
                .fold(empty, |mut record, (i, x)| {
                    record.note(function, *x, found.as_ref().map(|found| found[i]));
                    record
                })
                .reduce(empty, Record::merge);
            let old = std::mem::replace(record, empty());
            *record = old.merge(new);
        }
        after();
    }
    let rows = records.into_iter().zip(functions);
    Ok(rows
        .flat_map(|(record, function)| record.rows(function))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_in_the_place_of_a_number_is_noticed() {
        let function = Function {
            cpu: |_| f32::NAN,
            ..FUNCTIONS[0]
        };
        let mut record = Record::new(function.claims.len());
        record.note(&function, 1.0, None);
        assert!(record.rows(&function).iter().all(|row| !row.holds()));
    }

    #[test]
    fn a_difference_between_the_devices_is_noticed() {
        let function = FUNCTIONS[0];
        let mut record = Record::new(function.claims.len());
        let next = f32::from_bits((function.cpu)(1.0).to_bits() + 1);
        record.note(&function, 1.0, Some(next));
        assert!(record.rows(&function).iter().all(|row| !row.holds()));
    }

    #[test]
    fn what_is_stated_holds_for_a_sample() {
        let sample = Sample {
            stride: 65_537,
            pairs: 1 << 16,
        };
        let mut steps = 0;
        let rows = measure(&Device::cpu(), sample, || steps += 1).unwrap();
        assert_eq!(steps, sample.steps());
        for row in &rows {
            assert!(row.holds(), "{row:?}");
        }
    }
}
