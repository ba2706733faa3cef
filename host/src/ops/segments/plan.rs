//! Plans the launches of reductions of segments.

use cuda_std::kernel::Entry;
#[cfg(feature = "ladder")]
use warpwright_gpu::segments::Variant;
use warpwright_gpu::segments::{
    Kernels, SegmentsCut,
    policy::{BLOCK, MOST_IN_ONE_LAUNCH, shared_bytes, tile_steps},
};

use super::super::plan::{Place, Plan};
use crate::error::Result;

/// Where the elements of segments are, for a plan.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub offsets: Place<u32>,
    pub per_offset: u32,
    /// The number of segments, if the device alone knows it.
    pub count: Place<u64>,
    /// The most segments that there may be.
    pub most: usize,
    /// The most elements that they may have.
    pub elements: usize,
    /// Whether each step of `best` is a launch of its own, however few elements there are.
    pub is_apart: bool,
}

/// Plans the launches of the chosen variant.
pub fn plan<R: Kernels>(plan: &mut Plan<'_>, values: Place<R::In>, bounds: Bounds) -> Result<()> {
    let Bounds {
        offsets,
        per_offset,
        count,
        most,
        elements,
        is_apart,
    } = bounds;
    if most == 0 {
        return Ok(());
    }
    let output = Place::<R::Out>::output(most);
    #[cfg(feature = "ladder")]
    {
        let rung = match Variant::ALL[plan.choice.index] {
            Variant::Naive => Some((R::NAIVE, most)),
            Variant::WarpPerSegment => Some((R::WARP_PER_SEGMENT, 32 * most)),
            _ => None,
        };
        if let Some((kernel, threads)) = rung {
            let config = plan.linear(threads.div_ceil(BLOCK), BLOCK)?;
            let args = (values, offsets, per_offset, count, output);
            // SAFETY: the offsets do not fall and lie in the input, and there is an output per segment.
            unsafe { plan.launch(kernel, config, args) };
            return Ok(());
        }
    }
    let size = size_of::<R::In>();
    let steps = tile_steps(size);
    let tiles = (elements + most).div_ceil(steps);
    let is_one = tiles <= MOST_IN_ONE_LAUNCH && !is_apart;
    let firsts = plan.room::<R::Acc>(tiles);
    let rests = plan.room::<R::Acc>(tiles);
    let ends = plan.room::<u64>(tiles);
    let (starts, ticket) = if is_one {
        (Place::none(), plan.zeros::<u32>(1))
    } else {
        (plan.room::<u64>(tiles + 1), Place::none())
    };
    let len = values.len();
    if !is_one {
        let config = plan.linear((tiles + 1).div_ceil(BLOCK / 32), BLOCK)?;
        let args = (offsets, per_offset, count, len, steps as u32, starts);
        // SAFETY: the offsets do not fall and lie in the input.
        unsafe { plan.launch(Entry::of::<SegmentsCut>(), config, args) };
    }
    let config = plan.linear(tiles, BLOCK)?;
    let config = config.with_shared(shared_bytes(size) as u32);
    let args = (
        values, offsets, per_offset, count, starts, firsts, rests, ends, ticket, output,
    );
    // SAFETY: there is room for each tile's parts, and an output per segment. The ticket is 0, and the kernel leaves it so.
    unsafe { plan.launch(R::BEST, config, args) };
    if !is_one {
        let config = plan.linear(tiles.div_ceil(BLOCK), BLOCK)?;
        let args = (offsets, per_offset, count, len, firsts, rests, ends, output);
        // SAFETY: the launch before wrote the tiles' parts.
        unsafe { plan.launch(R::JOIN, config, args) };
    }
    Ok(())
}
