//! `warpwright sort`

use warpwright::Device;
use warpwright::ops::sort::SortKey;
use warpwright_cli::array::{Array, Data, Dtype, Element};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, check_vector, failed, open, read, shaped, timed, variant};
use crate::args::{Global, Sort};

/// Sorts a vector, or finds the positions of its elements in order, and writes the result.
pub fn run(global: &Global, options: &Sort) -> Result<()> {
    let variant = variant(global, "sort")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let within = |error: Error| error.within(options.input.display());
    let shape = input.shape();
    check_vector("sort", shape).map_err(within)?;
    let dtype = if options.argsort {
        Dtype::I64
    } else {
        input.dtype()
    };
    target.check(dtype, shape)?;
    let done = with_keys!("sort", &input, data => sort(&device, data, options, variant));
    let done = done.map_err(within)?;
    drop(input);
    done.write(global, &device, &target, "")
}

fn sort<T: Element + SortKey>(
    device: &Device,
    data: &Data<T>,
    options: &Sort,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let vector = device.upload(data.values()).map_err(failed)?;
    if options.argsort {
        let mut request = device.argsort_request::<T, u64>(&vector);
        if options.descending {
            request = request.descending();
        }
        let done = done!(device, request, variant);
        return done.map(|positions| {
            let positions = positions.into_iter().map(|position| position as i64);
            shaped(data.shape(), positions.collect())
        });
    }
    let mut request = device.sort_request(&vector);
    if options.descending {
        request = request.descending();
    }
    let done = done!(device, request, variant);
    done.map(|values| shaped(data.shape(), values))
}
