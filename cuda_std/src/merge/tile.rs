//! A block's tile: how its parts are loaded, merged and written.
//!
//! ```text
//! merge of lists a and b, the thread at element `diagonal` of the merged order:
//!     before = how many of the elements up to there are of a                      (a search in shared memory)
//!     x = a[before], y = b[diagonal - before]
//!     for each of the thread's elements: take x, unless a has ended or y is less; load the next one of that list
//!     barrier: does each thread end where the next one begins? if not, all take their elements unmerged
//! sorted_items: compare neighbors, now the even pairs and now the odd ones, until nothing can be out of order
//! ```
//!
//! Each thread makes as many elements as any other, however the lists lie. The test makes sure that no element is lost or
//! doubled, whatever the comparison says; its barrier is needed anyway.

use super::{THREADS, chunk_len, items, room_len};
use crate::{Global, GlobalMut, Plain, Shared, merge::Compare, thread, unrolled};

/// The most elements of a thread.
const MOST: usize = 16;

/// Some elements of an array that follow one another.
#[derive(Clone, Copy)]
pub struct Side<T> {
    pub array: Global<T>,
    pub from: usize,
    pub len: usize,
}

impl<T: Plain> Side<T> {
    /// Returns element `i`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, i: usize) -> T {
        self.array.get(self.from + i)
    }

    /// Returns `len` of the elements, from element `from` on.
    #[inline(always)]
    pub fn part(self, from: usize, len: usize) -> Self {
        Self {
            from: self.from + from,
            len,
            ..self
        }
    }
}

/// Two sorted lists in a tile: where each begins, and the place behind its last element.
#[derive(Clone, Copy)]
pub struct Lists {
    pub a: [u32; 2],
    pub b: [u32; 2],
}

impl Lists {
    /// Returns the number of elements of the first list.
    #[inline(always)]
    pub fn of_a(self) -> u32 {
        self.a[1] - self.a[0]
    }

    /// Returns the number of all elements.
    #[inline(always)]
    pub fn len(self) -> u32 {
        self.of_a() + self.b[1] - self.b[0]
    }

    /// Returns the place of element `i` of the first list and then the second.
    #[inline(always)]
    fn place(self, i: u32) -> u32 {
        if i < self.of_a() {
            self.a[0] + i
        } else {
            self.b[0] + (i - self.of_a())
        }
    }
}

/// An element in registers, as words: a choice between two elements is one between numbers, which needs no memory.
#[derive(Clone, Copy)]
pub struct Words([u32; 4]);

impl Words {
    const ZERO: Self = Self([0; 4]);

    #[inline(always)]
    fn of<T: Plain>(element: T) -> Self {
        let mut words = [0_u32; 4];
        // SAFETY: an element has at most 16 bytes. Any bytes are a number.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (&raw const element).cast::<u8>(),
                (&raw mut words).cast::<u8>(),
                size_of::<T>(),
            );
        }
        Self(words)
    }

    #[inline(always)]
    fn element<T: Plain>(self) -> T {
        // SAFETY: an element has at most 16 bytes, and any bytes are one.
        unsafe { core::mem::transmute_copy(&self.0) }
    }

    /// Returns `a` or `b`.
    #[inline(always)]
    fn pick(is_a: bool, a: Self, b: Self) -> Self {
        let word = |i: usize| if is_a { a.0[i] } else { b.0[i] };
        Self([word(0), word(1), word(2), word(3)])
    }
}

/// The elements of a thread.
pub type Items = [Words; MOST];

/// The elements of a thread, in their merged order, and where they come from.
#[derive(Clone, Copy)]
pub struct Merged {
    pub items: Items,
    /// The elements of the first list that come before this thread's.
    pub before: u32,
    /// Bit `k` is set if element `k` is of the first list.
    pub of_a: u32,
}

impl Merged {
    /// Returns the position of element `k` in the first list and then the second, for the thread at this diagonal.
    #[inline(always)]
    pub fn source(&self, lists: Lists, diagonal: u32, k: usize) -> u32 {
        let from_a = (self.of_a & ((1 << k) - 1)).count_ones();
        if self.of_a >> k & 1 != 0 {
            self.before + from_a
        } else {
            lists.of_a() + (diagonal - self.before) + (k as u32 - from_a)
        }
    }
}

/// Returns this thread's index.
#[inline(always)]
pub fn tid() -> usize {
    thread::thread_idx_x() as usize
}

/// Returns any element, for a place that is not read.
#[inline(always)]
fn any<T: Plain>() -> T {
    // SAFETY: any bits are a plain value.
    unsafe { core::mem::zeroed() }
}

/// Returns the number of elements between the multiple of 16 bytes before element `i` of an array and the element.
#[inline(always)]
pub fn shift_of<T>(address: usize, i: usize) -> usize {
    address.div_euclid(size_of::<T>()).wrapping_add(i) % chunk_len::<T>()
}

/// The tile of a block in shared memory.
#[derive(Clone, Copy)]
pub struct Tile<T> {
    pub elements: Shared<T>,
    /// A word for each thread.
    pub starts: Shared<u32>,
}

impl<T: Plain> Tile<T> {
    /// The elements of a thread.
    pub const ITEMS: usize = items::<T>();

    /// Copies two parts of arrays to the tile, a chunk at a time, and returns their places. A barrier must follow.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, a: Side<T>, b: Side<T>) -> Lists {
        match const { chunk_len::<T>() } {
            16 => self.load_chunks::<16>(a, b),
            8 => self.load_chunks::<8>(a, b),
            4 => self.load_chunks::<4>(a, b),
            2 => self.load_chunks::<2>(a, b),
            _ => self.load_elements(a, b),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn load_chunks<const N: usize>(self, a: Side<T>, b: Side<T>) -> Lists {
        let shift = |side: Side<T>| shift_of::<T>(side.array.as_ptr().addr(), side.from);
        let shifts = [shift(a), shift(b)];
        let of_a = (shifts[0] + a.len).div_ceil(N);
        let chunks = of_a + (shifts[1] + b.len).div_ceil(N);
        let rounds = const { room_len::<T>().div_ceil(N).div_ceil(THREADS) };
        // Element by element: an array that is copied from a constant stays in memory.
        let mut held = [[any::<T>(); N]; MOST];
        let mut whole = 0_u32;
        unrolled!(round < rounds of 16 => {
            let chunk = round * THREADS + tid();
            if chunk < chunks {
                let (side, shift, at) = if chunk < of_a {
                    (a, shifts[0], chunk * N)
                } else {
                    (b, shifts[1], (chunk - of_a) * N)
                };
                // The first chunk may begin before the array, and the last one end behind it.
                let place = (side.from + at).wrapping_sub(shift);
                if side.from + at >= shift && place + N <= side.array.len() {
                    held[round] = side.array.get_chunk::<N>(place);
                    whole |= 1 << round;
                } else {
                    let mut i = 0;
                    while i < N {
                        if at + i >= shift && at + i - shift < side.len {
                            self.elements.set(chunk * N + i, side.get(at + i - shift));
                        }
                        i += 1;
                    }
                }
            }
        });
        unrolled!(round < rounds of 16 => {
            if whole >> round & 1 != 0 {
                self.elements.set_chunk((round * THREADS + tid()) * N, held[round]);
            }
        });
        let begins = [shifts[0], of_a * N + shifts[1]];
        Lists {
            a: [begins[0] as u32, (begins[0] + a.len) as u32],
            b: [begins[1] as u32, (begins[1] + b.len) as u32],
        }
    }

    /// [`load`](Self::load) of elements that are as large as a chunk, or whose size does not divide one.
    #[inline(always)]
    #[track_caller]
    fn load_elements(self, a: Side<T>, b: Side<T>) -> Lists {
        let rounds = const { items::<T>() };
        unrolled!(round < rounds of 16 => {
            let i = round * THREADS + tid();
            if i < a.len + b.len {
                let (side, at) = if i < a.len { (a, i) } else { (b, i - a.len) };
                self.elements.set(i, side.get(at));
            }
        });
        let [middle, end] = [a.len as u32, (a.len + b.len) as u32];
        Lists {
            a: [0, middle],
            b: [middle, end],
        }
    }

    /// Writes the `len` elements of the tile from place `from` on to the output, from element `at` on. The element `at` of the
    /// output lies as far behind a multiple of 16 bytes as place `from` of the tile.
    #[inline(always)]
    #[track_caller]
    pub fn write(self, from: usize, len: usize, output: GlobalMut<T>, at: usize) {
        match const { chunk_len::<T>() } {
            16 => self.write_chunks::<16>(from, len, output, at),
            8 => self.write_chunks::<8>(from, len, output, at),
            4 => self.write_chunks::<4>(from, len, output, at),
            2 => self.write_chunks::<2>(from, len, output, at),
            _ => self.write_chunks::<1>(from, len, output, at),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn write_chunks<const N: usize>(
        self,
        from: usize,
        len: usize,
        output: GlobalMut<T>,
        at: usize,
    ) {
        let end = from + len;
        let mut place = tid() * N;
        while place < end {
            if place >= from && place + N <= end {
                output.set_chunk_streaming(at + place - from, self.elements.get_chunk::<N>(place));
            } else {
                let mut i = place;
                while i < place + N {
                    if i >= from && i < end {
                        output.set(at + i - from, self.elements.get(i));
                    }
                    i += 1;
                }
            }
            place += THREADS * N;
        }
    }

    /// Puts the thread's elements at their places, from place `from + diagonal` on, of which those below `len` exist.
    #[inline(always)]
    #[track_caller]
    pub fn put(self, items: &Items, from: usize, diagonal: u32, len: u32) {
        unrolled!(k < (Self::ITEMS) of 16 => {
            let i = diagonal + k as u32;
            if i < len {
                self.elements.set(from + i as usize, items[k].element());
            }
        });
    }

    /// Returns the thread's elements from place `from + diagonal` on, of which those below `len` exist, sorted.
    #[inline(always)]
    #[track_caller]
    pub fn sorted_items<C: Compare<Item = T>>(
        self,
        compare: C,
        from: usize,
        diagonal: u32,
        len: u32,
    ) -> Items {
        let mut items = [Words::ZERO; MOST];
        unrolled!(k < (Self::ITEMS) of 16 => {
            let i = diagonal + k as u32;
            if i < len {
                items[k] = self.words(from + i as usize);
            }
        });
        // Neighbors change places until none has to: as many turns as there are pairs, each of the odd and the even ones.
        let mut turn = 0;
        while turn < Self::ITEMS.div_ceil(2) {
            unrolled!(parity < 2 of 4 => {
                unrolled!(pair < (Self::ITEMS / 2) => {
                    let k = 2 * pair + parity;
                    if k + 1 < Self::ITEMS {
                        let (a, b) = (items[k % MOST], items[(k + 1) % MOST]);
                        let is_there = diagonal + (k as u32) + 1 < len;
                        let turns = is_there && compare.is_less(b.element(), a.element());
                        items[k % MOST] = Words::pick(turns, b, a);
                        items[(k + 1) % MOST] = Words::pick(turns, a, b);
                    }
                });
            });
            turn += 1;
        }
        items
    }

    /// Merges two lists of the tile. Returns the thread's elements of the merged order, from element `diagonal` on, which is
    /// below or equal to the number of all. Equal elements of the first list come first.
    ///
    /// The next thread has the next diagonal, unless all elements have a thread. If parts of threads anywhere in the block do
    /// not follow one another, all threads get their elements in the order in which they lie. Ends with a barrier: the tile can
    /// be written.
    #[inline(always)]
    #[track_caller]
    #[allow(unused_assignments)] // The last ones have no reader.
    pub fn merge<C: Compare<Item = T>>(self, compare: C, lists: Lists, diagonal: u32) -> Merged {
        let (of_a, len) = (lists.of_a(), lists.len());
        let before = self.cut(compare, lists, diagonal);
        self.starts.set(tid(), before);
        thread::sync_threads();
        let [mut i, a_end] = [lists.a[0] + before, lists.a[1]];
        let [mut j, b_end] = [lists.b[0] + (diagonal - before), lists.b[1]];
        let element = |place: u32, end: u32| {
            if place < end {
                self.words(place as usize)
            } else {
                Words::ZERO
            }
        };
        let (mut x, mut y) = (element(i, a_end), element(j, b_end));
        let mut merged = Merged {
            items: [Words::ZERO; MOST],
            before,
            of_a: 0,
        };
        unrolled!(k < (Self::ITEMS) of 16 => {
            let is_a = i < a_end && (j >= b_end || !compare.is_less(y.element(), x.element()));
            merged.items[k] = Words::pick(is_a, x, y);
            merged.of_a |= u32::from(is_a) << k;
            i += u32::from(is_a);
            j += u32::from(!is_a);
            if k + 1 < Self::ITEMS {
                let (place, end) = if is_a { (i, a_end) } else { (j, b_end) };
                let next = element(place, end);
                (x, y) = (Words::pick(is_a, next, x), Words::pick(is_a, y, next));
            }
        });
        let ends = i - lists.a[0];
        let next = if diagonal + Self::ITEMS as u32 >= len {
            of_a
        } else {
            self.starts.get(tid() + 1)
        };
        if thread::sync_threads_or(u32::from(ends != next)) != 0 {
            merged.before = diagonal.min(of_a);
            merged.of_a = 0;
            unrolled!(k < (Self::ITEMS) of 16 => {
                let i = diagonal + k as u32;
                if i < len {
                    merged.items[k] = self.words(lists.place(i) as usize);
                    merged.of_a |= u32::from(i < of_a) << k;
                }
            });
            thread::sync_threads();
        }
        merged
    }

    /// Returns the element at a place, as words.
    #[inline(always)]
    #[track_caller]
    fn words(self, place: usize) -> Words {
        Words::of(self.elements.get(place))
    }

    /// Returns how many of the first `diagonal` elements of the merged order are of the first list.
    #[inline(always)]
    #[track_caller]
    fn cut<C: Compare<Item = T>>(self, compare: C, lists: Lists, diagonal: u32) -> u32 {
        let of_b = lists.b[1] - lists.b[0];
        let mut low = diagonal.saturating_sub(of_b);
        let mut high = diagonal.min(lists.of_a());
        while low < high {
            let middle = (low + high) / 2;
            let a = self.elements.get((lists.a[0] + middle) as usize);
            let b = lists.b[0] + (diagonal - 1 - middle);
            if compare.is_less(self.elements.get(b as usize), a) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}
