//! Cumulative sums, compared with CUB's `DeviceScan::InclusiveSum`, which adds in the type of the elements.

use warpwright::Vector;
use warpwright::ops::scan::{Operator, Scannable};
use warpwright_workloads::Number;
use warpwright_workloads::scan::{Data, Given, Scan, Segmented, Wide};

use super::super::{Bench, Spec, address};
use super::{alone, case, on_vector, writing};
use crate::record::Bound;

/// A bound of the longest chain of additions. Both libraries add in trees and batches, whose chains are much shorter.
const CHAIN: usize = 4096;

pub(super) fn run(bench: &mut Bench) {
    of::<f32>(bench);
    of::<i32>(bench);
    of::<f64>(bench);
    of::<u8>(bench);
    if !bench.is_sweep() {
        wide(bench);
        by_key(bench);
        rows(bench);
        segments(bench);
    }
}

/// Values whose sums are checked against the bound of a chain.
fn sums(len: usize) -> Scan<f32> {
    Scan::new(Operator::Sum, len, Data::Fractions(CHAIN))
}

fn wide(bench: &mut Bench) {
    let sizes = [1 << 16, 1 << 20, 1 << 24, 1 << 28];
    for &len in bench.scale().pick(&sizes[..], &sizes[3..], &[1 << 13]) {
        let problem = Wide::<u8, u32>::new(len, Data::Fractions(CHAIN));
        let spec = spec("sum u8 to u32", len).aim((len == 1 << 28).then_some(0.9), 1.0);
        case(bench, spec, problem, |sets, place| {
            place.cub(|cub| {
                let work = on_vector(cub.scan_wide("u8", len)?);
                writing(sets, place.output(len)?, work, |sums| sums)
            })
        });
    }
}

fn by_key(bench: &mut Bench) {
    let sizes = [1 << 20, 1 << 24, 1 << 28];
    for &len in bench.scale().pick(&sizes[..], &sizes[2..], &[1 << 13]) {
        let problem = Segmented::<f32, u8>::by_keys(sums(len));
        case(
            bench,
            spec("sum f32 by key u8", len),
            problem,
            |sets, place| {
                place.cub(|cub| {
                    let mut cub = cub.scan_by_key("u8", len)?;
                    let work = move |(values, given): &(Vector<f32>, Given<u8>), to| {
                        let Given::Keys(keys) = given else {
                            return Err("keys required".into());
                        };
                        cub([address(keys), address(values), to])
                    };
                    writing(sets, place.output(len)?, work, |sums| sums)
                })
            },
        );
    }
}

/// The rows of a square matrix, for which CUB has nothing but keys.
fn rows(bench: &mut Bench) {
    let width = bench.scale().pick(1 << 14, 1 << 14, 1 << 6);
    let len = width * width;
    let problem = Segmented::by_rows(sums(len), width);
    case(bench, spec("sum f32 of each row", len), problem, alone);
}

/// Segments of any length that offsets bound, for which CUB has nothing but keys.
fn segments(bench: &mut Bench) {
    let all = [(1 << 28, 10_000), (1 << 28, 10_000_000)];
    for &(len, count) in bench.scale().pick(&all[..], &all[..1], &[(1 << 13, 100)]) {
        let problem = Segmented::by_offsets(sums(len), count);
        let work = format!("sum f32 of {count} segments");
        case(bench, spec(&work, len), problem, alone);
    }
}

fn spec(work: &str, len: usize) -> Spec {
    let spec = Spec::of("scan", work, len, Bound::Copy);
    spec.operations(len as u64).aim(None, 1.0)
}

fn of<T: Number + Scannable>(bench: &mut Bench) {
    // A sweep times every policy row at each size.
    let full: &[u32] = if bench.is_sweep() {
        &[16, 20, 22, 24, 28]
    } else {
        &[12, 14, 16, 18, 20, 22, 24, 26, 28]
    };
    let sizes = bench.scale().pick(full, &[16, 20, 28], &[13]);
    for &size in sizes {
        let len = 1 << size;
        let problem = Scan::<T>::new(Operator::Sum, len, Data::Fractions(CHAIN));
        let (share, ratio) = aim(T::NAME, size);
        let spec = spec(&format!("sum {}", T::NAME), len).aim(share, ratio);
        case(bench, spec, problem, |sets, place| {
            place.cub(|cub| {
                let work = on_vector(cub.scan(T::NAME, len)?);
                writing(sets, place.output(len)?, work, |sums| sums)
            })
        });
    }
}

/// Returns the aims for the share and the ratio, for `2^size` elements of a type.
fn aim(element: &str, size: u32) -> (Option<f64>, f64) {
    match (element, size) {
        ("u8", 28) => (Some(0.9), 3.5),
        ("f64", 28) => (Some(0.9), 1.25),
        (_, 28) => (Some(0.97), 1.3),
        ("u8", _) => (None, 1.0),
        (_, 16..=24) => (None, 1.25),
        _ => (None, 1.0),
    }
}
