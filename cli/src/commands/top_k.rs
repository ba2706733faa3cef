//! `warpwright top-k`

use warpwright::Device;
use warpwright::ops::sort::SortKey;
use warpwright_cli::array::{Array, Data, Dtype, Element, Shape};
use warpwright_cli::error::Result;
use warpwright_cli::output::{self, Target};

use super::{Done, check_names, check_variant, failed, families, open, read, shaped, shown, timed};
use crate::args::{Global, TopK};
use crate::report::{self, Answer};

/// The elements and their positions.
struct Found {
    values: Array,
    positions: Array,
}

/// Finds the greatest or smallest elements of a vector or of each row of a matrix, and writes them and their positions.
pub fn run(global: &Global, options: &TopK) -> Result<()> {
    check_variant(&families(Some("top_k"))?, global.variant.as_deref())?;
    check_names(&options.output, "--positions", options.positions.as_deref())?;
    let target = Target::npy(&options.output)?;
    let positions = options.positions.as_deref().map(Target::npy).transpose()?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let variant = global.variant.as_deref();
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
    if global.json {
        return report::json(&Answer::<()> {
            output: Some(shown(target.path())),
            positions: positions.map(|positions| shown(positions.path())),
            ..done.answer(&device)
        });
    }
    let values = &done.value.values;
    report::note(&format!(
        "{}: {} of {} out of {shape} ({})",
        target.path().display(),
        values.shape(),
        values.dtype(),
        done.how(&device)
    ));
    Ok(())
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
