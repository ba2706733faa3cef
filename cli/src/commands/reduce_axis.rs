//! `warpwright reduce --axis`

use std::path::Path;

use warpwright::Device;
use warpwright::ops::axis::{Axis, AxisOperator, AxisReducible};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_numbers;

use super::{Done, failed, open, read, shown, timed, variant};
use crate::args::{Global, Op, Reduce};
use crate::report::{self, Answer, Number};

/// Reduces a matrix along an axis, numbered as in NumPy, and prints or writes the results.
pub fn run(global: &Global, options: &Reduce, axis: u8) -> Result<()> {
    let axis = match axis {
        0 => Axis::Columns,
        _ => Axis::Rows,
    };
    let operator = operator(options.op)?;
    let variant = variant(global, axis.family().name)?;
    let target = options.output.as_deref().map(Target::npy).transpose()?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let work = Work {
        device: &device,
        axis,
        operator,
        variant,
    };
    let within = |error: Error| error.within(options.input.display());
    let done = work.array(&input).map_err(within)?;
    if let Some(target) = &target {
        target.stage_array(&done.value)?.commit()?;
    }
    let written = target.as_ref().map(|target| target.path());
    answer(global, &work, &input, &done, written)
}

fn answer(
    global: &Global,
    work: &Work<'_>,
    input: &Array,
    done: &Done<Array>,
    written: Option<&Path>,
) -> Result<()> {
    let numbers: Vec<Number> = match written {
        Some(_) => Vec::new(),
        None => with_numbers!(
            "reduce", &done.value, data => Ok(data.values().iter().map(|&v| Number::from(v)).collect())
        )?,
    };
    if global.json {
        return report::json(&Answer {
            value: written.is_none().then_some(numbers),
            output: written.map(shown),
            ..done.answer(work.device)
        });
    }
    report::print(|out| {
        numbers
            .iter()
            .try_for_each(|number| writeln!(out, "{number}"))
    })?;
    report::note(&format!(
        "{} of each of {} {} of {} {} ({})",
        work.operator.name(),
        done.value.len(),
        work.axis.family().name,
        input.shape(),
        input.dtype(),
        done.how(work.device)
    ));
    Ok(())
}

/// Returns the library's operator along an axis.
fn operator(op: Op) -> Result<AxisOperator> {
    match op {
        Op::Sum => Ok(AxisOperator::Sum),
        Op::Mean => Ok(AxisOperator::Mean),
        Op::Min => Ok(AxisOperator::Min),
        Op::Max => Ok(AxisOperator::Max),
        Op::Product | Op::Argmin | Op::Argmax => Err(Error::usage(format!(
            "reduce: --axis takes --op {}, given {}: leave --axis out for one result of the whole array",
            AxisOperator::ALL.map(AxisOperator::name).join(", "),
            op.name()
        ))),
    }
}

/// The reduction to do, without its matrix.
struct Work<'a> {
    device: &'a Device,
    axis: Axis,
    operator: AxisOperator,
    variant: Option<&'a str>,
}

impl Work<'_> {
    fn array(&self, input: &Array) -> Result<Done<Array>> {
        match input {
            // NumPy's sums of unsigned numbers are 64-bit too; files hold them as i64.
            Array::U8(data) => self.typed(data, signed),
            Array::U16(data) => self.typed(data, signed),
            Array::U32(data) => self.typed(data, signed),
            Array::I32(data) => self.typed(data, Ok),
            Array::F32(data) => self.typed(data, Ok),
            Array::F64(data) => self.typed(data, Ok),
            _ => Err(Error::failed(format!(
                "reduce --axis takes u8, u16, u32, i32, f32 and f64 and the array is {}: convert it, \
                 for example with astype",
                input.dtype()
            ))),
        }
    }

    /// Reduces a matrix of this element type. `written` converts the sums to ones that a file can hold.
    fn typed<T: Element + AxisReducible, S: Element>(
        &self,
        data: &Data<T>,
        written: impl Fn(Vec<T::Sum>) -> Result<Vec<S>>,
    ) -> Result<Done<Array>> {
        let Shape::Matrix { height, width } = data.shape() else {
            return Err(Error::failed(
                "reduce --axis needs two axes and the array has one: leave --axis out, or save it with \
                 reshape(1, -1) or reshape(-1, 1)",
            ));
        };
        let matrix = self
            .device
            .upload_matrix(data.values(), height, width)
            .map_err(failed)?;
        let request = self.device.reduce_axis(&matrix, self.axis);
        macro_rules! along {
            ($prepare:ident, $written:expr) => {{
                let done = done!(self.device, request, self.variant, $prepare());
                done.map(|values| Ok(Element::into_array(Data::vector($written(values)?))))
            }};
        }
        match self.operator {
            AxisOperator::Sum => along!(prepare_sum, written),
            AxisOperator::Mean => along!(prepare_mean, Ok::<_, Error>),
            AxisOperator::Min => along!(prepare_min, Ok::<_, Error>),
            AxisOperator::Max => along!(prepare_max, Ok::<_, Error>),
            other => Err(Error::failed(format!("no {other} along an axis"))),
        }
    }
}

/// Returns unsigned sums as `i64`, the largest integer type of files.
fn signed(sums: Vec<u64>) -> Result<Vec<i64>> {
    let signed = |sum| {
        i64::try_from(sum).map_err(|_| {
            Error::failed(format!(
                "a sum is {sum}, and a file holds {} at most: add fewer rows or columns at a time",
                i64::MAX
            ))
        })
    };
    sums.into_iter().map(signed).collect()
}
