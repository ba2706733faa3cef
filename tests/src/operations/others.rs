//! Operations at home in other programs: memory, streams and tensors of others, events, graphs, results on the device.

use std::{
    future::{Future, IntoFuture},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use dlpark::versioned::Dlpack;
use warpwright::{Device, LaunchConfig, Result, Vector};
use warpwright_gpu::transpose::TransposeNaive;

use super::{LEN, Operation, named, ptx, read, words};

/// The time after which a future counts as pending for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: impl IntoFuture<IntoFuture = F>) -> F::Output {
    let mut future = pin!(future.into_future());
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let start = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "the future is pending for ever");
        thread::park_timeout(PATIENCE);
    }
}

/// A stream that somebody else owns: the owner's handle, and one that borrows the stream. The CPU has none.
fn borrowed(device: &Device) -> Result<[Device; 2]> {
    let owner = device.new_stream()?;
    let handle = match owner.cuda_stream() {
        // SAFETY: the owner is returned too, and dropped last.
        Some(stream) => unsafe { device.on_cuda_stream(stream)? },
        None => owner.clone(),
    };
    Ok([handle, owner])
}

pub(super) fn all() -> Vec<Operation> {
    vec![
        named("memory of others, as views", |device| {
            let [mut theirs, mut target] = [device.upload(&words())?, device.zeros::<u32>(LEN)?];
            let pointers = [&mut theirs, &mut target].map(|it| it.view_mut().device_pointer());
            // SAFETY: both vectors live longer than the views, and nobody else uses them meanwhile.
            let (from, mut to) = unsafe {
                let from = device.foreign_view::<u32>(pointers[0], LEN)?;
                (from, device.foreign_view_mut::<u32>(pointers[1], LEN)?)
            };
            to.copy_from(from)?;
            let sorted = device.sort(from)?;
            Ok(read(&target)? ^ read(&sorted)?.rotate_left(1))
        }),
        named("memory of others, with an owner", |device| {
            let mut theirs = device.upload(&words())?;
            let pointer = theirs.view_mut().device_pointer();
            let other = device.new_stream()?;
            // SAFETY: the owner keeps the memory, which nobody else uses.
            let vector = unsafe { device.foreign_vector::<u32>(pointer, LEN, theirs)? };
            let sorted = other.sort(&vector)?;
            drop(vector);
            read(&sorted)
        }),
        named("a stream of others", |device| {
            let [handle, owner] = borrowed(device)?;
            let vector = handle.upload(&words())?;
            owner.wait_for(&handle)?;
            let copy = owner.sort(&vector)?;
            handle.wait_for(&owner)?;
            let found = read(&handle.sort(&copy)?);
            drop((copy, vector, handle));
            found
        }),
        named(
            "an event, waited for by a handle and by the host",
            |device| {
                let other = device.new_stream()?;
                let vector = device.upload(&words())?;
                let event = device.record_event()?;
                other.wait_event(&event)?;
                event.synchronize()?;
                read(&other.sort(&vector)?)
            },
        ),
        named("pinned memory, copied and awaited", |device| {
            let mut vector = device.zeros::<u32>(LEN)?;
            let mut pinned = device.pinned::<u32>(LEN)?;
            pinned.as_mut_slice()?.copy_from_slice(&words());
            vector.upload_pinned(&mut pinned)?;
            block_on(device.record_event()?)?;
            read(&vector)
        }),
        named("results that stay on the device", |device| {
            let vector = device.upload(&words())?;
            let sum = device.reduce(&vector).output_on_device().sum()?;
            let mut place = device.zeros::<u64>(1)?;
            device.reduce(&vector).output_to(&mut place).sum()?;
            let counts = device
                .histogram_request(&vector, 10)
                .output_on_device()
                .run()?;
            Ok(read(&sum)? ^ read(&place)?.rotate_left(1) ^ read(&counts)?.rotate_left(2))
        }),
        named("a graph, launched, updated and launched", graph),
        named("tensors of DLPack, given away and taken over", |device| {
            let consumer = device.new_stream()?;
            let tensor: Dlpack = device.upload(&words())?.into_dlpack(&consumer)?;
            // SAFETY: nobody writes the elements, and they are ready for the consumer.
            let sorted = consumer.sort(unsafe { consumer.dlpack_view::<u32, _>(&tensor)? })?;
            // SAFETY: nobody else uses the tensor any more.
            let vector: Vector<u32> = unsafe { consumer.dlpack_vector(tensor)? };
            Ok(read(&vector)? ^ read(&sorted)?.rotate_left(1))
        }),
    ]
}

/// An operation of the library and a launch of a user's kernel, in a graph.
fn graph(device: &Device) -> Result<u64> {
    let module = ptx("transpose")?;
    let first = device.upload(&words())?;
    let second = device.upload(&words()[..LEN / 2])?;
    let [mut one, mut two] = [device.zeros::<u32>(LEN)?, device.zeros::<u32>(LEN / 2)?];
    let mut counts = device.histogram_request(&first, 10).prepare()?;
    let mut others = device.histogram_request(&second, 10).prepare()?;
    let turn = |from: &Vector<u32>, to: &mut Vector<u32>| {
        let (width, height) = (from.len() / 20, 20_usize);
        let config = LaunchConfig {
            grid: [(width.div_ceil(16) * height.div_ceil(16)) as u32, 1, 1],
            block: [16, 16, 1],
            shared_bytes: 0,
        };
        // SAFETY: both arrays have `width * height` elements, and the grid has a block per tile.
        unsafe { device.launch::<TransposeNaive<u32>>(&module, config, (from, to, width, height)) }
    };
    let mut graph = device.capture(|| {
        counts.enqueue()?;
        turn(&first, &mut one)
    })?;
    // SAFETY: the arrays and the requests live until the end.
    unsafe { graph.launch()? };
    graph.update(|| {
        others.enqueue()?;
        turn(&second, &mut two)
    })?;
    // SAFETY: as above.
    unsafe { graph.launch()? };
    let found = [read(counts.output()?)?, read(others.output()?)?];
    Ok(
        found[0]
            ^ found[1].rotate_left(1)
            ^ read(&one)?.rotate_left(2)
            ^ read(&two)?.rotate_left(3),
    )
}
