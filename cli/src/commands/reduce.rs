//! `warpwright reduce`

use warpwright::Device;
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::with_numbers;

use super::{Done, failed, open, read, reduce_axis, timed, variant};
use crate::args::{Global, Op, Reduce};
use crate::report::{self, Answer, Number};

impl Op {
    pub(super) fn name(self) -> &'static str {
        self.operator().name()
    }

    /// Returns the library's operator.
    fn operator(self) -> Operator {
        match self {
            Op::Sum => Operator::Sum,
            Op::Product => Operator::Product,
            Op::Min => Operator::Min,
            Op::Max => Operator::Max,
            Op::Argmin => Operator::ArgMin,
            Op::Argmax => Operator::ArgMax,
            Op::Mean => Operator::Mean,
        }
    }
}

/// Reduces an array to one value and prints it.
pub fn run(global: &Global, options: &Reduce) -> Result<()> {
    if let Some(axis) = options.axis {
        return reduce_axis::run(global, options, axis);
    }
    let variant = variant(global, "reduce")?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = with_numbers!("reduce", &input, data => values(&device, data.values(), options.op, variant));
    let done = done.map_err(|error| error.within(options.input.display()))?;
    if global.json {
        return report::json(&Answer {
            value: Some(done.value),
            ..done.answer(&device)
        });
    }
    report::print(|out| writeln!(out, "{}", done.value))?;
    report::note(&format!(
        "{} of {} {} ({})",
        options.op.name(),
        input.len(),
        input.dtype(),
        done.how(&device)
    ));
    Ok(())
}

fn values<T: Reducible>(
    device: &Device,
    values: &[T],
    op: Op,
    variant: Option<&str>,
) -> Result<Done<Number>>
where
    Number: From<T> + From<T::Sum>,
{
    let vector = device.upload(values).map_err(failed)?;
    let (request, operator) = (device.reduce(&vector), op.operator());
    let done = done!(device, request, variant, prepare(operator), |it| it
        .finish());
    done.map(|value| match value {
        Some(Value::Sum(sum)) => Ok(Number::from(sum)),
        Some(Value::Element(element)) => Ok(Number::from(element)),
        Some(Value::Index(index)) => Ok(Number::Unsigned(index)),
        Some(Value::Mean(mean)) => Ok(Number::Double(mean)),
        Some(_) => Err(Error::failed("the result is of an unknown kind")),
        None => Err(Error::failed(format!(
            "{} needs at least one element and the array has none: give another file",
            op.name()
        ))),
    })
}
