//! The distributions: from four random words to elements.

use cuda_std::GlobalMut;
use cuda_std::random::{
    Poisson, exp_f32, exp_f64, normal_pair_scaled_f32, normal_pair_scaled_f64, uniform_f32,
    uniform_f64,
};

/// What a kernel's parameter has to be.
#[cfg(not(target_arch = "nvptx64"))]
pub trait DistributionCopy: cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<D: cuda_std::kernel::ByValue> DistributionCopy for D {}
/// What a kernel's parameter has to be.
#[cfg(target_arch = "nvptx64")]
pub trait DistributionCopy: Copy + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<D: Copy + 'static> DistributionCopy for D {}

/// A distribution, as a kernel's parameter.
pub trait Distribution: DistributionCopy {
    /// The elements' type.
    type Out: Copy + 'static;
    /// The elements of a quad: 16 bytes, but for Poisson numbers.
    type Quad: Quad<Self::Out>;

    /// The elements that four words make.
    fn elements(self, words: [u32; 4]) -> Self::Quad;
}

/// The elements that four words make.
pub trait Quad<T>: Copy {
    /// How many there are.
    const LEN: usize;

    /// Writes all of them from element `at` on, by one store.
    fn store(self, output: GlobalMut<T>, at: usize);

    /// Writes all of them from element `at` on, one by one.
    fn store_each(self, output: GlobalMut<T>, at: usize);

    /// Writes those that are within `output`, one by one; element `at` is the first one's, and wraps around below 0.
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

/// The words themselves.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Bits {
    // A parameter of no size is not one that a launch could pass.
    unused: u32,
}

/// Uniform in (0, 1]: [`uniform_f32`], [`uniform_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Uniform<T> {
    // Something of the type, that the parameter has a size.
    unused: T,
}

/// Normal with a mean and a standard deviation: [`normal_pair_scaled_f32`], [`normal_pair_scaled_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Normal<T> {
    /// The mean.
    pub mean: T,
    /// The standard deviation.
    pub std_dev: T,
}

/// `e` to the power of a normal number: [`exp_f32`], [`exp_f64`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LogNormal<T> {
    /// Of the logarithm.
    pub normal: Normal<T>,
}

/// Poisson numbers: [`Poisson`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PoissonCount {
    /// The distribution.
    pub poisson: Poisson,
}

impl Distribution for Bits {
    type Out = u32;
    type Quad = [u32; 4];

    #[inline(always)]
    fn elements(self, words: [u32; 4]) -> [u32; 4] {
        words
    }
}

impl Distribution for Uniform<f32> {
    type Out = f32;
    type Quad = [f32; 4];

    #[inline(always)]
    fn elements(self, [a, b, c, d]: [u32; 4]) -> [f32; 4] {
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

    #[inline(always)]
    fn elements(self, [a, b, c, d]: [u32; 4]) -> [f64; 2] {
        [uniform_f64(a, b), uniform_f64(c, d)]
    }
}

impl Distribution for Normal<f32> {
    type Out = f32;
    type Quad = [f32; 4];

    #[inline(always)]
    fn elements(self, [a, b, c, d]: [u32; 4]) -> [f32; 4] {
        let (w, x) = normal_pair_scaled_f32(a, b, self.mean, self.std_dev);
        let (y, z) = normal_pair_scaled_f32(c, d, self.mean, self.std_dev);
        [w, x, y, z]
    }
}

impl Distribution for Normal<f64> {
    type Out = f64;
    type Quad = [f64; 2];

    #[inline(always)]
    fn elements(self, words: [u32; 4]) -> [f64; 2] {
        normal_pair_scaled_f64(words, self.mean, self.std_dev).into()
    }
}

impl Distribution for LogNormal<f32> {
    type Out = f32;
    type Quad = [f32; 4];

    #[inline(always)]
    fn elements(self, words: [u32; 4]) -> [f32; 4] {
        let [a, b, c, d] = self.normal.elements(words);
        [exp_f32(a), exp_f32(b), exp_f32(c), exp_f32(d)]
    }
}

impl Distribution for LogNormal<f64> {
    type Out = f64;
    type Quad = [f64; 2];

    #[inline(always)]
    fn elements(self, words: [u32; 4]) -> [f64; 2] {
        let [a, b] = self.normal.elements(words);
        [exp_f64(a), exp_f64(b)]
    }
}

impl Distribution for PoissonCount {
    type Out = u32;
    type Quad = [u32; 1];

    #[inline(always)]
    fn elements(self, words: [u32; 4]) -> [u32; 1] {
        [self.poisson.sample(words)]
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod by_value {
    use super::*;
    use cuda_std::kernel::ByValue;

    // SAFETY: a plain word.
    unsafe impl ByValue for Bits {}
    // SAFETY: a plain number.
    unsafe impl<T: ByValue> ByValue for Uniform<T> {}
    // SAFETY: two plain numbers of one size.
    unsafe impl<T: ByValue> ByValue for Normal<T> {}
    // SAFETY: as its only member.
    unsafe impl<T: ByValue> ByValue for LogNormal<T> {}
    // SAFETY: as its only member.
    unsafe impl ByValue for PoissonCount {}
}
