//! XORWOW: a shift register and a counter.
//!
//! Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003), section 3; the start from a seed and
//! the distance of the sequences are cuRAND's.

use super::jump::{self, OFFSETS, SEQUENCES};

/// The counter's increment from word to word.
const STEP: u32 = 362_437;

/// The generator XORWOW, which gives the same words as cuRAND's `curandStateXORWOW`.
///
/// Sequence `s` starts `s * 2^67` words after sequence 0. A word costs eight operations. The generator has a state, which
/// [`state`](Self::state) and [`from_state`](Self::from_state) save to and restore from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xorwow {
    register: [u32; 5],
    counter: u32,
}

impl Xorwow {
    /// Creates the generator at word `offset` of sequence `sequence`, like `curand_init(seed, sequence, offset)`. It takes
    /// about 160 steps for each bit that is set in `sequence` and in `offset`.
    pub fn new(seed: u64, sequence: u64, offset: u64) -> Self {
        let low = (seed as u32 ^ 0xaad2_6b49).wrapping_mul(1_099_087_573);
        let high = ((seed >> 32) as u32 ^ 0xf7dc_efdd).wrapping_mul(2_591_861_531);
        let mut generator = Self {
            register: [
                123_456_789_u32.wrapping_add(low),
                362_436_069 ^ low,
                521_288_629_u32.wrapping_add(high),
                88_675_123 ^ high,
                5_783_321_u32.wrapping_add(low),
            ],
            counter: 6_615_241_u32.wrapping_add(high).wrapping_add(low),
        };
        generator.skip_sequence(sequence);
        generator.skip(offset);
        generator
    }

    /// Creates the generator from a state that [`state`](Self::state) returned.
    #[inline(always)]
    pub const fn from_state(state: [u32; 6]) -> Self {
        let [a, b, c, d, e, counter] = state;
        Self {
            register: [a, b, c, d, e],
            counter,
        }
    }

    /// Returns the state: the register's five words and the counter.
    #[inline(always)]
    pub const fn state(&self) -> [u32; 6] {
        let [a, b, c, d, e] = self.register;
        [a, b, c, d, e, self.counter]
    }

    /// Returns the next word.
    #[inline(always)]
    pub fn next_word(&mut self) -> u32 {
        self.register = jump::step(self.register);
        self.counter = self.counter.wrapping_add(STEP);
        self.register[4].wrapping_add(self.counter)
    }

    /// Skips the next `words` words.
    pub fn skip(&mut self, words: u64) {
        self.register = jump::jump(self.register, words, &OFFSETS);
        self.counter = self.counter.wrapping_add(STEP.wrapping_mul(words as u32));
    }

    /// Moves to the same position of the sequence whose number is larger by `sequences`.
    pub fn skip_sequence(&mut self, sequences: u64) {
        // The counter's period, 2^32, divides the distance.
        self.register = jump::jump(self.register, sequences, &SEQUENCES);
    }
}
