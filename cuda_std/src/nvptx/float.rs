//! Approximations as instructions.

use core::arch::asm;

macro_rules! approximations {
    ($($name:ident: $instruction:literal;)*) => { $(
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            let result: f32;
            // SAFETY: the instruction is arithmetic on registers.
            unsafe {
                asm!(
                    concat!($instruction, " {0}, {1};"),
                    out(reg32) result,
                    in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            result
        }
    )* };
}

approximations! {
    exp2: "ex2.approx.f32";
    log2: "lg2.approx.f32";
    sin: "sin.approx.f32";
    cos: "cos.approx.f32";
    tanh: "tanh.approx.f32";
    sqrt: "sqrt.approx.f32";
    rsqrt: "rsqrt.approx.f32";
    recip: "rcp.approx.f32";
    rsqrt_of_normal: "rsqrt.approx.ftz.f32";
}

/// Returns the correctly rounded square root of `x` from 2^-64 to 2^64, without the branch for numbers that are not normal.
///
/// It is a step of Heron's method on `x / sqrt(x)`, with an exact remainder. A test of every mantissa under both parities
/// of the exponent showed that it rounds correctly.
#[inline(always)]
pub fn sqrt_of_normal(x: f32) -> f32 {
    let reciprocal = rsqrt_of_normal(x);
    let root = x * reciprocal;
    let rest = crate::GpuFloat::mul_add(-root, root, x);
    crate::GpuFloat::mul_add(rest, reciprocal * 0.5, root)
}

#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    let result: f32;
    // SAFETY: the instruction is arithmetic on registers.
    unsafe {
        asm!(
            "div.full.f32 {0}, {1}, {2};",
            out(reg32) result,
            in(reg32) a,
            in(reg32) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    result
}
