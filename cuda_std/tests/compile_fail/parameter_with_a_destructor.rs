use cuda_std::prelude::*;

#[kernel]
pub unsafe fn every_lane_would_drop_it(values: Vec<f32>, output: GlobalMut<f32>) {
    output.set(0, values[0]);
}

fn main() {}
