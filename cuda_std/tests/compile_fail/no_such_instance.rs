use cuda_std::{kernel::Kernel, prelude::*};

#[kernel(instances(u32, f32))]
pub unsafe fn fill<T: Copy>(output: GlobalMut<T>, value: Global<T>) {
    output.set(thread::index_1d_wide(), value.get(0));
}

fn main() {
    println!("{}", Fill::<u64>::DESCRIPTOR.name);
}
