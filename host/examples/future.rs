//! Several tasks on one thread, each of which awaits its own work on the device.
//!
//! A task queues its work, records an event, and awaits it: meanwhile the thread runs other tasks, and sleeps when none can go
//! on. Any executor can run the tasks. The one here is a few lines, and a program has `tokio`'s or another in its place.
//!
//! ```console
//! $ cargo run --release -p warpwright --example future
//! ```

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use warpwright::{Device, Result};

/// The median and the sum of some numbers.
async fn statistics(device: &Device, values: &[u32]) -> Result<(u32, u64)> {
    // A handle of its own, so that the work of the tasks may overlap.
    let device = device.new_stream()?;
    let mut sorted = device.upload(values)?;
    let total = device.reduce(&sorted).output_on_device().sum()?;
    device.sort_in_place(sorted.view_mut())?;
    let (mut all, mut sum) = (device.pinned(values.len())?, device.pinned(1)?);
    sorted.download_pinned(&mut all)?;
    total.download_pinned(&mut sum)?;
    device.record_event()?.await?;
    Ok((
        all.as_mut_slice()?[values.len() / 2],
        sum.as_mut_slice()?[0],
    ))
}

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);
    let numbers = |task: u32| -> Vec<u32> {
        let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 12) % (1000 * task);
        (0..50_000).map(number).collect()
    };
    let inputs: Vec<_> = (1..=3).map(numbers).collect();
    let tasks = inputs.iter().map(|values| statistics(&device, values));
    for (task, result) in run(tasks).into_iter().enumerate() {
        let (median, total) = result?;
        println!("task {task}: median {median}, sum {total}");
    }
    Ok(())
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs the tasks on this thread until all have ended.
fn run<F: Future>(tasks: impl Iterator<Item = F>) -> Vec<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut tasks: Vec<Pin<Box<F>>> = tasks.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = tasks.iter().map(|_| None).collect();
    while outputs.iter().any(Option::is_none) {
        for (task, output) in tasks.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(value) = task.as_mut().poll(&mut context)
            {
                *output = Some(value);
            }
        }
        if outputs.iter().any(Option::is_none) {
            thread::park();
        }
    }
    outputs.into_iter().flatten().collect()
}
