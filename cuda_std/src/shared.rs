//! Shared memory: static arrays, and the dynamic allocation that a launch sizes.

use crate::{Plain, imp, view::Shared};

/// A static array in the block's shared memory, as a raw pointer: `shared_array![f32; 256]` is a
/// `*mut f32`. Every lane of the block gets the same address; the contents start undefined.
///
/// Each place in the source is an array of its own, aligned to 16 bytes. A place that a lane comes to again, in a loop, by
/// recursion or in a helper that is called twice, may be the same array or another one on a GPU, as the compiler has
/// inlined and unrolled: use no earlier array of a place behind a later one, and put a barrier between the two.
/// [`shared!`](crate::shared!) gives the same as a view, which the CPU executor can check.
#[macro_export]
macro_rules! shared_array {
    [$ty:ty; $len:expr] => {
        $crate::shared::__static_array::<[$ty; $len]>({
            static SITE: u8 = 0;
            &raw const SITE
        }).cast::<$ty>()
    };
}

/// A static array in the block's shared memory, as a [`Shared`] view: `shared![f32; 256]`. The elements are
/// [`Plain`](crate::Plain), since the contents start undefined.
///
/// What [`shared_array!`](crate::shared_array!) says of places holds here too; the CPU executor's check `mem` reports
/// a use of an earlier array.
#[macro_export]
macro_rules! shared {
    [$ty:ty; $len:expr] => {
        // SAFETY: the pointer is to an array of this very length, which every lane of the block may use.
        unsafe { $crate::shared::__plain_view::<$ty>($crate::shared_array![$ty; $len], $len) }
    };
}

/// A view of shared memory whose contents are some bits or other.
///
/// # Safety
/// As for [`Shared::from_raw_parts`].
#[doc(hidden)]
#[inline(always)]
pub unsafe fn __plain_view<T: Plain>(pointer: *mut T, len: usize) -> Shared<T> {
    // SAFETY: by the contract; any contents are elements.
    unsafe { Shared::from_raw_parts(pointer, len) }
}

/// The address of the static array that belongs to `site` and `A`.
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

/// Alignment in bytes of every static array and of the dynamic allocation.
pub const SHARED_ALIGN: usize = 16;

/// The start of the dynamic shared memory, which is as large as the launch says
/// ([`mem::dynamic_smem_size`](crate::mem::dynamic_smem_size)); aligned to 16 bytes.
///
/// Every call gives the same address, so two calls overlap: [`DynamicShared`] carves several arrays.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    imp::dynamic_shared().cast()
}

/// Carves the dynamic shared memory into several arrays of different types.
///
/// The kernel carves in the same order as the host adds arrays to its [`SharedLayout`]; both keep each
/// type's alignment.
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
    /// The arrays carved from here overlap those of any other `DynamicShared` of the block; and the
    /// launch gave at least as many bytes as all of them need (the CPU executor checks that).
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self {
            layout: SharedLayout::new(),
        }
    }

    /// The next array: `len` elements, aligned for `T`.
    #[inline(always)]
    #[track_caller]
    pub fn carve<T: Plain>(&mut self, len: usize) -> Shared<T> {
        let offset = self.layout.offset_of_next::<T>();
        self.layout = self.layout.array::<T>(len);
        imp::check_dynamic_shared(self.layout.bytes());
        // SAFETY: `new`'s caller vouched for the size; the layout keeps the alignment, and its arrays apart.
        unsafe { __plain_view(imp::dynamic_shared().add(offset).cast(), len) }
    }

    /// An array of `len` elements that begins at byte `offset`, where the host's
    /// [`SharedLayout::array_at`] has put it. What is carved later lies behind it.
    ///
    /// # Safety
    /// `offset` is a multiple of `T`'s alignment (the CPU executor checks that), and the kernel uses no
    /// other array there at the same time.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn carve_at<T: Plain>(&mut self, offset: usize, len: usize) -> Shared<T> {
        if let Ok(layout) = self.layout.array_at::<T>(offset, len) {
            self.layout = layout;
        } else {
            // SAFETY: by the contract.
            unsafe { imp::misaligned_shared(offset, align_of::<T>()) }
        }
        imp::check_dynamic_shared(self.layout.bytes());
        // SAFETY: the callers of `new` and of this function vouched for the size, the alignment, and that no
        // other array is in use there.
        unsafe { __plain_view(imp::dynamic_shared().add(offset).cast(), len) }
    }
}

/// An array of shared memory was placed where its type cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misaligned {
    /// The offset given, in bytes.
    pub offset: usize,
    /// The offset has to be a multiple of this.
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

/// The layout of a dynamic allocation of several arrays: the bytes to ask for at a launch.
///
/// ```
/// use cuda_std::shared::SharedLayout;
/// let layout = SharedLayout::new().array::<f32>(1000).array::<i32>(300).array::<f32>(500);
/// assert_eq!(layout.bytes(), 4 * (1000 + 300 + 500));
/// ```
///
/// A kernel whose layout is a constant says so, `#[kernel(dynamic_shared(LAYOUT.bytes()))]`, and a launch
/// that gives less is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedLayout {
    bytes: usize,
}

impl SharedLayout {
    /// No arrays yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }

    /// Adds an array of `len` elements of `T` behind what is there, with its alignment kept.
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

    /// Adds an array of `len` elements of `T` that begins at byte `offset`, for arrays that are laid out by
    /// hand: [`DynamicShared::carve_at`] carves it. Arrays may be placed in any order, and may overlap if
    /// the kernel uses one after the other.
    ///
    /// # Errors
    /// [`Misaligned`] where `T` cannot begin there.
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

    /// The bytes that the arrays take; saturates instead of wrapping around.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    #[inline(always)]
    const fn offset_of_next<T>(self) -> usize {
        self.bytes.saturating_add(align_of::<T>() - 1) / align_of::<T>() * align_of::<T>()
    }
}

/// A static of shared memory on the CPU executor, of which every block has its own: what `#[address_space(shared)]` makes.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct __SharedStatic<T> {
    /// For whoever takes the static's address.
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
        // SAFETY: the block's memory of this static, large and aligned enough, which lives as long as the block; its
        // contents may be any, as `#[address_space]` requires of the type.
        unsafe { &*__static_array::<T>(site.cast()).cast::<T>() }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> core::ops::DerefMut for __SharedStatic<T> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        let site = &raw const self.shared_by_all_blocks;
        // SAFETY: as for `deref`; that lanes do not touch one element at once is the kernel's promise.
        unsafe { &mut *__static_array::<T>(site.cast()).cast::<T>() }
    }
}
