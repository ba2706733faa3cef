//! Reductions of columns: from a problem to launches.

use warpwright_gpu::columns::{
    FAMILY,
    policy::{BEST_BLOCK, FOLD_COLUMNS, FOLD_ROWS, FOUR_BLOCK, Policy, RUNG_BLOCK, Tiling, view},
};

use super::{
    Strided,
    axis::{
        Argument::{Input, Nothing, Number, Output, Word, Workspace},
        Plan, Problem,
    },
};
use crate::error::Result;

/// The launches of the variant that was chosen.
pub(super) fn plan(problem: &Problem<'_>, plan: &mut Plan) -> Result<()> {
    let &Problem { height, width, .. } = problem;
    let kernel = problem.kernels.columns[problem.choice.index];
    let rung = |plan: &mut Plan, threads: usize| {
        let arguments = vec![Input, Output, Number(width), Number(height)];
        // 64 threads with four columns each, or 256 with one.
        let blocks = width.div_ceil(RUNG_BLOCK);
        plan.push(problem, kernel, blocks, [threads as u32, 1], 0, arguments)
    };
    match problem.choice.variant() {
        "column_per_thread" => rung(plan, RUNG_BLOCK),
        "four_columns_per_thread" => rung(plan, FOUR_BLOCK),
        _ => best(problem, plan),
    }
}

fn best(problem: &Problem<'_>, plan: &mut Plan) -> Result<()> {
    let &Problem {
        height,
        width,
        kernels,
        ..
    } = problem;
    let kernel = kernels.columns[problem.choice.index];
    let seen = view(problem.address, height, width, kernels.element_bytes);
    let mut folded = Nothing;
    if seen.rows > 0 {
        let size = kernels.element_bytes;
        let policy: Policy = problem.device.policy(kernel, size);
        let shared_bytes = BEST_BLOCK * (kernels.total_bytes + 16 / size * kernels.part_bytes);
        let filling = Strided {
            kernel,
            threads: BEST_BLOCK as u32,
            shared_bytes: shared_bytes as u32,
            blocks_per_multiprocessor: policy.blocks,
            least_per_block: 1,
        };
        let filling = filling.blocks(problem.device, FAMILY.name, usize::MAX)?;
        let tiling = Tiling::choose(&policy, &seen, size, filling);
        let (totals, tickets) = tiling.tree();
        let totals = totals * tiling.tiles * tiling.columns;
        let totals = plan.room(totals, kernels.total_bytes);
        let tickets = plan.tickets(tickets * tiling.tiles);
        let output = if seen.fold {
            folded = Workspace(plan.room(seen.period, kernels.total_bytes));
            Nothing
        } else {
            Output
        };
        let arguments = vec![
            Input,
            Number(seen.head),
            Number(seen.period),
            Number(seen.rows),
            Number(tiling.rows_per_block),
            Word(tiling.lanes_log2),
            Workspace(totals),
            Workspace(tickets),
            folded,
            output,
            Number(height),
        ];
        let threads = [BEST_BLOCK as u32, 1];
        plan.push(
            problem,
            kernel,
            tiling.blocks.saturating_mul(tiling.tiles),
            threads,
            shared_bytes,
            arguments,
        )?;
    }
    if seen.fold {
        let arguments = vec![
            Input,
            Number(seen.head),
            Number(seen.head + seen.rows * seen.period),
            folded,
            Output,
            Number(width),
            Number(height),
        ];
        plan.push(
            problem,
            kernels.fold,
            width.div_ceil(FOLD_COLUMNS),
            [FOLD_COLUMNS as u32, FOLD_ROWS as u32],
            FOLD_COLUMNS * FOLD_ROWS * kernels.total_bytes,
            arguments,
        )?;
    }
    Ok(())
}
