//! The mean and the maximum of each column of a table: a week's demand by the hour of the day.
//!
//! ```console
//! $ cargo run --release -p warpwright --example columns
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let (days, hours) = (7, 24);
    let demand: Vec<u32> = (0..days * hours)
        .map(|i| {
            let (day, hour) = (i / hours, i % hours);
            let kilowatts = 20 + 3 * hour.min(24 - hour) + if day < 5 { 5 } else { 0 };
            kilowatts as u32
        })
        .collect();
    let week = device.upload_matrix(&demand, days, hours)?;
    let means = device.column_means(&week)?.to_vec()?;
    let highest = device.reduce_columns(&week).max()?.to_vec()?;
    for hour in [0, 6, 12, 18] {
        println!(
            "{hour:2} o'clock: mean {:.1}, at most {}",
            means[hour], highest[hour]
        );
    }
    Ok(())
}
