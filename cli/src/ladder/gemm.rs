//! The ladder of the matrix product: square matrices of `f32`.

use rayon::prelude::*;
use warpwright::Result;
use warpwright::ops::gemm::PreparedGemm;

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 4096 * 4096, 256 * 256);
    let side = elements.isqrt().max(1);
    let device = run.device;
    // Whole numbers from -4 to 4: sums of 2^20 products and fewer are exact in f32.
    let numbers = |stream| sample::values(side * side, stream, |hash| (hash % 9) as f32 - 4.0);
    let (a, b) = (numbers(22), numbers(23));
    let weights = sample::values(side, 24, |hash| (hash >> 44) as i64);
    let expected = times(&a, &times(&b, &weights));
    let (left, right) = (
        device.upload_matrix(&a, side, side)?,
        device.upload_matrix(&b, side, side)?,
    );
    let copied = copied(device, &a)?;
    let bytes = 3 * (side * side * size_of::<f32>()) as u64;
    let problem = format!("{side} x {side} x {side} f32");
    let ladder = run.all("gemm", problem, bytes, &copied, |variant| {
        let prepared = device.gemm(&left, &right).variant(variant).prepare()?;
        Ok(Box::new(Rung {
            prepared,
            weights: &weights,
            expected: &expected,
        }))
    })?;
    Ok(Ladder {
        operations: Some(2 * (side as u64).pow(3)),
        ..ladder
    })
}

/// A matrix of whole numbers times a vector, exactly.
fn times(matrix: &[f32], vector: &[i64]) -> Vec<i64> {
    let row = |row: &[f32]| {
        let products = row.iter().zip(vector);
        products.map(|(a, x)| *a as i64 * x).sum()
    };
    matrix.par_chunks(vector.len()).map(row).collect()
}

/// The check is Freivalds' (1977): C x = A (B x) for a random vector x. A row with a wrong element passes
/// with a probability of 2^-20.
struct Rung<'a> {
    prepared: PreparedGemm<'a, f32>,
    weights: &'a [i64],
    expected: &'a [i64],
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.output()?.to_vec()?;
        // Also what is no number.
        let whole = |value: &f32| value.fract() == 0.0 && value.abs() < 16_777_216.0;
        if let Some(at) = found.par_iter().position_first(|value| !whole(value)) {
            return Ok(Err(format!(
                "at {at}: expected a whole number, found {}",
                found[at]
            )));
        }
        let sums = times(&found, self.weights);
        let wrong = sums.iter().zip(self.expected).position(|(a, b)| a != b);
        Ok(match wrong {
            None if sums.len() == self.expected.len() => Ok(()),
            None => Err(format!(
                "expected {} rows, found {}",
                self.expected.len(),
                sums.len()
            )),
            Some(row) => Err(format!(
                "row {row}: expected a weighted sum of {}, found {}",
                self.expected[row], sums[row]
            )),
        })
    }
}
