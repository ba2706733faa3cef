//! Products of matrices by warps as instructions, or made of others on architectures without them.

use half::{bf16, f16};

use super::Place;
use crate::{
    mma::{Half, Pair, Quad},
    nvptx::ptr,
    ptr::AddressSpace,
};

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

/// The instructions with sums in `f32`. They are not `pure`, so that LLVM does not move them across branches.
#[cfg(target_feature = "sm_80")]
macro_rules! products_of_halves {
    ($($name:ident: $ty:ident, $instruction:literal;)*) => { $(
        #[inline(always)]
        pub fn $name(
            [a0, a1, a2, a3]: [Pair<$ty>; 4],
            [b0, b1]: [Pair<$ty>; 2],
            [mut c0, mut c1, mut c2, mut c3]: [f32; 4],
            _: Place,
        ) -> [f32; 4] {
            // SAFETY: the kernel promises that all lanes of the warp execute this.
            unsafe {
                core::arch::asm!(
                    concat!(
                        $instruction,
                        " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                    ),
                    inout(reg32) c0,
                    inout(reg32) c1,
                    inout(reg32) c2,
                    inout(reg32) c3,
                    in(reg32) a0.bits(),
                    in(reg32) a1.bits(),
                    in(reg32) a2.bits(),
                    in(reg32) a3.bits(),
                    in(reg32) b0.bits(),
                    in(reg32) b1.bits(),
                    options(nomem, nostack, preserves_flags),
                );
            }
            [c0, c1, c2, c3]
        }
    )* };
}

#[cfg(target_feature = "sm_80")]
products_of_halves! {
    m16n8k16_f16: f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    m16n8k16_bf16: bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
}

/// Each lane gets the two rows of A and the two columns of B that its elements of C need, a pair after the other.
#[cfg(not(target_feature = "sm_80"))]
macro_rules! products_of_halves {
    ($($name:ident: $ty:ident, |$half:ident| $widened:expr;)*) => { $(
        #[inline(always)]
        pub fn $name(
            a: [Pair<$ty>; 4],
            b: [Pair<$ty>; 2],
            mut c: [f32; 4],
            _: Place,
        ) -> [f32; 4] {
            use crate::{
                GpuFloat,
                warp::{FULL_MASK, lane_id, shuffle},
            };

            let widened = |pair: u32| [pair as u16, (pair >> 16) as u16].map(|$half| $widened);
            let lane = lane_id();
            let (row, column) = (lane / 4 * 4, lane % 4 * 8);
            crate::unrolled!(pair < 8 => {
                let (of_lane, lane) = (pair / 4, pair as u32 % 4);
                let from = |pair: Pair<$ty>, lane| widened(shuffle(FULL_MASK, pair.bits(), lane));
                let upper = from(a[2 * of_lane], row + lane);
                let lower = from(a[2 * of_lane + 1], row + lane);
                let left = from(b[of_lane], column + lane);
                let right = from(b[of_lane], column + 4 + lane);
                crate::unrolled!(k < 2 of 4 => {
                    c[0] = GpuFloat::mul_add(upper[k], left[k], c[0]);
                    c[1] = GpuFloat::mul_add(upper[k], right[k], c[1]);
                    c[2] = GpuFloat::mul_add(lower[k], left[k], c[2]);
                    c[3] = GpuFloat::mul_add(lower[k], right[k], c[3]);
                });
            });
            c
        }
    )* };
}

#[cfg(not(target_feature = "sm_80"))]
products_of_halves! {
    m16n8k16_f16: f16, |bits| crate::convert::f16_to_f32(bits);
    m16n8k16_bf16: bf16, |bits| f32::from_bits(u32::from(bits) << 16);
}

/// The instruction with sums in `i32`. It is not `pure`, so that LLVM does not move it across branches.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn m16n8k32_i8(
    [a0, a1, a2, a3]: [Quad<i8>; 4],
    [b0, b1]: [Quad<i8>; 2],
    [mut c0, mut c1, mut c2, mut c3]: [i32; 4],
    _: Place,
) -> [i32; 4] {
    // SAFETY: the kernel promises that all lanes of the warp execute this.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 \
             {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) c0,
            inout(reg32) c1,
            inout(reg32) c2,
            inout(reg32) c3,
            in(reg32) a0.bits(),
            in(reg32) a1.bits(),
            in(reg32) a2.bits(),
            in(reg32) a3.bits(),
            in(reg32) b0.bits(),
            in(reg32) b1.bits(),
            options(nomem, nostack, preserves_flags),
        );
    }
    [c0, c1, c2, c3]
}

/// Upper and lower halves of 8 rows, 16 products along k after the other. The layouts are such that each lane has what the
/// smaller products need.
#[cfg(not(target_feature = "sm_80"))]
#[inline(always)]
pub fn m16n8k32_i8(
    [a0, a1, a2, a3]: [Quad<i8>; 4],
    [b0, b1]: [Quad<i8>; 2],
    [c0, c1, c2, c3]: [i32; 4],
    _: Place,
) -> [i32; 4] {
    let product = |a: Quad<i8>, b: Quad<i8>, [mut c0, mut c1]: [i32; 2]| {
        // SAFETY: the kernel promises that all lanes of the warp execute this.
        unsafe {
            core::arch::asm!(
                "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
                inout(reg32) c0,
                inout(reg32) c1,
                in(reg32) a.bits(),
                in(reg32) b.bits(),
                options(nomem, nostack, preserves_flags),
            );
        }
        [c0, c1]
    };
    let [c0, c1] = product(a2, b1, product(a0, b0, [c0, c1]));
    let [c2, c3] = product(a3, b1, product(a1, b0, [c2, c3]));
    [c0, c1, c2, c3]
}

/// Returns a pair times 256.
#[inline(always)]
pub fn times_256(pair: Pair<f16>) -> Pair<f16> {
    let scaled;
    // SAFETY: the instruction only computes.
    unsafe {
        core::arch::asm!(
            "mul.rn.f16x2 {0}, {1}, {2};",
            out(reg32) scaled,
            in(reg32) pair.bits(),
            in(reg32) 0x5C00_5C00_u32,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    Pair::of_bits(scaled)
}

/// Returns the two nearest elements, the first one in the low bits.
#[inline(always)]
pub fn rounded<T: Half>([first, second]: [f32; 2]) -> u32 {
    #[cfg(target_feature = "sm_80")]
    {
        macro_rules! convert {
            ($instruction:literal) => {{
                let pair;
                // SAFETY: the instruction only computes.
                unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {0}, {1}, {2};"),
                        out(reg32) pair,
                        in(reg32) second,
                        in(reg32) first,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                pair
            }};
        }
        match T::IS_BF16 {
            true => convert!("cvt.rn.bf16x2.f32"),
            false => convert!("cvt.rn.f16x2.f32"),
        }
    }
    #[cfg(not(target_feature = "sm_80"))]
    {
        let [low, high] = [first, second].map(|value| u32::from(T::nearest(value).bits()));
        high << 16 | low
    }
}

/// # Safety
/// The lane's row of 16 bytes at `from + offset` must be in shared memory and aligned to 16 bytes.
#[inline(always)]
pub unsafe fn ldmatrix<const TRANSPOSED: bool>(from: *mut u8, offset: usize, _: Place) -> [u32; 4] {
    // It converts the array's start, which is the same for all rows of the array.
    let start = ptr::to_specific(from, AddressSpace::Shared).addr() as u32;
    let address = start.wrapping_add(offset as u32);
    let (a, b, c, d);
    macro_rules! load {
        ($instruction:literal) => {
            // SAFETY: the caller upholds the contract; the kernel promises that all lanes of the warp execute this.
            unsafe {
                core::arch::asm!(
                    concat!($instruction, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
                    out(reg32) a,
                    out(reg32) b,
                    out(reg32) c,
                    out(reg32) d,
                    in(reg32) address,
                    options(readonly, nostack, preserves_flags),
                )
            }
        };
    }
    if TRANSPOSED {
        load!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16");
    } else {
        load!("ldmatrix.sync.aligned.m8n8.x4.shared.b16");
    }
    [a, b, c, d]
}

/// # Safety
/// The lane's row of 16 bytes at `to + offset` must be in shared memory and aligned to 16 bytes.
#[cfg(target_feature = "sm_90")]
#[inline(always)]
pub unsafe fn stmatrix(to: *mut u8, offset: usize, [a, b, c, d]: [u32; 4], _: Place) {
    let start = ptr::to_specific(to, AddressSpace::Shared).addr() as u32;
    let address = start.wrapping_add(offset as u32);
    // SAFETY: the caller upholds the contract; the kernel promises that all lanes of the warp execute this.
    unsafe {
        core::arch::asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{0}], {{{1}, {2}, {3}, {4}}};",
            in(reg32) address,
            in(reg32) a,
            in(reg32) b,
            in(reg32) c,
            in(reg32) d,
            options(nostack, preserves_flags),
        )
    }
}

/// Each lane learns where its elements' rows are, and stores 4 bytes of each.
///
/// # Safety
/// As for the instruction.
#[cfg(not(target_feature = "sm_90"))]
#[inline(always)]
pub unsafe fn stmatrix(to: *mut u8, offset: usize, words: [u32; 4], _: Place) {
    use crate::warp::{FULL_MASK, lane_id, shuffle};

    let lane = lane_id();
    crate::unrolled!(j < 4 of 4 => {
        let row = shuffle(FULL_MASK, offset as u32, 8 * j as u32 + lane / 4) as usize;
        // SAFETY: it is a part of the row that another lane has given.
        unsafe { to.add(row).cast::<u32>().add(lane as usize % 4).write(words[j]) };
    });
}
