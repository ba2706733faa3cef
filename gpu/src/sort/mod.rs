//! Sort: keys in order, alone, with values, or as positions.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | a network of comparisons: a launch per step |
//! | `reduce_then_scan` | radix sort, three launches per digit: count, add up, scatter |
//! | `ballot` | radix sort, one sweep per digit: tiles wait for each other; ranks by ballots |
//! | `best` | the same, ranks by checked atomic additions, or by `match.any` where many keys have one digit; counts come first |
//!
//! Every variant is stable and gives the same result on every device. Keys are compared as unsigned integers of 1, 2, 4 or 8
//! bytes, by all or some of their bits: the first pass turns the bits of signed integers and floats into such numbers, and the
//! last one turns them back ([`Twist`]). Floats are in the order of `total_cmp`: NaNs with the sign set first, then the numbers
//! with -0 before +0, then the other NaNs; every payload stays as it is.
//!
//! Segments of an array are sorted by two such sorts: all keys with the numbers of their segments, and then by these. Where
//! values or positions are wanted, the first sort finds positions, by which the numbers are then gathered.
//!
//! A radix sort of `k`-byte keys by all bits reads every key once to count and moves it `k` times: `n * k * (1 + 2 k)` bytes,
//! and `2 n v k` for values of `v` bytes.

mod best;
mod bits;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;
mod tile;

pub use best::{
    SortBestDigits, SortBestFirst, SortBestGather, SortBestItems, SortBestKeys, SortBestMarks,
    SortBestSmall, sort_best_digits, sort_best_first, sort_best_gather, sort_best_items,
    sort_best_keys, sort_best_marks, sort_best_small,
};
pub use bits::{Bits, Column, DIGIT_BITS, DIGITS, Pass, Range, Twist, Twists};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "sort",
    summary: "stable sorts of keys, keys with values, and positions: integers and floats, by all or some of their bits",
    ladder: [
        Naive {
            name: "naive",
            idea: "a network of comparisons of keys where they lie: a launch per step, each of which moves everything",
            kernels: ["sort_naive_step", "sort_best_gather", "sort_best_marks"],
        },
        ReduceThenScan {
            name: "reduce_then_scan",
            idea: "digits of 8 bits, three launches per digit: count, add up, scatter; keys are read twice",
            kernels: [
                "sort_reduce_then_scan_count",
                "sort_reduce_then_scan_places",
                "sort_reduce_then_scan_scatter",
                "sort_best_marks",
                "sort_best_gather",
            ],
        },
        Ballot {
            name: "ballot",
            idea: "one sweep per digit: tiles wait for each other's counts; eight ballots find the place of a key",
            kernels: [
                "sort_best_digits",
                "sort_ballot_keys",
                "sort_ballot_items",
                "sort_best_marks",
                "sort_best_gather",
            ],
        },
    ],
    best: {
        idea: "the same, where one atomic addition finds the place, and the order that nothing promises is checked",
        kernels: [
            "sort_best_marks",
            "sort_best_small",
            "sort_best_digits",
            "sort_best_first",
            "sort_best_keys",
            "sort_best_items",
            "sort_best_gather",
        ],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::kernel::{ByValue, Entry, EntryOf};

    /// The kernels for keys of these bits.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Bits + ByValue {
        /// Sorts a small input.
        const SMALL: EntryOf<SortBestSmall<Self>>;
        /// Counts the digits.
        const COUNT: EntryOf<SortBestDigits<Self>>;
        /// The first pass over keys alone.
        const FIRST: EntryOf<SortBestFirst<Self>>;
        /// The later passes over keys alone. There are none over bytes.
        const KEYS: Option<EntryOf<SortBestKeys<Self>>>;
        /// A pass over keys and values.
        const ITEMS: EntryOf<SortBestItems<Self>>;
        /// Copies keys and values by positions.
        const GATHER: EntryOf<SortBestGather<Self>>;
        /// The later passes over keys alone, and a pass over keys and values, of `ballot`.
        #[cfg(feature = "ladder")]
        const BALLOT: (
            Option<EntryOf<SortBestKeys<Self>>>,
            EntryOf<SortBestItems<Self>>,
        );
        /// A step of the network of `naive`.
        #[cfg(feature = "ladder")]
        const NAIVE: EntryOf<SortNaiveStep<Self>>;
        /// The first and the last kernel of `reduce_then_scan`.
        #[cfg(feature = "ladder")]
        const REDUCE_THEN_SCAN: (
            EntryOf<SortReduceThenScanCount<Self>>,
            EntryOf<SortReduceThenScanScatter<Self>>,
        );
    }

    macro_rules! kernels {
        ($($ty:ident: $keys:expr, $ballot:expr;)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const SMALL: EntryOf<SortBestSmall<Self>> = Entry::of::<SortBestSmall<$ty>>();
                const COUNT: EntryOf<SortBestDigits<Self>> = Entry::of::<SortBestDigits<$ty>>();
                const FIRST: EntryOf<SortBestFirst<Self>> = Entry::of::<SortBestFirst<$ty>>();
                const KEYS: Option<EntryOf<SortBestKeys<Self>>> = $keys;
                const ITEMS: EntryOf<SortBestItems<Self>> = Entry::of::<SortBestItems<$ty>>();
                const GATHER: EntryOf<SortBestGather<Self>> = Entry::of::<SortBestGather<$ty>>();
                #[cfg(feature = "ladder")]
                const BALLOT: (
                    Option<EntryOf<SortBestKeys<Self>>>,
                    EntryOf<SortBestItems<Self>>,
                ) = ($ballot, Entry::of::<SortBallotItems<$ty>>());
                #[cfg(feature = "ladder")]
                const NAIVE: EntryOf<SortNaiveStep<Self>> = Entry::of::<SortNaiveStep<$ty>>();
                #[cfg(feature = "ladder")]
                const REDUCE_THEN_SCAN: (
                    EntryOf<SortReduceThenScanCount<Self>>,
                    EntryOf<SortReduceThenScanScatter<Self>>,
                ) = (
                    Entry::of::<SortReduceThenScanCount<$ty>>(),
                    Entry::of::<SortReduceThenScanScatter<$ty>>(),
                );
            }
        )* };
    }
    kernels! {
        u8: None, None;
        u16: Some(Entry::of::<SortBestKeys<u16>>()), Some(Entry::of::<SortBallotKeys<u16>>());
        u32: Some(Entry::of::<SortBestKeys<u32>>()), Some(Entry::of::<SortBallotKeys<u32>>());
        u64: Some(Entry::of::<SortBestKeys<u64>>()), Some(Entry::of::<SortBallotKeys<u64>>());
    }

    /// The second kernel of `reduce_then_scan`.
    #[cfg(feature = "ladder")]
    pub const REDUCE_THEN_SCAN_PLACES: EntryOf<SortReduceThenScanPlaces> =
        Entry::of::<SortReduceThenScanPlaces>();
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
#[cfg(all(feature = "ladder", not(target_arch = "nvptx64")))]
pub use launch::REDUCE_THEN_SCAN_PLACES;
