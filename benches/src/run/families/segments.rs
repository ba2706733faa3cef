//! Sums of segments, sums by key and run lengths, compared with CUB.

use warpwright::ops::reduce::Value;
use warpwright::{Device, Element, Result, Vector};
use warpwright_workloads::Problem;
use warpwright_workloads::segments::{ByKey, Lengths, Reduce, Results, Runs};

use super::super::peers::rival;
use super::super::{Bench, Spec, local, pointer, power};
use super::{Place, case};
use crate::record::{Aim, Bound};

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

fn spec(work: String, len: usize, bytes: usize, bound: Bound, aim: Aim) -> Spec {
    Spec {
        family: "segments",
        work,
        size: power(len),
        elements: len,
        bytes,
        operations: 0,
        bound,
        aim,
    }
}

fn sums(bench: &mut Bench, len: usize, count: usize) {
    let problem = Reduce::<f32>::new(len, count);
    let work = format!("sums of {count} segments of f32");
    let aim = Aim {
        share: (len == LARGE).then_some(0.8),
        ratio: Some(1.0),
    };
    let spec = spec(work, len, problem.bytes(), Bound::Read, aim);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let mut rivals = Vec::new();
        if place.peers.wanted() {
            let cub = place.peers.cub().and_then(|cub| {
                let work = cub.segments("f32", count)?;
                let outputs = (0..place.count).map(|_| place.device.zeros::<f32>(count));
                let outputs = outputs.collect::<Result<Vec<_>>>()?;
                Ok(local(
                    (work, outputs),
                    |(work, outputs), set| {
                        let (values, segments) = &sets.inputs()[set];
                        let values = values.view().device_pointer();
                        let to = pointer(&mut outputs[set]);
                        work([values, segments.device_pointer(), to])
                    },
                    |(_, outputs), set| {
                        let sums = outputs[set].to_vec()?.into_iter().map(Value::Sum);
                        Ok(sets.check(set, &Results(sums.collect())))
                    },
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        Ok(rivals)
    });
}

/// The aim for runs of keys.
const RUNS: Aim = Aim {
    share: None,
    ratio: Some(1.3),
};

fn lengths(bench: &mut Bench, len: usize) {
    let problem = Lengths::<u8>::new(len);
    let work = "run lengths of u8".to_owned();
    let spec = spec(work, len, problem.bytes(), Bound::Copy, RUNS);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let mut rivals = Vec::new();
        if place.peers.wanted() {
            let cub = place.peers.cub().and_then(|cub| {
                let work = cub.lengths("u8", len)?;
                let outputs = Output::<i32>::of(place, len)?;
                Ok(local(
                    (work, outputs),
                    |(work, outputs), set| {
                        let input = sets.inputs()[set].view().device_pointer();
                        let [keys, lengths, count] = outputs[set].pointers();
                        work([input, keys, lengths, count])
                    },
                    |(_, outputs), set| {
                        let Runs { keys, values } = outputs[set].runs()?;
                        let values = values.into_iter().map(|length| length as u64).collect();
                        Ok(sets.check(set, &Runs { keys, values }))
                    },
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        Ok(rivals)
    });
}

fn sums_by_key(bench: &mut Bench, len: usize) {
    let problem = ByKey::<u8, f32>::new(len);
    let work = "sums of f32 by keys of u8".to_owned();
    let spec = spec(work, len, problem.bytes(), Bound::Copy, RUNS);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let mut rivals = Vec::new();
        if place.peers.wanted() {
            let cub = place.peers.cub().and_then(|cub| {
                let work = cub.by_key("u8", len)?;
                let outputs = Output::<f32>::of(place, len)?;
                Ok(local(
                    (work, outputs),
                    |(work, outputs), set| {
                        let (keys, values) = &sets.inputs()[set];
                        let from = [keys.view().device_pointer(), values.view().device_pointer()];
                        let [keys, sums, count] = outputs[set].pointers();
                        work([from[0], from[1], keys, sums, count])
                    },
                    |(_, outputs), set| Ok(sets.check(set, &outputs[set].runs()?)),
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        Ok(rivals)
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
