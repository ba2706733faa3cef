//! The instances: every predicate of the library for its element types. Flags and elements that do not compare have instances
//! by size alone.

/// Calls `$callback!` with one row per instance: its suffix, the predicate, and where its second argument comes from.
macro_rules! with_predicates {
    ($callback:ident) => {
        $callback! {
            compare_u8: (Compare<u8>, Arrays),
            compare_u16: (Compare<u16>, Arrays),
            compare_u32: (Compare<u32>, Arrays),
            compare_i32: (Compare<i32>, Arrays),
            compare_u64: (Compare<u64>, Arrays),
            compare_i64: (Compare<i64>, Arrays),
            compare_f32: (Compare<f32>, Arrays),
            compare_f64: (Compare<f64>, Arrays),
            compare_f16: (Compare<f16>, Arrays),
            compare_bf16: (Compare<bf16>, Arrays),
            flagged_b1: (Flagged<u8>, Arrays),
            flagged_b2: (Flagged<u16>, Arrays),
            flagged_b4: (Flagged<u32>, Arrays),
            flagged_b8: (Flagged<u64>, Arrays),
            changed_b1: (Changed<u8>, Neighbors),
            changed_b2: (Changed<u16>, Neighbors),
            changed_b4: (Changed<u32>, Neighbors),
            changed_b8: (Changed<u64>, Neighbors),
            changed_f32: (Changed<f32>, Neighbors),
            changed_f64: (Changed<f64>, Neighbors),
            changed_f16: (Changed<f16>, Neighbors),
            changed_bf16: (Changed<bf16>, Neighbors),
        }
    };
}
pub(crate) use with_predicates;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use cuda_std::{
        bf16, f16,
        kernel::Entry,
        select::{Arrays, Neighbors, Parameters, PersistentParameters, Predicate},
    };

    use crate::select::{SelectBest, SelectBestPersistent, predicates::*};
    #[cfg(feature = "ladder")]
    use cuda_std::kernel::{EntryOf, KernelDescriptor};

    #[cfg(feature = "ladder")]
    use crate::select::{
        SelectNaiveCount, SelectNaiveScatter, SelectScan, SelectTileCount, SelectTileScatter,
        Variant,
    };

    /// The kernels of a rung that takes three launches: that which counts, and that which writes.
    #[cfg(feature = "ladder")]
    pub type Rung<F> = (
        EntryOf<SelectNaiveCount<F, Arrays>>,
        EntryOf<SelectNaiveScatter<F, Arrays>>,
    );

    /// A predicate of the library, and its kernels.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait LibraryPredicate: Predicate {
        /// The kernel of `best` with a block per tile.
        const BEST: Entry<Parameters<Self>>;
        /// The kernel of `best` with persistent blocks.
        const PERSISTENT: Entry<PersistentParameters<Self>>;
        /// Returns the kernels of a variant below `best`.
        #[cfg(feature = "ladder")]
        fn rung(variant: Variant) -> Option<Rung<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($predicate:ty, $arguments:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl LibraryPredicate for $predicate {
                const BEST: Entry<Parameters<Self>> =
                    Entry::of::<SelectBest<$predicate, $arguments>>();
                const PERSISTENT: Entry<PersistentParameters<Self>> =
                    Entry::of::<SelectBestPersistent<$predicate, $arguments>>();

                #[cfg(feature = "ladder")]
                fn rung(variant: Variant) -> Option<Rung<Self>> {
                    match variant {
                        Variant::Naive => Some((
                            Entry::of::<SelectNaiveCount<$predicate, $arguments>>(),
                            Entry::of::<SelectNaiveScatter<$predicate, $arguments>>(),
                        )),
                        Variant::ReduceThenScan => Some((
                            Entry::of::<SelectTileCount<$predicate, $arguments>>(),
                            Entry::of::<SelectTileScatter<$predicate, $arguments>>(),
                        )),
                        Variant::Best => None,
                    }
                }
            }
        )* };
    }
    with_predicates!(kernels);

    #[cfg(feature = "ladder")]
    macro_rules! listed {
        ($($suffix:ident: ($predicate:ty, $arguments:ty),)*) => {
            /// Returns the kernels of every predicate, and the one that they share.
            #[cfg(feature = "ladder")]
            pub fn all() -> Vec<&'static KernelDescriptor> {
                let mut all = vec![Entry::of::<SelectScan>().descriptor()];
                $(
                    all.push(<$predicate as LibraryPredicate>::BEST.descriptor());
                    all.push(<$predicate as LibraryPredicate>::PERSISTENT.descriptor());
                    let rungs = Variant::ALL.map(<$predicate as LibraryPredicate>::rung);
                    for (count, scatter) in rungs.into_iter().flatten() {
                        all.extend([count.descriptor(), scatter.descriptor()]);
                    }
                )*
                all
            }
        };
    }
    #[cfg(feature = "ladder")]
    with_predicates!(listed);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::LibraryPredicate;
#[cfg(all(feature = "ladder", not(target_arch = "nvptx64")))]
pub use launch::{Rung, all};
