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
    fn kernel(
        _: warpwright_gpu::transpose::Variant,
    ) -> cuda_std::kernel::EntryOf<warpwright_gpu::transpose::TransposeBest<Self, 1>> {
        loop {}
    }
}

fn main() {}
