//! Products of `f32` on tensor cores: the sums of products of planes of `bf16`.

use std::any::type_name;

use warpwright_gpu::gemm::{FAMILY, Planes, Problem, policy};

use super::{Gemm, GemmElement, OPERATION, Tiles, Variant, Way};
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
}

named! {
    Precision, "precision of a matrix product":
    Exact = "exact",
    Bf16x6 = "bf16x6",
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the kernels of the requested precision. Returns `None` for the exact one. Fails if matrices of this type, the
    /// variant or the device have no such kernels.
    pub(super) fn planes(&self, plan: &Plan<'_>) -> Result<Option<Planes<T>>> {
        if self.precision == Precision::Exact {
            return Ok(None);
        }
        let planes = T::PLANES.ok_or_else(|| {
            Error::invalid(
                InvalidKind::Value,
                OPERATION,
                "matrices of f32, or the precision exact,",
                format!("the precision bf16x6 and matrices of {}", type_name::<T>()),
            )
        })?;
        if Variant::ALL[plan.choice.index] != Variant::Best {
            return Err(plan.not_eligible("the precision bf16x6 is that of best alone".to_owned()));
        }
        if !plan.device.executor.is_specific(FAMILY.name) {
            let reason = "the precision bf16x6 takes compute capability 9.0, or the CPU executor";
            return Err(plan.not_eligible(reason.to_owned()));
        }
        Ok(Some(planes))
    }

    /// Plans products by planes of `bf16`, which take a workspace. `k` is not 0, and C has elements.
    pub(super) fn by_planes(
        &self,
        plan: &mut Plan<'_>,
        kernels: Planes<T>,
        [a, b, bias]: [Place<T>; 3],
        c: Place<T>,
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
        // Kernels count tiles in 32 bits.
        let tiles = cut.tiles([m, n]).saturating_mul(count);
        if tiles > policy::WGMMA_MOST {
            return Err(plan.not_eligible(format!(
                "the precision bf16x6 takes {} tiles of {:?} elements at most, and this needs {tiles}",
                policy::WGMMA_MOST,
                cut.tile
            )));
        }
        let [stack_a, stack_b] = self.stacks();
        let groups_of_a = policy::planes_groups(m, k).saturating_mul(stack_a);
        let groups_of_b = policy::planes_groups(n, k).saturating_mul(stack_b);
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
}
