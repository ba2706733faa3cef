//! Descriptions of kernels for the host: name, launch bounds, parameters and CPU body.

use core::{ffi::c_void, fmt, marker::PhantomData};

use crate::view::{Global, GlobalMut};

/// One raw parameter of a launch. A view is two raw parameters (pointer, length).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawParam {
    /// The size in bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

impl RawParam {
    /// The raw parameters of a view or a slice: the address of its first element, and its length.
    #[doc(hidden)]
    pub const VIEW: &'static [Self] = &[Self::of::<*mut u8>(), Self::of::<usize>()];

    const fn of<T>() -> Self {
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
        }
    }

    /// Returns the raw parameter of a value. A type of size 0 has none, because it has no place in the PTX.
    #[doc(hidden)]
    pub const fn value<T>() -> &'static [Self] {
        const {
            assert!(
                align_of::<T>() <= 16,
                "a kernel's parameter may be aligned to 16 bytes at most"
            );
            match size_of::<T>() {
                0 => &[],
                _ => &[Self::of::<T>()],
            }
        }
    }
}

/// An instance of a kernel for one policy row, for measurements: see `tuned` of [`kernel`](macro@crate::kernel).
#[derive(Debug, Clone, Copy)]
pub struct TunedInstance {
    /// The instance's suffix, or the word that stands for it.
    pub key: &'static str,
    /// The index of the row in the table.
    pub row: usize,
    /// The instance that ships.
    pub shipped: &'static KernelDescriptor,
    /// The instance to launch instead.
    pub instance: &'static KernelDescriptor,
}

/// A type that a launch can pass by value: plain data, aligned to at most 16 bytes (the PTX ABI allows no more). A kernel's
/// own parameter can be of any type that is `Copy`, but a launch requires this trait.
///
/// # Safety
/// The type must be `#[repr(C)]` or a primitive, must hold no references to host memory, and must mean the same on the host
/// and on the device.
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
    u128,
    i128,
    usize,
    isize,
    f32,
    f64,
    half::f16,
    half::bf16,
    float8::F8E4M3,
    float8::F8E5M2
);

// SAFETY: an array of plain values is plain.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}

/// The raw parameters of a launch. The CPU body of a kernel reads them one after the other.
#[doc(hidden)]
pub struct __Reader<'a> {
    raw: core::slice::Iter<'a, *const c_void>,
}

/// Contract of every method: the next raw parameter must exist, be readable, and be of this type. What it points to must
/// satisfy the contract of the kernel's parameter of that type.
#[allow(clippy::missing_safety_doc, missing_docs)]
impl<'a> __Reader<'a> {
    pub fn new(raw: &'a [*const c_void]) -> Self {
        Self { raw: raw.iter() }
    }

    unsafe fn next<T>(&mut self) -> T {
        let raw = if size_of::<T>() == 0 {
            core::ptr::dangling()
        } else {
            self.raw
                .next()
                .map_or(core::ptr::null(), |raw| raw.cast::<T>())
        };
        // SAFETY: by the contract, there is a value of this type; a type of size 0 is not passed.
        unsafe { raw.read_unaligned() }
    }

    pub unsafe fn value<T: Copy>(&mut self) -> T {
        // SAFETY: by the contract.
        unsafe { self.next() }
    }

    /// Returns the address of the next raw parameter.
    pub unsafe fn place<T>(&mut self) -> *const T {
        self.raw
            .next()
            .map_or(core::ptr::null(), |raw| raw.cast::<T>())
    }

    pub unsafe fn reference_mut<T>(&mut self) -> &'static mut T {
        // SAFETY: by the contract.
        unsafe { self.next() }
    }

    /// Reads the start and the length of a view or a slice.
    pub unsafe fn parts<T>(&mut self) -> (*mut T, usize) {
        // SAFETY: by the contract.
        unsafe { (self.next(), self.next()) }
    }

    /// Reads a slice. An empty one can have any start address, which Rust does not allow for a slice.
    pub unsafe fn slice<T>(&mut self) -> &'static [T] {
        // SAFETY: by the contract.
        let (start, len) = unsafe { self.parts::<T>() };
        if len == 0 {
            return &[];
        }
        // SAFETY: by the contract.
        unsafe { core::slice::from_raw_parts(start, len) }
    }

    pub unsafe fn slice_mut<T>(&mut self) -> &'static mut [T] {
        // SAFETY: by the contract.
        let (start, len) = unsafe { self.parts::<T>() };
        if len == 0 {
            return &mut [];
        }
        // SAFETY: by the contract.
        unsafe { core::slice::from_raw_parts_mut(start, len) }
    }
}

/// Distinguishes views, slices and values by type, because `#[kernel]` sees only the names of types.
#[doc(hidden)]
pub struct __Shape<T: ?Sized>(core::marker::PhantomData<T>);

#[allow(missing_docs)]
impl __Shape<()> {
    pub const VALUE: u8 = 0;
    pub const VIEW: u8 = 1;
    pub const SLICE: u8 = 2;
}

macro_rules! shapes {
    ($($ty:ty: $shape:ident;)*) => { $(
        #[allow(missing_docs)]
        impl<T> __Shape<$ty> {
            pub const SHAPE: u8 = __Shape::<()>::$shape;
        }
    )* };
}
shapes! {
    Global<T>: VIEW;
    GlobalMut<T>: VIEW;
    &'static [T]: SLICE;
    &'static mut [T]: SLICE;
    *const [T]: SLICE;
    *mut [T]: SLICE;
}

impl __Shape<&'static str> {
    #[allow(missing_docs)]
    pub const SHAPE: u8 = __Shape::<()>::SLICE;
}

/// The shape of every other type: an associated constant of the type itself takes precedence over one of a trait.
#[doc(hidden)]
#[allow(missing_docs)]
pub trait __IsValue {
    const SHAPE: u8 = __Shape::<()>::VALUE;
}

impl<T> __IsValue for __Shape<T> {}

/// A kernel's parameters and body. `#[kernel]` implements it.
///
/// # Safety
/// `Params` and `RAW` must be those of the kernel's function, in the program and in the PTX. `call` must run the kernel's
/// body with them, and must require only the kernel's own `# Safety` section.
pub unsafe trait Signature {
    /// The tuple that a launch passes: a view for a slice, a pointer for a reference, and the parameter's own type for
    /// everything else.
    type Params;
    /// The raw parameters of each parameter.
    const RAW: &'static [&'static [RawParam]];

    /// Runs the body as one lane of the CPU executor.
    ///
    /// # Safety
    /// `raw` must have one pointer per raw parameter, each to a readable value of its size. The kernel's own contract must
    /// hold.
    unsafe fn call(raw: &[*const c_void]);
}

/// A kernel that can be launched: one instance of a `#[kernel]` function. `#[kernel]` implements it.
///
/// # Safety
/// `DESCRIPTOR` must describe this kernel: launches use the entry of that name in the PTX and the CPU body, and pass them
/// the parameters of [`Signature::Params`] unchecked.
pub unsafe trait Kernel: Signature {
    /// The kernel's descriptor, which has everything that an executor needs.
    const DESCRIPTOR: KernelDescriptor;
}

/// The CPU body of a kernel, which takes the same array of pointers as the driver's launch call.
pub type CpuEntry = unsafe fn(&[*const c_void]);

/// A kernel with its types erased, as an executor launches it.
#[derive(Debug, Clone, Copy)]
pub struct KernelDescriptor {
    /// The name of the entry in the PTX module.
    pub name: &'static str,
    /// The most threads that a block can have, by the kernel's launch bounds. 0 if it has none.
    pub max_threads: u32,
    /// The blocks per multiprocessor that the launch bounds ask for. 0 if they do not.
    pub min_blocks: u32,
    /// The blocks of a cluster along x, y and z, by the kernel's `cluster`. 1 each if it has none.
    pub cluster: [u32; 3],
    /// The least dynamic shared memory of a launch in bytes, by the kernel's `dynamic_shared`. 0 if it has none.
    pub dynamic_shared: usize,
    /// The names of the parameters, as written.
    pub param_names: &'static [&'static str],
    /// The raw parameters of each parameter.
    pub params: &'static [&'static [RawParam]],
    /// The body for the CPU executor.
    pub cpu: CpuEntry,
}

impl KernelDescriptor {
    /// Makes the descriptor of `K`. `#[kernel]` calls it.
    #[doc(hidden)]
    pub const fn new<K: Signature>(
        name: &'static str,
        [max_threads, min_blocks, x, y, z]: [u32; 5],
        dynamic_shared: usize,
        param_names: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            max_threads,
            min_blocks,
            cluster: [x, y, z],
            dynamic_shared,
            param_names,
            params: K::RAW,
            cpu: K::call,
        }
    }

    /// Returns the number of blocks of a cluster.
    pub const fn blocks_per_cluster(&self) -> u32 {
        let [x, y, z] = self.cluster;
        x.saturating_mul(y).saturating_mul(z)
    }

    /// Returns the number of raw parameters of the launch call.
    pub fn raw_params(&self) -> usize {
        self.params.iter().map(|raw| raw.len()).sum()
    }
}

/// A descriptor of a kernel whose parameters are `P`, as in [`Signature::Params`]. Kernels with the same parameters fit one
/// table of entries.
pub struct Entry<P> {
    descriptor: &'static KernelDescriptor,
    parameters: PhantomData<fn(P)>,
}

/// The [`Entry`] of kernels with the parameters of `K`.
pub type EntryOf<K> = Entry<<K as Signature>::Params>;

impl<P> Entry<P> {
    /// Returns the entry of `K`.
    pub const fn of<K: Kernel<Params = P>>() -> Self {
        Self {
            descriptor: const { &K::DESCRIPTOR },
            parameters: PhantomData,
        }
    }

    /// Returns the kernel's descriptor.
    pub const fn descriptor(self) -> &'static KernelDescriptor {
        self.descriptor
    }
}

impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Entry<P> {}

impl<P> fmt::Debug for Entry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.descriptor.name).finish()
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block along x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Makes a one-dimensional launch without dynamic shared memory.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
        }
    }

    /// Sets the dynamic shared memory per block to `bytes` bytes.
    pub const fn with_shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Returns the number of threads per block, or `u64::MAX` if it does not fit.
    pub const fn threads(&self) -> u64 {
        product(self.block)
    }

    /// Returns the index in the grid of the block with this linear number, x fastest.
    #[doc(hidden)]
    pub const fn block_at(&self, linear: u64) -> [u32; 3] {
        let (x, y) = (self.grid[0] as u64, self.grid[1] as u64);
        [
            (linear % x) as u32,
            (linear / x % y) as u32,
            (linear / (x * y)) as u32,
        ]
    }

    /// Returns the linear number of a block by its rank in a cluster, whose number is `cluster`: x fastest, both. The grid is a
    /// multiple of the clusters' size.
    #[doc(hidden)]
    pub const fn block_of_cluster(&self, size: [u32; 3], cluster: u64, rank: u32) -> u64 {
        let [x, y, z] = [size[0] as u64, size[1] as u64, size[2] as u64];
        let [columns, rows] = [self.grid[0] as u64, self.grid[1] as u64];
        let (across, down) = (columns / x, rows / y);
        let rank = rank as u64;
        let column = cluster % across * x + rank % x;
        let row = cluster / across % down * y + rank / x % y;
        let layer = cluster / (across * down) * z + rank / (x * y);
        (layer * rows + row) * columns + column
    }

    /// Returns the index in its block of the thread with this linear number, x fastest.
    #[doc(hidden)]
    pub const fn lane_at(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// Returns the number of blocks in the grid, or `u64::MAX` if it does not fit.
    pub const fn blocks(&self) -> u64 {
        product(self.grid)
    }
}

/// Returns the product of three numbers, or `u64::MAX` if it does not fit.
const fn product([x, y, z]: [u32; 3]) -> u64 {
    (x as u64 * y as u64).saturating_mul(z as u64)
}
