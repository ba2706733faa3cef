//! Points in the stream of a device.

use std::{sync::Arc, task::Waker, time::Duration};

use super::driver_error;
use crate::{
    cuda::{CudaContext, CudaError, CudaEvent, CudaStream, CudaWait},
    device::DeviceKind,
    error::{Error, Result},
};

/// A point in the stream of a device.
#[derive(Debug, Clone)]
pub(crate) struct CudaMark(Arc<CudaEvent>, DeviceKind);

impl CudaMark {
    /// Records an event in `stream`. It is `timed` to measure the time between two.
    pub fn record(
        (context, stream): (&Arc<CudaContext>, &CudaStream),
        device: DeviceKind,
        operation: &'static str,
        timed: bool,
    ) -> Result<Self> {
        let failed = |error| driver_error(operation, device, error);
        let event = match timed {
            true => CudaEvent::new(context),
            false => CudaEvent::without_timing(context),
        };
        let event = event.map_err(failed)?;
        event.record(stream).map_err(failed)?;
        Ok(Self(Arc::new(event), device))
    }

    pub(super) fn event(&self) -> &CudaEvent {
        &self.0
    }

    /// Returns the time from `start` to this point. Waits for both.
    pub fn since(&self, start: &Self) -> Result<Duration> {
        let time = self.0.elapsed_since(&start.0);
        time.map_err(|error| driver_error("time", self.1, error))
    }

    /// Waits for this point.
    pub fn synchronize(&self) -> Result<()> {
        let done = self.0.synchronize();
        done.map_err(|error| driver_error("synchronize", self.1, error))
    }

    /// Returns how the work before this point has ended. `None` if it has not: then `waker` is called when it has. `wait` is
    /// the wait for this point, if one is under way.
    pub fn poll(&self, wait: &mut Option<CudaWait>, waker: &Waker) -> Option<Result<()>> {
        let outcome = match wait {
            Some(wait) => wait.outcome(waker),
            None => self.begin(wait, waker),
        };
        let outcome = outcome?;
        *wait = None;
        Some(outcome.map_err(|error| self.error(error)))
    }

    fn begin(
        &self,
        wait: &mut Option<CudaWait>,
        waker: &Waker,
    ) -> Option<std::result::Result<(), CudaError>> {
        match self.0.is_done() {
            Ok(true) => return Some(Ok(())),
            Ok(false) => {}
            Err(error) => return Some(Err(error)),
        }
        match CudaWait::begin(&self.0, waker) {
            Ok(begun) => wait.insert(begun).outcome(waker),
            Err(error) => Some(Err(error)),
        }
    }

    fn error(&self, error: CudaError) -> Error {
        driver_error("wait for an event", self.1, error)
    }
}
