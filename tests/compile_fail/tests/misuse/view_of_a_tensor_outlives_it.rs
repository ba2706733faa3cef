//! A view of a tensor of DLPack cannot be used when the tensor is gone, whose deleter frees the memory.

use dlpark::versioned::Dlpack;
use warpwright::Device;

fn total(device: &Device, tensor: Dlpack) -> f32 {
    let view = unsafe { device.dlpack_view::<f32, _>(&tensor).unwrap() };
    drop(tensor);
    device.sum(view).unwrap()
}

fn main() {}
