//! `misc`, `cfg`, `convert`, `float`.

use cuda_std::{GpuFloat, cfg::ComputeCapability, convert, float::approx, misc, prelude::*};

/// Five results for a lane: two readings of its multiprocessor's clock and two of the device's timer, in
/// the order clock, timer, timer, clock, with work between; and the capability that this is compiled for,
/// times ten, as far as kernels tell.
#[kernel]
pub unsafe fn miscellany(results: GlobalMut<u64>, counter: u32, rounds: u32) {
    let i = thread::index_1d_wide();
    let begin = misc::clock();
    let timer = misc::global_timer();
    misc::profiler_counter(counter);
    // Each round waits for the one before it: a store, and a load of what it has stored.
    results.set(5 * i, 1);
    for _ in 0..rounds {
        results.set(
            5 * i,
            results.get(5 * i).wrapping_mul(6_364_136_223_846_793_005) | 1,
        );
        thread::block_fence();
    }
    results.set(5 * i + 1, timer);
    results.set(5 * i + 2, misc::global_timer());
    results.set(5 * i + 3, misc::clock());
    results.set(5 * i, begin);
    let capability = ComputeCapability::from_cuda_arch_env();
    results.set(
        5 * i + 4,
        if capability >= ComputeCapability::Compute90 {
            900
        } else if capability >= ComputeCapability::Compute80 {
            800
        } else {
            750
        },
    );
}

/// Traps in the lane that `lane` names. Nobody launches it with `debug`: without a debugger a breakpoint
/// may be an error.
#[kernel]
pub unsafe fn traps(results: GlobalMut<u32>, lane: u32, debug: u32) {
    let i = thread::index_1d();
    if debug == 1 {
        misc::breakpoint();
    }
    if i == lane {
        misc::trap();
    }
    results.set(i as usize, 1);
}

#[kernel]
pub unsafe fn conversions(halves: Global<u16>, results: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    results.set(i, convert::f16_to_f32(halves.get(i)));
}

/// A lane takes three words: low, high and selector.
#[kernel]
pub unsafe fn permutations(words: Global<u32>, results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let word = |k: usize| words.get(3 * i + k);
    results.set(i, misc::byte_permute(word(0), word(1), word(2)));
}

/// The number of results that [`approximations`] has for a lane.
pub const APPROXIMATIONS: usize = 11;

#[kernel]
pub unsafe fn approximations(values: Global<f32>, results: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    let x = values.get(i);
    let put = |at: usize, value: f32| results.set(APPROXIMATIONS * i + at, value);
    put(0, approx::exp2(x));
    put(1, approx::log2(x));
    put(2, approx::sin(x));
    put(3, approx::cos(x));
    put(4, approx::tanh(x));
    put(5, approx::sqrt(x));
    put(6, approx::rsqrt(x));
    put(7, approx::recip(x));
    put(8, approx::div(values.get(0), x));
    put(9, approx::exp(x));
    put(10, approx::ln(x));
}

#[kernel(instances(f32, f64))]
pub unsafe fn exact_functions<T: GpuFloat>(values: Global<T>, results: GlobalMut<T>) {
    let (x, y) = (values.get(0), values.get(1));
    results.set(0, x.floor());
    results.set(1, x.ceil());
    results.set(2, x.round());
    results.set(3, x.trunc());
    results.set(4, x.fract());
    results.set(5, x.abs());
    results.set(6, x.signum());
    results.set(7, x.copysign(y));
    results.set(8, x.mul_add(y, y));
    results.set(9, x.sqrt());
    results.set(10, x.rem_euclid(y));
    results.set(11, x.div_euclid(y));
    results.set(12, x.powi(11));
}

#[kernel(instances(f32, f64))]
pub unsafe fn slow_functions<T: GpuFloat>(values: Global<T>, results: GlobalMut<T>) {
    let (x, y) = (values.get(0), values.get(1));
    results.set(0, x.powf(y));
    results.set(1, x.exp());
    results.set(2, x.exp2());
    results.set(3, x.ln());
    results.set(4, x.log(y));
    results.set(5, x.log2());
    results.set(6, x.log10());
    results.set(7, x.cbrt());
    results.set(8, x.hypot(y));
    results.set(9, x.sin());
    results.set(10, x.cos());
    results.set(11, x.tan());
    results.set(12, x.asin());
    results.set(13, x.acos());
    results.set(14, x.atan());
    results.set(15, x.atan2(y));
    results.set(16, x.sin_cos().0);
    results.set(17, x.exp_m1());
    results.set(18, x.ln_1p());
    results.set(19, x.sinh());
    results.set(20, x.cosh());
    results.set(21, x.tanh());
    results.set(22, x.asinh());
    results.set(23, x.acosh());
    results.set(24, x.atanh());
    results.set(25, x.sin_cos().1);
}

/// A lane takes three words: two of four bytes each, and a sum. Its results: the unsigned and the signed sum.
#[kernel]
pub unsafe fn byte_products(words: Global<u32>, results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let word = |k: usize| words.get(3 * i + k);
    results.set(2 * i, misc::dp4a_u32(word(0), word(1), word(2)));
    let signed = misc::dp4a_i32(word(0) as i32, word(1) as i32, word(2) as i32);
    results.set(2 * i + 1, signed as u32);
}
