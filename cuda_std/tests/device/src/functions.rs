//! `misc`, `cfg`, `convert`, `float`.

use cuda_std::{GpuFloat, cfg::ComputeCapability, convert, float::approx, misc, prelude::*};

#[kernel]
pub unsafe fn miscellany(results: GlobalMut<u64>, n: u32) {
    let i = thread::index_1d_wide();
    let begin = misc::clock();
    results.set(i, misc::global_timer());
    misc::breakpoint();
    misc::profiler_counter(n);
    if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80 {
        results.set(i + 1, 80);
    }
    results.set(i + 2, misc::clock() - begin);
    if n == 7 {
        misc::trap();
    }
}

#[kernel]
pub unsafe fn conversions(halves: Global<u16>, results: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    results.set(i, convert::f16_to_f32(halves.get(i)));
}

#[kernel]
pub unsafe fn approximations(values: GlobalMut<f32>, function: u32) {
    let i = thread::index_1d_wide();
    let x = values.get(i);
    let value = match function {
        0 => approx::exp2(x),
        1 => approx::log2(x),
        2 => approx::sin(x),
        3 => approx::cos(x),
        4 => approx::tanh(x),
        5 => approx::sqrt(x),
        6 => approx::rsqrt(x),
        7 => approx::recip(x),
        8 => approx::div(x, values.get(0)),
        9 => approx::exp(x),
        _ => approx::ln(x),
    };
    values.set(i, value);
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
}
