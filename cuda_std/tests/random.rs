//! The generators: published words, and skipping against stepping.

use cuda_std::random::{Philox4x32, Xorwow, uniform_f32, uniform_f64};
use rand_core::{RngCore, SeedableRng};

/// `philox4x32 10` of Random123's `kat_vectors`: counter, key, block.
const KNOWN_ANSWERS: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    (
        [0; 4],
        [0; 2],
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
    ),
    (
        [u32::MAX; 4],
        [u32::MAX; 2],
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
    ),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[test]
fn philox_gives_the_published_blocks() {
    for (counter, key, block) in KNOWN_ANSWERS {
        assert_eq!(Philox4x32::block(counter, key), block);
    }
}

#[test]
fn philox_counts_words_from_the_offset_and_sequences_above() {
    let (seed, sequence) = (0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e);
    let [_, (_, _, block)] = [KNOWN_ANSWERS[1], KNOWN_ANSWERS[2]];
    // The counter's low half is a quarter of the offset, of which only 62 bits can be given.
    let mut generator = Philox4x32::new(seed, sequence, 0);
    for _ in 0..4 {
        generator.skip(0x85a3_08d3_243f_6a88);
    }
    for word in block {
        assert_eq!(generator.next_word(), word);
    }
}

/// The printed result of the example of cuRAND's host interface (NVIDIA, cuRAND Library Programming Guide,
/// section "Host API Example": `CURAND_RNG_PSEUDO_DEFAULT`, which is XORWOW, seed 1234, uniform): by its section on
/// ordering, number `n` is number `n / 4096` of the sequence that starts at `(n mod 4096) * 2^67`.
const PRINTED: [f32; 10] = [
    0.1455, 0.8202, 0.5504, 0.2948, 0.9147, 0.8690, 0.3219, 0.7829, 0.0113, 0.2855,
];

#[test]
fn xorwow_gives_the_published_numbers() {
    for (sequence, printed) in (0..).zip(PRINTED) {
        let number = uniform_f32(Xorwow::new(1234, sequence, 0).next_word());
        assert!((number - printed).abs() <= 0.000_05, "{sequence}: {number}");
    }
}

/// A generator with all that these tests ask of it.
trait Generator: RngCore + SeedableRng + Clone + PartialEq + std::fmt::Debug {
    fn new(seed: u64, sequence: u64, offset: u64) -> Self;
    fn skip(&mut self, words: u64);
    fn skip_sequence(&mut self, sequences: u64);
}

macro_rules! generators {
    ($($generator:ident),*) => { $(
        impl Generator for $generator {
            fn new(seed: u64, sequence: u64, offset: u64) -> Self {
                $generator::new(seed, sequence, offset)
            }
            fn skip(&mut self, words: u64) {
                $generator::skip(self, words);
            }
            fn skip_sequence(&mut self, sequences: u64) {
                $generator::skip_sequence(self, sequences);
            }
        }
    )* };
}
generators!(Philox4x32, Xorwow);

fn skipping_is_stepping<G: Generator>() {
    let start = G::new(77, 3, 0);
    let mut stepped = start.clone();
    let mut steps = 0_u64;
    for wanted in [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000, 100_003] {
        while steps < wanted {
            stepped.next_u32();
            steps += 1;
        }
        let mut skipped = start.clone();
        skipped.skip(wanted);
        let mut made = G::new(77, 3, wanted);
        let mut other = stepped.clone();
        for _ in 0..9 {
            let word = other.next_u32();
            assert_eq!(
                (skipped.next_u32(), made.next_u32()),
                (word, word),
                "{wanted}"
            );
        }
    }
}

fn sequences_skip_as_their_distance_says<G: Generator>(log2_of_distance: u32) {
    let mut far = G::new(5, 0, 3);
    for _ in 0..1_u64 << (log2_of_distance - 63) {
        far.skip(1 << 63);
    }
    let mut next = G::new(5, 0, 3);
    next.skip_sequence(1);
    let mut made = G::new(5, 1, 3);
    for _ in 0..9 {
        let word = far.next_u32();
        assert_eq!((next.next_u32(), made.next_u32()), (word, word));
    }
    let mut parts = G::new(5, 9, 0);
    parts.skip_sequence(u64::MAX - 1000);
    parts.skip_sequence(900);
    assert_eq!(parts, G::new(5, u64::MAX - 91, 0));
}

#[test]
fn philox_skips_as_it_steps() {
    skipping_is_stepping::<Philox4x32>();
    sequences_skip_as_their_distance_says::<Philox4x32>(66);
}

#[test]
fn xorwow_skips_as_it_steps() {
    skipping_is_stepping::<Xorwow>();
    sequences_skip_as_their_distance_says::<Xorwow>(67);
}

#[test]
fn the_state_of_xorwow_is_all_there_is() {
    let mut generator = Xorwow::new(9, 8, 7);
    let mut again = Xorwow::from_state(generator.state());
    assert_eq!(generator.next_word(), again.next_word());
}

fn traits_take_words_in_order<G: Generator>() {
    let mut words = G::new(42, 0, 0);
    let mut generator = G::seed_from_u64(42);
    assert_eq!(generator.next_u32(), words.next_u32());
    let (low, high) = (words.next_u32(), words.next_u32());
    assert_eq!(generator.next_u64(), u64::from(low) | u64::from(high) << 32);
    let mut bytes = [0; 6];
    generator.fill_bytes(&mut bytes);
    let (first, second) = (words.next_u32(), words.next_u32());
    assert_eq!(bytes[..4], first.to_le_bytes());
    assert_eq!(bytes[4..], second.to_le_bytes()[..2]);
    assert_eq!(generator.next_u32(), words.next_u32());
}

#[test]
fn the_traits_take_words_in_order() {
    traits_take_words_in_order::<Philox4x32>();
    traits_take_words_in_order::<Xorwow>();
    assert_eq!(
        Philox4x32::from_seed(42_u64.to_le_bytes()),
        Philox4x32::new(42, 0, 0)
    );
}

#[test]
fn uniform_numbers_have_their_ends() {
    assert_eq!(uniform_f32(0), 2.0_f32.powi(-33));
    assert_eq!(uniform_f32(u32::MAX), 1.0);
    assert_eq!(uniform_f32(1 << 31), 0.5);
    assert_eq!(uniform_f64(0, 0), 2.0_f64.powi(-54));
    assert_eq!(uniform_f64(0x001f_ffff, u32::MAX), 1.0);
    assert_eq!(uniform_f64(0, 1 << 31), 0.5);
}
