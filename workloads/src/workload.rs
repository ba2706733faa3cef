use warpwright::{Device, Result};

use crate::{Prepared, Problem, Sets, Verdict};

/// A problem of any family.
pub struct Workload(Box<dyn Hidden>);

impl Workload {
    /// Hides a problem's types.
    pub fn new(problem: impl Problem + Clone) -> Self {
        Self(Box::new(problem))
    }

    /// The family.
    pub fn family(&self) -> &'static str {
        self.0.family()
    }

    /// What is computed, such as `sum of 33 f32`.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Bytes that have to be read and written at least.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Floating-point operations, where those are what takes the time and not the bytes.
    pub fn operations(&self) -> Option<u64> {
        self.0.operations()
    }

    /// The input, on a device.
    ///
    /// # Errors
    /// What the library reports.
    pub fn input(&self, device: &Device) -> Result<Box<dyn Input>> {
        self.0.input(device)
    }

    /// Computes it once by a variant, and checks the answer.
    ///
    /// # Errors
    /// What the library reports.
    pub fn check(&self, device: &Device, variant: &str) -> Result<Verdict> {
        let input = self.input(device)?;
        let mut ready = input.prepare(device, variant)?;
        ready.enqueue()?;
        ready.check()
    }
}

/// The input of a workload, on a device.
pub trait Input {
    /// Makes a variant ready.
    ///
    /// # Errors
    /// What the library reports.
    fn prepare(&self, device: &Device, variant: &str) -> Result<Box<dyn Ready + '_>>;
}

/// A variant that is ready to work.
pub trait Ready {
    /// Queues the work.
    ///
    /// # Errors
    /// What the library reports.
    fn enqueue(&mut self) -> Result<()>;

    /// Whether the answer of the work queued last is right.
    ///
    /// # Errors
    /// What the library reports.
    fn check(&self) -> Result<Verdict>;
}

trait Hidden: Send + Sync {
    fn family(&self) -> &'static str;
    fn name(&self) -> String;
    fn bytes(&self) -> usize;
    fn operations(&self) -> Option<u64>;
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

    fn input(&self, device: &Device) -> Result<Box<dyn Input>> {
        Ok(Box::new(Sets::new(self.clone(), device, 1)?))
    }
}

impl<P: Problem> Input for Sets<P> {
    fn prepare(&self, device: &Device, variant: &str) -> Result<Box<dyn Ready + '_>> {
        let (sets, input) = (self, &self.inputs()[0]);
        let prepared = self.problem().prepare(device, input, Some(variant))?;
        Ok(Box::new(Single { sets, prepared }))
    }
}

struct Single<'a, P: Problem> {
    sets: &'a Sets<P>,
    prepared: Prepared<'a, P::Answer>,
}

impl<P: Problem> Ready for Single<'_, P> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<Verdict> {
        Ok(self.sets.check(0, &self.prepared.answer()?))
    }
}
