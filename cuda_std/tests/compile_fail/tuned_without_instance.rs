use cuda_std::prelude::*;

#[kernel(instances(f32: (f32)), tuned(f64: 0..2))]
pub unsafe fn moved<T: Copy + 'static, const ROW: usize>(input: Global<T>, output: GlobalMut<T>) {
    output.set(0, input.get(0));
}

fn main() {}
