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
        request::{Counted, New, Operation, Prepared, Request, Shape},
        scan::{heads_of_keys, keys_of, scan_in_place},
        select::Selectable,
    },
    Bounds, Groups, Operator, Over, SegmentReduction,
    plan::{Cuts, is_best, strided},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    error::{Error, InvalidKind, Result},
};

/// The runs of equal keys: neighboring keys that are equal.
#[derive(Debug)]
pub struct Runs<'a, K> {
    keys: VectorView<'a, K>,
    /// The first key of each run, once the work is planned.
    heads: Option<Vector<K>>,
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
            heads: None,
            count: Place::none(),
        }
    }

    fn heads(&self) -> Result<&Vector<K>> {
        self.heads.as_ref().ok_or_else(no_heads)
    }

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
        let first_keys = Vector::uninit(plan.device, plan.operation, len)?;
        let output = Place::of(first_keys.view());
        plan.result(output);
        self.heads = Some(first_keys);
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

fn no_heads() -> Error {
    Error::invalid(
        InvalidKind::NotQueued,
        "runs of keys",
        "keys that are planned",
        "none",
    )
}

impl<K: Selectable> Groups for Runs<'_, K> {
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
        let heads = prepared.op.0.heads.take();
        shortened(heads, prepared.into_output()?, count)
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
pub type ByKeyRequest<'a, K, T, D = New> = Request<Over<'a, T, Runs<'a, K>>, D>;
/// A reduction by key whose variant is chosen and whose results have their memory: room for as many runs as there are keys.
pub type PreparedByKey<'a, K, T, O, R = Vector<O>> =
    Prepared<SegmentReduction<'a, T, Runs<'a, K>, O>, R>;

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
                /// [`Error::Invalid`] if there are not as many keys as values; otherwise as for
                /// [`SegmentsRequest::sum`](super::SegmentsRequest::sum).
                pub fn $name(self) -> Result<(Vector<K>, Vector<$result>)> {
                    let mut prepared = self.$prepare()?;
                    prepared.enqueue()?;
                    let count = prepared.count()?;
                    let heads = prepared.op.over.groups.heads.take();
                    shortened(heads, prepared.into_output()?, count)
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
    heads: Option<Vector<K>>,
    mut results: Vector<O>,
    count: usize,
) -> Result<(Vector<K>, Vector<O>)> {
    let mut heads = heads.ok_or_else(no_heads)?;
    heads.truncate(count);
    results.truncate(count);
    Ok((heads, results))
}

/// The lengths of the runs of equal keys.
///
/// The workspace is 4 bytes for each key (8 from 2^32 - 1 keys on), a bit for each key, and 8 bytes for each 2048 keys.
#[derive(Debug)]
pub struct RunLengths<'a, K>(pub(super) Runs<'a, K>);

/// A request of run lengths.
pub type RunLengthsRequest<'a, K, D = New> = Request<RunLengths<'a, K>, D>;
/// Run lengths whose variant is chosen and which have their memory: room for as many runs as there are keys.
pub type PreparedRunLengths<'a, K, R = Vector<u64>> = Prepared<RunLengths<'a, K>, R>;

impl<K: Selectable> RunLengthsRequest<'_, K> {
    /// Finds the runs, waits for their number, and returns the first key of each and their lengths.
    ///
    /// # Errors
    /// As for [`Device::run_lengths`](crate::Device::run_lengths), and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<(Vector<K>, Vector<u64>)> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let count = prepared.count()?;
        let heads = prepared.op.0.heads.take();
        shortened(heads, prepared.into_output()?, count)
    }
}

impl<K: Selectable, T: Reducible, O: Element> Counted for SegmentReduction<'_, T, Runs<'_, K>, O> {
    fn counted(&self) -> Place<u64> {
        self.over.groups.count
    }
}

impl<K: Selectable> Counted for RunLengths<'_, K> {
    fn counted(&self) -> Place<u64> {
        self.0.count
    }
}

/// The keys of a prepared form.
macro_rules! keyed {
    ([$($parameters:tt)*] $prepared:ty, $key:ident, |$it:ident| $runs:expr) => {
        impl<$($parameters)*> $prepared {
            /// Returns the first key of each run of the work queued last, with room for as many runs as there are keys.
            ///
            /// # Errors
            /// As for [`output`](Self::output).
            pub fn keys(&self) -> Result<&Vector<$key>> {
                self.output()?;
                let $it = &self.op;
                $runs.heads()
            }
        }
    };
}
keyed!([K: Selectable, T: Reducible, O: Element, R] PreparedByKey<'_, K, T, O, R>, K, |it| it.over.groups);
keyed!([K: Selectable, R] PreparedRunLengths<'_, K, R>, K, |it| it.0);

impl<K: Selectable> Operation for RunLengths<'_, K> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        "run lengths"
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
