//! Sorts of each segment of an array by itself.

use cuda_std::kernel::Entry;
use warpwright_gpu::{
    Family,
    scan::Sum,
    sort::{FAMILY, SortBestMarks, policy::MARKS_BLOCK},
};

use super::{
    By, SortKey,
    plan::{Data, Given, Keys, sort},
};
use crate::{
    buffer::{Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    ops::{
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
        scan::scan_in_place,
        segments::Segments,
    },
};

impl Device {
    /// Sorts each segment of `keys` by itself, in ascending order. Elements of no segment stay where they are.
    ///
    /// However the keys are cut, it takes as long: all keys are sorted with the numbers of their segments, and then by these.
    /// The order is that of [`sort`](Self::sort). The workspace has two copies of the keys, three numbers of 4 bytes for each,
    /// and some 70 KiB.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[3, 1, 2, 9, 8])?;
    /// let segments = device.segments(device.upload(&[0_u32, 3, 3, 5])?)?;
    /// assert_eq!(device.sort_segments(&keys, &segments)?.to_vec()?, [1, 2, 3, 8, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the segments have elements that `keys` has not, or if there are 2^32 segments or more;
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn sort_segments<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        segments: &'a Segments,
    ) -> Result<Vector<K>> {
        self.sort_segments_request(keys, segments).run()
    }

    /// Makes a request of [`sort_segments`](Self::sort_segments), with options: descending order, and a range of the keys'
    /// bits.
    pub fn sort_segments_request<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        segments: &'a Segments,
    ) -> SortSegmentsRequest<'a, K> {
        let sort = SortSegments {
            keys: keys.into(),
            segments,
            by: By::ALL,
        };
        Request::new(self, sort)
    }
}

/// A sort of each segment.
#[derive(Debug, Clone)]
pub struct SortSegments<'a, K> {
    keys: VectorView<'a, K>,
    segments: &'a Segments,
    pub(super) by: By,
}

/// A request of a sort of each segment.
pub type SortSegmentsRequest<'a, K, D = New> = Request<SortSegments<'a, K>, D>;
/// A sort of each segment whose variant is chosen and whose result has its memory.
pub type PreparedSortSegments<'a, K, R = Vector<K>> = Prepared<SortSegments<'a, K>, R>;

impl<K: SortKey, D: Destination<Vector<K>>> SortSegmentsRequest<'_, K, D> {
    /// Sorts the keys and returns the result.
    ///
    /// # Errors
    /// As for [`Device::sort_segments`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<K: SortKey> Operation for SortSegments<'_, K> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "sort of segments"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.keys)?;
        let all = input.len();
        let (offsets, per_offset) = self.segments.offsets(plan, all)?;
        let range = self.segments.range();
        let (count, len) = (self.segments.len(), range.len());
        if u32::try_from(count).is_err() {
            let required = "fewer than 2^32 segments";
            let given = format!("{count}");
            return Err(Error::invalid(
                InvalidKind::TooLarge,
                plan.operation,
                required,
                given,
            ));
        }
        let output = Place::<K>::output(all);
        for outside in [0..range.start, range.end..all] {
            if !outside.is_empty() {
                let from = input.part(outside.start, outside.len());
                plan.copy_to(from, output.part(outside.start, outside.len()));
            }
        }
        let input = input.part(range.start, len);
        let output = output.part(range.start, len);
        if len == 0 {
            return Ok(Shape::Vector(all));
        }
        let keys = |output: Place<K>| Keys {
            input: input.cast(),
            output: Some(output.cast()),
            in_place: false,
        };
        if count == 1 {
            sort::<K>(plan, self.by, keys(output), Data::None)?;
            return Ok(Shape::Vector(all));
        }
        let numbers = plan.room::<u32>(len);
        plan.clear(numbers);
        let marks = count + 1;
        let config = plan.linear(marks.div_ceil(MARKS_BLOCK), MARKS_BLOCK)?;
        let args = (offsets, per_offset, range.start, numbers);
        // SAFETY: the first offset is the start of the range.
        unsafe { plan.launch(Entry::of::<SortBestMarks>(), config, args) };
        scan_in_place::<Sum<u32>>(plan, numbers, false)?;

        let (sorted, moved) = (plan.room::<K>(len), plan.room::<u32>(len));
        let given = Given {
            input: numbers.cast(),
            output: moved.cast(),
            bytes: size_of::<u32>(),
        };
        sort::<K>(plan, self.by, keys(sorted), Data::Given(given))?;
        let by = By {
            bits: Some([0, count.ilog2() + 1]),
            tile: self.by.tile,
            ..By::ALL
        };
        let numbers = Keys {
            input: moved,
            output: None,
            in_place: false,
        };
        let given = Given {
            input: sorted.cast(),
            output: output.cast(),
            bytes: size_of::<K>(),
        };
        sort::<u32>(plan, by, numbers, Data::Given(given))?;
        Ok(Shape::Vector(all))
    }
}
