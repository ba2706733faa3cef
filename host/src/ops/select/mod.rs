//! Selection: the elements that a predicate names, in order; unique elements; partitions.

mod in_place;
mod predicate;

use std::marker::PhantomData;

use cuda_std::{
    map::{First, MapFn, MapInput, Passed, Second},
    select::{BLOCK, COUNT, PARTITION, ROUNDS, SELECT, control_len, shared_bytes, tile_len, tiles},
};
use warpwright_gpu::{
    Family,
    select::{
        FAMILY,
        policy::{Policy, Ring},
    },
};
#[cfg(feature = "ladder")]
use {
    cuda_std::kernel::Entry,
    warpwright_gpu::select::{
        SelectScan,
        policy::{NAIVE_RUN, RUNG_BLOCK, RUNG_TILE, SCAN_BLOCK},
    },
};

pub use in_place::{PreparedSelectInPlace, SelectInPlaceRequest, SelectionInPlace};
pub use predicate::{IntoPredicate, Library, Predicate, Selectable};
pub use warpwright_gpu::select::{
    Variant,
    predicates::{Compare, Ordered},
};

use super::{
    map::{Input, input, planned},
    persistent::Persistent,
    plan::{Place, Plan},
    request::{Counted, Destination, New, Operation, Prepared, Request, Shape},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::Result,
};

impl Device {
    /// Returns the elements of `values` that `predicate` selects, in order.
    ///
    /// The input can have any length, and can be part of an array. The result is the same by every variant on every device. It
    /// keeps the memory of as many elements as the input has: [`select_request`](Self::select_request) writes elsewhere. Waits
    /// for the number of elements.
    ///
    /// ```
    /// use warpwright::{Device, ops::select::Compare};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let x = device.upload(&[3.0_f32, -1.0, 2.0, f32::NAN])?;
    /// assert_eq!(device.select(&x, Compare::greater(0.0))?.to_vec()?, [3.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownKernel`](crate::Error::UnknownKernel) if a user's module does not contain the predicate's kernel,
    /// [`Error::Invalid`](crate::Error::Invalid) if the kernel takes other parameters there,
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn select<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        predicate: P,
    ) -> Result<Vector<T>>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        self.select_request(values, predicate).run()
    }

    /// Makes a request of [`select`](Self::select), with options. Its prepared form keeps the number of elements on the device.
    pub fn select_request<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        predicate: P,
    ) -> SelectRequest<'a, T, P::Predicate>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        let predicate = predicate.into_predicate();
        Request::new(
            self,
            Selection::of(values.into(), None, predicate, "select"),
        )
    }

    /// Returns the elements of `values` that `predicate` selects, given each with the element of `others` at the same position.
    /// Otherwise as [`select`](Self::select). Waits for the number of elements.
    ///
    /// # Errors
    /// As for [`select`](Self::select). Also [`Error::Invalid`](crate::Error::Invalid) if the lengths differ.
    pub fn select_pairs<'a, T: Element, U: Element, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        others: impl Into<VectorView<'a, U>>,
        predicate: P,
    ) -> Result<Vector<T>>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = (T, U)>,
    {
        self.select_pairs_request(values, others, predicate).run()
    }

    /// Makes a request of [`select_pairs`](Self::select_pairs), with options.
    pub fn select_pairs_request<'a, T: Element, U: Element, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        others: impl Into<VectorView<'a, U>>,
        predicate: P,
    ) -> SelectRequest<'a, T, P::Predicate>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = (T, U)>,
    {
        let (second, predicate) = (input(others.into()), predicate.into_predicate());
        Request::new(
            self,
            Selection::of(values.into(), second, predicate, "select"),
        )
    }

    /// Returns the elements of `values` whose flag is not 0, in order. Otherwise as [`select`](Self::select). Waits for the
    /// number of elements.
    ///
    /// # Errors
    /// As for [`select`](Self::select). Also [`Error::Invalid`](crate::Error::Invalid) if the lengths differ.
    pub fn select_flagged<'a, T: Selectable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        flags: impl Into<VectorView<'a, u8>>,
    ) -> Result<Vector<T>> {
        self.select_flagged_request(values, flags).run()
    }

    /// Makes a request of [`select_flagged`](Self::select_flagged), with options.
    pub fn select_flagged_request<'a, T: Selectable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        flags: impl Into<VectorView<'a, u8>>,
    ) -> SelectRequest<'a, T, T::Flagged> {
        let second = input(flags.into());
        Request::new(
            self,
            Selection::of(values.into(), second, T::flagged(), "select"),
        )
    }

    /// Returns the elements of `values` that differ from the one before, in order: the first of each run of equals. Floats
    /// compare as in Rust: a NaN differs from every element, and -0 equals +0. Otherwise as [`select`](Self::select). Waits for
    /// the number of elements.
    ///
    /// # Errors
    /// As for [`select`](Self::select).
    pub fn unique<'a, T: Selectable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
    ) -> Result<Vector<T>> {
        self.unique_request(values).run()
    }

    /// Makes a request of [`unique`](Self::unique), with options.
    pub fn unique_request<'a, T: Selectable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
    ) -> SelectRequest<'a, T, T::Changed> {
        Request::new(
            self,
            Selection::of(values.into(), None, T::changed(), "unique"),
        )
    }

    /// Returns the elements of `values`, those that `predicate` selects first, and the number of these. Both kinds keep their
    /// order. It takes two passes over the input, of which the first counts. There is no partition in place, which would need a
    /// copy of the elements. Otherwise as [`select`](Self::select). Waits for the number.
    ///
    /// # Errors
    /// As for [`select`](Self::select).
    pub fn partition<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        predicate: P,
    ) -> Result<(Vector<T>, usize)>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        self.partition_request(values, predicate).run()
    }

    /// Makes a request of [`partition`](Self::partition), with options.
    pub fn partition_request<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        predicate: P,
    ) -> PartitionRequest<'a, T, P::Predicate>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        let predicate = predicate.into_predicate();
        let selection = Selection::of(values.into(), None, predicate, "partition");
        Request::new(self, Partition(selection))
    }
}

/// The elements of one array, by the elements of a second one if the predicate takes two.
///
/// The workspace of `best` is 8 bytes for each tile of 16 or 32 KiB, and 32 bytes more. That of the rungs is 8 bytes for each
/// 1024 or 4096 elements.
#[derive(Debug, Clone)]
pub struct Selection<'a, T, P: Predicate> {
    name: &'static str,
    items: Input<'a, First<P::Map>>,
    second: Option<Input<'a, Second<P::Map>>>,
    predicate: P,
    /// The number of selected elements, in the workspace.
    count: Place<u64>,
    /// Whether the blocks are persistent for a small input too.
    is_persistent: bool,
    /// Whether the selected elements replace the first ones of the input.
    is_in_place: bool,
    marker: PhantomData<T>,
}

/// A [`Selection`] that keeps the other elements too, behind the selected ones.
#[derive(Clone)]
pub struct Partition<'a, T, P: Predicate>(Selection<'a, T, P>);

/// A request of a selection.
pub type SelectRequest<'a, T, P, D = New> = Request<Selection<'a, T, P>, D>;
/// A selection whose variant is chosen and whose result has its memory. The result has room for all elements of the input.
pub type PreparedSelect<'a, T, P, R = Vector<T>> = Prepared<Selection<'a, T, P>, R>;
/// A request of a partition.
pub type PartitionRequest<'a, T, P, D = New> = Request<Partition<'a, T, P>, D>;
/// A partition whose variant is chosen and whose result has its memory.
pub type PreparedPartition<'a, T, P, R = Vector<T>> = Prepared<Partition<'a, T, P>, R>;

impl<T: Element, P: Predicate> SelectRequest<'_, T, P> {
    /// Selects, waits for the number of elements, and returns them.
    ///
    /// # Errors
    /// As for [`Device::select`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<Vector<T>> {
        let (mut selected, count) = self.run_counted()?;
        selected.truncate(count);
        Ok(selected)
    }
}

impl<T: Element, P: Predicate, D: Destination<Vector<T>>> SelectRequest<'_, T, P, D> {
    /// Selects, waits for the number of elements, and returns the place and the number. The other elements of the place are
    /// unspecified.
    ///
    /// # Errors
    /// As for [`Device::select`], and those of [`prepare`](Self::prepare).
    pub fn run_counted(self) -> Result<(D::Claimed, usize)> {
        self.counted()
    }
}

impl<T: Element, P: Predicate, D> SelectRequest<'_, T, P, D> {
    /// Has `best` launch persistent blocks for a small input too, for tests: the result is the same.
    #[doc(hidden)]
    pub fn persistent(self) -> Self {
        self.with(|op, to| {
            let is_persistent = true;
            let op = Selection {
                is_persistent,
                ..op
            };
            (op, to)
        })
    }
}

impl<T: Element, P: Predicate, D: Destination<Vector<T>>> PartitionRequest<'_, T, P, D> {
    /// Partitions, waits for the number of selected elements, and returns all elements and the number.
    ///
    /// # Errors
    /// As for [`Device::partition`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<(D::Claimed, usize)> {
        self.counted()
    }
}

impl<T: Element, P: Predicate> Counted for Selection<'_, T, P> {
    fn counted(&self) -> Place<u64> {
        self.count
    }
}

impl<T: Element, P: Predicate> Counted for Partition<'_, T, P> {
    fn counted(&self) -> Place<u64> {
        self.0.count
    }
}

impl<T: Element, P: Predicate> Operation for Selection<'_, T, P> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        self.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        self.plan_passes(plan, &[SELECT])
    }
}

impl<T: Element, P: Predicate> Operation for Partition<'_, T, P> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        self.0.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        self.0.plan_passes(plan, &[COUNT, PARTITION])
    }
}

/// Plans writing those of `items` that differ from the one before to the start of the output, and returns the place of their
/// number.
pub(super) fn plan_unique<T: Selectable>(
    plan: &mut Plan<'_>,
    items: Place<T>,
) -> Result<Place<u64>> {
    let items = (items, plan.device);
    let mut selection = Selection::of_place(items, None, T::changed(), plan.operation);
    selection.plan_passes(plan, &[SELECT])?;
    Ok(selection.count)
}

impl<'a, T: Element, P: Predicate> Selection<'a, T, P> {
    /// Makes a selection of elements that have the size of the predicate's.
    fn of(
        values: VectorView<'a, T>,
        second: Option<Input<'a, Second<P::Map>>>,
        predicate: P,
        name: &'static str,
    ) -> Self {
        Self::of_place(
            (Place::of(values), values.device()),
            second,
            predicate,
            name,
        )
    }

    fn of_place(
        (items, device): (Place<T>, &'a Device),
        second: Option<Input<'a, Second<P::Map>>>,
        predicate: P,
        name: &'static str,
    ) -> Self {
        const { assert!(size_of::<T>() == size_of::<First<P::Map>>()) };
        Self {
            name,
            items: (items.cast(), device),
            second,
            predicate,
            count: Place::none(),
            is_persistent: false,
            is_in_place: false,
            marker: PhantomData,
        }
    }

    /// Returns the place of the selected elements.
    fn output(&self) -> Place<First<P::Map>> {
        if self.is_in_place {
            self.items.0
        } else {
            Place::output(self.items.0.len())
        }
    }

    /// Plans the passes of `best`, or the launches of a rung, whose last mode is the same.
    fn plan_passes(&mut self, plan: &mut Plan<'_>, modes: &[u32]) -> Result<Shape> {
        let (items, device) = self.items;
        plan.uses(device)?;
        let len = items.len();
        let second = planned(self.second, plan, len)?;
        self.count = plan.room(1);
        plan.result(self.count);
        let (count, output) = (self.count, self.output());
        let predicate = Passed::new(self.predicate.map());
        // In a plan of another family, it is `best`.
        #[cfg(feature = "ladder")]
        if plan.family.name == FAMILY.name && Variant::ALL[plan.choice.index] != Variant::Best {
            return self.plan_rung(plan, second, modes[modes.len() - 1]);
        }
        let kernel = self.predicate.best();
        let module = self.predicate.module();
        if let Some(module) = module {
            module.require(kernel.descriptor(), plan.operation)?;
        }
        let (threads, rounds) = match module {
            Some(_) => (BLOCK, ROUNDS),
            None => {
                let policy: Policy = plan.policy(kernel, size_of::<T>());
                (policy.block, policy.rounds)
            }
        };
        if modes == [SELECT] && self.plan_persistent(plan, predicate, second)? {
            return Ok(Shape::Vector(len));
        }
        let tiles = tiles::<T>(threads, rounds, items.offset() as usize, len);
        // The words keep the number of the launch, by which the next one knows that they are not its own.
        let control = plan.zeros::<u64>(control_len(tiles));
        let config = plan.linear(tiles, threads)?;
        let config = config.with_shared(shared_bytes(threads, rounds) as u32);
        for mode in modes {
            let args = (predicate, items, second, *mode, control, output, count);
            // SAFETY: the places have the lengths of the kernel's contract, and the output overlaps no input, or is the items
            // of a selection. The launches of a plan are in order, and a plan that did not run to its end clears the words
            // before it runs again.
            let launch = unsafe { plan.launch(kernel, config, args) };
            launch.module = module.cloned();
        }
        Ok(Shape::Vector(len))
    }

    /// Plans one launch of persistent blocks, if that is the best way. Returns whether it is.
    fn plan_persistent(
        &self,
        plan: &mut Plan<'_>,
        predicate: Passed<P::Map>,
        second: Place<Second<P::Map>>,
    ) -> Result<bool> {
        let Some(kernel) = self.predicate.persistent() else {
            return Ok(false);
        };
        let items = self.items.0;
        let module = self.predicate.module();
        let ring = match module {
            Some(_) => Ring::of_users::<T>(),
            None => plan.policy::<Policy, _>(kernel, size_of::<T>()).ring,
        };
        let is_aligned = items.offset().is_multiple_of(16);
        let fits = u32::try_from(items.len()).is_ok();
        let is_large = items.len() * size_of::<T>() >= ring.from_bytes || self.is_persistent;
        if !is_large || !is_aligned || !fits || items.len() == 0 {
            return Ok(false);
        }
        if let Some(module) = module {
            module.require(kernel.descriptor(), plan.operation)?;
        }
        let tiles = items
            .len()
            .div_ceil(tile_len::<T>(ring.threads, ring.rounds));
        let persistent = Persistent {
            threads: ring.threads,
            shared_bytes: ring.bytes(),
            resident: ring.resident,
            slots: ring.slots,
        };
        let blocks = persistent.blocks(plan, (kernel.descriptor(), module), tiles)?;
        if blocks == 0 {
            return Ok(false);
        }
        let control = plan.zeros::<u64>(1);
        let statuses = plan.zeros::<u64>(tiles);
        let config = plan.linear(blocks, ring.threads)?;
        let config = config.with_shared(ring.bytes() as u32);
        let args = (
            predicate,
            items,
            second,
            control,
            statuses,
            self.output(),
            self.count,
        );
        // SAFETY: the items are aligned and fewer than 2^32. The places have the lengths of the kernel's contract and are 0 at
        // first, and the output overlaps no input, or is the items.
        let launch = unsafe { plan.launch(kernel, config, args) };
        launch.module = module.cloned();
        Ok(true)
    }

    /// Plans the launches of a variant below `best`: counts, their sums, and the writes.
    #[cfg(feature = "ladder")]
    fn plan_rung(
        &self,
        plan: &mut Plan<'_>,
        second: Place<Second<P::Map>>,
        mode: u32,
    ) -> Result<Shape> {
        let variant = Variant::ALL[plan.choice.index];
        if self.is_in_place {
            return Err(plan.not_eligible(
                "it writes elements before all are read, so not in place; `best` does".to_owned(),
            ));
        }
        let (counts, scatter) = self.predicate.rung(variant).ok_or_else(|| {
            plan.not_eligible(
                "a predicate of a user's module has a kernel for `best` alone".to_owned(),
            )
        })?;
        let items = self.items.0;
        let len = items.len();
        let predicate = Passed::new(self.predicate.map());
        let (per_part, blocks) = match variant {
            Variant::Naive => (NAIVE_RUN, len.div_ceil(NAIVE_RUN * RUNG_BLOCK)),
            _ => (RUNG_TILE, len.div_ceil(RUNG_TILE)),
        };
        let parts = plan.room::<u64>(len.div_ceil(per_part).max(1));
        let config = plan.linear(blocks.max(1), RUNG_BLOCK)?;
        let one = plan.linear(1, SCAN_BLOCK)?;
        let args = (
            predicate,
            items,
            second,
            mode,
            parts,
            Place::output(len),
            self.count,
        );
        // SAFETY: there is a count for each part of the items, which the second launch replaces by sums. The output has room
        // for all items and overlaps nothing.
        unsafe {
            plan.launch(counts, config, (predicate, items, second, parts));
            plan.launch(Entry::of::<SelectScan>(), one, (parts, self.count));
            plan.launch(scatter, config, args);
        }
        Ok(Shape::Vector(len))
    }
}
