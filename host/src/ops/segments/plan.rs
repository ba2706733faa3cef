//! Plans the launches of reductions of segments.

use std::ops::Range;

use cuda_std::kernel::{Entry, EntryOf};
use warpwright_gpu::{
    reduce::Dividend,
    segments::{
        Kernels, SegmentsMeans, SegmentsStarts, Variant, Width,
        policy::{BLOCK, MOST_IN_ONE_LAUNCH, shared_bytes, tile_len},
    },
};

use super::super::{
    Strided,
    plan::{Place, Plan},
};
use crate::error::Result;

/// Where the elements of segments are, for a plan.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Bounds {
    pub offsets: Place<u32>,
    pub per_offset: u32,
    /// The number of segments, if the device alone knows it.
    pub count: Place<u64>,
    /// The most segments that there may be.
    pub most: usize,
    pub cuts: Cuts,
    /// Whether each step of `best` is a launch of its own, however few elements there are.
    pub is_apart: bool,
    /// Where the results go, if not to the output.
    pub results: Option<Place<u8>>,
}

impl Bounds {
    /// Returns the bounds of one segment, which has all of `len` elements.
    pub fn whole(plan: &mut Plan<'_>, len: usize) -> Self {
        let words = plan.kept(2, move || vec![0, len as u64]).cast();
        Self {
            offsets: words,
            per_offset: 2,
            count: Place::none(),
            most: 1,
            cuts: Cuts {
                words,
                per_cut: 2,
                ids: None,
                starts: Place::none(),
                range: 0..len,
            },
            is_apart: false,
            results: None,
        }
    }

    /// Returns the place of the results.
    fn results<O>(&self) -> Place<O> {
        match self.results {
            Some(results) => results.cast(),
            None => Place::output(self.most),
        }
    }
}

/// Where segments begin, as `best` takes it.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Cuts {
    pub words: Place<u32>,
    /// The words of an offset, or 0 for a bit per element.
    pub per_cut: u32,
    /// If the cuts are some of the offsets: the segment before each cut, counted from 1 on.
    pub ids: Option<Place<u64>>,
    /// The number of cuts before each group of elements, for bits.
    pub starts: Place<u64>,
    /// The elements of all segments.
    pub range: Range<usize>,
}

/// Returns whether the plan is that of `best`.
pub(super) fn is_best(plan: &Plan<'_>) -> bool {
    Variant::ALL[plan.choice.index] == Variant::Best
}

/// Returns a launch of a loop over the elements of an array by kernel `kernel`.
pub(super) fn strided<P>(
    plan: &Plan<'_>,
    kernel: Entry<P>,
    len: usize,
) -> Result<cuda_std::kernel::LaunchConfig> {
    let strided = Strided {
        kernel: kernel.descriptor(),
        threads: BLOCK as u32,
        shared_bytes: 0,
        blocks_per_multiprocessor: 8,
        least_per_block: BLOCK,
    };
    let blocks = strided.blocks(plan.device, plan.operation, len)?;
    plan.linear(blocks, BLOCK)
}

/// Plans the launches of the chosen variant.
pub fn plan<R: Kernels>(plan: &mut Plan<'_>, values: Place<R::In>, bounds: &Bounds) -> Result<()> {
    if bounds.most == 0 {
        return Ok(());
    }
    if is_best(plan) {
        return best::<R>(plan, values, bounds);
    }
    #[cfg(feature = "ladder")]
    {
        let most = bounds.most;
        let (kernel, threads) = match Variant::ALL[plan.choice.index] {
            Variant::Naive => (R::NAIVE, most),
            _ => (R::WARP_PER_SEGMENT, 32 * most),
        };
        let config = plan.linear(threads.div_ceil(BLOCK), BLOCK)?;
        let output = bounds.results::<R::Out>();
        let args = (
            values,
            bounds.offsets,
            bounds.per_offset,
            bounds.count,
            output,
        );
        // SAFETY: the offsets do not fall and lie in the input, and there is an output per segment.
        unsafe { plan.launch(kernel, config, args) };
    }
    Ok(())
}

fn best<R: Kernels>(plan: &mut Plan<'_>, values: Place<R::In>, bounds: &Bounds) -> Result<()> {
    let output = bounds.results();
    let Some(ids) = bounds.cuts.ids else {
        return tiles::<R>(plan, values, bounds, output);
    };
    let results = plan.room::<R::Out>(ids.len() - 1);
    tiles::<R>(plan, values, bounds, results)?;
    let none = R::finish(R::IDENTITY);
    match size_of::<R::Out>() {
        1 => spread::<u8, _>(plan, bounds, none, ids, [results, output]),
        2 => spread::<u16, _>(plan, bounds, none, ids, [results, output]),
        4 => spread::<u32, _>(plan, bounds, none, ids, [results, output]),
        _ => spread::<u64, _>(plan, bounds, none, ids, [results, output]),
    }
}

/// Plans the launches that reduce the segments between the cuts.
fn tiles<R: Kernels>(
    plan: &mut Plan<'_>,
    values: Place<R::In>,
    bounds: &Bounds,
    output: Place<R::Out>,
) -> Result<()> {
    let Cuts {
        words,
        per_cut,
        starts,
        range,
        ..
    } = bounds.cuts.clone();
    let size = size_of::<R::In>();
    let len = tile_len(size);
    // The tiles start where chunks of 16 bytes do, if the array does.
    let first = range.start / (16 / size) * (16 / size);
    let values = values.part(0, range.end);
    // The last tile has the last cut, which is behind the last element.
    let tiles = (range.end - first) / len + 1;
    let is_one = tiles <= MOST_IN_ONE_LAUNCH && !bounds.is_apart;
    let firsts = plan.room::<R::Acc>(tiles);
    let rests = plan.room::<R::Acc>(tiles);
    let ends = plan.room::<u64>(tiles);
    let ticket = if is_one {
        plan.zeros::<u32>(1)
    } else {
        Place::none()
    };
    let starts = if per_cut == 0 || is_one {
        starts
    } else {
        let starts = plan.room::<u64>(tiles + 1);
        let config = plan.linear((tiles + 1).div_ceil(BLOCK), BLOCK)?;
        let args = (words, per_cut, first, len as u32, starts);
        // SAFETY: the offsets do not fall.
        unsafe { plan.launch(Entry::of::<SegmentsStarts>(), config, args) };
        starts
    };
    let config = plan.linear(tiles, BLOCK)?;
    let config = config.with_shared(shared_bytes(size) as u32);
    let args = (
        values, words, per_cut, first, starts, firsts, rests, ends, ticket, output,
    );
    // SAFETY: the cuts do not fall and lie in the input or at its end, and few are equal. The rooms have an element per tile,
    // and there is an output per segment. The last tile has the last cut.
    unsafe { plan.launch(R::BEST, config, args) };
    if !is_one {
        let config = plan.linear(tiles.div_ceil(BLOCK), BLOCK)?;
        // SAFETY: the launch before wrote the tiles' parts.
        unsafe { plan.launch(R::JOIN, config, (firsts, rests, ends, output)) };
    }
    Ok(())
}

/// Plans a launch that spreads `results`, and writes `none` for every segment without elements. A `W` has as many bytes as an
/// `O`.
fn spread<W: Width + Copy + Into<u64>, O: Copy>(
    plan: &mut Plan<'_>,
    bounds: &Bounds,
    none: O,
    ids: Place<u64>,
    [results, output]: [Place<O>; 2],
) -> Result<()> {
    assert_eq!(size_of::<W>(), size_of::<O>());
    // SAFETY: the types have the same size, and a result is a number.
    let none: W = unsafe { std::mem::transmute_copy(&none) };
    let config = strided(plan, W::SPREAD, bounds.most)?;
    let args = (
        bounds.offsets,
        bounds.per_offset,
        none.into(),
        ids,
        results.cast::<W>(),
        output.cast::<W>(),
    );
    // SAFETY: there is an output per segment, and the numbers are those of the segments with elements.
    unsafe { plan.launch(W::SPREAD, config, args) };
    Ok(())
}

/// Plans a launch that divides `sums` to means, which are the output: of segments with these offsets, each of so many words; or
/// if there are none, of `elements` elements.
pub fn means<S: Dividend>(
    plan: &mut Plan<'_>,
    kernel: EntryOf<SegmentsMeans<S>>,
    sums: Place<S>,
    (offsets, per_offset): (Place<u32>, u32),
    elements: usize,
) -> Result<()> {
    let config = strided(plan, kernel, sums.len())?;
    let args = (
        sums,
        offsets,
        per_offset,
        elements,
        Place::output(sums.len()),
    );
    // SAFETY: the launches before wrote the sums. The offsets do not fall, and the output has an element per sum.
    unsafe { plan.launch(kernel, config, args) };
    Ok(())
}
