//! The covariances of three measurements, as a product of a matrix with its own transpose.
//!
//! ```console
//! $ cargo run --release -p warpwright --example gemm
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // A row for each of 1000 samples. Each column has the mean 0.
    let (samples, columns) = (1000_usize, 3_usize);
    let measured: Vec<f64> = (0..samples)
        .flat_map(|i| {
            let x = i as f64 - 499.5;
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            [x / 100.0, -x / 200.0, sign]
        })
        .collect();
    let x = device.upload_matrix(&measured, samples, columns)?;
    // C = 1 / n * X^T * X
    let product = device.gemm(&x, &x).transpose_a();
    let covariances = product.alpha(1.0 / samples as f64).run()?;
    for row in covariances.to_vec()?.chunks(columns) {
        println!("{:7.4} {:7.4} {:7.4}", row[0], row[1], row[2]);
    }
    Ok(())
}
