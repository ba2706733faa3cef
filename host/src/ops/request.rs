//! What all requests share: options, the place of the result, and the prepared form.

use std::fmt;

use warpwright_gpu::Family;

use super::{
    Choice, ChosenBy, choose,
    made::Made,
    plan::{Place, Plan, Work, calls::Calls},
};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::Matrix,
    rect::MatrixRectMut,
};

/// An operation: the type of its result, and how its work is planned. Other crates cannot implement this trait.
pub trait Operation {
    /// The type of the result if the request names no place.
    type Output: Make;

    /// Returns the operation's name for errors.
    #[doc(hidden)]
    fn name(&self) -> &'static str;
    #[doc(hidden)]
    fn family(&self) -> &'static Family;
    /// Plans the steps. Returns the shape of the output.
    #[doc(hidden)]
    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape>;
}

/// An operation whose result stays on the device: the call that runs it does not wait for the result.
#[derive(Debug, Clone)]
pub struct OnDevice<Op>(pub(super) Op);

impl<Op: Operation> Operation for OnDevice<Op> {
    type Output = Op::Output;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn family(&self) -> &'static Family {
        self.0.family()
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        self.0.plan(plan)
    }
}

impl<Op: Operation, D: Destination<Op::Output>> Request<OnDevice<Op>, D> {
    /// Queues the work and returns the result, which is on the device. Does not wait: see [`enqueue`](Prepared::enqueue).
    ///
    /// # Errors
    /// Those of [`prepare`](Self::prepare), and errors of the device.
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

/// An operation that finds a number of results, which is on the device.
pub trait Counted: Operation {
    /// Returns the place of the number, in the workspace.
    #[doc(hidden)]
    fn counted(&self) -> Place<u64>;
}

/// The shape of an output.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Nothing,
    Vector(usize),
    /// A matrix: rows and columns.
    Matrix(usize, usize),
    /// A matrix whose rows may be further apart than their length.
    Rect(usize, usize),
}

impl Shape {
    /// Returns the number of elements.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Vector(len) => len,
            Self::Matrix(height, width) | Self::Rect(height, width) => height * width,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Vector(len) => write!(f, "{len} elements"),
            Self::Matrix(height, width) | Self::Rect(height, width) => {
                write!(f, "{height} x {width} elements")
            }
        }
    }
}

/// A type of results that an operation can allocate.
pub trait Make: Sized {
    /// The size of an element in bytes.
    #[doc(hidden)]
    const BYTES: usize;

    #[doc(hidden)]
    fn make(operation: &'static str, device: &Device, shape: Shape) -> Result<(Self, u64)>;
}

impl Make for () {
    const BYTES: usize = 0;

    fn make(_: &'static str, _: &Device, _: Shape) -> Result<(Self, u64)> {
        Ok(((), 0))
    }
}

impl<T: Element> Make for Vector<T> {
    const BYTES: usize = size_of::<T>();

    fn make(operation: &'static str, device: &Device, shape: Shape) -> Result<(Self, u64)> {
        let len = match shape {
            Shape::Vector(len) => len,
            _ => 0,
        };
        let vector = Self::uninit(device, operation, len)?;
        let address = vector.view().address();
        Ok((vector, address))
    }
}

impl<T: Element> Make for Matrix<T> {
    const BYTES: usize = size_of::<T>();

    fn make(operation: &'static str, device: &Device, shape: Shape) -> Result<(Self, u64)> {
        let (height, width) = match shape {
            Shape::Matrix(height, width) | Shape::Rect(height, width) => (height, width),
            _ => (0, 0),
        };
        let matrix = Self::uninit(device, operation, height, width)?;
        let address = matrix.as_vector().view().address();
        Ok((matrix, address))
    }
}

/// The default destination: a new array.
#[derive(Debug, Clone, Copy)]
pub struct New(());

/// A destination of a result of type `O`: for a vector a [`Vector`], a `&mut Vector` or a [`VectorViewMut`], for a matrix a
/// [`Matrix`], a `&mut Matrix` or a [`MatrixRectMut`]. Other crates cannot implement this trait.
#[diagnostic::on_unimplemented(message = "`{Self}` is no place for a result of type `{O}`")]
pub trait Destination<O> {
    /// The type that the prepared form holds and returns.
    type Claimed;

    /// Returns the row stride in elements, if the destination has rows.
    #[doc(hidden)]
    fn row_stride(&self) -> Option<usize>;
    /// Returns the address of the first element. `None` for an array that is still to be allocated.
    #[doc(hidden)]
    fn address(&self) -> Option<u64>;
    /// Returns the place and its address, if it has this shape.
    #[doc(hidden)]
    fn claim(
        self,
        operation: &'static str,
        device: &Device,
        shape: Shape,
        work: &mut Work,
    ) -> Result<(Self::Claimed, u64)>;
}

impl<O: Make> Destination<O> for New {
    type Claimed = O;

    fn row_stride(&self) -> Option<usize> {
        None
    }

    fn address(&self) -> Option<u64> {
        None
    }

    fn claim(
        self,
        operation: &'static str,
        device: &Device,
        shape: Shape,
        _: &mut Work,
    ) -> Result<(O, u64)> {
        O::make(operation, device, shape)
    }
}

/// The memory of a caller's destination.
#[doc(hidden)]
pub struct Target<'a> {
    address: u64,
    shape: Shape,
    stride: Option<usize>,
    device: &'a Device,
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.shape, self.stride) {
            (Shape::Matrix(_, width), Some(stride)) if stride != width => {
                write!(f, "{}, rows {stride} apart", self.shape)
            }
            (shape, _) => write!(f, "{shape}"),
        }
    }
}

/// A caller's memory for a result of type `O`.
pub trait Writable<O> {
    #[doc(hidden)]
    fn target(&self) -> Target<'_>;
}

impl Target<'_> {
    /// Returns the address, if the memory has this shape.
    pub(super) fn claim(
        &self,
        operation: &'static str,
        device: &Device,
        shape: Shape,
        work: &mut Work,
    ) -> Result<u64> {
        device.require_same(operation, self.device)?;
        let required = match (shape, self.shape) {
            (Shape::Rect(height, width), Shape::Matrix(..))
                if self.shape == Shape::Matrix(height, width) =>
            {
                None
            }
            (Shape::Matrix(height, width), found) if found == shape => {
                let together = height <= 1 || width == 0 || self.stride == Some(width);
                (!together).then(|| "an output whose rows follow one another".to_owned())
            }
            (wanted, found) => (wanted != found).then(|| format!("an output of {wanted}")),
        };
        if let Some(required) = required {
            let kind = match (shape, self.shape) {
                (Shape::Vector(_), Shape::Vector(_)) => InvalidKind::Length,
                _ => InvalidKind::Shape,
            };
            return Err(Error::invalid(kind, operation, required, self.to_string()));
        }
        work.belongs_to(device, self.device);
        Ok(self.address)
    }

    /// Copies the elements of a vector to the host. Waits for the work that computes them.
    pub(super) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let len = match self.shape {
            Shape::Vector(len) => len,
            _ => 0,
        };
        VectorView::from_parts(self.address, len, self.device).to_vec()
    }
}

macro_rules! writable {
    ($($output:ident: $([$($lifetime:lifetime)?] $ty:ty, |$place:ident| $view:expr, $shape:expr, $stride:expr;)*)*) => { $($(
        impl<$($lifetime,)? T: Element> Writable<$output<T>> for $ty {
            fn target(&self) -> Target<'_> {
                let $place = self;
                Target {
                    shape: $shape,
                    stride: $stride,
                    address: $view.address(),
                    device: $place.device(),
                }
            }
        }

        impl<$($lifetime,)? T: Element> Destination<$output<T>> for $ty {
            type Claimed = Self;

            fn row_stride(&self) -> Option<usize> {
                self.target().stride
            }

            fn address(&self) -> Option<u64> {
                Some(self.target().address)
            }

            fn claim(
                self,
                operation: &'static str,
                device: &Device,
                shape: Shape,
                work: &mut Work,
            ) -> Result<(Self, u64)> {
                let address = self.target().claim(operation, device, shape, work)?;
                Ok((self, address))
            }
        }
    )*)* };
}
writable! {
    Vector:
    [] Vector<T>, |it| it.view(), Shape::Vector(it.len()), None;
    ['a] &'a mut Vector<T>, |it| it.view(), Shape::Vector(it.len()), None;
    ['a] VectorViewMut<'a, T>, |it| it, Shape::Vector(it.len()), None;
    Matrix:
    [] Matrix<T>, |it| it.as_vector().view(), Shape::Matrix(it.height(), it.width()), Some(it.width());
    ['a] &'a mut Matrix<T>, |it| it.as_vector().view(), Shape::Matrix(it.height(), it.width()), Some(it.width());
    ['a] MatrixRectMut<'a, T>, |it| it.elements(), Shape::Matrix(it.height(), it.width()), Some(it.stride());
}

/// A request: an operation with options. Nothing is done until it is run, or until its prepared form is queued.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct Request<Op, D = New> {
    pub(super) device: Device,
    pub(super) op: Op,
    pub(super) to: D,
    variant: Option<String>,
}

impl<Op> Request<Op> {
    pub(super) fn new(device: &Device, op: Op) -> Self {
        Self {
            device: device.clone(),
            op,
            to: New(()),
            variant: None,
        }
    }
}

impl<Op, D> Request<Op, D> {
    /// Uses the variant `name` of the operation's [family](crate::families) instead of `best`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Returns the operation, the place and the name of the variant.
    pub(super) fn into_parts(self) -> (Op, D, Option<String>) {
        (self.op, self.to, self.variant)
    }

    /// Returns the same request for another operation and place.
    pub(super) fn with<P, E>(self, change: impl FnOnce(Op, D) -> (P, E)) -> Request<P, E> {
        let (op, to) = change(self.op, self.to);
        Request {
            device: self.device,
            op,
            to,
            variant: self.variant,
        }
    }
}

impl<Op: Operation, D> Request<Op, D> {
    /// Writes the result to `place` instead of a new array: see [`Destination`].
    pub fn output_to<E: Destination<Op::Output>>(self, place: E) -> Request<Op, E> {
        self.with(|op, _| (op, place))
    }
}

impl<Op: Operation, D: Destination<Op::Output>> Request<Op, D> {
    /// Chooses the variant and allocates the result and the workspace, so that the work can be queued repeatedly. Does not
    /// wait, unless an allocation has to release memory first.
    ///
    /// # Errors
    /// Those of the operation; [`Error::UnknownVariant`]; [`Error::NotEligible`] if the variant cannot solve the problem;
    /// [`Error::Invalid`] and [`Error::DeviceMismatch`] if the place of the result has another shape or is on another
    /// device.
    pub fn prepare(self) -> Result<Prepared<Op, D::Claimed>> {
        let Self {
            device,
            mut op,
            to,
            variant,
        } = self;
        let operation = op.name();
        let choice = choose(op.family(), variant.as_deref())?;
        let mut plan = Plan::new(
            &device,
            operation,
            op.family(),
            choice,
            (to.row_stride(), to.address()),
        );
        let shape = op.plan(&mut plan)?;
        let mut work = plan.into_work();
        let (output, address) = to.claim(operation, &device, shape, &mut work)?;
        let workspace = Vector::uninit(&device, operation, work.workspace_bytes())?;
        // There is memory for as many bytes.
        let bytes = shape.len() * Op::Output::BYTES;
        work.put(&device, (address, bytes), workspace.view().address())?;
        Ok(Prepared {
            device,
            op,
            choice,
            work,
            workspace,
            ready: false,
            output: Made::at(operation, output),
        })
    }
}

impl<Op: Counted, D: Destination<Op::Output>> Request<Op, D> {
    /// Runs the work, waits for the number of results, and returns the place and the number.
    pub(super) fn counted(self) -> Result<(D::Claimed, usize)> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let count = prepared.count()?;
        Ok((prepared.into_output()?, count))
    }
}

/// An operation whose variant is chosen and whose result has its memory, of type `R`.
pub struct Prepared<Op: Operation, R = <Op as Operation>::Output> {
    device: Device,
    pub(super) op: Op,
    choice: Choice,
    work: Work,
    pub(super) workspace: Vector<u8>,
    /// Whether the workspace is in the state that the steps require and preserve.
    ready: bool,
    pub(super) output: Made<R>,
}

impl<Op: Operation, R> Prepared<Op, R> {
    /// Returns the name of the variant.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Returns who chose the variant.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Returns the device memory that the operation takes beside the result, in bytes.
    pub fn workspace_bytes(&self) -> usize {
        self.work.workspace_bytes()
    }

    /// Returns the names of the kernels that each queueing launches, in their order. The list is empty for work that takes
    /// none, such as a copy.
    pub fn kernels(&self) -> Vec<&'static str> {
        self.work.kernels().map(|kernel| kernel.name).collect()
    }

    /// Says whether [`Device::capture`] takes the work, before it is tried: not work that reads a constant table (a convolution
    /// with a short mask, unless it is [kept in memory](Request::mask_in_memory); a map of positions), nor a rung in which the
    /// host takes part.
    ///
    /// # Errors
    /// [`Error::Invalid`] of the kind [`Capture`](InvalidKind::Capture), as from the capture.
    pub fn capturable(&self) -> Result<()> {
        self.work.capturable(self.op.name())
    }

    /// Queues the work and does not wait.
    ///
    /// What the host makes for the work, such as a long mask, is [uploaded](Device::upload) before the first run. The rung
    /// `serial` of a histogram, which counts on the host, waits for the values.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn enqueue(&mut self) -> Result<()> {
        // The workspace is not ready until all steps are queued.
        let set_up = !std::mem::replace(&mut self.ready, false);
        let (work, device, operation) = (&self.work, &self.device, self.op.name());
        self.output.by(|_| {
            // SAFETY: this form owns the output and the workspace, or borrows them mutably, and they have the plan's shape
            // and size. `Op` borrows the inputs.
            unsafe { work.queue(operation, device, set_up) }
        })?;
        self.ready = true;
        Ok(())
    }

    /// Returns the result of the work queued last. Does not wait for it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or if queueing the last work failed.
    pub fn output(&self) -> Result<&R> {
        self.output.get()
    }

    /// Converts the prepared form to the result of the work queued last. Does not wait for it.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<R> {
        self.output.take()
    }

    /// Queues the work and returns the result.
    pub(super) fn made(mut self) -> Result<R> {
        self.enqueue()?;
        self.into_output()
    }
}

impl<Op: Counted, R> Prepared<Op, R> {
    /// Returns the number of results of the work queued last, on the device: one element. Does not wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or if queueing the last work failed.
    pub fn count_on_device(&self) -> Result<VectorView<'_, u64>> {
        self.output()?;
        let address = self.workspace.view().address() + self.op.counted().offset();
        Ok(VectorView::from_parts(address, 1, self.workspace.device()))
    }

    /// Waits for the work queued last and returns its number of results: as many elements of the output, from the first on, are
    /// selected, unique, or results of runs.
    ///
    /// # Errors
    /// As for [`count_on_device`](Self::count_on_device), and errors of the device.
    pub fn count(&self) -> Result<usize> {
        let mut count = [0];
        self.count_on_device()?.download(&mut count)?;
        Ok(count[0] as usize)
    }
}

impl<Op: Operation> Prepared<Op> {
    /// Returns what each queueing asks of the driver, for the benchmark. Not for users.
    ///
    /// # Errors
    /// As for [`enqueue`](Self::enqueue).
    #[doc(hidden)]
    pub fn calls(&self) -> Result<Calls> {
        self.work.calls()
    }
}

impl<Op: Operation, R> fmt::Debug for Prepared<Op, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("operation", &self.op.name())
            .field("variant", &self.variant())
            .field("workspace_bytes", &self.workspace_bytes())
            .finish_non_exhaustive()
    }
}
