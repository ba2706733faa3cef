//! Scans of segments whose results replace the elements.

use warpwright_gpu::Family;

use super::{
    FAMILY, Heads, Keys, MatrixColumns, MatrixRows, Operator, Options, SegmentedScanOperator,
    segments::planned,
};
use crate::{
    buffer::{Element, VectorView, VectorViewMut},
    device::Device,
    error::Result,
    matrix::Matrix,
    ops::{
        plan::{Place, Plan},
        request::{Operation, Prepared, Request, Shape},
        segments::Segments,
        select::Selectable,
    },
};

impl Device {
    /// Makes a request of [`scan_segments`](Self::scan_segments) that replaces the elements by the results, with options.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let mut x = device.upload(&[1, 2, 3, 4])?;
    /// let segments = device.segments(device.upload(&[0_u32, 2, 4])?)?;
    /// device.scan_segments_in_place_request(&mut x, &segments, Operator::Sum).run()?;
    /// assert_eq!(x.to_vec()?, [1, 3, 3, 7]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan_segments_in_place_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
        segments: &'a Segments,
        operator: O,
    ) -> SegmentedScanInPlaceRequest<'a, T, &'a Segments, O> {
        in_place(self, values.into(), segments, operator)
    }

    /// Makes a request of [`scan_by_key`](Self::scan_by_key) that replaces the values by the results, with options.
    pub fn scan_by_key_in_place_request<
        'a,
        K: Selectable,
        T: Element,
        O: SegmentedScanOperator<T>,
    >(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorViewMut<'a, T>>,
        operator: O,
    ) -> SegmentedScanInPlaceRequest<'a, T, Keys<'a, K>, O> {
        in_place(self, values.into(), Keys(keys.into()), operator)
    }

    /// Makes a request of [`scan_rows`](Self::scan_rows) that replaces the elements by the results, with options.
    pub fn scan_rows_in_place_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        matrix: &'a mut Matrix<T>,
        operator: O,
    ) -> SegmentedScanInPlaceRequest<'a, T, MatrixRows, O> {
        let (height, width) = (matrix.height(), matrix.width());
        let rows = MatrixRows { height, width };
        in_place(self, matrix.as_vector_mut(), rows, operator)
    }

    /// Makes a request of [`scan_columns`](Self::scan_columns) that replaces the elements by the results, with options. The
    /// workspace has a copy of the matrix all the same.
    pub fn scan_columns_in_place_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        matrix: &'a mut Matrix<T>,
        operator: O,
    ) -> SegmentedScanInPlaceRequest<'a, T, MatrixColumns, O> {
        let (height, width) = (matrix.height(), matrix.width());
        let columns = MatrixColumns { height, width };
        in_place(self, matrix.as_vector_mut(), columns, operator)
    }
}

fn in_place<'a, T: Element, G: Heads, O: SegmentedScanOperator<T>>(
    device: &Device,
    values: VectorViewMut<'a, T>,
    groups: G,
    operator: O,
) -> SegmentedScanInPlaceRequest<'a, T, G, O> {
    let scan = SegmentedScanInPlace {
        values,
        groups,
        operator,
        options: Options::default(),
    };
    Request::new(device, scan)
}

/// A scan of segments that replaces the elements by the results. Its workspace is that of a
/// [`SegmentedScan`](super::SegmentedScan).
#[derive(Debug)]
pub struct SegmentedScanInPlace<'a, T, G, O = Operator> {
    values: VectorViewMut<'a, T>,
    groups: G,
    operator: O,
    pub(super) options: Options<T>,
}

/// A request of a scan of segments in place.
pub type SegmentedScanInPlaceRequest<'a, T, G, O = Operator> =
    Request<SegmentedScanInPlace<'a, T, G, O>>;
/// A scan of segments in place whose variant is chosen and which has its workspace. Each time it is queued, it scans what the
/// array has then.
pub type PreparedSegmentedScanInPlace<'a, T, G, O = Operator> =
    Prepared<SegmentedScanInPlace<'a, T, G, O>, ()>;

impl<T: Element, G: Heads, O: SegmentedScanOperator<T>> SegmentedScanInPlaceRequest<'_, T, G, O> {
    /// Computes the scan. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::scan_segments`] and its like, and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<()> {
        self.prepare()?.made()
    }
}

impl<T: Element, G: Heads, O: SegmentedScanOperator<T>> Operation
    for SegmentedScanInPlace<'_, T, G, O>
{
    type Output = ();

    fn name(&self) -> &'static str {
        G::NAME
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        plan.uses(self.values.device())?;
        let arrays = [Place::of_mut(&self.values); 2];
        planned(plan, &self.groups, &self.operator, self.options, arrays)?;
        Ok(Shape::Nothing)
    }
}
