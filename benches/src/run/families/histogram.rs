//! Histograms, compared with CUB: bytes in 256 bins, of several kinds of data, and floats in equal parts of a range.

use warpwright_workloads::histogram::{Counts, Value};
use warpwright_workloads::sample::{self, Make};

use super::super::peers::{Peers, npp::Npp};
use super::super::{Bench, Result, Spec, local, pointer};
use super::{Made, case, on_vector};
use crate::record::Bound;

/// A kind of bytes: its name, the minimum ratio to the peer, and the byte at a position, given the number of bytes and a hash.
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
        let work = Work {
            name: format!("256 bins u8, {name}"),
            element: "u8",
            len,
            bins: 256,
            range: (0.0, 256.0),
            ratio,
        };
        of(bench, work, Counts::numbers(len, 256, "u8", Make::by(byte)));
    }
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 12);
    let all = [16, 1000, 4096, 100_000];
    for bins in bench.scale().pick(&all[..], &[16, 4096], &[16, 1000]) {
        let bins = *bins;
        // Values in the middle eight tenths of a bin, because the libraries round differently at its ends.
        let make = Make::hashed(move |hash| {
            let within = 0.1 + 0.8 * ((hash >> 40) as f64 / f64::from(1 << 24));
            ((((hash as u32 as u64 * bins as u64) >> 32) as f64 + within) / bins as f64) as f32
        });
        let work = Work {
            name: format!("{bins} bins f32"),
            element: "f32",
            len,
            bins,
            range: (0.0, 1.0),
            ratio: 1.10,
        };
        of(
            bench,
            work,
            Counts::range(len, bins, [0.0, 1.0], "f32", make),
        );
    }
}

/// Returns a byte of a synthetic picture: areas of a few neighboring values, with a gradient and grain.
fn image(at: usize, _: usize, hash: u64) -> u8 {
    const WIDTH: usize = 4096;
    let (x, y) = (at % WIDTH, at / WIDTH);
    let area = sample::hash(((y / 96) * WIDTH + x / 96) as u64 ^ 0x5eed);
    let grain = (hash & 7) + ((hash >> 8) & 7);
    ((area % 128) + (x * 96 / WIDTH) as u64 + grain) as u8
}

/// The work of a case.
struct Work {
    name: String,
    element: &'static str,
    len: usize,
    bins: usize,
    range: (f64, f64),
    ratio: f64,
}

fn of<T: Value>(bench: &mut Bench, work: Work, problem: Counts<T>) {
    let Work {
        name,
        element,
        len,
        bins,
        range,
        ratio,
    } = work;
    let spec = Spec::of("histogram", name, len, Bound::Read).aim(None, ratio);
    case(bench, spec, problem, |sets, place| {
        // Counts of 32 bits, which every peer here makes.
        let counted = |work: Box<dyn FnMut([u64; 2]) -> Result<()>>| -> Made<'_> {
            let mut work = on_vector(work);
            Ok(local(
                place.device.zeros::<u32>(bins)?,
                move |counts, set| work(&sets.inputs()[set], pointer(counts)),
                |counts, set| {
                    let found: Vec<u64> = counts.to_vec()?.into_iter().map(u64::from).collect();
                    Ok(sets.truth(set).check(&found, 0))
                },
            ))
        };
        let mut rivals =
            place.cub(|cub| counted(Box::new(cub.histogram(element, len, bins, range)?)));
        if element == "u8" {
            let npp = |npp: &Npp| counted(Box::new(npp.histogram(len)?));
            rivals.extend(place.peer("NPP", Peers::npp, npp));
        }
        rivals
    })
}
