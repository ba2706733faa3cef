//! Gamma correction: a function of each element, and one of pairs of elements.
//!
//! ```console
//! $ cargo run --release -p warpwright --example map
//! ```

use warpwright::{
    Device, Result,
    ops::map::{Pow, ScaleAdd},
};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // Linear brightness, from black to white.
    let linear: Vec<f32> = (0..5).map(|level| level as f32 / 4.0).collect();
    let linear = device.upload(&linear)?;
    let exponent = 1.0 / 2.2;
    let corrected = device.map(&linear, Pow { exponent })?;
    for (linear, corrected) in linear.to_vec()?.iter().zip(corrected.to_vec()?) {
        println!("{linear:.2} -> {corrected:.3}");
    }
    // What the correction added: corrected - linear.
    let added = device.map_pairs(&linear, &corrected, ScaleAdd { factor: -1.0 })?;
    println!(
        "at most {:.3} was added",
        device.max(&added)?.unwrap_or_default()
    );
    Ok(())
}
