use cuda_std::prelude::*;

trait Area {
    fn area(&self) -> f32;
}

#[kernel]
pub unsafe fn area(shape: &dyn Area, output: GlobalMut<f32>) {
    output.set(0, shape.area());
}

fn main() {}
