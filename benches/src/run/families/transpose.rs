//! Transposes of large matrices, of a square and of an odd shape.

use std::cell::LazyCell;
use std::fmt::Debug;

use rayon::prelude::*;
use serde_json::json;
use warpwright::{Device, Element, Matrix};
use warpwright_cli::sample;

use super::super::{Bench, Contest, Result, Spec, local};
use super::uploaded;
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    // A sweep has every row's outputs in memory at once.
    let side = if bench.is_sweep() { 8192 } else { 16384 };
    let large = [(side, side), (10007, 8191)];
    let shapes = bench.scale().pick(large, large, [(64, 96), (37, 41)]);
    for shape in shapes {
        of(bench, "u8", shape, |hash| hash as u8);
        of(bench, "u16", shape, |hash| hash as u16);
        // Bits are moved and not looked at.
        of(bench, "f32", shape, |hash| hash as u32);
        of(bench, "f64", shape, |hash| hash);
        if bench.is_sweep() {
            of(bench, "u128", shape, |hash| {
                u128::from(hash) << 64 | u128::from(!hash)
            });
        }
    }
}

fn of<T: Element + PartialEq + Debug>(
    bench: &mut Bench,
    name: &'static str,
    (height, width): (usize, usize),
    from_hash: fn(u64) -> T,
) {
    let elements = height * width;
    let bytes = 2 * elements * size_of::<T>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let even = height % 32 == 0 && width % 32 == 0;
    let spec = Spec {
        family: "transpose",
        work: format!("transpose {name}"),
        size: format!("{height} x {width}"),
        elements,
        bytes,
        operations: 0,
        bound: Bound::Copy,
        aim: Aim {
            share: Some(if even { 0.93 } else { 0.85 }),
            ratio: Some(1.0),
        },
    };
    let values = LazyCell::new(|| sample::values(elements * sets, 6, from_hash));
    let inputs = LazyCell::new(|| {
        uploaded(&values, sets, |values| {
            Ok(device.upload_matrix(values, height, width)?)
        })
    });
    let candidates = bench.candidates(&spec);
    bench.case(spec, || {
        let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
        let values = LazyCell::force(&values);
        let ours = |device: &Device| {
            let prepared: Result<Vec<_>> = inputs
                .iter()
                .map(|input: &Matrix<T>| Ok(device.transpose_request(input).prepare()?))
                .collect();
            Ok(local(
                prepared?,
                |prepared, set| Ok(prepared[set].enqueue()?),
                |prepared, set| {
                    let found = prepared[set].output()?.to_vec()?;
                    Ok(check(
                        &values[set * elements..][..elements],
                        &found,
                        height,
                        width,
                    ))
                },
            ))
        };
        let mut rivals = candidates.rivals(ours);
        let python = ["u1", "i2", "f4", "f8", "c16"][size_of::<T>().ilog2() as usize];
        let request =
            json!({"work": "transpose", "shape": [height, width], "element": python, "sets": sets});
        rivals.extend(peers.framework_rivals(&[("PyTorch", None), ("CuPy", None)], &request));
        Ok(Contest {
            sets,
            ours: ours(&device)?,
            rivals,
        })
    })
}

/// Whether `found` is the transpose of a matrix.
fn check<T: Element + PartialEq + Debug>(
    values: &[T],
    found: &[T],
    height: usize,
    width: usize,
) -> Result<(), String> {
    if found.len() != values.len() {
        return Err(format!(
            "expected {} elements, found {}",
            values.len(),
            found.len()
        ));
    }
    // A few columns at a time, so that the lines of the cache that are read are used.
    const COLUMNS: usize = 16;
    let wrong = found
        .par_chunks(COLUMNS * height)
        .enumerate()
        .find_map_first(|(chunk, found)| {
            (0..height).find_map(|row| {
                (0..found.len() / height).find_map(|at| {
                    let (column, found) = (chunk * COLUMNS + at, found[at * height + row]);
                    let expected = values[row * width + column];
                    (found != expected).then(|| {
                        format!("at {column}, {row}: expected {expected:?}, found {found:?}")
                    })
                })
            })
        });
    wrong.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_transpose_is_found() {
        let values = [1_u8, 2, 3, 4, 5, 6];
        assert_eq!(check(&values, &[1, 4, 2, 5, 3, 6], 2, 3), Ok(()));
        assert!(
            check(&values, &[1, 4, 2, 5, 6, 3], 2, 3)
                .unwrap_err()
                .contains("at 2, 0")
        );
        assert!(check(&values, &[1], 2, 3).is_err());
    }
}
