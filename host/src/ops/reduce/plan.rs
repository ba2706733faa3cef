//! The launches of a reduction, and where their results lie.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};
use warpwright_gpu::reduce::{
    FAMILY,
    policy::{CUTS, Cut, FINISH_BLOCK, FINISH_SPAN, Policy, RUNG_BLOCK},
};

use super::element::Passes;
use crate::{
    device::Device,
    error::Result,
    ops::{Choice, Strided, grid_size},
};

/// One launch of a plan. Offsets are in bytes from the start of the request's memory.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    pub kernel: &'static KernelDescriptor,
    pub config: LaunchConfig,
    /// Where it reads: the input, or partial results.
    pub from: Option<(usize, usize)>,
    /// Where it writes, and how many partial results.
    pub to: (usize, usize),
}

/// The launches that a reduction takes, and the memory for their results.
#[derive(Debug)]
pub struct Plan {
    pub passes: Vec<Pass>,
    /// Bytes of memory in all.
    pub bytes: usize,
    /// Where the result will be.
    pub result: usize,
    pub partial_bytes: usize,
    /// What `best` takes besides.
    pub best: Option<Best>,
}

/// What `best` takes besides.
#[derive(Debug, Clone, Copy)]
pub struct Best {
    /// Where its ticket is.
    pub ticket: usize,
    /// Elements that a block takes.
    pub per_block: usize,
}

/// Alignment of each array of partial results, in bytes.
pub const ALIGN: usize = 16;

impl Plan {
    pub fn new(device: &Device, choice: Choice, passes: &Passes, len: usize) -> Result<Self> {
        let mut plan = Self {
            passes: Vec::new(),
            bytes: 0,
            result: 0,
            partial_bytes: passes.partial_bytes,
            best: None,
        };
        if len == 0 {
            return Ok(plan);
        }
        let first = passes.first[choice.index];
        match CUTS[choice.index] {
            Cut::Folding { by } => {
                // `folding` halves the length per pass; `folding_shared` leaves one per block.
                let shared = by > 2;
                let mut remaining = len;
                let mut from = None;
                let mut kernel = first;
                loop {
                    let (left, blocks) = if shared {
                        let blocks = remaining.div_ceil(by);
                        (blocks, blocks)
                    } else {
                        let left = remaining - remaining / 2;
                        (left, left.div_ceil(RUNG_BLOCK))
                    };
                    let to = plan.room(left);
                    plan.push(choice, kernel, blocks, RUNG_BLOCK, from, (to, left))?;
                    if left == 1 {
                        return Ok(plan);
                    }
                    from = Some((to, left));
                    remaining = left;
                    kernel = passes.fold[usize::from(shared)];
                }
            }
            Cut::Best => {
                let policy: Policy = device.policy(first, passes.element_bytes);
                let bytes = len * passes.element_bytes;
                let threads = policy.threads_for(bytes);
                let multiprocessors = device.info().multiprocessors.max(1) as usize;
                let most = multiprocessors * policy.blocks_for(bytes) as usize;
                let least = policy.least_bytes(bytes) / passes.element_bytes;
                // All of one size, and each with what its threads have in flight at once.
                let per_block = len.div_ceil(most).next_multiple_of(least);
                let blocks = len.div_ceil(per_block);
                let to = plan.room(blocks);
                plan.push(choice, first, blocks, threads, None, (to, blocks))?;
                plan.result = plan.room(1);
                let ticket = plan.bytes;
                plan.bytes += ALIGN;
                plan.best = Some(Best { ticket, per_block });
                Ok(plan)
            }
            cut => {
                let blocks = match cut {
                    Cut::PerBlock(elements) => len.div_ceil(elements),
                    Cut::Strided {
                        blocks_per_multiprocessor,
                        least_per_block,
                    } => Strided {
                        kernel: first,
                        threads: RUNG_BLOCK as u32,
                        shared_bytes: 0,
                        blocks_per_multiprocessor,
                        least_per_block,
                    }
                    .blocks(device, FAMILY.name, len)?,
                    Cut::Folding { .. } | Cut::Best => unreachable!("handled above"),
                };
                let to = plan.room(blocks);
                plan.push(choice, first, blocks, RUNG_BLOCK, None, (to, blocks))?;
                let mut from = (to, blocks);
                while from.1 > 1 {
                    let left = from.1.div_ceil(FINISH_SPAN);
                    let to = plan.room(left);
                    plan.push(
                        choice,
                        passes.finish,
                        left,
                        FINISH_BLOCK,
                        Some(from),
                        (to, left),
                    )?;
                    from = (to, left);
                }
                Ok(plan)
            }
        }
    }

    /// Room for so many partial results.
    fn room(&mut self, partials: usize) -> usize {
        let start = self.bytes;
        self.bytes += (partials * self.partial_bytes).next_multiple_of(ALIGN);
        start
    }

    fn push(
        &mut self,
        choice: Choice,
        kernel: &'static KernelDescriptor,
        blocks: usize,
        threads: usize,
        from: Option<(usize, usize)>,
        to: (usize, usize),
    ) -> Result<()> {
        let config = LaunchConfig::linear(grid_size(&FAMILY, choice, blocks)?, threads as u32);
        self.passes.push(Pass {
            kernel,
            config,
            from,
            to,
        });
        self.result = to.0;
        Ok(())
    }
}
