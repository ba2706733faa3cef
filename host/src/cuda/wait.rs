//! Waits for events by a waker, for futures: no thread is blocked while the work runs.
//!
//! The driver calls back when a stream of our own, which waits for the event, is that far. It is a stream apart, since work
//! behind a callback waits until the callback has returned, and since the handle's stream may be further than the event.
//! `cuStreamAddCallback` is the call for this: it calls exactly once, also after a device fault, whose error it passes.
//! `cuLaunchHostFunc` calls nothing then.
//!
//! A callback must not call CUDA, and what a waker does is the executor's: it may drop the last owner of a task, and with it
//! arrays and streams. So callbacks only send to one thread of the library, which is started at the first wait, sleeps while
//! nothing is sent, and calls the wakers. While there are waits it also looks after them once a second, so that a device that
//! fails without any callback leaves no future pending either.

use super::context::CudaContext;
use super::error::{Result, of};
use super::stream::{CudaEvent, CudaStream};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

/// The time after which the thread asks for the events that are waited for.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// The streams that are kept for further waits.
const MOST_KEPT: usize = 64;

/// A wait for an event. Dropping it ends it, whatever the event does.
pub(crate) struct CudaWait {
    shared: Arc<Shared>,
    /// The stream that waits; none if the event was waited for at once.
    stream: Option<CudaStream>,
}

struct Shared {
    event: Arc<CudaEvent>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<()>>,
    /// Whether the driver has called back, so that nothing is left in the stream.
    is_called: bool,
    waker: Option<Waker>,
}

impl CudaWait {
    /// Begins a wait for `event`, after which `waker` is called.
    ///
    /// If the system refuses the thread that calls wakers, this function itself waits for the event.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn begin(event: &Arc<CudaEvent>, waker: &Waker) -> Result<Self> {
        let shared = Arc::new(Shared {
            event: event.clone(),
            state: Mutex::new(State {
                waker: Some(waker.clone()),
                ..State::default()
            }),
        });
        let Some(thread) = thread() else {
            shared.state().outcome = Some(event.synchronize());
            let stream = None;
            return Ok(Self { shared, stream });
        };
        let stream = take_stream(event.context())?;
        stream.wait(event)?;
        // The thread lives as long as there are senders.
        let _ = thread.send(Message::Began(Arc::downgrade(&shared)));
        let done = shared.clone();
        stream
            .stream()
            .add_callback(Box::new(move |status: cust::error::CudaResult<()>| {
                // No call of CUDA from here on, and no code of the executor's.
                let mut state = done.state();
                state.is_called = true;
                let outcome = status.map_err(of("cuStreamAddCallback"));
                state.outcome.get_or_insert(outcome);
                drop(state);
                let _ = thread.send(Message::Done(done));
            }))
            .map_err(of("cuStreamAddCallback"))?;
        let stream = Some(stream);
        Ok(Self { shared, stream })
    }

    /// Returns how the wait has ended. `None` if it has not: then it is `waker` that is called.
    pub(crate) fn outcome(&self, waker: &Waker) -> Option<Result<()>> {
        // A waker is code of the executor's, which nobody else has to wait for.
        let new = waker.clone();
        let mut state = self.shared.state();
        if state.outcome.is_none() {
            let old = state.waker.replace(new);
            drop(state);
            drop(old);
            return None;
        }
        let outcome = state.outcome.clone();
        drop(state);
        // The event is asked too, so that no fault is missed.
        outcome.map(|outcome| outcome.and_then(|()| self.shared.event.is_done().map(drop)))
    }
}

impl Drop for CudaWait {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let is_idle = state.is_called && matches!(state.outcome, Some(Ok(())));
        let waker = state.waker.take();
        drop(state);
        drop(waker);
        if let (Some(stream), true) = (self.stream.take(), is_idle) {
            keep_stream(stream);
        }
        // A stream with a wait in it is destroyed: the driver does that once the wait is over.
    }
}

impl fmt::Debug for CudaWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaWait")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let waker = self.state().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the wait if the event is done or has failed. Returns whether it has ended.
    fn look(&self) -> bool {
        let outcome = match self.event.is_done() {
            Ok(false) => return false,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        self.state().outcome.get_or_insert(outcome);
        self.wake();
        true
    }
}

/// Streams that wait for nothing.
static KEPT: Mutex<Vec<CudaStream>> = Mutex::new(Vec::new());

/// Returns a stream in which nothing is queued.
fn take_stream(context: &Arc<CudaContext>) -> Result<CudaStream> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept
        .iter()
        .position(|stream| Arc::ptr_eq(stream.context(), context));
    if let Some(at) = found {
        return Ok(kept.swap_remove(at));
    }
    drop(kept);
    CudaStream::new(context)
}

fn keep_stream(stream: CudaStream) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() < MOST_KEPT {
        kept.push(stream);
    }
}

/// What the thread is told.
enum Message {
    Began(Weak<Shared>),
    Done(Arc<Shared>),
}

/// Returns what sends to the thread, which is started if there is none. `None` if the system refuses it.
fn thread() -> Option<Sender<Message>> {
    static SENDER: Mutex<Option<Sender<Message>>> = Mutex::new(None);
    let mut sender = SENDER.lock().unwrap_or_else(PoisonError::into_inner);
    if sender.is_none() {
        let (new, receiver) = mpsc::channel();
        let builder = thread::Builder::new().name("warpwright-events".to_owned());
        builder.spawn(move || serve(&receiver)).ok()?;
        *sender = Some(new);
    }
    sender.clone()
}

/// Calls the wakers of the waits that have ended.
fn serve(receiver: &Receiver<Message>) {
    let mut waits: Vec<Weak<Shared>> = Vec::new();
    let mut look = Instant::now();
    loop {
        let message = if waits.is_empty() {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(look.saturating_duration_since(Instant::now()))
        };
        match message {
            Ok(Message::Began(wait)) => {
                if waits.is_empty() {
                    look = Instant::now() + LOOK_AFTER;
                }
                waits.push(wait);
            }
            Ok(Message::Done(wait)) => {
                waits.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(&wait)));
                // A panic of an executor's waker must not end the thread. The panic hook has reported it.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    wait.wake();
                    drop(wait);
                }));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if !waits.is_empty() && Instant::now() >= look {
            waits.retain(|wait| {
                let look = || wait.upgrade().is_some_and(|wait| !wait.look());
                catch_unwind(AssertUnwindSafe(look)).unwrap_or(false)
            });
            look = Instant::now() + LOOK_AFTER;
        }
    }
}
