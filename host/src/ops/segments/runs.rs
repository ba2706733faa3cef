//! Runs of equal keys: reductions by key, and run lengths.

use cuda_std::{
    kernel::Entry,
    map::Passed,
    select::{control_len, positions_shared_bytes, tiles},
};
use warpwright_gpu::{
    Family,
    segments::{
        FAMILY, Keys, SegmentsLengths,
        policy::{BLOCK, ROUNDS},
    },
};

use super::{
    super::{
        Strided,
        plan::{Place, Plan},
        reduce::Reducible,
        request::{New, Operation, Prepared, Request, Shape},
        select::{Predicate, Selectable},
    },
    Bounds, Groups, Operator, Over, SegmentReduction,
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
        let keys = keys_of(plan, self.keys, len)?;
        let per_offset = if len < u32::MAX as usize { 1 } else { 2 };
        self.count = plan.room(1);
        plan.result(self.count);
        let offsets = plan.room::<u32>(len * per_offset);
        let heads = Vector::uninit(plan.device, plan.operation, len)?;
        let output = Place::of(heads.view());
        plan.result(output);
        self.heads = Some(heads);
        let tiles = tiles::<K>(BLOCK, ROUNDS, keys.offset() as usize, len);
        let control = plan.zeros::<u64>(control_len(tiles));
        let shared = positions_shared_bytes::<K>(BLOCK, ROUNDS) as u32;
        let config = plan.linear(tiles, BLOCK)?.with_shared(shared);
        let args = (
            Passed::new(K::changed().map()),
            keys.cast(),
            control,
            output.cast(),
            offsets,
            per_offset as u32,
            self.count,
        );
        let kernel = <K::Changed as Predicate>::Map::HEADS;
        // SAFETY: the outputs have room for a run per key, and overlap nothing. The launches of a plan are in order, and a plan
        // that did not run to its end clears the words before it runs again.
        unsafe { plan.launch(kernel, config, args) };
        Ok(Bounds {
            offsets,
            per_offset: per_offset as u32,
            count: self.count,
            most: len,
            elements: len,
            is_apart: false,
        })
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
/// The workspace is 4 bytes for each key (8 from 2^32 - 1 keys on), and 8 bytes for each 16 KiB of keys.
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

/// The runs of a prepared form.
macro_rules! counted {
    ([$($parameters:tt)*] $prepared:ty, $key:ident, |$it:ident| $runs:expr) => {
        impl<$($parameters)*> $prepared {
            /// Returns the number of runs of the work queued last, on the device: one element. Does not wait.
            ///
            /// # Errors
            /// [`Error::Invalid`] if no work was queued, or if queueing the last work failed.
            pub fn count_on_device(&self) -> Result<VectorView<'_, u64>> {
                self.output()?;
                let $it = &self.op;
                let address = self.workspace.view().address() + $runs.count.offset();
                Ok(VectorView::from_parts(address, 1, self.workspace.device()))
            }

            /// Waits for the work queued last and returns its number of runs: as many results and keys are meaningful.
            ///
            /// # Errors
            /// As for [`count_on_device`](Self::count_on_device), and errors of the device.
            pub fn count(&self) -> Result<usize> {
                let mut count = [0];
                self.count_on_device()?.download(&mut count)?;
                Ok(count[0] as usize)
            }

            /// Returns the first key of each run of the work queued last, with room for as many runs as there are keys.
            ///
            /// # Errors
            /// As for [`count_on_device`](Self::count_on_device).
            pub fn keys(&self) -> Result<&Vector<$key>> {
                self.output()?;
                let $it = &self.op;
                $runs.heads()
            }
        }
    };
}
counted!([K: Selectable, T: Reducible, O: Element, R] PreparedByKey<'_, K, T, O, R>, K, |it| it.over.groups);
counted!([K: Selectable, R] PreparedRunLengths<'_, K, R>, K, |it| it.0);

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
        let bounds = self.0.plan(plan, len)?;
        let kernel = Entry::of::<SegmentsLengths>();
        // The device alone knows how many runs there are.
        let strided = Strided {
            kernel: kernel.descriptor(),
            threads: BLOCK as u32,
            shared_bytes: 0,
            blocks_per_multiprocessor: 8,
            least_per_block: BLOCK,
        };
        let blocks = strided.blocks(plan.device, plan.operation, len)?;
        let config = plan.linear(blocks, BLOCK)?;
        let lengths = Place::<u64>::output(len);
        let args = (
            bounds.offsets,
            bounds.per_offset,
            bounds.count,
            len,
            lengths,
        );
        // SAFETY: the offsets are the positions of the runs, and there is room for a length each.
        unsafe { plan.launch(kernel, config, args) };
        Ok(Shape::Vector(len))
    }
}
