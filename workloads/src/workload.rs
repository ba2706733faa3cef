use warpwright::ops::calls::Calls;
use warpwright::{Device, Result};

use crate::{Bits, Prepared, Problem, Sets, Verdict};

/// A problem of any family, with its types hidden.
pub struct Workload(Box<dyn Hidden>);

impl Workload {
    /// Hides the types of a problem.
    pub fn new(problem: impl Problem + Clone) -> Self {
        Self(Box::new(problem))
    }

    /// Returns the family's name.
    pub fn family(&self) -> &'static str {
        self.0.family()
    }

    /// Returns a description, such as `sum of 33 f32`.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Returns the minimum number of bytes that must be read and written.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Returns the floating-point operations, if they and not the bytes are the limit.
    pub fn operations(&self) -> Option<u64> {
        self.0.operations()
    }

    /// Makes the input on a device.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn input(&self, device: &Device) -> Result<Box<dyn Input>> {
        self.0.input(device)
    }

    /// Computes the problem once by a variant, and checks the answer.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn check(&self, device: &Device, variant: &str) -> Result<Verdict> {
        let input = self.input(device)?;
        let mut ready = input.prepare(device, Some(variant))?;
        ready.enqueue()?;
        ready.check()
    }

    /// Computes the problem once by a variant, and returns all bits of the answer.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn bits(&self, device: &Device, variant: &str) -> Result<Vec<u8>> {
        let input = self.input(device)?;
        let mut ready = input.prepare(device, Some(variant))?;
        ready.enqueue()?;
        ready.bits()
    }

    /// Returns whether a variant's bits may differ from run to run, as its documentation says.
    pub fn wavers(&self, variant: &str) -> bool {
        self.0.wavers(variant)
    }

    /// Returns whether a variant refuses the problem, with [`Error::NotEligible`](warpwright::Error::NotEligible).
    pub fn excludes(&self, variant: &str) -> bool {
        self.0.excludes(variant)
    }

    /// Returns whether variants and devices may give other bits than each other, in a family that otherwise promises the same.
    pub fn varies(&self) -> bool {
        self.0.varies()
    }
}

/// The input of a workload, on a device.
pub trait Input {
    /// Prepares a variant, or the one that the library chooses.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn prepare(&self, device: &Device, variant: Option<&str>) -> Result<Box<dyn Ready + '_>>;

    /// Computes the answer in one call, from the request to the host, and returns its bits.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn once(&self, device: &Device) -> Result<Vec<u8>>;
}

/// A prepared variant.
pub trait Ready {
    /// Returns the device memory beyond input and output, in bytes.
    fn workspace_bytes(&self) -> usize;

    /// Returns the kernels that the work launches. The list is empty for work that is not prepared by the library.
    fn kernels(&self) -> Vec<&'static str>;

    /// Returns what queueing the work next asks of the driver. There is nothing for work that is not prepared by the library.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn calls(&mut self) -> Result<Calls>;

    /// Queues the work.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn enqueue(&mut self) -> Result<()>;

    /// Returns all bits of the answer of the work that was queued last.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn bits(&self) -> Result<Vec<u8>>;

    /// Checks the answer of the work that was queued last.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn check(&self) -> Result<Verdict>;
}

trait Hidden: Send + Sync {
    fn family(&self) -> &'static str;
    fn name(&self) -> String;
    fn bytes(&self) -> usize;
    fn operations(&self) -> Option<u64>;
    fn wavers(&self, variant: &str) -> bool;
    fn excludes(&self, variant: &str) -> bool;
    fn varies(&self) -> bool;
    fn input(&self, device: &Device) -> Result<Box<dyn Input>>;
}

impl<P: Problem + Clone> Hidden for P {
    fn family(&self) -> &'static str {
        Problem::family(self)
    }

    fn name(&self) -> String {
        Problem::name(self)
    }

    fn bytes(&self) -> usize {
        Problem::bytes(self)
    }

    fn operations(&self) -> Option<u64> {
        Problem::operations(self)
    }

    fn wavers(&self, variant: &str) -> bool {
        Problem::wavers(self, variant)
    }

    fn excludes(&self, variant: &str) -> bool {
        Problem::excludes(self, variant)
    }

    fn varies(&self) -> bool {
        Problem::varies(self)
    }

    fn input(&self, device: &Device) -> Result<Box<dyn Input>> {
        Ok(Box::new(Sets::new(self.clone(), device, 1)?))
    }
}

impl<P: Problem> Input for Sets<P> {
    fn prepare(&self, device: &Device, variant: Option<&str>) -> Result<Box<dyn Ready + '_>> {
        let (sets, input) = (self, &self.inputs()[0]);
        let prepared = self.problem().prepare(device, input, variant)?;
        Ok(Box::new(Single { sets, prepared }))
    }

    fn once(&self, device: &Device) -> Result<Vec<u8>> {
        let answer = self.problem().once(device, &self.inputs()[0])?;
        Ok(answer.bits())
    }
}

struct Single<'a, P: Problem> {
    sets: &'a Sets<P>,
    prepared: Prepared<'a, P::Answer>,
}

impl<P: Problem> Ready for Single<'_, P> {
    fn workspace_bytes(&self) -> usize {
        self.prepared.workspace_bytes()
    }

    fn kernels(&self) -> Vec<&'static str> {
        self.prepared.kernels()
    }

    fn calls(&mut self) -> Result<Calls> {
        self.prepared.calls()
    }

    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn bits(&self) -> Result<Vec<u8>> {
        Ok(self.prepared.answer()?.bits())
    }

    fn check(&self) -> Result<Verdict> {
        Ok(self.sets.check(0, &self.prepared.answer()?))
    }
}
