//! The variants below `best`: which products they take, and the launches of those whose operands tensor maps bring.

use std::any::type_name;

use warpwright_gpu::gemm::{
    FAMILY, MappedProducts, Problem, Products, Rung,
    policy::{self, Mapped},
};

use super::{Gemm, GemmElement, Places, has_map, has_maps, map};
use crate::{error::Result, ops::plan::Plan};

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the kernels of a rung whose threads load the operands. Fails if the type or the device has no kernels of the
    /// rung.
    pub(super) fn loading(&self, plan: &Plan<'_>, rung: Rung<T>) -> Result<Option<Products<T>>> {
        let info = plan.device.info();
        match rung {
            Rung::Best => Ok(None),
            Rung::InOrder(kernels) => Ok(Some(kernels)),
            Rung::Tensor(kernels) => {
                // The CPU executor has every instruction.
                let is_new = info.compute_capability.is_none()
                    || plan.device.executor.architecture(FAMILY.name)
                        >= policy::FRAGMENTS_ARCHITECTURE;
                if !is_new {
                    let why = "it takes a device of compute capability 8.0 or later";
                    return Err(plan.not_eligible(why.to_owned()));
                }
                Ok(Some(kernels))
            }
            Rung::Mapped(_, numbers) => {
                let has_kernels =
                    plan.device.executor.is_specific(FAMILY.name) && has_maps(plan.device);
                let bytes = numbers.bytes() + policy::WGMMA_STATIC_BYTES;
                if !has_kernels || bytes > info.shared_bytes_per_block {
                    let why = "it takes a device of compute capability 9.0, and CUDA 12 or later";
                    return Err(plan.not_eligible(why.to_owned()));
                }
                Ok(None)
            }
            Rung::None => Err(plan.not_eligible(format!(
                "it has no kernels for matrices of {} with a result in {}",
                type_name::<T::Factor>(),
                type_name::<T::Result>()
            ))),
        }
    }

    /// Plans products whose operands tensor maps bring, on a device that has them. `k` is not 0, and C has elements.
    pub(super) fn by_maps(
        &self,
        plan: &mut Plan<'_>,
        (kernels, numbers): (MappedProducts<T>, Mapped),
        ([_, _], ([c, addend, bias], [row_scales, column_scales])): Places<T>,
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<()> {
        let Problem { m, n, k, count, .. } = problem;
        let stacks = self.stacks();
        let (rects, along_k) = ([&self.a, &self.b], [!self.transpose_a, self.transpose_b]);
        let fits = |size: &usize| *size <= policy::WGMMA_MOST;
        let are_mapped = (0..2).all(|i| has_map(rects[i], stacks[i], false));
        if ![m, n, k, count].iter().all(fits) || !are_mapped {
            return Err(plan.not_eligible(format!(
                "it takes sizes up to {} and rows that begin at multiples of 16 bytes, given {m} x {k} times {k} x {n}",
                policy::WGMMA_MOST
            )));
        }
        let Mapped { cut, stays, .. } = numbers;
        let tiles = cut.tiles([m, n]).saturating_mul(count);
        let tiles = self.countable(plan, tiles, cut.tile)?;
        // Each block of a cluster brings its rows of A, and its part of the columns of B.
        let blocks = numbers.blocks as usize;
        let part = cut.tile.map(|side| side / blocks);
        let rows = |i: usize| if along_k[i] { part[i] } else { 64 };
        let [map_a, map_b] = [0, 1].map(|i| map(plan, rects[i], stacks[i], false, rows(i)));
        let most = match stays {
            true => (plan.device.info().multiprocessors as usize / blocks).max(1),
            false => tiles,
        };
        let config = plan.tiles(tiles.min(most).saturating_mul(blocks), cut.block)?;
        let config = config.with_shared(numbers.bytes() as u32);
        let [a, b] = [self.transpose_a, self.transpose_b].map(usize::from);
        let args = (
            map_a?,
            map_b?,
            c,
            problem,
            alpha,
            self.beta,
            addend,
            bias,
            row_scales,
            column_scales,
        );
        // SAFETY: the maps are of the rectangles, which the plan keeps, with the tiles of the kernel. C and the bias are as for
        // every product, and the grid has whole clusters: one for each tile, or those that take one after another.
        unsafe { plan.launch(kernels[a][b], config, args) };
        Ok(())
    }
}
