//! The positions of the keys of each segment in order, and sorts of each segment's keys with values.

use std::marker::PhantomData;

use warpwright_gpu::{
    Family,
    sort::{Column, FAMILY},
};

use super::{
    By, Position, SortKey, argsort::require_positions, data::Given, plan::gather, segments::Cut,
    value_bytes,
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::Result,
    ops::{
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape, Writable},
        second::Second,
        segments::Segments,
    },
};

impl Device {
    /// Returns the positions in `keys` of each segment's keys in ascending order, segment by segment. Elements of no segment
    /// have their own positions.
    ///
    /// The order is that of [`argsort`](Self::argsort), and equal keys keep the order of their positions. However the keys are
    /// cut, it takes as long: all keys are sorted, and then the numbers of their segments. There can be 2^32 keys;
    /// [`argsort_segments_request`](Self::argsort_segments_request) makes positions of 64 bits for more. The workspace has two
    /// copies of the keys, eight numbers of 4 bytes for each, and the counts of the sort's tiles. Queues the work and does not
    /// wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[3, 1, 2, 9, 8])?;
    /// let segments = device.segments(device.upload(&[0_u32, 3, 3, 5])?)?;
    /// assert_eq!(device.argsort_segments(&keys, &segments)?.to_vec()?, [1, 2, 0, 4, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`sort_segments`](Self::sort_segments). Also [`Error::Invalid`](crate::Error::Invalid) for more keys.
    pub fn argsort_segments<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        segments: &'a Segments,
    ) -> Result<Vector<u32>> {
        self.argsort_segments_request(keys, segments).run()
    }

    /// Makes a request of [`argsort_segments`](Self::argsort_segments), with options: descending order, and a range of the
    /// keys' bits. `P` is the type of the positions, `u32` or `u64`.
    pub fn argsort_segments_request<'a, K: SortKey, P: Position>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        segments: &'a Segments,
    ) -> ArgsortSegmentsRequest<'a, K, P> {
        let sort = ArgsortSegments {
            keys: keys.into(),
            segments,
            by: By::ALL,
            positions: PhantomData,
        };
        Request::new(self, sort)
    }

    /// Sorts the keys of each segment in ascending order, and moves each value with its key. Keys and values of no segment stay
    /// where they are.
    ///
    /// A value has 1, 2, 4, 8 or 16 bytes. The order and the time are those of [`argsort_segments`](Self::argsort_segments),
    /// by whose positions keys and values are then copied. Queues the work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[3, 1, 2, 9, 8])?;
    /// let values = device.upload(&[0.5_f32, 1.5, 2.5, 3.5, 4.5])?;
    /// let segments = device.segments(device.upload(&[0_u32, 3, 5])?)?;
    /// let (keys, values) = device.sort_pairs_segments(&keys, &values, &segments)?;
    /// assert_eq!(keys.to_vec()?, [1, 2, 3, 8, 9]);
    /// assert_eq!(values.to_vec()?, [1.5, 2.5, 0.5, 4.5, 3.5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`sort_segments`](Self::sort_segments). Also [`Error::Invalid`](crate::Error::Invalid) if there are not as many
    /// values as keys, or a value has another size.
    pub fn sort_pairs_segments<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, V>>,
        segments: &'a Segments,
    ) -> Result<(Vector<K>, Vector<V>)> {
        self.sort_pairs_segments_request(keys, values, segments)
            .run()
    }

    /// Makes a request of [`sort_pairs_segments`](Self::sort_pairs_segments), with options: descending order, and a range of
    /// the keys' bits.
    pub fn sort_pairs_segments_request<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, V>>,
        segments: &'a Segments,
    ) -> SortPairsSegmentsRequest<'a, K, V> {
        let sort = SortPairsSegments {
            keys: keys.into(),
            values: values.into(),
            segments,
            by: By::ALL,
            sorted: Second::new(),
        };
        Request::new(self, sort)
    }
}

/// The positions of each segment's keys in order.
#[derive(Debug, Clone)]
pub struct ArgsortSegments<'a, K, P> {
    keys: VectorView<'a, K>,
    segments: &'a Segments,
    pub(super) by: By,
    positions: PhantomData<fn() -> P>,
}

/// A request of the positions of each segment's keys in order.
pub type ArgsortSegmentsRequest<'a, K, P, D = New> = Request<ArgsortSegments<'a, K, P>, D>;
/// The positions of each segment's keys in order, whose variant is chosen and which have their memory.
pub type PreparedArgsortSegments<'a, K, P, R = Vector<P>> = Prepared<ArgsortSegments<'a, K, P>, R>;

impl<K: SortKey, P: Position, D: Destination<Vector<P>>> ArgsortSegmentsRequest<'_, K, P, D> {
    /// Finds the positions and returns them. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::argsort_segments`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<K: SortKey, P: Position> Operation for ArgsortSegments<'_, K, P> {
    type Output = Vector<P>;

    fn name(&self) -> &'static str {
        "argsort of segments"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let keys = plan.input(self.keys)?.cast::<K::Bits>();
        let all = keys.len();
        require_positions::<P>(plan, all)?;
        let by = self.by.compared::<K>(plan.operation)?;
        let cut = Cut::of(plan, self.segments, all)?;
        // Values that are written are made of the positions from `first` on.
        let made = |first: usize| Column {
            bytes: size_of::<P>() as u32,
            positions: 1,
            first: first as u64,
        };
        let given = |output: Place<P>| Given {
            output: output.cast(),
            ..Given::none()
        };
        let output = Place::<P>::output(all);
        for outside in cut.outside(all) {
            let (first, len) = (outside.start, outside.len());
            let (keys, output) = (keys.part(first, len), output.part(first, len));
            let none = (Place::none(), 0);
            gather(
                plan,
                (keys, Place::none()),
                none,
                given(output),
                made(first),
            )?;
        }
        let (keys, output) = (cut.part(keys), cut.part(output));
        if keys.len() > 0 {
            let positions = cut.positions(plan, keys, by)?;
            let made = made(cut.range.start);
            gather(plan, (keys, Place::none()), positions, given(output), made)?;
        }
        Ok(Shape::Vector(all))
    }
}

/// A sort of each segment's keys with values, which go to an `E`.
#[derive(Debug)]
pub struct SortPairsSegments<'a, K, V, E = Vector<V>> {
    pub(super) keys: VectorView<'a, K>,
    pub(super) values: VectorView<'a, V>,
    pub(super) segments: &'a Segments,
    pub(super) by: By,
    pub(super) sorted: Second<E>,
}

/// A request of a sort of each segment's keys with values.
pub type SortPairsSegmentsRequest<'a, K, V, D = New, E = Vector<V>> =
    Request<SortPairsSegments<'a, K, V, E>, D>;
/// A sort of each segment's keys with values, whose variant is chosen and whose results have their memory. Its output are the
/// keys.
pub type PreparedSortPairsSegments<'a, K, V, R = Vector<K>, E = Vector<V>> =
    Prepared<SortPairsSegments<'a, K, V, E>, R>;

impl<K: SortKey, V: Element, E: Writable<Vector<V>>> Operation for SortPairsSegments<'_, K, V, E> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "sort of segments"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let (keys, values) = (plan.input(self.keys)?, plan.input(self.values)?);
        let all = keys.len();
        let bytes = value_bytes::<V>(plan, all, values.len())?;
        let by = self.by.compared::<K>(plan.operation)?;
        let cut = Cut::of(plan, self.segments, all)?;
        let sorted_values: Place<V> = self.sorted.place(plan, Shape::Vector(all))?;
        let output = Place::<K>::output(all);
        cut.copy_outside(plan, keys, output);
        cut.copy_outside(plan, values, sorted_values);
        let keys = cut.part(keys).cast();
        if keys.len() > 0 {
            let positions = cut.positions(plan, keys, by)?;
            let given = Given {
                input: cut.part(values).cast(),
                output: cut.part(sorted_values).cast(),
                bytes,
            };
            let column = Column {
                bytes: bytes as u32,
                ..Column::NONE
            };
            let output = cut.part(output).cast();
            gather(plan, (keys, output), positions, given, column)?;
        }
        Ok(Shape::Vector(all))
    }
}
