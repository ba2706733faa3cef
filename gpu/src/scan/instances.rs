//! The instances: every operator for every element type, for every kernel of the family. Sums and products of signed integers
//! are those of unsigned ones.

/// Calls `$callback!` with one row per instance: its suffix and its generic argument.
macro_rules! with_scans {
    ($callback:ident) => {
        $callback! {
            sum_u8: (SumOfBytes),
            sum_u16: (Sum<u16>),
            sum_u32: (Sum<u32>),
            sum_u64: (Sum<u64>),
            sum_f32: (Sum<f32>),
            sum_f64: (Sum<f64>),
            sum_f16: (Sum<f16>),
            sum_bf16: (Sum<bf16>),
            product_u8: (Product<u8>),
            product_u16: (Product<u16>),
            product_u32: (Product<u32>),
            product_u64: (Product<u64>),
            product_f32: (Product<f32>),
            product_f64: (Product<f64>),
            product_f16: (Product<f16>),
            product_bf16: (Product<bf16>),
            min_u8: (Min<u8>),
            min_u16: (Min<u16>),
            min_u32: (Min<u32>),
            min_i32: (Min<i32>),
            min_u64: (Min<u64>),
            min_i64: (Min<i64>),
            min_f32: (Min<f32>),
            min_f64: (Min<f64>),
            min_f16: (Min<f16>),
            min_bf16: (Min<bf16>),
            max_u8: (Max<u8>),
            max_u16: (Max<u16>),
            max_u32: (Max<u32>),
            max_i32: (Max<i32>),
            max_u64: (Max<u64>),
            max_i64: (Max<i64>),
            max_f32: (Max<f32>),
            max_f64: (Max<f64>),
            max_f16: (Max<f16>),
            max_bf16: (Max<bf16>),
        }
    };
}
pub(super) use with_scans;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use cuda_std::{
        bf16, f16,
        kernel::{Entry, EntryOf},
        select::{Arrays, Neighbors, Predicate},
    };

    use crate::{
        reduce::{Max, Min},
        scan::{wide::with_wide_sums, *},
        segments::with_keys,
        select::predicates::Changed,
    };

    /// The kernels of `naive`: the first pass, a step, and the last pass.
    #[cfg(feature = "ladder")]
    pub type Naive<R> = (
        EntryOf<ScanNaiveFirst<R>>,
        EntryOf<ScanNaive<R>>,
        EntryOf<ScanNaiveLast<R>>,
    );
    /// The kernels of `reduce_then_scan`: the tiles' totals, their prefixes, and the results.
    #[cfg(feature = "ladder")]
    pub type ReduceThenScan<R> = (
        EntryOf<ScanTotals<R>>,
        EntryOf<ScanPrefixes<R>>,
        EntryOf<ScanReduceThenScan<R>>,
    );

    /// The kernels of one scan.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Scan + Sized {
        /// The kernels of `naive`: the first pass, a step, and the last pass.
        #[cfg(feature = "ladder")]
        const NAIVE: Naive<Self>;
        /// The kernels of `reduce_then_scan`: the tiles' totals, their prefixes, and the results.
        #[cfg(feature = "ladder")]
        const REDUCE_THEN_SCAN: ReduceThenScan<Self>;
        /// The kernel of `look_back`.
        #[cfg(feature = "ladder")]
        const LOOK_BACK: EntryOf<ScanLookBack<Self>>;
        /// The kernel of `best` with a block per tile.
        const BEST: EntryOf<ScanBest<Self>>;
        /// The kernel of `best` with persistent blocks.
        const PERSISTENT: EntryOf<ScanBestPersistent<Self>>;
        /// The kernel of `best` for segments, with a block per tile.
        const SEGMENTED: EntryOf<ScanSegmented<Self>>;
        /// The kernel of `best` for segments, with persistent blocks.
        const SEGMENTED_PERSISTENT: EntryOf<ScanSegmentedPersistent<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($scan:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $scan {
                #[cfg(feature = "ladder")]
                const NAIVE: Naive<Self> = (
                    Entry::of::<ScanNaiveFirst<$scan>>(),
                    Entry::of::<ScanNaive<$scan>>(),
                    Entry::of::<ScanNaiveLast<$scan>>(),
                );
                #[cfg(feature = "ladder")]
                const REDUCE_THEN_SCAN: ReduceThenScan<Self> = (
                    Entry::of::<ScanTotals<$scan>>(),
                    Entry::of::<ScanPrefixes<$scan>>(),
                    Entry::of::<ScanReduceThenScan<$scan>>(),
                );
                #[cfg(feature = "ladder")]
                const LOOK_BACK: EntryOf<ScanLookBack<Self>> = Entry::of::<ScanLookBack<$scan>>();
                const BEST: EntryOf<ScanBest<Self>> = Entry::of::<ScanBest<$scan>>();
                const PERSISTENT: EntryOf<ScanBestPersistent<Self>> =
                    Entry::of::<ScanBestPersistent<$scan>>();
                const SEGMENTED: EntryOf<ScanSegmented<Self>> = Entry::of::<ScanSegmented<$scan>>();
                const SEGMENTED_PERSISTENT: EntryOf<ScanSegmentedPersistent<Self>> =
                    Entry::of::<ScanSegmentedPersistent<$scan>>();
            }
        )* };
    }
    with_scans!(kernels);

    /// A type of keys, whose runs are segments.
    ///
    /// # Safety
    /// As for [`Kernels`].
    pub unsafe trait Keys: Predicate {
        /// The kernel that finds the first of each run.
        const HEADS: EntryOf<ScanHeadsOfKeys<Self, Arrays>>;
    }

    macro_rules! keys {
        ($($suffix:ident: ($predicate:ty, $arguments:ty),)*) => { $(
            // SAFETY: the kernel is that of this family.
            unsafe impl Keys for $predicate {
                const HEADS: EntryOf<ScanHeadsOfKeys<Self, Arrays>> =
                    Entry::of::<ScanHeadsOfKeys<$predicate, $arguments>>();
            }
        )* };
    }
    with_keys!(keys);

    /// A scan of wide elements, of which narrow ones of type `T` are made.
    ///
    /// # Safety
    /// As for [`Kernels`].
    pub unsafe trait WideKernel<T: Widen<Self::In>>: Scan + Sized {
        /// The kernel.
        const WIDE: EntryOf<ScanWide<Self, T>>;
    }

    macro_rules! wide {
        ($($suffix:ident: ($scan:ty, $narrow:ty),)*) => { $(
            // SAFETY: the kernel is that of this family.
            unsafe impl WideKernel<$narrow> for $scan {
                const WIDE: EntryOf<ScanWide<Self, $narrow>> =
                    Entry::of::<ScanWide<$scan, $narrow>>();
            }
        )* };
    }
    with_wide_sums!(wide);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::{Kernels, Keys, WideKernel};
