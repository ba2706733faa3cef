//! cuDNN's convolution, by the API that lets the caller choose the algorithm.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::rc::Rc;

use warpwright::{Device, Vector};

use super::super::Result;
use super::library::functions;
use super::ways::{Signal, Way};
use super::{Absent, Room};

/// The file names to look for.
pub const NAMES: [&str; 3] = ["libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"];

/// `cudnnConvolutionFwdAlgo_t` of `cudnn_ops.h`, in the order of its values.
const ALGORITHMS: [&str; 8] = [
    "IMPLICIT_GEMM",
    "IMPLICIT_PRECOMP_GEMM",
    "GEMM",
    "DIRECT",
    "FFT",
    "FFT_TILING",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
];
/// `CUDNN_DATA_FLOAT`, `CUDNN_TENSOR_NCHW`, `CUDNN_CROSS_CORRELATION` and `CUDNN_FMA_MATH` of `cudnn_graph.h`. The last one
/// uses `f32`, where the default may use TF32.
const FLOAT: c_uint = 0;
const NCHW: c_uint = 0;
const CROSS_CORRELATION: c_uint = 1;
const FMA_MATH: c_uint = 3;

/// The maximum workspace of an algorithm; one that needs more is left out. The explicit GEMM would write as many copies of the
/// input as the mask has weights.
const MOST_ROOM: usize = 4 << 30;
/// The length of a row if the vector is divided into rows.
const ROW: usize = 1 << 13;

/// `cudnnStatus_t`.
type Status = c_uint;
type Raw = *mut c_void;

functions! {
    /// The functions, with the signatures of `cudnn_graph.h`, `cudnn_ops.h` and `cudnn_cnn.h`.
    Functions -> Status:
    error = "cudnnGetErrorString" (Status) -> *const c_char;
    version = "cudnnGetVersion" () -> usize;
    create = "cudnnCreate" (*mut Raw);
    destroy = "cudnnDestroy" (Raw);
    set_stream = "cudnnSetStream" (Raw, Raw);
    create_tensor = "cudnnCreateTensorDescriptor" (*mut Raw);
    // Type; n, c, h, w; the strides of n, c, h, w.
    set_tensor = "cudnnSetTensor4dDescriptorEx" (Raw, c_uint, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int);
    destroy_tensor = "cudnnDestroyTensorDescriptor" (Raw);
    create_filter = "cudnnCreateFilterDescriptor" (*mut Raw);
    // Type, format; k, c, h, w.
    set_filter = "cudnnSetFilter4dDescriptor" (Raw, c_uint, c_uint, c_int, c_int, c_int, c_int);
    destroy_filter = "cudnnDestroyFilterDescriptor" (Raw);
    create_convolution = "cudnnCreateConvolutionDescriptor" (*mut Raw);
    // Padding, strides and dilations, each of height and width; mode, type of the arithmetic.
    set_convolution = "cudnnSetConvolution2dDescriptor" (Raw, c_int, c_int, c_int, c_int, c_int, c_int, c_uint, c_uint);
    set_math = "cudnnSetConvolutionMathType" (Raw, c_uint);
    destroy_convolution = "cudnnDestroyConvolutionDescriptor" (Raw);
    // Handle; input, filter, convolution, output; algorithm; size.
    workspace = "cudnnGetConvolutionForwardWorkspaceSize" (Raw, Raw, Raw, Raw, Raw, c_uint, *mut usize);
    // Handle; alpha; input, its address; filter, its address; convolution; algorithm; workspace, its size; beta; output,
    // its address.
    forward = "cudnnConvolutionForward" (
        Raw, *const f32, Raw, *const c_void, Raw, *const c_void, Raw, c_uint, Raw, usize, *const f32, Raw, Raw
    );
}

/// The library and one of its handles, in our stream.
pub struct Cudnn {
    handle: Rc<Handle>,
    /// Its version and path.
    pub version: String,
    device: Device,
}

struct Handle {
    functions: Functions,
    raw: Raw,
}

impl Handle {
    fn check(&self, call: &str, code: Status) -> Result<()> {
        check(&self.functions, call, code)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.functions.destroy)(self.raw) };
    }
}

impl Cudnn {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (functions, path) = Functions::open(&NAMES)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the function writes one handle.
        check(&functions, "cudnnCreate", unsafe {
            (functions.create)(&mut raw)
        })?;
        let handle = Handle { functions, raw };
        // SAFETY: the handle and the stream are alive.
        let (code, number) = unsafe {
            (
                (handle.functions.set_stream)(raw, stream),
                (handle.functions.version)(),
            )
        };
        handle.check("cudnnSetStream", code)?;
        Ok(Self {
            handle: Rc::new(handle),
            version: format!("{number} from {path}"),
            device: device.clone(),
        })
    }

    /// Returns the ways to convolve `len` values with a mask of an odd number of weights: every algorithm, on the vector as one
    /// row, as a batch of rows and as an image. Rows overlap in place by the mask's reach.
    ///
    /// # Errors
    /// Returns an error if they could not be prepared.
    pub fn convolutions(&self, mask: &[f32], len: usize) -> Result<Vec<Way>, Absent> {
        Ok(self.prepared(mask, len)?)
    }

    fn prepared(&self, mask: &[f32], len: usize) -> Result<Vec<Way>> {
        let weights = Rc::new(self.device.upload(mask)?);
        let mut ways = Vec::new();
        for layout in Layout::all(len, mask.len())? {
            let plan = Rc::new(self.plan(&layout, mask.len())?);
            for number in 0..ALGORITHMS.len() {
                ways.push(self.way(&layout, plan.clone(), weights.clone(), number));
            }
        }
        Ok(ways)
    }

    fn way(&self, layout: &Layout, plan: Rc<Plan>, weights: Rc<Vector<f32>>, number: usize) -> Way {
        let from_halo = layout.from_halo;
        let device = self.device.clone();
        Way::new(
            format!("{}, {}", ALGORITHMS[number], layout.name),
            move || {
                let mut room = Room::new(&device, plan.room(number as c_uint)?)?;
                let (plan, weights) = (plan.clone(), weights.clone());
                Ok(Box::new(move |signal: Signal, to: u64| {
                    let from = if from_halo {
                        signal.halo
                    } else {
                        signal.values
                    };
                    plan.queue(
                        number as c_uint,
                        from,
                        weights.view().device_pointer(),
                        &mut room,
                        to,
                    )
                }))
            },
        )
    }

    fn plan(&self, layout: &Layout, width: usize) -> Result<Plan> {
        let functions = &self.handle.functions;
        let descriptor = |create, destroy| Descriptor::new(&self.handle, create, destroy);
        let tensor = || descriptor(functions.create_tensor, functions.destroy_tensor);
        let plan = Plan {
            handle: self.handle.clone(),
            input: tensor()?,
            filter: descriptor(functions.create_filter, functions.destroy_filter)?,
            convolution: descriptor(functions.create_convolution, functions.destroy_convolution)?,
            output: tensor()?,
        };
        let width = c_int::try_from(width)?;
        let set = |tensor: &Descriptor, [n, h, w]: [c_int; 3], [image, row]: [c_int; 2]| {
            // SAFETY: the descriptor is alive.
            let code = unsafe {
                (functions.set_tensor)(tensor.raw, FLOAT, n, 1, h, w, image, image, row, 1)
            };
            self.handle.check("cudnnSetTensor4dDescriptorEx", code)
        };
        set(&plan.input, layout.input, layout.strides)?;
        set(&plan.output, layout.output, layout.strides)?;
        // SAFETY: the descriptors are alive.
        unsafe {
            let filter = (functions.set_filter)(plan.filter.raw, FLOAT, NCHW, 1, 1, 1, width);
            self.handle.check("cudnnSetFilter4dDescriptor", filter)?;
            let raw = plan.convolution.raw;
            let pad = layout.padding;
            let convolution =
                (functions.set_convolution)(raw, 0, pad, 1, 1, 1, 1, CROSS_CORRELATION, FLOAT);
            self.handle
                .check("cudnnSetConvolution2dDescriptor", convolution)?;
            let math = (functions.set_math)(raw, FMA_MATH);
            self.handle.check("cudnnSetConvolutionMathType", math)?;
        }
        Ok(plan)
    }
}

/// The layout in which the library sees a vector.
#[derive(Debug)]
struct Layout {
    name: &'static str,
    /// The number of images, rows of an image, and elements of a row. There is one channel.
    input: [c_int; 3],
    output: [c_int; 3],
    /// The distance between images, and between rows.
    strides: [c_int; 2],
    /// The zeros that the library assumes at both ends of a row.
    padding: c_int,
    /// Whether the input begins with the zeros before the first value.
    from_halo: bool,
}

impl Layout {
    fn all(len: usize, width: usize) -> Result<Vec<Self>> {
        let whole = c_int::try_from(len)?;
        let mut all = vec![Self {
            name: "one row",
            input: [1, 1, whole],
            output: [1, 1, whole],
            strides: [whole, whole],
            padding: c_int::try_from(width / 2)?,
            from_halo: false,
        }];
        if len > ROW && len.is_multiple_of(ROW) {
            let (rows, row) = (c_int::try_from(len / ROW)?, ROW as c_int);
            let longer = c_int::try_from(ROW + width - 1)?;
            all.push(Self {
                name: "a batch of rows",
                input: [rows, 1, longer],
                output: [rows, 1, row],
                strides: [row, row],
                padding: 0,
                from_halo: true,
            });
            all.push(Self {
                name: "rows of an image",
                input: [1, rows, longer],
                output: [1, rows, row],
                strides: [whole, row],
                padding: 0,
                from_halo: true,
            });
        }
        Ok(all)
    }
}

/// A convolution with its descriptors.
struct Plan {
    handle: Rc<Handle>,
    input: Descriptor,
    filter: Descriptor,
    convolution: Descriptor,
    output: Descriptor,
}

impl Plan {
    /// Returns the workspace of an algorithm in bytes.
    fn room(&self, algorithm: c_uint) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: the handle and the descriptors are alive; the function writes one size.
        let code = unsafe {
            (self.handle.functions.workspace)(
                self.handle.raw,
                self.input.raw,
                self.filter.raw,
                self.convolution.raw,
                self.output.raw,
                algorithm,
                &mut bytes,
            )
        };
        self.handle
            .check("cudnnGetConvolutionForwardWorkspaceSize", code)?;
        if bytes > MOST_ROOM {
            return Err(
                format!("at most {MOST_ROOM} bytes of workspace given, {bytes} wanted").into(),
            );
        }
        Ok(bytes)
    }

    fn queue(
        &self,
        algorithm: c_uint,
        from: u64,
        weights: u64,
        room: &mut Room,
        to: u64,
    ) -> Result<()> {
        let (one, zero) = (1.0, 0.0);
        // SAFETY: the handle and the descriptors are alive. The callers give the addresses of a signal and of room for as many
        // values. The workspace has the size that the library requested.
        let code = unsafe {
            (self.handle.functions.forward)(
                self.handle.raw,
                &one,
                self.input.raw,
                from as *const c_void,
                self.filter.raw,
                weights as *const c_void,
                self.convolution.raw,
                algorithm,
                room.pointer() as Raw,
                room.bytes,
                &zero,
                self.output.raw,
                to as Raw,
            )
        };
        self.handle.check("cudnnConvolutionForward", code)
    }
}

/// A descriptor of a tensor, of a filter or of a convolution.
struct Descriptor {
    raw: Raw,
    destroy: unsafe extern "C" fn(Raw) -> Status,
}

impl Descriptor {
    fn new(
        handle: &Handle,
        create: unsafe extern "C" fn(*mut Raw) -> Status,
        destroy: unsafe extern "C" fn(Raw) -> Status,
    ) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the function writes one descriptor.
        handle.check("cudnnCreate…Descriptor", unsafe { create(&mut raw) })?;
        Ok(Self { raw, destroy })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

fn check(functions: &Functions, call: &str, code: Status) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the function returns a text that ends with a zero byte and lives as long as the library.
    let text = unsafe { CStr::from_ptr((functions.error)(code)) };
    Err(format!("{call}: {}", text.to_string_lossy()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_cover_the_vector_and_overlap_by_the_reach_of_the_mask() {
        let layouts = Layout::all(1 << 26, 31).unwrap();
        assert_eq!(layouts.len(), 3);
        for layout in layouts {
            let [images, rows, length] = layout.output;
            assert_eq!(
                i64::from(images) * i64::from(rows) * i64::from(length),
                1 << 26
            );
            assert_eq!(layout.input[2] + 2 * layout.padding - 30, length);
            // The last element that is read is the last of the zeros after the values, or the last value.
            let [image, row] = layout.strides;
            let last = (images - 1) * image + (rows - 1) * row + layout.input[2] - 1;
            assert_eq!(last, (1 << 26) - 1 + if layout.from_halo { 30 } else { 0 });
        }
        // There are no rows unless the vector has a whole number of them.
        assert_eq!(Layout::all(ROW + 1, 3).unwrap().len(), 1);
        assert!(Layout::all(1 << 32, 3).is_err());
    }
}
