//! `warpwright run-lengths`

use warpwright::Device;
use warpwright::ops::segments::PreparedRunLengths;
use warpwright::ops::select::Selectable;
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::Result;
use warpwright_cli::output::{self, Target};
use warpwright_cli::with_numbers;

use super::{Done, check_names, failed, open, read, shaped, shown, timed, variant};
use crate::args::{Global, RunLengths};
use crate::report::Answer;

/// The element of each run, and the runs' lengths.
struct Runs {
    elements: Array,
    lengths: Array,
}

/// Finds the runs of equal elements, and writes the element of each and their lengths.
pub fn run(global: &Global, options: &RunLengths) -> Result<()> {
    let variant = variant(global, "segments")?;
    check_names(&options.output, "--lengths", Some(&options.lengths))?;
    let target = Target::npy(&options.output)?;
    let lengths = Target::npy(&options.lengths)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = with_numbers!("run-lengths", &input, data => run_lengths(&device, data, variant));
    let done = done.map_err(|error| error.within(options.input.display()))?;
    let shape = input.shape();
    drop(input);

    // Both files are complete before the first is moved to its place.
    let staged = [
        (&target, &done.value.elements),
        (&lengths, &done.value.lengths),
    ];
    let staged = staged.map(|(target, array)| target.stage_array(array));
    output::put(staged.into_iter().collect::<Result<_>>()?)?;
    let elements = &done.value.elements;
    let (count, dtype) = (elements.len(), elements.dtype());
    let what = format!("{count} runs of {dtype} in {shape}");
    done.report(global, &device, &target, &what, |answer| Answer {
        lengths: Some(shown(lengths.path())),
        ..answer
    })
}

fn run_lengths<T: Element + Selectable>(
    device: &Device,
    data: &Data<T>,
    variant: Option<&str>,
) -> Result<Done<Runs>> {
    let vector = device.upload(data.values()).map_err(failed)?;
    let request = device.run_lengths_request(&vector);
    let done = done!(device, request, variant, prepare(), |it| found(it));
    done.map(|(elements, lengths)| {
        let shape = Shape::Vector(elements.len());
        let lengths = lengths.into_iter().map(|length| length as i64);
        Ok(Runs {
            elements: shaped(shape, elements)?,
            lengths: shaped(shape, lengths.collect())?,
        })
    })
}

/// Returns the element of each run, and the runs' lengths.
fn found<T: Element + Selectable>(
    prepared: &PreparedRunLengths<'_, T>,
) -> warpwright::Result<(Vec<T>, Vec<u64>)> {
    let count = prepared.count()?;
    let elements = prepared.keys()?.slice(..count)?.to_vec()?;
    Ok((elements, prepared.output()?.slice(..count)?.to_vec()?))
}
