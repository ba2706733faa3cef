//! `best` for groups: many products, each of its own size, by one launch.
//!
//! ```text
//! block:
//!     load the number of its product, of which there is one for each block
//!     load the product's arguments from the table of products
//!     compute a tile of C as the kernel for small tiles does
//! ```
//!
//! A small product has few tiles, and a launch of its own leaves most multiprocessors without work. Here the blocks of all
//! products are those of one grid.

use cuda_std::{bf16, f16, prelude::*, unrolled};

use super::{
    band::Fragments,
    best, fragments,
    output::Output,
    policy::{BEST_BLOCK, GROUP_RESIDENT, SMALL},
    problem::*,
};
use crate::tuning::{Numbers, SHIPPED};

/// The words of a member of a table of products, whatever its types.
pub const MEMBER_WORDS: usize = 32;

/// A number in words of its own, as a launch has it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Word<T>(T);

/// A product in the table of a group: the number of its first block, and the words of the arguments with which the kernel for
/// small tiles computes it alone.
#[repr(C)]
#[derive(Clone, Copy)]
struct Member<T, R, S> {
    first: u64,
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<R>,
    problem: Problem,
    alpha: Word<S>,
    beta: Word<S>,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<S>,
    column_scales: Global<S>,
}

impl<T: Element<Scale = S>, R: Element<Scale = S>, S: Scalar> Member<T, R, S> {
    /// Returns this block's member of a table, and the number of the block's tile of C.
    #[inline(always)]
    #[track_caller]
    fn of_block(numbers: Global<u32>, members: Global<u64>) -> (Self, u32) {
        const { assert!(size_of::<Self>() == 8 * MEMBER_WORDS) };
        let block = thread::block_idx_x();
        let first = numbers.get(block as usize) as usize * MEMBER_WORDS;
        let mut words = [0; MEMBER_WORDS];
        unrolled!(i < { MEMBER_WORDS / 2 } of 16 => {
            [words[2 * i], words[2 * i + 1]] = members.get_chunk(first + 2 * i);
        });
        // SAFETY: by the contract of the kernels, the words of the table are those of a member.
        let member = unsafe { core::mem::transmute_copy::<[u64; MEMBER_WORDS], Self>(&words) };
        (member, block - member.first as u32)
    }

    /// Returns C and what its elements are made of besides their sums.
    #[inline(always)]
    fn out(&self) -> Output<R> {
        Output {
            c: self.c,
            addend: self.addend,
            bias: self.bias,
            row_scales: self.row_scales,
            column_scales: self.column_scales,
            alpha: self.alpha.0,
            beta: self.beta.0,
        }
    }
}

/// Computes the products of a group, each as [`gemm_best_fragments_small`](super::gemm_best_fragments_small) does.
///
/// `numbers` has the number of its product for each block, and `members` is a table of products, each as the words of a
/// `Member`.
///
/// Launch: one block of 128 threads for each 64 x 64 tile of all C; static shared memory of 2 x 3 x 4 KiB. A block reads the
/// number, and 256 bytes of the table. The sums are those of the kernel for one product: the same bits.
///
/// # Safety
/// Every member is as for [`gemm_best`](super::gemm_best), and no C overlaps another view. All have the transposes of the
/// kernel. A product's blocks follow one another from the first one of its member on.
///
/// Source: ours.
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, GROUP_RESIDENT),
    instances(
        f16_nn: (f16, f16, 8, true, false),
        f16_nt: (f16, f16, 8, true, true),
        f16_tn: (f16, f16, 8, false, false),
        f16_tt: (f16, f16, 8, false, true),
        bf16_nn: (bf16, bf16, 8, true, false),
        bf16_nt: (bf16, bf16, 8, true, true),
        bf16_tn: (bf16, bf16, 8, false, false),
        bf16_tt: (bf16, bf16, 8, false, true),
        f16_f32_nn: (f16, f32, 8, true, false),
        f16_f32_nt: (f16, f32, 8, true, true),
        f16_f32_tn: (f16, f32, 8, false, false),
        f16_f32_tt: (f16, f32, 8, false, true),
        bf16_f32_nn: (bf16, f32, 8, true, false),
        bf16_f32_nt: (bf16, f32, 8, true, true),
        bf16_f32_tn: (bf16, f32, 8, false, false),
        bf16_f32_tt: (bf16, f32, 8, false, true),
        i8_nn: (i8, i32, 16, true, false),
        i8_nt: (i8, i32, 16, true, true),
        i8_tn: (i8, i32, 16, false, false),
        i8_tt: (i8, i32, 16, false, true),
    )
)]
pub unsafe fn gemm_best_group<
    T: Fragments,
    R: Element<Scale = T::Scale>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    numbers: Global<u32>,
    members: Global<u64>,
) {
    let (member, tile) = Member::<T, R, T::Scale>::of_block(numbers, members);
    let (a, b, out) = (member.a, member.b, member.out());
    fragments::product_of_small_tiles::<T, R, CHUNK, A_ALONG_K, B_ALONG_K>(
        a,
        b,
        out,
        member.problem,
        tile,
    );
}

/// [`gemm_best_group`] in `f32`: each product as [`gemm_best_small`](super::gemm_best_small) computes it.
///
/// # Safety
/// As for [`gemm_best_group`].
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, GROUP_RESIDENT),
    instances(
        f32_nn: (true, false),
        f32_nt: (true, true),
        f32_tn: (false, false),
        f32_tt: (false, true),
    )
)]
pub unsafe fn gemm_best_group_single<const A_ALONG_K: bool, const B_ALONG_K: bool>(
    numbers: Global<u32>,
    members: Global<u64>,
) {
    let (member, tile) = Member::<f32, f32, f32>::of_block(numbers, members);
    let (a, b, out) = (member.a, member.b, member.out());
    best::product_of_small_tiles::<f32, Numbers<f32, SHIPPED>, 4, A_ALONG_K, B_ALONG_K>(
        a,
        b,
        out,
        &member.problem,
        tile,
    );
}
