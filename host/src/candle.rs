//! Tensors of the crate `candle-core`, version 0.11: tensors as views, and vectors and matrices that become tensors.

#[cfg_attr(not(feature = "candle-cuda"), path = "candle/no_cuda.rs")]
mod cuda;

use std::ops::Range;

use candle_core::{
    CpuStorage, CudaDevice, CudaStorage, DType, Layout, Shape, Storage, Tensor, WithDType,
    backend::BackendStorage, op::BackpropOp,
};

use crate::{
    buffer::{Element, Vector, VectorView},
    device::{Device, DeviceKind},
    error::{Error, InvalidKind, Result},
    foreign::refused,
    matrix::Matrix,
};

mod sealed {
    pub trait Element: super::cuda::CudaElement {}

    /// The elements of a tensor.
    pub enum Lent<'a> {
        Cpu(&'a super::CpuStorage),
        Cuda(&'a super::CudaStorage),
        Metal,
    }

    pub trait Memory {
        fn lent<R>(&self, then: impl FnOnce(Lent<'_>, &super::Layout) -> R) -> R;
    }
}
use sealed::Lent;

/// A type of elements that tensors of candle and arrays of the library have: `u8 u32 i16 i32 i64 f16 bf16 f32 f64` and
/// `F8E4M3` of the crate `float8`. Other crates cannot implement this trait.
pub trait CandleElement: Element + WithDType + sealed::Element {}

macro_rules! element {
    ($($ty:ty)*) => { $(
        impl sealed::Element for $ty {}
        impl CandleElement for $ty {}
    )* };
}
element! { u8 u32 i16 i32 i64 half::f16 half::bf16 f32 f64 float8::F8E4M3 }

/// A tensor of candle, or what a custom operation of candle gets in its place: a storage and its layout. Other crates cannot
/// implement this trait.
pub trait CandleMemory: sealed::Memory {}

impl CandleMemory for Tensor {}
impl sealed::Memory for Tensor {
    fn lent<R>(&self, then: impl FnOnce(Lent<'_>, &Layout) -> R) -> R {
        let (storage, layout) = self.storage_and_layout();
        let lent = match &*storage {
            Storage::Cpu(storage) => Lent::Cpu(storage),
            Storage::Cuda(storage) => Lent::Cuda(storage),
            Storage::Metal(_) => Lent::Metal,
        };
        then(lent, layout)
    }
}

impl CandleMemory for (&CpuStorage, &Layout) {}
impl sealed::Memory for (&CpuStorage, &Layout) {
    fn lent<R>(&self, then: impl FnOnce(Lent<'_>, &Layout) -> R) -> R {
        then(Lent::Cpu(self.0), self.1)
    }
}

impl CandleMemory for (&CudaStorage, &Layout) {}
impl sealed::Memory for (&CudaStorage, &Layout) {
    fn lent<R>(&self, then: impl FnOnce(Lent<'_>, &Layout) -> R) -> R {
        then(Lent::Cuda(self.0), self.1)
    }
}

impl Device {
    /// Opens the device that `device` of candle is. On CUDA the handle's work is queued on candle's own stream, if candle has
    /// one (`Device::new_cuda_with_stream`). By default it has the stream of each thread, and the handle gets another one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is a device of Metal; [`Error::NoDevice`], [`Error::Driver`].
    pub fn of_candle(device: &candle_core::Device) -> Result<Self> {
        const OPERATION: &str = "of_candle";
        match device {
            candle_core::Device::Cpu => Ok(Self::cpu()),
            candle_core::Device::Cuda(device) => cuda::handle(OPERATION, device),
            candle_core::Device::Metal(_) => Err(metal(OPERATION)),
        }
    }

    /// Lends the elements of a tensor of candle, of any shape, row by row, to `work`. Nothing is copied, and the host does not
    /// wait.
    ///
    /// The tensor is on this device. On CUDA the view's handle is on candle's stream, where `work` can queue more by
    /// `values.device()`; if that is the stream of each thread, the view has this handle. What uses the view comes after
    /// candle's work that writes the elements, and before what candle does later. Meanwhile candle cannot write to the tensor:
    /// its lock is held. With the feature `candle` alone there are only tensors of the CPU; `candle-cuda` builds candle for
    /// CUDA, which needs `nvcc`.
    ///
    /// ```
    /// use candle_core::Tensor;
    /// use warpwright::{Device, VectorView};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tensor = Tensor::new(&[3.0_f32, 1.0, 2.0], &candle_core::Device::Cpu)?;
    /// let device = Device::of_candle(tensor.device())?;
    /// let sorted = device.with_candle(&tensor, |values: VectorView<f32>| device.sort(values))?;
    /// let sorted = sorted.into_candle(tensor.device(), tensor.shape())?;
    /// assert_eq!(sorted.to_vec1::<f32>()?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the tensor is on another device, if its elements are of another type, or if they do not lie row by
    /// row without gaps (`Tensor::contiguous` makes one whose elements do); [`Error::Driver`]; and the errors of `work`.
    pub fn with_candle<T: CandleElement, R>(
        &self,
        tensor: &impl CandleMemory,
        work: impl FnOnce(VectorView<'_, T>) -> Result<R>,
    ) -> Result<R> {
        const OPERATION: &str = "with_candle";
        let require = |place: DeviceKind| {
            if place == self.kind() {
                return Ok(());
            }
            let required = format!("a tensor on {}", self.kind());
            Err(refused(OPERATION, required, format!("one on {place}")))
        };
        tensor.lent(|lent, layout| match lent {
            Lent::Cpu(storage) => {
                require(DeviceKind::Cpu)?;
                work(self.host_view(host_elements(OPERATION, storage, layout)?)?)
            }
            Lent::Cuda(storage) => {
                let ordinal = cuda::ordinal_of(storage)?;
                require(DeviceKind::Cuda { ordinal })?;
                cuda::lend(self, OPERATION, (storage, layout), work)
            }
            Lent::Metal => Err(metal(OPERATION)),
        })
    }

    /// Copies the elements of a tensor of candle, of any shape, row by row, to a new array on this device: those of the CPU
    /// straight from candle's memory, those of a CUDA device as [`VectorView::to_device`] does. The host waits as there, or as
    /// in an [`upload`](Self::upload).
    ///
    /// # Errors
    /// As for [`with_candle`](Self::with_candle), but that the tensor may be on another device; [`Error::OutOfMemory`].
    pub fn upload_candle<T: CandleElement>(&self, tensor: &impl CandleMemory) -> Result<Vector<T>> {
        const OPERATION: &str = "upload_candle";
        tensor.lent(|lent, layout| match lent {
            Lent::Cpu(storage) => self.upload(host_elements(OPERATION, storage, layout)?),
            Lent::Cuda(storage) => {
                let ordinal = cuda::ordinal_of(storage)?;
                let own = match self.kind() == (DeviceKind::Cuda { ordinal }) {
                    true => self.clone(),
                    false => Self::cuda(ordinal)?,
                };
                cuda::lend(&own, OPERATION, (storage, layout), |values| {
                    values.to_device(self)
                })
            }
            Lent::Metal => Err(metal(OPERATION)),
        })
    }
}

fn metal(operation: &'static str) -> Error {
    refused(operation, "the CPU or a CUDA device", "one of Metal")
}

/// Returns where the elements of a tensor lie in its storage, if they are of the type `T`, row by row.
fn elements_of<T: CandleElement>(
    operation: &'static str,
    layout: &Layout,
    given: DType,
) -> Result<Range<usize>> {
    if given != T::DTYPE {
        let required = format!("a tensor of {}", T::DTYPE.as_str());
        let given = format!("one of {}", given.as_str());
        return Err(refused(operation, required, given));
    }
    let Some((start, end)) = layout.contiguous_offsets() else {
        let (shape, strides) = (layout.dims(), layout.stride());
        let given = format!("a tensor of the shape {shape:?} with the strides {strides:?}");
        return Err(refused(
            operation,
            "elements row by row without gaps",
            given,
        ));
    };
    Ok(start..end)
}

/// Makes the error of a layout that is another storage's.
fn outside(operation: &'static str, len: usize, range: &Range<usize>) -> Error {
    let required = format!("a layout within the {len} elements of the storage");
    refused(operation, required, format!("{range:?}"))
}

/// Returns the elements of a tensor on the CPU.
fn host_elements<'a, T: CandleElement>(
    operation: &'static str,
    storage: &'a CpuStorage,
    layout: &Layout,
) -> Result<&'a [T]> {
    let range = elements_of::<T>(operation, layout, storage.dtype())?;
    let all = T::cpu_storage_as_slice(storage);
    let all = all.map_err(|error| refused(operation, "a tensor's elements", error.to_string()))?;
    all.get(range.clone())
        .ok_or_else(|| outside(operation, all.len(), &range))
}

impl<T: CandleElement> Vector<T> {
    /// Makes a tensor of candle of the vector, on `device`.
    ///
    /// On the same CUDA device nothing is copied, and the host does not wait: the vector's memory becomes candle's, in order
    /// with candle's stream. Only memory that the vector has of somebody else is copied, on the device, and dropping it may
    /// wait; memory of a device without memory pools is copied too. On the CPU, and between devices, the elements are
    /// copied by the host, which waits for them.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shape has another number of elements, if `device` is one of Metal, or while this thread
    /// captures; [`Error::OutOfMemory`]; [`Error::Driver`], also for what candle says. The vector is then dropped.
    pub fn into_candle(
        self,
        device: &candle_core::Device,
        shape: impl Into<Shape>,
    ) -> Result<Tensor> {
        tensor_of(self, device, shape.into())
    }

    /// Makes a storage of candle of the vector, for the result of a custom operation: see
    /// [`into_candle`](Self::into_candle), also for when the host waits.
    ///
    /// # Errors
    /// As for [`into_candle`](Self::into_candle), and [`Error::DeviceMismatch`] if the vector is not on `device`.
    pub fn into_candle_cuda(self, device: &CudaDevice) -> Result<CudaStorage> {
        cuda::give("into_candle_cuda", self, device)
    }
}

impl<T: CandleElement> Matrix<T> {
    /// Makes a tensor of candle of the matrix, of two dimensions: see [`Vector::into_candle`], also for when the host waits.
    ///
    /// # Errors
    /// As for [`Vector::into_candle`]. The matrix is then dropped.
    pub fn into_candle(self, device: &candle_core::Device) -> Result<Tensor> {
        let shape = Shape::from((self.height(), self.width()));
        tensor_of(self.into_vector(), device, shape)
    }
}

fn tensor_of<T: CandleElement>(
    vector: Vector<T>,
    device: &candle_core::Device,
    shape: Shape,
) -> Result<Tensor> {
    const OPERATION: &str = "into_candle";
    let len = vector.len();
    if shape.elem_count() != len {
        let required = format!("{} elements", shape.elem_count());
        let kind = InvalidKind::Length;
        return Err(Error::invalid(kind, OPERATION, required, len.to_string()));
    }
    match device {
        candle_core::Device::Metal(_) => return Err(metal(OPERATION)),
        candle_core::Device::Cuda(to) if cuda::kind(to) == Some(vector.device().kind()) => {
            let storage = Storage::Cuda(cuda::give(OPERATION, vector, to)?);
            let none = BackpropOp::none();
            return Ok(Tensor::from_storage(storage, shape, none, false));
        }
        _ => {}
    }
    Tensor::from_vec(vector.to_vec()?, shape, device).map_err(|error| {
        let error = error.to_string();
        let given = error.lines().next().unwrap_or_default();
        refused(OPERATION, "a device of candle", format!("`{given}`"))
    })
}

impl From<Error> for candle_core::Error {
    /// Wraps an error, so that `?` works in operations of candle.
    fn from(error: Error) -> Self {
        Self::wrap(error)
    }
}
