//! Sum, minimum and position of the maximum of a whole array, compared with CUB.

use std::cell::OnceCell;

use warpwright::Vector;
use warpwright::cuda_std::bf16;
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright_workloads::reduce::{Data, Reduction};
use warpwright_workloads::{Number, Problem, Sets, Total};

use super::super::peers::rival;
use super::super::{Bench, Contender, Result, Spec, local, pointer, power};
use super::{Place, case};
use crate::record::{Aim, Bound};

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
        let (len, bytes) = (1 << size, problem(Operator::Sum).bytes());
        // The operations have the same inputs.
        let inputs = OnceCell::new();
        for operation in OPERATIONS {
            let spec = Spec {
                family: "reduce",
                work: format!("{} {}", operation.name(), T::NAME),
                size: power(len),
                elements: len,
                bytes,
                operations: len as u64,
                bound: Bound::Read,
                aim: Aim {
                    share: (size == 28).then_some(0.97),
                    ratio: Some(1.0),
                },
            };
            let sets = |place: &Place| {
                if inputs.get().is_none() {
                    let new = place.sets(problem(Operator::Sum))?;
                    inputs.get_or_init(|| new);
                }
                let inputs = inputs.get().ok_or("inputs required, found none")?;
                Ok(inputs.with(problem(operation)))
            };
            case(bench, spec, sets, |sets, Place { device, peers, .. }| {
                if !peers.wanted() {
                    return Ok(Vec::new());
                }
                let cub = peers.cub();
                let cub = cub.and_then(|cub| cub.reduce(T::NAME, code(operation), len));
                let result = device.zeros(16)?;
                let cub = cub.map(|cub| cub_in(operation, cub, result, sets));
                Ok(vec![rival("CUB", cub)])
            });
        }
    }
}

fn cub_in<'a, T: Number + Reducible<Sum: Total>>(
    operation: Operator,
    cub: impl FnMut(u64, u64) -> Result<()> + 'a,
    result: Vector<u8>,
    sets: &'a Sets<Reduction<T>>,
) -> Box<dyn Contender + 'a> {
    local(
        (cub, result),
        |(cub, result), set| cub(sets.inputs()[set].view().device_pointer(), pointer(result)),
        move |(_, result), set| {
            let bytes = result.to_vec()?;
            let found = match operation {
                Operator::Sum => {
                    Value::Sum(bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Sum>()]))
                }
                Operator::Min => {
                    Value::Element(bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()]))
                }
                _ => Value::Index(u64::from(bytemuck::pod_read_unaligned::<u32>(&bytes[..4]))),
            };
            Ok(sets.check(set, &Some(found)))
        },
    )
}

/// Returns the operation's number in the peer's source.
fn code(operation: Operator) -> i32 {
    match operation {
        Operator::Sum => 0,
        Operator::Min => 1,
        _ => 2,
    }
}
