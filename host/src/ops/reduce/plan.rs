//! The launches of a reduction, and where their results are.

use warpwright_gpu::reduce::{
    Kernels,
    policy::{CUTS, Cut, FINISH_BLOCK, FINISH_SPAN, Policy, RUNG_BLOCK},
};

use super::element::Partial;
use crate::{
    error::Result,
    ops::{
        Strided,
        plan::{Place, Plan},
    },
};

/// Plans the reduction `R` of `input`. Returns the place of its result, which is empty if there are no elements.
pub fn plan<R: Kernels>(plan: &mut Plan<'_>, input: Place<R::In>) -> Result<Place<R::Acc>> {
    const { assert!(size_of::<R::Acc>() <= size_of::<Partial>()) };
    let len = input.len();
    if len == 0 {
        return Ok(Place::none());
    }
    let result = match CUTS[plan.choice.index] {
        Cut::Best => best::<R>(plan, input)?,
        // `folding` halves the length per pass; `folding_shared` leaves one element per block.
        Cut::Folding { by } => {
            let shared = by > 2;
            let cut = |len: usize| {
                if shared {
                    (len.div_ceil(by), len.div_ceil(by))
                } else {
                    let left = len - len / 2;
                    (left, left.div_ceil(RUNG_BLOCK))
                }
            };
            let mut left = rung::<R>(plan, input, cut(len))?;
            while left.len() > 1 {
                let (partials, blocks) = cut(left.len());
                let to = plan.room(partials);
                let config = plan.linear(blocks, RUNG_BLOCK)?;
                let kernel = R::FOLD[usize::from(shared)];
                // SAFETY: the rooms do not overlap, and the second has an element for each one that a fold of the first
                // leaves.
                unsafe { plan.launch(kernel, config, (left, to)) };
                left = to;
            }
            left
        }
        cut => {
            let blocks = match cut {
                Cut::PerBlock(elements) => len.div_ceil(elements),
                Cut::Strided {
                    blocks_per_multiprocessor,
                    least_per_block,
                } => Strided {
                    kernel: R::RUNGS[plan.choice.index].descriptor(),
                    threads: RUNG_BLOCK as u32,
                    shared_bytes: 0,
                    blocks_per_multiprocessor,
                    least_per_block,
                }
                .blocks(plan.device, plan.family.name, len)?,
                Cut::Folding { .. } | Cut::Best => unreachable!("handled above"),
            };
            let mut left = rung::<R>(plan, input, (blocks, blocks))?;
            while left.len() > 1 {
                let blocks = left.len().div_ceil(FINISH_SPAN);
                let to = plan.room(blocks);
                let config = plan.linear(blocks, FINISH_BLOCK)?;
                // SAFETY: the rooms do not overlap, and the second has an element per block.
                unsafe { plan.launch(R::FINISH, config, (left, to)) };
                left = to;
            }
            left
        }
    };
    if R::IS_POSITION {
        // The result has padding, which no kernel writes and the download reads.
        plan.zero_workspace();
    }
    Ok(result)
}

/// Plans the first pass of a rung, which leaves `partials` partial results, computed by `blocks` blocks.
fn rung<R: Kernels>(
    plan: &mut Plan<'_>,
    input: Place<R::In>,
    (partials, blocks): (usize, usize),
) -> Result<Place<R::Acc>> {
    let to = plan.room(partials);
    let config = plan.linear(blocks, RUNG_BLOCK)?;
    // SAFETY: the room has an element for each partial result, and belongs to this reduction alone.
    unsafe { plan.launch(R::RUNGS[plan.choice.index], config, (input, to)) };
    Ok(to)
}

/// Plans one launch, whose last block folds the partial results.
fn best<R: Kernels>(plan: &mut Plan<'_>, input: Place<R::In>) -> Result<Place<R::Acc>> {
    let (len, size) = (input.len(), size_of::<R::In>());
    let policy: Policy = plan.policy(R::BEST, size);
    let bytes = len * size;
    let multiprocessors = plan.device.info().multiprocessors.max(1) as usize;
    let most = multiprocessors * policy.blocks_for(bytes) as usize;
    let least = policy.least_bytes(bytes) / size;
    // All blocks take the same number of elements, a multiple of what their threads have in flight at once.
    let per_block = len.div_ceil(most).next_multiple_of(least);
    let blocks = len.div_ceil(per_block);
    let partials = plan.room(blocks);
    let result = plan.room(1);
    let ticket = plan.zeros::<u32>(1);
    let config = plan.linear(blocks, policy.threads_for(bytes))?;
    let args = (input, per_block, partials, ticket, result);
    // SAFETY: the rooms do not overlap and have a partial result per block. The ticket is 0, and the kernel leaves it 0.
    unsafe { plan.launch(R::BEST, config, args) };
    Ok(result)
}
