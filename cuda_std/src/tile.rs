//! Tiles of items that a group of lanes holds: what is the same for a block and for a warp. The group's functions pass the
//! calling lane's index in the group.

use core::ops::Range;

use crate::{Global, GlobalMut, imp, unrolled};

mod sealed {
    pub trait Sealed {}
}

/// A view that a tile can be loaded from: [`Global`] or [`GlobalMut`].
pub trait TileSource<T: Copy>: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn element(self, i: usize) -> T;
    #[doc(hidden)]
    fn chunk<const N: usize>(self, i: usize) -> [T; N];
    #[doc(hidden)]
    fn address(self) -> usize;
}

macro_rules! tile_source {
    ($view:ident) => {
        impl<T> sealed::Sealed for $view<T> {}

        impl<T: Copy> TileSource<T> for $view<T> {
            #[inline(always)]
            #[track_caller]
            fn element(self, i: usize) -> T {
                self.get(i)
            }

            #[inline(always)]
            #[track_caller]
            fn chunk<const N: usize>(self, i: usize) -> [T; N] {
                let items = self.get_chunk(i);
                imp::end_of_loads();
                items
            }

            #[inline(always)]
            fn address(self) -> usize {
                self.as_ptr().addr()
            }
        }
    };
}
tile_source!(Global);
tile_source!(GlobalMut);

/// Returns whether one access moves a lane's items in blocked order, where the tile begins at element `first` of the view at
/// `address`. The same in all lanes.
#[inline(always)]
pub(crate) fn is_one_access<T, const ITEMS: usize>(address: usize, first: usize) -> bool {
    let bytes = ITEMS * size_of::<T>();
    let start = address.wrapping_add(first.wrapping_mul(size_of::<T>()));
    ITEMS == 1 || (matches!(bytes, 2 | 4 | 8 | 16) && start.is_multiple_of(bytes))
}

/// Returns the lane's items in striped order of the tile that begins at element `first`.
#[inline(always)]
#[track_caller]
pub(crate) fn load_striped<T: Copy, const LANES: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    first: usize,
    lane: usize,
) -> [T; ITEMS] {
    let from = first + lane;
    let mut items = [input.element(from); ITEMS];
    unrolled!(k < ITEMS of 32 => {
        if k > 0 {
            items[k] = input.element(from + k * LANES);
        }
    });
    items
}

/// Returns the lane's items in striped order of the tile that begins with `elements`; behind them `fill`.
#[inline(always)]
#[track_caller]
pub(crate) fn load_striped_part<T: Copy, const LANES: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    elements: Range<usize>,
    fill: T,
    lane: usize,
) -> [T; ITEMS] {
    if elements.len() >= LANES * ITEMS {
        return load_striped::<T, LANES, ITEMS>(input, elements.start, lane);
    }
    let len = elements.len();
    let mut items = [fill; ITEMS];
    unrolled!(k < ITEMS of 32 => {
        let item = k * LANES + lane;
        if item < len {
            items[k] = input.element(elements.start + item);
        }
    });
    items
}

/// Writes the lane's items in striped order of the tile that begins at element `first`.
#[inline(always)]
#[track_caller]
pub(crate) fn store_striped<T: Copy, const LANES: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    first: usize,
    items: [T; ITEMS],
    lane: usize,
) {
    let from = first + lane;
    unrolled!(k < ITEMS of 32 => {
        output.set(from + k * LANES, items[k]);
    });
}

/// Writes the lane's items in striped order of the tile that begins with `elements`, and nothing behind them.
#[inline(always)]
#[track_caller]
pub(crate) fn store_striped_part<T: Copy, const LANES: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    elements: Range<usize>,
    items: [T; ITEMS],
    lane: usize,
) {
    if elements.len() >= LANES * ITEMS {
        return store_striped::<T, LANES, ITEMS>(output, elements.start, items, lane);
    }
    let len = elements.len();
    unrolled!(k < ITEMS of 32 => {
        let item = k * LANES + lane;
        if item < len {
            output.set(elements.start + item, items[k]);
        }
    });
}

/// Returns for each of the lane's items in blocked order whether it is not the `same` as the item before it. `neighbor` is the
/// one before the first.
#[inline(always)]
#[allow(unused_assignments)] // The last one has no reader.
pub(crate) fn run_heads<T: Copy, const ITEMS: usize>(
    items: [T; ITEMS],
    mut neighbor: Option<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    let mut heads = [true; ITEMS];
    unrolled!(k < ITEMS of 32 => {
        heads[k] = !neighbor.is_some_and(|neighbor| same(neighbor, items[k]));
        neighbor = Some(items[k]);
    });
    heads
}

/// Returns for each of the lane's items in blocked order whether it is not the `same` as the item after it. `neighbor` is the
/// one after the last.
#[inline(always)]
#[allow(unused_assignments)] // The last one has no reader.
pub(crate) fn run_tails<T: Copy, const ITEMS: usize>(
    items: [T; ITEMS],
    mut neighbor: Option<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    let mut tails = [true; ITEMS];
    unrolled!(k < ITEMS of 32 => {
        let item = items[ITEMS - 1 - k];
        tails[ITEMS - 1 - k] = !neighbor.is_some_and(|neighbor| same(item, neighbor));
        neighbor = Some(item);
    });
    tails
}
