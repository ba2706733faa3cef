//! The threads that run blocks, beside the thread that launches.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Returns the threads, or `None` if the system does not provide them.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let start = || {
        ThreadPoolBuilder::new()
            .thread_name(|i| format!("warpwright-cpu-{i}"))
            .build()
    };
    POOL.get_or_init(|| start().ok()).as_ref()
}

/// Returns the number of threads that can run blocks of a launch, including the one that launches.
pub(super) fn threads() -> usize {
    pool().map_or(1, ThreadPool::current_num_threads)
}

/// The helpers of a launch.
#[derive(Default)]
struct Helpers {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the launch is over: a helper that arrives now has nothing to do.
    closed: bool,
    working: usize,
}

impl Helpers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a helper from the count when its work ends in any way.
struct Working<'a>(&'a Helpers);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.state().working -= 1;
        self.0.ended.notify_all();
    }
}

/// Closes the work, and waits until no helper works on it.
struct Close<'a>(&'a Helpers);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        while state.working > 0 {
            let waited = self.0.ended.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs `work` on this thread, and at the same time on up to `helpers` others, as they become free.
///
/// The thread waits for the helpers that have begun, and does nothing else meanwhile, even if it belongs to a pool of the
/// caller's: another task of that pool might be a launch that waits for this one's stacks.
pub(super) fn with_helpers(helpers: usize, work: &(dyn Fn() + Sync)) {
    // Without helpers the threads are not started: each takes address space.
    let Some(pool) = (helpers > 0).then(pool).flatten() else {
        return work();
    };
    let shared = Arc::new(Helpers::default());
    let close = Close(&shared);
    // SAFETY: a helper uses it only if the work is not yet closed. The work is closed, and all helpers have ended, before
    // this function returns or unwinds.
    let lasting: &'static (dyn Fn() + Sync) = unsafe { core::mem::transmute(work) };
    for _ in 0..helpers {
        let shared = Arc::clone(&shared);
        pool.spawn(move || {
            let mut state = shared.state();
            if state.closed {
                return;
            }
            state.working += 1;
            drop(state);
            let _working = Working(&shared);
            lasting();
        });
    }
    work();
    drop(close);
}
