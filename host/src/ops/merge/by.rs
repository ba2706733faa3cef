//! Stable sorts by a user's comparison.

use cuda_std::merge::{Compared, SortKernel, shared_bytes, tile_len};
use warpwright_gpu::{Family, merge::FAMILY};

use super::{require_best, tiles};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::Result,
    module::Module,
    ops::{
        map::ModuleFunction,
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
    },
};

impl Module {
    /// Makes a comparison for [`Device::sort_by`] and its like of `compare`, whose kernels
    /// ([`sort_kernel!`](cuda_std::sort_kernel!)) are in this module.
    ///
    /// ```ignore
    /// // SAFETY: the module is built from the crate that has `Nearer`.
    /// let nearer = unsafe { module.comparison(Nearer { x: 0.0, y: 0.0 }) };
    /// let sorted = device.sort_by(&points, nearer)?;
    /// ```
    ///
    /// # Safety
    /// As for [`map_function`](Self::map_function).
    pub unsafe fn comparison<C: SortKernel>(&self, compare: C) -> ModuleFunction<C> {
        ModuleFunction::new(compare, self)
    }
}

impl Device {
    /// Returns the elements sorted by a comparison of a user's module, made by [`Module::comparison`]. Elements of which none
    /// is less keep their order.
    ///
    /// An element has 1 to 16 bytes. It is a merge sort: of the elements of a tile in shared memory (3840 of up to 4 bytes,
    /// 1792 of 16), and then of two, four, eight … tiles, each of which reads and writes everything. There can be any number
    /// of elements. The result is the same on every device. If the comparison is not a strict weak order, the result has all
    /// elements in some order. The workspace is one more copy of the elements and 16 bytes, and none for a single tile. There
    /// is the variant `best` alone. Keys that the library knows take less time by [`sort`](Self::sort). Queues the work and
    /// does not wait.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`](crate::Error::UnknownKernel) if the module does not contain the kernels;
    /// [`Error::Invalid`](crate::Error::Invalid) if they take other parameters there;
    /// [`Error::NotEligible`](crate::Error::NotEligible) for another variant;
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device, such as that of a comparison that panics.
    pub fn sort_by<'a, C: SortKernel<Item: Element>>(
        &self,
        values: impl Into<VectorView<'a, C::Item>>,
        compare: ModuleFunction<C>,
    ) -> Result<Vector<C::Item>> {
        self.sort_by_request(values, compare).run()
    }

    /// Makes a request of [`sort_by`](Self::sort_by), with options.
    pub fn sort_by_request<'a, C: SortKernel<Item: Element>>(
        &self,
        values: impl Into<VectorView<'a, C::Item>>,
        compare: ModuleFunction<C>,
    ) -> SortByRequest<'a, C> {
        let values = values.into();
        Request::new(self, SortBy { values, compare })
    }

    /// Sorts the elements where they are. Otherwise as [`sort_by`](Self::sort_by). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`sort_by`](Self::sort_by).
    pub fn sort_by_in_place<'a, C: SortKernel<Item: Element>>(
        &self,
        values: impl Into<VectorViewMut<'a, C::Item>>,
        compare: ModuleFunction<C>,
    ) -> Result<()> {
        self.sort_by_in_place_request(values, compare).run()
    }

    /// Makes a request of [`sort_by_in_place`](Self::sort_by_in_place), with options.
    pub fn sort_by_in_place_request<'a, C: SortKernel<Item: Element>>(
        &self,
        values: impl Into<VectorViewMut<'a, C::Item>>,
        compare: ModuleFunction<C>,
    ) -> SortByInPlaceRequest<'a, C> {
        let values = values.into();
        Request::new(self, SortByInPlace { values, compare })
    }
}

/// A sort by a comparison.
#[derive(Debug, Clone)]
pub struct SortBy<'a, C: SortKernel> {
    values: VectorView<'a, C::Item>,
    compare: ModuleFunction<C>,
}

/// A request of a sort by a comparison.
pub type SortByRequest<'a, C, D = New> = Request<SortBy<'a, C>, D>;
/// A sort by a comparison whose result has its memory.
pub type PreparedSortBy<'a, C, R = Vector<<C as cuda_std::merge::Compare>::Item>> =
    Prepared<SortBy<'a, C>, R>;

impl<C: SortKernel<Item: Element>, D: Destination<Vector<C::Item>>> SortByRequest<'_, C, D> {
    /// Sorts the elements and returns the result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::sort_by`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<C: SortKernel<Item: Element>> Operation for SortBy<'_, C> {
    type Output = Vector<C::Item>;

    fn name(&self) -> &'static str {
        "sort_by"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.values)?;
        sort(plan, &self.compare, input, Place::output(input.len()))?;
        Ok(Shape::Vector(input.len()))
    }
}

/// A sort by a comparison of elements where they are.
#[derive(Debug)]
pub struct SortByInPlace<'a, C: SortKernel> {
    values: VectorViewMut<'a, C::Item>,
    compare: ModuleFunction<C>,
}

/// A request of a sort by a comparison of elements where they are.
pub type SortByInPlaceRequest<'a, C, D = New> = Request<SortByInPlace<'a, C>, D>;
/// A sort by a comparison of elements where they are, in its prepared form.
pub type PreparedSortByInPlace<'a, C> = Prepared<SortByInPlace<'a, C>>;

impl<C: SortKernel<Item: Element>> SortByInPlaceRequest<'_, C> {
    /// Sorts the elements. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::sort_by_in_place`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<()> {
        self.prepare()?.made()
    }
}

impl<C: SortKernel<Item: Element>> Operation for SortByInPlace<'_, C> {
    type Output = ();

    fn name(&self) -> &'static str {
        "sort_by"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let values = plan.input(self.values.as_view())?;
        sort(plan, &self.compare, values, values)?;
        Ok(Shape::Nothing)
    }
}

/// Plans a sort of each tile, and a merge of neighbors for each doubling. `output` is `input`, or does not overlap it.
fn sort<C: SortKernel>(
    plan: &mut Plan<'_>,
    compare: &ModuleFunction<C>,
    input: Place<C::Item>,
    output: Place<C::Item>,
) -> Result<()> {
    require_best(plan, "elements are sorted by a user's comparison")?;
    let (compare, module) = compare.parts();
    for kernel in [C::SORT, C::MERGE] {
        module.require(kernel.descriptor(), plan.operation)?;
    }
    let (len, tile) = (input.len(), tile_len::<C::Item>());
    if len == 0 {
        return Ok(());
    }
    let rounds = len.div_ceil(tile).next_power_of_two().ilog2();
    let room = plan.room::<C::Item>(if rounds > 0 { len } else { 0 });
    let (config, control) = tiles::<C::Item>(plan, len, shared_bytes::<C::Item>())?;
    let mut run = 0;
    let mut source = input;
    for round in 0..=rounds {
        let target = if (rounds - round).is_multiple_of(2) {
            output
        } else {
            room
        };
        let kernel = if round == 0 { C::SORT } else { C::MERGE };
        let args = (Compared::by(compare), source, run, target, control);
        // SAFETY: source and target have as many elements. They do not overlap, or are the same array in the first round. The
        // runs are those that the round before sorted. The words are 0, and the kernels leave them 0.
        let launch = unsafe { plan.launch(kernel, config, args) };
        launch.module = Some(module.clone());
        run = if round == 0 { tile as u64 } else { 2 * run };
        source = target;
    }
    Ok(())
}
