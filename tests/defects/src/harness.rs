//! The planted defects: where each shows, and how it is run on either executor.

use std::{
    ffi::c_void,
    path::{Path, PathBuf},
};

use crate::{DEFECTS, Defect, NOTHING, Shape, for_each_defect};
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};
use cuda_std::{
    cpu::{self, Checks, Fault, LaunchError, Options, Order, memory},
    kernel::LaunchConfig,
};
use warpwright::{Device, Module};

/// Orders of blocks and lanes that every defect is run in: the first of [`Order::several`].
pub const ORDERS: u64 = 6;

/// The variable that names a file with the defects' PTX, for machines that cannot build it.
pub const PTX_FILE: &str = "WARPWRIGHT_DEFECTS_PTX";

/// A line where a defect may be reported, and the checks that may do so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The line, from 1 on.
    pub line: u32,
    /// `mem`, `init`, `race` or `sync`, each as a set of its own.
    pub checks: Vec<Checks>,
}

/// The lines marked in a defect's kernel, or in the function that `AT:` names.
///
/// # Panics
/// If the source has no such function, or a marker says what there is not.
pub fn markers(defect: &Defect) -> Vec<Marker> {
    let Some((at, _)) = note(defect) else {
        return in_function(defect, kernel(defect));
    };
    let (name, only) = match at.split_once(" for ") {
        Some((name, checks)) => (name, Some(some_checks(name, checks))),
        None => (at, None),
    };
    let mut markers = in_function(defect, name);
    if let Some(only) = only {
        for marker in &mut markers {
            marker.checks.retain(|check| only.contains(check));
        }
        markers.retain(|marker| !marker.checks.is_empty());
    }
    markers
}

/// The orders, of those that every defect is run in, in which a defect shows: all of them, or those that it names.
///
/// # Panics
/// If it names what is no such order.
pub fn orders(defect: &Defect) -> Vec<Order> {
    let all: Vec<Order> = Order::several(ORDERS).collect();
    let Some((_, Some(named))) = note(defect) else {
        return all;
    };
    let one = |text: &str| match text.parse() {
        Ok(order) if all.contains(&order) => order,
        _ => panic!("{}: no defect is run in the order {text}", defect.name),
    };
    named.split_whitespace().map(one).collect()
}

/// The function that a defect's kernel is an instance of.
fn kernel(defect: &Defect) -> &'static str {
    let name = defect.kernels[1].name;
    name.split_once("__").map_or(name, |(function, _)| function)
}

/// What `AT:` says behind a defect's number or in its kernel, and the orders if it names some.
fn note(defect: &Defect) -> Option<(&'static str, Option<&'static str>)> {
    let number = format!("    {} = ", defect.number);
    let behind = |line: &&str| line.starts_with(&number);
    let lines = match defect.source.lines().find(behind) {
        Some(line) => vec![line],
        None => function(defect.source, kernel(defect))
            .into_iter()
            .map(|(_, line)| line)
            .collect(),
    };
    let mut notes = lines.iter().filter_map(|line| line.split_once("// AT: "));
    let (_, note) = notes.next()?;
    Some(match note.split_once(" in the orders ") {
        Some((at, orders)) => (at, Some(orders)),
        None => (note, None),
    })
}

/// The lines of a function, with their numbers: to the brace that closes it.
fn function<'a>(source: &'a str, name: &str) -> Vec<(u32, &'a str)> {
    let is_start = |line: &str| {
        line.split_once("fn ").is_some_and(|(_, rest)| {
            rest.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['<', '(']))
        })
    };
    let numbered = (1..).zip(source.lines());
    let mut body: Vec<_> = numbered.skip_while(|(_, line)| !is_start(line)).collect();
    assert!(!body.is_empty(), "there is no function `{name}`");
    let end = body.iter().position(|(_, line)| *line == "}");
    body.truncate(end.expect("the function ends"));
    body
}

fn some_checks(name: &str, checks: &str) -> Vec<Checks> {
    let one = |check: &str| check.trim().parse();
    let one = |check| one(check).unwrap_or_else(|why| panic!("{name}: {why}"));
    checks.split(',').map(one).collect()
}

/// The lines of a function that are marked for a defect.
fn in_function(defect: &Defect, name: &str) -> Vec<Marker> {
    let marked = function(defect.source, name);
    let marked = marked.into_iter().filter_map(|(line, text)| {
        let (_, marked) = text.split_once("// HERE: ")?;
        let checks = match marked.split_once(" of ") {
            Some((_, numbers)) if !numbers.split(", ").any(|one| one == defect.number) => {
                return None;
            }
            Some((checks, _)) => checks,
            None => marked,
        };
        let checks = some_checks(name, checks);
        Some(Marker { line, checks })
    });
    marked.collect()
}

/// What a fault says, against what it should say: its check, and a marked line of that check among the two
/// that it names.
///
/// # Errors
/// What is not so.
pub fn expected(defect: &Defect, fault: &Fault) -> Result<(), String> {
    let check = fault.kind.check();
    let file = format!("tests/defects/src/{}.rs", defect.file);
    let places = fault.kind.places();
    let found = markers(defect).into_iter().any(|marker| {
        marker.checks.iter().any(|allowed| Some(*allowed) == check)
            && places
                .iter()
                .any(|at| at.file().ends_with(&file) && at.line() == marker.line)
    });
    match found {
        true => Ok(()),
        false => Err(format!(
            "expected one of {:?}, found: {fault}",
            markers(defect)
        )),
    }
}

/// The launch of a defect.
pub fn config(shape: &Shape) -> LaunchConfig {
    LaunchConfig {
        grid: [shape.grid[0], shape.grid[1], 1],
        block: [shape.block[0], shape.block[1], 1],
        shared_bytes: shape.shared_bytes,
    }
}

/// The input of a defect: numbers without a pattern.
pub fn input(shape: &Shape) -> Vec<u32> {
    (0..shape.input as u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9) >> 7)
        .collect()
}

/// Memory that the CPU executor is told of.
struct Told(Vec<u32>);

impl Told {
    fn new(values: Vec<u32>, fresh: bool) -> Self {
        let (start, bytes) = (values.as_ptr().addr(), size_of_val(&values[..]));
        memory::allocated(start, bytes);
        if !fresh {
            memory::written(start, bytes);
        }
        Self(values)
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        memory::freed(self.0.as_ptr().addr());
    }
}

/// Launches a defect (or the kernel without it) on the CPU executor; gives its output.
///
/// # Errors
/// The fault that the executor found.
pub fn launch_on_cpu(
    defect: &Defect,
    planted: bool,
    options: Options,
) -> Result<Vec<u32>, LaunchError> {
    let shape = &defect.shape;
    let mut input = Told::new(input(shape), false);
    // What is in place starts with the input's elements.
    let mut output = vec![0; shape.output];
    let len = shape.input.min(shape.output);
    output[..len].copy_from_slice(&input.0[..len]);
    let mut output = Told::new(output, false);
    let mut scratch = Told::new(vec![0; shape.scratch], shape.fresh);
    let views = [&mut input.0, &mut output.0, &mut scratch.0]
        .map(|values| (values.as_mut_ptr(), values.len()));
    let mut params: Vec<*const c_void> = Vec::new();
    for (start, len) in &views {
        params.extend([(&raw const *start).cast(), (&raw const *len).cast()]);
    }
    params.push((&raw const shape.n).cast());
    let kernel = defect.kernels[usize::from(planted)];
    for _ in 0..shape.launches {
        // SAFETY: the parameters are those of every defect; what a kernel does wrong with them the executor
        // finds before it does harm, or it stays within these arrays.
        unsafe { cpu::launch(kernel, &config(shape), &params, &options) }?;
    }
    Ok(output.0.clone())
}

/// Launches a defect (or the kernel without it) on a device, and waits for it.
///
/// # Errors
/// The device's; on a CUDA device most defects go unnoticed without a sanitizer.
///
/// # Safety
/// A defect on a CUDA device may write anywhere in its context's memory.
pub unsafe fn launch_on(
    device: &Device,
    module: &Module,
    defect: &Defect,
    planted: bool,
) -> warpwright::Result<()> {
    let shape = &defect.shape;
    let input = device.upload(&input(shape))?;
    let mut output = device.zeros::<u32>(shape.output)?;
    let mut scratch = device.zeros::<u32>(shape.scratch)?;
    let config = config(shape);
    macro_rules! by_name {
        ($($module:ident: $name:ident $marker:ident[$right:tt, $wrong:tt] $shape:ident;)*) => {
            match defect.name {
                $(stringify!($name) => {
                    use crate::$module::*;
                    for _ in 0..shape.launches {
                        let args = (&input, &mut output, &mut scratch, shape.n);
                        // SAFETY: by the contract.
                        unsafe {
                            match planted {
                                true => device.launch::<$marker<$wrong>>(module, config, args)?,
                                false => device.launch::<$marker<$right>>(module, config, args)?,
                            }
                        }
                    }
                })*
                other => unreachable!("{other} is in the table"),
            }
        };
    }
    for_each_defect!(by_name);
    device.synchronize()
}

/// The defect called `name`.
pub fn find(name: &str) -> Option<&'static Defect> {
    DEFECTS.iter().find(|defect| defect.name == name)
}

/// Builds the defects' PTX, installing the device tools if they are missing.
///
/// # Errors
/// What the builder reports.
pub fn build() -> Result<PathBuf, CudaBuilderError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    CudaBuilder::new(env!("CARGO_MANIFEST_DIR"))
        // Hopper alone has bulk copies.
        .arch(NvvmArch::Compute90a)
        .install_tools(true)
        .target_dir(target.join("cuda-builder"))
        .build()
}

/// The text of the PTX: the file that [`PTX_FILE`] names, else built now.
///
/// # Errors
/// A line that says what is wrong.
pub fn ptx() -> Result<String, String> {
    let path = match std::env::var_os(PTX_FILE) {
        Some(file) => PathBuf::from(file),
        None => build().map_err(|error| error.to_string())?,
    };
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}
