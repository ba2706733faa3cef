use cuda_std::Global;
use warpwright::{Arg, Args, ops::random::RandomFloat};

#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
struct Forged(f32);

impl Arg<'_, Global<f32>> for Forged {}

impl Args<'_, (Global<f32>,)> for Forged {}

impl RandomFloat for Forged {}

impl warpwright::ops::gemm::GemmElement for Forged {}

impl warpwright_gpu::transpose::Word for Forged {
    const KERNELS: [&'static cuda_std::kernel::KernelDescriptor; 4] = <u32 as warpwright_gpu::transpose::Word>::KERNELS;
}

fn main() {}
