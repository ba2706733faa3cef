//! The commands: one file each.

/// Prepares a request, with the given variant if there is one, runs it, and reads the result.
///
/// The result is the output's elements unless an expression reads another one.
macro_rules! done {
    ($device:expr, $request:expr, $variant:expr) => {
        done!($device, $request, $variant, prepare())
    };
    ($device:expr, $request:expr, $variant:expr, $prepare:ident()) => {
        done!($device, $request, $variant, $prepare(), |it| {
            it.output().and_then(|output| output.to_vec())
        })
    };
    ($device:expr, $request:expr, $variant:expr, $prepare:ident($($argument:expr)?), |$it:ident| $read:expr) => {{
        let mut request = $request;
        if let Some(name) = $variant {
            request = request.variant(name);
        }
        let mut prepared = request.$prepare($($argument)?).map_err(failed)?;
        let time = timed($device, || prepared.enqueue()).map_err(failed)?;
        let $it = &prepared;
        Done {
            value: $read.map_err(failed)?,
            variant: prepared.variant(),
            chosen_by: prepared.chosen_by(),
            time,
        }
    }};
}

/// Evaluates an expression with the data of an array of sortable elements bound to a name. The expression has a [`Result`]:
/// other arrays give the error that this operation does not take them.
macro_rules! with_keys {
    ($operation:expr, $array:expr, $data:ident => $body:expr) => {
        match $array {
            Array::I8($data) => $body,
            others => warpwright_cli::with_data!(
                others,
                numbers $data => $body,
                other => Err(other.refused_by($operation, &[Dtype::I8]))
            ),
        }
    };
}

mod convolve;
mod devices;
mod histogram;
mod ladder;
mod map;
mod matmul;
mod merge;
mod random;
mod reduce;
mod reduce_axis;
mod run_lengths;
mod scan;
mod select;
mod sort;
mod top_k;
mod transpose;
mod ulp;
mod verify;

use std::path::Path;
use std::time::Duration;

use warpwright::ops::ChosenBy;
use warpwright::{Device, Family};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result, one_line};
use warpwright_cli::output::Target;
use warpwright_cli::{input, timed};

use crate::args::{Args, Command, DeviceChoice, Global};
use crate::report::{self, Answer};

/// Runs the command of the command line.
pub fn run(args: Args) -> Result<()> {
    let Args { global, command } = args;
    match command {
        Command::Devices => devices::run(&global),
        Command::Transpose(options) => transpose::run(&global, &options),
        Command::Reduce(options) => reduce::run(&global, &options),
        Command::Histogram(options) => histogram::run(&global, &options),
        Command::Matmul(options) => matmul::run(&global, &options),
        Command::Convolve(options) => convolve::run(&global, &options),
        Command::Map(options) => map::run(&global, &options),
        Command::Select(options) => select::run(&global, &options),
        Command::Unique(options) => select::unique(&global, &options),
        Command::RunLengths(options) => run_lengths::run(&global, &options),
        Command::Random(options) => random::run(&global, &options),
        Command::Scan(options) => scan::run(&global, &options),
        Command::Sort(options) => sort::run(&global, &options),
        Command::Merge(options) => merge::run(&global, &options),
        Command::Bounds(options) => merge::bounds(&global, &options),
        Command::TopK(options) => top_k::run(&global, &options),
        Command::Verify(options) => verify::run(&global, &options),
        Command::Ladder(options) => ladder::run(&global, &options),
        Command::Ulp(options) => ulp::run(&global, &options),
    }
}

/// Opens the chosen device.
fn open(choice: DeviceChoice) -> Result<Device> {
    let device = match choice {
        DeviceChoice::Auto => Device::auto(),
        DeviceChoice::Cpu => return Ok(Device::cpu()),
        DeviceChoice::Cuda(ordinal) => Device::cuda(ordinal),
    };
    device.map_err(|error| {
        Error::failed(format!(
            "{}; `warpwright devices` lists what there is, and --device cpu always works",
            one_line(&error.to_string())
        ))
    })
}

/// Converts an error of the library to one of the program.
fn failed(error: warpwright::Error) -> Error {
    let text = one_line(&error.to_string());
    match error {
        warpwright::Error::UnknownVariant { .. } => Error::usage(text),
        warpwright::Error::OutOfMemory { .. } => Error::failed(format!(
            "{text}: split the input, or choose another --device"
        )),
        _ => Error::failed(text),
    }
}

/// Returns the family called `name`, or all families.
fn families(name: Option<&str>) -> Result<Vec<&'static Family>> {
    let all = warpwright::families();
    let Some(name) = name else {
        return Ok(all.iter().collect());
    };
    match all.iter().find(|family| family.name == name) {
        Some(family) => Ok(vec![family]),
        None => {
            let known: Vec<_> = all.iter().map(|family| family.name).collect();
            Err(Error::usage(format!(
                "no family is called `{name}`; there are {}",
                known.join(", ")
            )))
        }
    }
}

/// Checks the name of a variant before any work: one of these families must have it.
fn check_variant(families: &[&'static Family], variant: Option<&str>) -> Result<()> {
    let Some(name) = variant else { return Ok(()) };
    if families.iter().any(|family| family.variant(name).is_some()) {
        return Ok(());
    }
    let mut known: Vec<_> = Vec::new();
    for variant in families.iter().flat_map(|family| family.variants) {
        if !known.contains(&variant.name) {
            known.push(variant.name);
        }
    }
    let names: Vec<_> = families.iter().map(|family| family.name).collect();
    Err(Error::usage(format!(
        "{}: no variant is called `{name}`; there are {}",
        names.join(", "),
        known.join(", ")
    )))
}

/// Returns the variant that is asked for, after a check that the family has it.
fn variant<'a>(global: &'a Global, family: &str) -> Result<Option<&'a str>> {
    let variant = global.variant.as_deref();
    check_variant(&families(Some(family))?, variant)?;
    Ok(variant)
}

/// Refuses a second output that has the name of the first.
fn check_names(output: &Path, option: &str, second: Option<&Path>) -> Result<()> {
    if second == Some(output) {
        return Err(Error::usage(format!(
            "{option} needs another file than --output: give two names"
        )));
    }
    Ok(())
}

/// Reads an input, and prints a remark if it had to be converted.
fn read(path: &Path) -> Result<Array> {
    let input = input::read(path)?;
    if let Some(from) = &input.converted_from {
        report::note(&format!(
            "{}: {from} converted to 8-bit grey (luma)",
            path.display()
        ));
    }
    Ok(input.array)
}

/// Returns the data of an array of type `T`, which is that of `other`.
fn same_type<'a, T: Element>(array: &'a Array, other: &str, path: &Path) -> Result<&'a Data<T>> {
    T::from_array(array).ok_or_else(|| {
        Error::failed(format!(
            "the array has {} and {other} has {}: convert one of them",
            array.dtype(),
            T::DTYPE
        ))
        .within(path.display())
    })
}

/// Refuses an array of two axes.
fn check_vector(operation: &str, shape: Shape) -> Result<()> {
    match shape {
        Shape::Vector(_) => Ok(()),
        Shape::Matrix { .. } => Err(Error::failed(format!(
            "{operation} needs one axis and the array has two: save it with ravel()"
        ))),
    }
}

/// A result, with the variant that computed it and the time.
struct Done<T> {
    value: T,
    variant: &'static str,
    chosen_by: ChosenBy,
    time: Duration,
}

impl<T> Done<T> {
    /// Returns the same with a result made from this one.
    fn map<U>(self, make: impl FnOnce(T) -> Result<U>) -> Result<Done<U>> {
        Ok(Done {
            value: make(self.value)?,
            variant: self.variant,
            chosen_by: self.chosen_by,
            time: self.time,
        })
    }

    /// Returns the JSON object that every result has.
    fn answer<V>(&self, device: &Device) -> Answer<V> {
        Answer {
            variant: Some(self.variant),
            chosen_by: Some(self.chosen_by.name()),
            device: Some(device.kind().to_string()),
            seconds: Some(self.time.as_secs_f64()),
            ..Answer::default()
        }
    }

    /// Reports a result in a file, which `what` describes: as JSON, to which `more` adds other files, or as a remark.
    fn report(
        &self,
        global: &Global,
        device: &Device,
        target: &Target,
        what: &str,
        more: impl FnOnce(Answer<()>) -> Answer<()>,
    ) -> Result<()> {
        let path = target.path();
        if global.json {
            return report::json(&more(Answer {
                output: Some(shown(path)),
                ..self.answer(device)
            }));
        }
        report::note(&format!(
            "{}: {what} ({})",
            path.display(),
            self.how(device)
        ));
        Ok(())
    }

    /// Returns `cpu, best, 1.23 ms`: the device, the variant and the time.
    fn how(&self, device: &Device) -> String {
        format!(
            "{}, {}, {}",
            device.kind(),
            self.variant,
            report::duration(self.time)
        )
    }
}

impl Done<Array> {
    /// Writes the array to its file and reports it, with a remark on how it was made.
    fn write(&self, global: &Global, device: &Device, target: &Target, remark: &str) -> Result<()> {
        target.stage_array(&self.value)?.commit()?;
        let (shape, dtype) = (self.value.shape(), self.value.dtype());
        let what = format!("{shape} of {dtype}{remark}");
        self.report(global, device, target, &what, |answer| answer)
    }
}

/// Returns values from the device as an array of this shape.
fn shaped<T: Element>(shape: Shape, values: Vec<T>) -> Result<Array> {
    let data = Data::new(shape, values).map(T::into_array);
    data.ok_or_else(|| Error::failed("the result has another number of elements"))
}

/// Rounds a number of the command line to `f32`. A number that becomes infinite is refused.
fn single(what: &str, number: f64) -> Result<f32> {
    let rounded = number as f32;
    if rounded.is_infinite() && number.is_finite() {
        return Err(Error::usage(format!(
            "{what} has to be at most {:e} in size, the largest f32, given {number:e}",
            f32::MAX
        )));
    }
    Ok(rounded)
}

/// Returns a path as JSON and remarks show it.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
