//! Shared memory: static arrays, and the dynamic allocation whose size the launch sets.

use crate::{Plain, imp, view::Shared};

/// Declares a static array in the block's shared memory and returns a raw pointer: `shared_array![f32; 256]` is a `*mut
/// f32`. Every lane of the block gets the same address. The contents start undefined.
///
/// Each call site in the source is a separate array, aligned to 16 bytes. A call site that a lane reaches again, in a loop,
/// by recursion or in a helper that is called twice, may give the same array or another one on a GPU, depending on inlining
/// and unrolling. Do not use an earlier array of a call site after a later one, and put a barrier between the two.
/// [`shared!`](crate::shared!) gives the array as a view, which the CPU executor can check.
#[macro_export]
macro_rules! shared_array {
    [$ty:ty; $len:expr] => {
        $crate::shared::__static_array::<[$ty; $len]>({
            static SITE: u8 = 0;
            &raw const SITE
        }).cast::<$ty>()
    };
}

/// Declares a static array in the block's shared memory and returns a [`Shared`] view: `shared![f32; 256]`. The elements
/// must be [`Plain`](crate::Plain), since the contents start undefined.
///
/// The rules of [`shared_array!`](crate::shared_array!) about call sites apply. The CPU executor's check `mem` reports a
/// use of an earlier array.
#[macro_export]
macro_rules! shared {
    [$ty:ty; $len:expr] => {{
        let (array, len) = ($crate::shared_array![$ty; $len], $len);
        // SAFETY: the pointer is to an array of this length, which every lane of the block may use.
        unsafe { $crate::shared::__plain_view::<$ty>(array, len) }
    }};
}

/// Creates a view of shared memory with arbitrary contents.
///
/// # Safety
/// The conditions of [`Shared::from_raw_parts`] must hold.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn __plain_view<T: Plain>(pointer: *mut T, len: usize) -> Shared<T> {
    // SAFETY: the caller upholds the contract; `T` is `Plain`, so any contents are elements.
    unsafe { Shared::from_raw_parts(pointer, len) }
}

/// Returns the address of the static array that belongs to `site` and `A`.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn __static_array<A>(site: *const u8) -> *mut u8 {
    const {
        assert!(
            align_of::<A>() <= SHARED_ALIGN,
            "shared arrays are aligned to 16 bytes"
        )
    };
    imp::static_shared::<A>(site)
}

/// The alignment of every static array and of the dynamic allocation, in bytes.
pub const SHARED_ALIGN: usize = 16;

/// Returns the start of the dynamic shared memory, aligned to 16 bytes. The launch sets its size
/// ([`mem::dynamic_smem_size`](crate::mem::dynamic_smem_size)).
///
/// Every call returns the same address, so the results of two calls overlap. [`DynamicShared`] carves several arrays.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    imp::dynamic_shared().cast()
}

/// Carves the dynamic shared memory into several arrays of different types.
///
/// The kernel must carve in the order in which the host adds arrays to its [`SharedLayout`]. Both respect each type's
/// alignment.
///
/// ```
/// use cuda_std::{prelude::*, shared::DynamicShared};
///
/// #[kernel]
/// pub unsafe fn two_arrays(n: u32) {
///     // SAFETY: the only one in this kernel; the launch gives 4 n + 8 n bytes.
///     let mut memory = unsafe { DynamicShared::new() };
///     let numbers = memory.carve::<f32>(n as usize);
///     let sums = memory.carve::<f64>(n as usize);
///     # let _ = (numbers, sums);
/// }
/// ```
pub struct DynamicShared {
    layout: SharedLayout,
}

impl DynamicShared {
    /// Starts at the beginning of the dynamic shared memory.
    ///
    /// # Safety
    /// The arrays overlap those of any other `DynamicShared` of the block. The launch must give at least as many bytes as
    /// all arrays need, which the CPU executor checks.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self {
            layout: SharedLayout::new(),
        }
    }

    /// Carves the next array: `len` elements, aligned for `T`.
    #[inline(always)]
    #[track_caller]
    pub fn carve<T: Plain>(&mut self, len: usize) -> Shared<T> {
        let offset = self.layout.offset_of_next::<T>();
        self.layout = self.layout.array::<T>(len);
        imp::check_dynamic_shared(self.layout.bytes());
        // SAFETY: the caller of `new` guarantees the size; the layout aligns the arrays and keeps them apart.
        unsafe { __plain_view(imp::dynamic_shared().add(offset).cast(), len) }
    }

    /// Carves an array of `len` elements at byte `offset`, where the host's [`SharedLayout::array_at`] placed it. Arrays
    /// that are carved later lie behind it.
    ///
    /// # Safety
    /// `offset` must be a multiple of `T`'s alignment, which the CPU executor checks, and the kernel must not use another
    /// array there at the same time.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn carve_at<T: Plain>(&mut self, offset: usize, len: usize) -> Shared<T> {
        if let Ok(layout) = self.layout.array_at::<T>(offset, len) {
            self.layout = layout;
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { imp::misaligned_shared(offset, align_of::<T>()) }
        }
        imp::check_dynamic_shared(self.layout.bytes());
        // SAFETY: the callers of `new` and of this function guarantee the size, the alignment, and that no other array is
        // in use there.
        unsafe { __plain_view(imp::dynamic_shared().add(offset).cast(), len) }
    }
}

/// The error of placing an array of shared memory at a misaligned offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misaligned {
    /// The given offset, in bytes.
    pub offset: usize,
    /// The required alignment, in bytes.
    pub align: usize,
}

impl core::fmt::Display for Misaligned {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "shared memory: an offset that is a multiple of {} required, given {}",
            self.align, self.offset
        )
    }
}

impl core::error::Error for Misaligned {}

/// The layout of several arrays in dynamic shared memory. It computes the bytes to request at a launch.
///
/// ```
/// use cuda_std::shared::SharedLayout;
/// let layout = SharedLayout::new().array::<f32>(1000).array::<i32>(300).array::<f32>(500);
/// assert_eq!(layout.bytes(), 4 * (1000 + 300 + 500));
/// ```
///
/// A kernel whose layout is a constant declares it with `#[kernel(dynamic_shared(LAYOUT.bytes()))]`. A launch with fewer
/// bytes is then refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedLayout {
    bytes: usize,
}

impl SharedLayout {
    /// Creates a layout without arrays.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }

    /// Adds an array of `len` elements of `T` behind the existing ones, aligned for `T`.
    #[inline(always)]
    pub const fn array<T: Copy>(self, len: usize) -> Self {
        const {
            assert!(
                align_of::<T>() <= SHARED_ALIGN,
                "shared arrays are aligned to 16 bytes"
            )
        };
        let offset = self.offset_of_next::<T>();
        Self {
            bytes: offset.saturating_add(len.saturating_mul(size_of::<T>())),
        }
    }

    /// Adds an array of `len` elements of `T` at byte `offset`, for manual layouts. [`DynamicShared::carve_at`] carves it.
    /// Arrays may be placed in any order, and may overlap if the kernel does not use them at the same time.
    ///
    /// # Errors
    /// Returns [`Misaligned`] if `offset` is not aligned for `T`.
    #[inline]
    pub const fn array_at<T: Copy>(self, offset: usize, len: usize) -> Result<Self, Misaligned> {
        if !offset.is_multiple_of(align_of::<T>()) {
            return Err(Misaligned {
                offset,
                align: align_of::<T>(),
            });
        }
        let end = offset.saturating_add(len.saturating_mul(size_of::<T>()));
        let bytes = if end > self.bytes { end } else { self.bytes };
        Ok(Self { bytes })
    }

    /// Returns the total size of the arrays in bytes. It saturates on overflow.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    #[inline(always)]
    const fn offset_of_next<T>(self) -> usize {
        self.bytes.saturating_add(align_of::<T>() - 1) / align_of::<T>() * align_of::<T>()
    }
}

/// A static in shared memory on the CPU executor, with a separate copy per block. `#[address_space(shared)]` creates it.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct __SharedStatic<T> {
    /// The memory behind `&raw mut` of the static.
    shared_by_all_blocks: T,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> __SharedStatic<T> {
    #[allow(missing_docs)]
    pub const fn new(uninitialised: T) -> Self {
        Self {
            shared_by_all_blocks: uninitialised,
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> core::ops::Deref for __SharedStatic<T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        let site = &raw const self.shared_by_all_blocks;
        // SAFETY: the pointer is to the block's copy of this static, which is large and aligned enough and lives as long as
        // the block; its contents may be arbitrary, as `#[address_space]` requires of the type.
        unsafe { &*__static_array::<T>(site.cast()).cast::<T>() }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> core::ops::DerefMut for __SharedStatic<T> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        let site = &raw const self.shared_by_all_blocks;
        // SAFETY: as for `deref`; the kernel promises that lanes do not access one element at the same time.
        unsafe { &mut *__static_array::<T>(site.cast()).cast::<T>() }
    }
}
