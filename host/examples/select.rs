//! Elements by a comparison, the two parts that a comparison makes, and elements that differ from the one before.
//!
//! ```console
//! $ cargo run --release -p warpwright --example select
//! ```

use warpwright::{Device, Result, ops::select::Compare};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let readings = device.upload(&[20.5_f32, 21.0, 85.0, 20.0, -40.0, 20.5])?;
    let outliers = device.select(&readings, Compare::greater(50.0))?;
    println!("above 50: {:?}", outliers.to_vec()?);
    let (parted, count) = device.partition(&readings, Compare::at_least(0.0))?;
    println!("{count} are not negative: {:?}", parted.to_vec()?);
    let states = device.upload(&[1_u8, 1, 2, 2, 2, 1, 3, 3])?;
    println!("changes: {:?}", device.unique(&states)?.to_vec()?);
    Ok(())
}
