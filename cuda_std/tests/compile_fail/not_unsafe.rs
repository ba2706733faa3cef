use cuda_std::prelude::*;

#[kernel]
pub fn not_unsafe(output: GlobalMut<u32>) {
    output.set(0, 1);
}

fn main() {}
