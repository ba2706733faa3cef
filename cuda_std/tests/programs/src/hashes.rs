//! The published crate `sha2`, as it is.

use cuda_std::prelude::*;
use sha2::{Digest, Sha256, Sha512};

/// The lane's message: as many bytes as its number.
fn message(lane: usize) -> impl Iterator<Item = u8> {
    (0..lane).map(move |i| (lane * 31 + i * 7) as u8)
}

/// The digests of the lane's message, of 32 and of 64 bytes; lane 3 has `abc`.
pub fn digests(lane: usize) -> ([u8; 32], [u8; 64]) {
    let (mut short, mut long) = (Sha256::new(), Sha512::new());
    if lane == 3 {
        short.update(b"abc");
        long.update(b"abc");
    } else {
        for byte in message(lane) {
            short.update([byte]);
            long.update([byte]);
        }
    }
    (short.finalize().into(), long.finalize().into())
}

/// [`digests`] of each lane, one after the other.
#[kernel]
pub unsafe fn hashes(output: GlobalMut<u8>) {
    let lane = thread::index_1d_wide();
    let (short, long) = digests(lane);
    for (i, byte) in short.into_iter().chain(long).enumerate() {
        output.set(96 * lane + i, byte);
    }
}
