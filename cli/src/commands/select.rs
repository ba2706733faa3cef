//! `warpwright select` and `warpwright unique`

use std::str::FromStr;

use warpwright::Device;
use warpwright::cuda_std::map::{MapFn, MapInput};
use warpwright::ops::select::{
    Compare, IntoPredicate, Ordered, Predicate, PreparedSelect, Selectable,
};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_numbers;

use super::{Done, failed, open, read, shaped, timed, variant};
use crate::args::{Condition, Global, Select, Unique};

/// Writes the elements that a condition selects.
pub fn run(global: &Global, options: &Select) -> Result<()> {
    let variant = variant(global, "select")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let condition = &options.condition;
    let done = with_numbers!("select", &input, data => select(&device, data, condition, variant));
    let done = done.map_err(|error| error.within(options.input.display()))?;
    write(global, &device, &target, &input, &done)
}

/// Writes the elements that differ from the one before.
pub fn unique(global: &Global, options: &Unique) -> Result<()> {
    let variant = variant(global, "select")?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = with_numbers!("unique", &input, data => first_of_runs(&device, data, variant));
    let done = done.map_err(|error| error.within(options.input.display()))?;
    write(global, &device, &target, &input, &done)
}

fn write(
    global: &Global,
    device: &Device,
    target: &Target,
    input: &Array,
    done: &Done<Array>,
) -> Result<()> {
    done.write(global, device, target, &format!(" out of {}", input.len()))
}

fn select<T>(
    device: &Device,
    data: &Data<T>,
    condition: &Condition,
    variant: Option<&str>,
) -> Result<Done<Array>>
where
    T: Element + MapInput<First = T> + Ordered + FromStr,
    Compare<T>: IntoPredicate<Predicate: Predicate<Map: MapFn<In = T>>>,
{
    let compare = compare(condition)?;
    let vector = device.upload(data.values()).map_err(failed)?;
    let request = device.select_request(&vector, compare);
    let done = done!(device, request, variant, prepare(), |it| selected(it));
    done.map(|values| shaped(Shape::Vector(values.len()), values))
}

fn first_of_runs<T: Element + Selectable>(
    device: &Device,
    data: &Data<T>,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let vector = device.upload(data.values()).map_err(failed)?;
    let request = device.unique_request(&vector);
    let done = done!(device, request, variant, prepare(), |it| selected(it));
    done.map(|values| shaped(Shape::Vector(values.len()), values))
}

/// Returns the selected elements.
fn selected<T: Element, P: Predicate>(
    prepared: &PreparedSelect<'_, T, P>,
) -> warpwright::Result<Vec<T>> {
    let count = prepared.count()?;
    prepared.output()?.slice(..count)?.to_vec()
}

/// Returns the predicate of a condition, whose numbers must be of the data's type.
fn compare<T: Element + Ordered + FromStr>(condition: &Condition) -> Result<Compare<T>> {
    let number = |text: &String| {
        let wrong = || Error::usage(format!("`{text}` is not a number of {}", T::DTYPE));
        text.parse::<T>().map_err(|_| wrong())
    };
    Ok(match condition {
        Condition::Less(value) => Compare::less(number(value)?),
        Condition::AtMost(value) => Compare::at_most(number(value)?),
        Condition::Greater(value) => Compare::greater(number(value)?),
        Condition::AtLeast(value) => Compare::at_least(number(value)?),
        Condition::Equal(value) => Compare::equal(number(value)?),
        Condition::NotEqual(value) => Compare::not_equal(number(value)?),
        Condition::Within(low, high) => Compare::within(number(low)?..=number(high)?),
        Condition::Outside(low, high) => Compare::outside(number(low)?..=number(high)?),
    })
}
