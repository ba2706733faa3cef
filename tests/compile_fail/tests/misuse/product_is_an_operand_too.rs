use warpwright::{Device, Matrix, Result};

pub fn square(device: &Device, a: &mut Matrix<f32>) -> Result<()> {
    device.gemm(&*a, &*a).output_to(a).run()?;
    Ok(())
}

fn main() {}
