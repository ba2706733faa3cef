use cuda_std::prelude::*;

#[kernel]
pub unsafe fn reference_parameter(input: &[f32], output: GlobalMut<f32>) {
    output.set(0, input[0]);
}

fn main() {}
