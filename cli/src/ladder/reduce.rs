//! The ladder of the full reduction: the sum of `f32`.

use rayon::prelude::*;
use warpwright::Result;
use warpwright::ops::reduce::{Operator, PreparedReduce, Value};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 1 << 28, 1 << 20);
    let device = run.device;
    // Whole numbers from -8 to 8, whose sum is exact in f32 in any order.
    let values = sample::values(elements, 21, |hash| (hash % 17) as f32 - 8.0);
    let expected: i64 = values.par_iter().map(|&value| value as i64).sum();
    let vector = device.upload(&values)?;
    let copied = copied(device, &values)?;
    drop(values);
    let bytes = (elements * size_of::<f32>()) as u64;
    run.all(
        "reduce",
        format!("sum of {elements} f32"),
        bytes,
        &copied,
        |variant| {
            let prepared = device
                .reduce(&vector)
                .variant(variant)
                .prepare(Operator::Sum)?;
            Ok(Box::new(Rung { prepared, expected }))
        },
    )
}

struct Rung<'a> {
    prepared: PreparedReduce<'a, f32>,
    expected: i64,
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.finish()?;
        Ok(match found {
            Some(Value::Sum(sum)) if f64::from(sum) == self.expected as f64 => Ok(()),
            other => Err(format!("expected {}, found {other:?}", self.expected)),
        })
    }
}
