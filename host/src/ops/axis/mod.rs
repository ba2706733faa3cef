//! Reductions along an axis of a matrix: the request that columns and rows share.

mod plan;
mod prepared;

use std::fmt;

use cuda_std::kernel::KernelDescriptor;
use warpwright_gpu::{
    Family,
    axis::{Along, Element as GpuElement, Mean, Sum},
    columns::{self as gpu_columns, Kernels as ColumnKernels},
    reduce::{Max, Min},
    rows::{self as gpu_rows, Kernels as RowKernels},
};

pub(super) use plan::{Argument, Plan, Problem};
pub use prepared::PreparedAxis;

use super::{choose, columns, made::Made, rows, sealed::Sealed};
use crate::{
    buffer::{Element, Vector},
    device::Device,
    error::{Error, Result},
    matrix::MatrixView,
};

/// An element that can be reduced along an axis: `u8 u16 i32 u32 f32 f64`.
pub trait AxisReducible: Element + fmt::Debug + fmt::Display + Sealed {
    /// The type of sums: `u64` for unsigned and `i64` for signed integers; `f32` for `f32`, `f64` for `f64`.
    type Sum: Element + fmt::Debug + fmt::Display;
    /// The most elements along the axis whose sum surely fits, whatever they are: more are refused. For
    /// floats there is no such limit.
    const MOST_ADDENDS: usize;

    #[doc(hidden)]
    fn kernels(operator: AxisOperator) -> Kernels;
}

/// What is computed along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AxisOperator {
    /// The sum.
    Sum,
    /// The arithmetic mean.
    Mean,
    /// The least element.
    Min,
    /// The greatest element.
    Max,
}

impl AxisOperator {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Mean, Self::Min, Self::Max];

    /// The operator's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// What one result belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// A column: the reduction runs along y.
    Columns,
    /// A row: the reduction runs along x.
    Rows,
}

impl Axis {
    /// The family of kernels.
    pub const fn family(self) -> &'static Family {
        match self {
            Self::Columns => &gpu_columns::FAMILY,
            Self::Rows => &gpu_rows::FAMILY,
        }
    }

    /// The operation's name in errors.
    const fn operation(self, operator: AxisOperator) -> &'static str {
        use AxisOperator::{Max, Mean, Min, Sum};
        match (self, operator) {
            (Self::Columns, Sum) => "sum of columns",
            (Self::Columns, Mean) => "mean of columns",
            (Self::Columns, Min) => "min of columns",
            (Self::Columns, Max) => "max of columns",
            (Self::Rows, Sum) => "sum of rows",
            (Self::Rows, Mean) => "mean of rows",
            (Self::Rows, Min) => "min of rows",
            (Self::Rows, Max) => "max of rows",
        }
    }

    /// What lies along the axis.
    const fn along(self) -> &'static str {
        match self {
            Self::Columns => "row",
            Self::Rows => "column",
        }
    }
}

/// The kernels of a reduction along an axis, with its types erased.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    pub(super) columns: [&'static KernelDescriptor; gpu_columns::FAMILY.variants.len()],
    pub(super) fold: &'static KernelDescriptor,
    pub(super) rows: [&'static KernelDescriptor; gpu_rows::FAMILY.variants.len()],
    pub(super) finish: &'static KernelDescriptor,
    pub(super) long: &'static KernelDescriptor,
    pub(super) element_bytes: usize,
    pub(super) part_bytes: usize,
    pub(super) total_bytes: usize,
    /// The bytes of the total of no elements.
    identity: [u8; 8],
}

impl Kernels {
    fn of<A: ColumnKernels + RowKernels>() -> Self
    where
        A::Acc: Element,
    {
        let mut identity = [0; 8];
        identity[..size_of::<A::Acc>()].copy_from_slice(bytemuck::bytes_of(&A::IDENTITY));
        Self {
            columns: A::COLUMNS,
            fold: A::FOLD,
            rows: A::ROWS,
            finish: A::FINISH,
            long: A::LONG,
            element_bytes: size_of::<A::In>(),
            part_bytes: size_of::<<A as Along>::Part>(),
            total_bytes: size_of::<A::Acc>(),
            identity,
        }
    }
}

macro_rules! reducible {
    ($($ty:ty),*) => { $(
        impl AxisReducible for $ty {
            type Sum = <$ty as GpuElement>::Sum;
            const MOST_ADDENDS: usize = <$ty as GpuElement>::MOST;

            fn kernels(operator: AxisOperator) -> Kernels {
                match operator {
                    AxisOperator::Sum => Kernels::of::<Sum<$ty>>(),
                    AxisOperator::Mean => Kernels::of::<Mean<$ty>>(),
                    AxisOperator::Min => Kernels::of::<Min<$ty>>(),
                    AxisOperator::Max => Kernels::of::<Max<$ty>>(),
                }
            }
        }
    )* };
}
reducible!(u8, u16, i32, u32, f32, f64);

impl Device {
    /// A reduction of each column of `matrix`, along y.
    pub fn reduce_columns<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> AxisRequest<'a, T> {
        self.reduce_axis(matrix, Axis::Columns)
    }

    /// A reduction of each row of `matrix`, along x.
    pub fn reduce_rows<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> AxisRequest<'a, T> {
        self.reduce_axis(matrix, Axis::Rows)
    }

    /// A reduction along an axis that is chosen at run time.
    pub fn reduce_axis<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        axis: Axis,
    ) -> AxisRequest<'a, T> {
        AxisRequest {
            device: self.clone(),
            input: matrix.into(),
            axis,
            variant: None,
        }
    }

    /// The sum of each column of `matrix`: see [`AxisRequest::sum`].
    ///
    /// # Errors
    /// As there.
    pub fn column_sums<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<T::Sum>> {
        self.reduce_columns(matrix).sum()
    }

    /// The sum of each row of `matrix`: see [`AxisRequest::sum`].
    ///
    /// # Errors
    /// As there.
    pub fn row_sums<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<T::Sum>> {
        self.reduce_rows(matrix).sum()
    }

    /// The mean of each column of `matrix`: see [`AxisRequest::mean`].
    ///
    /// # Errors
    /// As there.
    pub fn column_means<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<f64>> {
        self.reduce_columns(matrix).mean()
    }

    /// The mean of each row of `matrix`: see [`AxisRequest::mean`].
    ///
    /// # Errors
    /// As there.
    pub fn row_means<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<f64>> {
        self.reduce_rows(matrix).mean()
    }
}

/// A reduction along an axis that is to be done. Any shape; the result has an element per column or row.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until an operation is asked of it"]
pub struct AxisRequest<'a, T> {
    device: Device,
    input: MatrixView<'a, T>,
    axis: Axis,
    variant: Option<String>,
}

impl<'a, T: AxisReducible> AxisRequest<'a, T> {
    /// Uses the variant called `name`: see the families `columns` and `rows`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// The sums; 0 where there are no elements along the axis.
    ///
    /// Integers are summed in 64 bits and exact. Floats are summed by [`CHUNK`](warpwright_gpu::axis::CHUNK)
    /// elements in their own type, and those sums in `f64`: for `f32` the error is at most
    /// `258 * 2^-24 * sum(|x|)` however long the axis, for `f64` `n * 2^-53 * sum(|x|)` for `n` elements.
    /// The same input, alignment and device give the same bits, but for the float sums of `chunk_atomic`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are so many integers along the axis that a sum could overflow
    /// ([`AxisReducible::MOST_ADDENDS`]); [`Error::UnknownVariant`], [`Error::NotEligible`],
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and what the device reports.
    pub fn sum(self) -> Result<Vector<T::Sum>> {
        self.prepare_sum()?.run()
    }

    /// The arithmetic means: the sums before they are rounded to their type, divided in `f64`. Of integers the exact sum
    /// is rounded to `f64` and divided there, so that a mean is within two roundings, `2^-52` of its size. The same
    /// bits run after run where the sums are.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum); [`Error::Invalid`] too if there are no elements along the axis.
    pub fn mean(self) -> Result<Vector<f64>> {
        self.prepare_mean()?.run()
    }

    /// The least elements. -0 lies below +0; one NaN makes the result a NaN, of whatever payload. Apart from that
    /// payload the same on every device, by every variant.
    ///
    /// # Errors
    /// As for [`mean`](Self::mean), but nothing overflows.
    pub fn min(self) -> Result<Vector<T>> {
        self.prepare_min()?.run()
    }

    /// The greatest elements. -0 lies below +0; one NaN makes the result a NaN, of whatever payload. Apart from
    /// that payload the same on every device, by every variant.
    ///
    /// # Errors
    /// As for [`min`](Self::min).
    pub fn max(self) -> Result<Vector<T>> {
        self.prepare_max()?.run()
    }

    /// Chooses the variant for [`sum`](Self::sum) and makes room, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn prepare_sum(self) -> Result<PreparedAxis<'a, T, T::Sum>> {
        self.prepare(AxisOperator::Sum)
    }

    /// As [`prepare_sum`](Self::prepare_sum), for [`mean`](Self::mean).
    ///
    /// # Errors
    /// As for [`mean`](Self::mean).
    pub fn prepare_mean(self) -> Result<PreparedAxis<'a, T, f64>> {
        self.prepare(AxisOperator::Mean)
    }

    /// As [`prepare_sum`](Self::prepare_sum), for [`min`](Self::min).
    ///
    /// # Errors
    /// As for [`min`](Self::min).
    pub fn prepare_min(self) -> Result<PreparedAxis<'a, T, T>> {
        self.prepare(AxisOperator::Min)
    }

    /// As [`prepare_sum`](Self::prepare_sum), for [`max`](Self::max).
    ///
    /// # Errors
    /// As for [`max`](Self::max).
    pub fn prepare_max(self) -> Result<PreparedAxis<'a, T, T>> {
        self.prepare(AxisOperator::Max)
    }

    /// `O` is the type that the operator gives.
    fn prepare<O: Element>(self, operator: AxisOperator) -> Result<PreparedAxis<'a, T, O>> {
        let Self {
            device,
            input,
            axis,
            variant,
        } = self;
        let operation = axis.operation(operator);
        device.require_same(operation, input.device())?;
        let choice = choose(axis.family(), variant.as_deref())?;
        let (results, addends) = match axis {
            Axis::Columns => (input.width(), input.height()),
            Axis::Rows => (input.height(), input.width()),
        };
        if results > 0 && addends == 0 && operator != AxisOperator::Sum {
            let required = format!("at least one {}", axis.along());
            return Err(Error::invalid(operation, required, "none"));
        }
        let adds = matches!(operator, AxisOperator::Sum | AxisOperator::Mean);
        if results > 0 && adds && addends > T::MOST_ADDENDS {
            let required = format!(
                "at most {} {}s, whose sum surely fits 64 bits",
                T::MOST_ADDENDS,
                axis.along()
            );
            return Err(Error::invalid(operation, required, format!("{addends}")));
        }
        let mut plan = Plan::default();
        if results > 0 && addends > 0 {
            let problem = Problem {
                device: &device,
                family: axis.family(),
                choice,
                kernels: T::kernels(operator),
                address: input.as_vector().address(),
                height: input.height(),
                width: input.width(),
            };
            match axis {
                Axis::Columns => columns::plan(&problem, &mut plan)?,
                Axis::Rows => rows::plan(&problem, &mut plan)?,
            }
        }
        let output = Vector::uninit(&device, operation, results)?;
        let workspace = Vector::uninit(&device, operation, plan.bytes)?;
        Ok(PreparedAxis {
            operation,
            identity: T::kernels(operator).identity,
            device,
            input,
            choice,
            plan,
            workspace,
            ready: false,
            output: Made::at(operation, output),
        })
    }
}

#[cfg(test)]
mod tests;
