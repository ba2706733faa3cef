use cuda_std::prelude::*;

#[kernel(instances(f32))]
pub unsafe fn instances_without_generics(output: GlobalMut<f32>) {
    output.set(0, 1.0);
}

fn main() {}
