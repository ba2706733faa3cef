//! The transpose of a part of a small picture: its first three rows become columns.
//!
//! ```console
//! $ cargo run --release -p warpwright --example transpose
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let letter = "#####\n#....\n####.\n#....\n#....";
    let pixels: Vec<u8> = letter.bytes().filter(|byte| *byte != b'\n').collect();
    let picture = device.upload_matrix(&pixels, 5, 5)?;
    let transposed = device.transpose(picture.rows(..3)?)?;
    let pixels = transposed.to_vec()?;
    println!("{} x {} pixels:", transposed.height(), transposed.width());
    for row in pixels.chunks(transposed.width()) {
        println!("{}", String::from_utf8_lossy(row));
    }
    Ok(())
}
