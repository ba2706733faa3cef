//! `warpwright merge` and `warpwright bounds`

use std::path::Path;

use warpwright::ops::sort::SortKey;
use warpwright::{Device, Vector};
use warpwright_cli::array::{Array, Data, Dtype, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;

use super::{Done, check_vector, failed, open, read, same_type, shaped, timed, variant};
use crate::args::{Bounds, Global, Merge};

/// Merges two sorted vectors and writes the result.
pub fn run(global: &Global, options: &Merge) -> Result<()> {
    let variant = variant(global, "merge")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let (a, b) = (read(&options.a)?, read(&options.b)?);
    let done = with_keys!("merge", &a, a => Ok(merge(&device, a, &b, options, variant)));
    let done = done.map_err(|error: Error| error.within(options.a.display()))??;
    drop((a, b));
    done.write(global, &device, &target, "")
}

/// Finds the places of keys in a sorted vector and writes them.
pub fn bounds(global: &Global, options: &Bounds) -> Result<()> {
    let variant = variant(global, "merge")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let (sorted, keys) = (read(&options.sorted)?, read(&options.keys)?);
    let done = with_keys!("bounds", &sorted, sorted => Ok(places(&device, sorted, &keys, options, variant)));
    let done = done.map_err(|error: Error| error.within(options.sorted.display()))??;
    let remark = format!(", places in {} of {}", sorted.shape(), sorted.dtype());
    drop((sorted, keys));
    done.write(global, &device, &target, &remark)
}

/// Copies the data of a file to the device.
fn upload<T: SortKey>(device: &Device, data: &Data<T>, path: &Path) -> Result<Vector<T>> {
    let vector = device.upload(data.values());
    vector.map_err(|error| failed(error).within(path.display()))
}

/// Checks that the data of a file has one axis, and copies it to the device.
fn upload_vector<T: SortKey>(
    device: &Device,
    operation: &str,
    data: &Data<T>,
    path: &Path,
) -> Result<Vector<T>> {
    check_vector(operation, data.shape()).map_err(|error| error.within(path.display()))?;
    upload(device, data, path)
}

fn merge<T: Element + SortKey>(
    device: &Device,
    a: &Data<T>,
    b: &Array,
    options: &Merge,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let a = upload_vector(device, "merge", a, &options.a)?;
    let b = same_type(b, "A", &options.b)?;
    let b = upload_vector(device, "merge", b, &options.b)?;
    let mut request = device.merge_request(&a, &b);
    if options.descending {
        request = request.descending();
    }
    let done = done!(device, request, variant);
    done.map(|values| shaped(Shape::Vector(values.len()), values))
}

fn places<T: Element + SortKey>(
    device: &Device,
    sorted: &Data<T>,
    keys: &Array,
    options: &Bounds,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let sorted = upload_vector(device, "bounds", sorted, &options.sorted)?;
    let keys = same_type(keys, "SORTED", &options.keys)?;
    let needles = upload(device, keys, &options.keys)?;
    let mut request = match options.upper {
        false => device.lower_bound_request(&sorted, &needles),
        true => device.upper_bound_request(&sorted, &needles),
    };
    if options.descending {
        request = request.descending();
    }
    let done = done!(device, request, variant);
    done.map(|places| {
        let places = places.into_iter().map(|place| place as i64);
        shaped(keys.shape(), places.collect())
    })
}
