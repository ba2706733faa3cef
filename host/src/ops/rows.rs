//! Reductions of rows: from a problem to launches.

use warpwright_gpu::rows::{
    FAMILY,
    policy::{CHUNK, Policy, ROW_BLOCK, RUNG_BLOCK},
};

use super::{
    MOST_BLOCKS, Strided,
    axis::{
        Argument::{Input, Number, Output, Word, Workspace},
        Plan, Problem,
    },
};
use crate::error::Result;

/// The launches of the variant that was chosen.
pub(super) fn plan(problem: &Problem<'_>, plan: &mut Plan) -> Result<()> {
    let &Problem {
        height,
        width,
        kernels,
        ..
    } = problem;
    let kernel = kernels.rows[problem.choice.index];
    match problem.choice.variant() {
        "chunk_atomic" => {
            let totals = Workspace(plan.identities(height, kernels.total_bytes));
            let chunks = width.div_ceil(CHUNK) * height;
            let threads = [RUNG_BLOCK as u32, 1];
            let arguments = vec![Input, totals, Number(width)];
            let blocks = chunks.div_ceil(RUNG_BLOCK);
            plan.push(problem, kernel, blocks, threads, 0, arguments)?;
            let arguments = vec![totals, Output, Number(width)];
            let blocks = height.div_ceil(RUNG_BLOCK);
            plan.push(problem, kernels.finish, blocks, threads, 0, arguments)
        }
        "block_per_row" => {
            let arguments = vec![Input, Output, Number(width)];
            let blocks = height.min(MOST_BLOCKS);
            plan.push(problem, kernel, blocks, [ROW_BLOCK as u32, 1], 0, arguments)
        }
        _ => best(problem, plan),
    }
}

fn best(problem: &Problem<'_>, plan: &mut Plan) -> Result<()> {
    let &Problem {
        device,
        height,
        width,
        kernels,
        ..
    } = problem;
    let kernel = kernels.rows[problem.choice.index];
    let policy: Policy = device.policy(kernel, kernels.element_bytes);
    let threads = [policy.block as u32, 1];
    let strided = |kernel, least_per_block, len| {
        let strided = Strided {
            kernel,
            threads: policy.block as u32,
            shared_bytes: 0,
            blocks_per_multiprocessor: policy.resident,
            least_per_block,
        };
        strided.blocks(device, FAMILY.name, len)
    };
    let bytes = width * kernels.element_bytes;
    let lanes_log2 = policy.lanes_log2(bytes);
    let filling = strided(kernel, 1, usize::MAX)? * policy.block;
    let few = height << lanes_log2 < filling / policy.least_filling;
    if few && bytes >= 2 * policy.least_bytes || bytes >= policy.row_bytes {
        let filling = strided(kernels.long, 1, usize::MAX)?;
        let elements = policy.elements_per_block(height, width, kernels.element_bytes, filling);
        let blocks = width.div_ceil(elements);
        let totals = plan.room(height * blocks, kernels.total_bytes);
        let tickets = plan.tickets(height);
        let arguments = vec![
            Input,
            Workspace(totals),
            Workspace(tickets),
            Output,
            Number(width),
            Word(blocks as u32),
            Number(elements),
        ];
        return plan.push(
            problem,
            kernels.long,
            height * blocks,
            threads,
            0,
            arguments,
        );
    }
    let blocks = strided(kernel, policy.block >> lanes_log2, height)?;
    let arguments = vec![Input, Output, Number(width), Word(lanes_log2)];
    plan.push(problem, kernel, blocks, threads, 0, arguments)
}
