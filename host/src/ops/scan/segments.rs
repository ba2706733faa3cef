//! Scans of segments: those that offsets give, runs of equal keys, and the rows or columns of a matrix.

use cuda_std::{kernel::Entry, map::Passed, scan::THREADS};
use warpwright_gpu::{
    Family,
    scan::{
        FAMILY, Keys as RunHeads, ScanHeadsOfOffsets, ScanHeadsOfRows,
        policy::{KEY_CHUNKS, KEY_GROUP},
    },
};

use super::{
    Operator, Options, SegmentedScanOperator,
    plan::{Arrays, is_aligned},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::{Matrix, MatrixView},
    ops::{
        plan::{Place, Plan},
        request::{Destination, Make, New, Operation, Prepared, Request, Shape},
        segments::Segments,
        select::{Predicate, Selectable},
        transpose::{self, transposed},
    },
};

impl Device {
    /// Scans each segment of `values` by itself: element `i` of the result combines the elements from the first one of its
    /// segment to element `i`.
    ///
    /// Elements before the first segment are scanned like a segment, and so are those behind the last one. Otherwise as
    /// [`inclusive_scan`](Self::inclusive_scan): the types, the operators, and the bits, which for floats also depend on
    /// where the segments begin. Queues the work and does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let values = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0])?;
    /// let segments = device.segments(device.upload(&[0_u32, 2, 2, 5])?)?;
    /// let sums = device.scan_segments(&values, &segments, Operator::Sum)?;
    /// assert_eq!(sums.to_vec()?, [1.0, 3.0, 3.0, 7.0, 12.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if an offset is above the number of elements;
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn scan_segments<'a, T: Element>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
        operator: impl SegmentedScanOperator<T>,
    ) -> Result<Vector<T>> {
        self.scan_segments_request(values, segments, operator).run()
    }

    /// Makes a request of [`scan_segments`](Self::scan_segments), with options.
    pub fn scan_segments_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
        operator: O,
    ) -> SegmentedScanRequest<'a, T, &'a Segments, O> {
        segmented(self, values.into(), segments, operator)
    }

    /// Scans the values of each run of equal keys by itself: element `i` of the result combines the values from the first one
    /// of its run to value `i`.
    ///
    /// Keys that are not neighbors are of different runs. Keys compare as in [`unique`](Self::unique). Otherwise as
    /// [`scan_segments`](Self::scan_segments). Queues the work and does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let keys = device.upload(&[7_u8, 7, 2, 7])?;
    /// let values = device.upload(&[1, 2, 3, 4])?;
    /// let sums = device.scan_by_key(&keys, &values, Operator::Sum)?;
    /// assert_eq!(sums.to_vec()?, [1, 3, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are not as many keys as values; otherwise as for
    /// [`scan_segments`](Self::scan_segments).
    pub fn scan_by_key<'a, K: Selectable, T: Element>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, T>>,
        operator: impl SegmentedScanOperator<T>,
    ) -> Result<Vector<T>> {
        self.scan_by_key_request(keys, values, operator).run()
    }

    /// Makes a request of [`scan_by_key`](Self::scan_by_key), with options.
    pub fn scan_by_key_request<'a, K: Selectable, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, T>>,
        operator: O,
    ) -> SegmentedScanRequest<'a, T, Keys<'a, K>, O> {
        segmented(self, values.into(), Keys(keys.into()), operator)
    }

    /// Scans each row of a row-major matrix by itself: element `j` of a row of the result combines the elements 0 to `j` of
    /// that row. Otherwise as [`scan_segments`](Self::scan_segments). Queues the work and does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::scan::Operator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let matrix = device.upload_matrix(&[1, 2, 3, 4, 5, 6], 2, 3)?;
    /// let sums = device.scan_rows(&matrix, Operator::Sum)?;
    /// assert_eq!(sums.to_vec()?, [1, 3, 6, 4, 9, 15]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`inclusive_scan`](Self::inclusive_scan).
    pub fn scan_rows<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        operator: impl SegmentedScanOperator<T>,
    ) -> Result<Matrix<T>> {
        self.scan_rows_request(matrix, operator).run()
    }

    /// Makes a request of [`scan_rows`](Self::scan_rows), with options.
    pub fn scan_rows_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        operator: O,
    ) -> SegmentedScanRequest<'a, T, MatrixRows, O> {
        let matrix = matrix.into();
        let rows = MatrixRows {
            height: matrix.height(),
            width: matrix.width(),
        };
        segmented(self, matrix.as_vector(), rows, operator)
    }

    /// Scans each column of a row-major matrix by itself: element `i` of a column of the result combines the elements 0 to `i`
    /// of that column. Otherwise as [`scan_rows`](Self::scan_rows).
    ///
    /// The matrix is transposed before and after, so the workspace has a copy of it besides, and each element is read and
    /// written three times. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`inclusive_scan`](Self::inclusive_scan).
    pub fn scan_columns<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        operator: impl SegmentedScanOperator<T>,
    ) -> Result<Matrix<T>> {
        self.scan_columns_request(matrix, operator).run()
    }

    /// Makes a request of [`scan_columns`](Self::scan_columns), with options.
    pub fn scan_columns_request<'a, T: Element, O: SegmentedScanOperator<T>>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        operator: O,
    ) -> SegmentedScanRequest<'a, T, MatrixColumns, O> {
        let matrix = matrix.into();
        let columns = MatrixColumns {
            height: matrix.height(),
            width: matrix.width(),
        };
        segmented(self, matrix.as_vector(), columns, operator)
    }
}

fn segmented<'a, T, G, O>(
    device: &Device,
    input: VectorView<'a, T>,
    groups: G,
    operator: O,
) -> SegmentedScanRequest<'a, T, G, O> {
    let scan = SegmentedScan {
        input,
        groups,
        operator,
        options: Options::default(),
    };
    Request::new(device, scan)
}

/// What says where a scan begins anew: [`Segments`], [`Keys`], [`MatrixRows`] or [`MatrixColumns`]. Other crates cannot
/// implement this trait.
pub trait Heads: sealed::Sealed {
    /// The type of the results.
    type Output<T: Element>: Make;

    #[doc(hidden)]
    const NAME: &'static str;

    /// Plans what writes a bit for each of `len` elements.
    #[doc(hidden)]
    fn plan(&self, plan: &mut Plan<'_>, len: usize) -> Result<Place<u32>>;

    #[doc(hidden)]
    fn shape(&self, len: usize) -> Shape;

    /// Returns height and width of the matrix that must be transposed first.
    #[doc(hidden)]
    fn transposed(&self) -> Option<[usize; 2]> {
        None
    }
}

mod sealed {
    /// Keeps other crates from implementing [`Heads`](super::Heads).
    pub trait Sealed {}
    impl Sealed for &super::Segments {}
    impl<K> Sealed for super::Keys<'_, K> {}
    impl Sealed for super::MatrixRows {}
    impl Sealed for super::MatrixColumns {}
}

/// Reserves room for a bit of each of `len` elements.
fn room(plan: &mut Plan<'_>, len: usize) -> Place<u32> {
    plan.room(len.div_ceil(32))
}

impl Heads for &Segments {
    type Output<T: Element> = Vector<T>;

    const NAME: &'static str = "scan of segments";

    fn plan(&self, plan: &mut Plan<'_>, len: usize) -> Result<Place<u32>> {
        let (offsets, per_offset) = self.offsets(plan, len)?;
        let heads = room(plan, len);
        if len == 0 {
            return Ok(heads);
        }
        plan.clear(heads);
        let count = offsets.len() / per_offset as usize;
        let config = plan.linear(count.div_ceil(THREADS), THREADS)?;
        let args = (offsets, per_offset, len, heads);
        // SAFETY: the offsets do not fall, and there is a bit for each element.
        unsafe { plan.launch(Entry::of::<ScanHeadsOfOffsets>(), config, args) };
        Ok(heads)
    }

    fn shape(&self, len: usize) -> Shape {
        Shape::Vector(len)
    }
}

/// The runs of equal keys.
#[derive(Debug, Clone)]
pub struct Keys<'a, K>(pub(super) VectorView<'a, K>);

impl<K: Selectable> Heads for Keys<'_, K> {
    type Output<T: Element> = Vector<T>;

    const NAME: &'static str = "scan by key";

    fn plan(&self, plan: &mut Plan<'_>, len: usize) -> Result<Place<u32>> {
        let keys = keys_of(plan, self.0, len)?;
        if len == 0 {
            return Ok(Place::none());
        }
        heads_of_keys(plan, keys, Place::none())
    }

    fn shape(&self, len: usize) -> Shape {
        Shape::Vector(len)
    }
}

/// Returns the place of the keys of `len` values.
pub(in crate::ops) fn keys_of<K: Element>(
    plan: &mut Plan<'_>,
    keys: VectorView<'_, K>,
    len: usize,
) -> Result<Place<K>> {
    let keys = plan.input(keys)?;
    if keys.len() != len {
        return Err(Error::invalid(
            InvalidKind::Length,
            plan.operation,
            format!("a key for each of the {len} values"),
            format!("{}", keys.len()),
        ));
    }
    Ok(keys)
}

/// Plans what writes a bit for each key, of which there are some: whether it differs from the one before. If `counts` has
/// elements, one more than there are groups of keys, they become the numbers of those bits in each group, and a 0.
pub(in crate::ops) fn heads_of_keys<K: Selectable>(
    plan: &mut Plan<'_>,
    keys: Place<K>,
    counts: Place<u64>,
) -> Result<Place<u32>> {
    let heads = room(plan, keys.len());
    let per_block = THREADS * KEY_CHUNKS * 16 / size_of::<K>();
    let len = keys.len().max(counts.len() * KEY_GROUP);
    let config = plan.linear(len.div_ceil(per_block), THREADS)?;
    let args = (Passed::new(K::changed().map()), keys.cast(), heads, counts);
    let kernel = <<K::Changed as Predicate>::Map as RunHeads>::HEADS;
    // SAFETY: there is a bit for each key.
    unsafe { plan.launch(kernel, config, args) };
    Ok(heads)
}

/// The rows of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct MatrixRows {
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Heads for MatrixRows {
    type Output<T: Element> = Matrix<T>;

    const NAME: &'static str = "scan of rows";

    fn plan(&self, plan: &mut Plan<'_>, len: usize) -> Result<Place<u32>> {
        let heads = room(plan, len);
        if len == 0 {
            return Ok(heads);
        }
        let config = plan.linear(heads.len().div_ceil(THREADS), THREADS)?;
        let args = (self.width, len, heads);
        // SAFETY: a row has elements if there are some, and there is a bit for each.
        unsafe { plan.launch(Entry::of::<ScanHeadsOfRows>(), config, args) };
        Ok(heads)
    }

    fn shape(&self, _: usize) -> Shape {
        Shape::Matrix(self.height, self.width)
    }
}

/// The columns of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct MatrixColumns {
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Heads for MatrixColumns {
    type Output<T: Element> = Matrix<T>;

    const NAME: &'static str = "scan of columns";

    fn plan(&self, plan: &mut Plan<'_>, len: usize) -> Result<Place<u32>> {
        let rows = MatrixRows {
            height: self.width,
            width: self.height,
        };
        rows.plan(plan, len)
    }

    fn shape(&self, _: usize) -> Shape {
        Shape::Matrix(self.height, self.width)
    }

    fn transposed(&self) -> Option<[usize; 2]> {
        Some([self.height, self.width])
    }
}

/// A scan of segments.
///
/// The workspace has a bit for each element, at most 130 bytes for each 24 KiB of elements, and 32 bytes more; for columns
/// also a copy of the matrix.
#[derive(Debug, Clone)]
pub struct SegmentedScan<'a, T, G, O = Operator> {
    input: VectorView<'a, T>,
    groups: G,
    operator: O,
    pub(super) options: Options<T>,
}

/// A request of a scan of segments.
pub type SegmentedScanRequest<'a, T, G, O = Operator, D = New> =
    Request<SegmentedScan<'a, T, G, O>, D>;
/// A scan of segments whose variant is chosen and whose result has its memory.
pub type PreparedSegmentedScan<'a, T, G, O = Operator, R = <G as Heads>::Output<T>> =
    Prepared<SegmentedScan<'a, T, G, O>, R>;

impl<T: Element, G: Heads, O: SegmentedScanOperator<T>, D: Destination<G::Output<T>>>
    SegmentedScanRequest<'_, T, G, O, D>
{
    /// Computes the scan and returns its result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::scan_segments`] and its like, and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: Element, G: Heads, O: SegmentedScanOperator<T>> Operation for SegmentedScan<'_, T, G, O> {
    type Output = G::Output<T>;

    fn name(&self) -> &'static str {
        G::NAME
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.input)?;
        let arrays = [input, Place::output(input.len())];
        planned(plan, &self.groups, &self.operator, self.options, arrays)?;
        Ok(self.groups.shape(input.len()))
    }
}

/// Plans the scan of segments of `input`, whose results go to `output`: the same array, or one that does not overlap it.
pub(super) fn planned<T: Element, O: SegmentedScanOperator<T>>(
    plan: &mut Plan<'_>,
    groups: &impl Heads,
    operator: &O,
    options: Options<T>,
    [input, output]: [Place<T>; 2],
) -> Result<()> {
    let len = input.len();
    let heads = groups.plan(plan, len)?;
    let Some([height, width]) = groups.transposed() else {
        let arrays = Arrays {
            input,
            output,
            aligned: is_aligned(input.offset()) && plan.target.is_none_or(is_aligned),
            heads,
        };
        return operator.plan(plan, arrays, options);
    };
    let room = plan.room(len);
    let arrays = Arrays {
        input: room,
        output: room,
        aligned: true,
        heads,
    };
    let variant = transpose::Variant::Best;
    transposed(plan, variant, input, room, [height, width])?;
    operator.plan(plan, arrays, options)?;
    transposed(plan, variant, room, output, [width, height])
}
