//! Constant memory: small tables that the host sets and kernels read.
//!
//! The hardware keeps 64 KiB of it per module, in a cache that is fastest when all lanes of a warp read
//! the same element. [`constant!`](crate::constant!) declares a table next to the kernels that read it:
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! cuda_std::constant! {
//!     /// The weights of the filter.
//!     pub static FILTER_WEIGHTS: [f32; 9];
//! }
//!
//! #[kernel]
//! pub unsafe fn scale_by_first(values: GlobalMut<f32>) {
//!     let i = thread::index_1d_wide();
//!     if i < values.len() {
//!         values.set(i, values.get(i) * FILTER_WEIGHTS.get(0));
//!     }
//! }
//! ```
//!
//! On the GPU the table is a `.const` variable of the PTX module under the declared name, all zeros until
//! the host copies values there (`cuModuleGetGlobal` with [`Constant::name`] gives its address). For the
//! CPU executor [`Constant::set_for_cpu`] sets it. A crate that declares one needs
//! `feature(asm_experimental_arch)` on nvptx64.
//!
//! A table that only one launch needs travels more simply as a kernel's parameter by value: parameters
//! are in constant memory too.

#[cfg(not(target_arch = "nvptx64"))]
use crate::cpu::constant::Table;

/// A table in constant memory: see the [module](self) and [`constant!`](crate::constant!).
pub struct Constant<T: 'static, const N: usize> {
    name: &'static str,
    #[cfg(target_arch = "nvptx64")]
    address: fn() -> *const T,
    #[cfg(not(target_arch = "nvptx64"))]
    table: Table<T, N>,
}

impl<T: Copy + 'static, const N: usize> Constant<T, N> {
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    pub const fn __new(name: &'static str, address: fn() -> *const T) -> Self {
        const {
            assert!(
                align_of::<T>() <= 16,
                "constant tables are aligned to 16 bytes"
            )
        };
        Self { name, address }
    }

    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn __new(name: &'static str) -> Self {
        const {
            assert!(
                align_of::<T>() <= 16,
                "constant tables are aligned to 16 bytes"
            )
        };
        Self {
            name,
            table: Table::new(),
        }
    }

    /// The number of elements: `N`.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        N
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        N == 0
    }

    /// The table's size in bytes.
    #[inline(always)]
    pub const fn bytes(&self) -> usize {
        size_of::<[T; N]>()
    }

    /// The name of the variable in the PTX module.
    #[inline(always)]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Element `i`; checked on the CPU executor only, as with the views.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(&self, i: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        {
            let start = (self.address)();
            // SAFETY: the address is that of the module's table; that `i` is within is the kernel's
            // promise.
            unsafe {
                crate::imp::assume_constant(start.cast());
                start.add(i).read()
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.table.get(i, self.name)
        }
    }

    /// Sets the table for later launches on the CPU executor.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn set_for_cpu(&self, values: [T; N]) {
        self.table.set(values);
    }
}

/// Declares a table in constant memory: `constant! { pub static NAME: [f32; 64]; }` makes a
/// [`Constant<f32, 64>`](crate::constant::Constant).
///
/// The name is the variable's in the PTX module, so it is one of a kind in the crate.
#[macro_export]
macro_rules! constant {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: [$ty:ty; $len:expr];)*) => { $(
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(
            concat!(".visible .const .align 16 .b8 ", stringify!($name), "[{bytes}];"),
            bytes = const ::core::mem::size_of::<[$ty; $len]>(),
        );

        $(#[$attribute])*
        #[cfg(target_arch = "nvptx64")]
        $visibility static $name: $crate::constant::Constant<$ty, { $len }> = {
            #[inline(always)]
            fn address() -> *const $ty {
                let address: *const $ty;
                // SAFETY: takes the generic address of the variable above.
                unsafe {
                    ::core::arch::asm!(
                        concat!(
                            "{{ .reg .u64 address; mov.u64 address, ", stringify!($name),
                            "; cvta.const.u64 {0}, address; }}",
                        ),
                        out(reg64) address,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                address
            }
            $crate::constant::Constant::__new(stringify!($name), address)
        };

        $(#[$attribute])*
        #[cfg(not(target_arch = "nvptx64"))]
        $visibility static $name: $crate::constant::Constant<$ty, { $len }> =
            $crate::constant::Constant::__new(stringify!($name));
    )* };
}
