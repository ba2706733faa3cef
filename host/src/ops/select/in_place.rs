//! Selections whose elements replace the first ones of the input.

use cuda_std::{
    map::{MapFn, MapInput, Second},
    select::SELECT,
};
use warpwright_gpu::{Family, select::FAMILY};

use super::{
    super::{
        map::{Input, input},
        plan::{Place, Plan},
        request::{Counted, Operation, Prepared, Request, Shape},
    },
    IntoPredicate, Predicate, Selectable, Selection,
};
use crate::{
    buffer::{Element, VectorView, VectorViewMut},
    device::Device,
    error::Result,
};

impl Device {
    /// Moves the elements of `values` that `predicate` selects to its first places, in order, and returns their number. What
    /// follows them is unspecified. The result is that of [`select`](Self::select). Waits for the number of elements.
    ///
    /// ```
    /// use warpwright::{Device, ops::select::Compare};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let mut x = device.upload(&[3.0_f32, -1.0, 2.0, f32::NAN])?;
    /// let count = device.select_in_place(&mut x, Compare::greater(0.0))?;
    /// assert_eq!(x.slice(..count)?.to_vec()?, [3.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`select`](Self::select).
    pub fn select_in_place<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
        predicate: P,
    ) -> Result<usize>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        self.select_in_place_request(values, predicate).run()
    }

    /// Makes a request of [`select_in_place`](Self::select_in_place), with options. It has the variant `best` alone. Its
    /// prepared form keeps the number of elements on the device.
    pub fn select_in_place_request<'a, T: Element + MapInput<First = T>, P: IntoPredicate>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
        predicate: P,
    ) -> SelectInPlaceRequest<'a, T, P::Predicate>
    where
        <P::Predicate as Predicate>::Map: MapFn<In = T>,
    {
        let predicate = predicate.into_predicate();
        let selection = SelectionInPlace::of(values.into(), None, predicate, "select");
        Request::new(self, selection)
    }

    /// Makes a request of [`select_flagged`](Self::select_flagged) in place: see
    /// [`select_in_place_request`](Self::select_in_place_request).
    pub fn select_flagged_in_place_request<'a, T: Selectable>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
        flags: impl Into<VectorView<'a, u8>>,
    ) -> SelectInPlaceRequest<'a, T, T::Flagged> {
        let second = input(flags.into());
        let selection = SelectionInPlace::of(values.into(), second, T::flagged(), "select");
        Request::new(self, selection)
    }

    /// Makes a request of [`unique`](Self::unique) in place: see
    /// [`select_in_place_request`](Self::select_in_place_request).
    pub fn unique_in_place_request<'a, T: Selectable>(
        &self,
        values: impl Into<VectorViewMut<'a, T>>,
    ) -> SelectInPlaceRequest<'a, T, T::Changed> {
        let selection = SelectionInPlace::of(values.into(), None, T::changed(), "unique");
        Request::new(self, selection)
    }
}

/// A [`Selection`] whose selected elements replace the first ones of the input. What follows them then is unspecified.
pub struct SelectionInPlace<'a, T, P: Predicate> {
    selection: Selection<'a, T, P>,
    /// Keeps the elements borrowed mutably.
    _values: VectorViewMut<'a, T>,
}

/// A request of a selection in place.
pub type SelectInPlaceRequest<'a, T, P> = Request<SelectionInPlace<'a, T, P>>;
/// A selection in place whose variant is chosen and which has its workspace. Each time it is queued, it selects of what the
/// array has then.
pub type PreparedSelectInPlace<'a, T, P> = Prepared<SelectionInPlace<'a, T, P>, ()>;

impl<'a, T: Element, P: Predicate> SelectionInPlace<'a, T, P> {
    fn of(
        values: VectorViewMut<'a, T>,
        second: Option<Input<'a, Second<P::Map>>>,
        predicate: P,
        name: &'static str,
    ) -> Self {
        let items = (Place::of_mut(&values), values.device());
        let selection = Selection {
            is_in_place: true,
            ..Selection::of_place(items, second, predicate, name)
        };
        Self {
            selection,
            _values: values,
        }
    }
}

impl<T: Element, P: Predicate> SelectInPlaceRequest<'_, T, P> {
    /// Selects, waits for the number of elements, and returns it.
    ///
    /// # Errors
    /// As for [`Device::select_in_place`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<usize> {
        let ((), count) = self.counted()?;
        Ok(count)
    }

    /// Has `best` launch persistent blocks for a small input too, for tests: the result is the same.
    #[doc(hidden)]
    pub fn persistent(mut self) -> Self {
        self.op.selection.is_persistent = true;
        self
    }
}

impl<T: Element, P: Predicate> Counted for SelectionInPlace<'_, T, P> {
    fn counted(&self) -> Place<u64> {
        self.selection.count
    }
}

impl<T: Element, P: Predicate> Operation for SelectionInPlace<'_, T, P> {
    type Output = ();

    fn name(&self) -> &'static str {
        self.selection.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        self.selection.plan_passes(plan, &[SELECT])?;
        Ok(Shape::Nothing)
    }
}
