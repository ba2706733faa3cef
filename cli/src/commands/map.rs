//! `warpwright map`

use warpwright::Device;
use warpwright::cuda_std::map::MapFn;
use warpwright::ops::map::{
    Abs, Cos, Exp, Exp2, Function, Ln, Log2, Neg, Pow, Scale, Sin, Sqrt, Tanh,
};
use warpwright_cli::array::{Array, Data};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, failed, open, read, shaped, timed, variant};
use crate::args::{Global, Map, MapOp};

/// Applies a function to every element and writes the results.
pub fn run(global: &Global, options: &Map) -> Result<()> {
    let variant = variant(global, "map")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = map(&device, &input, options.op, variant)
        .map_err(|error| error.within(options.input.display()))?;
    drop(input);
    done.write(global, &device, &target, "")
}

fn map(device: &Device, input: &Array, op: MapOp, variant: Option<&str>) -> Result<Done<Array>> {
    let Array::F32(data) = input else {
        return Err(Error::failed(format!(
            "the data is {}, and map takes f32: convert it, for example with array.astype('float32')",
            input.dtype()
        )));
    };
    match op {
        MapOp::Sin => apply(device, data, Sin, variant),
        MapOp::Cos => apply(device, data, Cos, variant),
        MapOp::Exp => apply(device, data, Exp, variant),
        MapOp::Exp2 => apply(device, data, Exp2, variant),
        MapOp::Ln => apply(device, data, Ln, variant),
        MapOp::Log2 => apply(device, data, Log2, variant),
        MapOp::Tanh => apply(device, data, Tanh, variant),
        MapOp::Sqrt => apply(device, data, Sqrt, variant),
        MapOp::Abs => apply(device, data, Abs, variant),
        MapOp::Neg => apply(device, data, Neg, variant),
        MapOp::Pow(exponent) => apply(device, data, Pow { exponent }, variant),
        MapOp::Scale(factor, offset) => apply(device, data, Scale { factor, offset }, variant),
    }
}

fn apply<F: Function>(
    device: &Device,
    data: &Data<f32>,
    function: F,
    variant: Option<&str>,
) -> Result<Done<Array>>
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    let vector = device.upload(data.values()).map_err(failed)?;
    let request = device.map_request(&vector, function);
    let done = done!(device, request, variant);
    done.map(|values| shaped(data.shape(), values))
}
