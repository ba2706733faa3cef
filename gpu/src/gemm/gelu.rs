//! The Gaussian error linear unit: `x * P(x)`, where `P` is the distribution function of the standard normal distribution.
//!
//! ```text
//! u = 2 * min(x^2, END^2) / END^2 - 1
//! half = min(|x| * polynomial in u, 1/2)      (the probability of a number between 0 and |x|)
//! gelu = |x| * half + x / 2
//! ```
//!
//! `|x| * half` is half of `x`, plus or minus, from `END` on: so large numbers stay, and large negative ones become exactly 0.
//! There are multiply-adds alone, without a branch, a division or a table, so the bits are the same everywhere.
//!
//! The polynomials interpolate `(P(x) - 1/2) / x` at Chebyshev nodes of `u`, and exceed `1/2` at `END` by more than a
//! rounding. The fits are ours.

// Elsewhere `mul_add` and `abs` are those of `std`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $ty:ident, $end:literal, $first:literal $($rest:literal)*;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(x: $ty) -> $ty {
            const END: $ty = $end * $end;
            let square = (x * x).min(END);
            let u = square.mul_add(2.0 / END, -1.0);
            let sum: $ty = $first;
            $( let sum = sum.mul_add(u, $rest); )*
            let half = (x.abs() * sum).min(0.5);
            x.abs().mul_add(half, 0.5 * x)
        }
    )* };
}

// The coefficients, from that of the highest power down.
functions! {
    /// Returns it for results of 16 bits: the error is below `2^-16 * |x|`.
    gelu_half: f32, 4.4,
        -7.710_333_4e-4 3.990_452e-3 -7.064_276_4e-3 9.074_819e-3 -1.599_709_3e-2 2.768_439_4e-2 -4.022_253_3e-2
        5.512_936_8e-2 -7.859_399e-2 1.604_067_1e-1;
    /// Returns it in `f32`: the error is below `4 * epsilon * |x|`.
    gelu_f32: f32, 5.5,
        6.715_366_6e-4 -1.356_621_7e-3 5.789_764e-4 -1.283_159_5e-3 4.819_273e-3 -7.590_043_4e-3 1.008_927_1e-2
        -1.473_246_05e-2 2.041_514_6e-2 -2.609_169_5e-2 3.206_132e-2 -3.879_022_2e-2 4.773_823e-2 -6.417_236e-2
        1.285_519_3e-1;
    /// Returns it in `f64`: the error is below `4 * epsilon * |x|`.
    gelu_f64: f64, 8.3,
        2.962_525_519_266_158_4e-6 -3.678_704_612_028_989_5e-6 -1.806_219_612_539_633_3e-5 1.340_511_772_738_809_8e-5
        7.680_491_761_950_294e-5 -5.649_538_543_970_021e-5 -1.447_590_489_533_775_7e-4 4.386_107_264_570_802e-5
        3.383_987_255_897_422_7e-4 -2.307_157_446_400_127_5e-4 -1.018_481_471_899_473_3e-4 -2.504_521_886_768_408e-4
        8.334_609_309_419_295e-4 -9.324_569_168_622_001e-4 1.108_577_515_758_562_3e-3 -1.831_282_360_251_729_8e-3
        2.704_296_461_817_071_3e-3 -3.546_240_722_004_909e-3 4.583_569_500_303_265e-3 -5.842_747_945_597_995e-3
        7.181_873_857_231_663e-3 -8.538_446_680_928_343e-3 9.886_027_464_215_47e-3 -1.117_665_936_900_093e-2
        1.237_611_620_226_933_6e-2 -1.348_329_948_235_955_4e-2 1.452_364_457_609_598_2e-2 -1.554_372_237_538_883_7e-2
        1.660_736_776_643_111_8e-2 -1.779_312_312_304_101e-2 1.919_868_636_008_276e-2 -2.095_919_842_340_961_5e-2
        2.329_338_348_400_384e-2 -2.662_261_779_119_339e-2 3.194_753_351_159_799e-2 -4.259_678_724_997_148e-2
        8.519_358_772_121_842e-2;
}
