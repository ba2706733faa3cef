//! Sums of the columns and of the rows of matrices of three shapes, compared with CUB's segmented sums, PyTorch and CuPy.

use serde_json::json;
use warpwright::ops::axis::{Axis, AxisOperator, AxisReducible};
use warpwright_workloads::axis::{Answer, AxisReduction, Data};
use warpwright_workloads::{Number, Total};

use super::super::{Bench, Spec};
use super::{case, on_vector, writing};
use crate::record::Bound;

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
    let work = format!("sums of {family} {name}");
    let spec = Spec::of(family, work, height * width, Bound::Read)
        .shape(height, width)
        .operations((height * width) as u64)
        .aim(0.85, 1.0);
    case(bench, spec, problem, |sets, place| {
        let mut rivals = Vec::new();
        if axis == Axis::Rows {
            rivals = place.cub(|cub| {
                let work = on_vector(cub.rows(name, height, width)?);
                writing(sets, place.output(height)?, work, Answer::Sums)
            });
        }
        let request = json!({"work": family, "shape": [height, width], "element": python});
        let torch = (name == "u8").then_some(5.0);
        rivals.extend(place.frameworks(&[("PyTorch", torch), ("CuPy", None)], request));
        rivals
    })
}
