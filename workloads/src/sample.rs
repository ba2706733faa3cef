//! Test data: numbers from a counter, the same in every run and on every machine.

use rayon::prelude::*;

/// A hash of 64 bits; every bit of the input reaches every bit of the output. The rounds are those of
/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub fn hash(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `len` values, each made from its own hash. Another `stream` gives other values.
pub fn values<T: Send>(len: usize, stream: u64, from_hash: impl Fn(u64) -> T + Sync) -> Vec<T> {
    indexed(len, stream, |_, hash| from_hash(hash))
}

/// `len` values, each made from its position and its own hash.
pub fn indexed<T: Send>(len: usize, stream: u64, make: impl Fn(usize, u64) -> T + Sync) -> Vec<T> {
    let start = hash(stream);
    (0..len)
        .into_par_iter()
        .with_min_len(1 << 14)
        .map(|index| make(index, hash(start.wrapping_add(index as u64))))
        .collect()
}

/// The stream of a set's values, where a problem has several sets.
pub(crate) fn stream(stream: u64, set: usize) -> u64 {
    stream | (set as u64) << 32
}

/// Between -1 and 1, in steps that `f32` has.
pub fn unit(hash: u64) -> f64 {
    f64::from((hash as i32) >> 8) / f64::from(1 << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = values(100, 1, |hash| hash);
        assert_eq!(first, values(100, 1, |hash| hash));
        assert_ne!(first, values(100, 2, |hash| hash));
        assert_ne!(first, values(100, stream(1, 1), |hash| hash));
        assert!(values(0, 1, |hash| hash).is_empty());
    }
}
