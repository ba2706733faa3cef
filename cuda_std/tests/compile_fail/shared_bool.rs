use cuda_std::prelude::*;

#[kernel]
pub unsafe fn flags(output: GlobalMut<u32>) {
    let flags = shared![bool; 32];
    output.set(0, u32::from(flags.get(0)));
}

fn main() {}
