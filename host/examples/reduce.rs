//! Statistics of a year's temperatures: mean, extremes, and when they were.
//!
//! ```console
//! $ cargo run --release -p warpwright --example reduce
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // Tenths of a degree for each hour: the coldest day is the first, and the warmest hour of a day is at 12 o'clock.
    let hours: Vec<i32> = (0..8760)
        .map(|hour| {
            let (day, hour) = (hour / 24, hour % 24);
            300 - 2 * (day - 182_i32).abs() - 5 * (hour - 12_i32).abs()
        })
        .collect();
    let year = device.upload(&hours)?;
    if let (Some(mean), Some(warmest)) = (device.mean(&year)?, device.argmax(&year)?) {
        println!(
            "the mean of {} hours is {:.2} degrees",
            year.len(),
            mean / 10.0
        );
        println!("hour {warmest} is the warmest");
    }
    // A part of an array is used where it is.
    let june = year.slice(151 * 24..181 * 24)?;
    if let (Some(least), Some(greatest)) = (device.min(june)?, device.max(june)?) {
        let degrees = |tenths: i32| f64::from(tenths) / 10.0;
        println!(
            "June: from {:.1} to {:.1} degrees",
            degrees(least),
            degrees(greatest)
        );
    }
    Ok(())
}
