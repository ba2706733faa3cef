//! What the host knows of a kernel: its name, its launch bounds, its parameters and its CPU body.

use core::ffi::c_void;

use crate::view::{Global, GlobalMut};

/// One raw parameter, as the launch call takes it: a view is two of these (pointer, length).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawParam {
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

impl RawParam {
    const fn of<T>() -> Self {
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
        }
    }
}

/// A type that may be a kernel's parameter by value: plain data without padding surprises, at most
/// 16-byte aligned (the PTX ABI allows no more).
///
/// # Safety
/// The type is `#[repr(C)]` or a primitive, holds no references to host memory, and means the same on
/// the host and on the device.
pub unsafe trait ByValue: Copy + 'static {}

macro_rules! by_value {
    ($($ty:ty),*) => { $(
        // SAFETY: a primitive has one layout everywhere.
        unsafe impl ByValue for $ty {}
    )* };
}
by_value!(
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    usize,
    isize,
    f32,
    f64,
    half::f16,
    half::bf16
);

// SAFETY: an array of plain values is plain.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}

mod sealed {
    /// Keeps other crates from implementing [`Param`](super::Param).
    pub trait Param {}
    /// Keeps other crates from implementing [`Params`](super::Params), for a `ByValue` type too.
    pub trait Params {}
}

/// A parameter of a kernel: a view, or a value that is [`ByValue`].
///
/// The trait is sealed: a launch lays its arguments out as `RAW` says, unchecked. A type of one's own becomes a
/// parameter by [`ByValue`], which is `unsafe` to implement.
pub trait Param: Copy + sealed::Param {
    /// The raw parameters that it is passed as.
    const RAW: &'static [RawParam];

    /// Reads the parameter from pointers to its raw parameters.
    ///
    /// # Safety
    /// `raw` has `Self::RAW.len()` pointers, each to a readable value of the size given there.
    unsafe fn read(raw: &[*const c_void]) -> Self;
}

impl<T: ByValue> sealed::Param for T {}

impl<T: ByValue> Param for T {
    const RAW: &'static [RawParam] = &[RawParam::of::<T>()];

    unsafe fn read(raw: &[*const c_void]) -> Self {
        // SAFETY: by the contract, the pointer is to a readable value of this type's size.
        unsafe { raw[0].cast::<T>().read_unaligned() }
    }
}

macro_rules! view_param {
    ($view:ident) => {
        impl<T: Copy> sealed::Param for $view<T> {}

        impl<T: Copy> Param for $view<T> {
            const RAW: &'static [RawParam] = &[RawParam::of::<*mut T>(), RawParam::of::<usize>()];

            unsafe fn read(raw: &[*const c_void]) -> Self {
                // SAFETY: by the contract, a pointer and a length, which the launch vouches for.
                unsafe {
                    Self::from_raw_parts(
                        raw[0].cast::<*mut T>().read_unaligned(),
                        raw[1].cast::<usize>().read_unaligned(),
                    )
                }
            }
        }
    };
}
view_param!(Global);
view_param!(GlobalMut);

/// The parameters of a kernel, as a tuple. Sealed, for the same reason as [`Param`].
pub trait Params: Copy + sealed::Params {
    /// The raw parameters of every member.
    const RAW: &'static [&'static [RawParam]];

    /// Reads all members, in order.
    ///
    /// # Safety
    /// `raw` has one pointer per raw parameter, each to a readable value of its size.
    unsafe fn read(raw: &[*const c_void]) -> Self;
}

macro_rules! params {
    ($($name:ident),*) => {
        impl<$($name: Param),*> sealed::Params for ($($name,)*) {}

        impl<$($name: Param),*> Params for ($($name,)*) {
            const RAW: &'static [&'static [RawParam]] = &[$($name::RAW),*];

            #[allow(unused_variables, unused_mut, unused_assignments, clippy::unused_unit)]
            unsafe fn read(raw: &[*const c_void]) -> Self {
                let mut next = 0;
                ($({
                    let first = next;
                    next += $name::RAW.len();
                    // SAFETY: the caller gave one pointer per raw parameter, in this order.
                    unsafe { $name::read(&raw[first..next]) }
                },)*)
            }
        }
    };
}
params!();
params!(A);
params!(A, B);
params!(A, B, C);
params!(A, B, C, D);
params!(A, B, C, D, E);
params!(A, B, C, D, E, F);
params!(A, B, C, D, E, F, G);
params!(A, B, C, D, E, F, G, H);
params!(A, B, C, D, E, F, G, H, I);
params!(A, B, C, D, E, F, G, H, I, J);
params!(A, B, C, D, E, F, G, H, I, J, K);
params!(A, B, C, D, E, F, G, H, I, J, K, L);
params!(A, B, C, D, E, F, G, H, I, J, K, L, M);
params!(A, B, C, D, E, F, G, H, I, J, K, L, M, N);
params!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O);
params!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);

/// A kernel's parameters and its body; `#[kernel]` implements it.
///
/// # Safety
/// `Params` are the types of the kernel's parameters in their order, in the program and in the PTX; `call` runs the
/// kernel's body with them, and asks for nothing but what the kernel's own `# Safety` section asks for.
pub unsafe trait Signature {
    /// The types of the parameters.
    type Params: Params;

    /// Runs the body as one lane of the CPU executor.
    ///
    /// # Safety
    /// The kernel's own contract.
    unsafe fn call(params: Self::Params);
}

/// A kernel that can be launched: one instance of a `#[kernel]` function. `#[kernel]` implements it.
///
/// # Safety
/// `DESCRIPTOR` describes this kernel: launches take the entry of that name from the PTX and the CPU body, and pass them
/// the parameters of [`Signature::Params`], unchecked.
pub unsafe trait Kernel: Signature {
    /// Everything that an executor needs.
    const DESCRIPTOR: KernelDescriptor;
}

/// The CPU body: takes the same array of pointers as the driver's launch call.
pub type CpuEntry = unsafe fn(&[*const c_void]);

/// A kernel, with its types erased: what an executor launches.
#[derive(Debug, Clone, Copy)]
pub struct KernelDescriptor {
    /// Name of the entry in the PTX module.
    pub name: &'static str,
    /// Most threads a block may have, by the kernel's launch bounds; 0 where it has none.
    pub max_threads: u32,
    /// Blocks per multiprocessor that the launch bounds ask for; 0 where they do not.
    pub min_blocks: u32,
    /// Bytes of dynamic shared memory that a launch has to give at least, by the kernel's
    /// `dynamic_shared`; 0 where it has none.
    pub dynamic_shared: usize,
    /// The names of the parameters, as written.
    pub param_names: &'static [&'static str],
    /// The raw parameters of each parameter.
    pub params: &'static [&'static [RawParam]],
    /// The body for the CPU executor.
    pub cpu: CpuEntry,
}

impl KernelDescriptor {
    /// The descriptor of `K`; `#[kernel]` calls it.
    #[doc(hidden)]
    pub const fn new<K: Signature>(
        name: &'static str,
        max_threads: u32,
        min_blocks: u32,
        dynamic_shared: usize,
        param_names: &'static [&'static str],
    ) -> Self {
        unsafe fn entry<K: Signature>(raw: &[*const c_void]) {
            // SAFETY: the launch vouches for the parameters and for the kernel's contract.
            unsafe { K::call(<K::Params as Params>::read(raw)) }
        }
        Self {
            name,
            max_threads,
            min_blocks,
            dynamic_shared,
            param_names,
            params: <K::Params as Params>::RAW,
            cpu: entry::<K>,
        }
    }

    /// How many raw parameters the launch call takes.
    pub fn raw_params(&self) -> usize {
        self.params.iter().map(|raw| raw.len()).sum()
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// A one-dimensional launch without dynamic shared memory.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
        }
    }

    /// The same launch with `bytes` of dynamic shared memory per block.
    pub const fn with_shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Threads in a block; `u64::MAX` where they are more than that.
    pub const fn threads(&self) -> u64 {
        product(self.block)
    }

    /// The index of the block with this number in the grid, x fastest.
    #[doc(hidden)]
    pub const fn block_at(&self, linear: u64) -> [u32; 3] {
        let (x, y) = (self.grid[0] as u64, self.grid[1] as u64);
        [
            (linear % x) as u32,
            (linear / x % y) as u32,
            (linear / (x * y)) as u32,
        ]
    }

    /// The index of the thread with this number in its block, x fastest.
    #[doc(hidden)]
    pub const fn lane_at(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// Blocks in the grid; `u64::MAX` where they are more than that.
    pub const fn blocks(&self) -> u64 {
        product(self.grid)
    }
}

/// The product of three numbers, `u64::MAX` where it is more than that.
const fn product([x, y, z]: [u32; 3]) -> u64 {
    (x as u64 * y as u64).saturating_mul(z as u64)
}
