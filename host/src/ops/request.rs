//! What all requests have in common: options, the place of the result, and the prepared form.

use std::fmt;

use warpwright_gpu::Family;

use super::{
    Choice, ChosenBy, choose,
    made::Made,
    plan::{Plan, Work},
};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, Result},
    matrix::Matrix,
    rect::MatrixRectMut,
};

/// An operation: what it makes, and how. Other crates cannot implement it.
pub trait Operation {
    /// What it makes where the request names no place.
    type Output: Make;

    /// Its name in errors.
    #[doc(hidden)]
    fn name(&self) -> &'static str;
    #[doc(hidden)]
    fn family(&self) -> &'static Family;
    /// Plans its steps, and gives the shape of its output.
    #[doc(hidden)]
    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape>;
}

/// The shape of an output.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Nothing,
    Vector(usize),
    /// Of a matrix, rows and columns.
    Matrix(usize, usize),
    /// The same, whose rows may be further apart than they are long.
    Rect(usize, usize),
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

/// What an operation can make.
pub trait Make: Sized {
    #[doc(hidden)]
    fn make(operation: &'static str, device: &Device, shape: Shape) -> Result<(Self, u64)>;
}

impl Make for () {
    fn make(_: &'static str, _: &Device, _: Shape) -> Result<(Self, u64)> {
        Ok(((), 0))
    }
}

impl<T: Element> Make for Vector<T> {
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

/// Where a result goes unless the request is told otherwise: an array of its own.
#[derive(Debug, Clone, Copy)]
pub struct New(());

/// Where a result of type `O` can go: for a vector a [`Vector`], a `&mut Vector` or a [`VectorViewMut`], for a matrix a
/// [`Matrix`], a `&mut Matrix` or a [`MatrixRectMut`]. Other crates cannot implement it.
#[diagnostic::on_unimplemented(message = "`{Self}` is no place for a result of type `{O}`")]
pub trait Destination<O> {
    /// What the prepared form holds, and gives back.
    type Claimed;

    /// The elements from a row to the next, where it has rows.
    #[doc(hidden)]
    fn row_stride(&self) -> Option<usize>;
    /// The place and its address, if it has this shape.
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

/// Memory of a caller's.
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

/// What a caller can give for a result of type `O`.
pub trait Writable<O> {
    #[doc(hidden)]
    fn target(&self) -> Target<'_>;
}

impl Target<'_> {
    /// Its address, if it has this shape.
    fn claim(
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
            return Err(Error::invalid(operation, required, self.to_string()));
        }
        work.belongs_to(device, self.device);
        Ok(self.address)
    }

    /// A copy of the elements of a vector on the host; waits for the work that makes them.
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

/// A request: an operation with options. It does nothing until it is run, or until its prepared form is queued.
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
    /// Uses the variant called `name`, one of the operation's [family](crate::families), in the place of the best.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// The same request for another operation and place.
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
    /// Overwrites `place` with the result, instead of making a new array: see [`Destination`].
    pub fn output_to<E: Destination<Op::Output>>(self, place: E) -> Request<Op, E> {
        self.with(|op, _| (op, place))
    }
}

impl<Op: Operation, D: Destination<Op::Output>> Request<Op, D> {
    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// Those of the operation; [`Error::UnknownVariant`], and [`Error::NotEligible`] if the variant cannot do the problem;
    /// [`Error::Invalid`] and [`Error::DeviceMismatch`] if the place of the result has another shape or is on another device.
    pub fn prepare(self) -> Result<Prepared<Op, D::Claimed>> {
        let Self {
            device,
            mut op,
            to,
            variant,
        } = self;
        let operation = op.name();
        let choice = choose(op.family(), variant.as_deref())?;
        let mut plan = Plan::new(&device, operation, op.family(), choice, to.row_stride());
        let shape = op.plan(&mut plan)?;
        let mut work = plan.into_work();
        let (output, address) = to.claim(operation, &device, shape, &mut work)?;
        let workspace = Vector::uninit(&device, operation, work.workspace_bytes())?;
        work.put(address, workspace.view().address());
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

/// An operation whose variant is chosen and whose result has its place, in an `R`.
pub struct Prepared<Op: Operation, R = <Op as Operation>::Output> {
    device: Device,
    pub(super) op: Op,
    choice: Choice,
    work: Work,
    pub(super) workspace: Vector<u8>,
    /// Whether the workspace is as the steps want it and leave it.
    ready: bool,
    pub(super) output: Made<R>,
}

impl<Op: Operation, R> Prepared<Op, R> {
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes beside the result.
    pub fn workspace_bytes(&self) -> usize {
        self.work.workspace_bytes()
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        // Until the work is queued as a whole.
        let set_up = !std::mem::replace(&mut self.ready, false);
        let (work, device, operation) = (&self.work, &self.device, self.op.name());
        self.output.by(|_| {
            // SAFETY: output and workspace are this form's own, or borrowed by it to be written, and have the shape and the
            // bytes of the plan; `Op` borrows what is read.
            unsafe { work.queue(operation, device, set_up) }
        })?;
        self.ready = true;
        Ok(())
    }

    /// The result of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&R> {
        self.output.get()
    }

    /// The result of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<R> {
        self.output.take()
    }

    /// Queues the work and gives the result.
    pub(super) fn made(mut self) -> Result<R> {
        self.enqueue()?;
        self.into_output()
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
