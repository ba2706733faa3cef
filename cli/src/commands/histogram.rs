//! `warpwright histogram`

use std::io::Write;

use serde::Serialize;
use warpwright::Device;
use warpwright_cli::array::{Array, Data};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::{self, Target};
use warpwright_cli::plot::HistogramPlot;

use super::{Done, failed, open, read, shown, timed, variant};
use crate::args::{Global, Histogram};
use crate::report::{self, Answer};

/// The default number of bins of a range.
const RANGE_BINS: usize = 256;

/// The counts as JSON.
#[derive(Serialize)]
struct Counts<'a> {
    counts: &'a [u64],
    outside: u64,
}

/// Counts the values in each bin, and prints, writes or draws the counts.
pub fn run(global: &Global, options: &Histogram) -> Result<()> {
    let variant = variant(global, "histogram")?;
    let range = range(options)?;
    let output = options.output.as_deref().map(Target::npy).transpose()?;
    let plot = options.plot.as_deref().map(Target::plot).transpose()?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let bins = options.bins.map(|bins| bins as usize);
    let done = histogram(&device, &input, bins, range, variant)
        .map_err(|error| error.within(options.input.display()))?;
    let values = input.len();
    drop(input);

    // Both files are complete before the first is moved to its place.
    let counts = output.as_ref().map(|target| {
        let counts = done.value.counts.iter().map(|&count| count as i64);
        (target, Array::I64(Data::vector(counts.collect())))
    });
    let title = options
        .input
        .file_name()
        .unwrap_or(options.input.as_os_str());
    let drawing = HistogramPlot {
        title: &title.to_string_lossy(),
        counts: &done.value.counts,
        outside: done.value.outside,
        range,
    };
    let drawing = plot.as_ref().map(|target| (target, drawing.svg()));
    let mut staged = Vec::new();
    if let Some((target, counts)) = &counts {
        staged.push(target.stage_array(counts)?);
    }
    if let Some((target, drawing)) = &drawing {
        staged.push(target.stage_text(drawing)?);
    }
    output::put(staged)?;

    let (counts, outside) = (&done.value.counts, done.value.outside);
    let to_file = output.is_some() || plot.is_some();
    if global.json {
        return report::json(&Answer {
            value: (!to_file).then_some(Counts { counts, outside }),
            output: output.as_ref().map(|target| shown(target.path())),
            plot: plot.as_ref().map(|target| shown(target.path())),
            outside: to_file.then_some(outside),
            ..done.answer(&device)
        });
    }
    if !to_file {
        report::print(|out| print(out, counts, outside, range))?;
    }
    report::note(&format!(
        "{values} values in {} bins, {outside} left out ({})",
        counts.len(),
        done.how(&device)
    ));
    Ok(())
}

/// Prints one line per bin (its number, or its ends) and one for the values outside, with columns separated by tabs.
fn print(
    out: &mut dyn Write,
    counts: &[u64],
    outside: u64,
    range: Option<(f64, f64)>,
) -> std::io::Result<()> {
    for (bin, count) in counts.iter().enumerate() {
        match range {
            None => writeln!(out, "{bin}\t{count}")?,
            Some((low, high)) => {
                let edge = |bin| low + (high - low) * (bin as f64 / counts.len() as f64);
                writeln!(out, "{:?}\t{:?}\t{count}", edge(bin), edge(bin + 1))?;
            }
        }
    }
    writeln!(out, "outside\t{outside}")
}

/// Returns the range of the command line.
fn range(options: &Histogram) -> Result<Option<(f64, f64)>> {
    let Some(range) = &options.range else {
        return Ok(None);
    };
    match range[..] {
        [low, high] if low < high && low.is_finite() && high.is_finite() => Ok(Some((low, high))),
        _ => Err(Error::usage(format!(
            "--range needs two finite numbers LO and HI with LO below HI, and was given {}",
            range
                .iter()
                .map(f64::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        ))),
    }
}

fn histogram(
    device: &Device,
    input: &Array,
    bins: Option<usize>,
    range: Option<(f64, f64)>,
    variant: Option<&str>,
) -> Result<Done<warpwright::Histogram>> {
    /// Counts with a request made from an uploaded vector.
    macro_rules! count {
        ($data:expr, |$vector:ident| $request:expr) => {{
            let $vector = device.upload($data.values()).map_err(failed)?;
            Ok(done!(device, $request, variant, prepare(), |it| it.finish()))
        }};
    }
    let dtype = input.dtype();
    let refused = |other: &str| {
        Err(Error::failed(format!(
            "the data is {dtype}; u8 u16 u32 number bins, f32 f64 take --range: convert it, for example with \
             array.astype('{other}')"
        )))
    };
    match (input, range) {
        (Array::U8(data), None) => {
            count!(data, |vector| device
                .histogram_request(&vector, bins.unwrap_or(256)))
        }
        (Array::U16(data), None) => {
            count!(data, |vector| device
                .histogram_request(&vector, bins.unwrap_or(65_536)))
        }
        (Array::U32(data), None) => {
            let bins = bins.ok_or_else(|| {
                Error::usage(
                    "the data is u32, whose values number 2^32 bins: say how many with --bins N",
                )
            })?;
            count!(data, |vector| device.histogram_request(&vector, bins))
        }
        (Array::F32(data), Some((low, high))) => {
            let (low, high) = (low as f32, high as f32);
            if !(low < high && low.is_finite() && high.is_finite()) {
                return Err(Error::usage(format!(
                    "the data is f32, in which --range is {low} to {high}: give LO and HI that are finite and \
                     differ"
                )));
            }
            let bins = bins.unwrap_or(RANGE_BINS);
            count!(data, |vector| device
                .histogram_range_request(&vector, bins, low, high))
        }
        (Array::F64(data), Some((low, high))) => {
            let bins = bins.unwrap_or(RANGE_BINS);
            count!(data, |vector| device
                .histogram_range_request(&vector, bins, low, high))
        }
        (Array::F32(_) | Array::F64(_), None) => Err(Error::usage(format!(
            "the data is {dtype}, which does not number bins: give the binned range with --range LO HI"
        ))),
        (Array::I8(_) | Array::I32(_) | Array::I64(_), _) => refused("uint32"),
        (Array::F8E4M3(_) | Array::F8E5M2(_) | Array::F16(_) | Array::Bf16(_), _) => {
            refused("float32")
        }
        (_, Some(_)) => Err(Error::usage(format!(
            "--range is for f32 and f64 and the data is {dtype}, whose values are bin numbers: leave it out, \
             or convert the data with array.astype('float32')"
        ))),
    }
}
