//! Cumulative sums of a wider type than the elements.

use cuda_std::{
    bf16, f16,
    scan::{Start, Workspace},
};
use warpwright_gpu::{
    Family,
    scan::{
        FAMILY, Sum, WideKernel, Widen as GpuWiden,
        policy::{WIDE_BLOCK, WIDE_TILE_BYTES, wide_windows},
    },
};

use super::Options;
#[cfg(feature = "ladder")]
use super::Variant;
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::Result,
    ops::{
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
        sealed::Sealed,
    },
};

impl Device {
    /// Computes the cumulative sums in the wider type `Out`: element `i` of the result is the sum of elements 0 to `i`, each
    /// converted to `Out`.
    ///
    /// [`Widen`] lists the pairs of types. The array can have any length, and can be part of an array. Integer sums wrap
    /// modulo 2 to the width of `Out`, without an error. Float sums are added in an order that depends on the types and the
    /// position alone: the same elements give the same bits in every run, on every device, wherever they start. The error of
    /// result `i` is at most `depth * epsilon / 2 * sum(|x|)` over its elements, with `epsilon` of `f32`; `depth` is below 70
    /// plus one for each 2^21 elements. Queues the work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let bytes = device.upload(&[200_u8, 100, 255])?;
    /// assert_eq!(device.cumulative_sum_wide::<u32, _>(&bytes)?.to_vec()?, [200, 300, 555]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn cumulative_sum_wide<'a, Out: Element, T: Widen<Out>>(
        &self,
        values: impl Into<VectorView<'a, T>>,
    ) -> Result<Vector<Out>> {
        self.cumulative_sum_wide_request(values).run()
    }

    /// Makes a request of a [`cumulative_sum_wide`](Self::cumulative_sum_wide), with options.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// // Where each of some lists begins in one array that has all of them, and the end.
    /// let lengths = device.upload(&[3_u8, 0, 250, 90])?;
    /// let mut offsets = device.upload(&[0_u64; 5])?;
    /// let request = device.cumulative_sum_wide_request(&lengths);
    /// request.output_to(offsets.slice_mut(1..)?).run()?;
    /// assert_eq!(offsets.to_vec()?, [0, 3, 3, 253, 343]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cumulative_sum_wide_request<'a, Out: Element, T: Widen<Out>>(
        &self,
        values: impl Into<VectorView<'a, T>>,
    ) -> WideSumRequest<'a, T, Out> {
        let sum = WideSum {
            input: values.into(),
            options: Options::default(),
        };
        Request::new(self, sum)
    }
}

/// Cumulative sums of a wider type than the elements.
///
/// The workspace has at most 130 bytes for each 16 KiB of elements, and 32 bytes more.
#[derive(Debug, Clone)]
pub struct WideSum<'a, T, Out> {
    input: VectorView<'a, T>,
    pub(super) options: Options<Out>,
}

/// A request of cumulative sums of a wider type than the elements.
pub type WideSumRequest<'a, T, Out, D = New> = Request<WideSum<'a, T, Out>, D>;
/// Cumulative sums of a wider type than the elements, whose variant is chosen and whose result has its memory.
pub type PreparedWideSum<'a, T, Out, R = Vector<Out>> = Prepared<WideSum<'a, T, Out>, R>;

impl<T: Widen<Out>, Out: Element, D: Destination<Vector<Out>>> WideSumRequest<'_, T, Out, D> {
    /// Computes the sums and returns them. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::cumulative_sum_wide`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: Widen<Out>, Out: Element> Operation for WideSum<'_, T, Out> {
    type Output = Vector<Out>;

    fn name(&self) -> &'static str {
        "wide cumulative sum"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        #[cfg(feature = "ladder")]
        if Variant::ALL[plan.choice.index] != Variant::Best {
            return Err(
                plan.not_eligible("sums of a wider type are found by `best` alone".to_owned())
            );
        }
        let input = plan.input(self.input)?;
        if input.len() > 0 {
            T::plan(plan, input, self.options)?;
        }
        Ok(Shape::Vector(input.len()))
    }
}

/// An element whose cumulative sums can have the wider type `Out`: `u8` and `u16` as `u32` or `u64`, `u32` as `u64`, `i32` as
/// `i64`, `f16` and `bf16` as `f32`. Other crates cannot implement this trait.
#[expect(private_interfaces, reason = "hidden, and of this module alone")]
pub trait Widen<Out: Element>: Element + Sealed {
    #[doc(hidden)]
    fn plan(plan: &mut Plan<'_>, input: Place<Self>, options: Options<Out>) -> Result<()>;
}

/// Plans the scan `R` of elements that are converted first.
fn plan<R: WideKernel<T>, T: GpuWiden<R::In>>(
    plan: &mut Plan<'_>,
    input: Place<T>,
    initial: Option<R::In>,
    exclusive: bool,
) -> Result<()> {
    let start = Start::new(initial.map_or(R::IDENTITY, R::load), exclusive)
        .expect("the library's accumulators are numbers");
    let tiles = input.len().div_ceil(WIDE_TILE_BYTES / size_of::<T>());
    let config = plan.linear(tiles, WIDE_BLOCK)?;
    let words = Workspace::of(tiles, wide_windows(size_of::<R::Acc>()));
    let [control, statuses, batches] =
        [words.control, words.statuses, words.batches].map(|len| plan.zeros(len));
    let output = Place::<R::In>::output(input.len());
    let args = (input, output, control, statuses, batches, start);
    // SAFETY: the output has as many elements as the input and does not overlap it. The rooms are those that the kernel needs
    // and are 0 at first; nothing but this launch uses them.
    unsafe { plan.launch(R::WIDE, config, args) };
    Ok(())
}

macro_rules! widen {
    ($($ty:ty => $($out:ty: $sum:ty),*;)*) => { $($(
        #[expect(private_interfaces, reason = "hidden, and of this module alone")]
        impl Widen<$out> for $ty {
            fn plan(to: &mut Plan<'_>, input: Place<Self>, options: Options<$out>) -> Result<()> {
                // The bits of a signed integer are those of the unsigned one.
                let initial = options.initial.map(bytemuck::cast::<$out, $sum>);
                plan::<Sum<$sum>, $ty>(to, input, initial, options.exclusive)
            }
        }
    )*)* };
}
widen! {
    u8 => u32: u32, u64: u64;
    u16 => u32: u32, u64: u64;
    u32 => u64: u64;
    i32 => i64: u64;
    f16 => f32: f32;
    bf16 => f32: f32;
}
