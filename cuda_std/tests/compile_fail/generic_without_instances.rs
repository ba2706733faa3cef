use cuda_std::prelude::*;

#[kernel]
pub unsafe fn generic_without_instances<T: Copy>(input: Global<T>, output: GlobalMut<T>) {
    output.set(0, input.get(0));
}

fn main() {}
