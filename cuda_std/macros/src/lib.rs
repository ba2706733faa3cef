//! Procedural macros of `warpwright-cuda-std`. Use them through that crate: `cuda_std::kernel`.

mod kernel;

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
/// - `marker = Name`: the marker's name, where the function's name in CamelCase will not do.
///
/// A kernel is an `unsafe fn` that returns nothing. Its parameters are `Global<T>` and `GlobalMut<T>`
/// views (a pointer and a length each, as Rust-CUDA passes slices), and values that implement
/// `cuda_std::kernel::ByValue`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::attribute(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Emits a kernel's instances; the expansion of `#[kernel]` uses it.
#[doc(hidden)]
#[proc_macro]
pub fn __kernel_instances(input: TokenStream) -> TokenStream {
    kernel::instances(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
