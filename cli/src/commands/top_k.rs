//! `warpwright top-k`

use warpwright::Device;
use warpwright::ops::sort::SortKey;
use warpwright_cli::array::{Array, Data, Dtype, Element, Shape};
use warpwright_cli::error::Result;
use warpwright_cli::output::{self, Target};

use super::{Done, check_names, failed, open, read, shaped, shown, timed, variant};
use crate::args::{Global, TopK};
use crate::report::Answer;

/// The elements and their positions.
struct Found {
    values: Array,
    positions: Array,
}

/// Finds the greatest or smallest elements of a vector or of each row of a matrix, and writes them and their positions.
pub fn run(global: &Global, options: &TopK) -> Result<()> {
    let variant = variant(global, "top_k")?;
    check_names(&options.output, "--positions", options.positions.as_deref())?;
    let target = Target::npy(&options.output)?;
    let positions = options.positions.as_deref().map(Target::npy).transpose()?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = with_keys!("top-k", &input, data => top_k(&device, data, options, variant));
    let done = done.map_err(|error| error.within(options.input.display()))?;
    let shape = input.shape();
    drop(input);

    // Both files are complete before the first is moved to its place.
    let mut staged = vec![target.stage_array(&done.value.values)?];
    if let Some(positions) = &positions {
        staged.push(positions.stage_array(&done.value.positions)?);
    }
    output::put(staged)?;
    let values = &done.value.values;
    let what = format!("{} of {} out of {shape}", values.shape(), values.dtype());
    let positions = positions.map(|positions| shown(positions.path()));
    done.report(global, &device, &target, &what, |answer| Answer {
        positions,
        ..answer
    })
}

fn top_k<T: Element + SortKey>(
    device: &Device,
    data: &Data<T>,
    options: &TopK,
    variant: Option<&str>,
) -> Result<Done<Found>> {
    let k = options.k;
    /// Runs a request and makes arrays of this shape.
    macro_rules! found {
        ($request:expr, $shape:expr) => {{
            let mut request = $request;
            if options.smallest {
                request = request.smallest();
            }
            let done = done!(device, request, variant, prepare(), |it| {
                let values = it.output().and_then(|values| values.to_vec());
                values.and_then(|values| Ok((values, it.positions()?.to_vec()?)))
            });
            done.map(|(values, positions)| {
                let positions = positions.into_iter().map(|position| position as i64);
                Ok(Found {
                    values: shaped($shape, values)?,
                    positions: shaped($shape, positions.collect())?,
                })
            })
        }};
    }
    match data.shape() {
        Shape::Vector(_) => {
            let vector = device.upload(data.values()).map_err(failed)?;
            found!(device.top_k_request(&vector, k), Shape::Vector(k))
        }
        Shape::Matrix { height, width } => {
            let matrix = device.upload_matrix(data.values(), height, width);
            let matrix = matrix.map_err(failed)?;
            let shape = Shape::Matrix { height, width: k };
            found!(device.top_k_rows_request(&matrix, k), shape)
        }
    }
}
