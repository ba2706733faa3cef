//! The greatest or smallest elements of each segment.

use warpwright_gpu::top_k::{FAMILY, Kernels, policy};

use super::{Family, Wanted};
use crate::{
    buffer::VectorView,
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::Matrix,
    ops::{
        plan::{Place, Plan},
        request::{New, Operation, Prepared, Request, Shape, Writable},
        second::Second,
        segments::Segments,
        sort::{Compared, Cut, SortKey},
    },
};

impl Device {
    /// Returns the `k` greatest elements of each segment and their positions in `values`, the greatest first: two matrices with
    /// a row of `k` for each segment.
    ///
    /// The order is that of [`top_k`](Self::top_k). A segment may have fewer than `k` elements: the rest of its row are zeros,
    /// with the position `u64::MAX`.
    ///
    /// However the elements are cut, it takes as long as [`argsort_segments`](Self::argsort_segments), which sorts all of them.
    /// The workspace has three copies of the elements, eight numbers of 4 bytes for each, and the counts of the sort's tiles.
    /// Queues the work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let x = device.upload(&[3.0_f32, 1.0, 2.0, 9.0])?;
    /// let segments = device.segments(device.upload(&[0_u32, 3, 4])?)?;
    /// let (values, positions) = device.top_k_segments(&x, &segments, 2)?;
    /// assert_eq!(values.as_vector().to_vec()?, [3.0, 2.0, 9.0, 0.0]);
    /// assert_eq!(positions.as_vector().to_vec()?, [0, 2, 3, u64::MAX]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the segments have elements that `values` has not, if there are 2^32 segments or more, or if the
    /// results are too many for an array; [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn top_k_segments<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
        k: usize,
    ) -> Result<(Matrix<T>, Matrix<u64>)> {
        self.top_k_segments_request(values, segments, k).run()
    }

    /// Makes a request of [`top_k_segments`](Self::top_k_segments), with options.
    pub fn top_k_segments_request<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
        k: usize,
    ) -> TopKSegmentsRequest<'a, T> {
        let top_k = TopKSegments {
            values: values.into(),
            segments,
            wanted: Wanted::greatest(k),
            positions: Second::new(),
        };
        Request::new(self, top_k)
    }
}

/// The greatest or smallest elements of each segment, whose positions go to an `E`.
#[derive(Debug)]
pub struct TopKSegments<'a, T, E = Matrix<u64>> {
    pub(super) values: VectorView<'a, T>,
    pub(super) segments: &'a Segments,
    pub(super) wanted: Wanted,
    pub(super) positions: Second<E>,
}

/// A request of the greatest or smallest elements of each segment.
pub type TopKSegmentsRequest<'a, T, D = New, E = Matrix<u64>> = Request<TopKSegments<'a, T, E>, D>;
/// The greatest or smallest elements of each segment, whose variant is chosen and which have their memory. Its output are the
/// elements, a row for each segment.
pub type PreparedTopKSegments<'a, T, R = Matrix<T>, E = Matrix<u64>> =
    Prepared<TopKSegments<'a, T, E>, R>;

impl<T: SortKey, E: Writable<Matrix<u64>>> Operation for TopKSegments<'_, T, E> {
    type Output = Matrix<T>;

    fn name(&self) -> &'static str {
        "top_k_segments"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let elements = plan.input(self.values)?.cast::<T::Bits>();
        let cut = Cut::of(plan, self.segments, elements.len())?;
        let (count, k) = (cut.count, self.wanted.k);
        let Some(results) = count.checked_mul(k) else {
            return Err(Error::invalid(
                InvalidKind::TooLarge,
                plan.operation,
                "as many results as an array can have",
                format!("{k} for each of {count} segments"),
            ));
        };
        let place: Place<u64> = self.positions.place(plan, Shape::Matrix(count, k))?;
        plan.result(place);
        if results == 0 {
            return Ok(Shape::Matrix(count, k));
        }
        let part = cut.part(elements);
        let (order, per_position) = if part.len() == 0 {
            (Place::none(), 1)
        } else {
            let ranks = plan.room::<T::Bits>(part.len());
            let config = plan.linear(part.len().div_ceil(policy::BLOCK), policy::BLOCK)?;
            let args = (part, self.wanted.order::<T>(), ranks);
            // SAFETY: there is a rank per element.
            unsafe { plan.launch(<T::Bits as Kernels>::RANKS, config, args) };
            cut.positions(plan, ranks, Compared::DESCENDING)?
        };
        let config = plan.linear(results.div_ceil(policy::BLOCK), policy::BLOCK)?;
        let args = (
            elements,
            order,
            per_position,
            cut.offsets,
            cut.per_offset,
            cut.range.start,
            k,
            Place::output(results),
            place,
        );
        // SAFETY: the positions are those of the segments' elements. There are `k` results for each segment.
        unsafe { plan.launch(<T::Bits as Kernels>::GATHER, config, args) };
        Ok(Shape::Matrix(count, k))
    }
}
