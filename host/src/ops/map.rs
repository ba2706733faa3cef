//! Elementwise maps: a function applied to every element.

use cuda_std::{
    kernel::{Entry, LaunchConfig},
    map::{First, MapFn, MapInput, MapKernel, Parameters, Passed, Second, chunk_len},
};
use warpwright_gpu::{
    Family,
    map::{
        FAMILY,
        policy::{BLOCK, BLOCKS_PER_MULTIPROCESSOR, Cut, Policy},
    },
};

pub use warpwright_gpu::map::{LibraryFn, Wave, functions::*};

pub use warpwright_gpu::map::Variant;

use super::{
    Strided,
    plan::{Constants, Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    module::Module,
};

/// A function that can be mapped: one of the library's, such as [`Sin`], or one of a user's module, made by
/// [`Module::map_function`].
pub trait Function: Clone + sealed::Sealed {
    /// The device type of the function.
    type Map: MapFn;

    #[doc(hidden)]
    fn map(&self) -> Self::Map;
    /// Returns the kernel of a variant, or `None` if it was not compiled.
    #[doc(hidden)]
    fn kernel(&self, variant: Variant) -> Option<Entry<Parameters<Self::Map>>>;
    #[doc(hidden)]
    fn module(&self) -> Option<&Module>;
    /// Returns the constants that a launch for `len` elements needs.
    #[doc(hidden)]
    fn constants(&self, len: usize) -> Option<Constants>;
}

pub(super) mod sealed {
    /// Keeps other crates from implementing [`Function`](super::Function), whose kernels are trusted.
    pub trait Sealed {}
    impl<F: super::LibraryFn> Sealed for F {}
    impl<F> Sealed for super::ModuleFunction<F> {}
}

impl<F: LibraryFn> Function for F {
    type Map = F;

    fn map(&self) -> F {
        *self
    }

    fn kernel(&self, variant: Variant) -> Option<Entry<Parameters<F>>> {
        Some(<F as LibraryFn>::kernel(variant))
    }

    fn module(&self) -> Option<&Module> {
        None
    }

    fn constants(&self, len: usize) -> Option<Constants> {
        Some(Box::new(move |launch| F::with_constants(len, launch)))
    }
}

/// A map function of a user's module, made by [`Module::map_function`].
#[derive(Debug, Clone)]
pub struct ModuleFunction<F> {
    function: F,
    module: Module,
}

impl Module {
    /// Makes a function for [`Device::map`] and the other maps of `function`, whose kernel is in this module.
    ///
    /// ```ignore
    /// // SAFETY: the module is built from the crate that has `Degrees`.
    /// let degrees = unsafe { module.map_function(Degrees { zero: 0.5 }) };
    /// let y = device.map(&x, degrees)?;
    /// ```
    ///
    /// # Safety
    /// If the module has a kernel of the function's name, `cuda_builder` must have built it from the same source as this
    /// program's function. A kernel that is missing or takes other parameters is an error of the map; a kernel with another
    /// body cannot be detected.
    pub unsafe fn map_function<F: MapKernel>(&self, function: F) -> ModuleFunction<F> {
        ModuleFunction::new(function, self)
    }
}

impl<F: Copy> ModuleFunction<F> {
    pub(super) fn new(function: F, module: &Module) -> Self {
        Self {
            function,
            module: module.clone(),
        }
    }

    pub(super) fn parts(&self) -> (F, &Module) {
        (self.function, &self.module)
    }
}

impl<F: MapKernel> Function for ModuleFunction<F> {
    type Map = F;

    fn map(&self) -> F {
        self.function
    }

    fn kernel(&self, variant: Variant) -> Option<Entry<Parameters<F>>> {
        (variant == Variant::Best).then_some(F::KERNEL)
    }

    fn module(&self) -> Option<&Module> {
        Some(&self.module)
    }

    fn constants(&self, _: usize) -> Option<Constants> {
        None
    }
}

/// The element type of the result of `F`.
type Out<F> = <<F as Function>::Map as MapFn>::Out;

impl Device {
    /// Applies `function` to every element of `values`.
    ///
    /// The input can have any length, and can be part of an array. The result does not depend on the variant or the device,
    /// except for approximations of the hardware: see [`cuda_std::float`] for the errors of the functions. Queues the work and
    /// does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::map::{Sin, Scale}};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let x = device.upload(&[0.0_f32, 1.0, 2.0])?;
    /// assert_eq!(device.map(&x, Scale { factor: 2.0, offset: 1.0 })?.to_vec()?, [1.0, 3.0, 5.0]);
    /// assert_eq!(device.map(&x, Sin)?.to_vec()?[0], 0.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownKernel`] if a user's module does not contain the function's kernel, [`Error::Invalid`] if the kernel
    /// takes other parameters there, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn map<'a, T: Element + MapInput<First = T>, F: Function>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        function: F,
    ) -> Result<Vector<Out<F>>>
    where
        F::Map: MapFn<In = T>,
        Out<F>: Element,
    {
        self.map_request(values, function).run()
    }

    /// Makes a request of [`map`](Self::map), with options.
    pub fn map_request<'a, T: Element + MapInput<First = T>, F: Function>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        function: F,
    ) -> MapRequest<'a, F>
    where
        F::Map: MapFn<In = T>,
    {
        let values = values.into();
        MapRequest::of(self, values.len(), input(values), None, function)
    }

    /// Applies `function` to every pair of elements of `a` and `b` at the same position. Otherwise as [`map`](Self::map).
    /// Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`map`](Self::map). Also [`Error::Invalid`] if the lengths differ.
    pub fn map_pairs<'a, A: Element, B: Element, F: Function>(
        &self,
        a: impl Into<VectorView<'a, A>>,
        b: impl Into<VectorView<'a, B>>,
        function: F,
    ) -> Result<Vector<Out<F>>>
    where
        F::Map: MapFn<In = (A, B)>,
        Out<F>: Element,
    {
        self.map_pairs_request(a, b, function).run()
    }

    /// Makes a request of [`map_pairs`](Self::map_pairs), with options.
    pub fn map_pairs_request<'a, A: Element, B: Element, F: Function>(
        &self,
        a: impl Into<VectorView<'a, A>>,
        b: impl Into<VectorView<'a, B>>,
        function: F,
    ) -> MapRequest<'a, F>
    where
        F::Map: MapFn<In = (A, B)>,
    {
        let (a, b) = (a.into(), b.into());
        MapRequest::of(self, a.len(), input(a), input(b), function)
    }

    /// Applies `function` to every position from 0 to `len - 1`. Otherwise as [`map`](Self::map). Queues the work and does not
    /// wait.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn map_positions<F: Function>(&self, len: usize, function: F) -> Result<Vector<Out<F>>>
    where
        F::Map: MapFn<In = ()>,
        Out<F>: Element,
    {
        self.map_positions_request(len, function).run()
    }

    /// Makes a request of [`map_positions`](Self::map_positions), with options.
    pub fn map_positions_request<F: Function>(
        &self,
        len: usize,
        function: F,
    ) -> MapRequest<'static, F>
    where
        F::Map: MapFn<In = ()>,
    {
        MapRequest::of(self, len, None, None, function)
    }
}

/// An input array of a function, and its handle.
pub(super) type Input<'a, T> = (Place<T>, &'a Device);

pub(super) fn input<T: Element>(view: VectorView<'_, T>) -> Option<Input<'_, T>> {
    Some((Place::of(view), view.device()))
}

/// Returns the elements, of which there must be `len`. An array that the function does not take is not accessed.
pub(super) fn planned<T>(
    input: Option<Input<'_, T>>,
    plan: &mut Plan<'_>,
    len: usize,
) -> Result<Place<T>> {
    let Some((elements, device)) = input else {
        return Ok(Place::none());
    };
    plan.uses(device)?;
    if elements.len() != len {
        return Err(Error::invalid(
            InvalidKind::Length,
            plan.operation,
            "two arrays of the same length",
            format!("{len} and {} elements", elements.len()),
        ));
    }
    Ok(elements)
}

/// A map of a function over arrays. It needs no workspace.
#[derive(Debug, Clone)]
pub struct Map<'a, F: Function> {
    len: usize,
    first: Option<Input<'a, First<F::Map>>>,
    second: Option<Input<'a, Second<F::Map>>>,
    function: F,
    shape: Option<(u32, u32)>,
}

/// A request of a map.
pub type MapRequest<'a, F, D = New> = Request<Map<'a, F>, D>;
/// A map whose variant is chosen and whose result has its memory.
pub type PreparedMap<'a, F, R = Vector<Out<F>>> = Prepared<Map<'a, F>, R>;

impl<'a, F: Function> MapRequest<'a, F> {
    fn of(
        device: &Device,
        len: usize,
        first: Option<Input<'a, First<F::Map>>>,
        second: Option<Input<'a, Second<F::Map>>>,
        function: F,
    ) -> Self {
        let map = Map {
            len,
            first,
            second,
            function,
            shape: None,
        };
        Self::new(device, map)
    }
}

impl<F: Function, D> MapRequest<'_, F, D> {
    /// Launches `blocks` blocks of `threads` threads each, instead of the library's choice. `direct` needs a thread per
    /// element. For the other variants every shape gives the same result.
    pub fn shape(mut self, blocks: u32, threads: u32) -> Self {
        self.op.shape = Some((blocks, threads));
        self
    }

    /// Computes the map and returns its result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::map`], and those of [`prepare`](Self::prepare). Also [`Error::Invalid`] for a shape that the kernel
    /// cannot have.
    pub fn run(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<Out<F>>>,
        Out<F>: Element,
    {
        self.prepare()?.made()
    }
}

impl<F: Function> Operation for Map<'_, F>
where
    Out<F>: Element,
{
    type Output = Vector<Out<F>>;

    fn name(&self) -> &'static str {
        FAMILY.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let len = self.len;
        let first = planned(self.first, plan, len)?;
        let second = planned(self.second, plan, len)?;
        let variant = Variant::ALL[plan.choice.index];
        let kernel = self.function.kernel(variant).ok_or_else(|| {
            plan.not_eligible(
                "a function of a user's module has a kernel for `best` alone".to_owned(),
            )
        })?;
        let module = self.function.module();
        if let Some(module) = module {
            module.require(kernel.descriptor(), plan.operation)?;
        }
        if len == 0 {
            return Ok(Shape::Vector(0));
        }
        let config = match self.shape {
            Some((blocks, threads)) => given_shape(plan, blocks, threads, len)?,
            None => {
                let threads = match module {
                    // The block size that `map_kernel!` compiles.
                    Some(_) => BLOCK,
                    None => plan.policy::<Policy, _>(kernel, size_of::<Out<F>>()).block,
                };
                let tile = (threads, chunk_len::<F::Map>());
                own_shape(plan, kernel, tile, len)?
            }
        };
        let function = Passed::new(self.function.map());
        let args = (function, first, second, Place::output(len));
        // SAFETY: the inputs that the function takes have `len` elements, as the output has, and no input overlaps the
        // output. The kernel does not access other inputs.
        let launch = unsafe { plan.launch(kernel, config, args) };
        launch.module = module.cloned();
        launch.constants = self.function.constants(len);
        Ok(Shape::Vector(len))
    }
}

/// Returns the launch that the caller asked for, if the variant can do the work with it.
fn given_shape(plan: &Plan<'_>, blocks: u32, threads: u32, len: usize) -> Result<LaunchConfig> {
    if blocks == 0 || threads == 0 || blocks > i32::MAX as u32 || threads as usize > BLOCK {
        return Err(Error::invalid(
            InvalidKind::Launch,
            plan.operation,
            format!("1 to {} blocks of 1 to {BLOCK} threads", i32::MAX),
            format!("{blocks} blocks of {threads} threads"),
        ));
    }
    let there = blocks as usize * threads as usize;
    if Variant::ALL[plan.choice.index].cut() == Cut::PerThread && there < len {
        return Err(plan.not_eligible(format!(
            "it needs a thread for each of {len} elements, and this gives {there}"
        )));
    }
    Ok(LaunchConfig::linear(blocks, threads))
}

/// Returns the launch for `len` elements, of which there is at least one. A block of `best` has `threads` threads, and each
/// takes `per_thread` elements.
fn own_shape<P>(
    plan: &Plan<'_>,
    kernel: Entry<P>,
    (threads, per_thread): (usize, usize),
    len: usize,
) -> Result<LaunchConfig> {
    let strided = Strided {
        kernel: kernel.descriptor(),
        threads: BLOCK as u32,
        shared_bytes: 0,
        blocks_per_multiprocessor: BLOCKS_PER_MULTIPROCESSOR,
        least_per_block: BLOCK,
    };
    match Variant::ALL[plan.choice.index].cut() {
        Cut::PerThread => plan.linear(len.div_ceil(BLOCK), BLOCK),
        Cut::Strided => plan.linear(strided.blocks(plan.device, plan.operation, len)?, BLOCK),
        Cut::Tiled => plan.linear(len.div_ceil(threads * per_thread), threads),
    }
}
