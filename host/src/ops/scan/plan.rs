//! The launches of a scan.

use cuda_std::{
    kernel::{Entry, KernelDescriptor, LaunchConfig},
    scan::{Parameters, SEGMENTED_CHUNKS, SegmentedParameters, Start, Workspace},
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

/// Plans the scan of `values`, which start at a multiple of 16 bytes, in place. Any family's variant can use it.
pub(in crate::ops) fn scan_in_place<R: Kernels>(
    plan: &mut Plan<'_>,
    values: Place<R::In>,
    exclusive: bool,
) -> Result<()> {
    let start = Start::new(R::IDENTITY, exclusive).expect("the library's accumulators are numbers");
    let arrays = Arrays {
        input: values,
        output: values,
        aligned: true,
        heads: Place::none(),
    };
    best::<R>(plan, arrays, start)
}

fn best<R: Kernels>(plan: &mut Plan<'_>, arrays: Arrays<R::In>, start: Start) -> Result<()> {
    let Arrays { input, output, .. } = arrays;
    let policy: Policy = plan.policy(R::BEST, size_of::<R::In>());
    let kernel = R::PERSISTENT;
    let words = size_of::<R::Acc>().div_ceil(4);
    let bytes = policy.ring_bytes();
    if let Some(launch) = persistent(plan, arrays, policy, kernel.descriptor(), [bytes, words])? {
        let (config, [control, statuses]) = launch;
        let args = (input, output, control, statuses, start);
        // SAFETY: the output has as many elements as the input and is the same array or does not overlap it; both are
        // aligned. The rooms have a status for each tile and are 0 at first; nothing but this launch uses them.
        unsafe { plan.launch(kernel, config, args) };
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
    let Arrays {
        input,
        output,
        heads,
        ..
    } = arrays;
    let policy: Policy = plan.policy(R::SEGMENTED, size_of::<R::In>());
    let policy = policy.of_segments();
    let kernel = R::SEGMENTED_PERSISTENT;
    // A status has the flag in its tag.
    let words = size_of::<R::Acc>().div_ceil(4);
    let bytes = policy.segmented_ring_bytes(size_of::<R::In>());
    if let Some(launch) = persistent(plan, arrays, policy, kernel.descriptor(), [bytes, words])? {
        let (config, [control, statuses]) = launch;
        let args = (input, output, heads, control, statuses, start);
        // SAFETY: as in `best`; there is a bit for each element, in aligned memory of the plan.
        unsafe { plan.launch(kernel, config, args) };
        return Ok(());
    }
    let cut = [policy.threads, policy.windows];
    segmented_tile_per_block::<R>(plan, R::SEGMENTED, None, arrays, start, cut)
}

/// Returns a launch of persistent blocks with so much shared memory and so many words per status, and the words that the blocks
/// share; or `None` if a block per tile is better, or the device has no room for the blocks.
fn persistent<T>(
    plan: &mut Plan<'_>,
    arrays: Arrays<T>,
    policy: Policy,
    kernel: &'static KernelDescriptor,
    [shared_bytes, words]: [usize; 2],
) -> Result<Option<(LaunchConfig, [Place<u64>; 2])>> {
    let tiles = arrays
        .input
        .len()
        .div_ceil(policy.tile_bytes() / size_of::<T>());
    if !arrays.aligned || tiles * policy.tile_bytes() < policy.persistent_bytes {
        return Ok(None);
    }
    let persistent = Persistent {
        threads: policy.threads,
        shared_bytes,
        resident: policy.resident[1],
        slots: policy.slots,
    };
    let blocks = persistent.blocks(plan, (kernel, None), tiles)?;
    if blocks == 0 {
        return Ok(None);
    }
    let rooms = [plan.zeros(1), plan.zeros(tiles * words)];
    let config = plan.linear(blocks, policy.threads)?;
    Ok(Some((config.with_shared(shared_bytes as u32), rooms)))
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
    let (config, words) = tiles(plan, arrays, [threads, windows, CHUNKS])?;
    let [control, statuses, batches] = words;
    let args = (input, output, control, statuses, batches, start);
    // SAFETY: the output has as many elements as the input and is the same array or does not overlap it. The rooms are
    // those that the kernel needs and are 0 at first; nothing but this launch uses them.
    let launch = unsafe { plan.launch(kernel, config, args) };
    launch.module = module.cloned();
    Ok(())
}

/// As [`tile_per_block`], of a kernel for segments.
pub(super) fn segmented_tile_per_block<R: ScanFn>(
    plan: &mut Plan<'_>,
    kernel: Entry<SegmentedParameters<R>>,
    module: Option<&Module>,
    arrays: Arrays<R::In>,
    start: Start,
    [threads, windows]: [usize; 2],
) -> Result<()> {
    let Arrays {
        input,
        output,
        heads,
        ..
    } = arrays;
    let (config, words) = tiles(plan, arrays, [threads, windows, SEGMENTED_CHUNKS])?;
    let [control, statuses, batches] = words;
    let args = (input, output, heads, control, statuses, batches, start);
    // SAFETY: as in `tile_per_block`; there is a bit for each element.
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
