use cuda_std::prelude::*;

#[kernel(instances([f32; 2]))]
pub unsafe fn missing_suffix<T: Copy>(input: Global<T>, output: GlobalMut<T>) {
    output.set(0, input.get(0));
}

fn main() {}
