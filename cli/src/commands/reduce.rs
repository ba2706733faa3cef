//! `warpwright reduce`

use warpwright::Device;
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright_cli::array::Array;
use warpwright_cli::error::{Error, Result};

use super::{Done, check_variant, failed, families, open, read, reduce_axis, timed};
use crate::args::{Global, Op, Reduce};
use crate::report::{self, Answer, Number};

impl Op {
    pub(super) fn name(self) -> &'static str {
        self.operator().name()
    }

    /// What the device computes.
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
    check_variant(&families(Some("reduce"))?, global.variant.as_deref())?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let variant = global.variant.as_deref();
    let done = reduce(&device, &input, options.op, variant)
        .map_err(|e| e.within(options.input.display()))?;
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

fn reduce(device: &Device, input: &Array, op: Op, variant: Option<&str>) -> Result<Done<Number>> {
    match input {
        Array::U8(data) => values(device, data.values(), op, variant),
        Array::U16(data) => values(device, data.values(), op, variant),
        Array::U32(data) => values(device, data.values(), op, variant),
        Array::I32(data) => values(device, data.values(), op, variant),
        Array::I64(data) => values(device, data.values(), op, variant),
        Array::F32(data) => values(device, data.values(), op, variant),
        Array::F64(data) => values(device, data.values(), op, variant),
    }
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
    let mut request = device.reduce(&vector);
    if let Some(name) = variant {
        request = request.variant(name);
    }
    let mut prepared = request.prepare(op.operator()).map_err(failed)?;
    let time = timed(device, || prepared.enqueue()).map_err(failed)?;
    let value = match prepared.finish().map_err(failed)? {
        Some(Value::Sum(sum)) => Some(Number::from(sum)),
        Some(Value::Element(element)) => Some(Number::from(element)),
        Some(Value::Index(index)) => Some(Number::Unsigned(index)),
        Some(Value::Mean(mean)) => Some(Number::Double(mean)),
        None => None,
    };
    let value = value.ok_or_else(|| {
        Error::failed(format!(
            "{} needs at least one element and the array has none: give another file",
            op.name()
        ))
    })?;
    Ok(Done {
        value,
        variant: prepared.variant(),
        chosen_by: prepared.chosen_by(),
        time,
    })
}
