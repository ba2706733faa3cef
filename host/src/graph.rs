//! Graphs: work that is captured once and launched many times.

use std::sync::Arc;

use crate::{
    device::Device,
    error::Result,
    executor::{
        Executor, Recorded,
        capture::{self, Captured},
        ordered,
    },
};

/// Work of a handle that was captured, to be launched many times. Made by [`Device::capture`].
#[derive(Debug)]
pub struct Graph {
    device: Device,
    recorded: Recorded,
    /// Other handles whose memory the work uses.
    owners: Vec<Arc<Executor>>,
}

impl Device {
    /// Captures what `work` queues on this handle into a graph, instead of running it.
    ///
    /// On a CUDA device this is a CUDA graph, and launching it takes one call of the driver; the CPU records the work and does
    /// it again. Each launch does what the captured calls would do, on the same arrays, and gives the same bits. What can be
    /// captured is prepared work (`enqueue`) and launches of your own kernels, [`Device::launch`], on this handle or its clones
    /// and on the calling thread. A random generator draws the same numbers at each launch.
    ///
    /// The capture touches neither the handle's own stream nor other threads, and does not wait. If `work` fails or panics,
    /// nothing is left of it. What a prepared request needs once, before its first run, is queued at once. Reading the output
    /// of a captured request before a launch gives unspecified elements.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let values = device.upload(&[3_u32, 1, 2])?;
    /// let mut sorted = device.sort_request(&values).prepare()?;
    /// let mut graph = device.capture(|| sorted.enqueue())?;
    /// for _ in 0..3 {
    ///     // SAFETY: `values` and `sorted` still exist, and nothing else writes to them.
    ///     unsafe { graph.launch()? };
    /// }
    /// assert_eq!(sorted.output()?.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `work`; [`Error::Invalid`](crate::Error::Invalid) from a call in it that cannot be captured: one that
    /// allocates, waits for the device, or copies from or to the host, work of another handle, work that reads a constant table
    /// (a convolution with a short mask, a map of positions), and another capture; [`Error::Driver`](crate::Error::Driver).
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let Captured { graph, owners } =
            capture::record(&self.executor, work, Executor::end_capture)?;
        Ok(Graph {
            device: self.clone(),
            recorded: graph,
            owners,
        })
    }
}

impl Graph {
    /// Returns the handle whose work was captured.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Queues the work on the handle that captured it, in order with its other work and with that of other handles whose arrays
    /// it uses. Does not wait on a CUDA device.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver); on the CPU those of the captured work;
    /// [`Error::Invalid`](crate::Error::Invalid) while this thread captures.
    ///
    /// # Safety
    /// Everything that the captured work uses must still exist, where it was: arrays and prepared requests, memory of others.
    /// The calls that were captured must be allowed now: nothing else may use what they write, and nobody may have a view of it
    /// other than through them.
    pub unsafe fn launch(&mut self) -> Result<()> {
        let (executor, recorded) = (&self.device.executor, &mut self.recorded);
        capture::refuse("launch of a graph")?;
        // SAFETY: by the contract.
        ordered(executor, self.owners.iter(), || unsafe {
            executor.launch_graph(recorded)
        })
    }
}
