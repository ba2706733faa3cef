//! The sum and the maximum of each row of a table: what each of three players scored in five rounds.
//!
//! ```console
//! $ cargo run --release -p warpwright --example rows
//! ```

use warpwright::{Device, Result};

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let scores = [12_u16, 9, 14, 7, 10, 8, 15, 11, 13, 6, 9, 10, 8, 12, 16];
    let table = device.upload_matrix(&scores, 3, 5)?;
    let totals = device.row_sums(&table)?.to_vec()?;
    let best = device.reduce_rows(&table).max()?.to_vec()?;
    for (player, (total, best)) in totals.iter().zip(&best).enumerate() {
        println!("player {player}: {total} in all, {best} in the best round");
    }
    Ok(())
}
