//! Reductions of segments, given by offsets or by runs of equal keys; run lengths.

mod means;
mod plan;
mod runs;

use std::{fmt, marker::PhantomData, ops::Range};

use cuda_std::kernel::Entry;
use warpwright_gpu::{
    Family,
    segments::{FAMILY, SegmentsCheck, policy::BLOCK},
};

pub use warpwright_gpu::segments::Variant;

pub(super) use self::plan::{means as plan_means, plan};
use self::runs::Distinct;
pub use self::{
    means::{Averaged, Means, PreparedMeans},
    plan::{Bounds, Cuts},
    runs::{ByKeyRequest, PreparedByKey, PreparedRunLengths, RunLengths, RunLengthsRequest, Runs},
};
pub use super::scan::Operator;
use super::{
    plan::{Place, Plan},
    reduce::Reducible,
    request::{Destination, New, Operation, Prepared, Request, Shape},
    sealed::Sealed,
    select::Selectable,
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// A type of offsets: `u32 u64`.
pub trait Offset: Element + Sealed {
    #[doc(hidden)]
    fn words(offsets: Vector<Self>) -> Words;
}

impl Offset for u32 {
    fn words(offsets: Vector<Self>) -> Words {
        Words::Narrow(offsets)
    }
}

impl Offset for u64 {
    fn words(offsets: Vector<Self>) -> Words {
        Words::Wide(offsets)
    }
}

/// Offsets of either type.
#[doc(hidden)]
#[derive(Debug)]
pub enum Words {
    Narrow(Vector<u32>),
    Wide(Vector<u64>),
}

impl Words {
    fn device(&self) -> &Device {
        match self {
            Self::Narrow(offsets) => offsets.device(),
            Self::Wide(offsets) => offsets.device(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        }
    }

    /// Returns the words of all offsets, and the number of words of each.
    fn place(&self) -> (Place<u32>, u32) {
        match self {
            Self::Narrow(offsets) => (Place::of(offsets.view()), 1),
            Self::Wide(offsets) => (Place::of(offsets.view()).cast(), 2),
        }
    }

    /// Returns the offsets that do not equal the one before, and their numbers.
    fn distinct(&self) -> Result<(Self, Vector<u64>)> {
        Ok(match self {
            Self::Narrow(offsets) => {
                let (offsets, ids) = Distinct::of(offsets)?;
                (Self::Narrow(offsets), ids)
            }
            Self::Wide(offsets) => {
                let (offsets, ids) = Distinct::of(offsets)?;
                (Self::Wide(offsets), ids)
            }
        })
    }

    /// Returns two neighboring offsets.
    fn pair(&self, first: usize) -> Result<[u64; 2]> {
        let mut pair = [0; 2];
        match self {
            Self::Narrow(offsets) => {
                let mut narrow = [0; 2];
                offsets.slice(first..first + 2)?.download(&mut narrow)?;
                pair = narrow.map(u64::from);
            }
            Self::Wide(offsets) => offsets.slice(first..first + 2)?.download(&mut pair)?,
        }
        Ok(pair)
    }
}

/// Segments of an array: neighboring elements that belong together, by offsets on the device that were checked.
///
/// Segment `s` has the elements from offset `s` up to offset `s + 1`, and may have none. Elements before the first offset and
/// from the last one on belong to no segment. Made by [`Device::segments`]; any number of operations can use them.
#[derive(Debug)]
pub struct Segments {
    words: Words,
    range: Range<usize>,
    /// If the offsets are crowded: those that do not equal the one before, and their numbers.
    distinct: Option<(Words, Vector<u64>)>,
}

impl Segments {
    /// Returns the number of segments.
    pub fn len(&self) -> usize {
        self.words.len() - 1
    }

    /// Returns whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements that all segments together have.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the device that has the offsets.
    pub fn device(&self) -> &Device {
        self.words.device()
    }

    /// Returns the words of all offsets and the number of words of each, for an operation on `len` elements.
    pub(super) fn offsets(&self, plan: &mut Plan<'_>, len: usize) -> Result<(Place<u32>, u32)> {
        plan.uses(self.device())?;
        if self.range.end > len {
            return Err(Error::invalid(
                InvalidKind::Range,
                plan.operation,
                format!("offsets of at most the {len} elements there are"),
                format!("{}", self.range.end),
            ));
        }
        Ok(self.words.place())
    }

    /// Returns the address of the offsets, for the benchmark's peers. Not for users.
    #[doc(hidden)]
    pub fn device_pointer(&self) -> u64 {
        self.words.place().0.offset()
    }
}

/// What says which elements belong together: [`Segments`], or [`Runs`].
pub trait Groups {
    #[doc(hidden)]
    fn name(operator: Operator) -> &'static str;
    /// Plans what finds the segments of `len` elements.
    #[doc(hidden)]
    fn plan(&mut self, plan: &mut Plan<'_>, len: usize) -> Result<Bounds>;
}

impl Groups for &Segments {
    fn name(operator: Operator) -> &'static str {
        match operator {
            Operator::Sum => "sum of segments",
            Operator::Product => "product of segments",
            Operator::Min => "min of segments",
            Operator::Max => "max of segments",
        }
    }

    fn plan(&mut self, plan: &mut Plan<'_>, len: usize) -> Result<Bounds> {
        let (offsets, per_offset) = self.offsets(plan, len)?;
        let (words, ids) = match &self.distinct {
            Some((distinct, ids)) => (distinct.place().0, Some(Place::of(ids.view()))),
            None => (offsets, None),
        };
        Ok(Bounds {
            offsets,
            per_offset,
            count: Place::none(),
            most: self.len(),
            cuts: Cuts {
                words,
                per_cut: per_offset,
                ids,
                starts: Place::none(),
                range: self.range(),
            },
            is_apart: false,
            results: None,
        })
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} segments of the elements {:?}",
            self.len(),
            self.range
        )
    }
}

impl Device {
    /// Makes segments of offsets: segment `s` has the elements from `offsets[s]` up to `offsets[s + 1]`, and may have none.
    /// So there is one offset more than there are segments.
    ///
    /// Keeps the memory of the offsets. Checks them on the device, and waits for that. If more than 255 segments in a row have
    /// no elements, or more than 65536 segments begin within 16384 elements, it takes another 8 bytes for each offset, and as
    /// much again as the offsets.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let values = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0])?;
    /// let segments = device.segments(device.upload(&[0_u32, 2, 2, 5])?)?;
    /// assert_eq!(device.segment_sums(&values, &segments)?.to_vec()?, [3.0, 0.0, 12.0]);
    /// assert_eq!(device.reduce_segments(&values, &segments).max()?.to_vec()?, [2.0, f32::NEG_INFINITY, 5.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no offset, or if one is less than the one before; [`Error::DeviceMismatch`],
    /// [`Error::OutOfMemory`], and errors of the device.
    pub fn segments<O: Offset>(&self, offsets: Vector<O>) -> Result<Segments> {
        let words = O::words(offsets);
        let len = words.len();
        let check = Request::new(self, Check { words: &words });
        let report = check.prepare()?.made()?.to_vec()?;
        if report[2] != 0 {
            let first = len - report[2] as usize;
            let [offset, next] = words.pair(first)?;
            return Err(Error::invalid(
                InvalidKind::Value,
                CHECK,
                "offsets that do not fall",
                format!(
                    "{offset} before {next}, the offsets {first} and {}",
                    first + 1
                ),
            ));
        }
        let range = report[0] as usize..report[1] as usize;
        let distinct = if report[3] == 0 {
            None
        } else {
            Some(words.distinct()?)
        };
        Ok(Segments {
            words,
            range,
            distinct,
        })
    }

    /// Makes a request to reduce each segment of `values`.
    pub fn reduce_segments<'a, T: Reducible>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
    ) -> SegmentsRequest<'a, T> {
        Request::new(self, Over::new(values.into(), segments))
    }

    /// Computes the sum of each segment of `values`: see [`SegmentsRequest::sum`]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`SegmentsRequest::sum`].
    pub fn segment_sums<'a, T: Reducible>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
    ) -> Result<Vector<T::Sum>> {
        self.reduce_segments(values, segments).sum()
    }

    /// Makes a request to reduce the values of each run of equal keys. The result are the first key of each run, and a value
    /// for each run, in the order of the runs.
    ///
    /// Keys that are not neighbors are of different runs: sort them first ([`sort_pairs`](Self::sort_pairs)) if all equal ones
    /// belong together. Keys compare as in [`unique`](Self::unique).
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[7_u8, 7, 2, 7])?;
    /// let values = device.upload(&[1_i32, 2, 3, 4])?;
    /// let (keys, sums) = device.reduce_by_key(&keys, &values).sum()?;
    /// assert_eq!((keys.to_vec()?, sums.to_vec()?), (vec![7, 2, 7], vec![3, 3, 4]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn reduce_by_key<'a, K: Selectable, T: Reducible>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, T>>,
    ) -> ByKeyRequest<'a, K, T> {
        Request::new(self, Over::new(values.into(), Runs::of(keys.into())))
    }

    /// Returns the first key of each run of equal keys, and the length of each run. Keys compare as in
    /// [`unique`](Self::unique). Waits for the number of runs.
    ///
    /// The results keep the memory of as many elements as there are keys.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[5_u16, 5, 5, 1, 5])?;
    /// let (keys, lengths) = device.run_lengths(&keys)?;
    /// assert_eq!((keys.to_vec()?, lengths.to_vec()?), (vec![5, 1, 5], vec![3, 1, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn run_lengths<'a, K: Selectable>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> Result<(Vector<K>, Vector<u64>)> {
        self.run_lengths_request(keys).run()
    }

    /// Makes a request of [`run_lengths`](Self::run_lengths), with options. Its prepared form keeps the number of runs on the
    /// device.
    pub fn run_lengths_request<'a, K: Selectable>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> RunLengthsRequest<'a, K> {
        Request::new(self, RunLengths(Runs::of(keys.into())))
    }
}

/// The operation that checks offsets.
const CHECK: &str = "segments";

/// The check of offsets.
struct Check<'a> {
    words: &'a Words,
}

impl Operation for Check<'_> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        CHECK
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        plan.uses(self.words.device())?;
        let len = self.words.len();
        if len == 0 {
            let (kind, required) = (
                InvalidKind::Length,
                "an offset more than there are segments",
            );
            return Err(Error::invalid(kind, CHECK, required, "no offsets"));
        }
        let report = Place::<u64>::output(4);
        plan.clear(report);
        let (offsets, per_offset) = self.words.place();
        let config = plan.linear(len.div_ceil(BLOCK), BLOCK)?;
        // SAFETY: there is an offset, and the report is 0.
        unsafe {
            plan.launch(
                Entry::of::<SegmentsCheck>(),
                config,
                (offsets, per_offset, report),
            )
        };
        Ok(Shape::Vector(4))
    }
}

/// Elements and the segments that they make: a reduction whose operator is not yet chosen.
#[derive(Debug)]
pub struct Over<'a, T, G> {
    values: VectorView<'a, T>,
    groups: G,
    is_apart: bool,
}

impl<'a, T, G> Over<'a, T, G> {
    fn new(values: VectorView<'a, T>, groups: G) -> Self {
        Self {
            values,
            groups,
            is_apart: false,
        }
    }
}

/// A reduction of segments, whose results are of type `O`.
///
/// The workspace of `best` is up to 32 bytes for each 16 KiB of elements. Where more than 255 offsets in a row are equal, there
/// is a result for each segment with elements besides. For runs of keys there are a bit for each key, 8 bytes for each 2048
/// keys, and 32 bytes besides.
#[derive(Debug)]
pub struct SegmentReduction<'a, T, G, O> {
    over: Over<'a, T, G>,
    operator: Operator,
    results: PhantomData<fn() -> O>,
}

/// A request of a reduction of segments. The result has an element per segment.
pub type SegmentsRequest<'a, T, D = New> = Request<Over<'a, T, &'a Segments>, D>;
/// A reduction of segments whose variant is chosen and whose results have their memory.
pub type PreparedSegments<'a, T, O, R = Vector<O>> =
    Prepared<SegmentReduction<'a, T, &'a Segments, O>, R>;

/// The result of preparing a reduction of `T`s to `O`s.
type Ready<'a, T, G, O, D> =
    Result<Prepared<SegmentReduction<'a, T, G, O>, <D as Destination<Vector<O>>>::Claimed>>;

impl<'a, T: Reducible, G: Groups, D> Request<Over<'a, T, G>, D> {
    /// Writes the results to `place` instead of a new array. `place` is a [`Vector`], a `&mut Vector` or a
    /// [`VectorViewMut`](crate::VectorViewMut) with an element per segment, or for runs of keys per key.
    pub fn output_to<E>(self, place: E) -> Request<Over<'a, T, G>, E> {
        self.with(|over, _| (over, place))
    }

    /// Makes each step of `best` a launch of its own, as it is with many elements, for tests. Not for users.
    #[doc(hidden)]
    pub fn apart(self) -> Self {
        self.with(|over, to| {
            let is_apart = true;
            (Over { is_apart, ..over }, to)
        })
    }

    /// Prepares the sums: chooses the variant and allocates memory, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`SegmentsRequest::sum`].
    pub fn prepare_sum(self) -> Ready<'a, T, G, T::Sum, D>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.by(Operator::Sum)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for products.
    ///
    /// # Errors
    /// As for [`SegmentsRequest::sum`].
    pub fn prepare_product(self) -> Ready<'a, T, G, T::Sum, D>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.by(Operator::Product)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for the least elements.
    ///
    /// # Errors
    /// As for [`SegmentsRequest::sum`].
    pub fn prepare_min(self) -> Ready<'a, T, G, T, D>
    where
        D: Destination<Vector<T>>,
    {
        self.by(Operator::Min)
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for the greatest elements.
    ///
    /// # Errors
    /// As for [`SegmentsRequest::sum`].
    pub fn prepare_max(self) -> Ready<'a, T, G, T, D>
    where
        D: Destination<Vector<T>>,
    {
        self.by(Operator::Max)
    }

    /// Prepares the reduction. `O` is the operator's result type.
    fn by<O: Element>(self, operator: Operator) -> Ready<'a, T, G, O, D>
    where
        D: Destination<Vector<O>>,
    {
        let reduction = |over, to| {
            let results = PhantomData;
            let reduction = SegmentReduction {
                over,
                operator,
                results,
            };
            (reduction, to)
        };
        self.with(reduction).prepare()
    }
}

impl<T: Reducible, D> SegmentsRequest<'_, T, D> {
    /// Computes the sums. A segment without elements has the sum 0.
    ///
    /// The types are those of [`Device::sum`]: integers are summed in 64 bits, modulo 2^64. Floats are summed in the
    /// accumulator's type in an order that depends on the variant, the type and the offsets alone: the same elements and
    /// offsets give the same bits in every run, on every device, wherever the elements start. The error is at most `depth *
    /// epsilon / 2 * sum(|x|)` over a segment's elements, where `depth` is the longest chain of additions: for `best` below 90,
    /// and one more for each 2^22 elements. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the segments have elements that `values` has not; [`Error::UnknownVariant`],
    /// [`Error::NotEligible`], [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn sum(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.prepare_sum()?.made()
    }

    /// Computes the products, as [`sum`](Self::sum). A segment without elements has the product 1. Does not wait.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn product(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T::Sum>>,
    {
        self.prepare_product()?.made()
    }

    /// Computes the least elements. For a segment without elements that is infinity, or the greatest value of the type.
    ///
    /// -0 is less than +0. If any element of a segment is a NaN, the result is one with an unspecified payload. Does not wait.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn min(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T>>,
    {
        self.prepare_min()?.made()
    }

    /// Computes the greatest elements. For a segment without elements that is minus infinity, or the least value of the type.
    /// Otherwise as [`min`](Self::min). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn max(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<T>>,
    {
        self.prepare_max()?.made()
    }
}

impl<T: Reducible, G: Groups, O: Element> Operation for SegmentReduction<'_, T, G, O> {
    type Output = Vector<O>;

    fn name(&self) -> &'static str {
        G::name(self.operator)
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let Over {
            values,
            groups,
            is_apart,
        } = &mut self.over;
        let values = plan.input(*values)?;
        let bounds = Bounds {
            is_apart: *is_apart,
            ..groups.plan(plan, values.len())?
        };
        T::plan_segments(self.operator, plan, values, &bounds)?;
        Ok(Shape::Vector(bounds.most))
    }
}
