//! CUB: `peers/cub.cu`, compiled with nvcc if that is installed, in several parts at once.

mod segments;

use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
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

type Reduce = unsafe extern "C" fn(
    c_int,
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    c_int,
    *mut c_void,
) -> c_int;
type Rows = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    *mut c_void,
) -> c_int;
type Scan = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    usize,
    *mut c_void,
) -> c_int;
type Histogram = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_uint,
    c_int,
    f64,
    f64,
    c_int,
    *mut c_void,
) -> c_int;
type Sort = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    *const c_void,
    *mut c_void,
    usize,
    *mut c_void,
) -> c_int;

type Select = unsafe extern "C" fn(
    c_int,
    *mut c_void,
    *mut usize,
    *const c_void,
    *const u8,
    *mut c_void,
    *mut c_int,
    f64,
    c_int,
    *mut c_void,
) -> c_int;

/// The compiled parts.
pub struct Cub {
    parts: HashMap<(&'static str, &'static str), Result<Library, String>>,
    version: String,
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
    pub fn compile(device: &Device) -> Result<Self, String> {
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

    /// Returns the name and version.
    pub fn version(&self) -> String {
        self.version.clone()
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

    /// Returns a function that calls CUB with the temporary storage that it requires, from input and result addresses.
    fn with_room<F: Fn(*mut c_void, *mut usize, u64, u64) -> c_int>(
        &self,
        call: F,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<F>, Absent> {
        let call = move |room: *mut c_void, bytes: *mut usize, [from, to]: [u64; 2]| {
            call(room, bytes, from, to)
        };
        let mut work = self.with_addresses(call)?;
        Ok(move |from, to| work([from, to]))
    }

    /// The same for a function of several addresses.
    fn with_addresses<const N: usize, F: Fn(*mut c_void, *mut usize, [u64; N]) -> c_int>(
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

    /// Returns a reduction of `len` elements, with `operation` as in the source. It takes the addresses of input and result.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn reduce(
        &self,
        element: &'static str,
        operation: i32,
        len: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        let (function, len, stream) = (
            self.function::<Reduce>("reduce", element)?,
            count(len)?,
            self.stream,
        );
        // SAFETY: the arguments are as in the source; the callers give addresses of this many elements, and of room for a
        // result.
        let call = move |room: *mut c_void, bytes: *mut usize, from: u64, to: u64| unsafe {
            function(
                operation,
                room,
                bytes,
                from as *const c_void,
                to as *mut c_void,
                len,
                stream,
            )
        };
        self.with_room(call)
    }

    /// Returns the sums of the rows of a matrix. It takes the addresses of input and results.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn rows(
        &self,
        element: &'static str,
        height: usize,
        width: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        let function = self.function::<Rows>("rows", element)?;
        let (height, width, stream) = (count(height)?, count(width)?, self.stream);
        count((height as usize).saturating_mul(width as usize))?;
        // SAFETY: as above.
        let call = move |room: *mut c_void, bytes: *mut usize, from: u64, to: u64| unsafe {
            function(
                room,
                bytes,
                from as *const c_void,
                to as *mut c_void,
                height,
                width,
                stream,
            )
        };
        self.with_room(call)
    }

    /// Returns the cumulative sums of `len` elements. It takes the addresses of input and results.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn scan(
        &self,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        self.scan_part("scan", element, len)
    }

    /// Returns the cumulative sums in `u32` of `len` elements. It takes the addresses of input and results.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn scan_wide(
        &self,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        self.scan_part("scan_wide", element, len)
    }

    fn scan_part(
        &self,
        part: &'static str,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        let (function, stream) = (self.function::<Scan>(part, element)?, self.stream);
        // SAFETY: as above; there are as many results as elements.
        let call = move |room: *mut c_void, bytes: *mut usize, from: u64, to: u64| unsafe {
            function(
                room,
                bytes,
                from as *const c_void,
                to as *mut c_void,
                len,
                stream,
            )
        };
        self.with_room(call)
    }

    /// Returns a selection of `len` elements, with `operation` as in the source. It takes the addresses of input and result;
    /// the flags, if the operation takes any, and the count, of 32 bits, are the same for all inputs.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn select(
        &self,
        element: &'static str,
        operation: i32,
        above: f64,
        [flags, count]: [u64; 2],
        len: usize,
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        let (function, len, stream) = (
            self.function::<Select>("select", element)?,
            self::count(len)?,
            self.stream,
        );
        // SAFETY: as above; the result has room for all elements.
        let call = move |room: *mut c_void, bytes: *mut usize, from: u64, to: u64| unsafe {
            function(
                operation,
                room,
                bytes,
                from as *const c_void,
                flags as *const u8,
                to as *mut c_void,
                count as *mut c_int,
                above,
                len,
                stream,
            )
        };
        self.with_room(call)
    }

    /// Returns a histogram of `len` values. It takes the addresses of input and counts, which have 32 bits.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn histogram(
        &self,
        element: &'static str,
        len: usize,
        bins: usize,
        range: (f64, f64),
    ) -> Result<impl FnMut(u64, u64) -> Result<()> + use<>, Absent> {
        let function = self.function::<Histogram>("histogram", element)?;
        let (len, bins, stream) = (count(len)?, count(bins)?, self.stream);
        // SAFETY: as above.
        let call = move |room: *mut c_void, bytes: *mut usize, from: u64, to: u64| unsafe {
            function(
                room,
                bytes,
                from as *const c_void,
                to as *mut c_uint,
                bins,
                range.0,
                range.1,
                len,
                stream,
            )
        };
        self.with_room(call)
    }

    /// Returns a sort of `len` keys, with values of their size if `has_values`. It takes the addresses of the keys, of the
    /// sorted keys, of the values, and of those in the order of their keys.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn sort(
        &self,
        element: &'static str,
        has_values: bool,
        len: usize,
    ) -> Result<impl FnMut([u64; 4]) -> Result<()> + use<>, Absent> {
        let part = if has_values { "pairs" } else { "sort" };
        let (function, stream) = (self.function::<Sort>(part, element)?, self.stream);
        // SAFETY: as above.
        let call = move |room: *mut c_void, bytes: *mut usize, all: [u64; 4]| unsafe {
            let [keys, sorted, values, moved] = all.map(|address| address as *mut c_void);
            function(room, bytes, keys, sorted, values, moved, len, stream)
        };
        self.with_addresses(call)
    }
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
