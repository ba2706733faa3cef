//! Tensors of the crate `tch` (libtorch): tensors as views, and vectors that become tensors.

use std::ptr;

use ::tch::{Kind, Tensor};

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::{Device, DeviceKind},
    error::{Error, InvalidKind, Result},
    executor::Executor,
    foreign::refused,
};

mod sealed {
    pub trait Sealed {
        const KIND: ::tch::Kind;
    }
}

/// A type of elements that tensors of libtorch and arrays of the library have: `u8 i8 i16 i32 i64 f16 bf16 f32 f64`. Other
/// crates cannot implement this trait.
pub trait TchElement: Element + sealed::Sealed {}

/// The kinds are listed here: that of `bf16` in `tch` is another one's.
macro_rules! element {
    ($($ty:ty = $kind:ident;)*) => { $(
        impl sealed::Sealed for $ty {
            const KIND: Kind = Kind::$kind;
        }
        impl TchElement for $ty {}
    )* };
}
element! {
    u8 = Uint8;
    i8 = Int8;
    i16 = Int16;
    i32 = Int;
    i64 = Int64;
    half::f16 = Half;
    half::bf16 = BFloat16;
    f32 = Float;
    f64 = Double;
}

impl Device {
    /// Opens the device that `device` of libtorch is. On CUDA the handle's work is queued on the default stream, on which
    /// libtorch's work is too: `tch` cannot choose another one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is neither the CPU nor a CUDA device; [`Error::NoDevice`], [`Error::Driver`].
    pub fn of_tch(device: ::tch::Device) -> Result<Self> {
        const OPERATION: &str = "of_tch";
        match place(OPERATION, device)? {
            DeviceKind::Cpu => Ok(Self::cpu()),
            DeviceKind::Cuda { ordinal } => Self::cuda(ordinal)?.on_default_stream(OPERATION),
        }
    }

    /// Lends the elements of a tensor of libtorch, of any shape, row by row, to `work`. Nothing is copied, and the host does
    /// not wait.
    ///
    /// The tensor is on this device. On CUDA the view's handle is on the default stream, where `work` can queue more by
    /// `values.device()`: so what uses the view comes after libtorch's work before, and before its work later. As everywhere in
    /// `tch`, no other thread may write meanwhile to a tensor that shares the memory, such as a `shallow_clone`.
    ///
    /// ```no_run
    /// use tch::Tensor;
    /// use warpwright::{Device, VectorView};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tensor = Tensor::from_slice(&[3.0_f32, 1.0, 2.0]);
    /// let device = Device::of_tch(tensor.device())?;
    /// let sorted = device.with_tch(&tensor, |values: VectorView<f32>| device.sort(values))?;
    /// let sorted = sorted.to_tch(tensor.device(), &tensor.size())?;
    /// assert_eq!(Vec::<f32>::try_from(sorted)?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the tensor is on another device, if its elements are of another type, or if they do not lie row by
    /// row without gaps (`Tensor::contiguous` makes one whose elements do); [`Error::Driver`]; and the errors of `work`.
    pub fn with_tch<T: TchElement, R>(
        &self,
        tensor: &Tensor,
        work: impl FnOnce(VectorView<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let (address, len, device) = self.lent_by_tch::<T>("with_tch", tensor)?;
        work(VectorView::from_parts(address, len, &device))
    }

    /// Lends the elements of a tensor of libtorch to `work` for reading and writing: see [`with_tch`](Self::with_tch). The host
    /// does not wait. Automatic differentiation does not notice what is written.
    ///
    /// # Errors
    /// As for [`with_tch`](Self::with_tch).
    ///
    /// # Safety
    /// Nobody else may use the memory meanwhile: neither another tensor that shares it nor a view of one.
    pub unsafe fn with_tch_mut<T: TchElement, R>(
        &self,
        tensor: &mut Tensor,
        work: impl FnOnce(VectorViewMut<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let (address, len, device) = self.lent_by_tch::<T>("with_tch_mut", tensor)?;
        work(VectorViewMut::from_parts(address, len, &device))
    }

    /// Returns the address and the number of a tensor's elements, and a handle on the stream of the work on them.
    fn lent_by_tch<T: TchElement>(
        &self,
        operation: &'static str,
        tensor: &Tensor,
    ) -> Result<(u64, usize, Self)> {
        if !tensor.defined() || tensor.is_sparse() || tensor.is_mkldnn() || tensor.is_neg() {
            let given = "one without, a sparse one or the like";
            return Err(refused(operation, "a tensor with memory", given));
        }
        let place = place(operation, tensor.device())?;
        if place != self.kind() {
            let required = format!("a tensor on {}", self.kind());
            return Err(refused(operation, required, format!("one on {place}")));
        }
        let kind = tensor.f_kind();
        if !kind.as_ref().is_ok_and(|kind| *kind == T::KIND) {
            let given = kind.map_or("one of another kind".to_owned(), |k| {
                format!("one of {k:?}")
            });
            let required = format!("a tensor of {:?}", T::KIND);
            return Err(refused(operation, required, given));
        }
        if !tensor.is_contiguous() {
            let (shape, strides) = (tensor.size(), tensor.stride());
            let given = format!("a tensor of the shape {shape:?} with the strides {strides:?}");
            let required = "elements row by row without gaps";
            return Err(refused(operation, required, given));
        }
        let device = match *self.executor {
            Executor::Cpu(_) => self.clone(),
            Executor::Cuda(_) => self.on_default_stream(operation)?,
        };
        let (len, start) = (tensor.numel(), tensor.data_ptr().expose_provenance() as u64);
        let address = crate::foreign::checked::<T>(&device, operation, start, len)?;
        Ok((address, len, device))
    }

    fn on_default_stream(&self, operation: &'static str) -> Result<Self> {
        // SAFETY: the default stream always exists.
        unsafe { self.on_stream(operation, ptr::null_mut(), None) }
    }
}

fn place(operation: &'static str, device: ::tch::Device) -> Result<DeviceKind> {
    match device {
        ::tch::Device::Cpu => Ok(DeviceKind::Cpu),
        ::tch::Device::Cuda(ordinal) => Ok(DeviceKind::Cuda { ordinal }),
        other => {
            let given = format!("{other:?}");
            Err(refused(operation, "the CPU or a CUDA device", given))
        }
    }
}

impl<T: TchElement> VectorView<'_, T> {
    /// Copies the elements to a new tensor of libtorch, on `device`. The host waits as in [`to_device`](Self::to_device): not
    /// within a CUDA device. To copy nothing, write results where a tensor is: [`Device::with_tch_mut`] with the request's
    /// `output_to`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shape has another number of elements, or if libtorch cannot make the tensor; as for
    /// [`to_device`](Self::to_device).
    pub fn to_tch(&self, device: ::tch::Device, shape: &[i64]) -> Result<Tensor> {
        const OPERATION: &str = "to_tch";
        let count = shape.iter().try_fold(1_usize, |count, len| {
            count.checked_mul(usize::try_from(*len).ok()?)
        });
        if count != Some(self.len()) {
            let (required, kind) = (format!("the elements of {shape:?}"), InvalidKind::Length);
            let given = self.len().to_string();
            return Err(Error::invalid(kind, OPERATION, required, given));
        }
        let to = Device::of_tch(device)?;
        let mut tensor = Tensor::f_empty(shape, (T::KIND, device)).map_err(|error| {
            let error = error.to_string();
            let given = error.lines().next().unwrap_or_default();
            refused(OPERATION, "memory of libtorch", format!("`{given}`"))
        })?;
        // SAFETY: the tensor is new, so nobody else has its memory.
        unsafe { to.with_tch_mut(&mut tensor, |mut elements| elements.copy_from(*self)) }?;
        Ok(tensor)
    }
}

impl<T: TchElement> Vector<T> {
    /// Copies the elements to a new tensor of libtorch, on `device`: see [`VectorView::to_tch`], also for when the host waits.
    ///
    /// # Errors
    /// As for [`VectorView::to_tch`].
    pub fn to_tch(&self, device: ::tch::Device, shape: &[i64]) -> Result<Tensor> {
        self.view().to_tch(device, shape)
    }
}

#[cfg(test)]
mod tests {
    use ::tch::{Cuda, Device as Torch, Kind, Tensor};

    use super::TchElement;
    use crate::{Device, VectorView, VectorViewMut};

    fn devices() -> Vec<(Torch, Device)> {
        let mut all = vec![Torch::Cpu];
        if Cuda::is_available() {
            all.push(Torch::Cuda(0));
        }
        all.into_iter()
            .map(|torch| (torch, Device::of_tch(torch).expect("the device")))
            .collect()
    }

    #[test]
    fn tensors_are_lent_where_they_are() {
        for (torch, device) in devices() {
            let tensor = Tensor::arange(12, (Kind::Float, torch)) + 1.0;
            for part in [tensor.reshape([3, 4]), tensor.narrow(0, 4, 5)] {
                let lent = device.with_tch(&part, |values: VectorView<f32>| {
                    Ok((values.device_pointer(), values.to_vec()?))
                });
                let (address, read) = lent.expect("contiguous");
                assert_eq!(address, part.data_ptr().addr() as u64);
                let theirs = Vec::<f32>::try_from(part.flatten(0, -1)).expect("numbers");
                assert_eq!(read, theirs);
            }
            let none = Tensor::zeros([0, 3], (Kind::Double, torch));
            let len = device.with_tch(&none, |values: VectorView<f64>| Ok(values.len()));
            assert_eq!(len.expect("nothing"), 0);
        }
    }

    #[test]
    fn all_kinds_go_to_tensors_and_back() {
        fn around<T: TchElement + PartialEq + std::fmt::Debug>(
            (torch, device): &(Torch, Device),
            numbers: [T; 6],
        ) {
            let vector = device.upload(&numbers).expect("memory");
            let tensor = vector.to_tch(*torch, &[2, 3]).expect("memory");
            assert_eq!((tensor.size(), tensor.kind()), (vec![2, 3], T::KIND));
            let read = device.with_tch(&tensor, |values: VectorView<T>| values.to_vec());
            assert_eq!(read.expect("contiguous"), numbers);
            let doubles = Vec::<f64>::try_from(tensor.to_kind(Kind::Double).flatten(0, -1));
            assert_eq!(doubles.expect("numbers"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        }
        for of in &devices() {
            around::<u8>(of, [0, 1, 2, 3, 4, 5]);
            around::<i8>(of, [0, 1, 2, 3, 4, 5]);
            around::<i16>(of, [0, 1, 2, 3, 4, 5]);
            around::<i32>(of, [0, 1, 2, 3, 4, 5]);
            around::<i64>(of, [0, 1, 2, 3, 4, 5]);
            around::<f32>(of, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            around::<f64>(of, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            around(of, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(half::f16::from_f32));
            around(of, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(half::bf16::from_f32));
            let vector = of.1.upload(&[1_u8; 5]).expect("memory");
            let error = vector.to_tch(of.0, &[2, 3]).expect_err("too few");
            let text = "to_tch: the elements of [2, 3] required, 5 given";
            assert_eq!(error.to_string(), text);
        }
    }

    /// libtorch's work and ours in turn, without a wait between them.
    #[test]
    fn work_is_in_order() {
        for (torch, device) in devices() {
            let n = if torch == Torch::Cpu {
                1 << 10
            } else {
                1 << 22
            };
            let mut tensor = Tensor::arange(n, (Kind::Float, torch));
            for _ in 0..8 {
                let mut turned = -&tensor;
                let sort = |values: VectorViewMut<f32>| device.sort_in_place(values);
                // SAFETY: nobody else has the new tensor's memory.
                let sorted = unsafe { device.with_tch_mut(&mut turned, sort) };
                sorted.expect("memory");
                tensor = turned + (n - 1) as f64;
            }
            assert!(tensor.equal(&Tensor::arange(n, (Kind::Float, torch))));
        }
    }

    #[test]
    fn what_cannot_be_lent_is_refused() {
        for (torch, device) in devices() {
            let refused = |tensor: &Tensor| {
                let lent = device.with_tch(tensor, |_: VectorView<f32>| Ok(()));
                lent.expect_err("refused").to_string()
            };
            let tensor = Tensor::arange(6, (Kind::Float, torch)).reshape([2, 3]);
            assert_eq!(
                refused(&tensor.tr()),
                "with_tch: elements row by row without gaps required, \
                 a tensor of the shape [3, 2] with the strides [1, 3] given"
            );
            assert_eq!(
                refused(&tensor.to_kind(Kind::BFloat16)),
                "with_tch: a tensor of Float required, one of BFloat16 given"
            );
            assert!(refused(&tensor.to_sparse_sparse_dim(2)).contains("a sparse one"));
            assert!(refused(&Tensor::new()).contains("one without"));
            if torch != Torch::Cpu {
                assert_eq!(
                    refused(&tensor.to(Torch::Cpu)),
                    "with_tch: a tensor on cuda:0 required, one on cpu given"
                );
            }
        }
    }
}
