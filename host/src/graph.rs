//! Graphs: work that is captured once and launched many times.

use std::sync::Arc;

use crate::{
    device::Device,
    error::Result,
    executor::{
        Executor, Recorded,
        capture::{self, Part},
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
    parts: Vec<Part>,
}

impl Device {
    /// Captures what `work` queues on this handle into a graph, instead of running it.
    ///
    /// On a CUDA device this is a CUDA graph, and launching it takes one call of the driver; the CPU records the work and does
    /// it again. Each launch does what the captured calls would do, on the same arrays, and gives the same bits. What can be
    /// captured is prepared work (`enqueue`) and launches of your own kernels, [`Device::launch`], on this handle or its clones
    /// and on the calling thread. A random generator draws the same numbers at each launch. What the graph keeps of a call are
    /// its addresses, sizes and scalars: [`Graph::update`] gives it others. Elements are read when it runs, and so is a
    /// constant table of a user's kernel: a launch sees what [`set_constant`](Self::set_constant) has set before it.
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
    /// (a convolution with a short mask, unless it is [kept in memory](crate::ops::Request::mask_in_memory); a map of
    /// positions), and another capture; [`Error::Driver`](crate::Error::Driver).
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let captured = capture::record(
            "capture",
            &self.executor,
            work,
            |_| Ok(()),
            Executor::end_capture,
        )?;
        Ok(Graph {
            device: self.clone(),
            recorded: captured.graph,
            owners: captured.owners,
            parts: captured.parts,
        })
    }
}

impl Graph {
    /// Captures `work` as [`Device::capture`] does, on the handle that captured the graph, and replaces what the graph does.
    ///
    /// `work` must queue the same kernels, copies and fills in the same order. The arrays may be others, and so may scalars,
    /// sizes, shapes of launches and the handles that own the arrays. Later launches give the bits that the calls in `work`
    /// give. Launches before the update are not touched, also if they still run: what they use is freed in order behind them,
    /// and modules of users' kernels stay loaded while the graph lives. A random generator in `work` draws its next numbers.
    ///
    /// On a CUDA device the nodes of the graph are updated in place. Only where the driver takes no such work in the place of a
    /// node (another size of a fill may be one) is the graph made anew. The host does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::map::Scale};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let (values, others) = (device.upload(&[1.0_f32, 2.0])?, device.upload(&[5.0_f32, 6.0, 7.0])?);
    /// let mut double = device.map_request(&values, Scale::multiply(2.0)).prepare()?;
    /// let mut treble = device.map_request(&others, Scale::multiply(3.0)).prepare()?;
    /// let mut graph = device.capture(|| double.enqueue())?;
    /// // SAFETY: the arrays and the requests still exist, and nothing else writes to them.
    /// unsafe { graph.launch()? };
    /// graph.update(|| treble.enqueue())?;
    /// // SAFETY: as above.
    /// unsafe { graph.launch()? };
    /// assert_eq!(double.output()?.to_vec()?, [2.0, 4.0]);
    /// assert_eq!(treble.output()?.to_vec()?, [15.0, 18.0, 21.0]);
    ///
    /// let mut sorted = device.sort_request(&others).prepare()?;
    /// assert!(graph.update(|| sorted.enqueue()).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `work`; [`Error::Invalid`](crate::Error::Invalid) from a call in it that cannot be captured, if `work` has
    /// other kernels, copies or fills than the graph, with the first that differs, and while this thread captures;
    /// [`Error::Driver`](crate::Error::Driver). After an error the graph is as it was, and can be launched.
    pub fn update(&mut self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let (parts, recorded) = (&self.parts, &mut self.recorded);
        let captured = capture::record(
            capture::UPDATE,
            &self.device.executor,
            work,
            |given| capture::require_same(parts, given),
            |recorder| recorder.end_update(recorded),
        )?;
        self.owners = captured.owners;
        Ok(())
    }

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
