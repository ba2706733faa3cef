//! Reductions of a whole array: sum, product, min, max, argmin, argmax, mean.

mod element;
mod plan;

use std::marker::PhantomData;

use warpwright_gpu::{Family, reduce::FAMILY};

use super::{
    plan::{Place, Plan},
    request::{Destination, New, OnDevice, Operation, Prepared, Request, Shape},
    scan::Operator as SegmentsOperator,
    segments::Bounds,
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    named::named,
};

pub use self::{element::Reducible, plan::Partial};
pub use warpwright_gpu::reduce::Variant;

/// The operator of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The least element.
    Min,
    /// The greatest element.
    Max,
    /// The position of the least element.
    ArgMin,
    /// The position of the greatest element.
    ArgMax,
    /// The arithmetic mean.
    Mean,
}

named! {
    Operator, "operator of a reduction":
    Sum = "sum",
    Product = "product",
    Min = "min",
    Max = "max",
    ArgMin = "argmin",
    ArgMax = "argmax",
    Mean = "mean",
}

macro_rules! shorthands {
    ($($(#[$doc:meta])* $name:ident -> $result:ty;)*) => {
        impl Device {
            $(
                $(#[$doc])*
                ///
                /// The array can have any length. Waits for the result.
                ///
                /// # Errors
                /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch),
                /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors of the device.
                pub fn $name<'a, T: Reducible>(
                    &self,
                    values: impl Into<VectorView<'a, T>>,
                ) -> Result<$result> {
                    self.reduce(values).$name()
                }
            )*

            /// Makes a request of a reduction, with options.
            pub fn reduce<'a, T: Reducible>(
                &self,
                values: impl Into<VectorView<'a, T>>,
            ) -> ReduceRequest<'a, T> {
                Request::new(self, Elements { input: values.into() })
            }
        }

        impl<T: Reducible> ReduceRequest<'_, T> {
            $(
                $(#[$doc])*
                ///
                /// Waits for the result.
                ///
                /// # Errors
                /// As for the method of the same name of [`Device`]. Also
                /// [`Error::UnknownVariant`](crate::Error::UnknownVariant) and
                /// [`Error::NotEligible`](crate::Error::NotEligible).
                pub fn $name(self) -> Result<$result> {
                    requests::$name(self)
                }
            )*
        }
    };
}

shorthands! {
    /// Computes the sum. The sum of no elements is 0.
    ///
    /// Integers are summed in 64 bits, `u64` for unsigned and `i64` for signed ones, modulo 2^64: a sum that leaves the
    /// type's range wraps without an error ([`mean`](Self::mean) does not wrap). This takes more than 2^32 elements of 32
    /// bits, or two of 64 bits.
    ///
    /// Floats are summed in the accumulator's type in a fixed order: the same input at the same offset from an array's
    /// start gives the same bits on the same device in every run. The error is at most `depth * epsilon / 2 * sum(|x|)`,
    /// where `depth` is the longest chain of additions: about 2000 for `best` and 2^28 elements on 132 multiprocessors.
    /// Subnormal numbers are added like any others. A NaN, or infinities of both signs, give NaN. Infinities of one sign
    /// give that infinity.
    sum -> T::Sum;
    /// Computes the product. The product of no elements is 1.
    ///
    /// Types and order are those of [`sum`](Self::sum); integer products are modulo 2^64. The relative error for `n`
    /// factors is at most `exp(n * epsilon / 2) - 1`, as long as no partial product leaves the range of normal numbers.
    product -> T::Sum;
    /// Finds the least element. `None` if there are no elements.
    ///
    /// -0 is less than +0. If any element is a NaN, the result is a NaN with an unspecified payload. Apart from that
    /// payload the result is the same on every device, for every variant.
    min -> Option<T>;
    /// Finds the greatest element. `None` if there are no elements.
    ///
    /// -0 is less than +0. If any element is a NaN, the result is a NaN with an unspecified payload. Apart from that
    /// payload the result is the same on every device, for every variant.
    max -> Option<T>;
    /// Finds the position of the least element, the first of several. `None` if there are no elements.
    ///
    /// -0 is less than +0. If there are NaNs, the result is the position of the first of them. The result is the same on
    /// every device, for every variant.
    argmin -> Option<u64>;
    /// Finds the position of the greatest element, the first of several. `None` if there are no elements.
    ///
    /// -0 is less than +0. If there are NaNs, the result is the position of the first of them. The result is the same on
    /// every device, for every variant.
    argmax -> Option<u64>;
    /// Computes the arithmetic mean. `None` if there are no elements.
    ///
    /// For integers, whatever their values, this is the exact sum divided by the number of elements and rounded once, to
    /// the nearest `f64`. The result is the same on every device, for every variant. For floats this is the
    /// [`sum`](Self::sum) divided in `f64`. It is the same bits in every run, has the sum's error and one rounding more,
    /// and is infinite if the sum is.
    mean -> Option<f64>;
}

mod requests {
    use super::*;

    fn finished<T: Reducible>(
        request: ReduceRequest<'_, T>,
        operator: Operator,
    ) -> Result<Option<Partial>> {
        let mut prepared = request.prepare(operator)?;
        prepared.enqueue()?;
        prepared.partial()
    }

    pub fn sum<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<T::Sum> {
        let bits = finished(request, Operator::Sum)?;
        Ok(bits.map_or_else(|| T::empty_sum(false), T::sum_of))
    }

    pub fn product<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<T::Sum> {
        let bits = finished(request, Operator::Product)?;
        Ok(bits.map_or_else(|| T::empty_sum(true), T::sum_of))
    }

    pub fn min<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<Option<T>> {
        Ok(finished(request, Operator::Min)?.map(|bits| T::extreme_of(bits, true)))
    }

    pub fn max<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<Option<T>> {
        Ok(finished(request, Operator::Max)?.map(|bits| T::extreme_of(bits, false)))
    }

    pub fn argmin<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<Option<u64>> {
        Ok(finished(request, Operator::ArgMin)?.map(|bits| T::index_of(bits, true)))
    }

    pub fn argmax<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<Option<u64>> {
        Ok(finished(request, Operator::ArgMax)?.map(|bits| T::index_of(bits, false)))
    }

    pub fn mean<T: Reducible>(request: ReduceRequest<'_, T>) -> Result<Option<f64>> {
        let len = request.op.input.len();
        Ok(finished(request, Operator::Mean)?.map(|bits| T::mean_of(bits, len)))
    }
}

/// The elements of a reduction whose operator is not yet chosen.
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    input: VectorView<'a, T>,
}

/// A reduction.
///
/// Its workspace holds partial results and the result. For `best` it is at most 16 bytes for each of two blocks per
/// multiprocessor, and 32 bytes more. For the rungs it is up to 16 bytes per block. For the folding rungs it is room for as
/// many elements as there are, or as a block's share leaves of them.
#[derive(Debug, Clone)]
pub struct Reduction<'a, T> {
    input: VectorView<'a, T>,
    operator: Operator,
    /// The result, in the workspace. A place without elements if the input has none.
    result: Place<u8>,
}

/// A request of a reduction.
pub type ReduceRequest<'a, T> = Request<Elements<'a, T>>;
/// A reduction whose variant is chosen and whose results have their memory.
pub type PreparedReduce<'a, T> = Prepared<Reduction<'a, T>>;

impl<'a, T: Reducible> ReduceRequest<'a, T> {
    /// Chooses the variant and allocates memory for the results, so that the work can be queued repeatedly. Does not wait.
    ///
    /// # Errors
    /// As for the operations.
    pub fn prepare(self, operator: Operator) -> Result<PreparedReduce<'a, T>> {
        let reduction = |Elements { input }, to| {
            let result = Place::none();
            let reduction = Reduction {
                input,
                operator,
                result,
            };
            (reduction, to)
        };
        self.with(reduction).prepare()
    }
}

/// A reduction whose result stays on the device, as an array of one element of type `O`.
///
/// Its workspace is that of [`Reduction`]. For the least and the greatest element it is that of a reduction of one segment, and
/// 16 bytes more.
#[derive(Debug, Clone)]
pub struct DeviceReduction<'a, T, O> {
    input: VectorView<'a, T>,
    operator: Operator,
    result: PhantomData<fn() -> O>,
}

/// A request of a reduction whose result stays on the device, as an array of one element.
pub type DeviceReduceRequest<'a, T, D = New> = Request<OnDevice<Elements<'a, T>>, D>;
/// A reduction whose variant is chosen and whose result, an array of one element, has its memory.
pub type PreparedDeviceReduce<'a, T, O, R = Vector<O>> = Prepared<DeviceReduction<'a, T, O>, R>;

/// The result of preparing a reduction of `T`s to an `O` on the device.
type Ready<'a, T, O, D> =
    Result<PreparedDeviceReduce<'a, T, O, <D as Destination<Vector<O>>>::Claimed>>;

impl<'a, T: Reducible> ReduceRequest<'a, T> {
    /// Writes the result to `place`, where it stays: a [`Vector`], a `&mut Vector` or a
    /// [`VectorViewMut`](crate::VectorViewMut) with one element. The calls that follow do not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// # let device = warpwright::Device::cpu();
    /// let values = device.upload(&[3_u32, 1, 2])?;
    /// let mut totals = device.zeros::<u64>(2)?;
    /// device.reduce(&values).output_to(totals.slice_mut(1..)?).sum()?;
    /// assert_eq!(totals.to_vec()?, [0, 6]); // the copy to the host waits
    /// # Ok(())
    /// # }
    /// ```
    pub fn output_to<E>(self, place: E) -> DeviceReduceRequest<'a, T, E> {
        self.with(|elements, _| (OnDevice(elements), place))
    }

    /// Leaves the result on the device, in a new array of one element. The calls that follow do not wait.
    pub fn output_on_device(self) -> DeviceReduceRequest<'a, T> {
        self.with(|elements, to| (OnDevice(elements), to))
    }
}

macro_rules! on_device {
    ($($(#[$doc:meta])* $name:ident, $prepare:ident -> $result:ty, $operator:ident;)*) => {
        impl<'a, T: Reducible, D> DeviceReduceRequest<'a, T, D> { $(
            $(#[$doc])*
            ///
            /// Queues the work and does not wait.
            ///
            /// # Errors
            /// [`Error::Invalid`](crate::Error::Invalid) if the place does not have one element, or if there are no elements
            /// and so no result; [`Error::DeviceMismatch`](crate::Error::DeviceMismatch),
            /// [`Error::UnknownVariant`](crate::Error::UnknownVariant),
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors of the device.
            pub fn $name(self) -> Result<D::Claimed>
            where
                D: Destination<Vector<$result>>,
            {
                self.$prepare()?.made()
            }

            #[doc = concat!("Prepares [`", stringify!($name), "`](Self::", stringify!($name),
                "): chooses the variant and allocates memory, so that the work can be queued repeatedly.")]
            ///
            /// # Errors
            #[doc = concat!("As for [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            pub fn $prepare(self) -> Ready<'a, T, $result, D>
            where
                D: Destination<Vector<$result>>,
            {
                self.placed(Operator::$operator)
            }
        )* }
    };
}
on_device! {
    /// Computes the sum as a `T::Sum`, with the bits of [`Device::sum`]. The sum of no elements is 0.
    sum, prepare_sum -> T::Sum, Sum;
    /// Computes the product as a `T::Sum`, with the bits of [`Device::product`]. The product of no elements is 1.
    product, prepare_product -> T::Sum, Product;
    /// Finds the least element, as [`Device::min`] does. The variants are those of `segments`, whose kernels write elements.
    min, prepare_min -> T, Min;
    /// Finds the greatest element, as [`Device::max`] does. The variants are those of `segments`, whose kernels write elements.
    max, prepare_max -> T, Max;
    /// Finds the position of the least element, as [`Device::argmin`] does.
    argmin, prepare_argmin -> u64, ArgMin;
    /// Finds the position of the greatest element, as [`Device::argmax`] does.
    argmax, prepare_argmax -> u64, ArgMax;
    /// Computes the arithmetic mean, with the bits of [`Device::mean`].
    mean, prepare_mean -> f64, Mean;
}

impl<'a, T: Reducible, D> DeviceReduceRequest<'a, T, D> {
    fn placed<O: Element>(self, operator: Operator) -> Ready<'a, T, O, D>
    where
        D: Destination<Vector<O>>,
    {
        let reduction = |OnDevice(Elements { input }), to| {
            let result = PhantomData;
            let reduction = DeviceReduction {
                input,
                operator,
                result,
            };
            (reduction, to)
        };
        self.with(reduction).prepare()
    }
}

impl<T: Reducible, O: Element> Operation for DeviceReduction<'_, T, O> {
    type Output = Vector<O>;

    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn family(&self) -> &'static Family {
        match self.operator {
            Operator::Min | Operator::Max => &warpwright_gpu::segments::FAMILY,
            _ => &FAMILY,
        }
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.input)?;
        match (self.operator, input.len()) {
            (Operator::Sum | Operator::Product, 0) => {
                let is_product = self.operator == Operator::Product;
                let empty = plan.kept(1, move || vec![T::empty_sum(is_product)]);
                plan.copy(empty);
            }
            (_, 0) => {
                return Err(Error::invalid(
                    InvalidKind::Length,
                    plan.operation,
                    "at least one element",
                    "none",
                ));
            }
            (Operator::Min, len) => {
                let whole = Bounds::whole(plan, len);
                T::plan_segments(SegmentsOperator::Min, plan, input, &whole)?;
            }
            (Operator::Max, len) => {
                let whole = Bounds::whole(plan, len);
                T::plan_segments(SegmentsOperator::Max, plan, input, &whole)?;
            }
            (operator, _) => T::plan_on_device(operator, plan, input)?,
        }
        Ok(Shape::Vector(1))
    }
}

impl<T: Reducible> Operation for Reduction<'_, T> {
    type Output = ();

    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.input)?;
        self.result = T::plan(self.operator, plan, input)?;
        plan.result(self.result);
        Ok(Shape::Nothing)
    }
}

impl<T: Reducible> PreparedReduce<'_, T> {
    /// Waits for the work queued last and returns its bits. `None` if there are no elements.
    fn partial(&self) -> Result<Option<Partial>> {
        self.output()?;
        let result = self.op.result;
        if result.len() == 0 {
            return Ok(None);
        }
        let mut bits: Partial = [0; 2];
        let bytes = &mut bytemuck::bytes_of_mut(&mut bits)[..result.len()];
        let start = result.offset() as usize;
        self.workspace
            .slice(start..start + result.len())?
            .download(bytes)?;
        Ok(Some(bits))
    }

    /// Waits for the work queued last and returns its result: a sum or product as [`Value::Sum`], an element as
    /// [`Value::Element`], a position as [`Value::Index`], a mean as [`Value::Mean`]. `None` if there are no elements and
    /// the operator has no result for none.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if no work was queued, or if queueing the last work failed; and errors of
    /// the device.
    pub fn finish(&self) -> Result<Option<Value<T>>> {
        let bits = self.partial()?;
        Ok(match self.op.operator {
            Operator::Sum | Operator::Product => Some(Value::Sum(bits.map_or_else(
                || T::empty_sum(self.op.operator == Operator::Product),
                T::sum_of,
            ))),
            Operator::Min => bits.map(|bits| Value::Element(T::extreme_of(bits, true))),
            Operator::Max => bits.map(|bits| Value::Element(T::extreme_of(bits, false))),
            Operator::ArgMin => bits.map(|bits| Value::Index(T::index_of(bits, true))),
            Operator::ArgMax => bits.map(|bits| Value::Index(T::index_of(bits, false))),
            Operator::Mean => bits.map(|bits| Value::Mean(T::mean_of(bits, self.op.input.len()))),
        })
    }
}

/// The result of a reduction whose operator is chosen at run time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<T: Reducible> {
    /// A sum or a product.
    Sum(T::Sum),
    /// An element.
    Element(T),
    /// The position of an element.
    Index(u64),
    /// A mean.
    Mean(f64),
}
