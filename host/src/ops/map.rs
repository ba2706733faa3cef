//! Elementwise maps: a function of every element.

use std::fmt;

use cuda_std::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
    map::{MapFn, MapInput, MapKernel, Passed, chunk_len},
};
use warpwright_gpu::map::{
    FAMILY,
    policy::{BLOCK, BLOCKS_PER_MULTIPROCESSOR, CUTS, Cut, Policy},
};

pub use warpwright_gpu::map::{LibraryFn, Wave, functions::*};

use super::{Choice, ChosenBy, Strided, choose, grid_size, made::Made};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, Result},
    executor::{Launch, ordered},
    launch::RawArgs,
    module::Module,
};

/// A function that can be mapped: one of the library's, such as [`Sin`], or one of a user's module, by
/// [`Module::map_function`].
pub trait Function: Clone + sealed::Sealed {
    /// The function on the device.
    type Map: MapFn;

    #[doc(hidden)]
    fn map(&self) -> Self::Map;
    /// The kernels in the catalogue's order; none for a variant that was not compiled.
    #[doc(hidden)]
    fn kernels(&self) -> [Option<&'static KernelDescriptor>; FAMILY.variants.len()];
    #[doc(hidden)]
    fn module(&self) -> Option<&Module>;
    #[doc(hidden)]
    fn with_constants<R>(len: usize, launch: impl FnOnce(&[ConstantValues<'_>]) -> R) -> R;
}

mod sealed {
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

    fn kernels(&self) -> [Option<&'static KernelDescriptor>; FAMILY.variants.len()] {
        F::KERNELS.map(Some)
    }

    fn module(&self) -> Option<&Module> {
        None
    }

    fn with_constants<R>(len: usize, launch: impl FnOnce(&[ConstantValues<'_>]) -> R) -> R {
        <F as LibraryFn>::with_constants(len, launch)
    }
}

/// A function of a user's module, to map: what [`Module::map_function`] makes.
#[derive(Debug, Clone)]
pub struct ModuleFunction<F> {
    function: F,
    module: Module,
}

impl Module {
    /// `function`, whose kernel is in this module, for [`Device::map`] and the other maps.
    ///
    /// ```ignore
    /// // SAFETY: the module is built from the crate that has `Degrees`.
    /// let degrees = unsafe { module.map_function(Degrees { zero: 0.5 }) };
    /// let y = device.map(&x, degrees)?;
    /// ```
    ///
    /// # Safety
    /// What the module has under the kernel's name is that kernel: `cuda_builder` has made it from the source
    /// that this program has the function from. (A kernel that is not there, or takes other parameters, is an
    /// error of the map; another body cannot be told.)
    pub unsafe fn map_function<F: MapKernel>(&self, function: F) -> ModuleFunction<F> {
        ModuleFunction {
            function,
            module: self.clone(),
        }
    }
}

impl<F: MapKernel> Function for ModuleFunction<F> {
    type Map = F;

    fn map(&self) -> F {
        self.function
    }

    fn kernels(&self) -> [Option<&'static KernelDescriptor>; FAMILY.variants.len()] {
        let mut kernels = [None; FAMILY.variants.len()];
        kernels[FAMILY.variants.len() - 1] = Some(F::KERNEL);
        kernels
    }

    fn module(&self) -> Option<&Module> {
        Some(&self.module)
    }

    fn with_constants<R>(_: usize, launch: impl FnOnce(&[ConstantValues<'_>]) -> R) -> R {
        launch(&[])
    }
}

/// What `F` gives for an element.
type Out<F> = <<F as Function>::Map as MapFn>::Out;

impl Device {
    /// `function` of every element of `values`.
    ///
    /// Any length, also of a part of an array. The result does not depend on the variant or the device, but
    /// for the hardware's approximations: see [`cuda_std::float`] for the errors of the functions.
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
    /// [`Error::UnknownKernel`] if a user's module does not hold the function's kernel, [`Error::Invalid`] if
    /// the kernel takes other parameters there, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and what the device reports.
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

    /// [`map`](Self::map) with options.
    pub fn map_request<'a, T: Element + MapInput<First = T>, F: Function>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        function: F,
    ) -> MapRequest<'a, F>
    where
        F::Map: MapFn<In = T>,
    {
        let values = values.into();
        MapRequest::new(self, values.len(), [Some(values.into()), None], function)
    }

    /// `function` of every pair of elements of `a` and `b` at the same position; otherwise as
    /// [`map`](Self::map).
    ///
    /// # Errors
    /// As for [`map`](Self::map); [`Error::Invalid`] too if the lengths differ.
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

    /// [`map_pairs`](Self::map_pairs) with options.
    pub fn map_pairs_request<'a, A: Element, B: Element, F: Function>(
        &self,
        a: impl Into<VectorView<'a, A>>,
        b: impl Into<VectorView<'a, B>>,
        function: F,
    ) -> MapRequest<'a, F>
    where
        F::Map: MapFn<In = (A, B)>,
    {
        let a = a.into();
        let inputs = [Some(a.into()), Some(b.into().into())];
        MapRequest::new(self, a.len(), inputs, function)
    }

    /// `function` of every position from 0 to `len`; otherwise as [`map`](Self::map).
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

    /// [`map_positions`](Self::map_positions) with options.
    pub fn map_positions_request<F: Function>(
        &self,
        len: usize,
        function: F,
    ) -> MapRequest<'static, F>
    where
        F::Map: MapFn<In = ()>,
    {
        MapRequest::new(self, len, [None, None], function)
    }
}

/// An input, whatever its elements are.
#[derive(Debug, Clone, Copy)]
struct Input<'a> {
    address: u64,
    len: usize,
    device: &'a Device,
}

impl<'a, T: Element> From<VectorView<'a, T>> for Input<'a> {
    fn from(view: VectorView<'a, T>) -> Self {
        Self {
            address: view.address(),
            len: view.len(),
            device: view.device(),
        }
    }
}

/// A map that is to be done.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct MapRequest<'a, F: Function> {
    device: Device,
    len: usize,
    inputs: [Option<Input<'a>>; 2],
    function: F,
    variant: Option<String>,
    shape: Option<(u32, u32)>,
}

impl<'a, F: Function> MapRequest<'a, F> {
    fn new(device: &Device, len: usize, inputs: [Option<Input<'a>>; 2], function: F) -> Self {
        Self {
            device: device.clone(),
            len,
            inputs,
            function,
            variant: None,
            shape: None,
        }
    }

    /// Uses the variant called `name`: `direct`, `rolled` or `best`. A user's function has `best` alone.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Launches so many blocks of so many threads, in the place of what the library would choose. `direct`
    /// needs a thread per element; for the others any shape gives the same result.
    pub fn shape(mut self, blocks: u32, threads: u32) -> Self {
        self.shape = Some((blocks, threads));
        self
    }

    /// Does it.
    ///
    /// # Errors
    /// As for [`Device::map`]; [`Error::UnknownVariant`] and [`Error::NotEligible`] too, and
    /// [`Error::Invalid`] for a shape that the kernel cannot have.
    pub fn run(self) -> Result<Vector<Out<F>>>
    where
        Out<F>: Element,
    {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.into_output()
    }

    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn prepare(self) -> Result<PreparedMap<'a, F>>
    where
        Out<F>: Element,
    {
        let Self {
            device,
            len,
            inputs,
            function,
            variant,
            shape,
        } = self;
        for input in inputs.iter().flatten() {
            device.require_same("map", input.device)?;
            if input.len != len {
                return Err(Error::invalid(
                    "map",
                    "two arrays of the same length",
                    format!("{len} and {} elements", input.len),
                ));
            }
        }
        let choice = choose(&FAMILY, variant.as_deref())?;
        let kernel = function.kernels()[choice.index].ok_or_else(|| Error::NotEligible {
            family: FAMILY.name,
            variant: choice.variant(),
            reason: "a function of a user's module has a kernel for `best` alone".to_owned(),
        })?;
        if let Some(module) = function.module() {
            module.require(kernel, "map")?;
        }
        let config = match shape {
            _ if len == 0 => LaunchConfig::linear(0, 0),
            Some((blocks, threads)) => given_shape(choice, blocks, threads, len)?,
            None => {
                let threads = match function.module() {
                    // What `map_kernel!` compiles.
                    Some(_) => BLOCK,
                    None => device.policy::<Policy>(kernel, size_of::<Out<F>>()).block,
                };
                let tile = (threads, chunk_len::<F::Map>());
                own_shape(&device, choice, kernel, tile, len)?
            }
        };
        let output = Vector::uninit(&device, "map", len)?;
        Ok(PreparedMap {
            device,
            inputs,
            function,
            choice,
            kernel,
            config,
            output: Made::at("map", output),
        })
    }
}

/// The launch that the caller asks for, if the variant can do the work with it.
fn given_shape(choice: Choice, blocks: u32, threads: u32, len: usize) -> Result<LaunchConfig> {
    if blocks == 0 || threads == 0 || blocks > i32::MAX as u32 || threads as usize > BLOCK {
        return Err(Error::invalid(
            "map",
            format!("1 to {} blocks of 1 to {BLOCK} threads", i32::MAX),
            format!("{blocks} blocks of {threads} threads"),
        ));
    }
    let there = blocks as usize * threads as usize;
    if CUTS[choice.index] == Cut::PerThread && there < len {
        return Err(Error::NotEligible {
            family: FAMILY.name,
            variant: choice.variant(),
            reason: format!("it needs a thread for each of {len} elements, and this gives {there}"),
        });
    }
    Ok(LaunchConfig::linear(blocks, threads))
}

/// The launch for `len` elements, at least one. A block of `best` has so many threads, each of which takes so many
/// elements.
fn own_shape(
    device: &Device,
    choice: Choice,
    kernel: &'static KernelDescriptor,
    (threads, per_thread): (usize, usize),
    len: usize,
) -> Result<LaunchConfig> {
    let mut block = BLOCK;
    let blocks = match CUTS[choice.index] {
        Cut::PerThread => len.div_ceil(BLOCK),
        Cut::Strided => Strided {
            kernel,
            threads: BLOCK as u32,
            shared_bytes: 0,
            blocks_per_multiprocessor: BLOCKS_PER_MULTIPROCESSOR,
            least_per_block: BLOCK,
        }
        .blocks(device, "map", len)?,
        Cut::Tiled => {
            block = threads;
            len.div_ceil(block * per_thread)
        }
    };
    Ok(LaunchConfig::linear(
        grid_size(&FAMILY, choice, blocks)?,
        block as u32,
    ))
}

/// A map whose variant is chosen and whose result has its place.
pub struct PreparedMap<'a, F: Function> {
    device: Device,
    inputs: [Option<Input<'a>>; 2],
    function: F,
    choice: Choice,
    kernel: &'static KernelDescriptor,
    config: LaunchConfig,
    output: Made<Vector<Out<F>>>,
}

impl<F: Function> fmt::Debug for PreparedMap<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedMap")
            .field("kernel", &self.kernel.name)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl<F: Function> PreparedMap<'_, F>
where
    Out<F>: Element,
{
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes beside the result: none.
    pub fn workspace_bytes(&self) -> usize {
        0
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.output.by(|output| {
            let len = output.len();
            if len == 0 {
                return Ok(());
            }
            // One that is not there is done without, as this handle is.
            let owners = self
                .inputs
                .map(|input| input.map_or(&self.device, |input| input.device));
            let mut args = RawArgs::new();
            args.value(Passed::new(self.function.map()));
            for input in self.inputs {
                // A function that takes fewer inputs does not touch the others.
                let (address, len) = input.map_or((0, 0), |input| (input.address, input.len));
                args.view(address, len);
            }
            args.view(output.view_mut().address(), len);
            let params = args.pointers();
            F::with_constants(len, |constants| {
                let launch = Launch {
                    operation: "map",
                    kernel: self.kernel,
                    config: self.config,
                    params: &params,
                    module: self.function.module(),
                    constants,
                };
                ordered(&self.device.executor, &owners, || {
                    // SAFETY: the inputs that the function takes have `len` elements, as the output has, which
                    // is a new allocation; the kernel touches no other input.
                    unsafe { self.device.launch_tuned(&launch) }
                })
            })
        })
    }

    /// The result of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&Vector<Out<F>>> {
        self.output.get()
    }

    /// The result of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<Vector<Out<F>>> {
        self.output.take()
    }
}
