//! The precisions of products of `f32` on tensor cores, and products of planes of `bf16`.

use std::any::type_name;

use warpwright_gpu::gemm::{FAMILY, Lines, Planes, Problem, policy};

use super::{Gemm, GemmElement, OPERATION, Places, Tiles, Variant, Way};
use crate::{
    error::{Error, InvalidKind, Result},
    named::named,
    ops::plan::Plan,
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

/// The kernels of a precision that is not exact.
pub(super) enum Inexact<T: GemmElement> {
    Planes(Planes<T>),
    Tf32(Lines<T>),
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the kernels of the requested precision. Returns `None` for the exact one. Fails if matrices of this type, the
    /// variant or the device have no such kernels.
    pub(super) fn inexact(&self, plan: &Plan<'_>) -> Result<Option<Inexact<T>>> {
        let precision = self.precision;
        // Only `f32` has planes.
        let kernels = match (precision, T::PLANES, T::LINES) {
            (Precision::Exact, ..) => return Ok(None),
            (Precision::Bf16x6, Some(planes), _) => Inexact::Planes(planes),
            (Precision::Tf32, Some(_), Some(lines)) => Inexact::Tf32(lines),
            _ => {
                return Err(Error::invalid(
                    InvalidKind::Value,
                    OPERATION,
                    "matrices of f32, or the precision exact,",
                    format!(
                        "the precision {precision} and matrices of {}",
                        type_name::<T::Factor>()
                    ),
                ));
            }
        };
        if Variant::ALL[plan.choice.index] != Variant::Best {
            let reason = format!("the precision {precision} is that of best alone");
            return Err(plan.not_eligible(reason));
        }
        if !plan.device.executor.is_specific(FAMILY.name) {
            return Err(plan.not_eligible(format!(
                "the precision {precision} takes compute capability 9.0, or the CPU executor"
            )));
        }
        Ok(Some(kernels))
    }

    /// Plans products by planes of `bf16`, which take a workspace. `k` is not 0, and C has elements.
    pub(super) fn by_planes(
        &self,
        plan: &mut Plan<'_>,
        kernels: Planes<T>,
        ([a, b], out): Places<T>,
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
        let ([c, addend, bias], [row_scales, column_scales]) = out;
        let args = (
            planes_of_a,
            planes_of_b,
            a,
            b,
            c,
            problem,
            alpha,
            self.beta,
            addend,
            bias,
            row_scales,
            column_scales,
        );
        // SAFETY: the launch before has written the planes. C and the bias are as for every product.
        unsafe { plan.launch(kernels.products[size], config, args) };
        Ok(())
    }

    /// Returns so many tiles of C, if kernels can count them in 32 bits.
    pub(super) fn countable(&self, plan: &Plan<'_>, tiles: usize, of: [usize; 2]) -> Result<usize> {
        if tiles <= policy::WGMMA_MOST {
            return Ok(tiles);
        }
        Err(plan.not_eligible(format!(
            "warpgroups take {} tiles of {of:?} elements at most, and this product has {tiles}",
            policy::WGMMA_MOST
        )))
    }
}
