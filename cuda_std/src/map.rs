//! Elementwise maps: user-defined functions over arrays, at the speed of memory.
//!
//! A function is a type that implements [`MapFn`]; its parameters are its fields. [`map_kernel!`](crate::map_kernel!) makes
//! a kernel of it, and `Device::map` of the library `warpwright` launches the kernel:
//!
//! ```
//! use cuda_std::{GpuFloat, map::MapFn};
//!
//! /// Degrees of an angle in radians, relative to a given zero.
//! #[repr(C)]
//! #[derive(Clone, Copy)]
//! pub struct Degrees {
//!     pub zero: f32,
//! }
//!
//! // SAFETY: one plain number.
//! unsafe impl MapFn for Degrees {
//!     type In = f32;
//!     type Out = f32;
//!
//!     fn call(self, _index: usize, radians: f32) -> f32 {
//!         (radians - self.zero).to_degrees()
//!     }
//! }
//!
//! cuda_std::map_kernel!(degrees: Degrees);
//! ```
//!
//! A function of two arrays takes a pair, and a function of positions takes `()`.

use crate::{Global, GlobalMut, thread};

/// A function that a map applies to every element.
///
/// # Safety
/// The type must be `#[repr(C)]` or have no fields. It must hold plain numbers and no references to host memory, and must
/// mean the same on the host and on the device.
pub unsafe trait MapFn: Copy + 'static {
    /// The type of the input: a number, a pair of numbers for two arrays, or `()` for the position only.
    type In: MapInput;
    /// The type of the result.
    type Out: Copy + 'static;

    /// Returns the result for the elements at position `index`.
    fn call(self, index: usize, x: Self::In) -> Self::Out;

    /// Returns the results for `N` consecutive positions, at most 16, from `index` on. A function that computes several
    /// results faster than one by one overrides this; the results must be the same.
    #[inline(always)]
    fn call_chunk<const N: usize>(self, index: usize, x: [Self::In; N]) -> [Self::Out; N] {
        written_out(|i| self.call(index + i, x[i]))
    }
}

/// The input of a [`MapFn`] for one position: `()`, an element, or a pair of elements.
///
/// # Safety
/// `join` must call `first` only if `ARRAYS` is 1 or 2, and `second` only if it is 2: otherwise there are no elements.
pub unsafe trait MapInput: Copy + 'static {
    /// The element type of the first array. Any type if there is none.
    type First: Copy + 'static;
    /// The element type of the second array. Any type if there is none.
    type Second: Copy + 'static;
    /// The number of arrays.
    const ARRAYS: usize;

    /// Makes the input for one position.
    fn join(first: impl FnOnce() -> Self::First, second: impl FnOnce() -> Self::Second) -> Self;
}

// SAFETY: `join` calls neither.
unsafe impl MapInput for () {
    type First = u8;
    type Second = u8;
    const ARRAYS: usize = 0;

    #[inline(always)]
    fn join(_: impl FnOnce() -> u8, _: impl FnOnce() -> u8) -> Self {}
}

macro_rules! single_inputs {
    ($($ty:ty),*) => { $(
        // SAFETY: `join` calls only the first.
        unsafe impl MapInput for $ty {
            type First = Self;
            type Second = u8;
            const ARRAYS: usize = 1;

            #[inline(always)]
            fn join(first: impl FnOnce() -> Self, _: impl FnOnce() -> u8) -> Self {
                first()
            }
        }
    )* };
}
single_inputs!(
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    f32,
    f64,
    half::f16,
    half::bf16
);

// SAFETY: there are two arrays.
unsafe impl<A: Copy + 'static, B: Copy + 'static> MapInput for (A, B) {
    type First = A;
    type Second = B;
    const ARRAYS: usize = 2;

    #[inline(always)]
    fn join(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> Self {
        (first(), second())
    }
}

/// The element type of the first array of `F`.
pub type First<F> = <<F as MapFn>::In as MapInput>::First;
/// The element type of the second array of `F`.
pub type Second<F> = <<F as MapFn>::In as MapInput>::Second;

/// A function as a kernel's parameter. A parameter must have a size, and a function without fields has none.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Passed<F> {
    function: F,
    unused: u8,
}

impl<F> Passed<F> {
    /// Wraps a function.
    pub const fn new(function: F) -> Self {
        Self {
            function,
            unused: 0,
        }
    }
}

impl<F: MapFn> Passed<F> {
    /// Returns the function.
    #[inline(always)]
    pub(crate) fn function(self) -> F {
        self.function
    }

    /// Calls the function for an element of the first array and one of the second.
    ///
    /// # Safety
    /// `second` is an element if the function has a second array.
    #[inline(always)]
    pub(crate) unsafe fn call_joined(
        self,
        index: usize,
        first: First<F>,
        second: Option<Second<F>>,
    ) -> F::Out {
        // SAFETY: `join` asks for the second element only if there is a second array.
        let x = F::In::join(|| first, || unsafe { second.unwrap_unchecked() });
        self.function.call(index, x)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: plain numbers in C's layout, by the contract of `MapFn`.
unsafe impl<F: MapFn> crate::kernel::ByValue for Passed<F> {}

/// A function with a kernel of its own. [`map_kernel!`](crate::map_kernel!) implements it.
///
/// # Safety
/// The kernel must write the results within their bounds. It must read only as many elements of the arrays that the
/// function takes, and none of the others.
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait MapKernel: MapFn {
    /// The kernel.
    const KERNEL: crate::kernel::Entry<Parameters<Self>>;
}

/// The parameters of a map's kernel: the function, the arrays that it takes, and the results.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<F> = (
    Passed<F>,
    Global<First<F>>,
    Global<Second<F>>,
    GlobalMut<<F as MapFn>::Out>,
);

/// The number of threads per block of a kernel that calls [`map_wide`].
pub const BLOCK: usize = 256;

/// Returns the function's result for position `i`.
#[inline(always)]
#[track_caller]
pub fn apply<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    i: usize,
) -> F::Out {
    let [x] = inputs::<F, 1>(load::<F, 1>(first, second, i));
    function.function.call(i, x)
}

/// Returns the number of elements that a thread moves at once: as many as make 16 bytes of the largest of the types.
pub const fn chunk_len<F: MapFn>() -> usize {
    const fn larger(a: usize, b: usize) -> usize {
        if a > b { a } else { b }
    }
    let mut bytes = size_of::<F::Out>();
    if F::In::ARRAYS > 0 {
        bytes = larger(bytes, size_of::<First<F>>());
    }
    if F::In::ARRAYS > 1 {
        bytes = larger(bytes, size_of::<Second<F>>());
    }
    match bytes {
        1 => 16,
        2 => 8,
        4 => 4,
        8 => 2,
        _ => 1,
    }
}

/// Computes `output[i] = function(i, first[i], second[i])` for every element of `output`, in 16-byte accesses. This is the
/// body of a map's kernel.
///
/// Every launch shape gives the same result. The fastest shape is `BLOCK` threads per block and a thread for each chunk of
/// [`chunk_len`] elements. Views whose first elements are not aligned for 16-byte accesses are read and written element by
/// element.
#[inline(always)]
#[track_caller]
pub fn map_wide<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    match const { chunk_len::<F>() } {
        16 => in_chunks::<F, 16>(function, first, second, output),
        8 => in_chunks::<F, 8>(function, first, second, output),
        4 => in_chunks::<F, 4>(function, first, second, output),
        2 => in_chunks::<F, 2>(function, first, second, output),
        _ => in_chunks::<F, 1>(function, first, second, output),
    }
}

/// Makes an array of `N` values, each by a call in the source: an index that is known only at run time would put the array
/// into local memory.
#[inline(always)]
fn written_out<R: Copy, const N: usize>(mut value: impl FnMut(usize) -> R) -> [R; N] {
    let mut values = [value(0); N];
    macro_rules! each {
        ($($i:literal)*) => { $(
            if $i < N {
                values[$i % N] = value($i);
            }
        )* };
    }
    each!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    values
}

/// `N` elements of each array that exists.
type Chunks<F, const N: usize> = (Option<[First<F>; N]>, Option<[Second<F>; N]>);

// There are no closures around accesses, so that an error names the line of the kernel that calls `map_wide`.

#[inline(always)]
#[track_caller]
fn load<F: MapFn, const N: usize>(
    first: Global<First<F>>,
    second: Global<Second<F>>,
    at: usize,
) -> Chunks<F, N> {
    let a = if const { F::In::ARRAYS > 0 } {
        Some(first.get_chunk_streaming::<N>(at))
    } else {
        None
    };
    let b = if const { F::In::ARRAYS > 1 } {
        Some(second.get_chunk_streaming::<N>(at))
    } else {
        None
    };
    (a, b)
}

/// Returns the function's input for each of `N` positions.
#[inline(always)]
fn inputs<F: MapFn, const N: usize>((a, b): Chunks<F, N>) -> [F::In; N] {
    written_out(|i| {
        // SAFETY: `join` takes elements only of as many arrays as `ARRAYS` says, by its contract.
        F::In::join(
            || unsafe { a.unwrap_unchecked() }[i],
            || unsafe { b.unwrap_unchecked() }[i],
        )
    })
}

#[inline(always)]
#[track_caller]
fn store<F: MapFn, const N: usize>(
    function: Passed<F>,
    output: GlobalMut<F::Out>,
    at: usize,
    elements: Chunks<F, N>,
) {
    let results = function.function.call_chunk(at, inputs::<F, N>(elements));
    output.set_chunk_streaming::<N>(at, results);
}

#[inline(always)]
#[track_caller]
fn in_chunks<F: MapFn, const N: usize>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    let aligned = is_aligned::<F::Out, N>(output.as_ptr().addr())
        && (F::In::ARRAYS < 1 || is_aligned::<First<F>, N>(first.as_ptr().addr()))
        && (F::In::ARRAYS < 2 || is_aligned::<Second<F>, N>(second.as_ptr().addr()));
    let chunks = if aligned { output.len() / N } else { 0 };
    let thread = thread::index_1d_wide();
    let stride = thread::grid_stride();
    let mut chunk = thread;
    while chunk < chunks {
        let elements = load::<F, N>(first, second, chunk * N);
        store(function, output, chunk * N, elements);
        chunk += stride;
    }
    let mut i = chunks * N + thread;
    while i < output.len() {
        output.set_streaming(i, apply(function, first, second, i));
        i += stride;
    }
}

/// Returns whether `N` elements at `address` can be accessed at once.
#[inline(always)]
fn is_aligned<T, const N: usize>(address: usize) -> bool {
    address.is_multiple_of(size_of::<T>() * N)
}

/// Makes a kernel of a function that implements [`MapFn`](crate::map::MapFn): `map_kernel!(name: Type);`, or several
/// separated by commas. `name` is the kernel's name in the PTX.
#[macro_export]
macro_rules! map_kernel {
    ($($name:ident: $function:ty),+ $(,)?) => { $(
        const _: () = {
            /// Maps the function over every element.
            ///
            /// # Safety
            /// The inputs that the function takes must be as long as `output`.
            #[$crate::kernel(launch_bounds($crate::map::BLOCK as u32), marker = Marker)]
            unsafe fn $name(
                function: $crate::map::Passed<$function>,
                first: $crate::Global<$crate::map::First<$function>>,
                second: $crate::Global<$crate::map::Second<$function>>,
                output: $crate::GlobalMut<<$function as $crate::map::MapFn>::Out>,
            ) {
                $crate::map::map_wide(function, first, second, output);
            }

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: this is the kernel above, whose body stays within the output.
            unsafe impl $crate::map::MapKernel for $function {
                const KERNEL: $crate::kernel::Entry<$crate::map::Parameters<Self>> =
                    $crate::kernel::Entry::of::<Marker>();
            }
        };
    )+ };
}
