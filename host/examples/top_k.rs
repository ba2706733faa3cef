//! The three greatest of many values with their positions, the least, and the median.
//!
//! ```console
//! $ cargo run --release -p warpwright --example top_k
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let values: Vec<u32> = (0..100_000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 8)
        .collect();
    let values = device.upload(&values)?;
    let (greatest, positions) = device.top_k(&values, 3)?;
    for (value, position) in greatest.to_vec()?.iter().zip(positions.to_vec()?) {
        println!("{value} at {position}");
    }
    let (least, _) = device.top_k_request(&values, 2).smallest().run()?;
    println!("the two least: {:?}", least.to_vec()?);
    println!("median: {}", device.median(&values)?);
    Ok(())
}
