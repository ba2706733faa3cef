//! Plans reductions of columns.

#[cfg(feature = "ladder")]
use cuda_std::kernel::EntryOf;
#[cfg(feature = "ladder")]
use warpwright_gpu::columns::{
    ColumnsColumnPerThread, Variant,
    policy::{FOUR_BLOCK, RUNG_BLOCK},
};
use warpwright_gpu::columns::{
    Kernels,
    policy::{BEST_BLOCK, FOLD_COLUMNS, FOLD_ROWS, Policy, Tiling, view},
};

use super::{
    Strided,
    plan::{Place, Plan, Rows},
};
use crate::error::Result;

/// Plans the launches of the chosen variant.
pub(super) fn plan<A: Kernels>(plan: &mut Plan<'_>, matrix: Rows<A::In>) -> Result<()> {
    #[cfg(feature = "ladder")]
    if let Some(kernel) = A::rung(Variant::ALL[plan.choice.index]) {
        return rung::<A>(plan, kernel, matrix);
    }
    best::<A>(plan, matrix)
}

/// Plans a variant below `best`.
#[cfg(feature = "ladder")]
fn rung<A: Kernels>(
    plan: &mut Plan<'_>,
    kernel: EntryOf<ColumnsColumnPerThread<A>>,
    matrix: Rows<A::In>,
) -> Result<()> {
    let Rows {
        elements,
        height,
        width,
    } = matrix;
    // 64 threads with four columns each, or 256 with one.
    let threads = match Variant::ALL[plan.choice.index] {
        Variant::FourColumnsPerThread => FOUR_BLOCK,
        _ => RUNG_BLOCK,
    };
    let config = plan.linear(width.div_ceil(RUNG_BLOCK), threads)?;
    let args = (elements, Place::output(width), width, height);
    // SAFETY: there is an output per column, and there are blocks for all columns.
    unsafe { plan.launch(kernel, config, args) };
    Ok(())
}

fn best<A: Kernels>(plan: &mut Plan<'_>, matrix: Rows<A::In>) -> Result<()> {
    let Rows {
        elements,
        height,
        width,
    } = matrix;
    let output = Place::<A::Out>::output(width);
    let (size, total_bytes) = (size_of::<A::In>(), size_of::<A::Acc>());
    let seen = view(elements.offset(), height, width, size);
    let mut folded = Place::output(0);
    if seen.rows > 0 {
        let policy: Policy = plan.policy(A::BEST, size);
        let shared_bytes = BEST_BLOCK * (total_bytes + 16 / size * size_of::<A::Part>());
        let filling = Strided {
            kernel: A::BEST.descriptor(),
            threads: BEST_BLOCK as u32,
            shared_bytes: shared_bytes as u32,
            blocks_per_multiprocessor: policy.blocks,
            least_per_block: 1,
        };
        let filling = filling.blocks(plan.device, plan.family.name, usize::MAX)?;
        let tiling = Tiling::choose(&policy, &seen, size, filling);
        let (totals, tickets) = tiling.tree();
        let totals = plan.room(totals * tiling.tiles * tiling.columns);
        let tickets = plan.zeros(tickets * tiling.tiles);
        let output = if seen.fold {
            folded = plan.room(seen.period);
            Place::output(0)
        } else {
            output
        };
        let blocks = tiling.blocks.saturating_mul(tiling.tiles);
        let config = plan.linear(blocks, BEST_BLOCK)?;
        let args = (
            elements,
            seen.head,
            seen.period,
            seen.rows,
            tiling.rows_per_block,
            tiling.lanes_log2,
            totals,
            tickets,
            folded,
            output,
            height,
        );
        // SAFETY: the rooms have the sizes of the tiling and do not overlap. The tickets are 0, and the kernel leaves them
        // 0.
        unsafe { plan.launch(A::BEST, config.with_shared(shared_bytes as u32), args) };
    }
    if seen.fold {
        let config = plan.tiles(
            width.div_ceil(FOLD_COLUMNS),
            [FOLD_COLUMNS as u32, FOLD_ROWS as u32],
        )?;
        let shared_bytes = FOLD_COLUMNS * FOLD_ROWS * total_bytes;
        let tail = seen.head + seen.rows * seen.period;
        let args = (elements, seen.head, tail, folded, output, width, height);
        // SAFETY: the pass before wrote a total for each element of the period, and there are blocks for all columns.
        unsafe { plan.launch(A::FOLD, config.with_shared(shared_bytes as u32), args) };
    }
    Ok(())
}
