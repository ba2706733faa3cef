use cuda_std::prelude::*;

#[kernel]
pub unsafe fn returns_a_value(input: Global<u32>) -> u32 {
    input.get(0)
}

fn main() {}
