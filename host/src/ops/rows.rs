//! Plans reductions of rows.

use warpwright_gpu::rows::{Kernels, policy::Policy};
#[cfg(feature = "ladder")]
use warpwright_gpu::rows::{
    Variant,
    policy::{CHUNK, ROW_BLOCK, RUNG_BLOCK},
};

#[cfg(feature = "ladder")]
use super::MOST_BLOCKS;
use super::{
    Strided,
    plan::{Place, Plan, Rows},
};
use crate::{buffer::Element, error::Result};

/// Plans the launches of the chosen variant.
pub(super) fn plan<A: Kernels>(plan: &mut Plan<'_>, matrix: Rows<A::In>) -> Result<()>
where
    A::Acc: Element,
{
    #[cfg(feature = "ladder")]
    if rung::<A>(plan, matrix)? {
        return Ok(());
    }
    best::<A>(plan, matrix)
}

/// Plans a variant below `best`, if that was chosen, and returns whether it was.
#[cfg(feature = "ladder")]
fn rung<A: Kernels>(plan: &mut Plan<'_>, matrix: Rows<A::In>) -> Result<bool>
where
    A::Acc: Element,
{
    let Rows {
        elements,
        height,
        width,
    } = matrix;
    let output = Place::output(height);
    match Variant::ALL[plan.choice.index] {
        Variant::ChunkAtomic => {
            let totals = plan.kept(height, move || vec![A::IDENTITY; height]);
            let chunks = width.div_ceil(CHUNK) * height;
            let config = plan.linear(chunks.div_ceil(RUNG_BLOCK), RUNG_BLOCK)?;
            // SAFETY: there is a total per row, which holds the identity, and a thread per chunk.
            unsafe { plan.launch(A::CHUNK_ATOMIC, config, (elements, totals, width)) };
            let config = plan.linear(height.div_ceil(RUNG_BLOCK), RUNG_BLOCK)?;
            // SAFETY: there is a total, an output and a thread per row. The kernel resets the totals to the identity.
            unsafe { plan.launch(A::CHUNK_ATOMIC_FINISH, config, (totals, output, width)) };
        }
        Variant::BlockPerRow => {
            let config = plan.linear(height.min(MOST_BLOCKS), ROW_BLOCK)?;
            // SAFETY: there is an output per row.
            unsafe { plan.launch(A::BLOCK_PER_ROW, config, (elements, output, width)) };
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn best<A: Kernels>(plan: &mut Plan<'_>, matrix: Rows<A::In>) -> Result<()> {
    let Rows {
        elements,
        height,
        width,
    } = matrix;
    let (output, size) = (Place::output(height), size_of::<A::In>());
    let policy: Policy = plan.policy(A::BEST, size);
    let (device, family) = (plan.device, plan.family.name);
    let strided = |kernel, least_per_block, len| {
        let strided = Strided {
            kernel,
            threads: policy.block as u32,
            shared_bytes: 0,
            blocks_per_multiprocessor: policy.resident,
            least_per_block,
        };
        strided.blocks(device, family, len)
    };
    let bytes = width * size;
    let lanes_log2 = policy.lanes_log2(bytes);
    let filling = strided(A::BEST.descriptor(), 1, usize::MAX)? * policy.block;
    let few = height << lanes_log2 < filling / policy.least_filling;
    if few && bytes >= 2 * policy.least_bytes || bytes >= policy.row_bytes {
        let filling = strided(A::LONG.descriptor(), 1, usize::MAX)?;
        let each = policy.elements_per_block(height, width, size, filling);
        let blocks = width.div_ceil(each);
        let totals = plan.room(height * blocks);
        let tickets = plan.zeros(height);
        let config = plan.linear(height * blocks, policy.block)?;
        let blocks = blocks as u32;
        let args = (elements, totals, tickets, output, width, blocks, each);
        // SAFETY: there is a total per block, and a ticket and an output per row. The tickets are 0, and the kernel leaves
        // them 0.
        unsafe { plan.launch(A::LONG, config, args) };
        return Ok(());
    }
    let blocks = strided(A::BEST.descriptor(), policy.block >> lanes_log2, height)?;
    let config = plan.linear(blocks, policy.block)?;
    // SAFETY: there is an output per row.
    unsafe { plan.launch(A::BEST, config, (elements, output, width, lanes_log2)) };
    Ok(())
}
