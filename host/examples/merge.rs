//! Two logs in the order of their times become one, and a search in it by time.
//!
//! ```console
//! $ cargo run --release -p warpwright --example merge
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let (times, events) = (
        device.upload(&[3_u64, 8, 20])?,
        device.upload(&[100_u32, 101, 102])?,
    );
    let (others, more) = (
        device.upload(&[1_u64, 8, 15, 30])?,
        device.upload(&[200_u32, 201, 202, 203])?,
    );
    let (times, events) = device.merge_pairs((&times, &events), (&others, &more))?;
    println!("times: {:?}", times.to_vec()?);
    println!("events: {:?}", events.to_vec()?);
    // The events from time 8 on, and before time 20.
    let places = device
        .lower_bound(&times, &device.upload(&[8_u64, 20])?)?
        .to_vec()?;
    println!("{} events from 8 to 19", places[1] - places[0]);
    Ok(())
}
