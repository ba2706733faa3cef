//! The instances: every function, for every kernel of the family.

/// Calls `$callback!` with one row per instance: its suffix and its generic argument.
macro_rules! with_functions {
    ($callback:ident) => {
        $callback! {
            wave: (Wave),
            sin: (Sin),
            cos: (Cos),
            exp: (Exp),
            exp2: (Exp2),
            ln: (Ln),
            log2: (Log2),
            tanh: (Tanh),
            sqrt: (Sqrt),
            abs: (Abs),
            neg: (Neg),
            pow: (Pow),
            scale: (Scale),
            scale_add: (ScaleAdd),
            pow_pairs: (PowPairs),
            approx_sin: (approx::Sin),
            approx_cos: (approx::Cos),
            approx_exp: (approx::Exp),
            approx_exp2: (approx::Exp2),
            approx_ln: (approx::Ln),
            approx_log2: (approx::Log2),
            approx_tanh: (approx::Tanh),
            approx_sqrt: (approx::Sqrt),
            approx_rsqrt: (approx::Rsqrt),
            approx_recip: (approx::Recip),
            approx_div: (approx::Div),
        }
    };
}
pub(crate) use with_functions;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use cuda_std::{
        constant::ConstantValues,
        kernel::{Entry, KernelDescriptor},
        map::{MapFn, Parameters},
    };

    use crate::map::{FAMILY, MAP_COUNT, MAP_PI, MapBest, Variant, Wave, functions::*};

    /// A function of the library, and its kernels.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait LibraryFn: MapFn {
        /// Returns the kernel of a variant.
        fn kernel(variant: Variant) -> Entry<Parameters<Self>>;

        /// Calls `launch` with the values that a launch for `len` elements needs in constant memory.
        fn with_constants<R>(len: usize, launch: impl FnOnce(&[ConstantValues<'_>]) -> R) -> R;
    }

    #[cfg(feature = "ladder")]
    use crate::map::{MapDirect, MapRolled};

    macro_rules! constants {
        (wave, $len:ident, $launch:ident) => {{
            let (count, pi) = ([$len as u64], [core::f32::consts::PI]);
            $launch(&[MAP_COUNT.with(&count), MAP_PI.with(&pi)])
        }};
        ($other:ident, $len:ident, $launch:ident) => {{
            let _ = $len;
            $launch(&[])
        }};
    }

    macro_rules! kernels {
        ($($suffix:ident: ($function:ty),)*) => {
            // SAFETY: the kernels are those of this family.
            $(unsafe impl LibraryFn for $function {
                fn kernel(variant: Variant) -> Entry<Parameters<Self>> {
                    match variant {
                        #[cfg(feature = "ladder")]
                        Variant::Direct => Entry::of::<MapDirect<$function>>(),
                        #[cfg(feature = "ladder")]
                        Variant::Rolled => Entry::of::<MapRolled<$function>>(),
                        Variant::Best => Entry::of::<MapBest<$function>>(),
                    }
                }

                fn with_constants<R>(len: usize, launch: impl FnOnce(&[ConstantValues<'_>]) -> R) -> R {
                    constants!($suffix, len, launch)
                }
            })*

            /// Returns the kernels of every function.
            pub fn all() -> Vec<[&'static KernelDescriptor; FAMILY.variants.len()]> {
                vec![$(Variant::ALL.map(|variant| <$function as LibraryFn>::kernel(variant).descriptor())),*]
            }
        };
    }
    super::with_functions!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::{LibraryFn, all};
