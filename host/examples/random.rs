//! An integral by random numbers: the mean of `e^x` between 0 and 1 is `e - 1`.
//!
//! ```console
//! $ cargo run --release -p warpwright --example random
//! ```

use warpwright::{Device, Generator, Result, ops::map::Exp};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let mut generator = device.generator(Generator::Philox, 42)?;
    let x = generator.uniform::<f32>(1 << 20)?;
    let mean = device.mean(&device.map(&x, Exp)?)?.unwrap_or_default();
    println!("mean: {mean:.3}");
    println!("e - 1: {:.3}", 1.0_f64.exp_m1());
    // The generator goes on where it was. Another with the same seed gives the same words.
    assert_eq!(generator.position(), Some(1 << 20));
    Ok(())
}
