//! Views: typed, bounded access to memory in kernels.
//!
//! On the GPU a view is a pointer and a length, and an access is a plain load or store without a check. On the CPU executor
//! every access is checked against the view's bounds and the element's alignment, and by the other checks of the launch
//! ([`cpu::Checks`](crate::cpu::Checks)). A faulty access ends the launch with an error that names kernel, block, lane,
//! index and source line.
//!
//! An `unsafe` constructor makes a view from a pointer, and its contract covers every access through the view: the caller
//! who launches the kernel guarantees the pointer and the length, and the kernel's author guarantees that accesses stay in
//! bounds. The accessors are therefore not `unsafe`.
//!
//! A chunk is several adjacent elements that one instruction moves: 2, 4, 8 or 16 bytes in all, at an address that is a
//! multiple of that size.

use core::marker::PhantomData;

use crate::{Plain, imp, space::Space};

/// The cache hint of a load or store. It never changes the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Hint {
    /// The default.
    Plain,
    /// For data that nothing writes while the kernel runs (`ld.global.nc`).
    ReadOnly,
    /// For data that is accessed once (`.cs`: evicted first).
    Streaming,
}

/// The elements of one 16-byte load, in registers: `16 / size_of::<T>()` of them.
#[derive(Clone, Copy)]
pub struct Wide<T> {
    words: [u64; 2],
    marker: PhantomData<T>,
}

impl<T: Copy> Wide<T> {
    /// The number of elements.
    pub const LEN: usize = {
        assert!(
            matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 16),
            "a wide load takes elements of 1, 2, 4, 8 or 16 bytes"
        );
        16 / size_of::<T>()
    };

    /// All bits 0.
    pub(crate) const ZERO: Self = Self::from_words([0; 2]);

    /// Returns the same elements but for element `i`. `i` should be a constant.
    #[inline(always)]
    pub(crate) fn with(self, i: usize, value: T) -> Self {
        // SAFETY: an integer of the element's size takes the element's bits.
        let bits: u64 = unsafe {
            match size_of::<T>() {
                1 => core::mem::transmute_copy::<T, u8>(&value).into(),
                2 => core::mem::transmute_copy::<T, u16>(&value).into(),
                4 => core::mem::transmute_copy::<T, u32>(&value).into(),
                8 => core::mem::transmute_copy::<T, u64>(&value),
                _ => return Self::from_words(core::mem::transmute_copy(&value)),
            }
        };
        let (at, shift) = (i * size_of::<T>() / 8 % 2, i * size_of::<T>() % 8 * 8);
        let others = !(u64::MAX >> (64 - 8 * size_of::<T>().min(8)) << shift);
        let mut words = self.words;
        words[at] = words[at] & others | bits << shift;
        Self::from_words(words)
    }

    /// Returns the last element.
    #[inline(always)]
    pub(crate) fn last(self) -> T {
        self.get(Self::LEN - 1)
    }

    /// Folds the elements in order: calls `each` with the accumulator, an element and its index.
    ///
    /// The calls are unrolled in the source, so that every index is a constant: an array that is indexed at run time cannot
    /// stay in registers.
    #[inline(always)]
    #[track_caller]
    pub fn fold<A>(self, mut result: A, mut each: impl FnMut(A, T, usize) -> A) -> A {
        macro_rules! written_out {
            ($($i:literal)*) => { $(
                if $i < Self::LEN {
                    result = each(result, self.get($i), $i);
                }
            )* };
        }
        written_out!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        result
    }

    /// Returns all elements. `N` must be their number.
    #[inline(always)]
    pub fn to_array<const N: usize>(self) -> [T; N] {
        const { assert!(N == Self::LEN) };
        core::array::from_fn(|i| self.get(i))
    }

    /// Makes the elements from the words of a chunk.
    #[inline(always)]
    pub fn from_chunk(chunk: [u32; 4]) -> Self {
        let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Self::from_words([word(chunk[0], chunk[1]), word(chunk[2], chunk[3])])
    }

    #[inline(always)]
    pub(crate) const fn from_words(words: [u64; 2]) -> Self {
        Self {
            words,
            marker: PhantomData,
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    pub(crate) fn from_elements(mut element: impl FnMut(usize) -> T) -> Self {
        let mut words = [0_u64; 2];
        for i in 0..Self::LEN {
            // SAFETY: `LEN` elements take 16 bytes, and the read needs no alignment.
            unsafe {
                words
                    .as_mut_ptr()
                    .cast::<T>()
                    .add(i)
                    .write_unaligned(element(i))
            };
        }
        Self::from_words(words)
    }

    #[inline(always)]
    fn get(self, i: usize) -> T {
        let bit = i * size_of::<T>() * 8;
        let word = self.words[(bit / 64) % 2] >> (bit % 64);
        // SAFETY: the low bytes of `word` (all of `words` for 16 bytes) are those of an element that was loaded as a `T`;
        // both targets are little-endian.
        unsafe {
            match size_of::<T>() {
                1 => core::mem::transmute_copy(&(word as u8)),
                2 => core::mem::transmute_copy(&(word as u16)),
                4 => core::mem::transmute_copy(&(word as u32)),
                8 => core::mem::transmute_copy(&word),
                _ => core::mem::transmute_copy(&self.words),
            }
        }
    }
}

macro_rules! view_basics {
    ($view:ident, $space:ident, $pointer:ty) => {
        impl<T> Clone for $view<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $view<T> {}

        impl<T: Copy> $view<T> {
            /// Returns the number of elements.
            #[inline(always)]
            pub fn len(self) -> usize {
                self.len
            }

            /// Returns whether the view has no elements.
            #[inline(always)]
            pub fn is_empty(self) -> bool {
                self.len == 0
            }

            /// Returns the address of the first element.
            #[inline(always)]
            pub fn as_ptr(self) -> $pointer {
                self.ptr as $pointer
            }

            /// Returns element `i`.
            #[inline(always)]
            #[track_caller]
            pub fn get(self, i: usize) -> T {
                self.get_chunk::<1>(i)[0]
            }

            /// Returns elements `i..i + N` with one load. The address of element `i` must be a multiple of the chunk's
            /// size, which is 1, 2, 4, 8 or 16 bytes. Any other size compiles to several loads.
            #[inline(always)]
            #[track_caller]
            pub fn get_chunk<const N: usize>(self, i: usize) -> [T; N] {
                self.check_current();
                imp::check_access(Space::$space, self.ptr, self.len, i, N, false);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                unsafe { imp::load(self.ptr.add(i)) }
            }

            /// Returns the 16 bytes from element `i` on with one load. The address of element `i` must be a multiple of 16.
            #[inline(always)]
            #[track_caller]
            pub fn get_wide(self, i: usize) -> Wide<T> {
                self.check_current();
                imp::check_access(Space::$space, self.ptr, self.len, i, Wide::<T>::LEN, false);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                Wide::from_words(unsafe { imp::load(self.ptr.add(i).cast()) })
            }
        }
    };
}

/// A read-only view of global memory, for kernel parameters.
#[repr(C)]
pub struct Global<T> {
    ptr: *mut T,
    len: usize,
    marker: PhantomData<*const T>,
}

/// A writable view of global memory, for kernel parameters.
///
/// All lanes hold the same view. If two lanes access the same element and one of them writes, an order is required between
/// them: a barrier or an atomic operation.
#[repr(C)]
pub struct GlobalMut<T> {
    ptr: *mut T,
    len: usize,
    marker: PhantomData<*mut T>,
}

/// A view of the block's shared memory. See [`shared!`](crate::shared!) and
/// [`DynamicShared`](crate::shared::DynamicShared).
pub struct Shared<T> {
    ptr: *mut T,
    len: usize,
    /// The visit of the `shared!` call site that created the view. Empty on the GPU.
    visit: imp::Visit,
    marker: PhantomData<*mut T>,
}

/// A view of the shared memory of a block of the [cluster](crate::cluster), by [`Shared::of_block`].
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub struct ClusterShared<T> {
    ptr: *mut T,
    len: usize,
    /// The block, which the CPU executor checks. Empty on the GPU.
    peer: imp::cluster::Peer,
    marker: PhantomData<*mut T>,
}

macro_rules! always_current {
    ($view:ident) => {
        impl<T> $view<T> {
            /// Views of global memory do not expire.
            #[inline(always)]
            fn check_current(self) {}
        }
    };
}
always_current!(Global);
always_current!(GlobalMut);

impl<T> Shared<T> {
    /// Checks that the lane has not reached the view's `shared!` call site again since.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn check_current(self) {
        imp::check_current(self.visit);
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
impl<T: Copy> ClusterShared<T> {
    /// # Safety
    /// `ptr` must be to `len` elements in the shared memory of the block `peer` of the cluster.
    #[inline(always)]
    pub(crate) unsafe fn from_raw_parts(ptr: *mut T, len: usize, peer: imp::cluster::Peer) -> Self {
        Self {
            ptr,
            len,
            peer,
            marker: PhantomData,
        }
    }

    /// Checks that the block runs.
    #[inline(always)]
    #[track_caller]
    fn check_current(self) {
        imp::cluster::check_peer(self.peer);
    }
}

view_basics!(Global, Global, *const T);
view_basics!(GlobalMut, Global, *mut T);
view_basics!(Shared, Shared, *mut T);
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
view_basics!(ClusterShared, Shared, *mut T);

macro_rules! casts {
    ($view:ident $(, $visit:ident)?) => {
        impl<T: Plain> $view<T> {
            /// Returns a view of the same bytes as elements of another type, as many as fit.
            ///
            /// # Safety
            /// The view must start at a multiple of `U`'s alignment.
            #[inline(always)]
            pub unsafe fn cast<U: Plain>(self) -> $view<U> {
                $view {
                    ptr: self.ptr.cast(),
                    len: self.len * size_of::<T>() / size_of::<U>(),
                    $($visit: self.$visit,)?
                    marker: PhantomData,
                }
            }
        }
    };
}
casts!(Global);
casts!(GlobalMut);
casts!(Shared, visit);
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
casts!(ClusterShared, peer);

macro_rules! hinted_loads {
    ($view:ident) => {
        impl<T: Copy> $view<T> {
            /// Returns element `i`, like [`get`](Self::get), for data that is read once: the caches evict it first.
            #[inline(always)]
            #[track_caller]
            pub fn get_streaming(self, i: usize) -> T {
                self.get_chunk_streaming::<1>(i)[0]
            }

            /// Returns a chunk, like [`get_chunk`](Self::get_chunk), for data that is read once.
            #[inline(always)]
            #[track_caller]
            pub fn get_chunk_streaming<const N: usize>(self, i: usize) -> [T; N] {
                imp::check_access(Space::Global, self.ptr, self.len, i, N, false);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                unsafe { imp::load_hinted(self.ptr.add(i), Hint::Streaming) }
            }

            /// Returns the 16 bytes from element `i` on with one load, for data that is read once. The address of element
            /// `i` must be a multiple of 16.
            #[inline(always)]
            #[track_caller]
            pub fn get_wide_streaming(self, i: usize) -> Wide<T> {
                imp::check_access(Space::Global, self.ptr, self.len, i, Wide::<T>::LEN, false);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                let words = unsafe { imp::load_hinted(self.ptr.add(i).cast(), Hint::Streaming) };
                Wide::from_words(words)
            }
        }
    };
}
hinted_loads!(Global);
hinted_loads!(GlobalMut);

impl<T: Copy> Global<T> {
    /// Creates a view of `len` elements at `ptr`.
    ///
    /// # Safety
    /// `ptr` must be aligned for `T` and point to `len` initialized elements in global memory that nothing writes while the
    /// view is in use. Every access through the view must stay within `len`.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(ptr: *mut T, len: usize) -> Self {
        Self {
            ptr,
            len,
            marker: PhantomData,
        }
    }

    /// Returns element `i`, like [`get`](Self::get), through the read-only data path.
    #[inline(always)]
    #[track_caller]
    pub fn get_readonly(self, i: usize) -> T {
        self.get_chunk_readonly::<1>(i)[0]
    }

    /// Returns a chunk, like [`get_chunk`](Self::get_chunk), through the read-only data path.
    #[inline(always)]
    #[track_caller]
    pub fn get_chunk_readonly<const N: usize>(self, i: usize) -> [T; N] {
        imp::check_access(Space::Global, self.ptr, self.len, i, N, false);
        // SAFETY: the access is within the view, whose constructor's caller guarantees it.
        unsafe { imp::load_hinted(self.ptr.add(i), Hint::ReadOnly) }
    }
}

macro_rules! parts {
    ($view:ident, $is_write:literal) => {
        impl<T: Copy> $view<T> {
            /// Returns a view of the elements from `from` on.
            #[inline(always)]
            #[track_caller]
            pub fn skip(self, from: usize) -> Self {
                imp::check_bounds(self.ptr, self.len, from, 0, $is_write);
                // SAFETY: the result is a part of this view.
                unsafe { Self::from_raw_parts(self.ptr.add(from), self.len - from) }
            }
        }
    };
}
parts!(Global, false);
parts!(GlobalMut, true);

macro_rules! stores {
    ($view:ident, $space:ident) => {
        impl<T: Copy> $view<T> {
            /// Writes element `i`.
            #[inline(always)]
            #[track_caller]
            pub fn set(self, i: usize, value: T) {
                self.set_chunk(i, [value]);
            }

            /// Writes elements `i..i + N` with one store. Sizes and alignment are those of [`get_chunk`](Self::get_chunk).
            #[inline(always)]
            #[track_caller]
            pub fn set_chunk<const N: usize>(self, i: usize, values: [T; N]) {
                self.check_current();
                imp::check_access(Space::$space, self.ptr, self.len, i, N, true);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                unsafe { imp::store(self.ptr.add(i), values) }
            }

            /// Writes the elements of a wide load to elements `i..`, with one store of 16 bytes. Element `i` must lie at a
            /// multiple of 16 bytes.
            #[inline(always)]
            #[track_caller]
            pub fn set_wide(self, i: usize, values: Wide<T>)
            where
                T: Plain,
            {
                // SAFETY: the elements from `i` on lie at a multiple of 16 bytes.
                let words = unsafe { self.cast::<u64>() };
                words.set_chunk(i * size_of::<T>() / 8, values.words);
            }

            /// Returns a pointer to element `i`, for an atomic operation.
            #[inline(always)]
            #[track_caller]
            #[allow(dead_code)]
            pub(crate) fn atomic_ptr(self, i: usize) -> *mut T {
                self.check_current();
                imp::check_bounds(self.ptr, self.len, i, 1, true);
                // SAFETY: the access is within the view, whose constructor's caller guarantees it.
                unsafe { self.ptr.add(i) }
            }
        }
    };
}
stores!(GlobalMut, Global);
stores!(Shared, Shared);
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
stores!(ClusterShared, Shared);

impl<T: Copy> GlobalMut<T> {
    /// Creates a view of `len` elements at `ptr`.
    ///
    /// # Safety
    /// `ptr` must be aligned for `T` and point to `len` elements in global memory that nothing outside the kernel accesses
    /// while the view is in use. Every access through the view must stay within `len`, and conflicting accesses of
    /// different lanes must be ordered.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(ptr: *mut T, len: usize) -> Self {
        Self {
            ptr,
            len,
            marker: PhantomData,
        }
    }

    /// Writes element `i`, like [`set`](Self::set), for data that this kernel does not read again.
    #[inline(always)]
    #[track_caller]
    pub fn set_streaming(self, i: usize, value: T) {
        self.set_chunk_streaming(i, [value]);
    }

    /// Writes a chunk, like [`set_chunk`](Self::set_chunk), for data that this kernel does not read again.
    #[inline(always)]
    #[track_caller]
    pub fn set_chunk_streaming<const N: usize>(self, i: usize, values: [T; N]) {
        imp::check_access(Space::Global, self.ptr, self.len, i, N, true);
        // SAFETY: the access is within the view, whose constructor's caller guarantees it.
        unsafe { imp::store_hinted(self.ptr.add(i), values, Hint::Streaming) }
    }
}

impl<T: Copy> Shared<T> {
    /// Checks a load or a store of the 16 bytes from element `i` on, as [`get_chunk`](Self::get_chunk) does.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn check_row_of_matrix(self, i: usize, writes: bool) {
        self.check_current();
        let count = const { 16 / size_of::<T>() };
        imp::check_access(Space::Shared, self.ptr, self.len, i, count, writes);
    }

    /// Returns a view of the elements from `from` on.
    #[inline(always)]
    #[track_caller]
    pub fn skip(self, from: usize) -> Self {
        self.check_current();
        imp::check_bounds(self.ptr, self.len, from, 0, false);
        Self {
            // SAFETY: the result is a part of this view.
            ptr: unsafe { self.ptr.add(from) },
            len: self.len - from,
            ..self
        }
    }

    /// Creates a view of `len` elements of shared memory at `ptr`.
    ///
    /// # Safety
    /// `ptr` must be aligned for `T` and point to memory for `len` elements in the block's shared memory. Every access
    /// through the view must stay within `len`, and conflicting accesses of different lanes must be ordered.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn from_raw_parts(ptr: *mut T, len: usize) -> Self {
        // SAFETY: the caller guarantees that this is shared memory.
        #[allow(clippy::let_unit_value)]
        let visit = unsafe { imp::assume_shared(ptr.cast(), len.saturating_mul(size_of::<T>())) };
        Self {
            ptr: imp::with_known_space(ptr),
            len,
            visit,
            marker: PhantomData,
        }
    }
}
