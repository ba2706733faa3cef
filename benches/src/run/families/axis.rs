//! Sums of the columns and of the rows of matrices of three shapes, compared with CUB's segmented sums, PyTorch and CuPy.

use serde_json::json;
use warpwright::Vector;
use warpwright::ops::axis::{Axis, AxisOperator, AxisReducible};
use warpwright_workloads::axis::{Answer, AxisReduction, Data};
use warpwright_workloads::{Number, Problem, Total};

use super::super::peers::rival;
use super::super::{Bench, Spec, local, pointer};
use super::{Place, case};
use crate::record::{Aim, Bound};

pub(super) fn columns(bench: &mut Bench) {
    both(bench, Axis::Columns)
}

pub(super) fn rows(bench: &mut Bench) {
    both(bench, Axis::Rows)
}

fn both(bench: &mut Bench, axis: Axis) {
    let shapes = [(8192, 8192), (65536, 512), (512, 65536)];
    let tiny = if bench.is_sweep() {
        // These are large enough that the last pass does not do them alone.
        [(300, 128), (400, 256), (70, 512)]
    } else {
        [(64, 64), (96, 5), (3, 130)]
    };
    for shape in bench.scale().pick(shapes, shapes, tiny) {
        of::<u8>(bench, axis, shape, "u1");
        of::<f32>(bench, axis, shape, "f4");
    }
}

fn of<T: Number + AxisReducible<Sum: Total>>(
    bench: &mut Bench,
    axis: Axis,
    (height, width): (usize, usize),
    python: &'static str,
) {
    let (name, family) = (T::NAME, axis.family().name);
    let shape = (height, width);
    let problem = AxisReduction::<T>::new(axis, AxisOperator::Sum, shape, Data::Exact);
    let spec = Spec {
        family,
        work: format!("sums of {family} {name}"),
        size: format!("{height} x {width}"),
        elements: height * width,
        bytes: problem.bytes(),
        operations: (height * width) as u64,
        bound: Bound::Read,
        aim: Aim {
            share: Some(0.85),
            ratio: Some(1.0),
        },
    };
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let Place {
            device,
            peers,
            count,
        } = place;
        let mut rivals = Vec::new();
        if peers.wanted() && axis == Axis::Rows {
            let cub = peers.cub().and_then(|cub| {
                let cub = cub.rows(name, height, width)?;
                let sums: Vector<T::Sum> = device.zeros(height)?;
                Ok(local(
                    (cub, sums),
                    |(cub, sums), set| {
                        let input = &sets.inputs()[set];
                        cub(input.view().device_pointer(), pointer(sums))
                    },
                    |(_, sums), set| Ok(sets.check(set, &Answer::Sums(sums.to_vec()?))),
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        let request =
            json!({"work": family, "shape": [height, width], "element": python, "sets": count});
        let torch = (name == "u8").then_some(5.0);
        rivals.extend(peers.framework_rivals(&[("PyTorch", torch), ("CuPy", None)], &request));
        Ok(rivals)
    })
}
