//! Matrix products, beside cuBLAS.

use std::cell::LazyCell;

use rayon::prelude::*;
use warpwright::ops::gemm::GemmElement;
use warpwright::{Device, Matrix, Vector};
use warpwright_cli::sample;

use super::super::peers::cublas::Blas;
use super::super::peers::rival;
use super::super::{Bench, Contest, Result, Spec, local, pointer};
use super::{unit, uploaded};
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    for side in bench
        .scale()
        .pick(&[1024, 2048, 4096, 8192][..], &[2048, 4096], &[33])
    {
        of(bench, "f32", *side, Bound::FmaF32, |hash| unit(hash) as f32);
    }
    for side in bench
        .scale()
        .pick(&[1024, 2048, 4096, 8192][..], &[2048], &[33])
    {
        of(bench, "f64", *side, Bound::FmaF64, unit);
    }
}

fn of<T: GemmElement + Blas + Into<f64>>(
    bench: &mut Bench,
    name: &'static str,
    side: usize,
    bound: Bound,
    from_hash: fn(u64) -> T,
) {
    let elements = side * side;
    let bytes = 3 * elements * size_of::<T>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let spec = Spec {
        family: "gemm",
        work: format!("product {name}"),
        size: format!("{side}^3"),
        elements,
        bytes,
        operations: 2 * (side as u64).pow(3),
        bound,
        aim: Aim::default(),
    };
    let values =
        LazyCell::new(|| [11, 12].map(|stream| sample::values(elements * sets, stream, from_hash)));
    let matrices = |values| {
        uploaded(values, sets, |values| {
            Ok(device.upload_matrix(values, side, side)?)
        })
    };
    let inputs = LazyCell::new(|| Ok::<_, String>([matrices(&values[0])?, matrices(&values[1])?]));
    let candidates = bench.candidates(&spec);
    bench.case(spec, || {
        let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
        let [a, b] = inputs;
        let values: &[Vec<T>; 2] = &values;
        let check = move |set: usize, found: Vec<T>| {
            let part = set * elements..(set + 1) * elements;
            check(&values[0][part.clone()], &values[1][part], &found, side)
        };
        let ours = |device: &Device| {
            let prepared: Result<Vec<_>> = a
                .iter()
                .zip(b)
                .map(|(a, b)| Ok(device.gemm(a, b).prepare()?))
                .collect();
            Ok(local(
                prepared?,
                |prepared, set| Ok(prepared[set].enqueue()?),
                move |prepared, set| Ok(check(set, prepared[set].output()?.to_vec()?)),
            ))
        };
        let mut rivals = candidates.rivals(ours);
        let ours = ours(&device)?;
        if peers.wanted() {
            let cublas = peers.cublas().and_then(|cublas| {
                let product = cublas.product::<T>(side)?;
                let outputs: Result<Vec<Vector<T>>, warpwright::Error> =
                    (0..sets).map(|_| device.zeros(elements)).collect();
                Ok(local(
                    (product, outputs?),
                    move |(product, outputs), set| {
                        let place = |matrices: &[Matrix<T>]| {
                            matrices[set].as_vector().view().device_pointer()
                        };
                        let [a, b] = inputs.each_ref().map(|it| place(it));
                        product([a, b, pointer(&mut outputs[set])])
                    },
                    move |(_, outputs), set| Ok(check(set, outputs[set].to_vec()?)),
                ))
            });
            rivals.push(rival("cuBLAS", cublas));
        }
        Ok(Contest { sets, ours, rivals })
    })
}

/// Compares some of the elements, spread over rows and columns, with sums in `f64`.
fn check<T: Blas + Into<f64> + Sync>(
    a: &[T],
    b: &[T],
    found: &[T],
    side: usize,
) -> Result<(), String> {
    if found.len() != side * side {
        return Err(format!(
            "expected {} elements, found {}",
            side * side,
            found.len()
        ));
    }
    let epsilon = if size_of::<T>() == 4 {
        f64::from(f32::EPSILON)
    } else {
        f64::EPSILON
    };
    let some = (0..4096_u64.max(4 * side as u64)).into_par_iter();
    let wrong = some.find_map_first(|turn| {
        let hash = sample::hash(turn);
        // Every row and every column has its turn.
        let (row, column) = (
            turn as usize % side,
            (turn as usize / side * 7 + turn as usize + (hash as usize % 3)) % side,
        );
        let (mut sum, mut magnitudes) = (0.0, 0.0);
        for k in 0..side {
            let product: f64 = a[row * side + k].into() * b[k * side + column].into();
            sum += product;
            magnitudes += product.abs();
        }
        let found: f64 = found[row * side + column].into();
        // A NaN fails this comparison.
        let right = (found - sum).abs() <= side as f64 * epsilon * magnitudes;
        (!right).then(|| format!("at {row}, {column}: expected {sum}, found {found}"))
    });
    wrong.map_or(Ok(()), Err)
}
