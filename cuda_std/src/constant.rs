//! Constant memory: small tables that the host sets and kernels read.
//!
//! The hardware has 64 KiB of it per module, with a cache that is fastest when all lanes of a warp read the same element.
//! [`constant!`](crate::constant!) declares a table next to the kernels that read it:
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
//! On the GPU the table is a `.const` variable of the PTX module, under the declared name. It is all zeros until the host
//! copies values to it. On the CPU executor it is a table of the process. The library `warpwright` sets both with
//! `Device::set_constant`, which takes the result of [`Constant::with`]. A crate that declares a table needs
//! `feature(asm_experimental_arch)` on nvptx64.
//!
//! A table that only one launch needs is simpler as a kernel parameter by value: parameters are in constant memory too.

#[cfg(not(target_arch = "nvptx64"))]
use crate::cpu::constant::Table;
use crate::{Plain, view::Wide};

/// A [`Constant`] with its address already computed.
pub struct ConstantReader<'a, T: 'static, const N: usize> {
    #[cfg(target_arch = "nvptx64")]
    start: *const T,
    #[cfg(target_arch = "nvptx64")]
    table: core::marker::PhantomData<&'a Constant<T, N>>,
    #[cfg(not(target_arch = "nvptx64"))]
    table: &'a Constant<T, N>,
}

impl<T: 'static, const N: usize> Clone for ConstantReader<'_, T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: 'static, const N: usize> Copy for ConstantReader<'_, T, N> {}

impl<T: Plain, const N: usize> ConstantReader<'_, T, N> {
    /// Returns element `i`, like [`Constant::get`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(self, i: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: `T` is `Plain`, so the table's bits are an element whether they were set or not; the kernel promises
            // that `i` is in bounds.
            unsafe { self.start.add(i).read() }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.table.table.get(i, self.table, self.table.name)
        }
    }

    /// Returns the 16 bytes from element `i` on, like [`Constant::get_wide`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get_wide(self, i: usize) -> Wide<T> {
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: as for `get`; the table is aligned to 16 bytes.
            unsafe { Wide::from_words(crate::imp::load(self.start.add(i).cast())) }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // A table starts at a multiple of 16.
            crate::imp::check_bounds(core::ptr::null::<T>(), N, i, Wide::<T>::LEN, false);
            Wide::from_elements(|element| self.get(i + element))
        }
    }
}

/// A table in constant memory. See the [module](self) and [`constant!`](crate::constant!).
pub struct Constant<T: 'static, const N: usize> {
    name: &'static str,
    #[cfg(target_arch = "nvptx64")]
    address: fn() -> *const T,
    #[cfg(not(target_arch = "nvptx64"))]
    table: Table<T>,
}

impl<T: Plain, const N: usize> Constant<T, N> {
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

    /// Returns the number of elements, `N`.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        N
    }

    /// Returns whether the table has no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        N == 0
    }

    /// Returns the size of the table in bytes.
    #[inline(always)]
    pub const fn bytes(&self) -> usize {
        size_of::<[T; N]>()
    }

    /// Returns the name of the variable in the PTX module.
    #[inline(always)]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns a reader with the table's address computed once, for a kernel that reads the table in several places.
    #[inline(always)]
    pub fn reader(&self) -> ConstantReader<'_, T, N> {
        #[cfg(target_arch = "nvptx64")]
        {
            let start = (self.address)();
            // SAFETY: the address is that of the module's table.
            unsafe { crate::imp::assume_constant(start.cast()) };
            ConstantReader {
                start,
                table: core::marker::PhantomData,
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            ConstantReader { table: self }
        }
    }

    /// Returns element `i`. Only the CPU executor checks the bounds, as with views.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(&self, i: usize) -> T {
        self.reader().get(i)
    }

    /// Returns the 16 bytes from element `i` on, with as few loads as possible. `i` must be a multiple of [`Wide::LEN`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get_wide(&self, i: usize) -> Wide<T> {
        self.reader().get_wide(i)
    }

    /// Sets the first `values.len()` elements of the table for later launches on the CPU executor. From then on, reading
    /// any other element is an error.
    ///
    /// # Panics
    /// Panics if there are more than `N` values.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn set_for_cpu(&self, values: &[T])
    where
        T: Send + Sync,
    {
        assert!(
            values.len() <= N,
            "`{}`: at most {N} elements required, given {}",
            self.name,
            values.len()
        );
        self.table.set(values);
    }

    /// Pairs the table with values for its first elements, for an executor to set.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn with<'a>(&'static self, values: &'a [T]) -> ConstantValues<'a>
    where
        T: Send + Sync,
    {
        ConstantValues {
            table: self,
            start: values.as_ptr().cast(),
            count: values.len(),
            bytes: size_of_val(values),
            borrowed: core::marker::PhantomData,
        }
    }
}

/// The interface of a table for an executor, independent of the element type.
#[cfg(not(target_arch = "nvptx64"))]
trait AnyTable: Sync {
    fn name(&self) -> &'static str;
    fn len(&self) -> usize;
    /// # Safety
    /// `start` must point to `count` elements of the table's type, and `count` must be at most [`len`](Self::len).
    unsafe fn set(&self, start: *const u8, count: usize);
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Plain + Send + Sync, const N: usize> AnyTable for Constant<T, N> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn len(&self) -> usize {
        N
    }

    unsafe fn set(&self, start: *const u8, count: usize) {
        // SAFETY: the caller upholds the contract.
        self.set_for_cpu(unsafe { core::slice::from_raw_parts(start.cast(), count) });
    }
}

/// Values for a table in constant memory, made by [`Constant::with`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
pub struct ConstantValues<'a> {
    table: &'static dyn AnyTable,
    start: *const u8,
    count: usize,
    bytes: usize,
    borrowed: core::marker::PhantomData<&'a [u8]>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl ConstantValues<'_> {
    /// Returns the name of the variable in the PTX module.
    pub fn name(&self) -> &'static str {
        self.table.name()
    }

    /// Returns the number of elements of the table.
    pub fn capacity(&self) -> usize {
        self.table.len()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns a pointer to the values as raw bytes, which is valid for reads while `self` lives.
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    /// Returns the size of the values in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the values are for `table`.
    pub(crate) fn are_for<T>(&self, table: &T) -> bool {
        core::ptr::from_ref(self.table).addr() == core::ptr::from_ref(table).addr()
    }

    /// Sets the table for later launches on the CPU executor.
    ///
    /// # Panics
    /// Panics if [`len`](Self::len) is greater than [`capacity`](Self::capacity).
    pub fn set_for_cpu(&self) {
        // SAFETY: the pointer and the count are those of a slice of the table's element type, which is still borrowed.
        unsafe { self.table.set(self.start, self.count) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl core::fmt::Debug for ConstantValues<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ConstantValues")
            .field("name", &self.name())
            .field("len", &self.count)
            .finish_non_exhaustive()
    }
}

/// Declares a table in constant memory. `constant! { pub static NAME: [f32; 64]; }` declares a [`Constant<f32,
/// 64>`](crate::constant::Constant).
///
/// The name is also the variable's name in the PTX module, so it must be unique in the crate. The elements must be
/// [`Plain`](crate::Plain), since a table that was not set is all zeros.
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
                // SAFETY: the instructions take the generic address of the variable above.
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
