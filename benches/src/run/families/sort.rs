//! Sorts of keys, and of keys with values, compared with CUB, and positions of sorted keys, compared with PyTorch's `argsort`.

use serde_json::json;
use warpwright_workloads::Problem;
use warpwright_workloads::sample::Make;
use warpwright_workloads::sort::{Input, Key, Sort, SortSegments, Sorted, With};

use super::super::peers::rival;
use super::super::{Bench, Result, Spec, local, pointer, power};
use super::top_k::uniform;
use super::{Place, case};
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    let sizes = [1 << 16, 1 << 20, 1 << 24, 1 << 28];
    for len in bench.scale().pick(&sizes[..], &sizes[3..], &[1 << 13]) {
        alone::<u32>(bench, *len);
        alone::<u64>(bench, *len);
        with::<u32>(bench, *len, With::Words, "with u32");
        with::<u64>(bench, *len, With::Longs, "with u64");
    }
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 13);
    alone::<f32>(bench, len);
    alone::<u16>(bench, len);
    alone::<u8>(bench, len);
    let few = Make::hashed(|hash| (hash % 10) as u32);
    let sort = Sort::new(len, With::Nothing).of("few", few);
    of(bench, "few u32".to_owned(), len, sort, With::Nothing, 1.0);
    // PyTorch has no sort of u32: its integers are as many of i32, which takes as long.
    let len = bench.scale().pick(1 << 27, 1 << 26, 1 << 13);
    positions(bench, len, Sort::<u32>::new(len, With::Positions), "i4");
    let values = Sort::new(len, With::Positions).of("uniform", Make::hashed(uniform));
    positions::<f32>(bench, len, values, "f4");
    let all = [(1 << 26, 10_000), (1 << 26, 1_000_000)];
    for (len, count) in bench.scale().pick(&all[..], &all[..1], &[(1 << 13, 100)]) {
        segments(bench, *len, *count);
    }
}

/// Sorts of segments of any length, compared with CUB's `DeviceSegmentedSort`.
fn segments(bench: &mut Bench, len: usize, count: usize) {
    let problem = SortSegments::<u32>::new(len, count);
    let work = format!("{count} segments of u32");
    let spec = spec(work, len, problem.bytes(), 1.0);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, Place { device, peers, .. }| {
        if !peers.wanted() {
            return Ok(Vec::new());
        }
        let cub = peers.cub().and_then(|cub| {
            let sort = cub.sort_segments("u32", len, count)?;
            Ok(local(
                (sort, device.zeros::<u32>(len)?),
                |(sort, sorted), set| {
                    let (Input { keys, .. }, segments) = &sets.inputs()[set];
                    let keys = keys.view().device_pointer();
                    sort([keys, segments.device_pointer(), pointer(sorted)])
                },
                |(_, sorted), set| {
                    let (keys, values) = (sorted.to_vec()?, Vec::new());
                    Ok(sets.check(set, &Sorted { keys, values }))
                },
            ))
        });
        Ok(vec![rival("CUB", cub)])
    });
}

/// Positions, compared with PyTorch's, which have 64 bits. CUB has no sort of positions.
fn positions<K: Key>(bench: &mut Bench, len: usize, problem: Sort<K>, python: &str) {
    let work = format!("positions of {}", K::NAME);
    let spec = spec(work, len, problem.bytes(), 2.0);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |_, Place { peers, count, .. }| {
        let request = json!({"work": "argsort", "shape": [len], "element": python, "sets": count});
        Ok(peers.framework_rivals(&[("PyTorch", None)], &request))
    });
}

fn spec(work: String, len: usize, bytes: usize, ratio: f64) -> Spec {
    Spec {
        family: "sort",
        work,
        size: power(len),
        elements: len,
        bytes,
        operations: 0,
        bound: Bound::Copy,
        aim: Aim {
            share: None,
            ratio: Some(ratio),
        },
    }
}

fn alone<K: Key>(bench: &mut Bench, len: usize) {
    let sort = Sort::<K>::new(len, With::Nothing);
    let ratio = match K::NAME {
        "u32" if len >= 1 << 20 => 1.55,
        _ => ratio(len),
    };
    of(bench, K::NAME.to_owned(), len, sort, With::Nothing, ratio);
}

fn with<K: Key>(bench: &mut Bench, len: usize, with: With, name: &str) {
    let work = format!("{} {name}", K::NAME);
    let sort = Sort::<K>::new(len, with);
    of(bench, work, len, sort, with, ratio(len));
}

/// Returns the aim for keys and values of most types.
fn ratio(len: usize) -> f64 {
    if len >= 1 << 28 { 1.3 } else { 1.2 }
}

fn of<K: Key>(
    bench: &mut Bench,
    work: String,
    len: usize,
    problem: Sort<K>,
    with: With,
    ratio: f64,
) {
    let spec = spec(work, len, problem.bytes(), ratio);
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let Place {
            device,
            peers,
            count,
        } = place;
        let mut rivals = Vec::new();
        if peers.wanted() {
            let cub = peers.cub().and_then(|cub| {
                let sort = cub.sort(K::NAME, with != With::Nothing, len)?;
                let outputs = (0..*count).map(|_| {
                    let moved = |is_wanted: bool| if is_wanted { len } else { 0 };
                    Ok((
                        device.zeros::<K>(len)?,
                        device.zeros::<u32>(moved(with == With::Words))?,
                        device.zeros::<u64>(moved(with == With::Longs))?,
                    ))
                });
                let outputs: Result<Vec<_>, warpwright::Error> = outputs.collect();
                Ok(local(
                    (sort, outputs?),
                    move |(sort, outputs), set| {
                        let input = &sets.inputs()[set];
                        let (keys, words, longs) = &mut outputs[set];
                        let values = match with {
                            With::Longs => [input.longs.view().device_pointer(), pointer(longs)],
                            _ => [input.words.view().device_pointer(), pointer(words)],
                        };
                        let [from, to] = [input.keys.view().device_pointer(), pointer(keys)];
                        sort([from, to, values[0], values[1]])
                    },
                    |(_, outputs), set| {
                        let (keys, words, longs) = &outputs[set];
                        let mut values = longs.to_vec()?;
                        values.extend(words.to_vec()?.into_iter().map(u64::from));
                        let keys = keys.to_vec()?;
                        Ok(sets.check(set, &Sorted { keys, values }))
                    },
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        Ok(rivals)
    })
}
