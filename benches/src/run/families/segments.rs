//! Sums of segments, sums by key and run lengths, compared with CUB.

use warpwright::ops::reduce::Value;
use warpwright::ops::segments::Segments;
use warpwright::{Device, Element, Result, Vector};
use warpwright_workloads::segments::{ByKey, Lengths, Reduce, Results, Runs};

use super::super::{Bench, Spec, address, local, pointer};
use super::{Place, case, writing};
use crate::record::Bound;

/// The length that the share aims are for.
const LARGE: usize = 1 << 28;

pub(super) fn run(bench: &mut Bench) {
    let all = [
        (1 << 20, 1000),
        (1 << 24, 10_000),
        (LARGE, 10),
        (LARGE, 10_000),
        (LARGE, 10_000_000),
    ];
    let tiny = [(1 << 13, 10), (1 << 13, 1000)];
    for (len, count) in bench.scale().pick(&all[..], &all[2..], &tiny) {
        sums(bench, *len, *count);
    }
    let sizes = [1 << 24, LARGE];
    for len in bench.scale().pick(&sizes[..], &sizes[1..], &[1 << 13]) {
        lengths(bench, *len);
        sums_by_key(bench, *len);
    }
}

fn spec(work: impl Into<String>, len: usize, bound: Bound) -> Spec {
    Spec::of("segments", work, len, bound)
}

fn sums(bench: &mut Bench, len: usize, count: usize) {
    let work = format!("sums of {count} segments of f32");
    let spec = spec(work, len, Bound::Read).aim((len == LARGE).then_some(0.8), 1.0);
    case(
        bench,
        spec,
        Reduce::<f32>::new(len, count),
        |sets, place| {
            place.cub(|cub| {
                let mut cub = cub.segments("f32", count)?;
                let work = move |(values, segments): &(Vector<f32>, Segments), to| {
                    cub([address(values), segments.device_pointer(), to])
                };
                let answer = |sums: Vec<f32>| Results(sums.into_iter().map(Value::Sum).collect());
                writing(sets, place.outputs(count)?, work, answer)
            })
        },
    );
}

/// The aim of the ratio for runs of keys.
const RUNS: f64 = 1.3;

fn lengths(bench: &mut Bench, len: usize) {
    let spec = spec("run lengths of u8", len, Bound::Copy).aim(None, RUNS);
    case(bench, spec, Lengths::<u8>::new(len), |sets, place| {
        place.cub(|cub| {
            Ok(local(
                (cub.lengths("u8", len)?, Output::<i32>::of(place, len)?),
                |(work, outputs), set| {
                    let [keys, lengths, count] = outputs[set].pointers();
                    work([address(&sets.inputs()[set]), keys, lengths, count])
                },
                |(_, outputs), set| {
                    let Runs { keys, values } = outputs[set].runs()?;
                    let values = values.into_iter().map(|length| length as u64).collect();
                    Ok(sets.check(set, &Runs { keys, values }))
                },
            ))
        })
    });
}

fn sums_by_key(bench: &mut Bench, len: usize) {
    let spec = spec("sums of f32 by keys of u8", len, Bound::Copy).aim(None, RUNS);
    case(bench, spec, ByKey::<u8, f32>::new(len), |sets, place| {
        place.cub(|cub| {
            Ok(local(
                (cub.by_key("u8", len)?, Output::<f32>::of(place, len)?),
                |(work, outputs), set| {
                    let (keys, values) = &sets.inputs()[set];
                    let [firsts, sums, count] = outputs[set].pointers();
                    work([address(keys), address(values), firsts, sums, count])
                },
                |(_, outputs), set| Ok(sets.check(set, &outputs[set].runs()?)),
            ))
        })
    });
}

/// The room of a peer for runs: a key and a value for each, and their number.
struct Output<V: Element> {
    keys: Vector<u8>,
    values: Vector<V>,
    count: Vector<i32>,
}

impl<V: Element> Output<V> {
    /// Makes room for each set, for as many runs as there are keys.
    fn of(place: &Place, len: usize) -> Result<Vec<Self>> {
        let new = |device: &Device| {
            Ok(Self {
                keys: device.zeros(len)?,
                values: device.zeros(len)?,
                count: device.zeros(1)?,
            })
        };
        (0..place.count).map(|_| new(&place.device)).collect()
    }

    fn pointers(&mut self) -> [u64; 3] {
        let [keys, values] = [pointer(&mut self.keys), pointer(&mut self.values)];
        [keys, values, pointer(&mut self.count)]
    }

    fn runs(&self) -> Result<Runs<u8, V>> {
        let count = self.count.to_vec()?[0] as usize;
        Ok(Runs {
            keys: self.keys.slice(..count)?.to_vec()?,
            values: self.values.slice(..count)?.to_vec()?,
        })
    }
}
