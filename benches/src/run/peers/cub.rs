//! CUB: `peers/cub.cu`, compiled with nvcc if that is installed, in several parts at once.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libloading::Library;
use warpwright::Device;

use super::{Absent, Result, Room, toolkit};

/// The source.
const SOURCE: &str = include_str!("../../../peers/cub.cu");

/// The parts, and the element types for which each is compiled.
const PARTS: &[(&str, &str)] = &[
    ("reduce", "f32"),
    ("reduce", "i32"),
    ("reduce", "f64"),
    ("reduce", "u8"),
    ("reduce", "bf16"),
    ("rows", "u8"),
    ("rows", "f32"),
    ("histogram", "u8"),
    ("histogram", "f32"),
    ("scan", "f32"),
    ("scan", "i32"),
    ("scan", "f64"),
    ("scan", "u8"),
    ("scan_wide", "u8"),
    ("select", "f32"),
    ("select", "u8"),
    ("sort", "u8"),
    ("sort", "u16"),
    ("sort", "u32"),
    ("sort", "u64"),
    ("sort", "f32"),
    ("pairs", "u32"),
    ("pairs", "u64"),
    ("segments", "f32"),
    ("sort_segments", "u32"),
    ("by_key", "u8"),
    ("scan_by_key", "u8"),
    ("lengths", "u8"),
];

/// The compiled parts.
pub struct Cub {
    parts: HashMap<(&'static str, &'static str), Result<Library, String>>,
    /// The version of the toolkit.
    pub version: String,
    device: Device,
    stream: *mut c_void,
}

/// Finds nvcc.
///
/// # Errors
/// Returns an error if there is none.
pub fn compiler() -> Result<PathBuf, String> {
    toolkit("bin", "nvcc")
        .ok_or_else(|| "nvcc required, found none: put it on PATH or set CUDA_HOME".to_owned())
}

impl Cub {
    /// Compiles the parts that are not yet compiled.
    ///
    /// # Errors
    /// Returns the reason why CUB is missing.
    pub fn open(device: &Device) -> Result<Self, String> {
        let nvcc = compiler()?;
        let (Some(stream), Some((major, minor))) =
            (device.cuda_stream(), device.info().compute_capability)
        else {
            return Err("a CUDA device required".to_owned());
        };
        let said = Command::new(&nvcc)
            .arg("--version")
            .output()
            .map_err(|error| format!("{}: {error}", nvcc.display()))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = said
            .lines()
            .find(|line| line.contains("release"))
            .unwrap_or_default()
            .trim()
            .to_owned();
        let arch = format!("-arch=sm_{major}{minor}");
        let folder = folder(&format!("{said}{arch}{SOURCE}"))?;
        let source = folder.join("cub.cu");
        fs::write(&source, SOURCE)
            .map_err(|error| format!("writing {}: {error}", source.display()))?;

        let started: Vec<_> = PARTS
            .iter()
            .map(|&part| (part, start(&nvcc, &arch, &folder, part)))
            .collect();
        let parts = started
            .into_iter()
            .map(|(part, child)| (part, child.and_then(|child| finish(child, &folder, part))));
        Ok(Self {
            parts: parts.collect(),
            version: format!("of the CUDA toolkit with {version}"),
            device: device.clone(),
            stream,
        })
    }

    /// Returns a function for an element type.
    fn function<F: Copy>(&self, part: &'static str, element: &'static str) -> Result<F, Absent> {
        let library = match self.parts.get(&(part, element)) {
            Some(Ok(library)) => library,
            Some(Err(reason)) => return Err(Absent::Failed(reason.clone())),
            None => return Err(Absent::Missing(format!("no part for {element}"))),
        };
        // SAFETY: every use gives the function's own type, which is that in the source. The library stays loaded as long as
        // `self`, and the process does not use it after that.
        unsafe { library.get::<F>(format!("bench_{part}\0").as_bytes()) }
            .map(|function| *function)
            .map_err(|error| Absent::Failed(error.to_string()))
    }

    /// Returns a function that calls CUB with the temporary storage that it requires, from the addresses that it takes.
    fn with_room<const N: usize, F: Fn(*mut c_void, *mut usize, [u64; N]) -> c_int>(
        &self,
        call: F,
    ) -> Result<impl FnMut([u64; N]) -> Result<()> + use<N, F>, Absent> {
        let mut bytes = 0;
        check(call(std::ptr::null_mut(), &mut bytes, [0; N]))?;
        let mut room = Room::new(&self.device, bytes)?;
        Ok(move |all| {
            Ok(check(call(
                room.pointer() as *mut c_void,
                &mut room.bytes,
                all,
            ))?)
        })
    }
}

/// Makes the methods of [`Cub`] that prepare its parts. A method takes the type of the elements and the given numbers. A part
/// of the source takes its operation if it has several, the temporary storage, addresses, other numbers, and the stream; the
/// prepared function takes the addresses.
macro_rules! parts {
    ($(
        $(#[$doc:meta])*
        $method:ident($($given:ident: $given_type:ty),*) = $part:expr,
            $($operation:ident;)? [$($address:ident: $pointer:ty),*], $($number:ident: $type:ty = $value:expr),*;
    )*) => {
        impl Cub {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// Returns an error if CUB is missing or could not be prepared.
                pub fn $method(
                    &self,
                    element: &'static str,
                    $($given: $given_type),*
                ) -> Result<impl FnMut([u64; addresses!($($address)*)]) -> Result<()> + use<>, Absent> {
                    type Part = unsafe extern "C" fn(
                        $(operation!($operation),)?
                        *mut c_void,
                        *mut usize,
                        $($pointer,)*
                        $($type,)*
                        *mut c_void,
                    ) -> c_int;
                    let (part, stream) = (self.function::<Part>($part, element)?, self.stream);
                    $(let $number: $type = $value;)*
                    // SAFETY: the arguments are as in the source. The callers give the addresses of as much as it reads and
                    // writes.
                    self.with_room(move |room, bytes, [$($address),*]: [u64; addresses!($($address)*)]| unsafe {
                        part($($operation,)? room, bytes, $($address as $pointer,)* $($number,)* stream)
                    })
                }
            )*
        }
    };
}

/// Returns the type of the number of an operation.
macro_rules! operation {
    ($name:ident) => {
        c_int
    };
}

/// Returns the number of addresses.
macro_rules! addresses {
    ($($name:ident)*) => {
        [$(stringify!($name)),*].len()
    };
}

parts! {
    /// Returns a reduction of `len` elements, with `operation` as in the source. It takes the addresses of input and result.
    reduce(operation: c_int, len: usize) = "reduce",
        operation; [from: *const c_void, to: *mut c_void], len: c_int = count(len)?;

    /// Returns the sums of the rows of a matrix. It takes the addresses of input and results.
    rows(height: usize, width: usize) = "rows",
        [from: *const c_void, to: *mut c_void],
        height: c_int = count(height.saturating_mul(width)).and(count(height))?, width: c_int = count(width)?;

    /// Returns the cumulative sums of `len` elements. It takes the addresses of input and results.
    scan(len: usize) = "scan", [from: *const c_void, to: *mut c_void], len: usize = len;

    /// Returns the cumulative sums in `u32` of `len` elements. It takes the addresses of input and results.
    scan_wide(len: usize) = "scan_wide", [from: *const c_void, to: *mut u32], len: usize = len;

    /// Returns a selection of `len` elements, with `operation` as in the source. It takes the addresses of the input, of the
    /// flags, which may be null if the operation takes none, of the result, and of the count, of 32 bits.
    select(operation: c_int, above: f64, len: usize) = "select",
        operation; [from: *const c_void, flags: *const u8, to: *mut c_void, found: *mut c_int],
        above: f64 = above, len: c_int = count(len)?;

    /// Returns a histogram of `len` values. It takes the addresses of input and counts, which have 32 bits.
    histogram(len: usize, bins: usize, range: (f64, f64)) = "histogram",
        [from: *const c_void, to: *mut u32],
        bins: c_int = count(bins)?, low: f64 = range.0, high: f64 = range.1, len: c_int = count(len)?;

    /// Returns a sort of `len` keys, with values of their size if `has_values`. It takes the addresses of the keys, of the
    /// sorted keys, of the values, and of those in the order of their keys.
    sort(has_values: bool, len: usize) = if has_values { "pairs" } else { "sort" },
        [keys: *const c_void, sorted: *mut c_void, values: *const c_void, moved: *mut c_void], len: usize = len;

    /// Returns the sums of `count` segments. It takes the addresses of the elements, of the offsets, which have 32 bits and are
    /// one more, and of the sums.
    segments(count: usize) = "segments",
        [from: *const c_void, offsets: *const u32, to: *mut c_void], count: usize = count;

    /// Returns a sort of the keys of each of `count` segments of `len` keys. It takes the addresses of the keys, of the
    /// offsets, which have 32 bits and are one more than the segments, and of the sorted keys.
    sort_segments(len: usize, count: usize) = "sort_segments",
        [from: *const c_void, offsets: *const u32, to: *mut c_void], len: usize = len, count: usize = count;

    /// Returns the cumulative sums of `len` values of `f32` by their keys. It takes the addresses of keys, values and sums.
    scan_by_key(len: usize) = "scan_by_key",
        [keys: *const c_void, values: *const f32, sums: *mut f32], len: c_int = count(len)?;

    /// Returns the sums of `len` values of `f32` by their keys. It takes the addresses of keys, values, the first keys of the
    /// runs, sums, and the number of runs, of 32 bits. The results have room for a run per key.
    by_key(len: usize) = "by_key",
        [keys: *const c_void, values: *const f32, firsts: *mut c_void, sums: *mut f32, found: *mut c_int],
        len: c_int = count(len)?;

    /// Returns the lengths of the runs of `len` keys. It takes the addresses of keys, the first keys of the runs, lengths and
    /// the number of runs, both of 32 bits. The results have room for a run per key.
    lengths(len: usize) = "lengths",
        [keys: *const c_void, firsts: *mut c_void, lengths: *mut c_int, found: *mut c_int], len: c_int = count(len)?;
}

fn count(number: usize) -> Result<c_int, Absent> {
    c_int::try_from(number).map_err(|_| {
        Absent::Failed(format!(
            "at most {} elements required, given {number}",
            c_int::MAX
        ))
    })
}

fn check(code: c_int) -> Result<(), Absent> {
    match code {
        0 => Ok(()),
        _ => Err(Absent::Failed(format!("error {code} of the CUDA runtime"))),
    }
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Absent {}

impl std::fmt::Debug for Cub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cub")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Returns the folder of the code compiled from this text.
fn folder(text: &str) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // The compiled code is loaded into this process.
    let folder = system::folder::of_user().join(format!("bench/{:016x}", hasher.finish()));
    system::folder::private(folder.parent().unwrap_or(&folder))?;
    system::folder::private(&folder)
}

fn library(folder: &Path, (part, element): (&str, &str)) -> PathBuf {
    folder.join(format!("{part}_{element}.so"))
}

/// Starts the compiler. Returns `None` if its output exists already.
fn start(
    nvcc: &Path,
    arch: &str,
    folder: &Path,
    part: (&str, &str),
) -> Result<Option<Child>, String> {
    let output = library(folder, part);
    if output.is_file() {
        return Ok(None);
    }
    Command::new(nvcc)
        .args(["-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", arch])
        .arg(format!("-DPART_{}", part.0.to_ascii_uppercase()))
        .arg(format!("-DELEMENT={}", part.1))
        .arg("-o")
        .arg(output.with_extension("part"))
        .arg(folder.join("cub.cu"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Some)
        .map_err(|error| format!("{}: {error}", nvcc.display()))
}

fn finish(child: Option<Child>, folder: &Path, part: (&str, &str)) -> Result<Library, String> {
    let output = library(folder, part);
    if let Some(child) = child {
        let done = child
            .wait_with_output()
            .map_err(|error| format!("nvcc: {error}"))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let line = said
                .lines()
                .find(|line| line.contains("error"))
                .or(said.lines().next())
                .unwrap_or_default();
            return Err(format!("nvcc ended with {}: {line}", done.status));
        }
        fs::rename(output.with_extension("part"), &output)
            .map_err(|error| format!("{}: {error}", output.display()))?;
    }
    // SAFETY: the library was compiled from our source, and has no constructors other than the CUDA runtime's.
    unsafe { Library::new(&output) }.map_err(|error| error.to_string())
}
