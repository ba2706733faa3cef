//! A table of results by points: pairs of keys and values, and the order as positions.
//!
//! ```console
//! $ cargo run --release -p warpwright --example sort
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let points = device.upload(&[61_u32, 75, 61, 90, 42])?;
    let teams = device.upload(&[0_u32, 1, 2, 3, 4])?;
    // Equal keys keep their order: team 0 comes before team 2.
    let request = device.sort_pairs_request(&points, &teams);
    let (sorted, order) = request.descending().run()?;
    for (points, team) in sorted.to_vec()?.iter().zip(order.to_vec()?) {
        println!("team {team}: {points} points");
    }
    println!(
        "ascending positions: {:?}",
        device.argsort(&points)?.to_vec()?
    );
    Ok(())
}
