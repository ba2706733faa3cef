//! Philox4x32-10: a counter-based generator of ten rounds of multiplications.
//!
//! Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

use crate::imp;

/// The factors of the counter's words 0 and 2.
const FACTORS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The increments of the key's words from round to round.
const BUMPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The generator Philox4x32-10, which gives the same words as cuRAND's `curandStatePhilox4_32_10_t`.
///
/// Word `o` of sequence `s` under `seed` is word `o % 4` of the block whose counter has `o / 4` in its low and `s` in its
/// high 64 bits, under the key `seed`. Any word can thus be computed by itself, and the only state is the position. A block
/// costs 20 multiplications for four words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Philox4x32 {
    counter: [u32; 4],
    key: [u32; 2],
    /// The block of `counter`, valid unless `position` is 0.
    block: [u32; 4],
    /// The index of the next word of the block.
    position: u32,
}

impl Philox4x32 {
    /// The number of rounds.
    pub const ROUNDS: usize = 10;

    /// Creates the generator at word `offset` of sequence `sequence`, like `curand_init(seed, sequence, offset)`.
    #[inline]
    pub fn new(seed: u64, sequence: u64, offset: u64) -> Self {
        let mut generator = Self {
            counter: [0, 0, sequence as u32, (sequence >> 32) as u32],
            key: Self::key(seed),
            block: [0; 4],
            position: 0,
        };
        generator.skip(offset);
        generator
    }

    /// Returns the key of a seed: its low and its high half.
    #[inline(always)]
    pub const fn key(seed: u64) -> [u32; 2] {
        [seed as u32, (seed >> 32) as u32]
    }

    /// Returns the keys of all rounds.
    #[inline(always)]
    const fn round_keys(key: [u32; 2]) -> [[u32; 2]; Self::ROUNDS] {
        let mut keys = [key; Self::ROUNDS];
        let mut round = 1;
        while round < Self::ROUNDS {
            let [k, l] = keys[round - 1];
            keys[round] = [k.wrapping_add(BUMPS[0]), l.wrapping_add(BUMPS[1])];
            round += 1;
        }
        keys
    }

    /// Precomputes the part that blocks share if their counters differ only in the lowest word, for
    /// [`block_of`](Self::block_of): the round keys, where those of the first three rounds include the contribution of the
    /// counter's `upper` words. As a kernel parameter it takes no registers.
    pub const fn run_keys(key: [u32; 2], upper: [u32; 3]) -> [[u32; 2]; Self::ROUNDS] {
        let mut keys = Self::round_keys(key);
        let [b, c, d] = upper;
        // One product of each of the first two rounds. The other product depends on the lowest word.
        let second = c as u64 * FACTORS[1] as u64;
        let a = (second >> 32) as u32 ^ b ^ keys[0][0];
        let first = a as u64 * FACTORS[0] as u64;
        keys[0] = [0, d ^ keys[0][1]];
        keys[1] = [
            second as u32 ^ keys[1][0],
            (first >> 32) as u32 ^ keys[1][1],
        ];
        keys[2][1] ^= first as u32;
        keys
    }

    /// Returns the block whose counter has the word `lowest`, with the upper words and the key of `keys`, which come from
    /// [`run_keys`](Self::run_keys). It costs 18 multiplications.
    #[inline(always)]
    pub fn block_of(lowest: u32, keys: [[u32; 2]; Self::ROUNDS]) -> [u32; 4] {
        let (high, d) = imp::misc::wide_product(lowest, FACTORS[0]);
        let (second_high, b) = imp::misc::wide_product(high ^ keys[0][1], FACTORS[1]);
        Self::rounds([second_high ^ keys[1][0], b, keys[1][1] ^ d, 0], keys, 2)
    }

    /// Returns the four words of a block: the function that defines the generator.
    #[inline(always)]
    pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
        Self::rounds(counter, Self::round_keys(key), 0)
    }

    /// Applies the rounds from number `from` on.
    #[inline(always)]
    fn rounds(words: [u32; 4], keys: [[u32; 2]; Self::ROUNDS], from: usize) -> [u32; 4] {
        let [mut a, mut b, mut c, mut d] = words;
        for round in from..Self::ROUNDS {
            let [k, l] = keys[round];
            let (first_high, first_low) = imp::misc::wide_product(a, FACTORS[0]);
            let (second_high, second_low) = imp::misc::wide_product(c, FACTORS[1]);
            (a, b) = (second_high ^ b ^ k, second_low);
            (c, d) = (first_high ^ d ^ l, first_low);
        }
        [a, b, c, d]
    }

    /// Returns the next word.
    #[inline(always)]
    pub fn next_word(&mut self) -> u32 {
        if self.position == 0 {
            self.block = Self::block(self.counter, self.key);
        }
        // Indexing at run time would put the block into local memory.
        let [a, b, c, d] = self.block;
        let word = match self.position {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        self.position += 1;
        if self.position == 4 {
            self.position = 0;
            self.advance(1);
        }
        word
    }

    /// Skips the next `words` words.
    #[inline]
    pub fn skip(&mut self, words: u64) {
        let position = self.position + (words % 4) as u32;
        self.position = position % 4;
        self.advance(words / 4 + u64::from(position / 4));
        if self.position != 0 {
            self.block = Self::block(self.counter, self.key);
        }
    }

    /// Moves to the same position of the sequence whose number is larger by `sequences`.
    #[inline]
    pub fn skip_sequence(&mut self, sequences: u64) {
        let [_, _, c, d] = self.counter;
        let high = (u64::from(c) | u64::from(d) << 32).wrapping_add(sequences);
        self.counter[2] = high as u32;
        self.counter[3] = (high >> 32) as u32;
        if self.position != 0 {
            self.block = Self::block(self.counter, self.key);
        }
    }

    /// Adds `blocks` to the 128-bit counter.
    #[inline(always)]
    fn advance(&mut self, blocks: u64) {
        let [a, b, c, d] = self.counter;
        let (low, carry) = (u64::from(a) | u64::from(b) << 32).overflowing_add(blocks);
        let high = (u64::from(c) | u64::from(d) << 32).wrapping_add(u64::from(carry));
        self.counter = [
            low as u32,
            (low >> 32) as u32,
            high as u32,
            (high >> 32) as u32,
        ];
    }
}
