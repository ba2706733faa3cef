//! Sums of segments of an array: by offsets, and by runs of equal keys.
//!
//! ```console
//! $ cargo run --release -p warpwright --example segments
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // The amounts of all orders, customer by customer. The second customer has none.
    let amounts = device.upload(&[20_u32, 35, 10, 5, 5, 40])?;
    let customers = device.segments(device.upload(&[0_u32, 3, 3, 6])?)?;
    let totals = device.segment_sums(&amounts, &customers)?;
    println!("by customer: {:?}", totals.to_vec()?);
    // The day of each order.
    let days = device.upload(&[1_u8, 1, 2, 2, 2, 5])?;
    let (days, totals) = device.reduce_by_key(&days, &amounts).sum()?;
    println!("days {:?}: {:?}", days.to_vec()?, totals.to_vec()?);
    Ok(())
}
