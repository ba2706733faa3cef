//! `warpwright matmul`

use std::path::Path;

use warpwright::ops::gemm::GemmElement;
use warpwright::{Device, Matrix, Vector};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, check_variant, failed, families, open, read, same_type, shaped, single, timed};
use crate::args::{Activation, Global, Matmul};

/// Multiplies two matrices and writes the product.
pub fn run(global: &Global, options: &Matmul) -> Result<()> {
    check_variant(&families(Some("gemm"))?, global.variant.as_deref())?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let inputs = Inputs {
        a: read(&options.a)?,
        b: read(&options.b)?,
        c: options.c.as_deref().map(read).transpose()?,
        bias: options.bias.as_deref().map(read).transpose()?,
    };
    let variant = global.variant.as_deref();
    let done = match &inputs.a {
        Array::F16(a) => matmul(&device, a, &inputs, options, variant, single)?,
        Array::Bf16(a) => matmul(&device, a, &inputs, options, variant, single)?,
        Array::F32(a) => matmul(&device, a, &inputs, options, variant, single)?,
        Array::F64(a) => matmul(&device, a, &inputs, options, variant, |_, x| Ok(x))?,
        Array::I8(a) => matmul(&device, a, &inputs, options, variant, whole)?,
        Array::F8E4M3(a) => matmul(&device, a, &inputs, options, variant, single)?,
        Array::F8E5M2(a) => matmul(&device, a, &inputs, options, variant, single)?,
        other => {
            return Err(Error::failed(format!(
                "matmul needs i8, F8E4M3, F8E5M2, f16, bf16, f32 or f64 and the array has {}: convert it",
                other.dtype()
            ))
            .within(options.a.display()));
        }
    };
    drop(inputs);
    done.write(global, &device, &target, "")
}

/// Returns a factor as an `i32`.
fn whole(what: &str, number: f64) -> Result<i32> {
    let rounded = number as i32;
    match f64::from(rounded) == number {
        true => Ok(rounded),
        false => Err(Error::usage(format!(
            "{what} of products of i8 has to be a whole number of 32 bits, given {number}"
        ))),
    }
}

/// The matrices that were read.
struct Inputs {
    a: Array,
    b: Array,
    c: Option<Array>,
    bias: Option<Array>,
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

fn upload_bias<T: Element>(device: &Device, array: &Array, path: &Path) -> Result<Vector<T>> {
    let data = same_type::<T>(array, "the product", path)?;
    if !matches!(data.shape(), Shape::Vector(_)) {
        let text = "--bias needs one axis and the array has two: save it with reshape(-1)";
        return Err(Error::failed(text).within(path.display()));
    }
    let vector = device.upload(data.values());
    vector.map_err(|error| failed(error).within(path.display()))
}

fn matmul<T: Element + GemmElement<Result: Element>>(
    device: &Device,
    a: &Data<T>,
    inputs: &Inputs,
    options: &Matmul,
    variant: Option<&str>,
    factor: impl Fn(&str, f64) -> Result<T::Scale>,
) -> Result<Done<Array>> {
    let a = upload(device, a, &options.a)?;
    let b = same_type::<T>(&inputs.b, "A", &options.b)?;
    let b = upload(device, b, &options.b)?;
    let bias = match (&inputs.bias, &options.bias) {
        (Some(bias), Some(path)) => Some(upload_bias::<T::Result>(device, bias, path)?),
        _ => None,
    };
    let mut request = device.gemm(&a, &b).alpha(factor("--alpha", options.alpha)?);
    request = request.precision(options.precision);
    if let Some(bias) = &bias {
        request = request.bias(bias);
    }
    request = match options.activation {
        Some(Activation::Relu) => request.relu(),
        Some(Activation::Gelu) => request.gelu(),
        None => request,
    };
    if options.transpose_a {
        request = request.transpose_a();
    }
    if options.transpose_b {
        request = request.transpose_b();
    }
    let (Some(c), Some(path)) = (&inputs.c, &options.c) else {
        let done = done!(device, request, variant, prepare(), |it| it
            .output()
            .map(array));
        return done.map(|product| product);
    };
    let c = upload(
        device,
        same_type::<T::Result>(c, "the product", path)?,
        path,
    )?;
    if let Some(name) = variant {
        request = request.variant(name);
    }
    let beta = factor("--beta", options.beta.unwrap_or(1.0))?;
    let request = request.add_to(beta, c);
    let mut prepared = request
        .prepare()
        .map_err(|error| failed(error).within(path.display()))?;
    // A second run would add C twice, so the time includes loading the kernel.
    let ((), time) = device.time(|| prepared.enqueue()).map_err(failed)?;
    let (variant, chosen_by) = (prepared.variant(), prepared.chosen_by());
    Ok(Done {
        value: array(&prepared.into_output().map_err(failed)?)?,
        variant,
        chosen_by,
        time,
    })
}

fn array<T: Element>(matrix: &Matrix<T>) -> Result<Array> {
    let shape = Shape::Matrix {
        height: matrix.height(),
        width: matrix.width(),
    };
    shaped(shape, matrix.to_vec().map_err(failed)?)
}
