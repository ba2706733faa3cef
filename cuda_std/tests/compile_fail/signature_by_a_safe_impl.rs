use core::ffi::c_void;
use cuda_std::{
    Global,
    kernel::{Kernel, KernelDescriptor, RawParam, Signature},
};

struct Forged;

impl Signature for Forged {
    type Params = (Global<f32>,);
    const RAW: &'static [&'static [RawParam]] = &[];

    unsafe fn call(_: &[*const c_void]) {}
}

impl Kernel for Forged {
    const DESCRIPTOR: KernelDescriptor =
        KernelDescriptor::new::<Self>("scale", [0, 0, 1, 1, 1], 0, &["input"]);
}

fn main() {}
