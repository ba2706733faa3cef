//! Procedural macros of `warpwright-cuda-std`. Use them through that crate: `cuda_std::kernel`.

mod address_space;
mod atomics;
mod item;
mod kernel;
mod options;
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
/// On `nvptx64` every instance becomes an entry of the PTX module, named `scale__f32`, `scale__f64` (or `scale` for a
/// function without generic parameters). On the host it becomes a marker type, `Scale<f32>`, that implements
/// `cuda_std::kernel::Kernel`. A launch with arguments of other types is a compile error, and the CPU executor runs the
/// same function.
///
/// Options, all of them optional:
/// - `launch_bounds(MAX_THREADS)` or `launch_bounds(MAX_THREADS, MIN_BLOCKS_PER_SM)`: constants of type `u32`, which may
///   depend on the function's generic parameters, so that every instance has its own;
/// - `cluster(X)`, `cluster(X, Y)` or `cluster(X, Y, Z)`: the blocks of a cluster along each axis, constants of type `u32`, at
///   most 8 blocks in all. The grid must be a multiple of it, and the module be for `sm_90` or later. See
///   `cuda_std::cluster`;
/// - `instances(f32, f64)`: the types of a function with one generic parameter;
/// - `instances(sum_f32: (Sum<f32>, 4), …)`: a suffix and the generic arguments in order;
/// - `instances = path::to::macro`: a macro that is called as `macro! { callback }` and must expand to `callback! { suffix:
///   (arguments), … }`, so that several kernels can share one list of instances;
/// - `tuned(f32: 0..12, …)`: for a kernel whose last generic parameter is `const ROW: usize`, a row of a table of numbers that
///   the kernel is made with. The instances above get `usize::MAX`, which stands for the row that ships. With the crate's
///   feature `tuning`, each row in the range also gets an instance, `tune_<name>__<suffix>_<row>`, for measurements; `f32 as
///   key: 0..12` gives its names another word than the suffix. The constant `<NAME>_ROWS` lists them;
/// - `marker = Name`: the marker's name, if the function's name in CamelCase is not suitable.
///
/// A kernel is an `unsafe fn` that returns nothing. Its parameters are passed as in Rust-CUDA: views (`Global<T>`,
/// `GlobalMut<T>`), slices and `&str` as a pointer and a length, references and pointers as a pointer, and every other
/// `Copy` type by value: numbers, structs, arrays, tuples. A `cuda_std::tensor_map::TensorMap` is the address of a parameter of
/// 128 bytes. `Device::launch` requires `cuda_std::kernel::ByValue` of a type
/// that is passed by value. A slice must be launched with a non-null, aligned start.
///
/// The CPU executor checks accesses through views for bounds, races and everything else that it can check. It checks
/// accesses through slices for bounds, as Rust does on the GPU too, and does not check those through references and
/// pointers. Accesses through slices, references and pointers are not checked for races, uninitialized reads or invalid
/// memory.
///
/// The launch marker is imported into the kernel's module by a glob. A type of the same name may therefore exist there; the
/// marker is then reached by `marker = Name`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::attribute(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Puts a static into an address space: `#[address_space(shared)] static mut TILE: [MaybeUninit<f32>; 256] = …;`.
///
/// - `shared`: every block has its own copy, whose contents start undefined. The initial value must be
///   `MaybeUninit::uninit()`.
/// - `constant`: memory that kernels only read.
/// - `global`: device memory, the default for a static.
///
/// On the CPU executor each block has its own shared memory too, as long as the static is accessed by indices, methods and
/// fields (`TILE[i].write(x)`). `&raw mut TILE` gives memory that all blocks share.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::attribute(space.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Marks a function for the GPU only: on the host its body panics.
#[proc_macro_attribute]
pub fn gpu_only(_: TokenStream, item: TokenStream) -> TokenStream {
    address_space::gpu_only(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a function or a static in the PTX with a visible name even if no kernel uses it, for code that is linked to the
/// module. The item must be `#[unsafe(no_mangle)]`. On the host the attribute changes nothing.
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

/// Generates the functions of `atomic::intrinsics`.
#[doc(hidden)]
#[proc_macro]
pub fn __atomic_intrinsics(_: TokenStream) -> TokenStream {
    atomics::intrinsics().into()
}

/// Generates the functions of `atomic::mid` except the fences.
#[doc(hidden)]
#[proc_macro]
pub fn __atomic_mid(_: TokenStream) -> TokenStream {
    atomics::mid().into()
}

/// Emits a kernel's instances. The expansion of `#[kernel]` uses it.
#[doc(hidden)]
#[proc_macro]
pub fn __kernel_instances(input: TokenStream) -> TokenStream {
    kernel::instances(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
