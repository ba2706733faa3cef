//! Sorts of keys, and of keys with values, compared with CUB, and positions of sorted keys, compared with PyTorch's `argsort`.

use serde_json::json;
use warpwright::ops::segments::Segments;
use warpwright_workloads::sample::Make;
use warpwright_workloads::sort::{Input, Key, Sort, SortSegments, Sorted, With};

use super::super::{Bench, Result, Spec, address, local, pointer};
use super::top_k::uniform;
use super::{case, writing};
use crate::record::Bound;

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
    case(bench, spec(work, len, 1.0), problem, |sets, place| {
        place.cub(|cub| {
            let mut cub = cub.sort_segments("u32", len, count)?;
            let work = move |(input, segments): &(Input<u32>, Segments), to| {
                cub([address(&input.keys), segments.device_pointer(), to])
            };
            let answer = |keys| Sorted {
                keys,
                values: Vec::new(),
            };
            writing(sets, place.output(len)?, work, answer)
        })
    });
}

/// Positions, compared with PyTorch's, which have 64 bits. CUB has no sort of positions.
fn positions<K: Key>(bench: &mut Bench, len: usize, problem: Sort<K>, python: &str) {
    let work = format!("positions of {}", K::NAME);
    case(bench, spec(work, len, 2.0), problem, |_, place| {
        place.pytorch(json!({"work": "argsort", "shape": [len], "element": python}))
    });
}

fn spec(work: String, len: usize, ratio: f64) -> Spec {
    Spec::of("sort", work, len, Bound::Copy).aim(None, ratio)
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
    case(bench, spec(work, len, ratio), problem, |sets, place| {
        place.cub(|cub| {
            let sort = cub.sort(K::NAME, with != With::Nothing, len)?;
            let outputs = (0..place.count).map(|_| {
                let moved = |is_wanted: bool| if is_wanted { len } else { 0 };
                Ok((
                    place.device.zeros::<K>(len)?,
                    place.device.zeros::<u32>(moved(with == With::Words))?,
                    place.device.zeros::<u64>(moved(with == With::Longs))?,
                ))
            });
            let outputs: Result<Vec<_>, warpwright::Error> = outputs.collect();
            Ok(local(
                (sort, outputs?),
                move |(sort, outputs), set| {
                    let input = &sets.inputs()[set];
                    let (keys, words, longs) = &mut outputs[set];
                    let [values, moved] = match with {
                        With::Longs => [address(&input.longs), pointer(longs)],
                        _ => [address(&input.words), pointer(words)],
                    };
                    sort([address(&input.keys), pointer(keys), values, moved])
                },
                |(_, outputs), set| {
                    let (keys, words, longs) = &outputs[set];
                    let mut values = longs.to_vec()?;
                    values.extend(words.to_vec()?.into_iter().map(u64::from));
                    let keys = keys.to_vec()?;
                    Ok(sets.check(set, &Sorted { keys, values }))
                },
            ))
        })
    })
}
