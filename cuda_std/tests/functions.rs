//! Constant memory, clocks and floating-point functions on the CPU executor.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, assert_at, block, fault};
use cuda_std::{
    GpuFloat, constant,
    cpu::FaultKind,
    float::{accurate, approx},
    misc,
    prelude::*,
};

constant! {
    /// A table that is set.
    pub static SQUARES: [u32; 5];
    /// One that never is.
    static NEVER_SET: [f64; 3];
}

const TABLE_READS: u32 = line!() + 4;
#[kernel]
pub unsafe fn reads_table(results: GlobalMut<u32>) {
    let i = thread::thread_idx_x() as usize;
    let square = SQUARES.get(i);
    results.set(i, square);
}

#[kernel]
pub unsafe fn reads_unset(results: GlobalMut<f64>) {
    results.set(0, NEVER_SET.get(0));
}

#[test]
fn constant_tables_are_set_by_the_host() {
    assert_eq!(
        (SQUARES.name(), SQUARES.len(), SQUARES.bytes()),
        ("SQUARES", 5, 20)
    );
    assert!(!SQUARES.is_empty());
    for factor in [1, 3] {
        SQUARES.set_for_cpu(&[0, 1, 4, 9, 16].map(|square| square * factor));
        let mut results = [99u32; 5];
        Args::new()
            .view(&mut results)
            .launch::<ReadsTable>(block(5))
            .unwrap();
        assert_eq!(results, [0, factor, 4 * factor, 9 * factor, 16 * factor]);
    }
    let beyond = fault(
        Args::new()
            .view(&mut [0u32; 6])
            .launch::<ReadsTable>(block(6)),
    );
    let FaultKind::OutOfBounds {
        view: Some("SQUARES"),
        index: 5,
        len: 5,
        at,
        ..
    } = &beyond.kind
    else {
        panic!("{beyond}")
    };
    assert_at(at, file!(), TABLE_READS);

    SQUARES.with(&[7, 8]).set_for_cpu();
    let mut results = [99u32; 2];
    Args::new()
        .view(&mut results)
        .launch::<ReadsTable>(block(2))
        .unwrap();
    assert_eq!(results, [7, 8]);
    let beyond = fault(
        Args::new()
            .view(&mut [0u32; 3])
            .launch::<ReadsTable>(block(3)),
    );
    assert!(
        matches!(
            beyond.kind,
            FaultKind::OutOfBounds {
                index: 2,
                len: 2,
                ..
            }
        ),
        "{beyond}"
    );

    let unset = fault(
        Args::new()
            .view(&mut [0.0f64])
            .launch::<ReadsUnset>(block(1)),
    );
    assert!(
        unset
            .to_string()
            .contains("`NEVER_SET` must be set before the launch"),
        "{unset}"
    );
}

#[kernel]
pub unsafe fn clocks(results: GlobalMut<u64>) {
    let begin = misc::clock();
    misc::breakpoint();
    misc::profiler_counter(7);
    thread::nanosleep(100);
    let timer = misc::global_timer();
    results.set(
        0,
        u64::from(misc::clock() >= begin && misc::global_timer() >= timer),
    );
}

#[kernel]
pub unsafe fn no_such_counter() {
    misc::profiler_counter(8);
}

#[test]
fn clocks_run_forward() {
    let mut results = [9u64];
    Args::new()
        .view(&mut results)
        .launch::<Clocks>(block(1))
        .unwrap();
    assert_eq!(results, [1]);
    std::panic::set_hook(Box::new(|_| {}));
    let fault = fault(Args::new().launch::<NoSuchCounter>(block(1)));
    let _ = std::panic::take_hook();
    assert!(
        fault
            .to_string()
            .contains(": panic: a profiler counter must be 0 to 7; again with "),
        "{fault}"
    );
}

/// Error in units in the last place of `f32`, near `expected`.
fn ulps(value: f32, expected: f64) -> f64 {
    let rounded = expected as f32;
    if value.is_nan() && expected.is_nan() || value == rounded {
        return (f64::from(value) - expected).abs().min(f64::from(f32::MAX)) * 0.0
            + if value == rounded { 0.0 } else { 0.5 };
    }
    let exponent = rounded.abs().max(f32::MIN_POSITIVE).log2().floor() as i32;
    (f64::from(value) - expected).abs() / 2f64.powi(exponent - 23)
}

fn samples() -> Vec<f32> {
    let mut samples = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        f32::MIN_POSITIVE,
        1e-40,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let mut bits = 1u32;
    for _ in 0..20_000 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        samples.push(f32::from_bits(bits));
    }
    samples
}

#[test]
fn gpu_floats_agree_with_std() {
    type Pair = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);
    // Against std's f64, which is as good as exact here. The bounds are those of the documentation.
    let functions: [Pair; 21] = [
        ("exp", <f32 as GpuFloat>::exp, f64::exp, 1.0),
        ("exp2", <f32 as GpuFloat>::exp2, f64::exp2, 1.0),
        ("ln", <f32 as GpuFloat>::ln, f64::ln, 1.0),
        ("log2", <f32 as GpuFloat>::log2, f64::log2, 1.0),
        ("log10", <f32 as GpuFloat>::log10, f64::log10, 1.0),
        ("cbrt", <f32 as GpuFloat>::cbrt, f64::cbrt, 1.0),
        ("sin", <f32 as GpuFloat>::sin, f64::sin, 1.0),
        ("cos", <f32 as GpuFloat>::cos, f64::cos, 1.0),
        ("tan", <f32 as GpuFloat>::tan, f64::tan, 2.0),
        ("asin", <f32 as GpuFloat>::asin, f64::asin, 1.0),
        ("acos", <f32 as GpuFloat>::acos, f64::acos, 1.0),
        ("atan", <f32 as GpuFloat>::atan, f64::atan, 1.0),
        ("exp_m1", <f32 as GpuFloat>::exp_m1, f64::exp_m1, 1.0),
        ("ln_1p", <f32 as GpuFloat>::ln_1p, f64::ln_1p, 1.0),
        ("sinh", <f32 as GpuFloat>::sinh, f64::sinh, 2.0),
        ("cosh", <f32 as GpuFloat>::cosh, f64::cosh, 2.0),
        ("tanh", <f32 as GpuFloat>::tanh, f64::tanh, 2.0),
        ("asinh", <f32 as GpuFloat>::asinh, f64::asinh, 2.0),
        ("acosh", <f32 as GpuFloat>::acosh, f64::acosh, 2.0),
        ("atanh", <f32 as GpuFloat>::atanh, f64::atanh, 2.0),
        ("sqrt", <f32 as GpuFloat>::sqrt, f64::sqrt, 0.5),
    ];
    for (name, function, reference, bound) in functions {
        for x in samples() {
            let error = ulps(function(x), reference(f64::from(x)));
            assert!(
                error <= bound,
                "{name}({x:e}) = {:e} is {error} ulp off",
                function(x)
            );
        }
    }
    for pair in samples().windows(2) {
        let (x, y) = (pair[0], pair[1]);
        let exact = |name: &str, ours: f32, std: f32| {
            assert!(
                ours.to_bits() == std.to_bits() || ours.is_nan() && std.is_nan(),
                "{name}({x:e}, {y:e})"
            );
        };
        exact("floor", GpuFloat::floor(x), x.floor());
        exact("ceil", GpuFloat::ceil(x), x.ceil());
        exact("round", GpuFloat::round(x), x.round());
        exact("trunc", GpuFloat::trunc(x), x.trunc());
        exact("fract", GpuFloat::fract(x), x.fract());
        exact("abs", GpuFloat::abs(x), x.abs());
        exact("signum", GpuFloat::signum(x), x.signum());
        exact("copysign", GpuFloat::copysign(x, y), x.copysign(y));
        exact("mul_add", GpuFloat::mul_add(x, y, 1.5), x.mul_add(y, 1.5));
        exact("rem_euclid", GpuFloat::rem_euclid(x, y), x.rem_euclid(y));
        exact("div_euclid", GpuFloat::div_euclid(x, y), x.div_euclid(y));
        exact("sin_cos", GpuFloat::sin_cos(x).0, GpuFloat::sin(x));
        exact("sin_cos", GpuFloat::sin_cos(x).1, GpuFloat::cos(x));
        for (name, ours, std) in [
            (
                "powf",
                GpuFloat::powf(x, y),
                f64::from(x).powf(f64::from(y)),
            ),
            (
                "hypot",
                GpuFloat::hypot(x, y),
                f64::from(x).hypot(f64::from(y)),
            ),
            (
                "atan2",
                GpuFloat::atan2(x, y),
                f64::from(x).atan2(f64::from(y)),
            ),
        ] {
            let error = ulps(ours, std);
            assert!(
                error <= 2.0,
                "{name}({x:e}, {y:e}) = {ours:e} is {error} ulp off {std:e}"
            );
        }
    }
    for n in [0, 1, 2, 3, 7, 20, -1, -5, i32::MIN] {
        for x in [1.0f64, -1.0, 1.5, -0.75, 0.0, f64::INFINITY] {
            let (ours, std) = (GpuFloat::powi(x, n), x.powi(n));
            assert!(
                (ours - std).abs() <= 1e-13 * std.abs() || ours == std,
                "{x}^{n}: {ours}, {std}"
            );
        }
    }
    assert_eq!(GpuFloat::log(8.0f64, 2.0), 8.0f64.ln() / 2.0f64.ln());
}

/// Error in units in the last place, as [`ulps`], but also of what overflows: an infinity counts as 2^128.
fn ulps_of_all(value: f32, exact: f64) -> f64 {
    let overflow = 2f64.powi(128);
    if exact.is_nan() || exact.abs() >= overflow {
        let right = if exact.is_nan() {
            value.is_nan()
        } else {
            value.is_infinite() && (value > 0.0) == (exact > 0.0)
        };
        return if right { 0.0 } else { f64::INFINITY };
    }
    let exponent = (exact.abs().log2().floor() as i32).clamp(-126, 127);
    let value = f64::from(value).clamp(-overflow, overflow);
    (value - exact).abs() / 2f64.powi(exponent - 23)
}

/// A sweep over all bits, with a prime stride. `warpwright ulp --full` takes every argument.
#[test]
fn accurate_functions_are_within_one_unit() {
    type Pair = (&'static str, fn(f32) -> f32, fn(f64) -> f64);
    let functions: [Pair; 7] = [
        ("sin", accurate::sin, f64::sin),
        ("cos", accurate::cos, f64::cos),
        ("exp", accurate::exp, f64::exp),
        ("exp2", accurate::exp2, f64::exp2),
        ("ln", accurate::ln, f64::ln),
        ("log2", accurate::log2, f64::log2),
        ("tanh", accurate::tanh, f64::tanh),
    ];
    for (name, function, reference) in functions {
        for bits in (0..=u32::MAX).step_by(10_007) {
            let x = f32::from_bits(bits);
            let error = ulps_of_all(function(x), reference(f64::from(x)));
            assert!(
                error <= 1.0,
                "{name}({x:e}) = {:e} is {error} ulp off",
                function(x)
            );
        }
    }
    let mut hash = 1u64;
    for i in 0..400_000 {
        hash = hash
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let any = f32::from_bits((hash >> 32) as u32);
        let near_one = f32::from_bits(0x3f7f_f000 + (hash >> 50) as u32);
        let x = if i % 3 == 0 { near_one } else { any };
        // Exponents that spread the powers over the range of `f32` and a little beyond.
        let share = (hash as u32) as f64 / f64::from(u32::MAX);
        let y = match i % 2 {
            0 => ((share * 290.0 - 155.0) / f64::from(x.abs()).log2()) as f32,
            _ => (share * 64.0) as i32 as f32 * 0.5 - 16.0,
        };
        let (value, exact) = (accurate::pow(x, y), f64::from(x).powf(f64::from(y)));
        let error = ulps_of_all(value, exact);
        assert!(
            error <= 1.0,
            "pow({x:e}, {y:e}) = {value:e} is {error} ulp off"
        );
    }
}

/// The special cases of C's functions, to the bit: zeros with their signs, infinities, NaN.
#[test]
fn accurate_functions_have_cs_special_cases() {
    let inf = f32::INFINITY;
    let same = |name: &str, found: f32, wanted: f32| {
        assert!(
            found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
            "{name}: {found:e}, not {wanted:e}"
        );
    };
    for (name, function, zero, negative_zero, infinity, negative_infinity) in [
        (
            "sin",
            accurate::sin as fn(f32) -> f32,
            0.0,
            -0.0,
            f32::NAN,
            f32::NAN,
        ),
        ("cos", accurate::cos, 1.0, 1.0, f32::NAN, f32::NAN),
        ("exp", accurate::exp, 1.0, 1.0, inf, 0.0),
        ("exp2", accurate::exp2, 1.0, 1.0, inf, 0.0),
        ("ln", accurate::ln, -inf, -inf, inf, f32::NAN),
        ("log2", accurate::log2, -inf, -inf, inf, f32::NAN),
        ("tanh", accurate::tanh, 0.0, -0.0, 1.0, -1.0),
    ] {
        same(name, function(0.0), zero);
        same(name, function(-0.0), negative_zero);
        same(name, function(inf), infinity);
        same(name, function(-inf), negative_infinity);
        same(name, function(f32::NAN), f32::NAN);
    }
    same("ln(1)", accurate::ln(1.0), 0.0);
    same("ln(-1)", accurate::ln(-1.0), f32::NAN);
    same("log2(2^-149)", accurate::log2(f32::from_bits(1)), -149.0);
    same("exp2(-149)", accurate::exp2(-149.0), f32::from_bits(1));
    same("exp2(-150)", accurate::exp2(-150.0), 0.0);
    same("exp2(128)", accurate::exp2(128.0), inf);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        2.5,
        inf,
        -inf,
        f32::NAN,
        1e-45,
        -1e-45,
        f32::MAX,
        f32::MIN,
        16_777_215.0,
        -16_777_215.0,
        16_777_216.0,
    ];
    for x in special {
        for y in special {
            // A zero, an infinity or a NaN comes out of every rounding of the exact power.
            let exact = f64::from(x).powf(f64::from(y));
            if exact == 0.0 || exact.is_infinite() || exact.is_nan() {
                same(
                    &format!("pow({x:e}, {y:e})"),
                    accurate::pow(x, y),
                    exact as f32,
                );
            }
        }
    }
    for x in [0.3f32, -7.0, 1e6, -3e38] {
        let (sin, cos) = accurate::sin_cos(x);
        same("sin_cos", sin, accurate::sin(x));
        same("sin_cos", cos, accurate::cos(x));
    }
}

#[test]
fn approximations_are_within_their_bounds() {
    let relative = |value: f32, exact: f64| ((f64::from(value) - exact) / exact).abs();
    for i in 1..20_000 {
        let x = i as f32 * 0.0031 - 30.0;
        let wide = f64::from(x);
        assert!(relative(approx::exp2(x), wide.exp2()) <= 2f64.powi(-22));
        assert!(
            relative(approx::exp(x), wide.exp()) <= 2f64.powi(-22) + wide.abs() * 2f64.powi(-23),
            "{x}"
        );
        assert!((f64::from(approx::sin(x)) - wide.sin()).abs() <= 2f64.powf(-14.7));
        assert!((f64::from(approx::cos(x)) - wide.cos()).abs() <= 2f64.powf(-14.7));
        assert!(relative(approx::tanh(x), wide.tanh()) <= 2f64.powi(-11));
        let positive = i as f32 * 0.37;
        let wide = f64::from(positive);
        assert!(relative(approx::sqrt(positive), wide.sqrt()) <= 2f64.powi(-23));
        assert!(relative(approx::rsqrt(positive), wide.sqrt().recip()) <= 2f64.powf(-22.9));
        assert!(relative(approx::recip(positive), wide.recip()) <= 2f64.powi(-23));
        assert!(relative(approx::div(x, positive), f64::from(x) / wide) <= 2f64.powi(-22));
        if !(0.5..=2.0).contains(&positive) {
            assert!(relative(approx::log2(positive), wide.log2()) <= 2f64.powi(-22));
            assert!(relative(approx::ln(positive), wide.ln()) <= 2f64.powi(-21));
        }
    }
}
