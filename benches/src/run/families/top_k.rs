//! The greatest elements of vectors and of the rows of a matrix, compared with PyTorch's `topk`, and medians, compared with its
//! `median`. CUB has neither.

use serde_json::json;
use warpwright_workloads::sample::Make;
use warpwright_workloads::sort::Key;
use warpwright_workloads::top_k::{Kth, TopK, TopKSegments};

use super::super::{Bench, Spec};
use super::{alone, case};
use crate::record::Bound;

/// The length that the aims are for.
const LARGE: usize = 1 << 28;

pub(super) fn run(bench: &mut Bench) {
    let sizes = [1 << 20, 1 << 24, LARGE];
    for len in bench.scale().pick(&sizes[..], &sizes[2..], &[1 << 13]) {
        for k in [10, 256, 4096] {
            of(bench, [1, *len], k, unit(TopK::new(*len, k)), Some("f4"));
        }
    }
    let len = bench.scale().pick(LARGE, LARGE, 1 << 13);
    // PyTorch has no `topk` of u32.
    of(bench, [1, len], 256, TopK::<u32>::new(len, 256), None);
    of(bench, [1, len], 256, TopK::<u8>::new(len, 256), Some("u1"));
    let (height, width) = bench
        .scale()
        .pick((1024, 32_000), (1024, 32_000), (16, 500));
    let rows = unit(TopK::rows((height, width), 50));
    of(bench, [height, width], 50, rows, Some("f4"));
    let sizes = [1 << 20, 1 << 24, LARGE];
    for len in bench.scale().pick(&sizes[..], &sizes[2..], &[1 << 13]) {
        median(bench, [1, *len]);
    }
    median(bench, [height, width]);
    let all = [(1 << 26, 10_000), (1 << 26, 1_000_000)];
    for (len, count) in bench.scale().pick(&all[..], &all[..1], &[(1 << 13, 100)]) {
        segments(bench, *len, *count);
    }
}

/// The greatest elements of each segment of any length, which no peer has.
fn segments(bench: &mut Bench, len: usize, count: usize) {
    let k = 10;
    let problem = TopKSegments::new(unit(TopK::new(len, k)), count).random();
    let work = format!("{k} greatest of each of {count} segments of f32");
    case(
        bench,
        Spec::of("top_k", work, len, Bound::Read),
        problem,
        alone,
    );
}

/// The median of a vector, or of each row of a matrix.
fn median(bench: &mut Bench, [height, width]: [usize; 2]) {
    let (problem, what, shape) = match height {
        1 => (Kth::<f32>::median(width), "", json!([width])),
        _ => (
            Kth::rows(height, width, (width - 1) / 2),
            "each row of ",
            json!([height, width]),
        ),
    };
    let problem = problem.of("uniform", Make::hashed(uniform));
    let work = format!("median of {what}f32");
    let mut spec = Spec::of("top_k", work, height * width, Bound::Read).aim(None, 1.0);
    if height > 1 {
        spec = spec.shape(height, width);
    }
    case(bench, spec, problem, |_, place| {
        place.pytorch(json!({"work": "median", "shape": shape, "element": "f4"}))
    });
}

/// Returns a number from 0 to 1, as the peer has them.
pub(super) fn uniform(hash: u64) -> f32 {
    (hash >> 40) as f32 / (1 << 24) as f32
}

/// Returns the problem of uniform values.
fn unit(problem: TopK<f32>) -> TopK<f32> {
    problem.of("uniform", Make::hashed(uniform))
}

/// Runs a case. `python` is the type's name in NumPy, if the peer has the operation for it.
fn of<K: Key>(
    bench: &mut Bench,
    [height, width]: [usize; 2],
    k: usize,
    problem: TopK<K>,
    python: Option<&'static str>,
) {
    let is_large = width == LARGE;
    let what = if height == 1 { "" } else { "each row of " };
    let work = format!("{k} greatest of {what}{}", K::NAME);
    let ratio = if is_large { 10.0 } else { 1.0 };
    let mut spec =
        Spec::of("top_k", work, height * width, Bound::Read).aim(is_large.then_some(0.6), ratio);
    if height > 1 {
        spec = spec.shape(height, width);
    }
    case(bench, spec, problem, |_, place| {
        let shape = [height, width];
        python.map_or_else(Vec::new, |python| {
            place.pytorch(json!({"work": "top_k", "shape": shape, "element": python, "k": k}))
        })
    })
}
