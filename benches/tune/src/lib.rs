//! Kernels for every row of the tables of tuning ([`warpwright_gpu::tuning`]), for the element types that the sweep
//! takes.
//!
//! `cargo xtask tune` compiles them, runs them through the library's own operations, and times them in turn. They are
//! in no module that ships. A kernel is the library's, by the numbers of another row: the body, or where the numbers
//! are launch bounds alone, the kernel itself.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

pub mod columns;
pub mod convolution;
pub mod gemm;
pub mod histogram;
pub mod map;
pub mod random;
pub mod reduce;
pub mod rows;
pub mod transpose;

/// Calls `$callback!` with the module of each family, in the order of a sweep.
#[macro_export]
macro_rules! for_each_family {
    ($callback:ident) => {
        $callback!(histogram);
        $callback!(rows);
        $callback!(map);
        $callback!(convolution);
        $callback!(random);
        $callback!(gemm);
        $callback!(reduce);
        $callback!(transpose);
        $callback!(columns);
    };
}

#[cfg(not(target_arch = "nvptx64"))]
mod candidate {
    use cuda_std::kernel::KernelDescriptor;

    /// A row of a family's table, with its kernels for one kind of element.
    #[derive(Debug, Clone)]
    pub struct Candidate<P> {
        /// What the kernels are for: words of the names of the benchmark's cases, such as `f32`, `sin` or `sum_f32`.
        pub key: &'static str,
        /// The row's position among the candidates of the table.
        pub row: usize,
        /// Its numbers.
        pub policy: P,
        /// The library's kernels, and those to launch in their place.
        pub pairs: Vec<[&'static KernelDescriptor; 2]>,
    }

    impl<P> Candidate<P> {
        /// The row of an instance whose suffix is the key and the number of the row.
        pub(crate) fn new(
            suffix: &'static str,
            row: usize,
            policy: P,
            pairs: Vec<[&'static KernelDescriptor; 2]>,
        ) -> Self {
            Self {
                key: suffix.rsplit_once('_').map_or(suffix, |(key, _)| key),
                row,
                policy,
                pairs,
            }
        }

        /// Bytes of an element of the kernels' type: keys without one are of `f32`.
        pub fn bytes(&self) -> usize {
            match self.words().last() {
                Some("u8") => 1,
                Some("u16") => 2,
                Some("f64") => 8,
                Some("u128") => 16,
                _ => 4,
            }
        }

        /// The words of the key.
        pub fn words(&self) -> impl Iterator<Item = &'static str> {
            self.key.split('_')
        }
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use candidate::Candidate;
