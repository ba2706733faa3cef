//! The parts of a long `k`, whose sums a launch of their own adds.

use warpwright_gpu::gemm::{Parts, Problem, policy};

use super::{Gemm, GemmElement, OutPlaces};
use crate::{
    error::Result,
    ops::plan::{Place, Plan},
};

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the length along k of a part: what tests ask for, in whole steps, or the usual one.
    pub(super) fn part(&self, k: usize, step: usize, usual: impl FnOnce() -> usize) -> usize {
        match self.parts {
            Some(parts) => k.div_ceil(parts.max(1)).next_multiple_of(step).min(k),
            None => usual(),
        }
    }

    /// Returns the room for the sums of so many parts of all products `[m, n, parts]`, if there are several.
    pub(super) fn sums_of_parts(
        &self,
        plan: &mut Plan<'_>,
        [m, n, parts]: [usize; 3],
    ) -> Place<T::Scale> {
        match parts {
            1 => Place::none(),
            _ => plan.room(self.len_of_part(m, n).saturating_mul(parts)),
        }
    }

    /// Returns the elements of a part of all products.
    fn len_of_part(&self, m: usize, n: usize) -> usize {
        let of_one = m.saturating_mul(policy::parts_pitch(n));
        of_one.saturating_mul(self.count)
    }

    /// Plans the launch that adds parts.
    ///
    /// # Safety
    /// The launch before writes all sums. C and the bias are as for every product.
    pub(super) unsafe fn add_parts(
        &self,
        plan: &mut Plan<'_>,
        kernel: Parts<T::Result>,
        (sums, out): (Place<T::Scale>, OutPlaces<T>),
        problem: Problem,
        part: usize,
        alpha: T::Scale,
    ) -> Result<()> {
        let threads = policy::PARTS_BLOCK as usize;
        let of_a_block = policy::PARTS_CHUNK * threads;
        let blocks = self.len_of_part(problem.m, problem.n).div_ceil(of_a_block);
        let config = plan.linear(blocks, threads)?;
        let ([c, addend, bias], [row_scales, column_scales]) = out;
        let args = (
            sums,
            c,
            problem,
            part,
            alpha,
            self.beta,
            addend,
            bias,
            row_scales,
            column_scales,
        );
        // SAFETY: by the contract.
        unsafe { plan.launch(kernel, config, args) };
        Ok(())
    }
}
