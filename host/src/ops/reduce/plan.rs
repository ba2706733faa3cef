//! The launches of a reduction, and where their results are.

use warpwright_gpu::reduce::{Kernels, policy::Policy};
#[cfg(feature = "ladder")]
use warpwright_gpu::reduce::{
    Variant,
    policy::{Cut, FINISH_BLOCK, FINISH_SPAN, RUNG_BLOCK},
};

#[cfg(feature = "ladder")]
use crate::ops::Strided;
use crate::{
    error::Result,
    ops::plan::{Place, Plan},
};

/// The bytes of a partial result, as the kernels write them.
#[doc(hidden)]
pub type Partial = [u64; 2];

/// Plans the reduction `R` of `input`. Returns the place of its result, which is empty if there are no elements.
pub fn plan<R: Kernels>(plan: &mut Plan<'_>, input: Place<R::In>) -> Result<Place<R::Acc>> {
    const { assert!(size_of::<R::Acc>() <= size_of::<Partial>()) };
    let len = input.len();
    if len == 0 {
        return Ok(Place::none());
    }
    let result = match rung::<R>(plan, input)? {
        Some(result) => result,
        None => best::<R>(plan, input, None)?,
    };
    if R::IS_POSITION {
        // The result has padding, which no kernel writes and the download reads.
        plan.zero_workspace();
    }
    Ok(result)
}

/// Plans the reduction `R` of `input`, which has elements, with its result at `to`.
pub fn plan_to<R: Kernels>(
    plan: &mut Plan<'_>,
    input: Place<R::In>,
    to: Place<R::Acc>,
) -> Result<()> {
    match rung::<R>(plan, input)? {
        Some(result) => plan.copy_to(result, to),
        None => best::<R>(plan, input, Some(to)).map(drop)?,
    }
    Ok(())
}

/// Plans a variant below `best`, if that was chosen: a first pass over the input, and later ones until one partial result is
/// left.
#[cfg(feature = "ladder")]
fn rung<R: Kernels>(plan: &mut Plan<'_>, input: Place<R::In>) -> Result<Option<Place<R::Acc>>> {
    let variant = Variant::ALL[plan.choice.index];
    let Some((first, later)) = R::rung(variant) else {
        return Ok(None);
    };
    // Returns the number of partial results of a pass over so many elements, and its blocks and their threads.
    let pass = |len: usize, is_first: bool| -> Result<(usize, usize, usize)> {
        match variant.cut() {
            Cut::Folding { by: 2 } => {
                let left = len - len / 2;
                Ok((left, left.div_ceil(RUNG_BLOCK), RUNG_BLOCK))
            }
            // `folding_shared` leaves one partial result per block.
            Cut::Folding { by } => Ok((len.div_ceil(by), len.div_ceil(by), RUNG_BLOCK)),
            _ if !is_first => {
                let blocks = len.div_ceil(FINISH_SPAN);
                Ok((blocks, blocks, FINISH_BLOCK))
            }
            cut => {
                let blocks = match cut {
                    Cut::PerBlock(elements) => len.div_ceil(elements),
                    Cut::Strided {
                        blocks_per_multiprocessor,
                        least_per_block,
                    } => Strided {
                        kernel: first.descriptor(),
                        threads: RUNG_BLOCK as u32,
                        shared_bytes: 0,
                        blocks_per_multiprocessor,
                        least_per_block,
                    }
                    .blocks(plan.device, plan.family.name, len)?,
                    Cut::Folding { .. } | Cut::Best => unreachable!("handled above"),
                };
                Ok((blocks, blocks, RUNG_BLOCK))
            }
        }
    };
    let (partials, blocks, threads) = pass(input.len(), true)?;
    let mut left = plan.room(partials);
    let config = plan.linear(blocks, threads)?;
    // SAFETY: the room has an element for each partial result, and belongs to this reduction alone.
    unsafe { plan.launch(first, config, (input, left)) };
    while left.len() > 1 {
        let (partials, blocks, threads) = pass(left.len(), false)?;
        let to = plan.room(partials);
        let config = plan.linear(blocks, threads)?;
        // SAFETY: the rooms do not overlap, and the second has an element for each partial result of the pass.
        unsafe { plan.launch(later, config, (left, to)) };
        left = to;
    }
    Ok(Some(left))
}

#[cfg(not(feature = "ladder"))]
fn rung<R: Kernels>(_: &mut Plan<'_>, _: Place<R::In>) -> Result<Option<Place<R::Acc>>> {
    Ok(None)
}

/// Plans one launch, whose last block folds the partial results. The result is at `to`, or else in a room.
fn best<R: Kernels>(
    plan: &mut Plan<'_>,
    input: Place<R::In>,
    to: Option<Place<R::Acc>>,
) -> Result<Place<R::Acc>> {
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
    let result = to.unwrap_or_else(|| plan.room(1));
    let ticket = plan.zeros::<u32>(1);
    let config = plan.linear(blocks, policy.threads_for(bytes))?;
    let args = (input, per_block, partials, ticket, result);
    // SAFETY: the rooms do not overlap and have a partial result per block. The ticket is 0, and the kernel leaves it 0.
    unsafe { plan.launch(R::BEST, config, args) };
    Ok(result)
}
