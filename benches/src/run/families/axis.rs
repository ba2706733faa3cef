//! Sums of the columns and of the rows of matrices of three shapes, beside CUB's segments, PyTorch and CuPy.

use std::cell::LazyCell;
use std::rc::Rc;

use serde_json::json;
use warpwright::ops::axis::{Axis, AxisReducible};
use warpwright::{Device, Vector};
use warpwright_cli::ladder::axis_sums;
use warpwright_cli::sample;

use super::super::peers::rival;
use super::super::{Bench, Contest, Result, Spec, local, pointer};
use super::uploaded;
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
        // So large that they are not the last pass's alone.
        [(300, 128), (400, 256), (70, 512)]
    } else {
        [(64, 64), (96, 5), (3, 130)]
    };
    for shape in bench.scale().pick(shapes, shapes, tiny) {
        of::<u8>(
            bench,
            axis,
            shape,
            ["u8", "u1"],
            |hash| hash as u8,
            |sum| sum as f64,
        );
        // Whole numbers, whose sums are exact in f32 in any order.
        of::<f32>(
            bench,
            axis,
            shape,
            ["f32", "f4"],
            |hash| (hash % 17) as f32 - 8.0,
            f64::from,
        );
    }
}

fn of<T: AxisReducible + Into<f64>>(
    bench: &mut Bench,
    axis: Axis,
    (height, width): (usize, usize),
    [name, python]: [&'static str; 2],
    from_hash: fn(u64) -> T,
    number: fn(T::Sum) -> f64,
) {
    let elements = height * width;
    let bytes = elements * size_of::<T>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let family = axis.family().name;
    let spec = Spec {
        family,
        work: format!("sums of {family} {name}"),
        size: format!("{height} x {width}"),
        elements,
        bytes,
        operations: elements as u64,
        bound: Bound::Read,
        aim: Aim {
            share: Some(0.85),
            ratio: Some(1.0),
        },
    };
    let values = LazyCell::new(|| sample::values(elements * sets, 7, from_hash));
    let inputs = LazyCell::new(|| {
        uploaded(&values, sets, |values| {
            Ok(device.upload_matrix(values, height, width)?)
        })
    });
    let candidates = bench.candidates(&spec);
    bench.case(spec, || {
        let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
        let expected = |set: usize| axis_sums(&values[set * elements..][..elements], width, axis);
        let expected = Rc::new([expected(0), expected(sets - 1)]);
        let check = move |set: usize, found: Vec<T::Sum>| {
            let found: Vec<f64> = found.into_iter().map(number).collect();
            super::equal(&expected[usize::from(set > 0)], &found)
        };
        let ours = |device: &Device| {
            let prepared: Result<Vec<_>> = inputs
                .iter()
                .map(|input| Ok(device.reduce_axis(input, axis).prepare_sum()?))
                .collect();
            let check = check.clone();
            Ok(local(
                prepared?,
                |prepared, set| Ok(prepared[set].enqueue()?),
                move |prepared, set| Ok(check(set, prepared[set].output()?.to_vec()?)),
            ))
        };
        let mut rivals = candidates.rivals(ours);
        let ours = ours(&device)?;
        if peers.wanted() && axis == Axis::Rows {
            let cub = peers.cub().and_then(|cub| {
                let cub = cub.rows(name, height, width)?;
                let sums: Vector<T::Sum> = device.zeros(height)?;
                Ok(local(
                    (cub, sums),
                    |(cub, sums), set| {
                        cub(
                            inputs[set].view().as_vector().device_pointer(),
                            pointer(sums),
                        )
                    },
                    move |(_, sums), set| Ok(check(set, sums.to_vec()?)),
                ))
            });
            rivals.push(rival("CUB", cub));
        }
        let request =
            json!({"work": family, "shape": [height, width], "element": python, "sets": sets});
        let torch = (name == "u8").then_some(5.0);
        rivals.extend(peers.framework_rivals(&[("PyTorch", torch), ("CuPy", None)], &request));
        Ok(Contest { sets, ours, rivals })
    })
}
