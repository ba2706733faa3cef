//! The instances: every operator for every element type, for every kernel of the family. `Mean` has instances only where it
//! differs from `Sum`.

/// Calls `$callback!` with one row per instance: its suffix and its generic argument. These are the operators that reduce
/// segments too; `$more` are further rows.
macro_rules! with_operators {
    ($callback:ident) => {
        $crate::reduce::instances::with_operators! { $callback, }
    };
    ($callback:ident, $($more:tt)*) => {
        $callback! {
            sum_u8: (Sum<u8>),
            sum_u16: (Sum<u16>),
            sum_u32: (Sum<u32>),
            sum_i32: (Sum<i32>),
            sum_u64: (Sum<u64>),
            sum_i64: (Sum<i64>),
            sum_f32: (Sum<f32>),
            sum_f64: (Sum<f64>),
            sum_f16: (Sum<f16>),
            sum_bf16: (Sum<bf16>),
            product_u8: (Product<u8>),
            product_u16: (Product<u16>),
            product_u32: (Product<u32>),
            product_i32: (Product<i32>),
            product_u64: (Product<u64>),
            product_i64: (Product<i64>),
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
            $($more)*
        }
    };
}
pub(crate) use with_operators;

/// Calls `$callback!` as [`with_operators`] does, with the rows of all reductions.
macro_rules! with_reductions {
    ($callback:ident) => {
        $crate::reduce::instances::with_operators! { $callback,
            argmin_u8: (ArgMin<u8>),
            argmin_u16: (ArgMin<u16>),
            argmin_u32: (ArgMin<u32>),
            argmin_i32: (ArgMin<i32>),
            argmin_u64: (ArgMin<u64>),
            argmin_i64: (ArgMin<i64>),
            argmin_f32: (ArgMin<f32>),
            argmin_f64: (ArgMin<f64>),
            argmin_f16: (ArgMin<f16>),
            argmin_bf16: (ArgMin<bf16>),
            argmax_u8: (ArgMax<u8>),
            argmax_u16: (ArgMax<u16>),
            argmax_u32: (ArgMax<u32>),
            argmax_i32: (ArgMax<i32>),
            argmax_u64: (ArgMax<u64>),
            argmax_i64: (ArgMax<i64>),
            argmax_f32: (ArgMax<f32>),
            argmax_f64: (ArgMax<f64>),
            argmax_f16: (ArgMax<f16>),
            argmax_bf16: (ArgMax<bf16>),
            mean_u32: (Mean<u32>),
            mean_i32: (Mean<i32>),
            mean_u64: (Mean<u64>),
            mean_i64: (Mean<i64>),
        }
    };
}
pub(super) use with_reductions;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use cuda_std::{
        bf16, f16,
        kernel::{Entry, EntryOf},
    };

    use crate::reduce::*;

    /// The kernels of a rung: that of its first pass, and that of the later ones.
    #[cfg(feature = "ladder")]
    pub type Rung<R> = (EntryOf<ReduceSequential<R>>, EntryOf<ReduceFinish<R>>);

    /// The kernels of one reduction.
    ///
    /// # Safety
    /// The kernels must be those of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Reduction + Sized {
        /// The kernel of `best`.
        const BEST: EntryOf<ReduceBest<Self>>;
        /// Returns the kernels of a variant below `best`.
        #[cfg(feature = "ladder")]
        fn rung(variant: Variant) -> Option<Rung<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($reduction:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $reduction {
                const BEST: EntryOf<ReduceBest<Self>> = Entry::of::<ReduceBest<$reduction>>();
                #[cfg(feature = "ladder")]
                fn rung(variant: Variant) -> Option<Rung<Self>> {
                    let finish = Entry::of::<ReduceFinish<$reduction>>();
                    Some(match variant {
                        Variant::InterleavedDivergent => (Entry::of::<ReduceInterleavedDivergent<$reduction>>(), finish),
                        Variant::InterleavedStrided => (Entry::of::<ReduceInterleavedStrided<$reduction>>(), finish),
                        Variant::Sequential => (Entry::of::<ReduceSequential<$reduction>>(), finish),
                        Variant::AddOnLoad => (Entry::of::<ReduceAddOnLoad<$reduction>>(), finish),
                        Variant::LastWarpUnrolled => (Entry::of::<ReduceLastWarpUnrolled<$reduction>>(), finish),
                        Variant::FullyUnrolled => (Entry::of::<ReduceFullyUnrolled<$reduction>>(), finish),
                        Variant::Cascaded => (Entry::of::<ReduceCascaded<$reduction>>(), finish),
                        Variant::WarpShuffle => (Entry::of::<ReduceWarpShuffle<$reduction>>(), finish),
                        Variant::Coarsened => (Entry::of::<ReduceCoarsened<$reduction>>(), finish),
                        Variant::Folding => (
                            Entry::of::<ReduceFoldingFirst<$reduction>>(),
                            Entry::of::<ReduceFolding<$reduction>>(),
                        ),
                        Variant::FoldingShared => (
                            Entry::of::<ReduceFoldingSharedFirst<$reduction>>(),
                            Entry::of::<ReduceFoldingShared<$reduction>>(),
                        ),
                        Variant::Best => return None,
                    })
                }
            }
        )* };
    }
    with_reductions!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
