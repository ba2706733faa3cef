use std::rc::Rc;
use std::sync::OnceLock;

use warpwright::{Device, Element, Histogram, Result};

use crate::Verdict;

/// Something to compute, of which there can be several sets: inputs of the same shape with other values.
pub trait Problem: Send + Sync + 'static {
    /// What lies on a device, of one set.
    type Input;
    /// What comes out, read to the host.
    type Answer: Bits;
    /// What the oracle knows of a set.
    type Truth;

    /// The family.
    fn family(&self) -> &'static str;

    /// What is computed, such as `sum of 33 f32`.
    fn name(&self) -> String;

    /// Bytes that have to be read and written at least.
    fn bytes(&self) -> usize;

    /// Floating-point operations, where those are what takes the time and not the bytes.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// A set's input on a device.
    ///
    /// # Errors
    /// What the library reports.
    fn input(&self, device: &Device, set: usize) -> Result<Self::Input>;

    /// Makes a variant ready, or the one that the library chooses. The device need not be the handle that the
    /// input was made with.
    ///
    /// # Errors
    /// What the library reports.
    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Self::Answer>>;

    /// Whether a variant may give other bits from run to run, as its page says.
    fn wavers(&self, _variant: &str) -> bool {
        false
    }

    /// What a set's answer is held against.
    fn truth(&self, set: usize) -> Self::Truth;

    /// Whether an answer is right.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, truth: &Self::Truth, answer: &Self::Answer) -> Verdict;
}

/// An answer, all of whose bits can be compared.
pub trait Bits {
    /// The bits, as bytes.
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

/// Work of which a variant is chosen and whose memory is in place.
pub struct Prepared<'a, A>(Box<dyn Work<A> + 'a>);

trait Work<A> {
    fn workspace_bytes(&self) -> usize;
    fn enqueue(&mut self) -> Result<()>;
    fn answer(&self) -> Result<A>;
}

struct Local<P, W, E, R> {
    prepared: P,
    workspace: W,
    enqueue: E,
    read: R,
}

impl<A, P, W, E, R> Work<A> for Local<P, W, E, R>
where
    W: Fn(&P) -> usize,
    E: FnMut(&mut P) -> Result<()>,
    R: Fn(&P) -> Result<A>,
{
    fn workspace_bytes(&self) -> usize {
        (self.workspace)(&self.prepared)
    }

    fn enqueue(&mut self) -> Result<()> {
        (self.enqueue)(&mut self.prepared)
    }

    fn answer(&self) -> Result<A> {
        (self.read)(&self.prepared)
    }
}

impl<'a, A> Prepared<'a, A> {
    /// Work of the library's: what was prepared, the bytes of its workspace, how it is queued, and how its answer
    /// is read.
    pub fn new<P: 'a>(
        prepared: P,
        workspace: impl Fn(&P) -> usize + 'a,
        enqueue: impl FnMut(&mut P) -> Result<()> + 'a,
        read: impl Fn(&P) -> Result<A> + 'a,
    ) -> Self {
        Self(Box::new(Local {
            prepared,
            workspace,
            enqueue,
            read,
        }))
    }

    /// The memory on the device beside input and output, in bytes.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the library reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.0.enqueue()
    }

    /// The answer of the work queued last.
    ///
    /// # Errors
    /// What the library reports.
    pub fn answer(&self) -> Result<A> {
        self.0.answer()
    }
}

/// Some sets of a problem, on a device.
pub struct Sets<P: Problem> {
    problem: P,
    inputs: Rc<Vec<P::Input>>,
    truths: Vec<OnceLock<P::Truth>>,
}

impl<P: Problem> Sets<P> {
    /// Makes `count` sets.
    ///
    /// # Errors
    /// What the library reports.
    pub fn new(problem: P, device: &Device, count: usize) -> Result<Self> {
        let inputs = (0..count).map(|set| problem.input(device, set));
        let inputs = Rc::new(inputs.collect::<Result<_>>()?);
        Ok(Self::of(problem, inputs))
    }

    /// The same sets for another problem whose inputs are the same.
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

    /// The problem.
    pub fn problem(&self) -> &P {
        &self.problem
    }

    /// The inputs.
    pub fn inputs(&self) -> &[P::Input] {
        &self.inputs
    }

    /// A variant, or the one that the library chooses, ready for each set.
    ///
    /// # Errors
    /// What the library reports.
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

    /// Whether this is a set's answer. What the oracle says is computed when it is asked for first.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, set: usize, answer: &P::Answer) -> Verdict {
        self.problem.check(self.truth(set), answer)
    }

    /// What the oracle knows of a set.
    pub fn truth(&self, set: usize) -> &P::Truth {
        self.truths[set].get_or_init(|| self.problem.truth(set))
    }
}

/// A request with the variant that is asked for, if one is.
macro_rules! with_variant {
    ($request:expr, $variant:expr) => {
        match $variant {
            Some(name) => $request.variant(name),
            None => $request,
        }
    };
}
pub(crate) use with_variant;

/// Work of a prepared form of the library's, whose answer is what `$read` makes of it.
macro_rules! prepared {
    ($prepared:expr, |$it:ident| $read:expr) => {
        $crate::Prepared::new(
            $prepared,
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.enqueue(),
            |$it| $read,
        )
    };
}
pub(crate) use prepared;
