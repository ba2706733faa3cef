//! `warpwright matmul`

use std::path::Path;

use warpwright::ops::gemm::GemmElement;
use warpwright::{Device, Matrix};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, check_variant, failed, families, open, read, shown, timed};
use crate::args::{Global, Matmul};
use crate::report::{self, Answer};

/// Multiplies two matrices and writes the product.
pub fn run(global: &Global, options: &Matmul) -> Result<()> {
    check_variant(&families(Some("gemm"))?, global.variant.as_deref())?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let inputs = Inputs {
        a: read(&options.a)?,
        b: read(&options.b)?,
        c: options.c.as_deref().map(read).transpose()?,
    };
    let variant = global.variant.as_deref();
    let done = match &inputs.a {
        Array::F32(a) => matmul(&device, a, &inputs, options, variant, |x| x as f32)?,
        Array::F64(a) => matmul(&device, a, &inputs, options, variant, |x| x)?,
        other => {
            return Err(Error::failed(format!(
                "matmul needs f32 or f64 and the array has {}: convert it",
                other.dtype()
            ))
            .within(options.a.display()));
        }
    };
    drop(inputs);
    target.stage_array(&done.value)?.commit()?;
    if global.json {
        return report::json(&Answer::<()> {
            output: Some(shown(target.path())),
            variant: Some(done.variant),
            chosen_by: Some(done.chosen_by()),
            device: Some(device.kind().to_string()),
            seconds: Some(done.time.as_secs_f64()),
            ..Answer::default()
        });
    }
    report::note(&format!(
        "{}: {} of {} ({})",
        target.path().display(),
        done.value.shape(),
        done.value.dtype(),
        done.how(&device)
    ));
    Ok(())
}

/// What was read.
struct Inputs {
    a: Array,
    b: Array,
    c: Option<Array>,
}

/// The data of a matrix of the same type as A.
fn same_type<'a, T: Element>(array: &'a Array, path: &Path) -> Result<&'a Data<T>> {
    T::from_array(array).ok_or_else(|| {
        Error::failed(format!(
            "the array has {} and A has {}: convert one of them",
            array.dtype(),
            T::DTYPE
        ))
        .within(path.display())
    })
}

fn upload<T: Element>(device: &Device, data: &Data<T>, path: &Path) -> Result<Matrix<T>> {
    let Shape::Matrix { height, width } = data.shape() else {
        return Err(Error::failed(
            "matmul needs two axes and the array has one: save it with reshape(1, -1) or reshape(-1, 1)",
        )
        .within(path.display()));
    };
    let matrix = device.upload_matrix(data.values(), height, width);
    matrix.map_err(|error| failed(error).within(path.display()))
}

fn matmul<T: Element + GemmElement>(
    device: &Device,
    a: &Data<T>,
    inputs: &Inputs,
    options: &Matmul,
    variant: Option<&str>,
    factor: impl Fn(f64) -> T,
) -> Result<Done<Array>> {
    let a = upload(device, a, &options.a)?;
    let b = upload(device, same_type::<T>(&inputs.b, &options.b)?, &options.b)?;
    let mut request = device.gemm(&a, &b).alpha(factor(options.alpha));
    if options.transpose_a {
        request = request.transpose_a();
    }
    if options.transpose_b {
        request = request.transpose_b();
    }
    if let Some(name) = variant {
        request = request.variant(name);
    }
    let (c, path) = match (&inputs.c, &options.c) {
        (Some(c), Some(path)) => (upload(device, same_type::<T>(c, path)?, path)?, path),
        _ => {
            let mut prepared = request.prepare().map_err(failed)?;
            let time = timed(device, || prepared.enqueue()).map_err(failed)?;
            let (variant, chosen_by) = (prepared.variant(), prepared.chosen_by());
            return Ok(Done {
                value: array(&prepared.into_output())?,
                variant,
                chosen_by,
                time,
            });
        }
    };
    let beta = factor(options.beta.unwrap_or(1.0));
    let request = request.beta_c(beta, c);
    let mut prepared = request
        .prepare()
        .map_err(|error| failed(error).within(path.display()))?;
    // Done twice, C would be added twice: the time includes the loading of the kernel.
    let ((), time) = device.time(|| prepared.enqueue()).map_err(failed)?;
    let (variant, chosen_by) = (prepared.variant(), prepared.chosen_by());
    Ok(Done {
        value: array(&prepared.into_output())?,
        variant,
        chosen_by,
        time,
    })
}

fn array<T: Element + GemmElement>(matrix: &Matrix<T>) -> Result<Array> {
    let shape = Shape::Matrix {
        height: matrix.height(),
        width: matrix.width(),
    };
    let values = matrix.to_vec().map_err(failed)?;
    Data::new(shape, values)
        .map(T::into_array)
        .ok_or_else(|| Error::failed("the result has another number of elements"))
}
