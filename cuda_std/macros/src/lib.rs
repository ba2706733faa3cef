//! Procedural macros of `warpwright-cuda-std`. Use them through that crate: `cuda_std::kernel`.

mod address_space;
mod atomics;
mod item;
mod kernel;
mod parameter;
mod visible;

use proc_macro::TokenStream;

/// Makes a function a GPU kernel.
///
/// ```ignore
/// #[kernel(launch_bounds(256), instances(f32, f64))]
/// pub unsafe fn scale<T: Float>(input: Global<T>, output: GlobalMut<T>, factor: T) { /* … */ }
/// ```
///
/// On `nvptx64` every instance becomes an entry of the PTX module, named `scale__f32`, `scale__f64`
/// (plain `scale` for a function without generic parameters). On the host it becomes a marker type,
/// `Scale<f32>`, that implements `cuda_std::kernel::Kernel`: launching it with arguments of other
/// types is a compile error, and the CPU executor runs the very same function.
///
/// Options, all of them optional:
/// - `launch_bounds(MAX_THREADS)` or `launch_bounds(MAX_THREADS, MIN_BLOCKS_PER_SM)`: constants, of type `u32`, which may
///   depend on the function's generic parameters: every instance has its own;
/// - `instances(f32, f64)`: the types of a function with one generic parameter;
/// - `instances(sum_f32: (Sum<f32>, 4), …)`: a suffix and the generic arguments in order;
/// - `instances = path::to::macro`: a macro that is called as `macro! { callback }` and must expand to
///   `callback! { suffix: (arguments), … }`; several kernels share one list of instances that way;
/// - `tuned(f32: 0..12, …)`, for a kernel whose last generic parameter is a `const ROW: usize`, the row of a table of numbers
///   that it is made by: the instances are made with `usize::MAX` for it, which stands for the row that ships. With the crate's
///   feature `tuning` there is one more for each row that stands behind an instance's suffix, for measurements:
///   `tune_<name>__<suffix>_<row>`, or `f32 as key: 0..12` for another word than the suffix. `<NAME>_ROWS` lists them;
/// - `marker = Name`: the marker's name, where the function's name in CamelCase will not do.
///
/// A kernel is an `unsafe fn` that returns nothing. Its parameters travel as Rust-CUDA passes them: views (`Global<T>`,
/// `GlobalMut<T>`), slices and `&str` as a pointer and a length, references and pointers as a pointer, and every other type
/// that is `Copy` by value: numbers, structs, arrays, tuples. To pass a value, `Device::launch` wants it to implement
/// `cuda_std::kernel::ByValue`. A slice is to be launched with a start that is not null and aligned.
///
/// The accesses through views are checked on the CPU executor, for bounds, races and all else that it can check. Those through
/// slices are checked for bounds, as Rust does on the GPU too, and those through references and pointers not at all; neither
/// is followed for races, reads of what nobody wrote, or memory that is not there.
///
/// The launch marker comes into the kernel's module by `*`, so that a type of the same name may stand there; it is then
/// reached by `marker = Name`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::attribute(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Puts a static into a kind of memory: `#[address_space(shared)] static mut TILE: [MaybeUninit<f32>; 256] = …;`.
///
/// - `shared`: every block has its own, with undefined contents at first; the value is one of `MaybeUninit::uninit()`.
/// - `constant`: memory that kernels only read.
/// - `global`: where a static is anyway.
///
/// On the CPU executor each block has its own shared memory too, as long as the static is reached by indices, methods and
/// fields (`TILE[i].write(x)`); `&raw mut TILE` gives one that all blocks share.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::attribute(space.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// A function for the GPU alone: on the host its body panics.
#[proc_macro_attribute]
pub fn gpu_only(_: TokenStream, item: TokenStream) -> TokenStream {
    address_space::gpu_only(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a function or a static in the PTX though no kernel uses it, and its name visible: for what is linked to the
/// module. It has to be `#[unsafe(no_mangle)]`. On the host it changes nothing.
///
/// ```ignore
/// #[externally_visible]
/// #[unsafe(no_mangle)]
/// pub extern "C" fn twice(x: u32) -> u32 { 2 * x }
/// ```
#[proc_macro_attribute]
pub fn externally_visible(_: TokenStream, item: TokenStream) -> TokenStream {
    visible::attribute(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The functions of `atomic::intrinsics`.
#[doc(hidden)]
#[proc_macro]
pub fn __atomic_intrinsics(_: TokenStream) -> TokenStream {
    atomics::intrinsics().into()
}

/// The functions of `atomic::mid` but for the fences.
#[doc(hidden)]
#[proc_macro]
pub fn __atomic_mid(_: TokenStream) -> TokenStream {
    atomics::mid().into()
}

/// Emits a kernel's instances; the expansion of `#[kernel]` uses it.
#[doc(hidden)]
#[proc_macro]
pub fn __kernel_instances(input: TokenStream) -> TokenStream {
    kernel::instances(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
