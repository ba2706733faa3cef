//! Sorts of each segment of an array by itself.

use std::ops::Range;

use cuda_std::kernel::Entry;
use warpwright_gpu::{
    Family,
    scan::Sum,
    sort::{Column, FAMILY, Kernels, Range as Bits, SortBestMarks, Twist, policy::MARKS_BLOCK},
};

use super::{
    By, SortKey,
    data::{Data, Given, Keys},
    plan::{Compared, gather, sort, sort_bits},
};
use crate::{
    buffer::{Element, Vector, VectorView},
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
    /// The order is that of [`sort`](Self::sort). The workspace has three copies of the keys, five numbers of 4 bytes for each,
    /// and the counts of the sort's tiles. Queues the work and does not wait.
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
    /// Sorts the keys and returns the result. Queues the work and does not wait.
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
        let cut = Cut::of(plan, self.segments, all)?;
        let output = Place::<K>::output(all);
        cut.copy_outside(plan, input, output);
        let (input, output) = (cut.part(input), cut.part(output));
        let len = input.len();
        if len == 0 {
            return Ok(Shape::Vector(all));
        }
        let keys = |output: Place<K>| Keys {
            input: input.cast(),
            output: Some(output.cast()),
            in_place: false,
        };
        if cut.count == 1 {
            sort::<K>(plan, self.by, keys(output), Data::None)?;
            return Ok(Shape::Vector(all));
        }
        let numbers = cut.numbers(plan)?;
        let (sorted, moved) = (plan.room::<K>(len), plan.room::<u32>(len));
        let given = Given {
            input: numbers.cast(),
            output: moved.cast(),
            bytes: size_of::<u32>(),
        };
        sort::<K>(plan, self.by, keys(sorted), Data::Given(given))?;
        let given = Given {
            input: sorted.cast(),
            output: output.cast(),
            bytes: size_of::<K>(),
        };
        let by = cut.by_number(self.by.tile);
        sort_bits(plan, by, Keys::unwritten(moved), Data::Given(given))?;
        Ok(Shape::Vector(all))
    }
}

/// The segments of a plan.
pub(in crate::ops) struct Cut {
    pub offsets: Place<u32>,
    /// The words of an offset.
    pub per_offset: u32,
    /// The elements that all segments together have.
    pub range: Range<usize>,
    /// The number of segments.
    pub count: usize,
}

/// Positions, and the words of one.
pub(in crate::ops) type Positions = (Place<u32>, u32);

impl Cut {
    /// Returns the segments of `len` elements.
    pub fn of(plan: &mut Plan<'_>, segments: &Segments, len: usize) -> Result<Self> {
        let (offsets, per_offset) = segments.offsets(plan, len)?;
        let count = segments.len();
        if u32::try_from(count).is_err() {
            return Err(Error::invalid(
                InvalidKind::TooLarge,
                plan.operation,
                "fewer than 2^32 segments",
                format!("{count}"),
            ));
        }
        Ok(Self {
            offsets,
            per_offset,
            range: segments.range(),
            count,
        })
    }

    /// Returns the elements that the segments have.
    pub fn part<T>(&self, elements: Place<T>) -> Place<T> {
        elements.part(self.range.start, self.range.len())
    }

    /// Returns the elements of no segment, as ranges of `len` elements.
    pub fn outside(&self, len: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let ranges = [0..self.range.start, self.range.end..len];
        ranges.into_iter().filter(|it| !it.is_empty())
    }

    /// Plans a copy of the elements of no segment.
    pub fn copy_outside<T>(&self, plan: &mut Plan<'_>, from: Place<T>, to: Place<T>) {
        for Range { start, end } in self.outside(from.len()) {
            plan.copy_to(from.part(start, end - start), to.part(start, end - start));
        }
    }

    /// Plans the number of each element's segment, from 1 on.
    fn numbers(&self, plan: &mut Plan<'_>) -> Result<Place<u32>> {
        let numbers = plan.room::<u32>(self.range.len());
        plan.clear(numbers);
        let marks = self.count + 1;
        let config = plan.linear(marks.div_ceil(MARKS_BLOCK), MARKS_BLOCK)?;
        let args = (self.offsets, self.per_offset, self.range.start, numbers);
        // SAFETY: the first offset is the start of the range.
        unsafe { plan.launch(Entry::of::<SortBestMarks>(), config, args) };
        scan_in_place::<Sum<u32>>(plan, numbers, false)?;
        Ok(numbers)
    }

    /// Returns how the numbers of segments are compared.
    fn by_number(&self, tile: Option<[usize; 2]>) -> Compared<u32> {
        Compared {
            range: Bits {
                first: 0,
                bits: self.count.ilog2() + 1,
            },
            twist: Twist::NONE,
            tile,
        }
    }

    /// Plans the positions of the elements of all segments, segment by segment in the order of their keys, counted from the
    /// first segment's first element on. There must be an element.
    pub fn positions<U: Kernels + Element>(
        &self,
        plan: &mut Plan<'_>,
        keys: Place<U>,
        by: Compared<U>,
    ) -> Result<Positions> {
        let len = keys.len();
        let is_wide = len > 1 << 32 || by.tile.is_some();
        let per_position = 1 + usize::from(is_wide);
        let bytes = per_position * size_of::<u32>();
        let of_all = plan.room::<u32>(len * per_position);
        let data = Data::Positions(of_all.cast(), bytes);
        let tile = by.tile;
        sort_bits(plan, by, Keys::unwritten(keys), data)?;
        let of_all = (of_all, per_position as u32);
        if self.count == 1 {
            return Ok(of_all);
        }
        let (numbers, moved) = (self.numbers(plan)?, plan.room::<u32>(len));
        gather(plan, (numbers, moved), of_all, Given::none(), Column::NONE)?;
        let positions = plan.room::<u32>(len * per_position);
        let given = Given {
            input: of_all.0.cast(),
            output: positions.cast(),
            bytes,
        };
        let by = self.by_number(tile);
        sort_bits(plan, by, Keys::unwritten(moved), Data::Given(given))?;
        Ok((positions, of_all.1))
    }
}
