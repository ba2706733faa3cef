//! Merges of sorted arrays and stable merge sorts, by a comparison.
//!
//! A comparison is a type that implements [`Compare`]; its parameters are its fields. [`sort_kernel!`](crate::sort_kernel!)
//! makes kernels of it, and `Device::sort_by` of the library `warpwright` launches them:
//!
//! ```
//! use cuda_std::{Plain, merge::Compare};
//!
//! /// A point with a number.
//! #[repr(C)]
//! #[derive(Clone, Copy)]
//! pub struct Point {
//!     pub x: f32,
//!     pub y: f32,
//!     pub number: u32,
//! }
//!
//! // SAFETY: three numbers.
//! unsafe impl Plain for Point {}
//!
//! /// Compares the distances of points from one point.
//! #[repr(C)]
//! #[derive(Clone, Copy)]
//! pub struct Nearer {
//!     pub x: f32,
//!     pub y: f32,
//! }
//!
//! impl Nearer {
//!     fn distance(self, point: Point) -> f32 {
//!         let (x, y) = (point.x - self.x, point.y - self.y);
//!         x * x + y * y
//!     }
//! }
//!
//! // SAFETY: two plain numbers.
//! unsafe impl Compare for Nearer {
//!     type Item = Point;
//!
//!     fn is_less(self, a: Point, b: Point) -> bool {
//!         self.distance(a) < self.distance(b)
//!     }
//! }
//!
//! cuda_std::sort_kernel!(nearer: Nearer);
//! ```
//!
//! # How it works
//! [`sort_tile`] is the body of the first kernel: a block sorts a tile. [`merge_tiles`] is that of the second: a block merges a
//! tile of two sorted arrays' merged order.
//!
//! ```text
//! block of a merge:
//!     two warps search the diagonals of the tile's ends: how many of the elements before are of the first array
//!     both parts to shared memory, 16 bytes per load
//!     each thread searches its own diagonal, and merges its elements one by one into registers
//!     the tile to shared memory, and from there to the output, 16 bytes per store
//! ```
//!
//! Source: Green, McColl, Bader, "GPU merge path: a GPU merging algorithm", 2012.
//!
//! Where a comparison contradicts itself, or the input of a merge is not sorted, the searches of neighbors may not meet.
//! Every tile checks that its threads' parts follow one another, and the last block that all tiles' parts do. If not, the
//! elements are left in the order in which they came. So the output has every element of the input once, whatever the
//! comparison says.

mod body;
mod tile;

pub use body::{Sides, Values, merge_pair_tiles, merge_tiles, sort_tile};

#[cfg(not(target_arch = "nvptx64"))]
use crate::{Global, GlobalMut};
use crate::{
    Plain,
    map::{MapFn, Passed},
    shared::SharedLayout,
};

/// A comparison: whether an element comes before another one.
///
/// A sort or a merge is right if it is a strict weak order: no element is less than itself, and of three elements none
/// contradicts the other two. With any other comparison the result is some order of the same elements. It is called only for
/// elements of the input.
///
/// # Safety
/// The type must be `#[repr(C)]` or have no fields. It must hold plain numbers and no references to host memory, and must
/// mean the same on the host and on the device.
pub unsafe trait Compare: Copy + 'static {
    /// The type of the elements: 1 to 16 bytes.
    type Item: Plain;

    /// Returns whether `a` has to come before `b`.
    fn is_less(self, a: Self::Item, b: Self::Item) -> bool;
}

/// A comparison as a function of a pair.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Less<C>(C);

// SAFETY: the wrapped type has the same layout, and the contracts are alike.
unsafe impl<C: Compare> MapFn for Less<C> {
    type In = (C::Item, C::Item);
    type Out = bool;

    #[inline(always)]
    fn call(self, _: usize, (a, b): (C::Item, C::Item)) -> bool {
        self.0.is_less(a, b)
    }
}

/// A comparison as a kernel's parameter.
pub type Compared<C> = Passed<Less<C>>;

impl<C> Compared<C> {
    /// Wraps a comparison.
    pub const fn by(compare: C) -> Self {
        Self::new(Less(compare))
    }
}

impl<C: Compare> Compared<C> {
    #[inline(always)]
    fn compare(self) -> C {
        self.function().0
    }
}

/// The threads of a block.
pub const THREADS: usize = 256;

/// Returns the elements of a thread in a tile. The number is odd, so that the threads' elements lie in different banks of
/// shared memory.
pub const fn items<T>() -> usize {
    assert!(
        size_of::<T>() > 0 && size_of::<T>() <= 16,
        "an element of a merge has 1 to 16 bytes"
    );
    match size_of::<T>() {
        1..=4 => 15,
        5..=12 => 9,
        _ => 7,
    }
}

/// Returns the elements of a tile.
pub const fn tile_len<T>() -> usize {
    THREADS * items::<T>()
}

/// Returns the elements of a chunk: those of a load of 16 bytes, or a single one whose size does not divide 16 bytes.
const fn chunk_len<T>() -> usize {
    match size_of::<T>() {
        1 | 2 | 4 | 8 => 16 / size_of::<T>(),
        _ => 1,
    }
}

/// Returns the elements for which a block has room: both parts of a tile begin and end within a chunk.
const fn room_len<T>() -> usize {
    let len = chunk_len::<T>();
    tile_len::<T>() + if len > 1 { 3 * len } else { 0 }
}

/// The layout of a block's shared memory.
const fn layout<T: Plain>() -> SharedLayout {
    SharedLayout::new()
        .array::<T>(room_len::<T>())
        .array::<u64>(2)
        .array::<u32>(THREADS)
}

/// Returns the dynamic shared memory of a block of [`sort_tile`] or [`merge_tiles`] in bytes.
pub const fn shared_bytes<T: Plain>() -> usize {
    layout::<T>().bytes()
}

/// Returns the dynamic shared memory of a block of [`merge_pair_tiles`] in bytes.
pub const fn pairs_shared_bytes<T: Plain>() -> usize {
    layout::<T>().array::<u16>(tile_len::<T>()).bytes()
}

/// The words that the blocks of a launch of several tiles share, all 0 before the first launch. A launch leaves them 0.
pub const CONTROL_LEN: usize = 2;

/// A comparison with kernels of its own. [`sort_kernel!`](crate::sort_kernel!) implements it.
///
/// # Safety
/// The kernels must keep the contracts of [`sort_tile`] and [`merge_tiles`].
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait SortKernel: Compare {
    /// The kernel that sorts tiles.
    const SORT: crate::kernel::Entry<Parameters<Self>>;
    /// The kernel that merges.
    const MERGE: crate::kernel::Entry<Parameters<Self>>;
}

/// The parameters of both kernels: the comparison, the input, the length of its sorted runs, the output, and the words that
/// blocks share.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<C> = (
    Compared<C>,
    Global<<C as Compare>::Item>,
    u64,
    GlobalMut<<C as Compare>::Item>,
    GlobalMut<u32>,
);

/// Makes the kernels of a comparison: `sort_kernel!(name: Type);`, or several separated by commas. `Type` implements
/// [`Compare`](crate::merge::Compare). The kernels are `name__tile` and `name__merge` in the PTX.
#[macro_export]
macro_rules! sort_kernel {
    ($($name:ident: $compare:ty),+ $(,)?) => { $(
        const _: () = {
            /// Sorts tiles, or merges sorted runs.
            ///
            /// # Safety
            /// The contract of `cuda_std::merge::sort_tile` or of `cuda_std::merge::merge_tiles` must hold.
            #[$crate::kernel(
                launch_bounds($crate::merge::THREADS as u32),
                instances(tile: (false), merge: (true)),
                marker = Marker
            )]
            unsafe fn $name<const MERGE: bool>(
                compare: $crate::merge::Compared<$compare>,
                input: $crate::Global<<$compare as $crate::merge::Compare>::Item>,
                run: u64,
                output: $crate::GlobalMut<<$compare as $crate::merge::Compare>::Item>,
                control: $crate::GlobalMut<u32>,
            ) {
                use $crate::merge::{Sides, merge_tiles, sort_tile};
                if MERGE {
                    merge_tiles::<$compare>(compare, Sides::Runs(input, run), output, control);
                } else {
                    sort_tile::<$compare>(compare, input, output);
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: these are the kernels above, whose bodies are `sort_tile` and `merge_tiles`.
            unsafe impl $crate::merge::SortKernel for $compare {
                const SORT: $crate::kernel::Entry<$crate::merge::Parameters<Self>> =
                    $crate::kernel::Entry::of::<Marker<false>>();
                const MERGE: $crate::kernel::Entry<$crate::merge::Parameters<Self>> =
                    $crate::kernel::Entry::of::<Marker<true>>();
            }
        };
    )+ };
}
