//! Cumulative sums, compared with CUB's `DeviceScan::InclusiveSum`, which adds in the type of the elements.

use warpwright::ops::scan::{Operator, Scannable};
use warpwright::{Element, Vector};
use warpwright_workloads::scan::{Data, Given, Scan, Segmented, Wide};
use warpwright_workloads::{Number, Problem, Sets};

use super::super::peers::rival;
use super::super::{Bench, Contender, Result, Spec, local, pointer, power};
use super::{Place, case};
use crate::record::{Aim, Bound};

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
        let spec = Spec {
            aim: Aim {
                share: (len == 1 << 28).then_some(0.9),
                ratio: Some(1.0),
            },
            ..segmented("sum u8 to u32", len, &problem)
        };
        let sets = |place: &Place| place.sets(problem);
        case(bench, spec, sets, |sets, Place { device, peers, .. }| {
            if !peers.wanted() {
                return Ok(Vec::new());
            }
            let cub = peers.cub().and_then(|cub| cub.scan_wide("u8", len));
            let result = device.zeros::<u32>(len)?;
            let cub = cub.map(|cub| cub_in(cub, result, sets));
            Ok(vec![rival("CUB", cub)])
        });
    }
}

fn by_key(bench: &mut Bench) {
    let sizes = [1 << 20, 1 << 24, 1 << 28];
    for &len in bench.scale().pick(&sizes[..], &sizes[2..], &[1 << 13]) {
        let problem = Segmented::<f32, u8>::by_keys(sums(len));
        let spec = segmented("sum f32 by key u8", len, &problem);
        let sets = |place: &Place| place.sets(problem);
        case(bench, spec, sets, |sets, Place { device, peers, .. }| {
            if !peers.wanted() {
                return Ok(Vec::new());
            }
            let cub = peers.cub().and_then(|cub| cub.scan_by_key("u8", len));
            let result = device.zeros::<f32>(len)?;
            let cub = cub.map(|cub| {
                local(
                    (cub, result),
                    |(cub, result), set| {
                        let (values, given) = &sets.inputs()[set];
                        let Given::Keys(keys) = given else {
                            return Err("keys required".into());
                        };
                        let values = values.view().device_pointer();
                        cub([keys.view().device_pointer(), values, pointer(result)])
                    },
                    |(_, result), set| Ok(sets.check(set, &result.to_vec()?)),
                )
            });
            Ok(vec![rival("CUB", cub)])
        });
    }
}

/// The rows of a square matrix, for which CUB has nothing but keys.
fn rows(bench: &mut Bench) {
    let width = bench.scale().pick(1 << 14, 1 << 14, 1 << 6);
    let len = width * width;
    let problem = Segmented::by_rows(sums(len), width);
    let spec = segmented("sum f32 of each row", len, &problem);
    case(
        bench,
        spec,
        |place| place.sets(problem),
        |_, _| Ok(Vec::new()),
    );
}

/// Segments of any length that offsets bound, for which CUB has nothing but keys.
fn segments(bench: &mut Bench) {
    let all = [(1 << 28, 10_000), (1 << 28, 10_000_000)];
    for &(len, count) in bench.scale().pick(&all[..], &all[..1], &[(1 << 13, 100)]) {
        let problem = Segmented::by_offsets(sums(len), count);
        let spec = segmented(&format!("sum f32 of {count} segments"), len, &problem);
        let sets = |place: &Place| place.sets(problem);
        case(bench, spec, sets, |_, _| Ok(Vec::new()));
    }
}

fn segmented<P: Problem>(work: &str, len: usize, problem: &P) -> Spec {
    Spec {
        family: "scan",
        work: work.to_owned(),
        size: power(len),
        elements: len,
        bytes: problem.bytes(),
        operations: len as u64,
        bound: Bound::Copy,
        aim: Aim {
            share: None,
            ratio: Some(1.0),
        },
    }
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
        let spec = Spec {
            family: "scan",
            work: format!("sum {}", T::NAME),
            size: power(len),
            elements: len,
            bytes: problem.bytes(),
            operations: len as u64,
            bound: Bound::Copy,
            aim: aim(T::NAME, size),
        };
        let sets = |place: &Place| place.sets(problem);
        case(bench, spec, sets, |sets, Place { device, peers, .. }| {
            if !peers.wanted() {
                return Ok(Vec::new());
            }
            let cub = peers.cub().and_then(|cub| cub.scan(T::NAME, len));
            let result = device.zeros(len)?;
            let cub = cub.map(|cub| cub_in(cub, result, sets));
            Ok(vec![rival("CUB", cub)])
        });
    }
}

/// Returns the aim for `2^size` elements of a type.
fn aim(element: &str, size: u32) -> Aim {
    let (share, ratio) = match (element, size) {
        ("u8", 28) => (Some(0.9), 3.5),
        ("f64", 28) => (Some(0.9), 1.25),
        (_, 28) => (Some(0.97), 1.3),
        ("u8", _) => (None, 1.0),
        (_, 16..=24) => (None, 1.25),
        _ => (None, 1.0),
    };
    Aim {
        share,
        ratio: Some(ratio),
    }
}

fn cub_in<'a, T: Element, Out: Element>(
    cub: impl FnMut(u64, u64) -> Result<()> + 'a,
    result: Vector<Out>,
    sets: &'a Sets<impl Problem<Input = Vector<T>, Answer = Vec<Out>>>,
) -> Box<dyn Contender + 'a> {
    local(
        (cub, result),
        |(cub, result), set| {
            let input = sets.inputs()[set].view().device_pointer();
            cub(input, pointer(result))
        },
        move |(_, result), set| Ok(sets.check(set, &result.to_vec()?)),
    )
}
