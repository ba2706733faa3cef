//! `warpwright convolve`

use warpwright::ops::convolution::Convolvable;
use warpwright::{Boundary, Device};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::input;
use warpwright_cli::output::Target;

use super::{Done, failed, open, read, shaped, single, timed, variant};
use crate::args::{Convolve, Global, Mask, Outside};

/// Convolves a vector or the rows of a matrix, and writes the result.
pub fn run(global: &Global, options: &Convolve) -> Result<()> {
    let variant = variant(global, "convolution")?;
    let target = Target::array(&options.output)?;
    let mask = weights(&options.mask)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    // An output whose format cannot hold the result is refused before the computation.
    target.check(input.dtype(), input.shape())?;
    let work = Work {
        device: &device,
        mask: &mask,
        boundary: match options.boundary {
            Outside::Zero => Boundary::Zero,
            Outside::Clamp => Boundary::Clamp,
            Outside::Wrap => Boundary::Wrap,
        },
        variant,
    };
    let done = match &input {
        Array::U8(data) => work.convolve(data),
        Array::F32(data) => work.convolve(data),
        Array::F64(data) => work.convolve(data),
        other => Err(Error::failed(format!(
            "convolve takes u8, f32 or f64 and this is {}: convert it",
            other.dtype()
        ))),
    };
    let done = done.map_err(|error| error.within(options.input.display()))?;
    drop(input);
    let remark = format!(", by a mask of {}", mask.len());
    done.write(global, &device, &target, &remark)
}

/// Returns the weights of the command line, or of the file that it names. A file's numbers are exact in `f64`, except for
/// integers beyond 2^53, which no weight needs.
fn weights(mask: &Mask) -> Result<Vec<f64>> {
    let path = match mask {
        Mask::Weights(weights) => return Ok(weights.clone()),
        Mask::File(path) => path,
    };
    let within = |error: Error| error.within(path.display());
    let array = input::read(path)?.array;
    let Shape::Vector(len) = array.shape() else {
        return Err(within(Error::failed(
            "a mask needs one axis and this array has two: save it with reshape(-1)",
        )));
    };
    if len == 0 {
        return Err(within(Error::failed("a mask needs at least one weight")));
    }
    match array {
        Array::F32(data) => Ok(data.values().iter().map(|&weight| weight.into()).collect()),
        Array::F64(data) => Ok(data.into_values()),
        other => Err(within(Error::failed(format!(
            "a mask is f32 or f64 and this is {}: convert it",
            other.dtype()
        )))),
    }
}

/// The convolution to do, for any element type.
struct Work<'a> {
    device: &'a Device,
    mask: &'a [f64],
    boundary: Boundary,
    variant: Option<&'a str>,
}

/// An element type of files that can be convolved.
trait Convolved: Element + Convolvable {
    fn weight(weight: f64) -> Result<Self::Mask>;
}

macro_rules! convolved {
    ($($ty:ident: $mask:ident, $weight:expr;)*) => { $(
        impl Convolved for $ty {
            fn weight(weight: f64) -> Result<$mask> {
                $weight(weight)
            }
        }
    )* };
}
convolved! {
    u8: f32, |weight| single("a weight of the mask", weight);
    f32: f32, |weight| single("a weight of the mask", weight);
    f64: f64, Ok;
}

impl Work<'_> {
    fn convolve<T: Convolved>(&self, data: &Data<T>) -> Result<Done<Array>> {
        let mask: Vec<T::Mask> = self
            .mask
            .iter()
            .map(|&weight| T::weight(weight))
            .collect::<Result<_>>()?;
        let shape = data.shape();
        let (height, width) = match shape {
            Shape::Vector(len) => (1, len),
            Shape::Matrix { height, width } => (height, width),
        };
        let matrix = self
            .device
            .upload_matrix(data.values(), height, width)
            .map_err(failed)?;
        let request = self.device.convolve_rows_request(&matrix, &mask);
        let request = request.boundary(self.boundary);
        let done = done!(self.device, request, self.variant);
        done.map(|values| shaped(shape, values))
    }
}
