//! A result cannot be written to a view of the elements that are read.

use warpwright::{Device, Result, Vector};

fn sort(device: &Device, values: &mut Vector<f32>) -> Result<()> {
    let request = device.sort_request(&*values);
    request.output_to(values.view_mut()).run()?;
    Ok(())
}

fn main() {}
