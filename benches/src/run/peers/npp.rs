//! NPP: its histogram of bytes, and its row filter.

use std::error::Error;
use std::ffi::{c_int, c_uint, c_void};
use std::rc::Rc;

use warpwright::Device;

use super::super::Result;
use super::super::driver::Attributes;
use super::library::functions;
use super::ways::{Signal, Way};
use super::{Absent, Room};

/// The file names to look for: NPP's statistics of images.
pub const NAMES: [&str; 3] = ["libnppist.so.13", "libnppist.so.12", "libnppist.so"];
/// The file names of NPP's filters.
const FILTERS: [&str; 3] = ["libnppif.so.13", "libnppif.so.12", "libnppif.so"];

/// The lengths of the rows into which a vector is divided for the filter.
const ROWS: [usize; 2] = [1 << 16, 1 << 13];

/// `CU_DEVICE_ATTRIBUTE_…`, which NPP needs to know.
const MAX_THREADS_PER_BLOCK: c_int = 1;
const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;

/// The library of NPP's statistics of images.
pub struct Npp {
    statistics: Statistics,
    /// Its path.
    pub version: String,
    device: Device,
    context: Context,
}

/// `NppStreamContext` of `nppdefs.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Context {
    stream: *mut c_void,
    device: c_int,
    multiprocessors: c_int,
    threads_per_multiprocessor: c_int,
    threads_per_block: c_int,
    shared_bytes: usize,
    major: c_int,
    minor: c_int,
    stream_flags: c_uint,
    reserved: c_int,
}

/// `NppiSize`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Size {
    width: c_int,
    height: c_int,
}

functions! {
    /// Functions of `nppi_statistics_functions.h`.
    Statistics -> c_int:
    buffer_size = "nppiHistogramEvenGetBufferSize_8u_C1R_Ctx" (Size, c_int, *mut usize, Context);
    // Bytes and the step to the next row, size; counts, levels, the first one, the last one; workspace.
    histogram = "nppiHistogramEven_8u_C1R_Ctx" (*const u8, c_int, Size, *mut i32, c_int, i32, i32, *mut u8, Context);
}

functions! {
    /// A function of `nppi_filtering_functions.h`.
    Filters -> c_int:
    // Source and its step, destination and its step, size; weights, their number, and the index of the pixel's own weight.
    row = "nppiFilterRow_32f_C1R_Ctx" (*const f32, c_int, *mut f32, c_int, Size, *const f32, c_int, c_int, Context);
}

impl Npp {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (statistics, path) = Statistics::open(&NAMES)?;
        let info = device.info();
        let (major, minor) = info.compute_capability.unwrap_or_default();
        let context = Context {
            stream,
            device: 0,
            multiprocessors: info.multiprocessors as c_int,
            threads_per_multiprocessor: attribute(MAX_THREADS_PER_MULTIPROCESSOR)?,
            threads_per_block: attribute(MAX_THREADS_PER_BLOCK)?,
            shared_bytes: attribute(MAX_SHARED_MEMORY_PER_BLOCK)? as usize,
            major: major as c_int,
            minor: minor as c_int,
            // CU_STREAM_NON_BLOCKING, like the library's streams.
            stream_flags: 1,
            reserved: 0,
        };
        Ok(Self {
            statistics,
            version: format!("from {path}"),
            device: device.clone(),
            context,
        })
    }

    /// Returns a histogram of `len` bytes in 256 bins. It takes the addresses of the bytes and of the counts, which have 32
    /// bits.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn histogram(
        &self,
        len: usize,
    ) -> Result<impl FnMut([u64; 2]) -> Result<()> + use<>, Absent> {
        Ok(self.prepared(len)?)
    }

    fn prepared(&self, len: usize) -> Result<impl FnMut([u64; 2]) -> Result<()> + use<>> {
        // An image of this many bytes with contiguous rows.
        let width = len.min(1 << (len.max(1).ilog2() / 2));
        if width == 0 || !len.is_multiple_of(width) {
            return Err(
                format!("a number of bytes that makes an image required, given {len}").into(),
            );
        }
        let size = Size {
            width: c_int::try_from(width)?,
            height: c_int::try_from(len / width)?,
        };
        let Statistics {
            buffer_size,
            histogram,
        } = self.statistics;
        let context = self.context;
        let (mut bytes, levels) = (0, 257);
        // SAFETY: the function writes one size.
        check(unsafe { buffer_size(size, levels, &mut bytes, context) })?;
        let mut room = Room::new(&self.device, bytes)?;
        Ok(move |[from, to]: [u64; 2]| {
            // SAFETY: the callers give the addresses of this many bytes and of 256 counts; the workspace has the requested
            // size.
            check(unsafe {
                let room = room.pointer() as *mut u8;
                histogram(
                    from as *const u8,
                    size.width,
                    size,
                    to as *mut i32,
                    levels,
                    0,
                    256,
                    room,
                    context,
                )
            })
        })
    }

    /// Returns the ways to convolve `len` values with a mask of an odd number of weights by the row filter: the vector as one
    /// row, and as contiguous rows of an image. The filter reads memory beyond a row's ends, and the caller must provide it: it
    /// is the next row, and zeros around the whole.
    ///
    /// # Errors
    /// Returns an error if they could not be prepared.
    pub fn convolutions(&self, mask: &[f32], len: usize) -> Result<Vec<Way>, Absent> {
        let missing = |error: Box<dyn Error>| Absent::Missing(error.to_string());
        let (filters, _) = Filters::open(&FILTERS).map_err(missing)?;
        Ok(self.filters(filters, mask, len)?)
    }

    fn filters(
        &self,
        Filters { row: filter }: Filters,
        mask: &[f32],
        len: usize,
    ) -> Result<Vec<Way>> {
        // The weights are given in reverse order.
        let reversed: Vec<f32> = mask.iter().rev().copied().collect();
        let weights = Rc::new(self.device.upload(&reversed)?);
        let (count, context) = (c_int::try_from(mask.len())?, self.context);
        let rows = ROWS
            .into_iter()
            .filter(|row| *row < len && len.is_multiple_of(*row));
        let ways = std::iter::once(len).chain(rows).map(|row| {
            let size = Size {
                width: c_int::try_from(row)?,
                height: c_int::try_from(len / row)?,
            };
            let step = c_int::try_from(row * size_of::<f32>())?;
            let weights = weights.clone();
            let name = match size.height {
                1 => "one row".to_owned(),
                _ => format!("rows of {row}"),
            };
            Ok(Way::new(name, move || {
                let weights = weights.clone();
                Ok(Box::new(move |signal: Signal, to: u64| {
                    let (from, to) = (signal.values as *const f32, to as *mut f32);
                    let weights = weights.view().device_pointer() as *const f32;
                    // SAFETY: the callers give the addresses of a signal, which has zeros around it, and of room for as many
                    // values. The number of weights is the given one.
                    let code = unsafe {
                        filter(
                            from,
                            step,
                            to,
                            step,
                            size,
                            weights,
                            count,
                            count / 2,
                            context,
                        )
                    };
                    check(code)
                }))
            }))
        });
        ways.collect()
    }
}

/// Returns an attribute of the first device, on which the benchmark runs.
fn attribute(number: c_int) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: the function writes one number.
    unsafe { Attributes::open()?.get(&mut value, number, 0)? };
    Ok(value)
}

fn check(code: c_int) -> Result<()> {
    // Positive codes are warnings.
    if code >= 0 {
        return Ok(());
    }
    Err(format!("status {code} of NPP").into())
}
