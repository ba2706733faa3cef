//! `warpwright transpose`

use warpwright::Device;
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_data;

use super::{Done, check_variant, failed, families, open, read, shaped, timed};
use crate::args::{Global, Transpose};

/// Transposes a matrix and writes it.
pub fn run(global: &Global, options: &Transpose) -> Result<()> {
    check_variant(&families(Some("transpose"))?, global.variant.as_deref())?;
    let target = Target::array(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done =
        with_data!(&input, data => transpose(&device, data, global.variant.as_deref(), &target))
            .map_err(|error| match error {
                Problem::Input(error) => error.within(options.input.display()),
                Problem::Output(error) => error,
            })?;
    drop(input);
    done.write(global, &device, &target, "")
}

/// Which file an error is about.
enum Problem {
    Input(Error),
    Output(Error),
}

fn transpose<T: Element>(
    device: &Device,
    data: &Data<T>,
    variant: Option<&str>,
    target: &Target,
) -> std::result::Result<Done<Array>, Problem> {
    let Shape::Matrix { height, width } = data.shape() else {
        return Err(Problem::Input(Error::failed(
            "transpose needs two axes and the array has one: save it with reshape(1, -1) or reshape(-1, 1)",
        )));
    };
    // What the output's format cannot hold is said before the work is done.
    let shape = Shape::Matrix {
        height: width,
        width: height,
    };
    target.check(T::DTYPE, shape).map_err(Problem::Output)?;
    let library = |error| Problem::Input(failed(error));
    let matrix = device
        .upload_matrix(data.values(), height, width)
        .map_err(library)?;
    let mut request = device.transpose_request(&matrix);
    if let Some(name) = variant {
        request = request.variant(name);
    }
    let mut prepared = request.prepare().map_err(library)?;
    let time = timed(device, || prepared.enqueue()).map_err(library)?;
    let values = prepared
        .output()
        .and_then(|output| output.to_vec())
        .map_err(library)?;
    let data = shaped(shape, values).map_err(Problem::Input)?;
    Ok(Done {
        value: T::into_array(data),
        variant: prepared.variant(),
        chosen_by: prepared.chosen_by(),
        time,
    })
}
