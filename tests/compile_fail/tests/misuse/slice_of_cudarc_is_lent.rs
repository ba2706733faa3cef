//! A slice of `cudarc` that is lent for writing cannot be read or dropped meanwhile.

use cudarc::driver::CudaSlice;
use warpwright::Device;

fn lend(device: &Device, mut slice: CudaSlice<f32>) {
    let mut lent = device.cudarc_view_mut(&mut slice).unwrap();
    drop(slice);
    lent.view_mut().clear().unwrap();
}

fn main() {}
