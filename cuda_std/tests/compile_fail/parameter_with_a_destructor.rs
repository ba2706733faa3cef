use std::sync::Arc;

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn every_lane_would_drop_it(value: Arc<f32>, output: GlobalMut<f32>) {
    output.set(0, *value);
}

fn main() {}
