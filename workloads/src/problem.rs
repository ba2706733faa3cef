use std::rc::Rc;
use std::sync::OnceLock;

use warpwright::ops::calls::Calls;
use warpwright::{Device, Element, Histogram, Result};

use crate::Verdict;

/// A problem: inputs of one shape, in several sets of values.
pub trait Problem: Send + Sync + 'static {
    /// The input of one set on a device.
    type Input;
    /// The answer, read back to the host.
    type Answer: Bits;
    /// The oracle's data of one set.
    type Truth;

    /// Returns the family's name.
    fn family(&self) -> &'static str;

    /// Returns a description, such as `sum of 33 f32`.
    fn name(&self) -> String;

    /// Returns the minimum number of bytes that must be read and written.
    fn bytes(&self) -> usize;

    /// Returns the floating-point operations, if they and not the bytes are the limit.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// Makes the input of a set on a device.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn input(&self, device: &Device, set: usize) -> Result<Self::Input>;

    /// Prepares a variant, or the one that the library chooses. The device need not be the handle that the input was made with.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Self::Answer>>;

    /// Computes the answer in one call of the library, with the variant that it chooses and memory of its own.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn once(&self, device: &Device, input: &Self::Input) -> Result<Self::Answer> {
        let mut prepared = self.prepare(device, input, None)?;
        prepared.enqueue()?;
        prepared.answer()
    }

    /// Returns whether a variant's bits may differ from run to run, as its documentation says.
    fn wavers(&self, _variant: &str) -> bool {
        false
    }

    /// Returns whether a variant refuses the problem, with [`Error::NotEligible`](warpwright::Error::NotEligible).
    fn excludes(&self, _variant: &str) -> bool {
        false
    }

    /// Returns whether variants and devices may give other bits than each other, in a family that otherwise promises the same.
    fn varies(&self) -> bool {
        false
    }

    /// Returns the oracle's data of a set.
    fn truth(&self, set: usize) -> Self::Truth;

    /// Checks an answer.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    fn check(&self, truth: &Self::Truth, answer: &Self::Answer) -> Verdict;
}

/// An answer whose bits can be compared.
pub trait Bits {
    /// Returns the bits, as bytes.
    fn bits(&self) -> Vec<u8>;
}

impl<T: Element> Bits for Vec<T> {
    fn bits(&self) -> Vec<u8> {
        bytemuck::cast_slice(self).to_vec()
    }
}

impl Bits for Histogram {
    fn bits(&self) -> Vec<u8> {
        let mut bits = self.counts.bits();
        bits.extend(self.outside.to_ne_bytes());
        bits
    }
}

/// Prepared work: the variant is chosen and the memory is allocated.
pub struct Prepared<'a, A>(Box<dyn Work<A> + 'a>);

trait Work<A> {
    fn workspace_bytes(&self) -> usize;
    fn kernels(&self) -> Vec<&'static str>;
    fn calls(&mut self) -> Result<Calls>;
    fn enqueue(&mut self) -> Result<()>;
    fn answer(&self) -> Result<A>;
}

struct Local<P, W, K, C, E, R> {
    prepared: P,
    workspace: W,
    kernels: K,
    calls: C,
    enqueue: E,
    read: R,
}

impl<A, P, W, K, C, E, R> Work<A> for Local<P, W, K, C, E, R>
where
    W: Fn(&P) -> usize,
    K: Fn(&P) -> Vec<&'static str>,
    C: Fn(&mut P) -> Result<Calls>,
    E: FnMut(&mut P) -> Result<()>,
    R: Fn(&P) -> Result<A>,
{
    fn workspace_bytes(&self) -> usize {
        (self.workspace)(&self.prepared)
    }

    fn kernels(&self) -> Vec<&'static str> {
        (self.kernels)(&self.prepared)
    }

    fn calls(&mut self) -> Result<Calls> {
        (self.calls)(&mut self.prepared)
    }

    fn enqueue(&mut self) -> Result<()> {
        (self.enqueue)(&mut self.prepared)
    }

    fn answer(&self) -> Result<A> {
        (self.read)(&self.prepared)
    }
}

impl<'a, A> Prepared<'a, A> {
    /// Makes prepared work from a prepared request of the library, the bytes of its workspace, the kernels that it launches,
    /// its calls of the driver, a function that queues it, and one that reads its answer.
    pub fn new<P: 'a>(
        prepared: P,
        workspace: impl Fn(&P) -> usize + 'a,
        kernels: impl Fn(&P) -> Vec<&'static str> + 'a,
        calls: impl Fn(&mut P) -> Result<Calls> + 'a,
        enqueue: impl FnMut(&mut P) -> Result<()> + 'a,
        read: impl Fn(&P) -> Result<A> + 'a,
    ) -> Self {
        Self(Box::new(Local {
            prepared,
            workspace,
            kernels,
            calls,
            enqueue,
            read,
        }))
    }

    /// Returns the device memory beyond input and output, in bytes.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }

    /// Returns the kernels that it launches. The list is empty for work that is not prepared by the library.
    pub fn kernels(&self) -> Vec<&'static str> {
        self.0.kernels()
    }

    /// Returns what queueing it next asks of the driver. There is nothing for work that is not prepared by the library.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn calls(&mut self) -> Result<Calls> {
        self.0.calls()
    }

    /// Queues the work.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn enqueue(&mut self) -> Result<()> {
        self.0.enqueue()
    }

    /// Returns the answer of the work that was queued last.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn answer(&self) -> Result<A> {
        self.0.answer()
    }
}

/// Several sets of a problem on a device.
pub struct Sets<P: Problem> {
    problem: P,
    inputs: Rc<Vec<P::Input>>,
    truths: Vec<OnceLock<P::Truth>>,
}

impl<P: Problem> Sets<P> {
    /// Makes `count` sets.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn new(problem: P, device: &Device, count: usize) -> Result<Self> {
        let inputs = (0..count).map(|set| problem.input(device, set));
        let inputs = Rc::new(inputs.collect::<Result<_>>()?);
        Ok(Self::of(problem, inputs))
    }

    /// Returns the same sets for another problem that has the same inputs.
    #[must_use]
    pub fn with(&self, problem: P) -> Self {
        Self::of(problem, self.inputs.clone())
    }

    fn of(problem: P, inputs: Rc<Vec<P::Input>>) -> Self {
        Self {
            truths: inputs.iter().map(|_| OnceLock::new()).collect(),
            problem,
            inputs,
        }
    }

    /// Returns the problem.
    pub fn problem(&self) -> &P {
        &self.problem
    }

    /// Returns the inputs.
    pub fn inputs(&self) -> &[P::Input] {
        &self.inputs
    }

    /// Prepares a variant, or the one that the library chooses, for each set.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn prepare(
        &self,
        device: &Device,
        variant: Option<&str>,
    ) -> Result<Vec<Prepared<'_, P::Answer>>> {
        let prepared = self.inputs.iter();
        prepared
            .map(|input| self.problem.prepare(device, input, variant))
            .collect()
    }

    /// Checks the answer of a set. The oracle's data is computed at the first call.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn check(&self, set: usize, answer: &P::Answer) -> Verdict {
        self.problem.check(self.truth(set), answer)
    }

    /// Returns the oracle's data of a set.
    pub fn truth(&self, set: usize) -> &P::Truth {
        self.truths[set].get_or_init(|| self.problem.truth(set))
    }
}

/// Sets the variant of a request, if one is given.
macro_rules! with_variant {
    ($request:expr, $variant:expr) => {
        match $variant {
            Some(name) => $request.variant(name),
            None => $request,
        }
    };
}
pub(crate) use with_variant;

/// Makes [`Prepared`] work of one of the library's prepared requests, whose answer `$read` returns.
macro_rules! prepared {
    ($prepared:expr, |$it:ident| $read:expr) => {
        $crate::Prepared::new(
            $prepared,
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.kernels(),
            |prepared| prepared.calls(),
            |prepared| prepared.enqueue(),
            |$it| $read,
        )
    };
}
pub(crate) use prepared;
