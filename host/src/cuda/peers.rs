//! Peers: devices that access each other's memory where there is a link between them.

use super::context::CudaContext;
use super::error::{Result, of};
use cust::context::CurrentContext;
use cust::error::{CudaError as DriverError, CudaResult};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The pairs of devices that were connected so far, the lower ordinal first.
static CONNECTED: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());

impl CudaContext {
    /// Lets this device and `other` access each other's memory, if there is a link between them. This is done once for each
    /// pair of devices. Without a link nothing changes, and the driver stages copies through memory of the host.
    ///
    /// # Errors
    /// Errors of the driver. The next call then tries again.
    pub(crate) fn connect(&self, other: &CudaContext) -> Result<()> {
        let (own, other_own) = (self.info().ordinal, other.info().ordinal);
        let pair = (own.min(other_own), own.max(other_own));
        let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
        if connected.contains(&pair) {
            return Ok(());
        }
        self.gain_access(other)?;
        other.gain_access(self)?;
        connected.insert(pair);
        Ok(())
    }

    /// Lets this device access the memory of `other`, if it can. Access goes one way.
    fn gain_access(&self, other: &CudaContext) -> Result<()> {
        let can = self.device().can_access_peer(other.device());
        if !can.map_err(of("cuDeviceCanAccessPeer"))? {
            return Ok(());
        }
        self.make_current()?;
        // This is for memory of `cuMemAlloc`: that of others, and ours on a device without pools.
        let enabled = CurrentContext::enable_peer_access(other.context());
        unless_impossible(enabled).map_err(of("cuCtxEnablePeerAccess"))?;
        // The access of contexts does not extend to the memory of a pool, which has a list of its own.
        if let Some(pool) = other.pool() {
            let allowed = pool.set_access(self.device(), true);
            unless_impossible(allowed).map_err(of("cuMemPoolSetAccess"))?;
        }
        Ok(())
    }
}

/// Turns errors that say that there is no access, or that there is some already, into successes: a copy works without it.
fn unless_impossible(result: CudaResult<()>) -> CudaResult<()> {
    match result {
        // Other libraries in the process use the same context, and may have enabled it.
        Err(
            DriverError::PeerAccessAlreadyEnabled
            | DriverError::PeerAccessUnsupported
            | DriverError::TooManyPeers
            | DriverError::NotSupported
            | DriverError::MissingFunction { .. },
        ) => Ok(()),
        result => result,
    }
}
