//! `warpwright transpose`

use warpwright::Device;
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_data;

use super::{Done, failed, open, read, shaped, timed, variant};
use crate::args::{Global, Transpose};

/// Transposes a matrix and writes it.
pub fn run(global: &Global, options: &Transpose) -> Result<()> {
    let variant = variant(global, "transpose")?;
    let target = Target::array(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let within = |error: Error| error.within(options.input.display());
    let Shape::Matrix { height, width } = input.shape() else {
        return Err(within(Error::failed(
            "transpose needs two axes and the array has one: save it with reshape(1, -1) or reshape(-1, 1)",
        )));
    };
    // An output whose format cannot hold the result is refused before the computation.
    let turned = Shape::Matrix {
        height: width,
        width: height,
    };
    target.check(input.dtype(), turned)?;
    let done = with_data!(&input, data => transpose(&device, data, [height, width], variant));
    let done = done.map_err(within)?;
    drop(input);
    done.write(global, &device, &target, "")
}

fn transpose<T: Element>(
    device: &Device,
    data: &Data<T>,
    [height, width]: [usize; 2],
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let matrix = device.upload_matrix(data.values(), height, width);
    let matrix = matrix.map_err(failed)?;
    let request = device.transpose_request(&matrix);
    let done = done!(device, request, variant);
    let turned = Shape::Matrix {
        height: width,
        width: height,
    };
    done.map(|values| shaped(turned, values))
}
