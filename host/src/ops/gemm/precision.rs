//! Products of `f32` on tensor cores: the sums of products of planes of `bf16`, or of numbers of TF32.

use std::any::type_name;

use cuda_std::tensor_map::EncodedTensorMap;
use warpwright_gpu::gemm::{FAMILY, Planes, Precisions, Problem, Tf32, policy};

use super::{Gemm, GemmElement, OPERATION, Tiles, Variant, Way, has_map, has_maps, map};
use crate::{
    error::{Error, InvalidKind, Result},
    named::named,
    ops::plan::{Place, Plan},
};

/// How a matrix product of `f32` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Precision {
    /// By fused multiply-adds in the order of `k`: every device and every variant give the same bits. Matrices of other types
    /// have this one.
    #[default]
    Exact,
    /// On tensor cores, by six products of `bf16` for each one of `f32`, about as exactly as by [`Exact`](Self::Exact) and
    /// faster. See [`precision`](crate::ops::gemm::GemmRequest::precision).
    Bf16x6,
    /// On tensor cores, by products of elements that are rounded to 10 bits of a fraction (TF32), faster still and much less
    /// exactly. See [`precision`](crate::ops::gemm::GemmRequest::precision).
    Tf32,
}

named! {
    Precision, "precision of a matrix product":
    Exact = "exact",
    Bf16x6 = "bf16x6",
    Tf32 = "tf32",
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the kernels of the requested precision. Returns `None` for the exact one. Fails if matrices of this type, the
    /// variant or the device have no such kernels.
    pub(super) fn precisions(&self, plan: &Plan<'_>) -> Result<Option<Precisions<T>>> {
        if self.precision == Precision::Exact {
            return Ok(None);
        }
        let precision = self.precision;
        let precisions = T::PRECISIONS.ok_or_else(|| {
            Error::invalid(
                InvalidKind::Value,
                OPERATION,
                "matrices of f32, or the precision exact,",
                format!(
                    "the precision {precision} and matrices of {}",
                    type_name::<T>()
                ),
            )
        })?;
        if Variant::ALL[plan.choice.index] != Variant::Best {
            let reason = format!("the precision {precision} is that of best alone");
            return Err(plan.not_eligible(reason));
        }
        if !plan.device.executor.is_specific(FAMILY.name) {
            return Err(plan.not_eligible(format!(
                "the precision {precision} takes compute capability 9.0, or the CPU executor"
            )));
        }
        Ok(Some(precisions))
    }

    /// Plans products by planes of `bf16`, which take a workspace. `k` is not 0, and C has elements.
    pub(super) fn by_planes(
        &self,
        plan: &mut Plan<'_>,
        kernels: Planes<T>,
        ([a, b, bias], c): ([Place<T>; 3], Place<T>),
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<()> {
        let Problem { m, n, k, count, .. } = problem;
        let multiprocessors = plan.device.info().multiprocessors.max(1) as usize;
        let size = match self.way {
            Some(Way::Warpgroups(Tiles::Small)) => policy::SMALL,
            Some(_) => policy::LARGE,
            None => policy::planes_size([m, n], count, multiprocessors),
        };
        let cut = policy::planes_cut(size);
        let tiles = self.countable(plan, cut.tiles([m, n]).saturating_mul(count), cut.tile)?;
        let [stack_a, stack_b] = self.stacks();
        let [groups_of_a, groups_of_b] = [(m, stack_a), (n, stack_b)].map(|(lines, stack)| {
            policy::planes_groups(lines, k, policy::WGMMA_STEP).saturating_mul(stack)
        });
        let groups = groups_of_a.saturating_add(groups_of_b);
        let config = plan.linear(groups, policy::SPLIT_BLOCK as usize)?;
        let planes_of_a = plan.room(policy::planes_len(groups_of_a));
        let planes_of_b = plan.room(policy::planes_len(groups_of_b));
        let args = (a, b, planes_of_a, planes_of_b, problem);
        // SAFETY: the operands have the sizes and strides of the problem, and there is room for the planes of all groups, of
        // which each has a block.
        unsafe { plan.launch(kernels.split, config, args) };
        // Blocks stay on their multiprocessors and take tile after tile.
        let config = plan.tiles(tiles.min(multiprocessors), cut.block)?;
        let config = config.with_shared(policy::wgmma_bytes(cut.tile[1]) as u32);
        let args = (
            planes_of_a,
            planes_of_b,
            a,
            b,
            c,
            bias,
            problem,
            alpha,
            self.beta,
        );
        // SAFETY: the launch before has written the planes. C and the bias are as for every product.
        unsafe { plan.launch(kernels.products[size], config, args) };
        Ok(())
    }

    /// Returns so many tiles of C, if kernels can count them in 32 bits.
    fn countable(&self, plan: &Plan<'_>, tiles: usize, of: [usize; 2]) -> Result<usize> {
        if tiles <= policy::WGMMA_MOST {
            return Ok(tiles);
        }
        Err(plan.not_eligible(format!(
            "the precision {} takes {} tiles of {of:?} elements at most, and this needs {tiles}",
            self.precision,
            policy::WGMMA_MOST
        )))
    }

    /// Plans products of numbers of TF32. Operands that tensor maps cannot bring take a workspace. `k` is not 0, and C has
    /// elements.
    pub(super) fn by_tf32(
        &self,
        plan: &mut Plan<'_>,
        kernels: Tf32<T>,
        ([a, b, bias], c): ([Place<T>; 3], Place<T>),
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<()> {
        let Problem { m, n, k, count, .. } = problem;
        let multiprocessors = plan.device.info().multiprocessors.max(1) as usize;
        // Coordinates of tensor maps have 32 bits.
        let fits = has_maps(plan.device)
            && [m, n, k, count]
                .iter()
                .all(|size| *size <= policy::WGMMA_MOST);
        let (rects, lines) = ([&self.a, &self.b], [m, n]);
        let along_k = [!self.transpose_a, self.transpose_b];
        let stacks = self.stacks();
        let mapped = [0, 1].map(|i| fits && has_map(rects[i], stacks[i]));
        // One operand can have lines across k: then that with more of them, and it becomes the first one.
        let across = (0..2)
            .filter(|i| mapped[*i] && !along_k[*i])
            .max_by_key(|i| lines[*i]);
        let (first, kernels_for) = match across {
            None => ([0, 1], 0),
            Some(0) => ([0, 1], 1),
            Some(_) => ([1, 0], 2),
        };
        let [rows, columns] = first.map(|i| lines[i]);
        // By the shape alone, so that the bits depend on nothing else.
        let usual = || policy::tf32_part([m, n, k], count);
        let part = self.part(k, policy::TF32_STEP, usual);
        let parts = k.div_ceil(part);
        let size = match self.way {
            Some(Way::Warpgroups(tiles)) => tiles as usize,
            Some(_) => policy::LARGE,
            None => policy::tf32_size([rows, columns, k], count, part, multiprocessors),
        };
        let cut = policy::wgmma_cut(size);
        let tiles = cut.tiles([rows, columns]).saturating_mul(parts);
        let tiles = self.countable(plan, tiles.saturating_mul(count), cut.tile)?;
        let mut maps = [EncodedTensorMap::from_words([0; 16]); 2];
        let mut groups = [0; 2];
        for (role, i) in first.into_iter().enumerate() {
            if across == Some(i) {
                maps[role] = map(plan, rects[i], stacks[i], policy::TF32_STEP)?;
            } else if along_k[i] && mapped[i] {
                maps[role] = map(plan, rects[i], stacks[i], cut.tile[role])?;
            } else {
                let own = policy::planes_groups(lines[i], k, policy::TF32_STEP);
                groups[i] = own.saturating_mul(stacks[i]);
            }
        }
        let bits = |[low, high]: [usize; 2]| usize::from(low > 0) | usize::from(high > 0) << 1;
        let mut tiles_of = [Place::none(); 2];
        if groups != [0; 2] {
            let blocks = groups[0].saturating_add(groups[1]);
            let config = plan.linear(blocks, policy::SPLIT_BLOCK as usize)?;
            tiles_of = groups.map(|groups| match groups {
                0 => Place::none(),
                _ => plan.room(policy::tf32_len(groups)),
            });
            let args = (a, b, tiles_of[0], tiles_of[1], problem, bits(groups));
            // SAFETY: the operands have the sizes and strides of the problem, and there is room for the tiles of all groups,
            // of which each has a block.
            unsafe { plan.launch(kernels.tiles, config, args) };
        }
        // Blocks stay on their multiprocessors and take tile after tile.
        let config = plan.tiles(tiles.min(multiprocessors), cut.block)?;
        let config = config.with_shared(policy::wgmma_bytes(cut.tile[1]) as u32);
        let sums = self.sums_of_parts(plan, [m, n, parts]);
        let [map_x, map_y] = maps;
        let [tiles_of_x, tiles_of_y] = first.map(|i| tiles_of[i]);
        let args = (
            map_x,
            map_y,
            tiles_of_x,
            tiles_of_y,
            c,
            bias,
            sums,
            problem,
            part,
            bits(first.map(|i| groups[i])),
            alpha,
            self.beta,
        );
        // SAFETY: the maps are of the rectangles, which the plan keeps, and the launch before has written the tiles of the
        // others. C and the bias are as for every product.
        unsafe { plan.launch(kernels.products[kernels_for][size], config, args) };
        if parts > 1 {
            // SAFETY: the launch before has written all sums.
            unsafe { self.add_parts(plan, kernels.parts, (sums, c, bias), problem, part, alpha)? };
        }
        Ok(())
    }
}
