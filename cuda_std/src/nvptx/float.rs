//! Approximations as instructions.

use core::arch::asm;

macro_rules! approximations {
    ($($name:ident: $instruction:literal;)*) => { $(
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            let result: f32;
            // SAFETY: arithmetic on registers.
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

/// The correctly rounded square root, without the branch for what is not a normal number: for `x` from 2^-64 to 2^64.
///
/// A step of Heron's on `x / sqrt(x)`, whose remainder is exact; that it rounds correctly was tried for every mantissa
/// under both parities of the exponent.
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
    // SAFETY: arithmetic on registers.
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
