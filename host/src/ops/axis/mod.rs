//! Reductions along an axis of a matrix: the request that columns and rows share.

use std::{fmt, marker::PhantomData};

use warpwright_gpu::{
    Family,
    axis::{Element as GpuElement, Mean, Sum},
    columns::{self as gpu_columns, Kernels as ColumnKernels},
    reduce::{Max, Min},
    rows::{self as gpu_rows, Kernels as RowKernels},
};

use super::{
    columns,
    plan::{Place, Plan, Rows},
    request::{Destination, New, Operation, Prepared, Request, Shape},
    rows,
    sealed::Sealed,
};
use crate::{
    buffer::{Element, Vector},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::MatrixView,
    named::named,
};

pub use gpu_columns::Variant as ColumnsVariant;
pub use gpu_rows::Variant as RowsVariant;

/// An element that can be reduced along an axis: `u8 u16 i32 u32 f32 f64`.
pub trait AxisReducible: Element + fmt::Debug + fmt::Display + Sealed {
    /// The type of sums: `u64` for unsigned and `i64` for signed integers; `f32` for `f32`, `f64` for `f64`.
    type Sum: Element + fmt::Debug + fmt::Display;
    /// The most elements along the axis whose sum cannot overflow, whatever their values. More are refused. For floats
    /// there is no such limit.
    const MOST_ADDENDS: usize;

    #[doc(hidden)]
    fn plan(
        axis: Axis,
        operator: AxisOperator,
        plan: &mut Plan<'_>,
        matrix: Rows<Self>,
    ) -> Result<()>;
}

/// The operator of a reduction along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

named! {
    AxisOperator, "operator of a reduction along an axis":
    Sum = "sum",
    Mean = "mean",
    Min = "min",
    Max = "max",
}

/// The axis of a reduction: what each result belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// A column: the reduction runs along y.
    Columns,
    /// A row: the reduction runs along x.
    Rows,
}

named! {
    Axis, "axis":
    Columns = "columns",
    Rows = "rows",
}

impl Axis {
    /// Returns the family of kernels.
    pub const fn family(self) -> &'static Family {
        match self {
            Self::Columns => &gpu_columns::FAMILY,
            Self::Rows => &gpu_rows::FAMILY,
        }
    }

    /// Returns the operation's name for errors.
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

    /// Returns the name of what lies along the axis.
    const fn along(self) -> &'static str {
        match self {
            Self::Columns => "row",
            Self::Rows => "column",
        }
    }
}

/// Plans the launches of a reduction along an axis.
fn along<A: ColumnKernels + RowKernels>(
    axis: Axis,
    plan: &mut Plan<'_>,
    matrix: Rows<A::In>,
) -> Result<()>
where
    A::Acc: Element,
{
    match axis {
        Axis::Columns => columns::plan::<A>(plan, matrix),
        Axis::Rows => rows::plan::<A>(plan, matrix),
    }
}

macro_rules! reducible {
    ($($ty:ty),*) => { $(
        impl AxisReducible for $ty {
            type Sum = <$ty as GpuElement>::Sum;
            const MOST_ADDENDS: usize = <$ty as GpuElement>::MOST;

            fn plan(
                axis: Axis,
                operator: AxisOperator,
                plan: &mut Plan<'_>,
                matrix: Rows<Self>,
            ) -> Result<()> {
                match operator {
                    AxisOperator::Sum => along::<Sum<$ty>>(axis, plan, matrix),
                    AxisOperator::Mean => along::<Mean<$ty>>(axis, plan, matrix),
                    AxisOperator::Min => along::<Min<$ty>>(axis, plan, matrix),
                    AxisOperator::Max => along::<Max<$ty>>(axis, plan, matrix),
                }
            }
        }
    )* };
}
reducible!(u8, u16, i32, u32, f32, f64);

impl Device {
    /// Makes a request to reduce each column of `matrix`, along y.
    pub fn reduce_columns<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> AxisRequest<'a, T> {
        self.reduce_axis(matrix, Axis::Columns)
    }

    /// Makes a request to reduce each row of `matrix`, along x.
    pub fn reduce_rows<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> AxisRequest<'a, T> {
        self.reduce_axis(matrix, Axis::Rows)
    }

    /// Makes a request to reduce `matrix` along an axis that is chosen at run time.
    pub fn reduce_axis<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        axis: Axis,
    ) -> AxisRequest<'a, T> {
        let input = matrix.into();
        Request::new(self, Along { input, axis })
    }

    /// Computes the sum of each column of `matrix`: see [`AxisRequest::sum`]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`AxisRequest::sum`].
    pub fn column_sums<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<T::Sum>> {
        self.reduce_columns(matrix).sum()
    }

    /// Computes the sum of each row of `matrix`: see [`AxisRequest::sum`]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`AxisRequest::sum`].
    pub fn row_sums<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<T::Sum>> {
        self.reduce_rows(matrix).sum()
    }

    /// Computes the mean of each column of `matrix`: see [`AxisRequest::mean`]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`AxisRequest::mean`].
    pub fn column_means<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<f64>> {
        self.reduce_columns(matrix).mean()
    }

    /// Computes the mean of each row of `matrix`: see [`AxisRequest::mean`]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`AxisRequest::mean`].
    pub fn row_means<'a, T: AxisReducible>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Vector<f64>> {
        self.reduce_rows(matrix).mean()
    }
}

/// A matrix and an axis: a reduction whose operator is not yet chosen.
#[derive(Debug, Clone)]
pub struct Along<'a, T> {
    input: MatrixView<'a, T>,
    axis: Axis,
}

/// A reduction along an axis, whose results are of type `O`.
///
/// Its workspace holds the totals of blocks that share a column or a row:
///
/// - Columns, `best`: 8 bytes for each column of the 512 bytes that a block takes, for each of two blocks per
///   multiprocessor or of one block per 4096 rows, whichever are more. Also 8 bytes for each element of the least multiple
///   of a row that is a multiple of 16 bytes.
/// - Rows, `best`: if blocks share rows, which have 32 KiB or more, 8 bytes per block, which takes at least 32 KiB, and 4
///   bytes per row.
/// - Rows, `chunk_atomic`: 8 bytes per row.
/// - Otherwise none.
#[derive(Debug, Clone)]
pub struct AxisReduction<'a, T, O> {
    along: Along<'a, T>,
    operator: AxisOperator,
    results: PhantomData<fn() -> O>,
}

/// A request of a reduction along an axis. The matrix can have any shape. The result has an element per column or row.
pub type AxisRequest<'a, T, D = New> = Request<Along<'a, T>, D>;
/// A reduction along an axis whose variant is chosen and whose results have their memory.
pub type PreparedAxis<'a, T, O, R = Vector<O>> = Prepared<AxisReduction<'a, T, O>, R>;

/// The result of preparing a reduction of `T`s to `O`s.
type Ready<'a, T, O, D> = Result<PreparedAxis<'a, T, O, <D as Destination<Vector<O>>>::Claimed>>;

impl<'a, T: AxisReducible, D> AxisRequest<'a, T, D> {
    /// Writes the results to `place` instead of a new array. `place` is a [`Vector`], a `&mut Vector` or a
    /// [`VectorViewMut`](crate::VectorViewMut) with an element per column or row.
    pub fn output_to<E>(self, place: E) -> AxisRequest<'a, T, E> {
        self.with(|along, _| (along, place))
    }

    /// Computes the sums. A sum is 0 if there are no elements along the axis.
    ///
    /// Integers are summed in 64 bits, exactly. Floats are summed by [`CHUNK`](warpwright_gpu::axis::CHUNK) elements in
    /// their own type, and those sums in `f64`. The error for `f32` is at most `258 * 2^-24 * sum(|x|)`, however long the
    /// axis is. The error for `f64` is at most `n * 2^-53 * sum(|x|)` for `n` elements. The same input, alignment and
    /// device give the same bits, except for the float sums of `chunk_atomic`. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are so many integers along the axis that a sum could overflow
    /// ([`AxisReducible::MOST_ADDENDS`]); [`Error::UnknownVariant`], [`Error::NotEligible`], [`Error::DeviceMismatch`],
    /// [`Error::OutOfMemory`], and errors of the device.
    pub fn sum(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.prepare_sum()?.made()
    }

    /// Computes the arithmetic means: the sums before they are rounded to their type, divided in `f64`.
    ///
    /// For integers the exact sum is rounded to `f64` and then divided, so the relative error is at most two roundings,
    /// `2^-52`. The means are the same bits in every run if the sums are. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum). Also [`Error::Invalid`] if there are no elements along the axis.
    pub fn mean(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<f64>>,
    {
        self.prepare_mean()?.made()
    }

    /// Computes the least elements.
    ///
    /// -0 is less than +0. If any element is a NaN, the result is a NaN with an unspecified payload. Apart from that
    /// payload the result is the same on every device, for every variant. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`mean`](Self::mean), but nothing overflows.
    pub fn min(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T>>,
    {
        self.prepare_min()?.made()
    }

    /// Computes the greatest elements.
    ///
    /// -0 is less than +0. If any element is a NaN, the result is a NaN with an unspecified payload. Apart from that
    /// payload the result is the same on every device, for every variant. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`min`](Self::min).
    pub fn max(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T>>,
    {
        self.prepare_max()?.made()
    }

    /// Prepares [`sum`](Self::sum): chooses the variant and allocates memory, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn prepare_sum(self) -> Ready<'a, T, T::Sum, D>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.by(AxisOperator::Sum)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for [`mean`](Self::mean).
    ///
    /// # Errors
    /// As for [`mean`](Self::mean).
    pub fn prepare_mean(self) -> Ready<'a, T, f64, D>
    where
        D: Destination<Vector<f64>>,
    {
        self.by(AxisOperator::Mean)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for [`min`](Self::min).
    ///
    /// # Errors
    /// As for [`min`](Self::min).
    pub fn prepare_min(self) -> Ready<'a, T, T, D>
    where
        D: Destination<Vector<T>>,
    {
        self.by(AxisOperator::Min)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for [`max`](Self::max).
    ///
    /// # Errors
    /// As for [`max`](Self::max).
    pub fn prepare_max(self) -> Ready<'a, T, T, D>
    where
        D: Destination<Vector<T>>,
    {
        self.by(AxisOperator::Max)
    }

    /// Prepares the reduction. `O` is the operator's result type.
    fn by<O: Element>(self, operator: AxisOperator) -> Ready<'a, T, O, D>
    where
        D: Destination<Vector<O>>,
    {
        let reduction = |along, to| {
            let results = PhantomData;
            let reduction = AxisReduction {
                along,
                operator,
                results,
            };
            (reduction, to)
        };
        self.with(reduction).prepare()
    }
}

impl<T: AxisReducible, O: Element> Operation for AxisReduction<'_, T, O> {
    type Output = Vector<O>;

    fn name(&self) -> &'static str {
        self.along.axis.operation(self.operator)
    }

    fn family(&self) -> &'static Family {
        self.along.axis.family()
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let (operator, Along { input, axis }) = (self.operator, &self.along);
        let elements = plan.input(input.as_vector())?;
        let (height, width) = (input.height(), input.width());
        let (results, addends) = match axis {
            Axis::Columns => (width, height),
            Axis::Rows => (height, width),
        };
        let operation = axis.operation(operator);
        let refuse = |kind, required: String, given: String| {
            Err(Error::invalid(kind, operation, required, given))
        };
        if results > 0 && addends == 0 && operator != AxisOperator::Sum {
            let required = format!("at least one {}", axis.along());
            return refuse(InvalidKind::Shape, required, "none".to_owned());
        }
        let adds = matches!(operator, AxisOperator::Sum | AxisOperator::Mean);
        if results > 0 && adds && addends > T::MOST_ADDENDS {
            let required = format!(
                "at most {} {}s, whose sum surely fits 64 bits",
                T::MOST_ADDENDS,
                axis.along()
            );
            return refuse(InvalidKind::TooLarge, required, format!("{addends}"));
        }
        if results > 0 && addends > 0 {
            let matrix = Rows {
                elements,
                height,
                width,
            };
            T::plan(*axis, operator, plan, matrix)?;
        } else {
            plan.clear(Place::<O>::output(results));
        }
        Ok(Shape::Vector(results))
    }
}

#[cfg(test)]
mod tests;
