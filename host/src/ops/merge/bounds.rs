//! The places of keys in a sorted array.

#[cfg(feature = "ladder")]
use warpwright_gpu::merge::policy::RUNG_BLOCK;
use warpwright_gpu::{
    Family,
    merge::{
        FAMILY, Kernels,
        policy::{BOUNDS_BLOCK, NEEDLES},
    },
};

#[cfg(feature = "ladder")]
use super::Variant;
use crate::{
    buffer::{Vector, VectorView},
    device::Device,
    error::Result,
    ops::{
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
        sort::{SortKey, twist},
    },
};

impl Device {
    /// Returns for each needle the number of keys of a sorted array that are less: the first place at which the needle can be
    /// inserted.
    ///
    /// The order is that of [`sort`](Self::sort): integers are in their order, floats in that of `total_cmp`, in which -0 is
    /// less than +0. Needles can be in any order and of any number. The result is the same for every variant and on every
    /// device. If the array is not sorted, each place is some number up to its length. There is no workspace. Queues the work
    /// and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let sorted = device.upload(&[10, 20, 20, 30])?;
    /// let needles = device.upload(&[20, 5, 31])?;
    /// assert_eq!(device.lower_bound(&sorted, &needles)?.to_vec()?, [1, 0, 4]);
    /// assert_eq!(device.upper_bound(&sorted, &needles)?.to_vec()?, [3, 0, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn lower_bound<'a, K: SortKey>(
        &self,
        sorted: impl Into<VectorView<'a, K>>,
        needles: impl Into<VectorView<'a, K>>,
    ) -> Result<Vector<u64>> {
        self.lower_bound_request(sorted, needles).run()
    }

    /// Makes a request of [`lower_bound`](Self::lower_bound), with options: an array in descending order.
    pub fn lower_bound_request<'a, K: SortKey>(
        &self,
        sorted: impl Into<VectorView<'a, K>>,
        needles: impl Into<VectorView<'a, K>>,
    ) -> BoundsRequest<'a, K> {
        Bounds::request(self, sorted.into(), needles.into(), false)
    }

    /// Returns for each needle the number of keys of a sorted array that are less or equal: the last place at which the needle
    /// can be inserted. Otherwise as [`lower_bound`](Self::lower_bound). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`lower_bound`](Self::lower_bound).
    pub fn upper_bound<'a, K: SortKey>(
        &self,
        sorted: impl Into<VectorView<'a, K>>,
        needles: impl Into<VectorView<'a, K>>,
    ) -> Result<Vector<u64>> {
        self.upper_bound_request(sorted, needles).run()
    }

    /// Makes a request of [`upper_bound`](Self::upper_bound), with options: an array in descending order.
    pub fn upper_bound_request<'a, K: SortKey>(
        &self,
        sorted: impl Into<VectorView<'a, K>>,
        needles: impl Into<VectorView<'a, K>>,
    ) -> BoundsRequest<'a, K> {
        Bounds::request(self, sorted.into(), needles.into(), true)
    }
}

/// The places of keys in a sorted array.
#[derive(Debug, Clone)]
pub struct Bounds<'a, K> {
    sorted: VectorView<'a, K>,
    needles: VectorView<'a, K>,
    is_upper: bool,
    is_descending: bool,
}

/// A request of the places of keys in a sorted array.
pub type BoundsRequest<'a, K, D = New> = Request<Bounds<'a, K>, D>;
/// The places of keys in a sorted array, whose variant is chosen and which have their memory.
pub type PreparedBounds<'a, K, R = Vector<u64>> = Prepared<Bounds<'a, K>, R>;

impl<'a, K: SortKey> Bounds<'a, K> {
    fn request(
        device: &Device,
        sorted: VectorView<'a, K>,
        needles: VectorView<'a, K>,
        is_upper: bool,
    ) -> BoundsRequest<'a, K> {
        let bounds = Self {
            sorted,
            needles,
            is_upper,
            is_descending: false,
        };
        Request::new(device, bounds)
    }
}

impl<K: SortKey, D> BoundsRequest<'_, K, D> {
    /// Searches an array that is in descending order: the keys that are counted are greater than the needle, or for
    /// [`Device::upper_bound`] greater or equal.
    pub fn descending(mut self) -> Self {
        self.op.is_descending = true;
        self
    }

    /// Finds the places and returns them. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::lower_bound`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<u64>>,
    {
        self.prepare()?.made()
    }
}

impl<K: SortKey> Operation for Bounds<'_, K> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        if self.is_upper {
            "upper_bound"
        } else {
            "lower_bound"
        }
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let (sorted, needles) = (plan.input(self.sorted)?, plan.input(self.needles)?);
        let (kernel, threads, per_thread) = (K::Bits::MERGE_BOUNDS, BOUNDS_BLOCK, NEEDLES);
        #[cfg(feature = "ladder")]
        let (kernel, threads, per_thread) = match Variant::ALL[plan.choice.index] {
            Variant::Naive => (K::Bits::MERGE_NAIVE_BOUNDS, RUNG_BLOCK, 1),
            Variant::Path => {
                let reason = "it merges, and finds no places";
                return Err(plan.not_eligible(reason.to_owned()));
            }
            _ => (kernel, threads, per_thread),
        };
        let len = needles.len();
        if len > 0 {
            let config = plan.linear(len.div_ceil(threads * per_thread), threads)?;
            let args = (
                sorted.cast(),
                needles.cast(),
                twist::<K>(self.is_descending),
                u32::from(self.is_upper),
                Place::output(len),
            );
            // SAFETY: there is a place for each needle, and the places overlap nothing.
            unsafe { plan.launch(kernel, config, args) };
        }
        Ok(Shape::Vector(len))
    }
}
