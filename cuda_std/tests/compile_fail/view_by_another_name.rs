use cuda_std::prelude::*;

type Input = Global<f32>;

#[kernel]
pub unsafe fn renamed(input: Input, output: GlobalMut<f32>) {
    output.set(0, input.get(0));
}

fn main() {}
