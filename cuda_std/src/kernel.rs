//! What the host knows of a kernel: its name, its launch bounds, its parameters and its CPU body.

use core::{ffi::c_void, fmt, marker::PhantomData};

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
    /// Those of a view or a slice: its first element's address, and its length.
    #[doc(hidden)]
    pub const VIEW: &'static [Self] = &[Self::of::<*mut u8>(), Self::of::<usize>()];

    const fn of<T>() -> Self {
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
        }
    }

    /// That of a value; none for a type of no size, which has no place in the PTX.
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

/// An instance of a kernel for one row of its table of numbers, for measurements: see `tuned` of
/// [`kernel`](macro@crate::kernel).
#[derive(Debug, Clone, Copy)]
pub struct TunedInstance {
    /// What the instance is for: its suffix, or the word that stands for it.
    pub key: &'static str,
    /// The row's position in the table.
    pub row: usize,
    /// The instance that ships.
    pub shipped: &'static KernelDescriptor,
    /// The one to launch in its place.
    pub instance: &'static KernelDescriptor,
}

/// A type that a launch may pass by value: plain data without padding surprises, at most 16-byte aligned (the PTX ABI
/// allows no more). A kernel's own parameter may be of any type that is `Copy`; to launch it takes this promise.
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
    u128,
    i128,
    usize,
    isize,
    f32,
    f64,
    half::f16,
    half::bf16
);

// SAFETY: an array of plain values is plain.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}

/// The raw parameters of a launch, which the CPU body of a kernel takes one after the other.
#[doc(hidden)]
pub struct __Reader<'a> {
    raw: core::slice::Iter<'a, *const c_void>,
}

/// Every method's contract: the next of the raw parameters is there, is readable, and is of this type; what it points to
/// is what the kernel's parameter of that type promises.
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
        // SAFETY: by the contract, a value of this type; one of no size is not passed.
        unsafe { raw.read_unaligned() }
    }

    pub unsafe fn value<T: Copy>(&mut self) -> T {
        // SAFETY: by the contract.
        unsafe { self.next() }
    }

    pub unsafe fn reference_mut<T>(&mut self) -> &'static mut T {
        // SAFETY: by the contract.
        unsafe { self.next() }
    }

    /// The start and the length of a view or a slice.
    pub unsafe fn parts<T>(&mut self) -> (*mut T, usize) {
        // SAFETY: by the contract.
        unsafe { (self.next(), self.next()) }
    }

    /// A slice; an empty one may have any start, which is no start of a slice in Rust.
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

/// Tells a view, a slice and a value apart where a type is known, whatever name it goes by: `#[kernel]` has the names.
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

/// The shape of every other type: a constant of the type itself comes before one of a trait.
#[doc(hidden)]
#[allow(missing_docs)]
pub trait __IsValue {
    const SHAPE: u8 = __Shape::<()>::VALUE;
}

impl<T> __IsValue for __Shape<T> {}

/// A kernel's parameters and its body; `#[kernel]` implements it.
///
/// # Safety
/// `Params` and `RAW` are those of the kernel's function, in the program and in the PTX; `call` runs the kernel's body with
/// them, and asks for nothing but what the kernel's own `# Safety` section asks for.
pub unsafe trait Signature {
    /// What a launch passes, as a tuple: a view for a slice, a pointer for a reference, and the parameter's own type for
    /// everything else.
    type Params;
    /// The raw parameters of every parameter.
    const RAW: &'static [&'static [RawParam]];

    /// Runs the body as one lane of the CPU executor.
    ///
    /// # Safety
    /// `raw` has one pointer per raw parameter, each to a readable value of its size; and the kernel's own contract.
    unsafe fn call(raw: &[*const c_void]);
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
        Self {
            name,
            max_threads,
            min_blocks,
            dynamic_shared,
            param_names,
            params: K::RAW,
            cpu: K::call,
        }
    }

    /// How many raw parameters the launch call takes.
    pub fn raw_params(&self) -> usize {
        self.params.iter().map(|raw| raw.len()).sum()
    }
}

/// A kernel whose parameters are `P`, as [`Signature::Params`] has them: its descriptor, with the types of what a launch
/// passes. Kernels that differ in all else fit one table of these.
pub struct Entry<P> {
    descriptor: &'static KernelDescriptor,
    parameters: PhantomData<fn(P)>,
}

/// The [`Entry`] of kernels with the parameters of `K`.
pub type EntryOf<K> = Entry<<K as Signature>::Params>;

impl<P> Entry<P> {
    /// That of `K`.
    pub const fn of<K: Kernel<Params = P>>() -> Self {
        Self {
            descriptor: const { &K::DESCRIPTOR },
            parameters: PhantomData,
        }
    }

    /// The kernel, with its types erased.
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
