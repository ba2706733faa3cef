//! Running sums and maxima: an account's balance, and where the orders of each customer begin.
//!
//! ```console
//! $ cargo run --release -p warpwright --example scan
//! ```

use warpwright::{Device, Result, ops::scan::Operator};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let movements = device.upload(&[500_i64, -120, -80, 300, -450, 60])?;
    let balance = device.cumulative_sum(&movements)?;
    let highest = device.inclusive_scan(&balance, Operator::Max)?;
    println!("balance: {:?}", balance.to_vec()?);
    println!("highest so far: {:?}", highest.to_vec()?);
    // Customer i has counts[i] orders, from number offsets[i] on.
    let counts = device.upload(&[3_u32, 0, 2, 4])?;
    let offsets = device.exclusive_scan(&counts, Operator::Sum)?;
    println!("offsets: {:?}", offsets.to_vec()?);
    Ok(())
}
