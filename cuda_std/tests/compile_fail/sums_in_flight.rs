use cuda_std::{prelude::*, wgmma};

#[kernel]
pub unsafe fn too_early(output: GlobalMut<f32>) {
    let mut sums = [0.0; 32];
    let products = wgmma::begin(&mut sums).commit();
    output.set(0, sums[0]);
    products.wait();
}

fn main() {}
