//! Launches: arguments that match the kernel's parameters, and their raw words.

use cuda_std::{
    Global, GlobalMut,
    kernel::{ByValue, Entry, Kernel, KernelDescriptor, LaunchConfig, Signature},
    tensor_map::TiledMatrix,
};

use crate::{
    backend::{Launch, Pointers, words_of},
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
    executor::ordered,
    matrix::{Matrix, MatrixView},
    module::Module,
};

/// What a place's offset is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Address 0: the offset is the address of a view's elements.
    Memory,
    /// The start of the output, which exists once the plan is made.
    Output,
    /// The start of the workspace, which exists once the plan is made.
    Workspace,
}

/// What a launch gathers from its arguments: the words of its raw parameters. Each parameter begins a new word.
///
/// The module is private and this name is not exported, which seals [`Arg`] and [`Args`]: no other crate can write the
/// signature of their method.
#[derive(Debug)]
#[doc(hidden)]
pub struct Gathered<'a> {
    pub(crate) words: Vec<u64>,
    pub(crate) owners: Vec<&'a Device>,
    /// The words that become addresses of places later, and the bases that they are relative to.
    pub(crate) places: Vec<(usize, Base)>,
    /// The words that become tensor maps of matrices in the output later, whose addresses are offsets.
    pub(crate) maps: Vec<(usize, TiledMatrix)>,
}

impl<'a> Gathered<'a> {
    pub(crate) fn of<P>(args: impl Args<'a, P>) -> Self {
        // Enough for most kernels, so that one allocation suffices.
        let mut gathered = Self {
            words: Vec::with_capacity(16),
            owners: Vec::new(),
            places: Vec::new(),
            maps: Vec::new(),
        };
        args.gather(&mut gathered);
        gathered
    }

    /// Adds a parameter that is passed by value.
    pub(crate) fn value<T: ByValue>(&mut self, value: T) {
        let start = self.words.len();
        self.words.resize(start + words_of(size_of::<T>()), 0);
        // SAFETY: the words just added are as large as the value. `T` may be less aligned than they are. If it needs more
        // alignment, the readers read without alignment.
        unsafe {
            self.words[start..]
                .as_mut_ptr()
                .cast::<T>()
                .write_unaligned(value)
        };
    }

    /// Adds a view: the address of its first element, and its length.
    pub(crate) fn view(&mut self, address: u64, len: usize) {
        self.words.extend([address, len as u64]);
    }
}

/// A host value that can be passed for a kernel's parameter of type `P`.
///
/// Other crates cannot implement this trait, because the gathered words reach the kernel unchecked.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a kernel's parameter of type `{P}`",
    note = "`Global<T>` takes `&Vector<T>`, `&Matrix<T>` or a view of one; `GlobalMut<T>` takes `&mut Vector<T>`, `&mut Matrix<T>` or a `VectorViewMut<T>`; a slice and a pointer take what the views do; a value takes itself"
)]
pub trait Arg<'a, P> {
    #[doc(hidden)]
    fn gather(self, to: &mut Gathered<'a>);
}

impl<P: ByValue> Arg<'_, P> for P {
    fn gather(self, to: &mut Gathered<'_>) {
        // A type of size 0 is no parameter in the PTX.
        if size_of::<P>() > 0 {
            to.value(self);
        }
    }
}

impl<'a, T: Element> Arg<'a, Global<T>> for VectorView<'a, T> {
    fn gather(self, to: &mut Gathered<'a>) {
        to.view(self.address(), self.len());
        to.owners.push(self.device());
    }
}

impl<'a, T: Element> Arg<'a, GlobalMut<T>> for VectorViewMut<'a, T> {
    fn gather(self, to: &mut Gathered<'a>) {
        to.view(self.address(), self.len());
        to.owners.push(self.device());
    }
}

impl<'a, T: Element> Arg<'a, *const T> for VectorView<'a, T> {
    fn gather(self, to: &mut Gathered<'a>) {
        to.value(self.address());
        to.owners.push(self.device());
    }
}

impl<'a, T: Element> Arg<'a, *mut T> for VectorViewMut<'a, T> {
    fn gather(self, to: &mut Gathered<'a>) {
        to.value(self.address());
        to.owners.push(self.device());
    }
}

/// A type that has a view is passed like its view.
macro_rules! by_its_view {
    ($($ty:ty: $view:ident, $($param:ty),*;)*) => { $($(
        impl<'a, T: Element> Arg<'a, $param> for $ty {
            fn gather(self, to: &mut Gathered<'a>) {
                Arg::<$param>::gather(self.$view(), to);
            }
        }
    )*)* };
}
by_its_view! {
    &'a Vector<T>: view, Global<T>, *const T;
    MatrixView<'a, T>: as_vector, Global<T>, *const T;
    &'a Matrix<T>: view, Global<T>, *const T;
    &'a mut Vector<T>: view_mut, GlobalMut<T>, *mut T;
    &'a mut Matrix<T>: as_vector_mut, GlobalMut<T>, *mut T;
}

/// A tuple of arguments for a kernel whose parameters are `P`. Other crates cannot implement this trait.
#[diagnostic::on_unimplemented(
    message = "these arguments do not fit the kernel",
    label = "the kernel's parameters are `{P}`",
    note = "given `{Self}`"
)]
pub trait Args<'a, P> {
    #[doc(hidden)]
    fn gather(self, to: &mut Gathered<'a>);
}

macro_rules! args {
    ($($arg:ident $param:ident $index:tt),*) => {
        impl<'a, $($param,)* $($arg: Arg<'a, $param>),*>
            Args<'a, ($($param,)*)> for ($($arg,)*)
        {
            #[allow(unused_variables)]
            fn gather(self, to: &mut Gathered<'a>) {
                $(self.$index.gather(to);)*
            }
        }
    };
}
args!();
args!(A P 0);
args!(A P 0, B Q 1);
args!(A P 0, B Q 1, C R 2);
args!(A P 0, B Q 1, C R 2, D S 3);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10, L O 11);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10, L O 11, M N 12);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10, L O 11, M N 12, AA PA 13);
args!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10, L O 11, M N 12, AA PA 13, AB PB 14);
args!(
    A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7, I X 8, J Y 9, K Z 10, L O 11, M N 12, AA PA 13, AB PB 14,
    AC PC 15
);

impl Device {
    /// Queues a launch of one of the library's kernels, ordered with the work of the handles that own its arrays.
    ///
    /// # Safety
    /// As for [`Executor::launch`](crate::executor::Executor::launch).
    pub(crate) unsafe fn queue<'a, P>(
        &self,
        operation: &'static str,
        kernel: Entry<P>,
        config: LaunchConfig,
        args: impl Args<'a, P>,
    ) -> Result<()> {
        let gathered = Gathered::of(args);
        // SAFETY: by the contract.
        unsafe { self.gathered(operation, kernel.descriptor(), None, config, &gathered) }
    }

    /// # Safety
    /// As for [`Executor::launch`](crate::executor::Executor::launch).
    unsafe fn gathered(
        &self,
        operation: &'static str,
        kernel: &KernelDescriptor,
        module: Option<&Module>,
        config: LaunchConfig,
        gathered: &Gathered<'_>,
    ) -> Result<()> {
        let owners = gathered.owners.iter().map(|owner| &owner.executor);
        let pointers = Pointers::new(kernel, &gathered.words);
        ordered(&self.executor, owners, || {
            let launch = Launch {
                operation,
                kernel,
                config,
                params: pointers.as_slice(),
                module,
                constants: &[],
            };
            // SAFETY: by the contract.
            unsafe { self.launch_tuned(&launch) }
        })
    }

    /// Launches the kernel `K` of `module` with `args`.
    ///
    /// Queues the launch and does not wait; reading a result waits for it. On the CPU executor it runs at once, lane by lane,
    /// with its accesses checked.
    ///
    /// ```ignore
    /// // SAFETY: both vectors have the same length, and the grid covers them.
    /// unsafe { device.launch::<Scale<f32>>(&module, LaunchConfig::linear(blocks, 256), (&x, &mut y, 2.0))? };
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownKernel`] if the module does not contain the kernel; [`Error::Invalid`] if the kernel's parameters in
    /// the module have other sizes than in this program, if there are more threads than its `launch_bounds` or less shared
    /// memory than its `dynamic_shared`, or if the grid is no multiple of its `cluster`; [`Error::DeviceMismatch`] if an
    /// argument is on another device; [`Error::Launch`] if the CPU executor finds a fault; [`Error::Driver`] if the driver
    /// refuses the launch.
    ///
    /// # Safety
    /// The caller must uphold the kernel's own `# Safety` section. The module must be built from the same source as this
    /// program's kernel.
    pub unsafe fn launch<'a, K: Kernel>(
        &self,
        module: &Module,
        config: LaunchConfig,
        args: impl Args<'a, <K as Signature>::Params>,
    ) -> Result<()> {
        const OPERATION: &str = "launch";
        let kernel = const { &K::DESCRIPTOR };
        module.require(kernel, OPERATION)?;
        if kernel.max_threads > 0 && config.threads() > u64::from(kernel.max_threads) {
            return Err(Error::invalid(
                InvalidKind::Launch,
                OPERATION,
                format!(
                    "at most {} threads per block for `{}`",
                    kernel.max_threads, kernel.name
                ),
                format!("{}", config.threads()),
            ));
        }
        let mut sizes = config.grid.iter().zip(kernel.cluster);
        if sizes.any(|(blocks, cluster)| !blocks.is_multiple_of(cluster)) {
            return Err(Error::invalid(
                InvalidKind::Launch,
                OPERATION,
                format!(
                    "a grid that is a multiple of {:?} blocks, the clusters of `{}`,",
                    kernel.cluster, kernel.name
                ),
                format!("{:?}", config.grid),
            ));
        }
        if (config.shared_bytes as usize) < kernel.dynamic_shared {
            return Err(Error::invalid(
                InvalidKind::Launch,
                OPERATION,
                format!(
                    "at least {} bytes of dynamic shared memory for `{}`",
                    kernel.dynamic_shared, kernel.name
                ),
                format!("{}", config.shared_bytes),
            ));
        }
        let gathered = Gathered::of(args);
        for owner in &gathered.owners {
            self.require_same(OPERATION, owner)?;
        }
        // SAFETY: the arguments have the types of the kernel's parameters and live as long as the call, and their memory
        // lives until the queued work is done. The caller guarantees the rest.
        unsafe { self.gathered(OPERATION, kernel, Some(module), config, &gathered) }
    }
}
