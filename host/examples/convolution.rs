//! A signal with a spike, smoothed by a binomial mask.
//!
//! ```console
//! $ cargo run --release -p warpwright --example convolution
//! ```

use warpwright::{Boundary, Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let mut signal = vec![8.0_f32; 12];
    signal[4] = 24.0;
    let signal = device.upload(&signal)?;
    let mask = [0.25, 0.5, 0.25];
    let smooth = device.convolve_request(&signal, &mask);
    // Outside of the signal are its first and last values, and not zeros.
    let smooth = smooth.boundary(Boundary::Clamp).run()?;
    println!("smoothed: {:?}", smooth.to_vec()?);
    Ok(())
}
