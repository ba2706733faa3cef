//! A slice of `cudarc` is lent for writing to one at a time.

use cudarc::driver::CudaSlice;
use warpwright::Device;

fn lend(device: &Device, slice: &mut CudaSlice<f32>) {
    let mut one = device.cudarc_view_mut(slice).unwrap();
    let mut other = device.cudarc_view_mut(slice).unwrap();
    one.view_mut().clear().unwrap();
    other.view_mut().clear().unwrap();
}

fn main() {}
