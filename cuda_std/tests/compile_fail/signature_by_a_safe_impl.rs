use cuda_std::{
    Global,
    kernel::{Kernel, KernelDescriptor, Signature},
};

struct Forged;

impl Signature for Forged {
    type Params = (Global<f32>,);

    unsafe fn call(_: Self::Params) {}
}

impl Kernel for Forged {
    const DESCRIPTOR: KernelDescriptor =
        KernelDescriptor::new::<Self>("scale", 0, 0, 0, &["input"]);
}

fn main() {}
