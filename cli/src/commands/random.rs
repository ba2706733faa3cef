//! `warpwright random`

use warpwright::ops::random::RandomFloat;
use warpwright::{Device, Generator, RandomGenerator, Vector, VectorViewMut};
use warpwright_cli::array::{Array, Data, Element};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::{self, Target};
use warpwright_cli::plot::HistogramPlot;

use super::{Done, failed, open, shown, timed, variant};
use crate::args::{Distribution, FloatType, GeneratorChoice, Global, Random};
use crate::report::Answer;

/// The maximum number of bins of a plot.
const BINS: usize = 256;

/// The checked request of the command line.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Floats(FloatType, Floats),
    Poisson(f64),
}

/// A distribution of floats.
#[derive(Debug, Clone, Copy)]
enum Floats {
    Uniform,
    Normal(f64, f64),
    LogNormal(f64, f64),
}

/// Makes random numbers, writes them, and draws their histogram.
pub fn run(global: &Global, options: &Random) -> Result<()> {
    let variant = variant(global, "random")?;
    let wanted = wanted(options)?;
    let target = Target::npy(&options.output)?;
    let plot = options.plot.as_deref().map(Target::plot).transpose()?;
    let device = open(global.device)?;
    let done = numbers(&device, options, wanted, variant).map_err(failed)?;

    // Both files are complete before the first is moved to its place.
    let mut staged = vec![target.stage_array(&done.value)?];
    let drawing = plot
        .as_ref()
        .map(|plot| (plot, drawn(&title(wanted), &done.value)));
    if let Some((plot, drawing)) = &drawing {
        staged.push(plot.stage_text(drawing)?);
    }
    output::put(staged)?;
    let (title, dtype) = (title(wanted), done.value.dtype());
    let what = format!("{} {title} numbers of {dtype}", done.value.len());
    done.report(global, &device, &target, &what, |answer| Answer {
        plot: plot.as_ref().map(|plot| shown(plot.path())),
        ..answer
    })
}

/// Returns the distribution with its parameters. A parameter of another distribution is a usage error.
fn wanted(options: &Random) -> Result<Wanted> {
    let name = match options.distribution {
        Distribution::Uniform => "uniform",
        Distribution::Normal => "normal",
        Distribution::LogNormal => "log-normal",
        Distribution::Poisson => "poisson",
    };
    let refuse = |given: bool, option: &str| match given {
        true => Err(Error::usage(format!(
            "{name} numbers take no --{option}: leave it out"
        ))),
        false => Ok(()),
    };
    let float = options.dtype.unwrap_or(FloatType::F32);
    let (mean, std_dev) = (options.mean.unwrap_or(0.0), options.std.unwrap_or(1.0));
    let normal = matches!(
        options.distribution,
        Distribution::Normal | Distribution::LogNormal
    );
    let poisson = options.distribution == Distribution::Poisson;
    refuse(options.mean.is_some() && !normal, "mean")?;
    refuse(options.std.is_some() && !normal, "std")?;
    refuse(options.lambda.is_some() && !poisson, "lambda")?;
    refuse(options.dtype.is_some() && poisson, "dtype")?;
    if !(mean.is_finite() && std_dev.is_finite() && std_dev >= 0.0) {
        return Err(Error::usage(format!(
            "a finite --mean and a finite --std of at least 0 are needed, given {mean} and {std_dev}"
        )));
    }
    match options.distribution {
        Distribution::Uniform => Ok(Wanted::Floats(float, Floats::Uniform)),
        Distribution::Normal => Ok(Wanted::Floats(float, Floats::Normal(mean, std_dev))),
        Distribution::LogNormal => Ok(Wanted::Floats(float, Floats::LogNormal(mean, std_dev))),
        Distribution::Poisson => match options.lambda {
            Some(lambda) if (0.0..=1e6).contains(&lambda) => Ok(Wanted::Poisson(lambda)),
            Some(lambda) => Err(Error::usage(format!(
                "a --lambda from 0 to 1000000 is needed, given {lambda}"
            ))),
            None => Err(Error::usage("poisson needs its mean: give --lambda L")),
        },
    }
}

/// Returns `normal (mean 0, standard deviation 1)`.
fn title(wanted: Wanted) -> String {
    match wanted {
        Wanted::Floats(_, Floats::Uniform) => "uniform".to_owned(),
        Wanted::Floats(_, Floats::Normal(mean, std_dev)) => {
            format!("normal (mean {mean}, standard deviation {std_dev})")
        }
        Wanted::Floats(_, Floats::LogNormal(mean, std_dev)) => {
            format!("log-normal (mean {mean}, standard deviation {std_dev} of the logarithm)")
        }
        Wanted::Poisson(lambda) => format!("Poisson (lambda {lambda})"),
    }
}

fn numbers(
    device: &Device,
    options: &Random,
    wanted: Wanted,
    variant: Option<&str>,
) -> warpwright::Result<Done<Array>> {
    match wanted {
        Wanted::Floats(FloatType::F32, floats) => {
            filled::<f32>(device, options, variant, |random, out| {
                fill(floats, random, out, |number| number as f32)
            })
        }
        Wanted::Floats(FloatType::F64, floats) => {
            filled::<f64>(device, options, variant, |random, out| {
                fill(floats, random, out, |number| number)
            })
        }
        Wanted::Poisson(lambda) => filled::<u32>(device, options, variant, |random, out| {
            random.fill_poisson(out, lambda)
        }),
    }
}

/// Fills a vector with numbers of a distribution, whose parameters `number` converts.
fn fill<T: RandomFloat>(
    floats: Floats,
    random: &mut RandomGenerator,
    out: VectorViewMut<'_, T>,
    number: fn(f64) -> T,
) -> warpwright::Result<()> {
    match floats {
        Floats::Uniform => random.fill_uniform(out),
        Floats::Normal(mean, deviation) => random.fill_normal(out, number(mean), number(deviation)),
        Floats::LogNormal(mean, deviation) => {
            random.fill_log_normal(out, number(mean), number(deviation))
        }
    }
}

/// Fills an array, always from the same place of the stream.
fn filled<T: Element>(
    device: &Device,
    options: &Random,
    variant: Option<&str>,
    fill: impl Fn(&mut RandomGenerator, VectorViewMut<'_, T>) -> warpwright::Result<()>,
) -> warpwright::Result<Done<Array>> {
    let kind = match options.generator {
        GeneratorChoice::Philox => Generator::Philox,
        GeneratorChoice::Xorwow => Generator::Xorwow,
    };
    let generator = || {
        let random = device.generator(kind, options.seed)?;
        let random = random.sequence(options.sequence).offset(options.offset);
        Ok::<_, warpwright::Error>(match variant {
            Some(name) => random.variant(name),
            None => random,
        })
    };
    let choice = generator()?.choice()?;
    let mut output: Vector<T> = device.zeros(options.count.0)?;
    let time = timed(device, || fill(&mut generator()?, output.view_mut()))?;
    Ok(Done {
        value: T::into_array(Data::vector(output.to_vec()?)),
        variant: choice.variant(),
        chosen_by: choice.chosen_by(),
        time,
    })
}

/// Returns the histogram as SVG, from the smallest number to the largest. The few largest log-normal numbers are left out.
fn drawn(title: &str, array: &Array) -> String {
    let values: Vec<f64> = match array {
        Array::F32(data) => data
            .values()
            .iter()
            .map(|value| f64::from(*value))
            .collect(),
        Array::F64(data) => data.values().to_vec(),
        Array::U32(data) => data
            .values()
            .iter()
            .map(|value| f64::from(*value))
            .collect(),
        // The program makes no other type.
        _ => Vec::new(),
    };
    let mut sorted = values;
    sorted.retain(|value| value.is_finite());
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = sorted.len().saturating_sub(1);
        sorted
            .get((part * last as f64) as usize)
            .copied()
            .unwrap_or(0.0)
    };
    // A long tail would leave little room for the rest.
    let (low, high) = (at(0.0), at(0.999).max(at(0.5)));
    let (low, high, bins) = if matches!(array, Array::U32(_)) {
        // Every bin has the same number of whole numbers.
        let width = ((high - low + 1.0) / BINS as f64).ceil();
        let bins = ((high - low + 1.0) / width).ceil();
        (low - 0.5, low - 0.5 + bins * width, bins as usize)
    } else if low < high {
        (low, high, BINS)
    } else {
        (low - 0.5, low + 0.5, 1)
    };
    let mut counts = vec![0_u64; bins];
    let mut outside = (array.len() - sorted.len()) as u64;
    for value in sorted {
        let bin = ((value - low) / (high - low) * bins as f64) as usize;
        // The upper end belongs to the last bin.
        match counts.get_mut(if value == high { bins - 1 } else { bin }) {
            Some(count) => *count += 1,
            None => outside += 1,
        }
    }
    HistogramPlot {
        title,
        counts: &counts,
        outside,
        range: Some((low, high)),
    }
    .svg()
}
