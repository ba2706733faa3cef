//! Reductions of a whole array: sum, product, min, max, argmin, argmax, mean.

mod element;
mod plan;

use warpwright_gpu::{Family, reduce::FAMILY};

use super::{
    plan::{Place, Plan},
    request::{Operation, Prepared, Request, Shape},
};
use crate::{buffer::VectorView, device::Device, error::Result, named::named};

pub use self::element::{Partial, Reducible};
pub use warpwright_gpu::reduce::Variant;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
                /// Any length. Waits for the result.
                ///
                /// # Errors
                /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory),
                /// and what the device reports.
                pub fn $name<'a, T: Reducible>(
                    &self,
                    values: impl Into<VectorView<'a, T>>,
                ) -> Result<$result> {
                    self.reduce(values).$name()
                }
            )*

            /// A reduction with options.
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
                /// # Errors
                /// As for the method of the same name of [`Device`]; [`Error::UnknownVariant`](crate::Error::UnknownVariant)
                /// and [`Error::NotEligible`](crate::Error::NotEligible) too.
                pub fn $name(self) -> Result<$result> {
                    requests::$name(self)
                }
            )*
        }
    };
}

shorthands! {
    /// The sum; 0 for no elements.
    ///
    /// Integers are summed in 64 bits, `u64` for unsigned and `i64` for signed ones, and the sum is modulo 2^64: it wraps
    /// where it leaves that type's range, without an error ([`mean`](Self::mean) does not). That takes more than 2^32
    /// elements of 32 bits, and two of 64. Floats are summed in the accumulator's type in
    /// a fixed order: the same input, as far from an array's start, gives the same bits on the same device,
    /// run after run. The error is at most `depth * epsilon / 2 * sum(|x|)`, where `depth` is the longest
    /// chain of additions: for `best` and 2^28 elements on 132 multiprocessors about 2000. Subnormal numbers
    /// are added like any others. A NaN, or infinities of both signs, make it NaN, infinities of one sign
    /// that infinity.
    sum -> T::Sum;
    /// The product; 1 for no elements. Types and order as for the sum: that of integers is modulo 2^64. The error of `n`
    /// factors is at most `exp(n * epsilon / 2) - 1` of the product's magnitude, as long as no part of it leaves the range of
    /// the normal numbers.
    product -> T::Sum;
    /// The least element; none for no elements. -0 lies below +0; one NaN makes the result a NaN, of whatever
    /// payload. Apart from that payload the same on every device, by every variant.
    min -> Option<T>;
    /// The greatest element; none for no elements. -0 lies below +0; one NaN makes the result a NaN, of
    /// whatever payload. Apart from that payload the same on every device, by every variant.
    max -> Option<T>;
    /// The position of the least element, the first of several; none for no elements. -0 lies below +0; where
    /// there are NaNs, the position of the first of them. The same on every device, by every variant.
    argmin -> Option<u64>;
    /// The position of the greatest element, the first of several; none for no elements. -0 lies below +0;
    /// where there are NaNs, the position of the first of them. The same on every device, by every variant.
    argmax -> Option<u64>;
    /// The arithmetic mean; none for no elements.
    ///
    /// Of integers, whatever they are, the exact sum divided by their number and rounded once, to the nearest `f64`:
    /// the same on every device, by every variant. Of floats the sum, as [`sum`](Self::sum) gives it, divided in `f64`:
    /// the same bits run after run as the sum, with its error and one rounding more, and infinite where the sum is.
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

/// The elements of a reduction whose operator is yet to come.
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    input: VectorView<'a, T>,
}

/// A reduction. It takes memory for partial results and the result, which its workspace is: for `best` at most 16 bytes for
/// each of two blocks per multiprocessor, and 32. The rungs take up to 16 per block; the folding ones as many elements as there
/// are, or as a block's share leaves of them.
#[derive(Debug, Clone)]
pub struct Reduction<'a, T> {
    input: VectorView<'a, T>,
    operator: Operator,
    /// In the workspace; none for no elements.
    result: Place<u8>,
}

/// A reduction that is to be done.
pub type ReduceRequest<'a, T> = Request<Elements<'a, T>>;
/// A reduction whose variant is chosen and whose results have their place.
pub type PreparedReduce<'a, T> = Prepared<Reduction<'a, T>>;

impl<'a, T: Reducible> ReduceRequest<'a, T> {
    /// Chooses the variant and makes room for the results, so that the work can be queued repeatedly.
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
        Ok(Shape::Nothing)
    }
}

impl<T: Reducible> PreparedReduce<'_, T> {
    /// Waits for the work queued last, and gives what it left; none for no elements.
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

    /// Waits for the work queued last and gives its result: a sum or product as [`Value::Sum`], an element
    /// as [`Value::Element`], a position as [`Value::Index`], a mean as [`Value::Mean`]; none where no elements have none.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if no work was queued, or the last could not be; and what the device
    /// reports.
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
pub enum Value<T: Reducible> {
    /// A sum or a product.
    Sum(T::Sum),
    /// An element.
    Element(T),
    /// An element's position.
    Index(u64),
    /// A mean.
    Mean(f64),
}
