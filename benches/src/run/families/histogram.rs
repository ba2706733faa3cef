//! Histograms: bytes in 256 bins, of several kinds of data, and floats in even parts of a range, beside CUB.

use std::cell::{LazyCell, RefCell};
use std::rc::Rc;

use rayon::prelude::*;
use warpwright::{Device, Element, Histogram, Vector};
use warpwright_cli::sample;

use super::super::peers::rival;
use super::super::{Bench, Contest, Result, Spec, local, pointer, power};
use super::{equal, uploaded};
use crate::record::{Aim, Bound};

macro_rules! counter {
    ($prepared:expr) => {{
        let prepared = Rc::new(RefCell::new($prepared));
        let again = prepared.clone();
        Ok(Counter {
            enqueue: Box::new(move || Ok(again.borrow_mut().enqueue()?)),
            finish: Box::new(move || Ok(prepared.borrow().finish()?)),
        })
    }};
}

/// Kinds of bytes: name, least ratio to the peer, and the byte at a position from a hash of it.
type Kind = (&'static str, f64, fn(usize, usize, u64) -> u8);

const KINDS: [Kind; 4] = [
    ("uniform", 1.10, |_, _, hash| hash as u8),
    ("image", 1.10, image),
    ("all equal", 1.05, |_, _, _| 77),
    ("sorted", 1.10, |at, len, _| {
        (at as u128 * 256 / len as u128) as u8
    }),
];

pub(super) fn run(bench: &mut Bench) {
    let len = bench.scale().pick(1 << 30, 1 << 28, 1 << 12);
    for (name, ratio, byte) in KINDS {
        let make = move |at: usize, hash| byte(at % len, len, hash);
        let work = Work {
            name: format!("256 bins u8, {name}"),
            element: "u8",
            len,
            bins: 256,
            range: (0.0, 256.0),
            ratio,
        };
        of(bench, work, make, usize::from, |device, values| {
            counter!(device.histogram_request(values, 256).prepare()?)
        });
    }
    for bins in bench
        .scale()
        .pick(&[16, 1000, 4096, 100_000][..], &[16, 4096], &[16, 1000])
    {
        let bins = *bins;
        let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 12);
        // The middle eight tenths of a bin: where it ends, the libraries round each in their own way.
        let make = move |_, hash: u64| {
            let within = 0.1 + 0.8 * ((hash >> 40) as f64 / f64::from(1 << 24));
            (((hash as u32 as u64 * bins as u64) >> 32) as f64 + within) as f32 / bins as f32
        };
        let bin = move |value: f32| (f64::from(value) * bins as f64) as usize;
        let work = Work {
            name: format!("{bins} bins f32"),
            element: "f32",
            len,
            bins,
            range: (0.0, 1.0),
            ratio: 1.10,
        };
        of(bench, work, make, bin, |device, values| {
            counter!(
                device
                    .histogram_range_request(values, bins, 0.0, 1.0)
                    .prepare()?
            )
        });
    }
}

/// A picture's bytes: areas of a few neighbouring values, with a gradient over all and grain.
fn image(at: usize, _: usize, hash: u64) -> u8 {
    const WIDTH: usize = 4096;
    let (x, y) = (at % WIDTH, at / WIDTH);
    let area = sample::hash(((y / 96) * WIDTH + x / 96) as u64 ^ 0x5eed);
    let grain = (hash & 7) + ((hash >> 8) & 7);
    ((area % 128) + (x * 96 / WIDTH) as u64 + grain) as u8
}

/// What a case counts.
struct Work {
    name: String,
    element: &'static str,
    len: usize,
    bins: usize,
    range: (f64, f64),
    ratio: f64,
}

/// A prepared histogram, whose type names its binning rule.
struct Counter<'a> {
    enqueue: Box<dyn FnMut() -> Result<()> + 'a>,
    finish: Box<dyn Fn() -> Result<Histogram> + 'a>,
}

fn of<T: Element>(
    bench: &mut Bench,
    work: Work,
    make: impl Fn(usize, u64) -> T + Sync,
    bin: impl Fn(T) -> usize + Sync,
    prepare: impl for<'v> Fn(&Device, &'v Vector<T>) -> Result<Counter<'v>>,
) {
    let Work {
        name,
        element,
        len,
        bins,
        range,
        ratio,
    } = work;
    let bytes = len * size_of::<T>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let spec = Spec {
        family: "histogram",
        work: name,
        size: power(len),
        elements: len,
        bytes,
        operations: 0,
        bound: Bound::Read,
        aim: Aim {
            share: None,
            ratio: Some(ratio),
        },
    };
    let values: LazyCell<Vec<T>, _> = LazyCell::new(|| {
        let hashes = (0..len * sets).into_par_iter().with_min_len(1 << 14);
        hashes
            .map(|at| make(at % len, sample::hash(at as u64)))
            .collect()
    });
    let inputs = LazyCell::new(|| uploaded(&values, sets, |values| Ok(device.upload(values)?)));
    let candidates = bench.candidates(&spec);
    bench.case(spec, || {
        let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
        let counted = |set: usize| counts(&values[set * len..][..len], bins, &bin);
        let counted = [counted(0), counted(sets - 1)];
        let truth = Rc::new(move |set| {
            if set == 0 {
                counted[0].clone()
            } else {
                counted[1].clone()
            }
        });
        let ours = |device: &Device| {
            let prepared: Result<Vec<Counter<'_>>> =
                inputs.iter().map(|input| prepare(device, input)).collect();
            let expected = truth.clone();
            Ok(local(
                prepared?,
                |prepared, set| (prepared[set].enqueue)(),
                move |prepared, set| {
                    let found = (prepared[set].finish)()?;
                    Ok(match found.outside {
                        0 => equal(&expected(set), &found.counts),
                        outside => Err(format!("expected none outside, found {outside}")),
                    })
                },
            ))
        };
        let mut rivals = Vec::new();
        if peers.wanted() {
            // Counts of 32 bits, which every peer here makes.
            let counted = |work: Box<dyn FnMut(u64, u64) -> Result<()>>| {
                let (counts, truth) = (device.zeros::<u32>(bins)?, truth.clone());
                Ok(local(
                    (work, counts),
                    |(work, counts), set| {
                        work(inputs[set].view().device_pointer(), pointer(counts))
                    },
                    move |(_, counts), set| {
                        let found: Vec<u64> = counts.to_vec()?.into_iter().map(u64::from).collect();
                        Ok(equal(&truth(set), &found))
                    },
                ))
            };
            let cub = peers
                .cub()
                .and_then(|cub| counted(Box::new(cub.histogram(element, len, bins, range)?)));
            rivals.push(rival("CUB", cub));
            if element == "u8" {
                let npp = peers
                    .npp()
                    .and_then(|npp| counted(Box::new(npp.histogram(len)?)));
                rivals.push(rival("NPP", npp));
            }
        }
        rivals.extend(candidates.rivals(ours));
        Ok(Contest {
            sets,
            ours: ours(&device)?,
            rivals,
        })
    })
}

/// The counts of values whose bins are known.
fn counts<T: Element>(values: &[T], bins: usize, bin: impl Fn(T) -> usize + Sync) -> Vec<u64> {
    let none = || vec![0_u64; bins];
    let add = |mut counts: Vec<u64>, part: &[T]| {
        for &value in part {
            if let Some(count) = counts.get_mut(bin(value)) {
                *count += 1;
            }
        }
        counts
    };
    let merge = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    values
        .par_chunks(1 << 16)
        .with_min_len(64)
        .fold(none, add)
        .reduce(none, merge)
}
