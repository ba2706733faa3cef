use cuda_std::prelude::*;
use warpwright::{Device, LaunchConfig, Module, Result, Vector};

#[kernel]
pub unsafe fn scale(input: Global<f32>, output: GlobalMut<f32>, factor: f32) {
    output.set(0, factor * input.get(0));
}

pub fn launch(
    device: &Device,
    module: &Module,
    x: &Vector<f32>,
    y: &mut Vector<f32>,
) -> Result<()> {
    let config = LaunchConfig::linear(1, 1);
    unsafe { device.launch::<Scale>(module, config, (x, y, 2_i32)) }
}

fn main() {}
