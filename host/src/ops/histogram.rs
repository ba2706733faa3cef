//! Histogram: how many values fall into each bin.

use cuda_std::kernel::{ByValue, KernelDescriptor, LaunchConfig};
use warpwright_gpu::histogram::{
    BinNumber, Binning, EvenRange, FAMILY, Kernels,
    policy::{self, Policy},
};

use super::{Choice, ChosenBy, Strided, choose, grid_size, made::Made, sealed::Sealed};
use crate::{
    buffer::{Element, Vector, VectorView, host_vec},
    device::Device,
    error::{Error, Result},
    launch::RawArgs,
};

/// The most bins that a histogram has: 2^32 - 2. One number more stands for the values that fall into none.
pub const MOST_BINS: usize = u32::MAX as usize - 1;

/// The counts of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// How many values fell into each bin.
    pub counts: Vec<u64>,
    /// How many values fell into none, and were not counted.
    pub outside: u64,
}

impl Histogram {
    /// The number of values.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.outside
    }
}

/// A value that is a bin's number: `u8`, `u16`, `u32`.
pub trait BinValue: Element + Sealed {
    #[doc(hidden)]
    type Rule: Kernels<In = Self> + ByValue;
    #[doc(hidden)]
    fn rule() -> Self::Rule;
}

/// A value of a range that bins divide: `f32`, `f64`.
pub trait RangeValue: Element + PartialOrd + std::fmt::Display + Sealed {
    #[doc(hidden)]
    type Rule: Kernels<In = Self> + ByValue;
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
    /// Counts how often each of the numbers `0..bins` comes among `values`.
    ///
    /// A value that is not below `bins` is not counted, and is part of
    /// [`outside`](Histogram::outside). Any number of values, also none; 1 to [`MOST_BINS`] bins. Exact:
    /// every variant gives the same counts on every device. Waits for the result.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `bins` is 0 or too many, [`Error::DeviceMismatch`], [`Error::OutOfMemory`],
    /// and what the device reports.
    pub fn histogram<'a, T: BinValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
    ) -> Result<Histogram> {
        self.histogram_request(values, bins).run()
    }

    /// [`histogram`](Self::histogram) with options.
    pub fn histogram_request<'a, T: BinValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
    ) -> HistogramRequest<'a, T::Rule> {
        HistogramRequest {
            device: self.clone(),
            input: values.into(),
            bins,
            rule: Ok(T::rule()),
            variant: None,
        }
    }

    /// Counts how many of `values` fall into each of `bins` equal parts of `low ..= high`.
    ///
    /// The bin of `v` is the integer part of `(v - low) * (bins / (high - low))`, computed in the values'
    /// type with one rounding per operation; `high` belongs to the last bin. A value outside the range, or
    /// NaN, is not counted, and is part of [`outside`](Histogram::outside). Otherwise as
    /// [`histogram`](Self::histogram).
    ///
    /// # Errors
    /// As for [`histogram`](Self::histogram); [`Error::Invalid`] too if the range is empty, not finite, or
    /// so narrow or wide that its arithmetic overflows.
    pub fn histogram_range<'a, T: RangeValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
        low: T,
        high: T,
    ) -> Result<Histogram> {
        self.histogram_range_request(values, bins, low, high).run()
    }

    /// [`histogram_range`](Self::histogram_range) with options.
    pub fn histogram_range_request<'a, T: RangeValue>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        bins: usize,
        low: T,
        high: T,
    ) -> HistogramRequest<'a, T::Rule> {
        let rule = T::rule(low, high, u32::try_from(bins).unwrap_or(u32::MAX)).ok_or_else(|| {
            Error::invalid(
                "histogram",
                "a finite range whose low end lies below its high end",
                format!("{low} to {high}"),
            )
        });
        HistogramRequest {
            device: self.clone(),
            input: values.into(),
            bins,
            rule,
            variant: None,
        }
    }
}

/// A histogram that is to be made.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct HistogramRequest<'a, B: Binning> {
    device: Device,
    input: VectorView<'a, B::In>,
    bins: usize,
    rule: Result<B>,
    variant: Option<String>,
}

impl<'a, B: Kernels + ByValue> HistogramRequest<'a, B>
where
    B::In: Element,
{
    /// Uses the variant called `name`: `serial`, `global_atomic`, `privatized`, `privatized_coarsened` or
    /// `best`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Does it, and waits for the result.
    ///
    /// # Errors
    /// As for [`Device::histogram`]; [`Error::UnknownVariant`] and [`Error::NotEligible`] too.
    pub fn run(self) -> Result<Histogram> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.finish()
    }

    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn prepare(self) -> Result<PreparedHistogram<'a, B>> {
        let Self {
            device,
            input,
            bins,
            rule,
            variant,
        } = self;
        if bins == 0 || bins > MOST_BINS {
            return Err(Error::invalid(
                "histogram",
                format!("1 to {MOST_BINS} bins"),
                format!("{bins}"),
            ));
        }
        let rule = rule?;
        device.require_same("histogram", input.device())?;
        let choice = choose(&FAMILY, variant.as_deref())?;
        let work = plan::<B>(&device, choice, input.len(), bins)?;
        // Of noughts until the work is queued; so the first time they need not be cleared.
        let counts = device.zeros(bins)?;
        Ok(PreparedHistogram {
            device,
            input,
            bins,
            rule,
            choice,
            work,
            counts: Made::at("histogram", counts),
            cleared: true,
        })
    }
}

#[derive(Debug)]
enum Work {
    Host,
    Launch {
        kernel: &'static KernelDescriptor,
        config: LaunchConfig,
        /// Of `best`: the logarithm of the copies, and the bins of a slice.
        best: Option<[u32; 2]>,
    },
}

fn plan<B: Kernels>(device: &Device, choice: Choice, len: usize, bins: usize) -> Result<Work> {
    let Some(kernel) = B::KERNELS[choice.index] else {
        return Ok(Work::Host);
    };
    let rung = policy::RUNG_BLOCK as u32;
    let tuned: Policy = device.policy(kernel, size_of::<B::In>());
    let slices_of = |slice: usize, most: usize| match bins.div_ceil(slice) {
        slices if slices <= most => Ok(slices as u32),
        _ => Err(Error::NotEligible {
            family: FAMILY.name,
            variant: choice.variant(),
            reason: format!(
                "it counts {} bins at most, given {bins}; global_atomic counts any number",
                slice * most
            ),
        }),
    };
    let strided = |kernel, threads, shared_bytes, blocks_per_multiprocessor, least_per_thread| {
        let least_per_block = threads as usize * least_per_thread;
        let strided = Strided {
            kernel,
            threads,
            shared_bytes,
            blocks_per_multiprocessor,
            least_per_block,
        };
        let blocks = strided.blocks(device, FAMILY.name, len)?;
        Ok::<_, Error>(blocks.max(len.div_ceil(policy::MOST_VALUES_PER_BLOCK)))
    };
    let work = |kernel, blocks, slices, threads, shared_bytes, best| {
        let grid = [grid_size(&FAMILY, choice, blocks)?, slices, 1];
        let config = LaunchConfig {
            grid,
            block: [threads, 1, 1],
            shared_bytes,
        };
        Ok(Work::Launch {
            kernel,
            config,
            best,
        })
    };
    let global = |kernel| {
        let blocks = strided(
            kernel,
            rung,
            0,
            policy::RUNG_BLOCKS_PER_MULTIPROCESSOR,
            policy::LEAST_PER_THREAD,
        )?;
        work(kernel, blocks, 1, rung, 0, None)
    };
    let rung_bytes = (bins.min(policy::RUNG_SLICE) * 4) as u32;
    let slice = tuned.slice(bins, device.info().shared_bytes_per_block);
    match choice.variant() {
        "global_atomic" => global(kernel),
        "privatized" => {
            let slices = slices_of(policy::RUNG_SLICE, policy::MOST_SLICES)?;
            work(
                kernel,
                len.div_ceil(policy::CHUNK).max(1),
                slices,
                rung,
                rung_bytes,
                None,
            )
        }
        "privatized_coarsened" => {
            let slices = slices_of(policy::RUNG_SLICE, policy::MOST_SLICES)?;
            let per_multiprocessor = policy::RUNG_BLOCKS_PER_MULTIPROCESSOR;
            let least = policy::LEAST_PER_THREAD;
            let blocks = strided(kernel, rung, rung_bytes, per_multiprocessor, least)?;
            work(kernel, blocks, slices, rung, rung_bytes, None)
        }
        _ => match (
            slices_of(slice, policy::BEST_MOST_SLICES),
            B::KERNELS[GLOBAL_ATOMIC],
        ) {
            (Ok(slices), _) => {
                let copies = tuned.copies_for(bins);
                let bytes = policy::best_shared_bytes(slice, copies) as u32;
                let (threads, least) = (tuned.block_for(slice) as u32, tuned.least_per_thread);
                let blocks = strided(kernel, threads, bytes, tuned.resident, least)?;
                let of_best = [copies.ilog2(), slice as u32];
                work(kernel, blocks, slices, threads, bytes, Some(of_best))
            }
            // More bins than slices pay for: the values go straight to global memory.
            (Err(_), Some(kernel)) => global(kernel),
            (Err(error), None) => Err(error),
        },
    }
}

/// The position of `global_atomic` in the catalogue.
const GLOBAL_ATOMIC: usize = 1;

/// A histogram whose variant is chosen and whose counts have their place.
#[derive(Debug)]
pub struct PreparedHistogram<'a, B: Binning> {
    device: Device,
    input: VectorView<'a, B::In>,
    bins: usize,
    rule: B,
    choice: Choice,
    work: Work,
    counts: Made<Vector<u64>>,
    /// Whether the counts are 0.
    cleared: bool,
}

impl<B: Kernels + ByValue> PreparedHistogram<'_, B>
where
    B::In: Element,
{
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes: the counts, 8 per bin, whose copy on the host is the result.
    pub fn workspace_bytes(&self) -> usize {
        self.bins * size_of::<u64>()
    }

    /// Queues the work: clears the counts and counts. `serial` does its work here, on the host.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.counts.by(|counts| match self.work {
            Work::Host => {
                self.cleared = false;
                counts.upload(&serial(self.rule, &self.input.to_vec()?, self.bins)?)
            }
            Work::Launch {
                kernel,
                config,
                best,
            } => {
                if !self.cleared {
                    counts.view_mut().clear()?;
                }
                self.cleared = false;
                let mut args = RawArgs::new();
                args.view(self.input.address(), self.input.len())
                    .view(counts.view().address(), self.bins)
                    .value(self.rule);
                if let Some([copies_log2, slice]) = best {
                    args.value(copies_log2).value(slice);
                }
                let (launch, owners) = ((kernel, config), [self.input.device()]);
                // SAFETY: the counts are this request's own, one per bin; the plan keeps to the kernel's
                // shared memory and to 2^32 values per block.
                unsafe { self.device.queue("histogram", launch, &args, &owners) }
            }
        })
    }

    /// Waits for the work queued last and gives its result.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be; and what the device reports.
    pub fn finish(&self) -> Result<Histogram> {
        let counts = self.counts.get()?.to_vec()?;
        let outside = (self.input.len() as u64).saturating_sub(counts.iter().sum());
        Ok(Histogram { counts, outside })
    }
}

/// The reference: one pass on the host.
fn serial<B: Binning>(rule: B, values: &[B::In], bins: usize) -> Result<Vec<u64>> {
    let mut counts = host_vec("histogram", bins, 0)?;
    for value in values {
        if let Some(count) = counts.get_mut(rule.bin(*value, bins as u32) as usize) {
            *count += 1;
        }
    }
    Ok(counts)
}
