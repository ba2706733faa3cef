//! Tensors of DLPack, by the crate `dlpark`, version 0.10: tensors that become vectors and matrices, or are lent as views, and
//! vectors and matrices that become tensors.

use std::{mem::ManuallyDrop, ptr};

use dlpark::{
    DlpackElement, DlpackFlags, Managed, ManagedTensorBase, TensorRef,
    ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType},
    metadata::Fixed,
};

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::{Device, DeviceKind},
    error::{Error, InvalidKind, Result},
    executor::capture,
    foreign::{checked, refused},
    matrix::Matrix,
    rect::{MatrixRect, MatrixRectMut, within},
};

impl Device {
    /// Makes a vector of a DLPack tensor of one dimension, which it then owns. Nothing is copied, and the host does not wait.
    ///
    /// The tensor can be of the versioned kind ([`dlpark::versioned::Dlpack`]) or of the legacy one
    /// ([`dlpark::legacy::Dlpack`]). Dropping the vector waits until the work of this handle, and of all handles that used the
    /// vector, is done, and then calls the tensor's deleter, on the same thread.
    ///
    /// On a CUDA device the data must be ready in the order of this handle's stream. That is what a producer sees to by the
    /// rules of DLPack if it is told this stream: [`cuda_stream`](Self::cuda_stream) is the argument `stream` of Python's
    /// `__dlpack__`. If the producer's stream is known instead, a handle on it is in order with the producer's work:
    /// [`on_cuda_stream`](Self::on_cuda_stream).
    ///
    /// ```
    /// use dlpark::{ffi::DLDevice, metadata::Fixed, versioned::Dlpack};
    /// use warpwright::Device;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Another library makes a tensor of its memory.
    /// let mut theirs = Box::new([1.0_f32, 2.0, 3.0]);
    /// let data = theirs.as_mut_ptr();
    /// let mut tensor = Fixed::new([3], [1]).prepare()?.initialize(theirs);
    /// tensor.set_data(data.cast()).set_device(DLDevice::CPU).set_dtype(dlpark::ffi::DLDataType::F32);
    /// // SAFETY: the tensor describes the array, which it owns.
    /// let tensor: Dlpack = unsafe { tensor.finish() };
    ///
    /// let device = Device::cpu();
    /// // SAFETY: nobody else uses the array.
    /// let values = unsafe { device.dlpack_vector::<f32, _>(tensor)? };
    /// assert_eq!(device.sum(&values)?, 6.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the tensor is not of one dimension, of elements `T` one behind the other; if it may only be read;
    /// if it is on another device; and as for [`foreign_vector`](Self::foreign_vector). [`Error::Driver`]. The tensor's
    /// deleter is then called.
    ///
    /// # Safety
    /// What the tensor says of its memory must be true: the elements are initialized and writable, and stay where they are
    /// until the deleter is called. Until then nobody else may read or write them. On a CUDA device their data must be ready
    /// in the order of this handle's stream.
    pub unsafe fn dlpack_vector<T: Element + DlpackElement, M: ManagedTensorBase + 'static>(
        &self,
        tensor: Managed<M>,
    ) -> Result<Vector<T>> {
        // SAFETY: by the contract.
        unsafe { self.taken_over("dlpack_vector", tensor) }.map(|(vector, [_])| vector)
    }

    /// Makes a matrix of a DLPack tensor of two dimensions, which it then owns: see [`dlpack_vector`](Self::dlpack_vector).
    /// The host does not wait here, but when the matrix is dropped.
    ///
    /// # Errors
    /// As for [`dlpack_vector`](Self::dlpack_vector), but that the tensor must be of two dimensions, row by row, without a gap
    /// between rows.
    ///
    /// # Safety
    /// As for [`dlpack_vector`](Self::dlpack_vector).
    pub unsafe fn dlpack_matrix<T: Element + DlpackElement, M: ManagedTensorBase + 'static>(
        &self,
        tensor: Managed<M>,
    ) -> Result<Matrix<T>> {
        // SAFETY: by the contract.
        let (vector, [height, width]) = unsafe { self.taken_over("dlpack_matrix", tensor) }?;
        Matrix::from_vector(vector, height, width)
    }

    /// Makes a view of a DLPack tensor of one dimension, which stays its owner's and may be one that can only be read. Nothing
    /// is copied, and the host does not wait.
    ///
    /// ```
    /// # use dlpark::{DlpackFlags, ffi::DLDevice, metadata::Fixed, versioned::Dlpack};
    /// # use warpwright::Device;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut theirs = Box::new([1.0_f32, 2.0, 3.0]);
    /// # let data = theirs.as_mut_ptr();
    /// # let mut tensor = Fixed::new([3], [1]).prepare()?.initialize(theirs);
    /// # tensor.set_data(data.cast()).set_device(DLDevice::CPU).set_dtype(dlpark::ffi::DLDataType::F32);
    /// # // SAFETY: the tensor describes the array, which it owns.
    /// # let tensor: Dlpack = unsafe { tensor.finish() };
    /// let device = Device::cpu();
    /// // SAFETY: nobody writes the array while there is a view.
    /// let values = unsafe { device.dlpack_view::<f32, _>(&tensor)? };
    /// assert_eq!(device.sum(values)?, 6.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`dlpack_vector`](Self::dlpack_vector), but that the tensor need not be writable.
    ///
    /// # Safety
    /// What the tensor says of its memory must be true: the elements are initialized, and stay where they are as long as the
    /// tensor. Nobody writes them before the view's last use is done. On a CUDA device their data must be ready in the order of
    /// this handle's stream, and the tensor must last until this handle's work on the view is done.
    pub unsafe fn dlpack_view<'a, T: Element + DlpackElement, M: ManagedTensorBase + 'static>(
        &'a self,
        tensor: &'a Managed<M>,
    ) -> Result<VectorView<'a, T>> {
        let (address, len, [_], _) = self.dlpack_lent::<T, M, 1>("dlpack_view", tensor, false)?;
        Ok(VectorView::from_parts(address, len, self))
    }

    /// Makes a mutable view of a DLPack tensor of one dimension, which stays its owner's, and does not wait: a place for
    /// results. See [`dlpack_view`](Self::dlpack_view).
    ///
    /// # Errors
    /// As for [`dlpack_vector`](Self::dlpack_vector).
    ///
    /// # Safety
    /// As for [`dlpack_view`](Self::dlpack_view), but that the elements are writable, and nobody else reads or writes them
    /// before the view's last use is done.
    pub unsafe fn dlpack_view_mut<
        'a,
        T: Element + DlpackElement,
        M: ManagedTensorBase + 'static,
    >(
        &'a self,
        tensor: &'a mut Managed<M>,
    ) -> Result<VectorViewMut<'a, T>> {
        const OPERATION: &str = "dlpack_view_mut";
        require_writable(OPERATION, tensor)?;
        let (address, len, [_], _) = self.dlpack_lent::<T, M, 1>(OPERATION, tensor, false)?;
        Ok(VectorViewMut::from_parts(address, len, self))
    }

    /// Makes a view of a DLPack tensor of two dimensions, and does not wait: see [`dlpack_view`](Self::dlpack_view). There may
    /// be gaps between its rows.
    ///
    /// # Errors
    /// As for [`dlpack_view`](Self::dlpack_view), but that the tensor must be of two dimensions, with the elements of a row one
    /// behind the other, and rows behind each other that do not overlap.
    ///
    /// # Safety
    /// As for [`dlpack_view`](Self::dlpack_view).
    pub unsafe fn dlpack_rect<'a, T: Element + DlpackElement, M: ManagedTensorBase + 'static>(
        &'a self,
        tensor: &'a Managed<M>,
    ) -> Result<MatrixRect<'a, T>> {
        let (address, len, [height, width], stride) =
            self.dlpack_lent::<T, M, 2>("dlpack_rect", tensor, true)?;
        let view = VectorView::from_parts(address, len, self);
        MatrixRect::from_vector(view, height, width, stride)
    }

    /// Makes a mutable view of a DLPack tensor of two dimensions, and does not wait: see
    /// [`dlpack_view_mut`](Self::dlpack_view_mut). There may be gaps between its rows, which are not written.
    ///
    /// ```
    /// # use dlpark::{ffi::{DLDataType, DLDevice}, metadata::Fixed, versioned::Dlpack};
    /// # use warpwright::Device;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The first two of three columns.
    /// let mut theirs = Box::new([7.0_f32; 6]);
    /// let data = theirs.as_mut_ptr();
    /// let mut tensor = Fixed::new([2, 2], [3, 1]).prepare()?.initialize(theirs);
    /// tensor.set_data(data.cast()).set_device(DLDevice::CPU).set_dtype(DLDataType::F32);
    /// // SAFETY: the tensor describes the array, which it owns.
    /// let mut tensor: Dlpack = unsafe { tensor.finish() };
    ///
    /// let device = Device::cpu();
    /// let matrix = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// // SAFETY: nobody else uses the array.
    /// let place = unsafe { device.dlpack_rect_mut::<f32, _>(&mut tensor)? };
    /// device.gemm(&matrix, &matrix).output_to(place).run()?;
    /// // SAFETY: the product has been computed, and the array lives.
    /// let found = unsafe { *data.cast::<[f32; 6]>() };
    /// assert_eq!(found, [7.0, 10.0, 7.0, 15.0, 22.0, 7.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`dlpack_rect`](Self::dlpack_rect). Also [`Error::Invalid`] if the tensor may only be read.
    ///
    /// # Safety
    /// As for [`dlpack_view_mut`](Self::dlpack_view_mut).
    pub unsafe fn dlpack_rect_mut<
        'a,
        T: Element + DlpackElement,
        M: ManagedTensorBase + 'static,
    >(
        &'a self,
        tensor: &'a mut Managed<M>,
    ) -> Result<MatrixRectMut<'a, T>> {
        const OPERATION: &str = "dlpack_rect_mut";
        require_writable(OPERATION, tensor)?;
        let (address, len, [height, width], stride) =
            self.dlpack_lent::<T, M, 2>(OPERATION, tensor, true)?;
        let view = VectorViewMut::from_parts(address, len, self);
        MatrixRectMut::from_vector(view, height, width, stride)
    }

    /// Returns the checked address of a tensor of `N` dimensions, the elements from its first to its last, its shape, and the
    /// distance between its rows in elements.
    fn dlpack_lent<T, M, const N: usize>(
        &self,
        operation: &'static str,
        tensor: &Managed<M>,
        may_have_gaps: bool,
    ) -> Result<(u64, usize, [usize; N], usize)>
    where
        T: Element + DlpackElement,
        M: ManagedTensorBase + 'static,
    {
        let (address, shape, stride) =
            self.valid_dlpack::<T, M, N>(operation, tensor, may_have_gaps)?;
        let len = match shape[..] {
            [height, width] => within(operation, usize::MAX, [height, width, stride])?.len(),
            _ => shape.iter().product(),
        };
        let address = checked::<T>(self, operation, address, len)?;
        Ok((address, len, shape, stride))
    }

    /// Returns the address of a tensor, its shape, and the distance between its rows in elements, if it is valid and one of
    /// this device's, row by row.
    fn valid_dlpack<T: DlpackElement, M: ManagedTensorBase + 'static, const N: usize>(
        &self,
        operation: &'static str,
        tensor: &Managed<M>,
        may_have_gaps: bool,
    ) -> Result<(u64, [usize; N], usize)> {
        let described = tensor.validate();
        let described = described
            .map_err(|error| refused(operation, "a valid tensor", format!("one whose {error},")))?;
        self.described::<T, N>(operation, &described, may_have_gaps)
    }

    /// Makes a vector of a tensor of `N` dimensions. Returns its shape, too.
    ///
    /// # Safety
    /// As for [`dlpack_vector`](Self::dlpack_vector).
    unsafe fn taken_over<T, M, const N: usize>(
        &self,
        operation: &'static str,
        tensor: Managed<M>,
    ) -> Result<(Vector<T>, [usize; N])>
    where
        T: Element + DlpackElement,
        M: ManagedTensorBase + 'static,
    {
        require_writable(operation, &tensor)?;
        let (address, shape, _) = self.valid_dlpack::<T, M, N>(operation, &tensor, false)?;
        let len = shape.iter().product();
        let owner = Box::new(tensor);
        // SAFETY: by the contract. The tensor keeps the memory until its deleter is called.
        let vector = unsafe { self.foreign_vector_of(operation, address, len, owner, false) }?;
        Ok((vector, shape))
    }

    /// As [`valid_dlpack`](Self::valid_dlpack), of a valid tensor.
    fn described<T: DlpackElement, const N: usize>(
        &self,
        operation: &'static str,
        tensor: &TensorRef<'_>,
        may_have_gaps: bool,
    ) -> Result<(u64, [usize; N], usize)> {
        let own = match self.kind() {
            DeviceKind::Cpu => matches!(
                tensor.device().device_type,
                DLDeviceType::CPU | DLDeviceType::CUDAHOST
            ),
            DeviceKind::Cuda { ordinal } => {
                tensor.device().device_type == DLDeviceType::CUDAMANAGED
                    || is_cuda(tensor.device()) == Some(ordinal)
            }
        };
        if !own {
            let required = format!("a tensor on {}", self.kind());
            return Err(refused(
                operation,
                required,
                format!("one on {}", place(tensor.device())),
            ));
        }
        if !tensor.dtype().is::<T>() {
            let required = format!("a tensor of {}", elements(T::DTYPE));
            return Err(refused(
                operation,
                required,
                format!("one of {}", elements(tensor.dtype())),
            ));
        }
        let given = tensor.shape();
        // The tensor is valid: no dimension is negative.
        let shape: Vec<usize> = given
            .iter()
            .filter_map(|len| usize::try_from(*len).ok())
            .collect();
        let Ok(shape) = <[usize; N]>::try_from(shape) else {
            let required = format!(
                "a tensor with {N} dimension{}",
                if N == 1 { "" } else { "s" }
            );
            return Err(refused(
                operation,
                required,
                format!("one of the shape {given:?}"),
            ));
        };
        let width = *shape.last().unwrap_or(&1);
        if tensor.num_elements() == 0 {
            return Ok((0, shape, width));
        }
        let stride = match tensor.strides() {
            None => width,
            Some(strides) => row_stride(&shape, strides, may_have_gaps).ok_or_else(|| {
                let required = match may_have_gaps {
                    true => "elements row by row",
                    false => "elements row by row without gaps",
                };
                let given = format!("a tensor of the shape {given:?} with the strides {strides:?}");
                refused(operation, required, given)
            })?,
        };
        let start = tensor.data_ptr().expose_provenance() as u64;
        let address = if start == 0 {
            Some(0)
        } else {
            start.checked_add(tensor.byte_offset())
        };
        let address = address.ok_or_else(|| {
            let given = format!("one {} bytes behind {start:#x}", tensor.byte_offset());
            refused(operation, "an address", given)
        })?;
        Ok((address, shape, stride))
    }
}

/// Refuses a tensor that may only be read.
fn require_writable<M: ManagedTensorBase>(
    operation: &'static str,
    tensor: &Managed<M>,
) -> Result<()> {
    if tensor.flags().contains(DlpackFlags::READ_ONLY) {
        let required = "a tensor that can be written";
        return Err(refused(operation, required, "one for reading alone"));
    }
    Ok(())
}

/// Returns the distance between the rows of a tensor, in elements, if its elements lie row by row. Between rows there may be
/// gaps if they are allowed. The stride of a dimension of one element is never used.
fn row_stride(shape: &[usize], strides: &[i64], may_have_gaps: bool) -> Option<usize> {
    let width = *shape.last()?;
    let (mut expected, mut found) = (1, width);
    for (i, (len, stride)) in shape.iter().zip(strides).rev().enumerate() {
        if *len != 1 {
            let stride = usize::try_from(*stride).ok()?;
            let is_right = stride == expected || i == 1 && may_have_gaps && stride > expected;
            if !is_right {
                return None;
            }
            if i == 1 {
                found = stride;
            }
        }
        expected *= len;
    }
    Some(found)
}

/// Returns the ordinal of a CUDA device.
fn is_cuda(device: DLDevice) -> Option<usize> {
    let ordinal = usize::try_from(device.device_id).ok()?;
    (device.device_type == DLDeviceType::CUDA).then_some(ordinal)
}

/// Names a device as the library does, if it has such devices.
fn place(device: DLDevice) -> String {
    match (device.device_type, is_cuda(device)) {
        (_, Some(ordinal)) => DeviceKind::Cuda { ordinal }.to_string(),
        (DLDeviceType::CPU, _) => DeviceKind::Cpu.to_string(),
        (DLDeviceType::CUDAHOST, _) => "pinned memory of the host".to_owned(),
        (DLDeviceType::CUDAMANAGED, _) => "managed memory".to_owned(),
        (DLDeviceType(kind), _) => format!("device {} of the kind {kind}", device.device_id),
    }
}

/// Names a type of elements.
fn elements(of: DLDataType) -> String {
    let kind = match of.code {
        DLDataTypeCode::INT => "i".to_owned(),
        DLDataTypeCode::UINT => "u".to_owned(),
        DLDataTypeCode::FLOAT => "f".to_owned(),
        DLDataTypeCode::BFLOAT => "bf".to_owned(),
        DLDataTypeCode::BOOL => "bool".to_owned(),
        DLDataTypeCode::COMPLEX => "complex".to_owned(),
        DLDataTypeCode(code) => format!("kind {code} of bits "),
    };
    match of.lanes {
        1 => format!("{kind}{}", of.bits),
        lanes => format!("{lanes} x {kind}{}", of.bits),
    }
}

impl<T: Element + DlpackElement> Vector<T> {
    /// Converts the vector to a DLPack tensor of one dimension, which owns it. Nothing is copied, and the host does not wait.
    ///
    /// The tensor can be of the versioned kind ([`dlpark::versioned::Dlpack`]) or of the legacy one
    /// ([`dlpark::legacy::Dlpack`]).
    ///
    /// `consumer` is a handle on the stream that the consumer uses the tensor on: by the rules of DLPack the consumer says
    /// which stream that is (the argument `stream` of Python's `__dlpack__`), and [`Device::on_cuda_stream`] makes a handle on
    /// it. What is queued there from now on comes after all work that the vector's own handle has queued. The tensor keeps a
    /// clone of the handle: when its deleter is called, on whatever thread, the memory is freed after all work that is queued
    /// on the stream by then. On the CPU nothing has to be ordered. If the driver fails at that, the deleter waits, and if it
    /// cannot tell either whether the work is done, the memory is leaked.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = warpwright::Device::auto()?;
    /// let sorted = device.sort(&device.upload(&[3_u32, 1, 2])?)?;
    /// let tensor: dlpark::versioned::Dlpack = sorted.into_dlpack(&device)?;
    /// assert_eq!(tensor.validate()?.shape(), [3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`]; [`Error::Driver`]; [`Error::Invalid`] while this thread captures, or if there are more
    /// elements than DLPack can count. The vector is then dropped.
    pub fn into_dlpack<M: ManagedTensorBase>(self, consumer: &Device) -> Result<Managed<M>> {
        let shape = [self.len()];
        given_away(self, shape, [1], consumer)
    }
}

impl<T: Element + DlpackElement> Matrix<T> {
    /// Converts the matrix to a DLPack tensor of two dimensions, row by row, which owns it, and does not wait: see
    /// [`Vector::into_dlpack`].
    ///
    /// # Errors
    /// As for [`Vector::into_dlpack`]. The matrix is then dropped.
    pub fn into_dlpack<M: ManagedTensorBase>(self, consumer: &Device) -> Result<Managed<M>> {
        let (height, width) = (self.height(), self.width());
        given_away(self.into_vector(), [height, width], [width, 1], consumer)
    }
}

/// A vector that a tensor owns.
struct GivenAway<T: Element> {
    vector: ManuallyDrop<Vector<T>>,
    consumer: Device,
}

impl<T: Element> Drop for GivenAway<T> {
    fn drop(&mut self) {
        let (own, consumer) = (&self.vector.device().executor, &self.consumer.executor);
        let ordered = own.wait_for(consumer);
        // As for memory of others: a failed wait is tried once more, and after a device fault nothing runs any more.
        let wait = || consumer.synchronize();
        let ordered = ordered.or_else(|_| wait()).or_else(|_| wait());
        if ordered.is_ok() || ordered.is_err_and(|error| error.is_device_fault()) {
            // SAFETY: only this `drop` drops the vector, once. Otherwise the consumer's work may still run.
            unsafe { ManuallyDrop::drop(&mut self.vector) };
        }
    }
}

fn given_away<T: Element + DlpackElement, M: ManagedTensorBase, const N: usize>(
    mut vector: Vector<T>,
    shape: [usize; N],
    strides: [usize; N],
    consumer: &Device,
) -> Result<Managed<M>> {
    const OPERATION: &str = "into_dlpack";
    capture::refuse(OPERATION)?;
    consumer.require_same(OPERATION, vector.device())?;
    let prepared = Fixed::new(shape, strides).prepare_as::<M>();
    let prepared = prepared.map_err(|_| {
        let required = format!("{} elements at most", i64::MAX);
        Error::invalid(
            InvalidKind::TooLarge,
            OPERATION,
            required,
            format!("{shape:?}"),
        )
    })?;
    consumer.executor.wait_for(&vector.device().executor)?;
    let device = match vector.device().kind() {
        DeviceKind::Cpu => DLDevice::CPU,
        DeviceKind::Cuda { ordinal } => DLDevice::cuda(i32::try_from(ordinal).unwrap_or(i32::MAX)),
    };
    let data = match vector.is_empty() {
        true => ptr::null_mut(),
        false => ptr::with_exposed_provenance_mut(vector.view_mut().device_pointer() as usize),
    };
    let mut tensor = prepared.initialize(Box::new(GivenAway {
        vector: ManuallyDrop::new(vector),
        consumer: consumer.clone(),
    }));
    tensor.set_data(data).set_device(device).set_dtype(T::DTYPE);
    // SAFETY: the tensor describes the vector's elements, which nobody else uses, and which it owns.
    Ok(unsafe { tensor.finish() })
}
