//! Products of warpgroups as instructions.

use super::{Place, bulk::shared};
use crate::wgmma::{Factor, Format, Sums};

/// The low half of a tile's descriptor: the start of 16 of k (8 of `f32`, 32 of 8 bits), and from bit 16 on the distance
/// between panels, both in units of 16 bytes. The high half is a constant, so that the threads compute with 32 bits.
#[derive(Clone, Copy)]
pub struct Operand(u32);

/// The high half of a descriptor: the distance between groups of 8 lines, and the swizzle of 128 bytes.
const HIGH: u32 = 1 << 30 | 1024 >> 4;

/// Returns a tile as an operand. The GPU does not check it.
#[inline(always)]
pub fn operand<T, const ALONG_K: bool>(
    start: *const T,
    _len: usize,
    i: usize,
    _rows: usize,
    _: Place,
) -> Operand {
    // Lines along k have no second panel, and the hardware ignores the distance.
    let panels = if ALONG_K { 1 } else { 8192 >> 4 } << 16;
    // A block has less than 256 KiB. In a cluster the bits above are the block's rank, which the start is rid of: what is so
    // added to it stays part of the shift's instruction, and the rest is computed once.
    let of_block = shared(start, 0) & 0x3_ffff;
    Operand(((of_block + (i * size_of::<T>()) as u32) >> 4) + panels)
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.wgmma.fence.sync.aligned"]
    fn fence();
    #[link_name = "llvm.nvvm.wgmma.commit_group.sync.aligned"]
    fn commit_group();
}

#[inline(always)]
pub fn begin(_: Place) {
    // SAFETY: the kernel promises that all threads of the warpgroup execute this.
    unsafe { fence() }
}

#[inline(always)]
pub fn commit() {
    // SAFETY: as for `begin`.
    unsafe { commit_group() }
}

/// # Safety
/// The operands must be of tiles in shared memory, which nothing writes until the products have been waited for.
#[inline(always)]
pub unsafe fn multiply<
    S: Sums,
    T: Factor,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
    const ADDS: bool,
>(
    sums: &mut S,
    Operand(a): Operand,
    Operand(b): Operand,
    _: Place,
) {
    // SAFETY: by the contract.
    unsafe { sums.products::<T, A_ALONG_K, B_ALONG_K, ADDS>(a, b) }
}

/// # Safety
/// As for [`multiply`], and the registers of A are written before `begin`, and not until the products have been waited for.
#[inline(always)]
pub unsafe fn multiply_registers<S: Sums, T: Factor, const ADDS: bool>(
    sums: &mut S,
    a: [u32; 16],
    Operand(b): Operand,
    _: Place,
) {
    // SAFETY: by the contract.
    unsafe { sums.products_of_registers::<T, ADDS>(a, b) }
}

/// Waits for all groups but the `LATER` last ones. The sums are those of a group that is waited for.
#[inline(always)]
pub fn wait<S: Sums, const LATER: u32>(sums: &mut S, _: Place) {
    sums.wait::<LATER>();
}

/// The sums of a thread as registers of instructions.
pub trait Registers {
    /// Starts the four products of a tile of A and one of B. If `ADDS` is false, the first one replaces the sums.
    ///
    /// # Safety
    /// As for [`multiply`].
    unsafe fn products<T: Factor, const A_ALONG_K: bool, const B_ALONG_K: bool, const ADDS: bool>(
        &mut self,
        a: u32,
        b: u32,
    );
    /// As [`products`](Self::products), with A in registers, and a tile of B with lines along k.
    ///
    /// # Safety
    /// As for [`multiply_registers`].
    unsafe fn products_of_registers<T: Factor, const ADDS: bool>(&mut self, a: [u32; 16], b: u32);
    /// Waits for all groups of products but the `LATER` last ones.
    fn wait<const LATER: u32>(&mut self);
}

/// Implements [`Registers`] for arrays, of which each element has a name. The names are operands of every instruction, the
/// wait's too: so LLVM keeps the sums in the same registers, and moves nothing of them before the wait.
///
/// Each is one line, because a `}` at a line's start would end the kernel for who takes PTX apart.
macro_rules! registers {
    ($($columns:literal: $names:tt;)*) => { $(
        registers!(f32, $columns, $names);
        registers!(i32, $columns, $names);
    )* };
    ($sum:ident, $columns:literal, [$first:ident $($d:ident)*]) => {
        impl Registers for [$sum; $columns / 2] {
            #[inline(always)]
            unsafe fn products<
                T: Factor,
                const A_ALONG_K: bool,
                const B_ALONG_K: bool,
                const ADDS: bool,
            >(
                &mut self,
                a: u32,
                b: u32,
            ) {
                // 16 of k further on: 32 bytes of each line, or 16 lines. In units of 16 bytes. In `f32` 8 of k, in 8 bits 32.
                let (step_a, step_b) = const {
                    (if A_ALONG_K { 2 } else { 128 }, if B_ALONG_K { 2 } else { 128 })
                };
                macro_rules! product {
                    ($k:literal, $types:literal, $step:literal, $end:literal, $sums:ident, $adds:literal) => {{
                        let [$first $(, $d)*] = self;
                        // SAFETY: by the contract, and the kernel promises that all threads of the warpgroup execute this.
                        unsafe {
                            core::arch::asm!(
                                concat!(
                                    "{{ .reg .pred adds; setp.ne.b32 adds, ", $adds, ", 0; .reg .b64 of_a, of_b; ",
                                    "mov.b64 of_a, {{{a}, {high}}}; mov.b64 of_b, {{{b}, {high}}}; ",
                                    "wgmma.mma_async.sync.aligned.m64n", $columns, $k, $types, " {{",
                                    "{", stringify!($first), "}" $(, ", {", stringify!($d), "}")*,
                                    "}}, of_a, of_b, adds", $end,
                                ),
                                $first = $sums(reg32) *$first,
                                $($d = $sums(reg32) *$d,)*
                                a = in(reg32) a + $step * step_a,
                                b = in(reg32) b + $step * step_b,
                                high = const HIGH,
                                ta = const !A_ALONG_K as i32,
                                tb = const !B_ALONG_K as i32,
                                options(nostack, preserves_flags),
                            );
                        }
                    }};
                }
                macro_rules! products {
                    ($k:literal, $types:literal, $end:literal) => {{
                        match ADDS {
                            true => product!($k, $types, 0, $end, inout, "1"),
                            false => product!($k, $types, 0, $end, out, "0"),
                        }
                        product!($k, $types, 1, $end, inout, "1");
                        product!($k, $types, 2, $end, inout, "1");
                        product!($k, $types, 3, $end, inout, "1");
                    }};
                }
                // Lines of other elements than those of 16 bits lie along k, and their instructions have no operands that say
                // so. Those of `i8` have no signs of the factors either.
                match T::FORMAT {
                    Format::F16 => products!("k16", ".f32.f16.f16", ", 1, 1, {ta}, {tb}; }}"),
                    Format::Bf16 => products!("k16", ".f32.bf16.bf16", ", 1, 1, {ta}, {tb}; }}"),
                    Format::Tf32 => products!("k8", ".f32.tf32.tf32", ", 1, 1; }} // {ta} {tb}"),
                    Format::I8 => products!("k32", ".s32.s8.s8", "; }} // {ta} {tb}"),
                    Format::E4m3 => products!("k32", ".f32.e4m3.e4m3", ", 1, 1; }} // {ta} {tb}"),
                    Format::E5m2 => products!("k32", ".f32.e5m2.e5m2", ", 1, 1; }} // {ta} {tb}"),
                }
            }

            #[inline(always)]
            unsafe fn products_of_registers<T: Factor, const ADDS: bool>(
                &mut self,
                a: [u32; 16],
                b: u32,
            ) {
                macro_rules! product {
                    ($k:literal, $types:literal, $step:literal, $end:literal, $sums:ident, $adds:literal) => {{
                        let [$first $(, $d)*] = self;
                        // SAFETY: by the contract, and the kernel promises that all threads of the warpgroup execute this.
                        unsafe {
                            core::arch::asm!(
                                concat!(
                                    "{{ .reg .pred adds; setp.ne.b32 adds, ", $adds, ", 0; .reg .b64 of_b; ",
                                    "mov.b64 of_b, {{{b}, {high}}}; ",
                                    "wgmma.mma_async.sync.aligned.m64n", $columns, $k, $types, " {{",
                                    "{", stringify!($first), "}" $(, ", {", stringify!($d), "}")*,
                                    "}}, {{{a0}, {a1}, {a2}, {a3}}}, of_b, adds", $end,
                                ),
                                $first = $sums(reg32) *$first,
                                $($d = $sums(reg32) *$d,)*
                                a0 = in(reg32) a[4 * $step],
                                a1 = in(reg32) a[4 * $step + 1],
                                a2 = in(reg32) a[4 * $step + 2],
                                a3 = in(reg32) a[4 * $step + 3],
                                b = in(reg32) b + $step * 2,
                                high = const HIGH,
                                options(nostack, preserves_flags),
                            );
                        }
                    }};
                }
                macro_rules! products {
                    ($k:literal, $types:literal, $end:literal) => {{
                        match ADDS {
                            true => product!($k, $types, 0, $end, inout, "1"),
                            false => product!($k, $types, 0, $end, out, "0"),
                        }
                        product!($k, $types, 1, $end, inout, "1");
                        product!($k, $types, 2, $end, inout, "1");
                        product!($k, $types, 3, $end, inout, "1");
                    }};
                }
                match T::FORMAT {
                    Format::F16 => products!("k16", ".f32.f16.f16", ", 1, 1, 0; }}"),
                    Format::Bf16 => products!("k16", ".f32.bf16.bf16", ", 1, 1, 0; }}"),
                    Format::Tf32 => products!("k8", ".f32.tf32.tf32", ", 1, 1; }}"),
                    Format::I8 => products!("k32", ".s32.s8.s8", "; }}"),
                    Format::E4m3 => products!("k32", ".f32.e4m3.e4m3", ", 1, 1; }}"),
                    Format::E5m2 => products!("k32", ".f32.e5m2.e5m2", ", 1, 1; }}"),
                }
            }

            #[inline(always)]
            fn wait<const LATER: u32>(&mut self) {
                let [$first $(, $d)*] = self;
                // SAFETY: as for `begin`.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "wgmma.wait_group.sync.aligned {later}; // ",
                            "{", stringify!($first), "}" $(, " {", stringify!($d), "}")*,
                        ),
                        $first = inout(reg32) *$first,
                        $($d = inout(reg32) *$d,)*
                        later = const LATER,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

registers! {
    16: [d0 d1 d2 d3 d4 d5 d6 d7];
    64: [
        d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11 d12 d13 d14 d15 d16 d17 d18 d19 d20 d21 d22 d23 d24 d25 d26
        d27 d28 d29 d30 d31
    ];
    128: [
        d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11 d12 d13 d14 d15 d16 d17 d18 d19 d20 d21 d22 d23 d24 d25 d26
        d27 d28 d29 d30 d31 d32 d33 d34 d35 d36 d37 d38 d39 d40 d41 d42 d43 d44 d45 d46 d47 d48 d49 d50 d51
        d52 d53 d54 d55 d56 d57 d58 d59 d60 d61 d62 d63
    ];
    256: [
        d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11 d12 d13 d14 d15 d16 d17 d18 d19 d20 d21 d22 d23 d24 d25 d26
        d27 d28 d29 d30 d31 d32 d33 d34 d35 d36 d37 d38 d39 d40 d41 d42 d43 d44 d45 d46 d47 d48 d49 d50 d51
        d52 d53 d54 d55 d56 d57 d58 d59 d60 d61 d62 d63 d64 d65 d66 d67 d68 d69 d70 d71 d72 d73 d74 d75 d76
        d77 d78 d79 d80 d81 d82 d83 d84 d85 d86 d87 d88 d89 d90 d91 d92 d93 d94 d95 d96 d97 d98 d99 d100
        d101 d102 d103 d104 d105 d106 d107 d108 d109 d110 d111 d112 d113 d114 d115 d116 d117 d118 d119 d120
        d121 d122 d123 d124 d125 d126 d127
    ];
}
