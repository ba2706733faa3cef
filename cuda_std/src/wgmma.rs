//! Products of matrices that the 128 threads of a warpgroup compute together, on the tensor cores of compute capability 9.0
//! (`wgmma`).
//!
//! A warpgroup is four warps of a block, of which the first has a number that is a multiple of 4. It adds products `A * B` to
//! its sums: A is 64 x K, B is K x N and the sums are 64 x N, where K is the [`DEPTH`](Factor::DEPTH) of the elements' type,
//! and N is 16, 64, 128 or 256. A and B lie in shared memory ([`Tile`]), and each thread has N / 2 of the sums in registers
//! ([`place`]):
//!
//! | elements ([`Factor`]) | K | sums | lines of tiles |
//! | --- | --- | --- | --- |
//! | `f16`, `bf16` | 64 | `f32` | along k or across |
//! | `f32`, as TF32 | 32 | `f32` | along k |
//! | `i8` | 128 | `i32`, exact, which wrap around | along k |
//! | `F8E4M3`, `F8E5M2` | 128 | `f32`, of which 13 bits of the fraction are kept | along k |
//!
//! The products run by themselves while the threads go on:
//!
//! ```
//! # use cuda_std::{mbarrier::Mbarrier, prelude::*, tensor_map::TensorMap, wgmma::{self, Sums, Tile}};
//! /// The product of a 64 x 64 and a 64 x 64 matrix, of which the second is given by its columns.
//! #[kernel(launch_bounds(128))]
//! pub unsafe fn product(a: TensorMap, b: TensorMap, c: GlobalMut<f32>) {
//!     let tiles = shared![f16; 2 * 4096 + 512].skip_to_multiple(1024);
//!     let here = Mbarrier::new(shared![u64; 1], 0);
//!     let thread = thread::thread_idx_x() as usize;
//!     if thread == 0 {
//!         here.init(1);
//!         cuda_std::mbarrier::fence_init();
//!         here.arrive_expect_tx(2 * 8192);
//!         tiles.load_tile(0, a, [0, 0], 4096, here);
//!         tiles.load_tile(4096, b, [0, 0], 4096, here);
//!     }
//!     thread::sync_threads();
//!     here.wait(0);
//!     let mut sums = <[f32; 32]>::ZERO;
//!     let mut products = wgmma::begin(&mut sums);
//!     products.add(Tile::<f16, true>::new(tiles, 0), Tile::<f16, true>::new(tiles, 4096));
//!     products.commit().wait();
//!     for (i, sum) in sums.into_iter().enumerate() {
//!         let (row, column) = wgmma::place(thread, i);
//!         c.set(row * 64 + column, sum);
//!     }
//! }
//! ```
//!
//! The rules (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"):
//! - All 128 threads execute the same products, with the same tiles. The CPU executor ends the launch if they do not.
//! - Nothing touches the sums before [`InFlight::wait`] has returned, which the compiler ensures, and nothing writes the tiles.
//! - The products read shared memory by the asynchronous proxy, as [bulk copies](crate::bulk) do: what threads have written
//!   there needs a [`fence_proxy_async`](crate::bulk::fence_proxy_async) and a barrier before.
//!
//! **Order of additions.** Each sum takes 16 products at a time, in the order of k, as those of
//! [`m16n8k16_f16`](crate::mma::m16n8k16_f16) are added on compute capability 9.0: so the bits are the same. Of elements of
//! `f32` it takes 8 at a time. The CPU executor has the same bits too. Sums of products of `i8` do not depend on the order.
//!
//! **Eight bits.** Each sum takes 32 products of `F8E4M3` or `F8E5M2` at a time. It and they are truncated to 13 bits below the
//! largest, and then the sum to 13 bits of a fraction. So sums of many should be added by the threads, with rounding: a few
//! hundred products at a time in sums that begin with 0.
//!
//! Build a module for `sm_90a`: for other architectures this module does not exist. The CPU executor reads the tiles when the
//! products are waited for; under a pseudo-random order some are read at once. The check `race` reports a tile that is written
//! before the wait, and a tile that was written without a proxy fence.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

use crate::{Plain, imp, imp::Place, unrolled, view::Shared};

/// The length along k of a tile of `f16` or `bf16`.
pub const DEPTH: usize = <f16 as Factor>::DEPTH;

/// The elements of such a tile for each 64 of its rows of A (columns of B).
pub const PANEL: usize = <f16 as Factor>::PANEL;

mod sealed {
    pub trait Sealed {
        /// How the tensor cores read an element.
        const FORMAT: super::Format;
    }
}

/// A format of the factors of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Format {
    F16,
    Bf16,
    Tf32,
    I8,
    E4m3,
    E5m2,
}

/// An element type of tiles: `f16`, `bf16`, `f32`, `i8`, `F8E4M3` or `F8E5M2`.
///
/// Of an `f32` the tensor cores read the sign, the exponent and the first 10 bits of the fraction (TF32), and ignore the
/// others. [`TiledMatrix::to_tf32`](crate::tensor_map::TiledMatrix::to_tf32) and [`round_to_tf32`] round elements before.
pub trait Factor: Plain + sealed::Sealed {
    /// The type of the sums of products: `i32` for `i8`, and otherwise `f32`.
    type Sum: Plain;
    /// The length along k of a tile: 128 bytes.
    const DEPTH: usize = 128 / size_of::<Self>();
    /// The elements of a tile for each 64 of its rows of A (columns of B).
    const PANEL: usize = 64 * Self::DEPTH;
}

macro_rules! factors {
    ($($ty:ident: $format:ident, $sum:ident;)*) => { $(
        impl sealed::Sealed for $ty {
            const FORMAT: Format = Format::$format;
        }
        impl Factor for $ty {
            type Sum = $sum;
        }
    )* };
}
factors! {
    f16: F16, f32;
    bf16: Bf16, f32;
    f32: Tf32, f32;
    i8: I8, i32;
    F8E4M3: E4m3, f32;
    F8E5M2: E5m2, f32;
}

/// Returns the nearest number with 10 bits of a fraction (TF32), ties to even. Numbers beyond the largest become infinite, and
/// NaN stays NaN.
#[inline(always)]
pub const fn round_to_tf32(value: f32) -> f32 {
    /// The bits that are dropped.
    const DROPPED: u32 = 13;
    let bits = value.to_bits();
    if value.is_nan() {
        return f32::from_bits(bits | 0x0040_0000);
    }
    let last = bits >> DROPPED & 1;
    let rounded = bits + ((1 << (DROPPED - 1)) - 1 + last);
    f32::from_bits(rounded >> DROPPED << DROPPED)
}

/// The sums of a thread: an array of 8, 32, 64 or 128 numbers of `f32` or `i32`.
pub trait Sums:
    sealed_sums::Sealed
    + Copy
    + AsRef<[<Self as Sums>::Element]>
    + AsMut<[<Self as Sums>::Element]>
    + imp::wgmma::Registers
{
    /// The type of a sum.
    type Element: Plain;
    /// The sums of 64 columns, or of all if they are fewer.
    type Panel: Sums<Element = Self::Element>;
    /// The columns of B and of the sums.
    const COLUMNS: usize;
    /// Zeros.
    const ZERO: Self;
}

mod sealed_sums {
    pub trait Sealed {}
}

macro_rules! sums {
    ($($ty:ident: $zero:literal, $count:literal, $of_a_panel:literal;)*) => { $(
        impl sealed_sums::Sealed for [$ty; $count] {}
        impl Sums for [$ty; $count] {
            type Element = $ty;
            type Panel = [$ty; $of_a_panel];
            const COLUMNS: usize = 2 * $count;
            const ZERO: Self = [$zero; $count];
        }
    )* };
}
sums! {
    f32: 0.0, 8, 8;
    f32: 0.0, 32, 32;
    f32: 0.0, 64, 32;
    f32: 0.0, 128, 32;
    i32: 0, 8, 8;
    i32: 0, 32, 32;
    i32: 0, 64, 32;
    i32: 0, 128, 32;
}

/// Returns the row and the column of sum `i` of a thread, which is 0 to 127 in its warpgroup.
#[inline(always)]
pub const fn place(thread: usize, i: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (
        warp * 16 + lane / 4 + i / 2 % 2 * 8,
        i / 4 * 8 + lane % 4 * 2 + i % 2,
    )
}

/// Returns the row, and the place along k in words of 4 bytes, of register `i` of the 16 that a thread has of a tile of A: see
/// [`add_registers`].
#[inline(always)]
pub const fn place_of_a(thread: usize, i: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (
        warp * 16 + lane / 4 + i % 2 * 8,
        i / 4 * 8 + lane % 4 + i / 2 % 2 * 4,
    )
}

/// A tile of A or B in shared memory, as [tensor maps](crate::tensor_map) with the swizzle of 128 bytes write it.
///
/// If `ALONG_K` is true, a line of 128 bytes has the elements of a row of A (a column of B) along k. Otherwise the tile is made
/// of panels of 64 rows of A (columns of B), one behind the other, and a line of a panel has its 64 elements at one k. Tiles
/// of other elements than those of 16 bits have lines along k.
///
/// So 64 rows of A (columns of B) take [`PANEL`](Factor::PANEL) elements in both cases. A tile starts at a multiple of 1024
/// bytes. One of B with 16 columns has lines along k.
#[derive(Clone, Copy)]
pub struct Tile<T, const ALONG_K: bool> {
    view: Shared<T>,
    i: usize,
}

impl<T: Factor, const ALONG_K: bool> Tile<T, ALONG_K> {
    /// Returns the tile that starts at element `i` of `view`.
    #[inline(always)]
    pub fn new(view: Shared<T>, i: usize) -> Self {
        const {
            assert!(
                ALONG_K || size_of::<T>() == 2,
                "lines of elements of other sizes than 16 bits lie along k"
            )
        };
        Self { view, i }
    }

    #[inline(always)]
    #[track_caller]
    fn operand(self, rows: usize) -> imp::wgmma::Operand {
        self.view.check_current();
        let (start, len) = (self.view.as_ptr(), self.view.len());
        imp::wgmma::operand::<T, ALONG_K>(start, len, self.i, rows, Place::here())
    }
}

/// Begins products that are added to `sums`, of 64 x [`Sums::COLUMNS`] elements.
#[inline(always)]
#[track_caller]
pub fn begin<S: Sums>(sums: &mut S) -> Products<'_, S> {
    imp::wgmma::begin(Place::here());
    Products { sums }
}

/// Adds the product of a tile of A, of which each thread has 16 words of 4 bytes ([`place_of_a`]), and one of B, with
/// [`Sums::COLUMNS`] columns, and waits for it. So the lines of A in memory may have any direction.
///
/// The products are never in flight for a caller: until the wait, the registers of A must not change, and `ptxas` does not see
/// to that. Another warpgroup can multiply meanwhile.
#[inline(always)]
#[track_caller]
pub fn add_registers<T: Factor<Sum = S::Element>, S: Sums>(
    sums: &mut S,
    a: [u32; 16],
    b: Tile<T, true>,
) {
    let (b, place) = (b.operand(S::COLUMNS), Place::here());
    imp::wgmma::begin(place);
    // SAFETY: the tile is in shared memory, and this function waits for the products.
    unsafe { imp::wgmma::multiply_registers::<_, T, true>(sums, a, b, place) };
    imp::wgmma::commit();
    imp::wgmma::wait::<_, 0>(sums, place);
}

/// Adds such a product with rounding: the tensor cores' sums begin with 0, and the threads add them. So sums of many products
/// of 8 bits keep the precision of `f32`.
///
/// The tensor cores multiply 64 columns of B while the threads add the sums of the 64 before.
#[inline(always)]
#[track_caller]
pub fn add_registers_rounded<T: Factor<Sum = f32>, S: Sums<Element = f32>>(
    sums: &mut S,
    a: [u32; 16],
    b: Tile<T, true>,
) {
    let place = Place::here();
    let (panels, count) = const {
        let columns = S::Panel::COLUMNS;
        (S::COLUMNS / columns, columns / 2)
    };
    let mut parts = [S::Panel::ZERO; 2];
    start_panel(&mut parts[0], a, b, 0, place);
    unrolled!(panel < panels of 4 => {
        let [even, odd] = &mut parts;
        let [here, next] = match panel % 2 {
            0 => [even, odd],
            _ => [odd, even],
        };
        if panel + 1 < panels {
            start_panel(next, a, b, panel + 1, place);
            imp::wgmma::wait::<_, 1>(here, place);
        } else {
            imp::wgmma::wait::<_, 0>(here, place);
        }
        unrolled!(i < count of 32 => { sums.as_mut()[count * panel + i] += here.as_ref()[i]; });
    });
}

/// Starts the product of a tile of A in registers and of a panel of B, in sums that begin with 0, as a group of its own.
#[inline(always)]
#[track_caller]
fn start_panel<T: Factor<Sum = f32>, S: Sums<Element = f32>>(
    sums: &mut S,
    a: [u32; 16],
    Tile { view, i }: Tile<T, true>,
    panel: usize,
    place: Place,
) {
    let b = Tile::<T, true>::new(view, i + panel * T::PANEL).operand(S::COLUMNS);
    imp::wgmma::begin(place);
    // SAFETY: the tile is in shared memory, and the caller waits for the products.
    unsafe { imp::wgmma::multiply_registers::<_, T, false>(sums, a, b, place) };
    imp::wgmma::commit();
}

/// Products that a warpgroup adds. The tensor cores may start them at any time, and do at the latest after
/// [`commit`](Self::commit).
#[must_use = "the sums are borrowed until the products are committed and waited for"]
pub struct Products<'a, S> {
    sums: &'a mut S,
}

impl<'a, S: Sums> Products<'a, S> {
    /// Starts to add the product of a tile of A, with 64 rows, and one of B, with [`Sums::COLUMNS`] columns. The sums are of
    /// the type [`Factor::Sum`].
    #[inline(always)]
    #[track_caller]
    pub fn add<T: Factor<Sum = S::Element>, const A_ALONG_K: bool, const B_ALONG_K: bool>(
        &mut self,
        a: Tile<T, A_ALONG_K>,
        b: Tile<T, B_ALONG_K>,
    ) {
        self.multiply::<T, A_ALONG_K, B_ALONG_K, true>(a, b);
    }

    /// Starts to replace the sums by such a product, whatever they are: so they need not be made 0 before.
    #[inline(always)]
    #[track_caller]
    pub fn set<T: Factor<Sum = S::Element>, const A_ALONG_K: bool, const B_ALONG_K: bool>(
        &mut self,
        a: Tile<T, A_ALONG_K>,
        b: Tile<T, B_ALONG_K>,
    ) {
        self.multiply::<T, A_ALONG_K, B_ALONG_K, false>(a, b);
    }

    #[inline(always)]
    #[track_caller]
    fn multiply<T: Factor, const A_ALONG_K: bool, const B_ALONG_K: bool, const ADDS: bool>(
        &mut self,
        a: Tile<T, A_ALONG_K>,
        b: Tile<T, B_ALONG_K>,
    ) {
        const {
            assert!(
                B_ALONG_K || S::COLUMNS.is_multiple_of(64),
                "lines of fewer columns than 64 lie along k"
            )
        };
        let (a, b) = (a.operand(64), b.operand(S::COLUMNS));
        let place = Place::here();
        // SAFETY: the tiles are in shared memory, and the borrow lasts until the products have been waited for.
        unsafe { imp::wgmma::multiply::<S, T, A_ALONG_K, B_ALONG_K, ADDS>(self.sums, a, b, place) }
    }

    /// Ends the group of products, which are in flight from now on.
    #[inline(always)]
    #[track_caller]
    pub fn commit(self) -> InFlight<'a, S> {
        imp::wgmma::commit();
        InFlight { sums: self.sums }
    }
}

/// A group of products in flight.
#[must_use = "products must be waited for"]
pub struct InFlight<'a, S> {
    sums: &'a mut S,
}

impl<S: Sums> InFlight<'_, S> {
    /// Waits until the products have been added. Then the sums can be used again, and the tiles can be written.
    #[inline(always)]
    #[track_caller]
    pub fn wait(self) {
        imp::wgmma::wait::<_, 0>(self.sums, Place::here());
    }
}
