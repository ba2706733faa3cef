//! The launches of a scan.

use cuda_std::{
    kernel::{Entry, LaunchConfig},
    scan::{Parameters, SEGMENTED_CHUNKS, Start, THREADS, WINDOWS, Workspace},
};
use warpwright_gpu::scan::{
    Kernels, Scan as ScanFn,
    policy::{CHUNKS, Policy},
};
#[cfg(feature = "ladder")]
use warpwright_gpu::scan::{
    Variant,
    policy::{RUNG_BLOCK, RUNG_TILE_BYTES, STATUS_STRIDE},
};

use crate::{
    error::Result,
    module::Module,
    ops::{
        persistent::Persistent,
        plan::{Place, Plan},
    },
};

/// Returns whether an array at this address starts at a multiple of 16 bytes.
pub(super) fn is_aligned(address: u64) -> bool {
    address.is_multiple_of(16)
}

/// The arrays of a scan.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Arrays<T> {
    pub input: Place<T>,
    pub output: Place<T>,
    /// Whether both start at a multiple of 16 bytes.
    pub aligned: bool,
    /// A bit for each element that says whether a segment begins there; no words if all elements belong together.
    pub heads: Place<u32>,
}

/// Plans the scan `R`.
pub(super) fn plan<R: Kernels>(
    plan: &mut Plan<'_>,
    arrays: Arrays<R::In>,
    initial: Option<R::In>,
    exclusive: bool,
) -> Result<()> {
    let start = Start::new(initial.map_or(R::IDENTITY, R::load), exclusive)
        .expect("the library's accumulators are numbers");
    if arrays.input.len() == 0 {
        return Ok(());
    }
    if arrays.heads.len() > 0 {
        return segmented::<R>(plan, arrays, start);
    }
    #[cfg(feature = "ladder")]
    match Variant::ALL[plan.choice.index] {
        Variant::Naive => return naive::<R>(plan, arrays, start),
        Variant::ReduceThenScan => return reduce_then_scan::<R>(plan, arrays, start),
        Variant::LookBack => return look_back::<R>(plan, arrays, start),
        _ => {}
    }
    best::<R>(plan, arrays, start)
}

/// Plans a pass for each doubling of the step, back and forth between two arrays.
#[cfg(feature = "ladder")]
fn naive<R: Kernels>(plan: &mut Plan<'_>, arrays: Arrays<R::In>, start: Start) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let len = input.len();
    let (first, step_kernel, last) = R::NAIVE;
    let config = plan.linear(len.div_ceil(RUNG_BLOCK), RUNG_BLOCK)?;
    let (mut from, mut to) = (plan.room::<R::Acc>(len), plan.room::<R::Acc>(len));
    // SAFETY: the input and the room have `len` elements.
    unsafe { plan.launch(first, config, (input, from, start)) };
    let mut step = 1;
    while step < len {
        // SAFETY: both rooms have `len` elements, and they do not overlap.
        unsafe { plan.launch(step_kernel, config, (from, to, step)) };
        (from, to) = (to, from);
        step *= 2;
    }
    // SAFETY: the room and the output have `len` elements.
    unsafe { plan.launch(last, config, (from, output)) };
    Ok(())
}

/// The dynamic shared memory of a block with one tile: arrays that are not aligned go through it.
fn stage_bytes<T>(arrays: Arrays<T>, tile_bytes: usize) -> u32 {
    if arrays.aligned { 0 } else { tile_bytes as u32 }
}

#[cfg(feature = "ladder")]
fn reduce_then_scan<R: Kernels>(
    plan: &mut Plan<'_>,
    arrays: Arrays<R::In>,
    start: Start,
) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let tiles = input.len().div_ceil(RUNG_TILE_BYTES / size_of::<R::In>());
    let (first, second, third) = R::REDUCE_THEN_SCAN;
    let totals = plan.room::<R::Acc>(tiles);
    let mut config = plan.linear(tiles, RUNG_BLOCK)?;
    config.shared_bytes = stage_bytes(arrays, RUNG_TILE_BYTES);
    let one = plan.linear(1, RUNG_BLOCK)?;
    // SAFETY: the output has as many elements as the input and is the same array or does not overlap it. The room has an
    // element for each block, and nothing else uses it.
    unsafe {
        plan.launch(first, config, (input, output, totals));
        plan.launch(second, one, (totals, start));
        plan.launch(third, config, (input, output, totals, start));
    }
    Ok(())
}

#[cfg(feature = "ladder")]
fn look_back<R: Kernels>(plan: &mut Plan<'_>, arrays: Arrays<R::In>, start: Start) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let tiles = input.len().div_ceil(RUNG_TILE_BYTES / size_of::<R::In>());
    let mut config = plan.linear(tiles, RUNG_BLOCK)?;
    config.shared_bytes = stage_bytes(arrays, RUNG_TILE_BYTES);
    let shared = usize::from(tiles > 1);
    let control = plan.zeros(shared);
    let statuses = plan.zeros(shared * tiles * STATUS_STRIDE);
    // SAFETY: the output has as many elements as the input and is the same array or does not overlap it. The rooms have a
    // status for each block and are 0 at first; nothing but this launch uses them.
    unsafe {
        plan.launch(
            R::LOOK_BACK,
            config,
            (input, output, control, statuses, start),
        )
    };
    Ok(())
}

fn best<R: Kernels>(plan: &mut Plan<'_>, arrays: Arrays<R::In>, start: Start) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let size = size_of::<R::In>();
    let policy: Policy = plan.policy(R::BEST, size);
    let tiles = input.len().div_ceil(policy.tile_bytes() / size);
    let is_large = tiles * policy.tile_bytes() >= policy.persistent_bytes;
    let persistent = Persistent {
        threads: policy.threads,
        shared_bytes: policy.ring_bytes(),
        resident: policy.resident[1],
        slots: policy.slots,
    };
    let blocks = match is_large && arrays.aligned {
        true => persistent.blocks(plan, R::PERSISTENT.descriptor(), tiles)?,
        false => 0,
    };
    if blocks > 0 {
        let control = plan.zeros(1);
        let words = size_of::<R::Acc>().div_ceil(4);
        let statuses = plan.zeros(tiles * words);
        let mut config = plan.linear(blocks, policy.threads)?;
        config.shared_bytes = policy.ring_bytes() as u32;
        // SAFETY: the output has as many elements as the input and is the same array or does not overlap it; both are
        // aligned. The rooms have a status for each tile and are 0 at first; nothing but this launch uses them.
        unsafe {
            plan.launch(
                R::PERSISTENT,
                config,
                (input, output, control, statuses, start),
            )
        };
        return Ok(());
    }
    let cut = [policy.threads, policy.windows];
    tile_per_block::<R>(plan, R::BEST, None, arrays, start, cut)
}

/// Plans the scan of segments.
fn segmented<R: Kernels>(plan: &mut Plan<'_>, arrays: Arrays<R::In>, start: Start) -> Result<()> {
    #[cfg(feature = "ladder")]
    if Variant::ALL[plan.choice.index] != Variant::Best {
        return Err(plan.not_eligible("segments are scanned by `best` alone".to_owned()));
    }
    let Arrays { input, output, .. } = arrays;
    let (config, words) = tiles(plan, arrays, [THREADS, WINDOWS, SEGMENTED_CHUNKS])?;
    let [control, statuses, batches] = words;
    let args = (
        input,
        output,
        arrays.heads,
        control,
        statuses,
        batches,
        start,
    );
    // SAFETY: as in `tile_per_block`; there is a bit for each element.
    unsafe { plan.launch(R::SEGMENTED, config, args) };
    Ok(())
}

/// Plans a launch with a block for each tile, of a kernel for this number of threads and windows.
pub(super) fn tile_per_block<R: ScanFn>(
    plan: &mut Plan<'_>,
    kernel: Entry<Parameters<R>>,
    module: Option<&Module>,
    arrays: Arrays<R::In>,
    start: Start,
    [threads, windows]: [usize; 2],
) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let cut = [threads, windows, CHUNKS];
    let (config, [control, statuses, batches]) = tiles(plan, arrays, cut)?;
    let args = (input, output, control, statuses, batches, start);
    // SAFETY: the output has as many elements as the input and is the same array or does not overlap it. The rooms are
    // those that the kernel needs and are 0 at first; nothing but this launch uses them.
    let launch = unsafe { plan.launch(kernel, config, args) };
    launch.module = module.cloned();
    Ok(())
}

/// Returns a launch with a block for each tile of `chunks` chunks per thread, and the words that the blocks share.
fn tiles<T>(
    plan: &mut Plan<'_>,
    arrays: Arrays<T>,
    [threads, windows, chunks]: [usize; 3],
) -> Result<(LaunchConfig, [Place<u64>; 3])> {
    let tile_bytes = threads * chunks * 16;
    let tiles = arrays.input.len().div_ceil(tile_bytes / size_of::<T>());
    let mut config = plan.linear(tiles, threads)?;
    config.shared_bytes = stage_bytes(arrays, tile_bytes);
    let words = Workspace::of(tiles, windows);
    let words = [words.control, words.statuses, words.batches];
    Ok((config, words.map(|len| plan.zeros(len))))
}
