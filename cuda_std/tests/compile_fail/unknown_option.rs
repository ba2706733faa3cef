use cuda_std::prelude::*;

#[kernel(launch_bound(128))]
pub unsafe fn unknown_option(output: GlobalMut<f32>) {
    output.set(0, 1.0);
}

fn main() {}
