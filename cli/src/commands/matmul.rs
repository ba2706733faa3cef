//! `warpwright matmul`

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use warpwright::cuda_std::{F8E4M3, F8E5M2};
use warpwright::ops::gemm::{GemmElement, ResultIn};
use warpwright::{Device, Matrix, Vector};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, failed, open, read, same_type, shaped, single, timed, variant};
use crate::args::{Activation, Global, Matmul, ResultType};

/// Multiplies two matrices and writes the product.
pub fn run(global: &Global, options: &Matmul) -> Result<()> {
    let variant = variant(global, "gemm")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let inputs = Inputs {
        a: read(&options.a)?,
        b: read(&options.b)?,
        c: options.c.as_deref().map(read).transpose()?,
        bias: options.bias.as_deref().map(read).transpose()?,
        scale_rows: options.scale_rows.as_deref().map(read).transpose()?,
        scale_columns: options.scale_columns.as_deref().map(read).transpose()?,
    };
    let product = Product {
        device: &device,
        inputs: &inputs,
        options,
        variant,
    };
    use ResultType::{Bf16, F16, F32};
    let done = match (&inputs.a, options.result) {
        (Array::F16(a), None | Some(F16)) => product.of::<f16>(a, single)?,
        (Array::F16(a), Some(F32)) => product.of::<ResultIn<f16, f32>>(a, single)?,
        (Array::Bf16(a), None | Some(Bf16)) => product.of::<bf16>(a, single)?,
        (Array::Bf16(a), Some(F32)) => product.of::<ResultIn<bf16, f32>>(a, single)?,
        (Array::F32(a), None | Some(F32)) => product.of::<f32>(a, single)?,
        (Array::F64(a), None) => product.of::<f64>(a, |_, x| Ok(x))?,
        (Array::I8(a), None) => product.of::<i8>(a, whole)?,
        (Array::F8E4M3(a), None | Some(F32)) => product.of::<F8E4M3>(a, single)?,
        (Array::F8E4M3(a), Some(Bf16)) => product.of::<ResultIn<F8E4M3, bf16>>(a, single)?,
        (Array::F8E4M3(a), Some(F16)) => product.of::<ResultIn<F8E4M3, f16>>(a, single)?,
        (Array::F8E5M2(a), None | Some(F32)) => product.of::<F8E5M2>(a, single)?,
        (other, result) => {
            let given = other.dtype();
            let text = match result {
                Some(Bf16) => {
                    format!("--result bf16 needs F8E4M3 or bf16 and the array has {given}")
                }
                Some(F16) => format!("--result f16 needs F8E4M3 or f16 and the array has {given}"),
                Some(F32) => format!(
                    "--result f32 needs F8E4M3, F8E5M2, f16, bf16 or f32 and the array has {given}"
                ),
                None => format!(
                    "matmul needs i8, F8E4M3, F8E5M2, f16, bf16, f32 or f64 and the array has {given}: convert it"
                ),
            };
            return Err(Error::failed(text).within(options.a.display()));
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
    scale_rows: Option<Array>,
    scale_columns: Option<Array>,
}

/// A product that was asked for.
struct Product<'a> {
    device: &'a Device,
    inputs: &'a Inputs,
    options: &'a Matmul,
    variant: Option<&'a str>,
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

/// Uploads an array with one axis, the argument of an option, if there is one. It has the type of `what`.
fn upload_line<T: Element>(
    device: &Device,
    (array, path): (&Option<Array>, &Option<PathBuf>),
    what: &str,
    option: &str,
) -> Result<Option<Vector<T>>> {
    let (Some(array), Some(path)) = (array, path) else {
        return Ok(None);
    };
    let data = same_type::<T>(array, what, path)?;
    if !matches!(data.shape(), Shape::Vector(_)) {
        let text =
            format!("{option} needs one axis and the array has two: save it with reshape(-1)");
        return Err(Error::failed(text).within(path.display()));
    }
    let vector = device.upload(data.values());
    let vector = vector.map_err(|error| failed(error).within(path.display()))?;
    Ok(Some(vector))
}

impl Product<'_> {
    /// Computes the product of matrices of these types. `factor` makes a factor of an option's number.
    fn of<T: GemmElement<Factor: Element, Result: Element, Scale: Element>>(
        &self,
        a: &Data<T::Factor>,
        factor: impl Fn(&str, f64) -> Result<T::Scale>,
    ) -> Result<Done<Array>> {
        let Self {
            device,
            inputs,
            options,
            variant,
        } = *self;
        let a = upload(device, a, &options.a)?;
        let b = same_type::<T::Factor>(&inputs.b, "A", &options.b)?;
        let b = upload(device, b, &options.b)?;
        let bias = (&inputs.bias, &options.bias);
        let bias = upload_line::<T::Result>(device, bias, "the product", "--bias")?;
        let scales = (&inputs.scale_rows, &options.scale_rows);
        let of_rows = upload_line::<T::Scale>(device, scales, "a sum", "--scale-rows")?;
        let scales = (&inputs.scale_columns, &options.scale_columns);
        let of_columns = upload_line::<T::Scale>(device, scales, "a sum", "--scale-columns")?;
        let request = device.gemm_of::<T>((&a).into(), (&b).into());
        let mut request = request.alpha(factor("--alpha", options.alpha)?);
        if let Some(scales) = &of_rows {
            request = request.scale_rows(scales);
        }
        if let Some(scales) = &of_columns {
            request = request.scale_columns(scales);
        }
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
}

fn array<T: Element>(matrix: &Matrix<T>) -> Result<Array> {
    let shape = Shape::Matrix {
        height: matrix.height(),
        width: matrix.width(),
    };
    shaped(shape, matrix.to_vec().map_err(failed)?)
}
