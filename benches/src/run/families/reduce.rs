//! Sum, minimum and position of the maximum of a whole array, compared with CUB.

use std::cell::OnceCell;

use warpwright::cuda_std::bf16;
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright_workloads::reduce::{Data, Reduction};
use warpwright_workloads::{Number, Problem, Total};

use super::super::{Bench, Spec};
use super::{Place, case_on, on_vector, writing};
use crate::record::Bound;

const OPERATIONS: [Operator; 3] = [Operator::Sum, Operator::Min, Operator::ArgMax];

/// A bound of the longest chain of additions. Both libraries add in trees, whose chains are much shorter.
const CHAIN: usize = 2048;

pub(super) fn run(bench: &mut Bench) {
    of::<f32>(bench);
    of::<i32>(bench);
    of::<f64>(bench);
    of::<u8>(bench);
    of::<bf16>(bench)
}

fn of<T: Number + Reducible<Sum: Total>>(bench: &mut Bench) {
    // A sweep times every policy row at each size. For 2^12 all rows make one block, and the launch takes most of the time.
    let full: &[u32] = if bench.is_sweep() {
        &[16, 20, 22, 24, 26, 28]
    } else {
        &[12, 14, 16, 18, 20, 22, 24, 26, 28]
    };
    let sizes = bench.scale().pick(full, &[12, 20, 28], &[12]);
    for &size in sizes {
        let problem = |operation| Reduction::<T>::new(operation, 1 << size, Data::Fractions(CHAIN));
        let len = 1 << size;
        // The operations have the same inputs.
        let inputs = OnceCell::new();
        for operation in OPERATIONS {
            let work = format!("{} {}", operation.name(), T::NAME);
            let spec = Spec {
                bytes: problem(Operator::Sum).bytes(),
                ..Spec::of("reduce", work, len, Bound::Read)
            };
            let spec = spec
                .operations(len as u64)
                .aim((size == 28).then_some(0.97), 1.0);
            let sets = |place: &Place| {
                if inputs.get().is_none() {
                    let new = place.sets(problem(Operator::Sum))?;
                    inputs.get_or_init(|| new);
                }
                let inputs = inputs.get().ok_or("inputs required, found none")?;
                Ok(inputs.with(problem(operation)))
            };
            case_on(bench, spec, sets, |sets, place| {
                place.cub(|cub| {
                    let work = on_vector(cub.reduce(T::NAME, code(operation), len)?);
                    let answer = move |bytes: Vec<u8>| Some(value::<T>(operation, &bytes));
                    writing(sets, place.output(16)?, work, answer)
                })
            });
        }
    }
}

/// Reads the peer's result.
fn value<T: Number + Reducible<Sum: Total>>(operation: Operator, bytes: &[u8]) -> Value<T> {
    match operation {
        Operator::Sum => Value::Sum(bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Sum>()])),
        Operator::Min => Value::Element(bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])),
        _ => Value::Index(u64::from(bytemuck::pod_read_unaligned::<u32>(&bytes[..4]))),
    }
}

/// Returns the operation's number in the peer's source.
fn code(operation: Operator) -> i32 {
    match operation {
        Operator::Sum => 0,
        Operator::Min => 1,
        _ => 2,
    }
}
