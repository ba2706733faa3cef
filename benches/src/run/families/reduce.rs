//! Sum, minimum and position of the maximum of a whole array, beside CUB.

use std::cell::LazyCell;
use std::fmt::Debug;

use rayon::prelude::*;
use warpwright::cuda_std::bf16;
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright::{Device, Vector, VectorView};
use warpwright_cli::sample;

use super::super::peers::rival;
use super::super::{Bench, Contender, Contest, Result, Spec, local, pointer, power};
use super::unit;
use crate::record::{Aim, Bound};

const OPERATIONS: [Operator; 3] = [Operator::Sum, Operator::Min, Operator::ArgMax];

pub(super) fn run(bench: &mut Bench) {
    of::<f32>(bench);
    of::<i32>(bench);
    of::<f64>(bench);
    of::<u8>(bench);
    of::<bf16>(bench)
}

fn of<T: Number>(bench: &mut Bench) {
    // A sweep times every row of the table at each size; of 2^12 all make one block, and its time is the launch's.
    let full: &[u32] = if bench.is_sweep() {
        &[16, 20, 22, 24, 26, 28]
    } else {
        &[12, 14, 16, 18, 20, 22, 24, 26, 28]
    };
    let sizes = bench.scale().pick(full, &[12, 20, 28], &[12]);
    let largest = 1_usize << sizes[sizes.len() - 1];
    let (device, peers) = (bench.device(), bench.peers());
    // Twice the largest input: every set of buffers is a part of it.
    let arena =
        LazyCell::new(|| Arena::<T>::new(&device, 2 * largest).map_err(|error| error.to_string()));
    for &size in sizes {
        let len = 1 << size;
        let bytes = len * size_of::<T>();
        let sets = bench.sets(bytes).min(2 * largest / len);
        let truths = LazyCell::new(|| {
            let arena = LazyCell::force(&arena).as_ref().map_err(String::clone)?;
            Ok::<_, String>(
                [0, sets - 1].map(|set| truth(&arena.values[arena.start(set, sets)..][..len])),
            )
        });
        for operation in OPERATIONS {
            let spec = Spec {
                family: "reduce",
                work: format!("{} {}", operation.name(), T::NAME),
                size: power(len),
                elements: len,
                bytes,
                operations: len as u64,
                bound: Bound::Read,
                aim: Aim {
                    share: (size == 28).then_some(0.97),
                    ratio: Some(1.0),
                },
            };
            let candidates = bench.candidates(&spec);
            bench.case(spec, || {
                let arena = LazyCell::force(&arena).as_ref().map_err(String::clone)?;
                let truths = LazyCell::force(&truths).as_ref().map_err(String::clone)?;
                let truth = |set| if set == 0 { &truths[0] } else { &truths[1] };
                let part = move |set| arena.part(set, sets, len);
                let ours = |device: &Device| ours(device, operation, sets, part, truth);
                let mut rivals = candidates.rivals(ours);
                if peers.wanted() {
                    let cub = peers
                        .cub()
                        .and_then(|cub| cub.reduce(T::NAME, code(operation), len));
                    rivals.push(rival(
                        "CUB",
                        cub.and_then(|cub| Ok(cub_in(&device, operation, cub, part, truth)?)),
                    ));
                }
                Ok(Contest {
                    sets,
                    ours: ours(&device)?,
                    rivals,
                })
            });
        }
    }
}

fn ours<'a, T: Number>(
    device: &Device,
    operation: Operator,
    sets: usize,
    part: impl Fn(usize) -> Result<VectorView<'a, T>>,
    truth: impl Fn(usize) -> &'a Truth<T> + 'a,
) -> Result<Box<dyn Contender + 'a>> {
    let prepared: Result<Vec<_>> = (0..sets)
        .map(|set| Ok(device.reduce(part(set)?).prepare(operation)?))
        .collect();
    Ok(local(
        prepared?,
        |prepared, set| Ok(prepared[set].enqueue()?),
        move |prepared, set| {
            let found = prepared[set]
                .finish()?
                .ok_or("a result required, given none")?;
            Ok(truth(set).check(found))
        },
    ))
}

fn cub_in<'a, T: Number>(
    device: &Device,
    operation: Operator,
    cub: impl FnMut(u64, u64) -> Result<()> + 'a,
    part: impl Fn(usize) -> Result<VectorView<'a, T>> + 'a,
    truth: impl Fn(usize) -> &'a Truth<T> + 'a,
) -> Result<Box<dyn Contender + 'a>> {
    let result: Vector<u8> = device.zeros(16)?;
    Ok(local(
        (cub, result),
        move |(cub, result), set| cub(part(set)?.device_pointer(), pointer(result)),
        move |(_, result), set| {
            let bytes = result.to_vec()?;
            let found = match operation {
                Operator::Sum => {
                    Value::Sum(bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Sum>()]))
                }
                Operator::Min => {
                    Value::Element(bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()]))
                }
                _ => Value::Index(u64::from(bytemuck::pod_read_unaligned::<u32>(&bytes[..4]))),
            };
            Ok(truth(set).check(found))
        },
    ))
}

/// The operation's number in the peer's source.
fn code(operation: Operator) -> i32 {
    match operation {
        Operator::Sum => 0,
        Operator::Min => 1,
        _ => 2,
    }
}

/// The values, on the host and on the device.
struct Arena<T> {
    values: Vec<T>,
    vector: Vector<T>,
}

impl<T: Number> Arena<T> {
    fn new(device: &Device, len: usize) -> Result<Self> {
        let values = sample::values(len, 5, T::from_hash);
        let vector = device.upload(&values)?;
        Ok(Self { values, vector })
    }

    /// Where a set starts: the sets lie apart as far as they can, at multiples of 256 elements.
    fn start(&self, set: usize, sets: usize) -> usize {
        set * (self.values.len() / sets / 256 * 256)
    }

    fn part(&self, set: usize, sets: usize, len: usize) -> Result<VectorView<'_, T>> {
        let start = self.start(set, sets);
        Ok(self.vector.slice(start..start + len)?)
    }
}

/// What the operations have to give.
struct Truth<T> {
    sum: f64,
    magnitudes: f64,
    least: T,
    greatest: (T, u64),
}

fn truth<T: Number>(values: &[T]) -> Truth<T> {
    const CHUNK: usize = 1 << 14;
    let parts = values.par_chunks(CHUNK).enumerate().map(|(chunk, values)| {
        let mut part = Truth {
            sum: 0.0,
            magnitudes: 0.0,
            least: values[0],
            greatest: (values[0], (chunk * CHUNK) as u64),
        };
        for (at, &value) in values.iter().enumerate() {
            let number = value.number();
            part.sum += number;
            part.magnitudes += number.abs();
            if value < part.least {
                part.least = value;
            }
            if value > part.greatest.0 {
                part.greatest = (value, (chunk * CHUNK + at) as u64);
            }
        }
        part
    });
    let parts: Vec<_> = parts.collect();
    let mut parts = parts.into_iter();
    // There is an element, and so a part.
    let first = parts.next().unwrap_or(Truth {
        sum: 0.0,
        magnitudes: 0.0,
        least: values[0],
        greatest: (values[0], 0),
    });
    parts.fold(first, |all, part| Truth {
        sum: all.sum + part.sum,
        magnitudes: all.magnitudes + part.magnitudes,
        least: if part.least < all.least {
            part.least
        } else {
            all.least
        },
        greatest: if part.greatest.0 > all.greatest.0 {
            part.greatest
        } else {
            all.greatest
        },
    })
}

impl<T: Number> Truth<T> {
    fn check(&self, found: Value<T>) -> Result<(), String> {
        match found {
            Value::Sum(sum) => {
                // Both libraries add in trees: the longest chain of additions is well below this.
                let bound = 2048.0 * T::EPSILON / 2.0 * self.magnitudes;
                let error = (T::sum_number(sum) - self.sum).abs();
                if error <= bound {
                    Ok(())
                } else {
                    Err(format!(
                        "expected {}, found {sum:?}: more than {bound} away",
                        self.sum
                    ))
                }
            }
            Value::Element(least) if least == self.least => Ok(()),
            Value::Index(index) if index == self.greatest.1 => Ok(()),
            _ => Err(format!(
                "expected {:?} or {:?}, found {found:?}",
                self.least, self.greatest
            )),
        }
    }
}

/// An element type of the cases.
trait Number: Reducible + Debug + PartialOrd {
    const NAME: &'static str;
    /// Of the type that sums are made in; 0 for whole numbers, whose sums are exact.
    const EPSILON: f64;
    fn from_hash(hash: u64) -> Self;
    fn number(self) -> f64;
    fn sum_number(sum: Self::Sum) -> f64;
}

macro_rules! numbers {
    ($($ty:ident: $epsilon:expr, $from:expr, $number:expr;)*) => { $(
        impl Number for $ty {
            const NAME: &'static str = stringify!($ty);
            const EPSILON: f64 = $epsilon;
            fn from_hash(hash: u64) -> Self {
                let from: fn(u64) -> Self = $from;
                from(hash)
            }
            fn number(self) -> f64 {
                let number: fn(Self) -> f64 = $number;
                number(self)
            }
            fn sum_number(sum: Self::Sum) -> f64 {
                sum as f64
            }
        }
    )* };
}
// Whole numbers of so many bits that their sums stay exact in f64; floats between -1 and 1.
numbers! {
    u8: 0.0, |hash| hash as u8, f64::from;
    i32: 0.0, |hash| (hash as i32) >> 7, f64::from;
    f32: f32::EPSILON as f64, |hash| unit(hash) as f32, f64::from;
    f64: f64::EPSILON, unit, f64::from;
    bf16: f32::EPSILON as f64, |hash| bf16::from_f64(unit(hash)), f64::from;
}
