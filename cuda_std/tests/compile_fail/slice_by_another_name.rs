use cuda_std::prelude::*;

type Input<'a> = &'a [f32];

#[kernel]
pub unsafe fn renamed(input: Input<'_>, output: GlobalMut<f32>) {
    output.set(0, input[0]);
}

fn main() {}
