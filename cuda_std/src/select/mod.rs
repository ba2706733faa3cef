//! Selection: the elements of an array that a predicate names, in order and without gaps.
//!
//! A predicate is a [`MapFn`] whose result is a `bool`: of an element, or of an element and one of a second array at the same
//! position, such as a flag. [`select_kernel!`](crate::select_kernel!) makes kernels of it, and `Device::select` of the
//! library `warpwright` launches them:
//!
//! ```
//! use cuda_std::map::MapFn;
//!
//! /// The points of a sequence of samples that lie outside of a band.
//! #[repr(C)]
//! #[derive(Clone, Copy)]
//! pub struct Outliers {
//!     pub center: f32,
//!     pub width: f32,
//! }
//!
//! // SAFETY: two plain numbers.
//! unsafe impl MapFn for Outliers {
//!     type In = f32;
//!     type Out = bool;
//!
//!     fn call(self, _index: usize, sample: f32) -> bool {
//!         (sample - self.center).abs() > self.width
//!     }
//! }
//!
//! cuda_std::select_kernel!(outliers: Outliers);
//! ```
//!
//! # How it works
//! [`select_tiles`] is the body of one kernel: one pass with decoupled look-back (Merrill and Garland, "Single-pass parallel
//! prefix scan with decoupled look-back", 2016). A block takes a tile by a ticket, holds the tile's elements in registers,
//! counts the selected ones and publishes the count, then adds up the counts of the tiles before it until it meets one whose
//! block has already published its sum. State and count share one 64-bit word, so relaxed accesses are enough. The words carry
//! the number of the launch: the next launch needs no memory set to zero.
//!
//! [`select_persistent`] is that of the other one, for large arrays: as many blocks as are resident, each with a ring of tiles
//! in shared memory.

mod look_back;
mod persistent;
mod tile;

pub use persistent::{ring_bytes, select_persistent};

use self::tile::{Counted, take};
use crate::{
    Global, GlobalMut, Plain, Shared,
    map::{First, MapFn, MapInput, Passed, Second},
    shared::{DynamicShared, SharedLayout},
    thread, unrolled,
    warp::Shuffle,
};

/// A [`MapFn`] whose result says whether an element is selected.
pub trait Predicate: MapFn<Out = bool, In: MapInput<First: Plain + Shuffle>> {}
impl<F: MapFn<Out = bool, In: MapInput<First: Plain + Shuffle>>> Predicate for F {}

/// Where the second argument of a predicate of two comes from: [`Arrays`] or [`Neighbors`].
pub trait Arguments<F: Predicate>: 'static {
    /// Whether it is the element before. The first element is then selected without a call.
    const NEIGHBORS: bool;

    /// Makes the second argument of the element before.
    #[doc(hidden)]
    fn second(before: First<F>) -> Option<Second<F>>;
}

/// The predicate takes an element of each array that it has.
#[derive(Debug, Clone, Copy)]
pub struct Arrays;

/// The predicate takes an element and the one before it.
#[derive(Debug, Clone, Copy)]
pub struct Neighbors;

impl<F: Predicate> Arguments<F> for Arrays {
    const NEIGHBORS: bool = false;

    #[inline(always)]
    fn second(_: First<F>) -> Option<Second<F>> {
        None
    }
}

impl<F: Predicate> Arguments<F> for Neighbors
where
    First<F>: Is<Second<F>>,
{
    const NEIGHBORS: bool = true;

    #[inline(always)]
    fn second(before: First<F>) -> Option<Second<F>> {
        Some(before.it())
    }
}

/// A type that is `T`.
#[doc(hidden)]
pub trait Is<T> {
    fn it(self) -> T;
}

impl<T> Is<T> for T {
    #[inline(always)]
    fn it(self) -> T {
        self
    }
}

/// The mode of a launch: the selected elements are written.
pub const SELECT: u32 = 0;
/// The mode of a launch: the selected elements are only counted.
pub const COUNT: u32 = 1;
/// The mode of a launch: the other elements are written too, in order behind all selected ones, whose number is already there.
pub const PARTITION: u32 = 2;

/// The threads of a block of the kernels that [`select_kernel!`](crate::select_kernel!) makes.
pub const BLOCK: usize = 256;
/// The 16-byte loads per thread and tile of these kernels.
pub const ROUNDS: usize = 4;
/// The slots of the ring of the one with persistent blocks.
pub const SLOTS: usize = 4;

/// Returns the resident blocks per multiprocessor of the kernel with persistent blocks that
/// [`select_kernel!`](crate::select_kernel!) makes, for elements of type `T`.
pub const fn resident<T>() -> u32 {
    // Elements of 1 and 2 bytes spill with the registers of three blocks.
    if size_of::<T>() <= 2 { 2 } else { 3 }
}

/// Returns the number of elements of a tile: `rounds` loads of 16 bytes for each of `threads` threads.
pub const fn tile_len<T>(threads: usize, rounds: usize) -> usize {
    threads * rounds * (16 / size_of::<T>())
}

/// Returns the number of tiles that `len` elements make if the first one is at this address: tiles begin at multiples of 16
/// bytes. There is at least one tile.
pub const fn tiles<T>(threads: usize, rounds: usize, address: usize, len: usize) -> usize {
    let tiles = (len + before::<T>(address)).div_ceil(tile_len::<T>(threads, rounds));
    if tiles > 0 { tiles } else { 1 }
}

/// Returns the number of elements between the multiple of 16 bytes before an address and the address.
const fn before<T>(address: usize) -> usize {
    address / size_of::<T>() % (16 / size_of::<T>())
}

/// Returns the number of 64-bit words that a launch of `tiles` blocks keeps in global memory.
pub const fn control_len(tiles: usize) -> usize {
    1 + tiles
}

/// Returns the dynamic shared memory of a block in bytes: the tile, a sum per warp, and two words.
pub const fn shared_bytes(threads: usize, rounds: usize) -> usize {
    SharedLayout::new()
        .array::<u64>(2)
        .array::<u128>(threads * rounds)
        .array::<u32>(threads / 32)
        .bytes()
}

/// Writes the elements of `items` that the predicate selects to `output`, in order, and their number to `count[0]`.
///
/// `A` says where the predicate's second argument comes from. The predicate is called once per element, in no particular
/// order. The result is the same in every launch.
///
/// Launch: [`tiles`] blocks of `THREADS` threads (a multiple of 32 up to 1024), `ROUNDS` from 1 to 8, and [`shared_bytes`].
/// Reads every element once, and writes every selected element once. `mode` is [`SELECT`], [`COUNT`] (nothing is written to
/// `output`) or [`PARTITION`].
///
/// # Contract
/// `second` is as long as `items` if the predicate takes two arrays. `control` has [`control_len`]
/// elements, which are 0 before the first launch; launches in order may use them again, with the same number of tiles.
/// `output` has room for the selected elements, or in the mode [`PARTITION`] for all, and does not overlap the inputs; in the
/// mode [`SELECT`] it may be `items` itself. For [`PARTITION`] `count[0]` is the number of selected elements and stays.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn select_tiles<F: Predicate, A: Arguments<F>, const THREADS: usize, const ROUNDS: usize>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    mode: u32,
    control: GlobalMut<u64>,
    output: GlobalMut<First<F>>,
    count: GlobalMut<u64>,
) {
    const {
        assert!(THREADS.is_multiple_of(32) && THREADS <= 1024 && ROUNDS >= 1 && ROUNDS <= 8);
        assert!(
            F::In::ARRAYS > 0,
            "a selection takes a predicate of elements"
        );
    }
    // SAFETY: the only one in the kernel; the launch gives `shared_bytes`.
    let mut memory = unsafe { DynamicShared::new() };
    let words = memory.carve::<u64>(2);
    let compact = memory.carve::<First<F>>(tile_len::<First<F>>(THREADS, ROUNDS));
    let totals = memory.carve::<u32>(THREADS / 32);
    let (taken, tile) = take::<F, A, THREADS, ROUNDS>(predicate, items, second, control, words);
    let counted = tile.count::<ROUNDS>(totals);
    let written = if mode == PARTITION { None } else { Some(count) };
    let is_in_place = is_in_place(items, output);
    taken.tell(control, counted.selected, words, written, is_in_place);
    let Counted {
        loaded,
        masks,
        starts,
        below,
        selected,
    } = counted;
    if mode != COUNT {
        let (first, end) = tile.bounds::<ROUNDS>();
        unrolled!(round < ROUNDS => {
            let mut rank = below + starts[round];
            let chunk = tile.chunk_first::<ROUNDS>(round);
            loaded[round].fold((), |(), item, k| {
                if masks[round] >> k & 1 != 0 {
                    compact.set(rank as usize, item);
                    rank += 1;
                } else if mode == PARTITION && (first..end).contains(&(chunk + k)) {
                    compact.set(selected as usize + (chunk + k - first) - rank as usize, item);
                }
            });
        });
    }
    thread::sync_threads();
    let prefix = words.get(1) as usize;
    if mode == COUNT {
        return;
    }
    let (first, end) = tile.bounds::<ROUNDS>();
    let is_there = is_in_place && first - tile.shift == prefix && end - first == selected as usize;
    if !is_there {
        write_out::<_, THREADS>(compact, output, prefix, selected as usize);
    }
    if mode == PARTITION {
        let others = compact.skip(selected as usize);
        // Elements before this tile that are not selected.
        let from = count.get(0) as usize + (first - tile.shift) - prefix;
        write_out::<_, THREADS>(others, output, from, end - first - selected as usize);
    }
}

/// Returns whether the selected elements replace the items.
///
/// Then a tile's elements are written where tiles before it were. Those are read: a block publishes its tile's count when it
/// has read the tile, and writes when it knows the counts of all tiles before. So the counts order the writes behind the reads,
/// by fences. A tile whose elements all stay where they are is not written, since the next one may read its last element.
#[inline(always)]
fn is_in_place<T: Plain>(items: Global<T>, output: GlobalMut<T>) -> bool {
    items.as_ptr().addr() == output.as_ptr().addr()
}

/// Writes the first `len` elements of `compact` to `output` from element `at` on.
#[inline(always)]
#[track_caller]
fn write_out<T: Plain, const THREADS: usize>(
    compact: Shared<T>,
    output: GlobalMut<T>,
    at: usize,
    len: usize,
) {
    match size_of::<T>() {
        1 => write_words::<T, THREADS, 4>(compact, output, at, len),
        2 => write_words::<T, THREADS, 2>(compact, output, at, len),
        _ => write_words::<T, THREADS, 1>(compact, output, at, len),
    }
}

/// [`write_out`] by stores of `N` elements where the output is aligned for them.
#[inline(always)]
#[track_caller]
fn write_words<T: Plain, const THREADS: usize, const N: usize>(
    compact: Shared<T>,
    output: GlobalMut<T>,
    at: usize,
    len: usize,
) {
    let t = thread::thread_idx_x() as usize;
    let past = (output.as_ptr().addr() / size_of::<T>()).wrapping_add(at) % N;
    let head = ((N - past) % N).min(len);
    let words = (len - head) / N;
    let mut word = t;
    while word < words {
        let from = head + word * N;
        let mut elements = [compact.get(from); N];
        unrolled!(k < N => { elements[k] = compact.get(from + k); });
        output.set_chunk_streaming(at + from, elements);
        word += THREADS;
    }
    if const { N > 1 } {
        let tail = head + words * N;
        if t < head {
            output.set_streaming(at + t, compact.get(t));
        }
        if tail + t < len {
            output.set_streaming(at + tail + t, compact.get(tail + t));
        }
    }
}

/// A predicate with kernels of its own. [`select_kernel!`](crate::select_kernel!) implements it.
///
/// # Safety
/// The kernels must keep the contracts of [`select_tiles`] and of [`select_persistent`], with [`Arrays`], [`BLOCK`], [`ROUNDS`]
/// and [`SLOTS`].
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait SelectKernel: Predicate {
    /// The kernel with a block per tile.
    const KERNEL: crate::kernel::Entry<Parameters<Self>>;
    /// The kernel with persistent blocks. Modules for architectures without asynchronous copies do not have it.
    const PERSISTENT: crate::kernel::Entry<PersistentParameters<Self>>;
}

/// The parameters of a selection's kernel: those of [`select_tiles`].
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<F> = (
    Passed<F>,
    Global<First<F>>,
    Global<Second<F>>,
    u32,
    GlobalMut<u64>,
    GlobalMut<First<F>>,
    GlobalMut<u64>,
);

/// The parameters of a kernel with persistent blocks: those of [`select_persistent`].
#[cfg(not(target_arch = "nvptx64"))]
pub type PersistentParameters<F> = (
    Passed<F>,
    Global<First<F>>,
    Global<Second<F>>,
    GlobalMut<u64>,
    GlobalMut<u64>,
    GlobalMut<First<F>>,
    GlobalMut<u64>,
);

/// Makes the kernels of a predicate: `select_kernel!(name: Type);`, or several separated by commas. `Type` implements
/// [`MapFn`](crate::map::MapFn) with the result `bool`, of an element or of a pair from two arrays.
///
/// The kernels are `name` and `name__persistent` in the PTX. The second one is for large arrays and takes asynchronous copies,
/// so modules for architectures before `sm_80` do not have it. With a module that does not have it, the first one selects from
/// arrays of every size.
#[macro_export]
macro_rules! select_kernel {
    ($($name:ident: $predicate:ty),+ $(,)?) => { $(
        const _: () = {
            /// Writes the elements that the predicate selects.
            ///
            /// # Safety
            /// The contract of `cuda_std::select::select_tiles` must hold.
            #[$crate::kernel(launch_bounds($crate::select::BLOCK as u32), marker = Marker)]
            unsafe fn $name(
                predicate: $crate::map::Passed<$predicate>,
                items: $crate::Global<$crate::map::First<$predicate>>,
                second: $crate::Global<$crate::map::Second<$predicate>>,
                mode: u32,
                control: $crate::GlobalMut<u64>,
                output: $crate::GlobalMut<$crate::map::First<$predicate>>,
                count: $crate::GlobalMut<u64>,
            ) {
                use $crate::select::{Arrays, BLOCK, ROUNDS, select_tiles};
                select_tiles::<_, Arrays, BLOCK, ROUNDS>(
                    predicate, items, second, mode, control, output, count,
                );
            }

            // A scope of its own: the function's name is the beginning of its entry's.
            #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
            const _: () = {
                /// Writes the elements that the predicate selects.
                ///
                /// # Safety
                /// The contract of `cuda_std::select::select_persistent` must hold.
                #[$crate::kernel(
                    launch_bounds(
                        $crate::select::BLOCK as u32,
                        $crate::select::resident::<$crate::map::First<F>>()
                    ),
                    dynamic_shared($crate::select::ring_bytes(
                        $crate::select::BLOCK,
                        $crate::select::ROUNDS,
                        $crate::select::SLOTS,
                    )),
                    instances(persistent: ($predicate)),
                    marker = PersistentMarker
                )]
                unsafe fn $name<F: $crate::select::Predicate>(
                    predicate: $crate::map::Passed<F>,
                    items: $crate::Global<$crate::map::First<F>>,
                    second: $crate::Global<$crate::map::Second<F>>,
                    control: $crate::GlobalMut<u64>,
                    statuses: $crate::GlobalMut<u64>,
                    output: $crate::GlobalMut<$crate::map::First<F>>,
                    count: $crate::GlobalMut<u64>,
                ) {
                    use $crate::select::{Arrays, BLOCK, ROUNDS, SLOTS, select_persistent};
                    select_persistent::<_, Arrays, BLOCK, ROUNDS, SLOTS>(
                        predicate, items, second, control, statuses, output, count,
                    );
                }

                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: these are the kernels above, whose bodies are `select_tiles` and `select_persistent`.
                unsafe impl $crate::select::SelectKernel for $predicate {
                    const KERNEL: $crate::kernel::Entry<$crate::select::Parameters<Self>> =
                        $crate::kernel::Entry::of::<Marker>();
                    const PERSISTENT: $crate::kernel::Entry<
                        $crate::select::PersistentParameters<Self>,
                    > = $crate::kernel::Entry::of::<PersistentMarker<Self>>();
                }
            };
        };
    )+ };
}

/// Returns whether the predicate selects element `i`. See [`select_tiles`].
#[inline(always)]
#[track_caller]
pub fn is_selected<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    i: usize,
) -> bool {
    let other = if const { A::NEIGHBORS } {
        if i == 0 {
            return true;
        }
        A::second(items.get(i - 1))
    } else if const { F::In::ARRAYS > 1 } {
        Some(second.get(i))
    } else {
        None
    };
    // SAFETY: it is an element if there is a second array.
    unsafe { predicate.call_joined(i, items.get(i), other) }
}

/// Returns whether a predicate of [`Neighbors`] selects element `i`, which is `item` and not the first one.
#[inline(always)]
pub fn is_selected_after<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    i: usize,
    item: First<F>,
    before: First<F>,
) -> bool {
    const { assert!(A::NEIGHBORS, "the second argument is the element before") };
    // SAFETY: the second argument is an element.
    unsafe { predicate.call_joined(i, item, A::second(before)) }
}
