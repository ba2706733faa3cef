//! Tensor maps: descriptions of matrices in global memory, of which one lane has tiles copied from and to shared memory
//! (`cp.async.bulk.tensor`).
//!
//! A map has the address, the size and the row stride of a matrix, and the size and the [swizzle](Swizzle) of a tile. The host
//! makes it and passes it to the kernel, as an [`EncodedTensorMap`] for a parameter of type [`TensorMap`]: for a card by
//! `cuTensorMapEncodeTiled` (`cust::tensor_map::TiledTensor`), for the CPU executor by [`EncodedTensorMap::for_cpu`].
//!
//! ```
//! use cuda_std::{bulk, mbarrier::{self, Mbarrier}, prelude::*, tensor_map::TensorMap};
//!
//! /// Copies a matrix, a tile of 32 x 32 for each block, and adds 1.
//! #[kernel(launch_bounds(32))]
//! pub unsafe fn plus_one(input: TensorMap, output: TensorMap) {
//!     let tile = shared![f32; 32 * 32 + 32].skip_to_multiple(128);
//!     let filled = Mbarrier::new(shared![u64; 1], 0);
//!     let lane = thread::thread_idx_x() as usize;
//!     let corner = [thread::block_idx_x() as i32 * 32, thread::block_idx_y() as i32 * 32];
//!     if lane == 0 {
//!         filled.init(1);
//!         mbarrier::fence_init();
//!         filled.arrive_expect_tx(32 * 32 * 4);
//!         tile.load_tile(0, input, corner, 32 * 32, filled);
//!     }
//!     thread::sync_threads();
//!     filled.wait(0);
//!     let mut row = 0;
//!     while row < 32 {
//!         tile.set(row * 32 + lane, tile.get(row * 32 + lane) + 1.0);
//!         row += 1;
//!     }
//!     bulk::fence_proxy_async();
//!     thread::sync_threads();
//!     if lane == 0 {
//!         output.store_tile(corner, tile, 0, 32 * 32);
//!         bulk::commit_group();
//!         bulk::wait_group_read::<0>();
//!     }
//! }
//! ```
//!
//! Tiles are bulk copies, with the rules of [`bulk`](crate::bulk). A place is a column and a row, which may lie outside of the
//! matrix: elements there are loaded as zeros, and not stored. A load brings all bytes of the tile to its mbarrier, zeros too.
//!
//! A map can be of a [`Stack`] of matrices. Then a place has a third coordinate, the number of the matrix, and a tile is of one
//! matrix.
//!
//! What an H100 does, beyond the PTX ISA, and the CPU executor too:
//! - The first column of a tile is a multiple of 16 bytes, and the column and the row of a store are not negative. Otherwise
//!   the card ends the launch by an "illegal instruction", and the executor by a fault that says why.
//! - A store writes chunks of 16 bytes. If the rows of the matrix end within a chunk, it writes up to the chunk's end.

use crate::{imp, imp::Place, mbarrier::Mbarrier, view::Shared};

/// A tensor map as a launch passes it: the 128 bytes that the hardware or the CPU executor reads.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedTensorMap {
    words: [u64; 16],
}

impl EncodedTensorMap {
    /// Makes a map of the words that the driver has encoded.
    pub const fn from_words(words: [u64; 16]) -> Self {
        Self { words }
    }

    /// Returns the words.
    pub const fn words(&self) -> &[u64; 16] {
        &self.words
    }
}

// SAFETY: words without references, whose meaning is the device's.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl crate::kernel::ByValue for EncodedTensorMap {}

/// Where the 16-byte chunks of a tile lie in shared memory, so that neither its rows nor its columns have bank conflicts. The
/// row of a tile has at most as many bytes as the swizzle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Row after row.
    None,
    /// Within 32 bytes: bit 4 of an address is combined with bit 7.
    Bytes32,
    /// Within 64 bytes: bits 4 and 5 are combined with bits 7 and 8.
    Bytes64,
    /// Within 128 bytes: bits 4 to 6 are combined with bits 7 to 9.
    Bytes128,
}

impl Swizzle {
    /// Returns where a byte of a tile lies. `byte` is its place without a swizzle, relative to an address that is a multiple of
    /// 1024, as the tile's start should be (512 for 64 bytes, 256 for 32).
    #[inline(always)]
    pub const fn place(self, byte: usize) -> usize {
        let chunks = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        byte ^ (byte >> 7 & chunks) << 4
    }
}

/// A matrix for the CPU executor: see [`EncodedTensorMap::for_cpu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct TiledMatrix {
    /// The address of the first element, a multiple of 16.
    pub address: u64,
    /// The size of an element in bytes: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// The matrix's columns and rows.
    pub sizes: [u64; 2],
    /// The bytes from one row to the next, a multiple of 16.
    pub stride: u64,
    /// A tile's columns and rows, at most 256 each.
    pub tile: [u32; 2],
    /// Where a tile's chunks lie.
    pub swizzle: Swizzle,
    /// The other matrices of the map, if it is of a stack.
    pub stack: Option<Stack>,
    /// Whether loads round elements of 4 bytes, which are `f32`, to TF32: see
    /// [`round_to_tf32`](crate::wgmma::round_to_tf32).
    pub to_tf32: bool,
}

/// Matrices of one size, at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct Stack {
    /// How many there are.
    pub count: u64,
    /// The bytes from one to the next, a multiple of 16.
    pub stride: u64,
}

#[cfg(not(target_arch = "nvptx64"))]
impl EncodedTensorMap {
    /// Encodes the map of a matrix for the CPU executor.
    ///
    /// # Errors
    /// Returns what the driver would not accept.
    pub fn for_cpu(matrix: &TiledMatrix) -> Result<Self, InvalidMatrix> {
        imp::tensor_map::encode(matrix)
    }
}

/// The error of a matrix that a tensor map cannot describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct InvalidMatrix {
    /// The requirement.
    pub required: &'static str,
    /// The given matrix.
    pub given: TiledMatrix,
}

#[cfg(not(target_arch = "nvptx64"))]
impl core::fmt::Display for InvalidMatrix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { required, given } = self;
        write!(f, "tensor map: {required} required, given {given:?}")
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl core::error::Error for InvalidMatrix {}

/// A tensor map in a kernel: a parameter, by its address. See the [module](self).
#[derive(Debug, Clone, Copy)]
pub struct TensorMap {
    place: *const EncodedTensorMap,
}

impl TensorMap {
    /// Makes the map whose bytes are at `place`. `#[kernel]` calls it.
    ///
    /// # Safety
    /// The bytes must be a map for this device, and must outlive the kernel.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn __at(place: *const EncodedTensorMap) -> Self {
        Self { place }
    }

    /// Starts to copy a tile of `count` elements, which starts at element `i` of `from`, to the matrix. `corner` is the column
    /// and the row of its first element, and for a stack the number of the matrix. The copy belongs to the lane's next group of
    /// [bulk copies](crate::bulk).
    ///
    /// The tile starts at a multiple of 128 bytes. `count` is the number of elements of the map's tile, and the elements have
    /// the map's type.
    #[inline(always)]
    #[track_caller]
    pub fn store_tile<T: Copy, const N: usize>(
        self,
        corner: [i32; N],
        from: Shared<T>,
        i: usize,
        count: usize,
    ) {
        const { assert!(N == 2 || N == 3, "a place has two or three coordinates") };
        from.check_current();
        imp::tensor_map::check(from.as_ptr(), from.len(), i, count, self.place, false);
        // SAFETY: the tile is within the view, and the kernel promises that the map describes memory that it may write.
        unsafe { imp::tensor_map::store(self.place, corner, from.as_ptr(), i, Place::here()) }
    }
}

/// Tiles of matrices. See the module [`tensor_map`](crate::tensor_map).
impl<T: Copy> Shared<T> {
    /// Starts to copy the tile of a matrix whose first element is in the column and the row `corner`, to elements `i..i +
    /// count`. For a stack, `corner` has the number of the matrix too. All its bytes count as brought to the current phase of
    /// `mbarrier`.
    ///
    /// The tile starts at a multiple of 128 bytes. `count` is the number of elements of the map's tile, and the elements have
    /// the map's type.
    #[inline(always)]
    #[track_caller]
    pub fn load_tile<const N: usize>(
        self,
        i: usize,
        map: TensorMap,
        corner: [i32; N],
        count: usize,
        mbarrier: Mbarrier,
    ) {
        const { assert!(N == 2 || N == 3, "a place has two or three coordinates") };
        self.check_current();
        imp::tensor_map::check(self.as_ptr(), self.len(), i, count, map.place, true);
        let word = mbarrier.word();
        // SAFETY: the tile is within the view, and the kernel promises that the map describes memory that it may read.
        unsafe {
            imp::tensor_map::load(self.as_ptr(), i, map.place, corner, word, Place::here());
        }
    }

    /// Like [`load_tile`](Self::load_tile), for several blocks of the [cluster](crate::cluster): the tile comes to the same
    /// place of each block whose rank is a bit of `ranks`, and its bytes to the mbarrier in the same place of that block, whose
    /// phase must expect them.
    #[inline(always)]
    #[track_caller]
    pub fn load_tile_to<const N: usize>(
        self,
        ranks: u16,
        i: usize,
        map: TensorMap,
        corner: [i32; N],
        count: usize,
        mbarrier: Mbarrier,
    ) {
        const { assert!(N == 2 || N == 3, "a place has two or three coordinates") };
        self.check_current();
        imp::tensor_map::check(self.as_ptr(), self.len(), i, count, map.place, true);
        let word = mbarrier.word();
        // SAFETY: the tile is within the view, and the kernel promises that the map describes memory that it may read.
        unsafe {
            let (to, place) = ((self.as_ptr(), i, ranks), map.place);
            imp::tensor_map::load_to(to, place, corner, word, Place::here());
        }
    }

    /// Returns the view from the first element on that lies at a multiple of `bytes`, a power of two, in shared memory. Arrays
    /// start at multiples of 16 bytes only, so declare as many more.
    #[inline(always)]
    #[track_caller]
    pub fn skip_to_multiple(self, bytes: usize) -> Self {
        let missing = imp::tensor_map::address(self.as_ptr()).wrapping_neg() & (bytes - 1);
        self.skip(missing / size_of::<T>())
    }
}
