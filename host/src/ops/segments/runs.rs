//! Runs of equal keys: reductions by key, and run lengths.

use cuda_std::kernel::Entry;
use warpwright_gpu::{
    Family,
    scan::Sum,
    segments::{
        FAMILY, SegmentsLengths, Width,
        policy::{BLOCK, KEY_GROUP},
    },
};

use super::{
    super::{
        plan::{Place, Plan},
        reduce::Reducible,
        request::{Counted, Destination, New, Operation, Prepared, Request, Shape, Writable},
        scan::{heads_of_keys, keys_of, scan_in_place},
        second::Second,
        select::Selectable,
    },
    Bounds, Groups, Operator, Over, SegmentReduction,
    plan::{Cuts, is_best, strided},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    error::Result,
};

/// The runs of equal keys: neighboring keys that are equal. The first key of each goes to an `E`.
#[derive(Debug)]
pub struct Runs<'a, K, E = Vector<K>> {
    keys: VectorView<'a, K>,
    heads: Second<E>,
    /// The number of runs, in the workspace.
    count: Place<u64>,
}

/// What is planned for runs: a bit for each key, and the number of runs before each group of keys.
struct Planned {
    heads: Place<u32>,
    starts: Place<u64>,
}

impl<'a, K: Selectable> Runs<'a, K> {
    pub(super) fn of(keys: VectorView<'a, K>) -> Self {
        Self {
            keys,
            heads: Second::new(),
            count: Place::none(),
        }
    }

    fn keys_to<E>(self, place: E) -> Runs<'a, K, E> {
        Runs {
            keys: self.keys,
            heads: Second::There(place),
            count: self.count,
        }
    }
}

impl<K: Selectable, E: Writable<Vector<K>>> Runs<'_, K, E> {
    /// Plans what finds the runs of `len` keys, their first keys and their number. Positions of `per_position` words are
    /// written to `positions`, which has room for one per key.
    fn find(
        &mut self,
        plan: &mut Plan<'_>,
        len: usize,
        (positions, per_position): (Place<u32>, u32),
    ) -> Result<Planned> {
        let keys = keys_of(plan, self.keys, len)?;
        let groups = len.div_ceil(KEY_GROUP);
        let starts = plan.room::<u64>(groups + 1);
        self.count = starts.part(groups, 1);
        plan.result(self.count);
        let output = self.heads.place::<_, K>(plan, Shape::Vector(len))?;
        plan.result(output);
        if len == 0 {
            plan.clear(starts);
            return Ok(Planned {
                heads: Place::none(),
                starts,
            });
        }
        let heads = heads_of_keys(plan, keys, starts)?;
        scan_in_place::<Sum<u64>>(plan, starts, true)?;
        let config = plan.linear(groups.div_ceil(BLOCK / 32), BLOCK)?;
        macro_rules! copy {
            ($type:ty) => {{
                let kernel = <$type as Width>::RUNS;
                let args = (
                    keys.cast::<$type>(),
                    heads,
                    starts,
                    output.cast::<$type>(),
                    positions,
                    per_position,
                );
                // SAFETY: the launches before wrote the bits and the numbers of runs, and there is room for a run per key.
                unsafe { plan.launch(kernel, config, args) };
            }};
        }
        match size_of::<K>() {
            1 => copy!(u8),
            2 => copy!(u16),
            4 => copy!(u32),
            _ => copy!(u64),
        }
        Ok(Planned { heads, starts })
    }

    /// As [`find`](Self::find), and returns the positions too.
    fn find_positions(&mut self, plan: &mut Plan<'_>, len: usize) -> Result<(Place<u32>, u32)> {
        let per_offset = if len < u32::MAX as usize { 1 } else { 2 };
        let offsets = plan.room::<u32>(len * per_offset);
        let positions = (offsets, per_offset as u32);
        self.find(plan, len, positions)?;
        Ok(positions)
    }
}

impl<K: Selectable, E: Writable<Vector<K>>> Groups for Runs<'_, K, E> {
    fn name(operator: Operator) -> &'static str {
        match operator {
            Operator::Sum => "sum by key",
            Operator::Product => "product by key",
            Operator::Min => "min by key",
            Operator::Max => "max by key",
        }
    }

    fn plan(&mut self, plan: &mut Plan<'_>, len: usize) -> Result<Bounds> {
        let mut bounds = Bounds {
            offsets: Place::none(),
            per_offset: 1,
            count: Place::none(),
            most: len,
            cuts: Cuts {
                words: Place::none(),
                per_cut: 0,
                ids: None,
                starts: Place::none(),
                range: 0..len,
            },
            is_apart: false,
            results: None,
        };
        if is_best(plan) {
            let planned = self.find(plan, len, (Place::none(), 0))?;
            bounds.cuts.words = planned.heads;
            bounds.cuts.starts = planned.starts;
        } else {
            (bounds.offsets, bounds.per_offset) = self.find_positions(plan, len)?;
        }
        bounds.count = self.count;
        Ok(bounds)
    }
}

/// The first of equal neighbors, and their positions: 64 bits each. The output has room for as many as there are elements.
#[derive(Debug)]
pub(super) struct Distinct<'a, K>(Runs<'a, K>);

impl<K: Selectable> Distinct<'_, K> {
    /// Returns those of `elements`.
    pub fn of(elements: &Vector<K>) -> Result<(Vector<K>, Vector<u64>)> {
        let distinct = Distinct(Runs::of(elements.view()));
        let mut prepared = Request::new(elements.device(), distinct).prepare()?;
        prepared.enqueue()?;
        let count = prepared.count()?;
        let heads = prepared.op.0.heads.take(super::CHECK)?;
        Ok(shortened(heads, prepared.into_output()?, count))
    }
}

impl<K: Selectable> Counted for Distinct<'_, K> {
    fn counted(&self) -> Place<u64> {
        self.0.count
    }
}

impl<K: Selectable> Operation for Distinct<'_, K> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        super::CHECK
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let len = self.0.keys.len();
        let positions = Place::<u64>::output(len);
        self.0.find(plan, len, (positions.cast(), 2))?;
        Ok(Shape::Vector(len))
    }
}

/// A request of a reduction of the values of each run of equal keys.
pub type ByKeyRequest<'a, K, T, D = New, E = Vector<K>> = Request<Over<'a, T, Runs<'a, K, E>>, D>;
/// A reduction by key whose variant is chosen and whose results have their memory: room for as many runs as there are keys.
pub type PreparedByKey<'a, K, T, O, R = Vector<O>, E = Vector<K>> =
    Prepared<SegmentReduction<'a, T, Runs<'a, K, E>, O>, R>;

impl<'a, K: Selectable, T, D> ByKeyRequest<'a, K, T, D> {
    /// Writes the first key of each run to `place` instead of a new array: a vector or a view of one, with room for as many
    /// runs as there are keys. [`output_to`](Self::output_to) says where the results go. Such a request is prepared; its
    /// prepared form has the number of runs.
    pub fn keys_to<E: Writable<Vector<K>>>(self, place: E) -> ByKeyRequest<'a, K, T, D, E> {
        self.with(|over, to| {
            let groups = over.groups.keys_to(place);
            let over = Over {
                values: over.values,
                groups,
                is_apart: over.is_apart,
            };
            (over, to)
        })
    }
}

/// Makes the methods of a request by key that wait for the number of runs.
macro_rules! by_key {
    ($($(#[$doc:meta])* $name:ident, $prepare:ident -> $result:ty;)*) => {
        impl<K: Selectable, T: Reducible> ByKeyRequest<'_, K, T> {
            $(
                $(#[$doc])*
                ///
                /// Returns the first key of each run and the results. They keep the memory of as many elements as there are
                /// keys. Waits for the number of runs.
                ///
                /// # Errors
                /// [`Error::Invalid`](crate::Error::Invalid) if there are not as many keys as values; otherwise as for
                /// [`SegmentsRequest::sum`](super::SegmentsRequest::sum).
                pub fn $name(self) -> Result<(Vector<K>, Vector<$result>)> {
                    let mut prepared = self.$prepare()?;
                    prepared.enqueue()?;
                    let count = prepared.count()?;
                    let heads = prepared.op.over.groups.heads.take(stringify!($name))?;
                    Ok(shortened(heads, prepared.into_output()?, count))
                }
            )*
        }
    };
}
by_key! {
    /// Computes the sum of the values of each run: see [`SegmentsRequest::sum`](super::SegmentsRequest::sum).
    sum, prepare_sum -> T::Sum;
    /// Computes the product of the values of each run: see [`SegmentsRequest::product`](super::SegmentsRequest::product).
    product, prepare_product -> T::Sum;
    /// Finds the least value of each run: see [`SegmentsRequest::min`](super::SegmentsRequest::min).
    min, prepare_min -> T;
    /// Finds the greatest value of each run: see [`SegmentsRequest::max`](super::SegmentsRequest::max).
    max, prepare_max -> T;
}

/// Returns the keys and the results of `count` runs.
fn shortened<K: Element, O: Element>(
    mut heads: Vector<K>,
    mut results: Vector<O>,
    count: usize,
) -> (Vector<K>, Vector<O>) {
    heads.truncate(count);
    results.truncate(count);
    (heads, results)
}

/// The lengths of the runs of equal keys. The first key of each run goes to an `E`.
///
/// The workspace is 4 bytes for each key (8 from 2^32 - 1 keys on), a bit for each key, 8 bytes for each 2048 keys, and 32.
#[derive(Debug)]
pub struct RunLengths<'a, K, E = Vector<K>>(pub(super) Runs<'a, K, E>);

/// A request of run lengths.
pub type RunLengthsRequest<'a, K, D = New, E = Vector<K>> = Request<RunLengths<'a, K, E>, D>;
/// Run lengths whose variant is chosen and which have their memory: room for as many runs as there are keys.
pub type PreparedRunLengths<'a, K, R = Vector<u64>, E = Vector<K>> =
    Prepared<RunLengths<'a, K, E>, R>;

impl<'a, K: Selectable, D> RunLengthsRequest<'a, K, D> {
    /// Writes the first key of each run to `place` instead of a new array: a vector or a view of one, with room for as many
    /// runs as there are keys. [`output_to`](Self::output_to) says where the lengths go.
    pub fn keys_to<E: Writable<Vector<K>>>(self, place: E) -> RunLengthsRequest<'a, K, D, E> {
        self.with(|RunLengths(runs), to| (RunLengths(runs.keys_to(place)), to))
    }
}

impl<K: Selectable> RunLengthsRequest<'_, K> {
    /// Finds the runs, waits for their number, and returns the first key of each and their lengths.
    ///
    /// # Errors
    /// As for [`Device::run_lengths`](crate::Device::run_lengths), and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<(Vector<K>, Vector<u64>)> {
        let (heads, lengths, count) = self.run_counted()?;
        Ok(shortened(heads, lengths, count))
    }
}

impl<K: Selectable, D: Destination<Vector<u64>>, E: Writable<Vector<K>>>
    RunLengthsRequest<'_, K, D, E>
{
    /// Finds the runs, waits for their number, and returns the places of their first keys and their lengths, and the number.
    /// The other elements of the places are unspecified.
    ///
    /// # Errors
    /// As for [`run`](RunLengthsRequest::run).
    pub fn run_counted(self) -> Result<(E, D::Claimed, usize)> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let count = prepared.count()?;
        let heads = prepared.op.0.heads.take(RUN_LENGTHS)?;
        Ok((heads, prepared.into_output()?, count))
    }
}

/// The operation's name for errors.
const RUN_LENGTHS: &str = "run lengths";

impl<K: Selectable, T: Reducible, O: Element, E: Writable<Vector<K>>> Counted
    for SegmentReduction<'_, T, Runs<'_, K, E>, O>
{
    fn counted(&self) -> Place<u64> {
        self.over.groups.count
    }
}

impl<K: Selectable, E: Writable<Vector<K>>> Counted for RunLengths<'_, K, E> {
    fn counted(&self) -> Place<u64> {
        self.0.count
    }
}

/// The keys of a prepared form.
macro_rules! keyed {
    ([$($parameters:tt)*] $prepared:ty, |$it:ident| $runs:expr) => {
        impl<K: Selectable, E: Writable<Vector<K>>, $($parameters)*> $prepared {
            /// Returns the first key of each run of the work queued last, with room for as many runs as there are keys.
            ///
            /// # Errors
            /// As for [`output`](Self::output).
            pub fn keys(&self) -> Result<&E> {
                self.output()?;
                let $it = &self.op;
                $runs.heads.get($it.name())
            }
        }
    };
}
keyed!([T: Reducible, O: Element, R] PreparedByKey<'_, K, T, O, R, E>, |it| it.over.groups);
keyed!([R] PreparedRunLengths<'_, K, R, E>, |it| it.0);

impl<K: Selectable, E: Writable<Vector<K>>> Operation for RunLengths<'_, K, E> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        RUN_LENGTHS
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let len = self.0.keys.len();
        let (offsets, per_offset) = self.0.find_positions(plan, len)?;
        let kernel = Entry::of::<SegmentsLengths>();
        // The device alone knows how many runs there are.
        let config = strided(plan, kernel, len)?;
        let lengths = Place::<u64>::output(len);
        let args = (offsets, per_offset, self.0.count, len, lengths);
        // SAFETY: the offsets are the positions of the runs, and there is room for a length each.
        unsafe { plan.launch(kernel, config, args) };
        Ok(Shape::Vector(len))
    }
}
