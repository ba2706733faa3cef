//! Random numbers: generators whose streams continue from call to call.

mod fill;

use cuda_std::random::{Poisson, PoissonTable};
use warpwright_gpu::random::{Bits, FAMILY, LogNormal, Normal, PoissonCount, Uniform, policy};

use super::{Choice, calls::Launch, choose, sealed::Sealed};
use crate::{
    buffer::{Element, Vector, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
    named::named,
};

pub use warpwright_gpu::random::Variant;

/// The name of the operations in errors.
const OPERATION: &str = "random";
/// The number of words of a stream.
const STREAM: u128 = 1 << 64;

/// The kinds of generators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Generator {
    /// Philox4x32-10. It has no state to set up, and every position of the stream costs the same to reach.
    #[default]
    Philox,
    /// XORWOW: 65536 interleaved sequences, whose states are in device memory. Once a call is captured into a graph, every
    /// further call computes its states first.
    Xorwow,
}

named! {
    Generator, "generator":
    Philox = "philox",
    Xorwow = "xorwow",
}

/// A float type in which the distributions are computed: `f32`, `f64`.
pub trait RandomFloat: Element + Sealed {
    #[doc(hidden)]
    fn fill_uniform(random: &mut RandomGenerator, output: VectorViewMut<'_, Self>) -> Result<()>;
    #[doc(hidden)]
    fn fill_normal(
        random: &mut RandomGenerator,
        output: VectorViewMut<'_, Self>,
        mean: Self,
        std_dev: Self,
    ) -> Result<()>;
    #[doc(hidden)]
    fn fill_log_normal(
        random: &mut RandomGenerator,
        output: VectorViewMut<'_, Self>,
        mean: Self,
        std_dev: Self,
    ) -> Result<()>;
}

// The functions are not generic, so that no other crate compiles the kernels' CPU bodies.
macro_rules! floats {
    ($($float:ty),*) => { $(
        impl RandomFloat for $float {
            fn fill_uniform(
                random: &mut RandomGenerator,
                output: VectorViewMut<'_, Self>,
            ) -> Result<()> {
                random.fill(Uniform::<$float>::default(), output)
            }

            fn fill_normal(
                random: &mut RandomGenerator,
                output: VectorViewMut<'_, Self>,
                mean: Self,
                std_dev: Self,
            ) -> Result<()> {
                check_normal(mean.into(), std_dev.into())?;
                random.fill(Normal { mean, std_dev }, output)
            }

            fn fill_log_normal(
                random: &mut RandomGenerator,
                output: VectorViewMut<'_, Self>,
                mean: Self,
                std_dev: Self,
            ) -> Result<()> {
                check_normal(mean.into(), std_dev.into())?;
                let normal = Normal { mean, std_dev };
                random.fill(LogNormal { normal }, output)
            }
        }
    )* };
}
floats!(f32, f64);

impl Device {
    /// Makes a generator of random numbers at the start of the stream of `seed`. Does not wait.
    ///
    /// ```
    /// use warpwright::{Device, ops::random::Generator};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::auto()?;
    /// let mut random = device.generator(Generator::Philox, 1234)?;
    /// let uniform = random.uniform::<f32>(1000)?; // in (0, 1]
    /// let normal = random.normal(1000, 5.0_f64, 2.0)?; // mean 5, standard deviation 2
    /// let counts = random.poisson(1000, 3.5)?;
    /// # assert!(uniform.to_vec()?.iter().all(|x| *x > 0.0 && *x <= 1.0));
    /// # assert_eq!((normal.len(), counts.len()), (1000, 1000));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device does not have enough memory for the states of XORWOW (1.5 MiB), and errors of
    /// the device.
    pub fn generator(&self, generator: Generator, seed: u64) -> Result<RandomGenerator> {
        let states = match generator {
            Generator::Philox => None,
            Generator::Xorwow => Some(States {
                words: Vector::uninit(self, OPERATION, policy::STATE_WORDS * policy::SEQUENCES)?,
                at: None,
                in_graph: false,
            }),
        };
        Ok(RandomGenerator {
            device: self.clone(),
            seed,
            sequence: 0,
            position: 0,
            states,
            poisson: None,
            variant: None,
            noted: None,
        })
    }
}

/// A generator of random numbers.
///
/// A generator makes one stream of 32-bit words, which depends only on its kind, the seed and the sequence. The words are
/// the same on every device and for every variant, and `n` elements followed by `m` elements are the same as `n + m`
/// elements at once. Each call continues where the previous one stopped.
///
/// | elements | words | from |
/// | --- | --- | --- |
/// | `bits` | 1 | the word |
/// | `poisson` | 1 | [`PoissonTable`] |
/// | `uniform` in `f32`, `f64` | 1, 2 | [`uniform_f32`](cuda_std::random::uniform_f32), [`uniform_f64`](cuda_std::random::uniform_f64) |
/// | `normal` in `f32`, `f64` | 1, 2 | pairs: [`normal_pair_f32`](cuda_std::random::normal_pair_f32), [`normal_pair_f64`](cuda_std::random::normal_pair_f64) |
/// | `log_normal` in `f32`, `f64` | 1, 2 | the exponential of `normal`'s |
///
/// An element of 2 words starts at a multiple of 2 words. If a call of another kind stopped in between, one word is
/// skipped. Elements `2i` and `2i + 1` of a stream's normal numbers are a pair; a call that starts at an odd element starts
/// with the second member of a pair. All distributions are bitwise the same on every device.
///
/// Philox: word `o` is word `o` of cuRAND's `curand_init(seed, sequence, 0)` for Philox4_32_10. XORWOW: words `4q` to
/// `4q + 3` are the next four of sequence `65536 * sequence + q % 65536` of cuRAND's `curand_init(seed, …, 0)` for XORWOW.
#[derive(Debug)]
pub struct RandomGenerator {
    device: Device,
    seed: u64,
    sequence: u64,
    /// The number of words of the stream before the next one. At the stream's end it is the number of all words.
    position: u128,
    /// The states of XORWOW. `None` for Philox.
    states: Option<States>,
    /// The distribution of the Poisson numbers requested last.
    poisson: Option<PoissonOnDevice>,
    variant: Option<String>,
    /// The launches so far, if they are only noted.
    noted: Option<Vec<Launch>>,
}

/// The states of XORWOW's sequences.
#[derive(Debug)]
struct States {
    words: Vector<u32>,
    /// The first quad of words that is not used up. `None` if the states are yet to be computed.
    at: Option<u64>,
    /// Whether a graph computes states here too, whenever it is launched. Then every call computes its own.
    in_graph: bool,
}

/// A Poisson table in the device's memory.
#[derive(Debug)]
struct PoissonOnDevice {
    table: PoissonTable,
    entries: Vector<u32>,
}

impl RandomGenerator {
    /// Selects the sequence `number`, and goes to its start.
    ///
    /// Sequences of one seed do not overlap. For Philox each has 2^64 words. For XORWOW each consists of 65536 sequences of
    /// cuRAND, which has 2^64, so `number` is taken modulo 2^48.
    #[must_use]
    pub fn sequence(mut self, number: u64) -> Self {
        (self.sequence, self.position) = (number, 0);
        self.forget();
        self
    }

    /// Goes to word `word` of the sequence.
    #[must_use]
    pub fn offset(mut self, word: u64) -> Self {
        self.position = word.into();
        self.forget();
        self
    }

    /// Uses the variant `name`: `per_thread` or `best`. An unknown name is an error of the calls that follow.
    #[must_use]
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Returns the kind of generator.
    pub fn kind(&self) -> Generator {
        match self.states {
            None => Generator::Philox,
            Some(_) => Generator::Xorwow,
        }
    }

    /// Returns the variant that runs, and who chose it.
    ///
    /// # Errors
    /// [`Error::UnknownVariant`].
    pub fn choice(&self) -> Result<Choice> {
        choose(&FAMILY, self.variant.as_deref())
    }

    /// Returns the device memory that the generator keeps from call to call, in bytes: for XORWOW the states, 1.5 MiB, and
    /// the table of the Poisson numbers requested last. A call allocates only its result.
    pub fn workspace_bytes(&self) -> usize {
        let states = self.states.as_ref().map_or(0, |it| it.words.len());
        let table = self.poisson.as_ref().map_or(0, |it| it.entries.len());
        (states + table) * size_of::<u32>()
    }

    /// Returns the number of the next word. `None` at the end of the stream, after word 2^64 - 1.
    pub fn position(&self) -> Option<u64> {
        u64::try_from(self.position).ok()
    }

    /// Skips the next `words` words. XORWOW then computes all its states anew at the next call.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the stream of 2^64 words ends before that.
    pub fn skip(&mut self, words: u64) -> Result<()> {
        let position = self.position + u128::from(words);
        if position > STREAM {
            return Err(Error::invalid(
                InvalidKind::Range,
                OPERATION,
                format!(
                    "a place in the stream of 2^64 words, {} further on at most",
                    STREAM - self.position
                ),
                format!("{words} further on"),
            ));
        }
        self.position = position;
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        if let Some(states) = &mut self.states {
            states.at = None;
        }
    }

    /// Generates `len` random words. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::UnknownVariant`], [`Error::Invalid`] at the end of the stream, and errors of the
    /// device.
    pub fn bits(&mut self, len: usize) -> Result<Vector<u32>> {
        self.made(len, |random, output| random.fill_bits(output))
    }

    /// Fills `output` with random words. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`bits`](Self::bits). Also [`Error::DeviceMismatch`].
    pub fn fill_bits(&mut self, output: VectorViewMut<'_, u32>) -> Result<()> {
        self.fill(Bits::default(), output)
    }

    /// Generates `len` numbers that are uniform in (0, 1]. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`bits`](Self::bits).
    pub fn uniform<T: RandomFloat>(&mut self, len: usize) -> Result<Vector<T>> {
        self.made(len, T::fill_uniform)
    }

    /// Fills `output` like [`uniform`](Self::uniform). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`bits`](Self::bits). Also [`Error::DeviceMismatch`].
    pub fn fill_uniform<T: RandomFloat>(&mut self, output: VectorViewMut<'_, T>) -> Result<()> {
        T::fill_uniform(self, output)
    }

    /// Generates `len` normal numbers with this mean and standard deviation. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`bits`](Self::bits). Also [`Error::Invalid`] if the mean is not finite, or if the standard deviation is
    /// negative or not finite.
    pub fn normal<T: RandomFloat>(&mut self, len: usize, mean: T, std_dev: T) -> Result<Vector<T>> {
        self.made(len, |random, output| {
            T::fill_normal(random, output, mean, std_dev)
        })
    }

    /// Fills `output` like [`normal`](Self::normal). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`normal`](Self::normal). Also [`Error::DeviceMismatch`].
    pub fn fill_normal<T: RandomFloat>(
        &mut self,
        output: VectorViewMut<'_, T>,
        mean: T,
        std_dev: T,
    ) -> Result<()> {
        T::fill_normal(self, output, mean, std_dev)
    }

    /// Generates `len` log-normal numbers: `e` to the power of normal numbers with this mean and standard deviation.
    ///
    /// A power that is out of range is infinity or 0. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`normal`](Self::normal).
    pub fn log_normal<T: RandomFloat>(
        &mut self,
        len: usize,
        mean: T,
        std_dev: T,
    ) -> Result<Vector<T>> {
        self.made(len, |random, output| {
            T::fill_log_normal(random, output, mean, std_dev)
        })
    }

    /// Fills `output` like [`log_normal`](Self::log_normal). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`normal`](Self::normal). Also [`Error::DeviceMismatch`].
    pub fn fill_log_normal<T: RandomFloat>(
        &mut self,
        output: VectorViewMut<'_, T>,
        mean: T,
        std_dev: T,
    ) -> Result<()> {
        T::fill_log_normal(self, output, mean, std_dev)
    }

    /// Generates `len` Poisson numbers with mean `lambda`, which must be from 0 to 10^6. Queues the work and does not wait, but
    /// for the [upload](Device::upload) of a table for another `lambda` than before.
    ///
    /// # Errors
    /// As for [`bits`](Self::bits). Also [`Error::Invalid`] for any other `lambda`.
    pub fn poisson(&mut self, len: usize, lambda: f64) -> Result<Vector<u32>> {
        self.made(len, |random, output| random.fill_poisson(output, lambda))
    }

    /// Fills `output` like [`poisson`](Self::poisson), and waits as it does.
    ///
    /// # Errors
    /// As for [`poisson`](Self::poisson). Also [`Error::DeviceMismatch`].
    pub fn fill_poisson(&mut self, output: VectorViewMut<'_, u32>, lambda: f64) -> Result<()> {
        let count = self.poisson_count(lambda)?;
        self.fill_with(count, count.shared_bytes(), output)
    }

    fn made<T: Element>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut Self, VectorViewMut<'_, T>) -> Result<()>,
    ) -> Result<Vector<T>> {
        let mut output = Vector::uninit(&self.device, OPERATION, len)?;
        fill(self, output.view_mut())?;
        Ok(output)
    }

    /// Returns the distribution, with the table of `lambda` on the device. The last table is reused if it is for the same
    /// `lambda`.
    fn poisson_count(&mut self, lambda: f64) -> Result<PoissonCount> {
        let on_device = match self.poisson.take() {
            Some(last) if last.table.mean() == lambda => last,
            _ => {
                let table = PoissonTable::new(lambda).ok_or_else(|| {
                    Error::invalid(
                        InvalidKind::Value,
                        OPERATION,
                        format!("a lambda from 0 to {}", Poisson::LARGEST_MEAN),
                        format!("{lambda}"),
                    )
                })?;
                let entries = self.device.upload(table.entries())?;
                PoissonOnDevice { table, entries }
            }
        };
        let on_device = self.poisson.insert(on_device);
        Ok(PoissonCount {
            entries: on_device.entries.view().address(),
            columns: on_device.table.columns(),
        })
    }
}

fn check_normal(mean: f64, std_dev: f64) -> Result<()> {
    // A NaN fails the comparison.
    if mean.is_finite() && std_dev >= 0.0 && std_dev.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(
        InvalidKind::Value,
        OPERATION,
        "a finite mean and a finite standard deviation of at least 0",
        format!("{mean} and {std_dev}"),
    ))
}
