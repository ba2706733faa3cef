//! Events: points in the work of a handle.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    device::Device,
    error::Result,
    executor::{Mark, Wait, capture},
};

/// A point in the work of a handle, made by [`Device::record_event`]. Work of other handles and the host can wait for it.
///
/// An event can be awaited: `device.record_event()?.await?`. To await it more than once, await `&event`.
#[derive(Debug)]
pub struct Event {
    mark: Mark,
    device: Device,
}

impl Device {
    /// Records an event after the work that this handle has queued so far. Does not wait.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver); [`Error::Invalid`](crate::Error::Invalid) while this thread captures.
    pub fn record_event(&self) -> Result<Event> {
        Ok(Event {
            mark: self.executor.mark("record_event", false)?,
            device: self.clone(),
        })
    }

    /// Makes the work that this handle queues from now on wait for `event`. The host does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and as for [`record_event`](Self::record_event).
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.require_same("wait_event", &event.device)?;
        self.executor.wait_mark(&event.mark)
    }
}

impl Event {
    /// Waits until the work before the event is done.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if any of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.mark.synchronize()
    }
}

/// The work before an event, as a future that is ready when the work is done. Made by awaiting an [`Event`].
///
/// Any executor can run it. The host does not wait, and no thread is blocked: the CUDA driver calls back when the work is
/// done, and one thread of the library, which all futures share, then calls the waker. The work runs whether or not the future
/// is polled, and dropping the future early leaves it alone. On the CPU the work is done when it is queued, and the future is
/// ready at once. If the system refuses the library's thread, a poll waits for the work.
///
/// ```
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         match future.as_mut().poll(&mut context) {
/// #             std::task::Poll::Ready(value) => break value,
/// #             std::task::Poll::Pending => std::thread::yield_now(),
/// #         }
/// #     }
/// # }
/// use warpwright::{Device, Result};
///
/// async fn total(device: &Device, values: &[u32]) -> Result<u64> {
///     let values = device.upload(values)?;
///     let sum = device.reduce(&values).output_on_device().sum()?; // queued
///     device.record_event()?.await?; // other tasks run meanwhile
///     Ok(sum.to_vec()?[0]) // waits for the copy alone
/// }
///
/// # fn main() -> Result<()> {
/// # let device = Device::auto()?;
/// assert_eq!(block_on(total(&device, &[1, 2, 3]))?, 6);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Driver`](crate::Error::Driver) if any of the work failed, after a fault of the device too;
/// [`Error::Invalid`](crate::Error::Invalid) if it is polled while the thread captures.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct EventFuture {
    mark: Mark,
    /// The wait that calls the waker, from the first poll on.
    wait: Option<Wait>,
}

impl Future for EventFuture {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        capture::refuse("wait for an event")?;
        let Self { mark, wait } = &mut *self;
        match mark.poll(wait, context.waker()) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        (&self).into_future()
    }
}

impl IntoFuture for &Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        EventFuture {
            mark: self.mark.clone(),
            wait: None,
        }
    }
}
