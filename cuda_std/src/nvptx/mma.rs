//! Products of matrices by warps as instructions, or made of others on architectures without them.

use super::Place;

#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn m8n8k4_f64([a]: [f64; 1], [b]: [f64; 1], [c0, c1]: [f64; 2], _: Place) -> [f64; 2] {
    // The result is a pair, which only this ABI returns as LLVM does.
    #[allow(improper_ctypes)]
    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.mma.m8n8k4.row.col.f64"]
        fn product(a: f64, b: f64, c0: f64, c1: f64) -> (f64, f64);
    }
    // SAFETY: the kernel promises that all lanes of the warp execute this.
    unsafe { product(a, b, c0, c1) }.into()
}

/// Each lane gets the row of A and the two columns of B that its elements of C need.
#[cfg(not(target_feature = "sm_80"))]
#[inline(always)]
pub fn m8n8k4_f64([a]: [f64; 1], [b]: [f64; 1], mut c: [f64; 2], _: Place) -> [f64; 2] {
    use crate::{
        GpuFloat,
        warp::{FULL_MASK, lane_id, shuffle},
    };

    let lane = lane_id();
    let (row, column) = (lane / 4 * 4, lane % 4 * 8);
    crate::unrolled!(k < 4 of 4 => {
        let k = k as u32;
        let from_a = shuffle(FULL_MASK, a, row + k);
        c[0] = GpuFloat::mul_add(from_a, shuffle(FULL_MASK, b, column + k), c[0]);
        c[1] = GpuFloat::mul_add(from_a, shuffle(FULL_MASK, b, column + 4 + k), c[1]);
    });
    c
}

/// The instructions.
#[cfg(target_feature = "sm_90")]
macro_rules! products {
    ($($name:ident = $intrinsic:literal: [$($a:ident)*], [$($b:ident)*];)*) => { $(
        #[inline(always)]
        pub fn $name(
            [$($a),*]: [f64; [$(stringify!($a)),*].len()],
            [$($b),*]: [f64; [$(stringify!($b)),*].len()],
            [c0, c1, c2, c3]: [f64; 4],
            _: Place,
        ) -> [f64; 4] {
            #[allow(improper_ctypes)]
            unsafe extern "unadjusted" {
                #[link_name = $intrinsic]
                fn product(
                    $($a: f64,)* $($b: f64,)* c0: f64, c1: f64, c2: f64, c3: f64,
                ) -> (f64, f64, f64, f64);
            }
            // SAFETY: the kernel promises that all lanes of the warp execute this.
            unsafe { product($($a,)* $($b,)* c0, c1, c2, c3) }.into()
        }
    )* };
}

#[cfg(target_feature = "sm_90")]
products! {
    m16n8k4_f64 = "llvm.nvvm.mma.m16n8k4.row.col.f64": [a0 a1], [b0];
    m16n8k8_f64 = "llvm.nvvm.mma.m16n8k8.row.col.f64": [a0 a1 a2 a3], [b0 b1];
    m16n8k16_f64 = "llvm.nvvm.mma.m16n8k16.row.col.f64": [a0 a1 a2 a3 a4 a5 a6 a7], [b0 b1 b2 b3];
}

/// Upper and lower halves of 8 rows, four products along k after the other. The layouts are such that each lane has what the
/// smaller products need.
#[cfg(not(target_feature = "sm_90"))]
macro_rules! products {
    ($($name:ident: $k:literal;)*) => { $(
        #[inline(always)]
        pub fn $name(
            a: [f64; $k / 2],
            b: [f64; $k / 4],
            mut c: [f64; 4],
            place: Place,
        ) -> [f64; 4] {
            crate::unrolled!(i < { $k / 4 } of 4 => {
                let upper = m8n8k4_f64([a[2 * i]], [b[i]], [c[0], c[1]], place);
                let lower = m8n8k4_f64([a[2 * i + 1]], [b[i]], [c[2], c[3]], place);
                c = [upper[0], upper[1], lower[0], lower[1]];
            });
            c
        }
    )* };
}

#[cfg(not(target_feature = "sm_90"))]
products! {
    m16n8k4_f64: 4;
    m16n8k8_f64: 8;
    m16n8k16_f64: 16;
}
