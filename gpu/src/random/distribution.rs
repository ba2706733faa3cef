//! The distributions, which make elements from four random words.

use cuda_std::random::{
    MOST_NORMAL_F32, MOST_NORMAL_F64, PoissonColumns, exp_f32, exp_f64, exp_moderate_f32,
    exp_moderate_f64, normal_pair_scaled_f32, normal_pair_scaled_f64, uniform_f32, uniform_f64,
};
use cuda_std::{Global, GlobalMut, Shared, shared::DynamicShared, thread};

use super::policy::SHARED_TABLE_BITS;

/// The requirements of a kernel's parameter.
#[cfg(not(target_arch = "nvptx64"))]
pub trait DistributionCopy: cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<D: cuda_std::kernel::ByValue> DistributionCopy for D {}
/// The requirements of a kernel's parameter.
#[cfg(target_arch = "nvptx64")]
pub trait DistributionCopy: Copy + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<D: Copy + 'static> DistributionCopy for D {}

/// A distribution, as a kernel's parameter.
pub trait Distribution: DistributionCopy {
    /// The type of the elements.
    type Out: Copy + 'static;
    /// The elements of a quad: 16 bytes.
    type Quad: Quad<Self::Out>;
    /// The data that a block keeps from its start.
    type Ready: Copy;

    /// Prepares the distribution. Every thread of a block must call it once, before anything else.
    fn ready(self) -> Self::Ready;

    /// Returns the elements that four words make.
    fn elements(self, ready: Self::Ready, words: [u32; 4]) -> Self::Quad;
}

/// The elements that four words make.
pub trait Quad<T>: Copy {
    /// The number of elements.
    const LEN: usize;

    /// Writes all elements from element `at` of `output` on, with one store.
    fn store(self, output: GlobalMut<T>, at: usize);

    /// Writes all elements from element `at` of `output` on, one by one.
    fn store_each(self, output: GlobalMut<T>, at: usize);

    /// Writes the elements that are within `output`, one by one. `at` is the index of the first one, and wraps around below 0.
    fn store_within(self, output: GlobalMut<T>, at: usize);
}

impl<T: Copy, const N: usize> Quad<T> for [T; N] {
    const LEN: usize = N;

    #[inline(always)]
    fn store(self, output: GlobalMut<T>, at: usize) {
        output.set_chunk_streaming(at, self);
    }

    #[inline(always)]
    fn store_each(self, output: GlobalMut<T>, at: usize) {
        for i in 0..N {
            output.set(at + i, self[i]);
        }
    }

    #[inline(always)]
    fn store_within(self, output: GlobalMut<T>, at: usize) {
        for i in 0..N {
            let at = at.wrapping_add(i);
            if at < output.len() {
                output.set(at, self[i]);
            }
        }
    }
}

/// The distribution of the words themselves.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Bits {
    // A launch cannot pass a parameter of size zero.
    unused: u32,
}

/// Uniform numbers in (0, 1]: [`uniform_f32`], [`uniform_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Uniform<T> {
    // A member of the type gives the parameter a size.
    unused: T,
}

/// Normal numbers with a mean and a standard deviation: [`normal_pair_scaled_f32`], [`normal_pair_scaled_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Normal<T> {
    /// The mean.
    pub mean: T,
    /// The standard deviation.
    pub std_dev: T,
}

/// Log-normal numbers, `e` to the power of a normal number: [`exp_f32`], [`exp_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LogNormal<T> {
    /// The distribution of the logarithm.
    pub normal: Normal<T>,
}

/// Poisson numbers: [`PoissonTable`](cuda_std::random::PoissonTable).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PoissonCount {
    /// The address of the table's entries in global memory.
    pub entries: u64,
    /// The table's columns.
    pub columns: PoissonColumns,
}

impl PoissonCount {
    /// Returns the dynamic shared memory of a block in bytes: the size of the table, or 0 if the table is too large.
    pub fn shared_bytes(self) -> u32 {
        if self.columns.bits() <= SHARED_TABLE_BITS {
            4 << self.columns.bits()
        } else {
            0
        }
    }
}

impl Distribution for Bits {
    type Out = u32;
    type Quad = [u32; 4];
    type Ready = ();

    #[inline(always)]
    fn ready(self) {}

    #[inline(always)]
    fn elements(self, (): (), words: [u32; 4]) -> [u32; 4] {
        words
    }
}

impl Distribution for Uniform<f32> {
    type Out = f32;
    type Quad = [f32; 4];
    type Ready = ();

    #[inline(always)]
    fn ready(self) {}

    #[inline(always)]
    fn elements(self, (): (), [a, b, c, d]: [u32; 4]) -> [f32; 4] {
        [
            uniform_f32(a),
            uniform_f32(b),
            uniform_f32(c),
            uniform_f32(d),
        ]
    }
}

impl Distribution for Uniform<f64> {
    type Out = f64;
    type Quad = [f64; 2];
    type Ready = ();

    #[inline(always)]
    fn ready(self) {}

    #[inline(always)]
    fn elements(self, (): (), [a, b, c, d]: [u32; 4]) -> [f64; 2] {
        [uniform_f64(a, b), uniform_f64(c, d)]
    }
}

impl Distribution for Normal<f32> {
    type Out = f32;
    type Quad = [f32; 4];
    type Ready = ();

    #[inline(always)]
    fn ready(self) {}

    #[inline(always)]
    fn elements(self, (): (), [a, b, c, d]: [u32; 4]) -> [f32; 4] {
        let (w, x) = normal_pair_scaled_f32(a, b, self.mean, self.std_dev);
        let (y, z) = normal_pair_scaled_f32(c, d, self.mean, self.std_dev);
        [w, x, y, z]
    }
}

impl Distribution for Normal<f64> {
    type Out = f64;
    type Quad = [f64; 2];
    type Ready = ();

    #[inline(always)]
    fn ready(self) {}

    #[inline(always)]
    fn elements(self, (): (), words: [u32; 4]) -> [f64; 2] {
        normal_pair_scaled_f64(words, self.mean, self.std_dev).into()
    }
}

impl Distribution for LogNormal<f32> {
    type Out = f32;
    type Quad = [f32; 4];
    /// Whether [`exp_moderate_f32`] is sufficient: its results are in range for all words.
    type Ready = bool;

    #[inline(always)]
    fn ready(self) -> bool {
        let Normal { mean, std_dev } = self.normal;
        mean.abs() + MOST_NORMAL_F32 * std_dev.abs() <= 87.0
    }

    #[inline(always)]
    fn elements(self, moderate: bool, words: [u32; 4]) -> [f32; 4] {
        let [a, b, c, d] = self.normal.elements((), words);
        if moderate {
            [
                exp_moderate_f32(a),
                exp_moderate_f32(b),
                exp_moderate_f32(c),
                exp_moderate_f32(d),
            ]
        } else {
            [exp_f32(a), exp_f32(b), exp_f32(c), exp_f32(d)]
        }
    }
}

impl Distribution for LogNormal<f64> {
    type Out = f64;
    type Quad = [f64; 2];
    /// Whether [`exp_moderate_f64`] is sufficient: its results are in range for all words.
    type Ready = bool;

    #[inline(always)]
    fn ready(self) -> bool {
        let Normal { mean, std_dev } = self.normal;
        mean.abs() + MOST_NORMAL_F64 * std_dev.abs() <= 708.0
    }

    #[inline(always)]
    fn elements(self, moderate: bool, words: [u32; 4]) -> [f64; 2] {
        let [a, b] = self.normal.elements((), words);
        if moderate {
            [exp_moderate_f64(a), exp_moderate_f64(b)]
        } else {
            [exp_f64(a), exp_f64(b)]
        }
    }
}

impl Distribution for PoissonCount {
    type Out = u32;
    type Quad = [u32; 4];
    type Ready = (Global<u32>, Shared<u32>);

    /// Copies the table into shared memory, if it fits.
    #[inline(always)]
    #[track_caller]
    fn ready(self) -> Self::Ready {
        let len = 1_usize << self.columns.bits();
        // SAFETY: the launch passes the address of a table with these columns, which nothing writes meanwhile.
        let table = unsafe {
            Global::from_raw_parts(
                core::ptr::with_exposed_provenance_mut(self.entries as usize),
                len,
            )
        };
        let kept = if self.columns.bits() <= SHARED_TABLE_BITS {
            len
        } else {
            0
        };
        // SAFETY: the launch provides `shared_bytes` of dynamic shared memory, and nothing else uses them.
        let shared = unsafe { DynamicShared::new() }.carve(kept);
        let mut i = thread::thread_idx_x() as usize;
        while i < kept {
            shared.set(i, table.get(i));
            i += thread::block_dim_x() as usize;
        }
        thread::sync_threads();
        (table, shared)
    }

    #[inline(always)]
    #[track_caller]
    fn elements(self, (table, shared): Self::Ready, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
        let number = |word| {
            let column = self.columns.column(word);
            let entry = if self.columns.bits() <= SHARED_TABLE_BITS {
                shared.get(column)
            } else {
                table.get_readonly(column)
            };
            self.columns.number(word, entry)
        };
        [number(a), number(b), number(c), number(d)]
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod by_value {
    use super::*;
    use cuda_std::kernel::ByValue;

    // SAFETY: the type is a plain word.
    unsafe impl ByValue for Bits {}
    // SAFETY: the type is a plain number.
    unsafe impl<T: ByValue> ByValue for Uniform<T> {}
    // SAFETY: the type is two plain numbers of one size.
    unsafe impl<T: ByValue> ByValue for Normal<T> {}
    // SAFETY: the only member has this property.
    unsafe impl<T: ByValue> ByValue for LogNormal<T> {}
    // SAFETY: the type is an address and two words, without padding.
    unsafe impl ByValue for PoissonCount {}
}
