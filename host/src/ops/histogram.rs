//! Histograms: the number of values in each bin.

use cuda_std::kernel::{EntryOf, LaunchConfig};
use warpwright_gpu::{
    Family,
    histogram::{
        BinNumber, Binning, EvenRange, FAMILY, HistogramGlobalAtomic, Kernels,
        policy::{self, Policy},
    },
};

pub use warpwright_gpu::histogram::Variant;

#[cfg(feature = "ladder")]
use super::plan::Bytes;
use super::{
    Strided,
    plan::{Place, Plan},
    request::{Destination, New, OnDevice, Operation, Prepared, Request, Shape, Writable},
    sealed::Sealed,
};
#[cfg(feature = "ladder")]
use crate::buffer::host_vec;
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// The most bins that a histogram can have: 2^32 - 2. One further number stands for values outside all bins.
pub const MOST_BINS: usize = u32::MAX as usize - 1;

/// The result of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// The number of values in each bin.
    pub counts: Vec<u64>,
    /// The number of values that fall into no bin. They are not counted.
    pub outside: u64,
}

impl Histogram {
    /// Returns the number of all values, inside and outside the bins.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.outside
    }
}

/// A rule that maps values to bins, with its kernels.
#[doc(hidden)]
pub trait Rule: Kernels<In: Element> + Send + Sync {}
impl<B: Kernels<In: Element> + Send + Sync> Rule for B {}

/// A value that is the number of its bin: `u8`, `u16`, `u32`.
pub trait BinValue: Element + Sealed {
    #[doc(hidden)]
    type Rule: Rule<In = Self>;
    #[doc(hidden)]
    fn rule() -> Self::Rule;
}

/// A value of a range that is divided into bins: `f32`, `f64`.
pub trait RangeValue: Element + PartialOrd + std::fmt::Display + Sealed {
    #[doc(hidden)]
    type Rule: Rule<In = Self>;
    #[doc(hidden)]
    fn rule(low: Self, high: Self, bins: u32) -> Option<Self::Rule>;
}

macro_rules! values {
    (numbers $($number:ty),*; ranges $($range:ty),*) => {
        $(impl BinValue for $number {
            type Rule = BinNumber<$number>;
            fn rule() -> Self::Rule {
                BinNumber::new()
            }
        })*
        $(impl RangeValue for $range {
            type Rule = EvenRange<$range>;
            fn rule(low: Self, high: Self, bins: u32) -> Option<Self::Rule> {
                let rule = EvenRange::<$range>::new(low, high, bins);
                // A NaN fails the comparison.
                (low < high && (high - low).is_finite() && rule.scale.is_finite()).then_some(rule)
            }
        })*
    };
}
values!(numbers u8, u16, u32; ranges f32, f64);

impl Device {
    /// Counts how often each of the numbers `0..bins` occurs in `values`.
    ///
    /// Values that are not below `bins` are not counted; [`outside`](Histogram::outside) is their number. There can be any
    /// number of values, including none, and 1 to [`MOST_BINS`] bins. The counts are exact: every variant gives the same
    /// counts on every device. Waits for the result.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `bins` is 0 or too many, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the
    /// device.
    pub fn histogram<'a, T: BinValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
    ) -> Result<Histogram> {
        self.histogram_request(values, bins).run()
    }

    /// Makes a request of [`histogram`](Self::histogram), with options.
    pub fn histogram_request<'a, T: BinValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
    ) -> HistogramRequest<'a, T::Rule> {
        let (input, rule) = (values.into(), Ok(T::rule()));
        Request::new(self, Counts { input, bins, rule })
    }

    /// Counts how many of `values` fall into each of `bins` equal parts of `low ..= high`.
    ///
    /// The bin of `v` is the integer part of `(v - low) * (bins / (high - low))`, computed in the values' type with one
    /// rounding per operation. `high` belongs to the last bin. Values outside the range and NaNs are not counted;
    /// [`outside`](Histogram::outside) is their number. Otherwise as [`histogram`](Self::histogram). Waits for the result.
    ///
    /// # Errors
    /// As for [`histogram`](Self::histogram). Also [`Error::Invalid`] if the range is empty, not finite, or so narrow or
    /// wide that the arithmetic overflows.
    pub fn histogram_range<'a, T: RangeValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
        low: T,
        high: T,
    ) -> Result<Histogram> {
        self.histogram_range_request(values, bins, low, high).run()
    }

    /// Makes a request of [`histogram_range`](Self::histogram_range), with options.
    pub fn histogram_range_request<'a, T: RangeValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
        low: T,
        high: T,
    ) -> HistogramRequest<'a, T::Rule> {
        let rule = T::rule(low, high, u32::try_from(bins).unwrap_or(u32::MAX)).ok_or_else(|| {
            Error::invalid(
                InvalidKind::Value,
                "histogram",
                "a finite range whose low end lies below its high end",
                format!("{low} to {high}"),
            )
        });
        let input = values.into();
        Request::new(self, Counts { input, bins, rule })
    }
}

/// The counts of a histogram, a `u64` per bin. They need no workspace.
#[derive(Debug, Clone)]
pub struct Counts<'a, B: Binning> {
    input: VectorView<'a, B::In>,
    bins: usize,
    rule: Result<B>,
}

/// A request of a histogram. Its prepared form keeps the counts on the device.
pub type HistogramRequest<'a, B, D = New> = Request<Counts<'a, B>, D>;
/// A histogram whose variant is chosen and whose counts have their memory.
pub type PreparedHistogram<'a, B, R = Vector<u64>> = Prepared<Counts<'a, B>, R>;

impl<'a, B: Rule, D> HistogramRequest<'a, B, D> {
    /// Leaves the counts on the device, a `u64` per bin: `run` then returns the array, or the place of
    /// [`output_to`](Self::output_to), and does not wait.
    ///
    /// Values outside all bins are not counted: their number is that of all values less the sum of the counts.
    pub fn output_on_device(self) -> Request<OnDevice<Counts<'a, B>>, D> {
        self.with(|counts, to| (OnDevice(counts), to))
    }
}

impl<B: Rule, D> HistogramRequest<'_, B, D>
where
    D: Destination<Vector<u64>, Claimed: Writable<Vector<u64>>>,
{
    /// Computes the histogram and waits for the result.
    ///
    /// # Errors
    /// As for [`Device::histogram`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<Histogram> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.finish()
    }
}

impl<B: Rule, R: Writable<Vector<u64>>> PreparedHistogram<'_, B, R> {
    /// Waits for the work queued last and returns its result.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or if queueing the last work failed; and errors of the device.
    pub fn finish(&self) -> Result<Histogram> {
        let counts = self.output()?.target().to_vec()?;
        let outside = (self.op.input.len() as u64).saturating_sub(counts.iter().sum());
        Ok(Histogram { counts, outside })
    }
}

impl<B: Rule> Operation for Counts<'_, B> {
    type Output = Vector<u64>;

    fn name(&self) -> &'static str {
        FAMILY.name
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let bins = self.bins;
        if bins == 0 || bins > MOST_BINS {
            return Err(Error::invalid(
                InvalidKind::Value,
                plan.operation,
                format!("1 to {MOST_BINS} bins"),
                format!("{bins}"),
            ));
        }
        let rule = self.rule.clone()?;
        let input = plan.input(self.input)?;
        let counting = Counting { input, bins, rule };
        #[cfg(feature = "ladder")]
        if counting.rung(plan, self.input)? {
            return Ok(Shape::Vector(bins));
        }
        counting.best(plan)?;
        Ok(Shape::Vector(bins))
    }
}

/// A kernel that counts without a policy.
type Plain<B> = EntryOf<HistogramGlobalAtomic<B>>;

/// The inputs of a histogram.
struct Counting<B: Binning> {
    input: Place<B::In>,
    bins: usize,
    rule: B,
}

#[cfg(feature = "ladder")]
impl<B: Rule> Counting<B> {
    /// Plans a variant below `best`, if that was chosen, and returns whether it was.
    fn rung(&self, plan: &mut Plan<'_>, values: VectorView<'_, B::In>) -> Result<bool>
    where
        B::In: Element,
    {
        match Variant::ALL[plan.choice.index] {
            Variant::Serial => {
                let (rule, bins, device) = (self.rule, self.bins, values.device().clone());
                let (address, len) = (values.address(), values.len());
                let make: Bytes = Box::new(move |upload| {
                    let values = VectorView::from_parts(address, len, &device).to_vec()?;
                    upload(bytemuck::cast_slice(&serial(rule, &values, bins)?))
                });
                plan.upload(Place::<u64>::output(bins), make);
            }
            Variant::GlobalAtomic => self.global(plan)?,
            Variant::Privatized => {
                let blocks = self.input.len().div_ceil(policy::CHUNK).max(1);
                self.privatized(plan, B::PRIVATIZED, blocks)?;
            }
            Variant::PrivatizedCoarsened => {
                let kernel = B::PRIVATIZED_COARSENED;
                let blocks = self.strided(plan, kernel, self.slice_bytes())?;
                self.privatized(plan, kernel, blocks)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Plans counting in shared memory of each block, for one slice of the bins at a time.
    fn privatized(&self, plan: &mut Plan<'_>, kernel: Plain<B>, blocks: usize) -> Result<()> {
        let slices = self.slices(plan, policy::RUNG_SLICE, policy::MOST_SLICES)?;
        let config = plan.linear(blocks, policy::RUNG_BLOCK)?;
        let config = config.with_shared(self.slice_bytes());
        self.plain(plan, kernel, sliced(config, slices));
        Ok(())
    }

    /// Returns the size of a slice of `privatized` in bytes.
    fn slice_bytes(&self) -> u32 {
        (self.bins.min(policy::RUNG_SLICE) * size_of::<u32>()) as u32
    }
}

impl<B: Rule> Counting<B> {
    /// Plans counting in global memory.
    fn global(&self, plan: &mut Plan<'_>) -> Result<()> {
        let kernel = B::GLOBAL_ATOMIC;
        let config = plan.linear(self.strided(plan, kernel, 0)?, policy::RUNG_BLOCK)?;
        self.plain(plan, kernel, config);
        Ok(())
    }

    fn plain(&self, plan: &mut Plan<'_>, kernel: Plain<B>, config: LaunchConfig) {
        let counts = self.cleared(plan);
        // SAFETY: there is a count per bin, and all are 0. A slice's counts fit the shared memory, and a block counts at
        // most 2^32 values.
        unsafe { plan.launch(kernel, config, (self.input, counts, self.rule)) };
    }

    fn best(&self, plan: &mut Plan<'_>) -> Result<()> {
        let tuned: Policy = plan.policy(B::BEST, size_of::<B::In>());
        let slice = tuned.slice(self.bins, plan.device.info().shared_bytes_per_block);
        let Ok(slices) = self.slices(plan, slice, policy::BEST_MOST_SLICES) else {
            // There are more bins than slices are worth.
            return self.global(plan);
        };
        let copies = tuned.copies_for(self.bins);
        let threads = tuned.block_for(slice);
        let strided = Strided {
            kernel: B::BEST.descriptor(),
            threads: threads as u32,
            shared_bytes: policy::best_shared_bytes(slice, copies) as u32,
            blocks_per_multiprocessor: tuned.resident,
            least_per_block: threads * tuned.least_per_thread,
        };
        let config = plan.linear(self.blocks(plan, &strided)?, threads)?;
        let config = sliced(config.with_shared(strided.shared_bytes), slices);
        let counts = self.cleared(plan);
        let args = (self.input, counts, self.rule, copies.ilog2(), slice as u32);
        // SAFETY: as for a rung; the copies of a slice fit the shared memory.
        unsafe { plan.launch(B::BEST, config, args) };
        Ok(())
    }

    /// Returns the counts, which the plan sets to 0 each time.
    fn cleared(&self, plan: &mut Plan<'_>) -> Place<u64> {
        let counts = Place::output(self.bins);
        plan.clear(counts);
        counts
    }

    /// Returns the number of slices of `slice` bins each, if there are at most `most`.
    fn slices(&self, plan: &Plan<'_>, slice: usize, most: usize) -> Result<u32> {
        match self.bins.div_ceil(slice) {
            slices if slices <= most => Ok(slices as u32),
            _ => Err(plan.not_eligible(format!(
                "it counts {} bins at most, given {}; global_atomic counts any number",
                slice * most,
                self.bins
            ))),
        }
    }

    /// Returns the number of blocks of a kernel with a grid-stride loop and no policy.
    fn strided(&self, plan: &Plan<'_>, kernel: Plain<B>, shared_bytes: u32) -> Result<usize> {
        let strided = Strided {
            kernel: kernel.descriptor(),
            threads: policy::RUNG_BLOCK as u32,
            shared_bytes,
            blocks_per_multiprocessor: policy::RUNG_BLOCKS_PER_MULTIPROCESSOR,
            least_per_block: policy::RUNG_BLOCK * policy::LEAST_PER_THREAD,
        };
        self.blocks(plan, &strided)
    }

    /// Returns the number of blocks, such that no block counts more values than its counts can hold.
    fn blocks(&self, plan: &Plan<'_>, strided: &Strided) -> Result<usize> {
        let len = self.input.len();
        let blocks = strided.blocks(plan.device, plan.family.name, len)?;
        Ok(blocks.max(len.div_ceil(policy::MOST_VALUES_PER_BLOCK)))
    }
}

/// Returns the launch with `slices` blocks along y.
fn sliced(config: LaunchConfig, slices: u32) -> LaunchConfig {
    let [blocks, ..] = config.grid;
    LaunchConfig {
        grid: [blocks, slices, 1],
        ..config
    }
}

/// Counts in one pass on the host, as the reference.
#[cfg(feature = "ladder")]
fn serial<B: Binning>(rule: B, values: &[B::In], bins: usize) -> Result<Vec<u64>> {
    let mut counts = host_vec("histogram", bins, 0)?;
    for value in values {
        if let Some(count) = counts.get_mut(rule.bin(*value, bins as u32) as usize) {
            *count += 1;
        }
    }
    Ok(counts)
}
