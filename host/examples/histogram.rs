//! A histogram of grey levels in eight bins of equal width, as bars.
//!
//! ```console
//! $ cargo run --release -p warpwright --example histogram
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // A disc that is brighter towards its center, before a dark background.
    let (height, width) = (64_i32, 64_i32);
    let pixels: Vec<f32> = (0..height * width)
        .map(|i| {
            let (y, x) = (i / width - 32, i % width - 32);
            (240 - (x * x + y * y) / 4).max(16) as f32
        })
        .collect();
    let picture = device.upload(&pixels)?;
    let histogram = device.histogram_range(&picture, 8, 0.0, 256.0)?;
    for (bin, count) in histogram.counts.iter().enumerate() {
        let bar = "#".repeat((*count as usize).div_ceil(32));
        println!("{:3} to {:3}: {count:4} {bar}", 32 * bin, 32 * bin + 31);
    }
    assert_eq!(
        (histogram.total(), histogram.outside),
        (pixels.len() as u64, 0)
    );
    Ok(())
}
