//! A user's own kernel that draws through the traits of `rand_core`.

use cuda_std::{prelude::*, random::*};
use rand::{RngCore, SeedableRng};
use warpwright::{Device, LaunchConfig, Module};

/// How many of `tries` random points of the unit square lie within the quarter of a circle: a function of any
/// generator.
fn hits(random: &mut impl RngCore, tries: u32) -> u32 {
    let mut hits = 0;
    for _ in 0..tries {
        let (x, y) = (
            uniform_f32(random.next_u32()),
            uniform_f32(random.next_u32()),
        );
        hits += u32::from(x * x + y * y <= 1.0);
    }
    hits
}

/// `output[i]` is the number of hits of a generator's sequence `i`.
///
/// # Safety
/// The grid has a thread per element of `output`.
#[kernel(launch_bounds(128), instances(philox: (Philox4x32), xorwow: (Xorwow)))]
pub unsafe fn count_hits<G: Sequences>(output: GlobalMut<u32>, seed: u64, tries: u32) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        let mut random = G::sequence(seed, i as u64);
        output.set(i, hits(&mut random, tries));
    }
}

/// A generator with sequences.
pub trait Sequences: RngCore + SeedableRng + 'static {
    /// Sequence `number` of this seed.
    fn sequence(seed: u64, number: u64) -> Self;
}

impl Sequences for Philox4x32 {
    fn sequence(seed: u64, number: u64) -> Self {
        Self::new(seed, number, 0)
    }
}

impl Sequences for Xorwow {
    fn sequence(seed: u64, number: u64) -> Self {
        Self::new(seed, number, 0)
    }
}

/// What the CPU executor needs of a module is the kernels' names.
const PTX: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry count_hits__philox(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d) { ret; }

.visible .entry count_hits__xorwow(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d) { ret; }
";

#[test]
fn a_kernel_draws_from_a_sequence_per_lane() {
    const LANES: usize = 500;
    const TRIES: u32 = 400;
    let (device, module) = (Device::cpu(), Module::from_ptx(PTX).unwrap());
    let config = LaunchConfig::linear(LANES.div_ceil(128) as u32, 128);
    fn expected<G: Sequences>(lane: usize) -> u32 {
        hits(&mut G::sequence(7, lane as u64), TRIES)
    }
    let mut output = device.zeros::<u32>(LANES).unwrap();
    type Expected = fn(usize) -> u32;
    for (philox, expected) in [
        (true, expected::<Philox4x32> as Expected),
        (false, expected::<Xorwow>),
    ] {
        let args = (&mut output, 7, TRIES);
        // SAFETY: the grid has a thread per element.
        let launched = unsafe {
            if philox {
                device.launch::<CountHits<Philox4x32>>(&module, config, args)
            } else {
                device.launch::<CountHits<Xorwow>>(&module, config, args)
            }
        };
        launched.unwrap();
        let counts = output.to_vec().unwrap();
        for (lane, count) in counts.iter().enumerate() {
            assert_eq!(*count, expected(lane));
        }
        let total: u32 = counts.iter().sum();
        let pi = 4.0 * f64::from(total) / (LANES as f64 * f64::from(TRIES));
        // Five standard deviations of the estimate.
        let bound = 5.0 * 1.642 / (LANES as f64 * f64::from(TRIES)).sqrt();
        assert!((pi - std::f64::consts::PI).abs() <= bound, "{pi}");
    }
}
