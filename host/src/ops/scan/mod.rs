//! Scans of an array: the prefix sums, products, minima and maxima.

mod plan;
mod segments;
mod segments_in_place;
mod wide;

use std::marker::PhantomData;

use cuda_std::{
    bf16, f16,
    kernel::Entry,
    scan::{Scan as ScanFn, ScanKernel, SegmentedScanKernel, Start, THREADS, WINDOWS},
};
use warpwright_gpu::{
    Family,
    scan::{Element as GpuElement, FAMILY, Product, Sum, SumOfBytes},
};

pub use warpwright_gpu::scan::Variant;

use self::plan::{Arrays, is_aligned, plan, segmented_tile_per_block, tile_per_block};
pub(super) use self::{
    plan::scan_in_place,
    segments::{heads_of_keys, keys_of},
};
pub use self::{
    segments::{
        Heads, Keys, MatrixColumns, MatrixRows, PreparedSegmentedScan, SegmentedScan,
        SegmentedScanRequest,
    },
    segments_in_place::{
        PreparedSegmentedScanInPlace, SegmentedScanInPlace, SegmentedScanInPlaceRequest,
    },
    wide::{PreparedWideSum, WideSum, WideSumRequest, Widen},
};
use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
    sealed::Sealed,
};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
    module::Module,
    named::named,
};

/// The operator of a scan.
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
}

named! {
    Operator, "operator of a scan":
    Sum = "sum",
    Product = "product",
    Min = "min",
    Max = "max",
}

impl Device {
    /// Computes the inclusive scan: element `i` of the result combines elements `0` to `i`. Queues the work and does not wait.
    ///
    /// `operator` is an [`Operator`], or one of a user's module, made by [`Module::scan_operator`]. The array can have any
    /// length, and can be part of an array. The results have the type of the elements:
    /// - Integers wrap modulo 2 to the width of their type, without an error.
    /// - `f16` and `bf16` are combined in `f32`, and each result is rounded once. Floats are combined in an order that
    ///   depends on the operator, the type and the position alone: the same elements give the same bits in every run, on
    ///   every device, wherever they start. For a sum, the error of result `i` is at most
    ///   `depth * epsilon / 2 * sum(|x|)` over its elements, where `depth` is the longest chain of additions: below 70 plus
    ///   one for each 2^21 elements of 4 bytes.
    /// - For `Min` and `Max`, -0 is less than +0, and from the first NaN on every result is a NaN with an unspecified
    ///   payload.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let x = device.upload(&[3, 1, 4, 1, 5])?;
    /// assert_eq!(device.inclusive_scan(&x, Operator::Sum)?.to_vec()?, [3, 4, 8, 9, 14]);
    /// assert_eq!(device.inclusive_scan(&x, Operator::Max)?.to_vec()?, [3, 3, 4, 4, 5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device. For a user's operator also
    /// [`Error::UnknownKernel`] if its module does not contain the kernel, and [`Error::Invalid`] if the kernel takes other
    /// parameters there or an accumulator is not shuffled in words of its size.
    pub fn inclusive_scan<'a, T: Element>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        operator: impl ScanOperator<T>,
    ) -> Result<Vector<T>> {
        self.scan_request(values, operator).run()
    }

    /// Computes the exclusive scan: element `i` of the result combines the elements before `i`. The first one is the
    /// operator's identity: 0, 1, or for `Min` and `Max` the greatest and the least value of the type, for floats an
    /// infinity. Otherwise as [`inclusive_scan`](Self::inclusive_scan). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`inclusive_scan`](Self::inclusive_scan).
    pub fn exclusive_scan<'a, T: Element>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        operator: impl ScanOperator<T>,
    ) -> Result<Vector<T>> {
        self.scan_request(values, operator).exclusive().run()
    }

    /// Computes the cumulative sums: short for the [`inclusive_scan`](Self::inclusive_scan) with [`Operator::Sum`]. Queues the
    /// work and does not wait.
    ///
    /// # Errors
    /// As for [`inclusive_scan`](Self::inclusive_scan).
    pub fn cumulative_sum<'a, T: Scannable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
    ) -> Result<Vector<T>> {
        self.inclusive_scan(values, Operator::Sum)
    }

    /// Makes a request of an [`inclusive_scan`](Self::inclusive_scan), with options.
    pub fn scan_request<'a, T: Element, O: ScanOperator<T>>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        operator: O,
    ) -> ScanRequest<'a, T, O> {
        let scan = Scan {
            input: values.into(),
            operator,
            options: Options::default(),
        };
        Request::new(self, scan)
    }

    /// Makes a request of an [`inclusive_scan`](Self::inclusive_scan) that replaces the elements by the results, with
    /// options.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let mut x = device.upload(&[2.0_f32, 0.5, 3.0])?;
    /// device.scan_in_place_request(&mut x, Operator::Product).exclusive().run()?;
    /// assert_eq!(x.to_vec()?, [1.0, 2.0, 1.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan_in_place_request<'a, T: Element, O: ScanOperator<T>>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
        operator: O,
    ) -> ScanInPlaceRequest<'a, T, O> {
        let scan = ScanInPlace {
            values: values.into(),
            operator,
            options: Options::default(),
        };
        Request::new(self, scan)
    }
}

/// What scans: an [`Operator`], or an operator of a user's module, made by [`Module::scan_operator`].
#[expect(private_interfaces, reason = "hidden, and of this module alone")]
pub trait ScanOperator<T>: sealed::Sealed {
    #[doc(hidden)]
    fn plan(&self, plan: &mut Plan<'_>, arrays: Arrays<T>, options: Options<T>) -> Result<()>;
}

mod sealed {
    /// Keeps other crates from implementing [`ScanOperator`](super::ScanOperator), whose kernels are trusted.
    pub trait Sealed {}
    impl Sealed for super::Operator {}
    impl<R> Sealed for super::ModuleOperator<R> {}
}

#[expect(private_interfaces, reason = "hidden, and of this module alone")]
impl<T: Scannable> ScanOperator<T> for Operator {
    fn plan(&self, plan: &mut Plan<'_>, arrays: Arrays<T>, options: Options<T>) -> Result<()> {
        T::plan(plan, arrays, *self, options)
    }
}

/// What scans segments, runs of equal keys, rows or columns: as [`ScanOperator`], but an operator of a user's module has a
/// kernel for segments ([`segmented_scan_kernel!`](cuda_std::segmented_scan_kernel!)).
#[expect(private_interfaces, reason = "hidden, and of this module alone")]
pub trait SegmentedScanOperator<T>: sealed::Sealed {
    #[doc(hidden)]
    fn plan(&self, plan: &mut Plan<'_>, arrays: Arrays<T>, options: Options<T>) -> Result<()>;
}

#[expect(private_interfaces, reason = "hidden, and of this module alone")]
impl<T: Scannable> SegmentedScanOperator<T> for Operator {
    fn plan(&self, plan: &mut Plan<'_>, arrays: Arrays<T>, options: Options<T>) -> Result<()> {
        T::plan(plan, arrays, *self, options)
    }
}

/// An operator of a user's module, made by [`Module::scan_operator`].
#[derive(Debug, Clone)]
pub struct ModuleOperator<R> {
    module: Module,
    marker: PhantomData<R>,
}

impl Module {
    /// Makes an operator for [`Device::inclusive_scan`] and its like of `R`, whose kernel
    /// ([`scan_kernel!`](cuda_std::scan_kernel!)) is in this module, and for [`Device::scan_segments`] and its like, if the
    /// module has `R`'s kernel for segments ([`segmented_scan_kernel!`](cuda_std::segmented_scan_kernel!)). Its scans have the
    /// variant `best` alone, and give the same bits in every run, wherever the elements start.
    ///
    /// ```ignore
    /// // SAFETY: the module is built from the crate that has `MarkedSum`.
    /// let marked_sum = unsafe { module.scan_operator::<MarkedSum>() };
    /// let sums = device.inclusive_scan(&x, marked_sum)?;
    /// ```
    ///
    /// # Safety
    /// As for [`map_function`](Self::map_function). Every accumulator must be shuffled in as many words as the identity.
    pub unsafe fn scan_operator<R: ScanFn>(&self) -> ModuleOperator<R> {
        ModuleOperator {
            module: self.clone(),
            marker: PhantomData,
        }
    }
}

impl<R: ScanFn> ModuleOperator<R> {
    /// Returns what a launch of `kernel` starts from, if the module has the kernel and the plan is that of `best`.
    fn start<P>(
        &self,
        plan: &Plan<'_>,
        kernel: Entry<P>,
        options: Options<R::In>,
    ) -> Result<Start> {
        self.module.require(kernel.descriptor(), plan.operation)?;
        #[cfg(feature = "ladder")]
        if Variant::ALL[plan.choice.index] != Variant::Best {
            return Err(plan.not_eligible(
                "an operator of a user's module has a kernel for `best` alone".to_owned(),
            ));
        }
        let initial = options.initial.map_or(R::IDENTITY, R::load);
        Start::new::<R::Acc>(initial, options.exclusive).ok_or_else(|| {
            Error::invalid(
                InvalidKind::ElementSize,
                plan.operation,
                "an accumulator of at most 16 bytes that is shuffled in words of 4 bytes",
                format!("one of {} bytes in other words", size_of::<R::Acc>()),
            )
        })
    }
}

#[expect(private_interfaces, reason = "hidden, and of this module alone")]
impl<R: ScanKernel> ScanOperator<R::In> for ModuleOperator<R> {
    fn plan(
        &self,
        plan: &mut Plan<'_>,
        arrays: Arrays<R::In>,
        options: Options<R::In>,
    ) -> Result<()> {
        let start = self.start(plan, R::KERNEL, options)?;
        if arrays.input.len() > 0 {
            let module = Some(&self.module);
            tile_per_block::<R>(plan, R::KERNEL, module, arrays, start, [THREADS, WINDOWS])?;
        }
        Ok(())
    }
}

#[expect(private_interfaces, reason = "hidden, and of this module alone")]
impl<R: SegmentedScanKernel> SegmentedScanOperator<R::In> for ModuleOperator<R> {
    fn plan(
        &self,
        plan: &mut Plan<'_>,
        arrays: Arrays<R::In>,
        options: Options<R::In>,
    ) -> Result<()> {
        let (kernel, cut) = (R::SEGMENTED_KERNEL, [THREADS, WINDOWS]);
        let start = self.start(plan, kernel, options)?;
        if arrays.input.len() > 0 {
            let module = Some(&self.module);
            segmented_tile_per_block::<R>(plan, kernel, module, arrays, start, cut)?;
        }
        Ok(())
    }
}

/// The options of a scan.
#[derive(Debug, Clone, Copy)]
struct Options<T> {
    exclusive: bool,
    initial: Option<T>,
}

impl<T> Default for Options<T> {
    fn default() -> Self {
        Self {
            exclusive: false,
            initial: None,
        }
    }
}

/// A scan.
///
/// The workspace of `best` has at most 130 bytes for each 32 KiB of elements, and 32 bytes more; that of `look_back` has
/// 128 bytes for each 8 KiB, and 16 bytes more, that of `reduce_then_scan` an accumulator for each 8 KiB, and that of `naive`
/// two accumulators for each element.
#[derive(Debug, Clone)]
pub struct Scan<'a, T, O = Operator> {
    input: VectorView<'a, T>,
    operator: O,
    options: Options<T>,
}

/// A scan that replaces the elements by the results. Its workspace is that of a [`Scan`].
#[derive(Debug)]
pub struct ScanInPlace<'a, T, O = Operator> {
    values: VectorViewMut<'a, T>,
    operator: O,
    options: Options<T>,
}

/// A request of a scan.
pub type ScanRequest<'a, T, O = Operator, D = New> = Request<Scan<'a, T, O>, D>;
/// A scan whose variant is chosen and whose result has its memory.
pub type PreparedScan<'a, T, O = Operator, R = Vector<T>> = Prepared<Scan<'a, T, O>, R>;
/// A request of a scan in place.
pub type ScanInPlaceRequest<'a, T, O = Operator> = Request<ScanInPlace<'a, T, O>>;
/// A scan in place whose variant is chosen and which has its workspace. Each time it is queued, it scans what the array
/// has then.
pub type PreparedScanInPlace<'a, T, O = Operator> = Prepared<ScanInPlace<'a, T, O>, ()>;

macro_rules! options {
    ($([$($generics:tt)*] $request:ty;)*) => { $(
        impl<$($generics)*> $request {
            /// Leaves element `i` out of result `i`.
            pub fn exclusive(mut self) -> Self {
                self.op.options.exclusive = true;
                self
            }

            /// Combines `value` with every result, before the first element (of each segment, if there are some).
            pub fn initial(mut self, value: T) -> Self {
                self.op.options.initial = Some(value);
                self
            }
        }
    )* };
}
options! {
    ['a, T: Element, O: ScanOperator<T>, D] ScanRequest<'a, T, O, D>;
    ['a, T: Element, O: ScanOperator<T>] ScanInPlaceRequest<'a, T, O>;
    ['a, T: Element, G, O, D] SegmentedScanRequest<'a, T, G, O, D>;
    ['a, T: Element, G, O] SegmentedScanInPlaceRequest<'a, T, G, O>;
    ['a, In, T: Element, D] WideSumRequest<'a, In, T, D>;
}

impl<T: Element, O: ScanOperator<T>, D: Destination<Vector<T>>> ScanRequest<'_, T, O, D> {
    /// Computes the scan and returns its result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::inclusive_scan`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: Element, O: ScanOperator<T>> ScanInPlaceRequest<'_, T, O> {
    /// Computes the scan. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::inclusive_scan`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<()> {
        self.prepare()?.made()
    }
}

impl<T: Element, O: ScanOperator<T>> Operation for Scan<'_, T, O> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        FAMILY.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.input)?;
        let arrays = Arrays {
            input,
            output: Place::output(input.len()),
            aligned: is_aligned(input.offset()) && plan.target.is_none_or(is_aligned),
            heads: Place::none(),
        };
        self.operator.plan(plan, arrays, self.options)?;
        Ok(Shape::Vector(input.len()))
    }
}

impl<T: Element, O: ScanOperator<T>> Operation for ScanInPlace<'_, T, O> {
    type Output = ();

    fn name(&self) -> &'static str {
        FAMILY.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        plan.uses(self.values.device())?;
        let values = Place::of_mut(&self.values);
        let arrays = Arrays {
            input: values,
            output: values,
            aligned: is_aligned(values.offset()),
            heads: Place::none(),
        };
        self.operator.plan(plan, arrays, self.options)?;
        Ok(Shape::Nothing)
    }
}

/// An element that can be scanned: `u8 u16 u32 i32 u64 i64 f32 f64 f16 bf16`.
#[expect(private_interfaces, reason = "hidden, and of this module alone")]
pub trait Scannable: Element + GpuElement + Sealed {
    #[doc(hidden)]
    fn plan(
        plan: &mut Plan<'_>,
        arrays: Arrays<Self>,
        operator: Operator,
        options: Options<Self>,
    ) -> Result<()>;
}

macro_rules! scannable {
    ($($ty:ty: $kernels:ty, $sum:ty, $least:expr, $greatest:expr;)*) => { $(
        #[expect(private_interfaces, reason = "hidden, and of this module alone")]
        impl Scannable for $ty {
            fn plan(
                to: &mut Plan<'_>,
                arrays: Arrays<Self>,
                operator: Operator,
                options: Options<Self>,
            ) -> Result<()> {
                use warpwright_gpu::reduce::{Max, Min};
                let Options { exclusive, initial } = options;
                let Arrays { input, output, aligned, heads } = arrays;
                let sums = Arrays::<$kernels> {
                    input: input.cast(),
                    output: output.cast(),
                    aligned,
                    heads,
                };
                // The bits of a signed integer are those of the unsigned one.
                let bits = |value: $ty| bytemuck::cast::<$ty, $kernels>(value);
                match operator {
                    Operator::Sum => plan::<$sum>(to, sums, initial.map(bits), exclusive),
                    Operator::Product => {
                        plan::<Product<$kernels>>(to, sums, initial.map(bits), exclusive)
                    }
                    Operator::Min => {
                        let initial = initial.unwrap_or($greatest);
                        plan::<Min<$ty>>(to, arrays, Some(initial), exclusive)
                    }
                    Operator::Max => {
                        let initial = initial.unwrap_or($least);
                        plan::<Max<$ty>>(to, arrays, Some(initial), exclusive)
                    }
                }
            }
        }
    )* };
}
scannable! {
    u8: u8, SumOfBytes, u8::MIN, u8::MAX;
    u16: u16, Sum<u16>, u16::MIN, u16::MAX;
    u32: u32, Sum<u32>, u32::MIN, u32::MAX;
    i32: u32, Sum<u32>, i32::MIN, i32::MAX;
    u64: u64, Sum<u64>, u64::MIN, u64::MAX;
    i64: u64, Sum<u64>, i64::MIN, i64::MAX;
    f32: f32, Sum<f32>, f32::NEG_INFINITY, f32::INFINITY;
    f64: f64, Sum<f64>, f64::NEG_INFINITY, f64::INFINITY;
    f16: f16, Sum<f16>, f16::NEG_INFINITY, f16::INFINITY;
    bf16: bf16, Sum<bf16>, bf16::NEG_INFINITY, bf16::INFINITY;
}
