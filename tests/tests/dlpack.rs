//! Tensors of DLPack: what is taken over and given away keeps its address and its owner, and what cannot be is refused.

use std::{
    ffi::c_void,
    fmt, ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};

use cuda_std::{bf16, f16};
use dlpark::{
    DlpackElement, DlpackFlags, Managed, ManagedTensorBase,
    ffi::{
        DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLTensor,
    },
    legacy,
    metadata::Fixed,
    versioned,
};
use warpwright::{Device, DeviceKind, Element, Error, InvalidKind, Result, Vector};
use warpwright_tests::devices;

/// Asserts that `result` is [`Error::Invalid`] of memory of others, told in one line that has all of `parts`.
#[track_caller]
fn refused<T: fmt::Debug>(result: Result<T>, parts: &[&str]) {
    let error = result.expect_err("an error");
    let text = error.to_string();
    assert!(
        matches!(
            error,
            Error::Invalid {
                kind: InvalidKind::Foreign,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!text.contains('\n'), "{text}");
    for part in parts.iter().chain(&["required", "given"]) {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Memory of others, which counts its drops.
struct Theirs<T>(Vec<T>, Arc<AtomicU32>);

impl<T> Drop for Theirs<T> {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

/// A tensor of other memory, as `change` makes it, and the number of times that the memory was dropped.
fn tensor<T: DlpackElement + Send, M: ManagedTensorBase, const N: usize>(
    values: Vec<T>,
    shape: [i64; N],
    strides: [i64; N],
    change: impl FnOnce(&mut DLTensor),
) -> (Managed<M>, Arc<AtomicU32>) {
    let drops = Arc::new(AtomicU32::new(0));
    let mut theirs = Box::new(Theirs(values, drops.clone()));
    let data = theirs.0.as_mut_ptr().cast::<c_void>();
    let metadata = Fixed::new(shape, strides)
        .prepare_as::<M>()
        .expect("metadata");
    let mut made = metadata.initialize(theirs);
    made.set_data(data)
        .set_device(DLDevice::CPU)
        .set_dtype(T::DTYPE);
    change(made.tensor_mut());
    // SAFETY: what the library may use is as it is described. What it must refuse is not used.
    (unsafe { made.finish() }, drops)
}

fn cuda_or_cpu(device: &Device) -> DLDevice {
    match device.kind() {
        DeviceKind::Cuda { ordinal } => DLDevice::cuda(ordinal as i32),
        _ => DLDevice::CPU,
    }
}

/// Gives vectors and matrices away and takes them over again.
fn around<T: Element + DlpackElement + PartialEq + fmt::Debug, M: ManagedTensorBase + 'static>(
    device: &Device,
    one: T,
) -> Result<()> {
    let name = std::any::type_name::<(T, M)>();
    let mut vector = device.upload(&[one; 6])?;
    let address = vector.view_mut().device_pointer();
    let tensor: Managed<M> = vector.into_dlpack(device)?;
    let described = tensor.validate_export().expect("it is valid");
    assert_eq!(described.shape(), [6], "{name}");
    assert_eq!(described.strides(), Some(&[1][..]), "{name}");
    assert!(described.dtype().is::<T>(), "{name}");
    assert_eq!(described.device(), cuda_or_cpu(device), "{name}");
    assert_eq!(described.data_ptr().addr() as u64, address, "{name}");
    assert_eq!(described.byte_offset(), 0, "{name}");
    assert_eq!(tensor.flags(), DlpackFlags::empty(), "{name}");
    // SAFETY: nobody else uses the memory, and the work is in order.
    let mut vector = unsafe { device.dlpack_vector::<T, M>(tensor)? };
    assert_eq!(vector.view_mut().device_pointer(), address, "{name}");
    assert_eq!(vector.to_vec()?, [one; 6], "{name}");

    // As a matrix, through a raw pointer, which is how languages pass tensors, and dropped on another thread.
    let matrix = warpwright::Matrix::from_vector(vector, 2, 3)?;
    let tensor: Managed<M> = matrix.into_dlpack(device)?;
    let described = tensor.validate_export().expect("it is valid");
    assert_eq!(described.shape(), [2, 3], "{name}");
    assert_eq!(described.strides(), Some(&[3, 1][..]), "{name}");
    let raw = tensor.into_raw();
    // SAFETY: the pointer is owned, and as above.
    let matrix = unsafe {
        let tensor = Managed::from_raw(raw).expect("a tensor");
        device.dlpack_matrix::<T, M>(tensor)?
    };
    assert_eq!((matrix.height(), matrix.width()), (2, 3), "{name}");
    assert_eq!(matrix.to_vec()?, [one; 6], "{name}");
    let mut vector = matrix.into_vector();
    assert_eq!(vector.view_mut().device_pointer(), address, "{name}");
    let tensor: Managed<M> = vector.into_dlpack(device)?;
    thread::spawn(move || drop(tensor))
        .join()
        .expect("no panic");
    Ok(())
}

#[test]
fn every_type_goes_around_without_a_copy() -> Result<()> {
    fn both<T: Element + DlpackElement + PartialEq + fmt::Debug>(
        device: &Device,
        one: T,
    ) -> Result<()> {
        around::<T, DLManagedTensorVersioned>(device, one)?;
        around::<T, DLManagedTensor>(device, one)
    }
    for device in devices::all() {
        both(device, 1.5_f32)?;
        both(device, -2.5_f64)?;
        both(device, f16::from_f32(3.5))?;
        both(device, bf16::from_f32(-4.5))?;
        both(device, -5_i8)?;
        both(device, -6_i16)?;
        both(device, -7_i32)?;
        both(device, -8_i64)?;
        both(device, 9_u8)?;
        both(device, 10_u16)?;
        both(device, 11_u32)?;
        both(device, 12_u64)?;
    }
    Ok(())
}

#[test]
fn streams_are_in_order() -> Result<()> {
    for device in devices::all() {
        let (producer, consumer) = (device.new_stream()?, device.new_stream()?);
        let len = match device.kind() {
            DeviceKind::Cpu => 1000,
            _ => 1_000_000,
        };
        let values: Vec<u32> = (0..len)
            .map(|i: u32| i.wrapping_mul(2_654_435_761))
            .collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        for _ in 0..10 {
            let mut sorted = producer.upload(&values)?;
            producer.sort_in_place(sorted.view_mut())?;
            let tensor: versioned::Dlpack = sorted.into_dlpack(&consumer)?;
            let data = tensor.validate().expect("it is valid").data_ptr();
            // What the consumer does: its own work on its own stream, and then the deleter, without a wait.
            let copy = {
                // SAFETY: the memory lives until the tensor is dropped, after which its work is in order.
                let view = unsafe {
                    consumer.foreign_view::<u32>(data.expose_provenance() as u64, values.len())?
                };
                let mut copied = consumer.sort_request(view).prepare()?;
                copied.enqueue()?;
                copied
            };
            drop(tensor);
            // The memory may be used again now.
            let other = producer.upload(&vec![u32::MAX; values.len()])?;
            assert_eq!(copy.output()?.to_vec()?, expected);
            drop(other);
        }
    }
    Ok(())
}

#[test]
fn memory_of_others_is_used_where_it_is() -> Result<()> {
    let device = devices::cpu();
    let (theirs, drops) =
        tensor::<u32, DLManagedTensorVersioned, 1>(vec![9, 9, 3, 1, 2], [3], [1], |tensor| {
            tensor.byte_offset = 8
        });
    let start = theirs.validate().expect("it is valid").data_ptr().addr() as u64;
    // SAFETY: nobody else uses the memory.
    let mut vector = unsafe { device.dlpack_vector::<u32, _>(theirs)? };
    assert_eq!(vector.view_mut().device_pointer(), start + 8);
    device.sort_in_place(vector.view_mut())?;
    assert_eq!(vector.to_vec()?, [1, 2, 3]);
    assert_eq!(drops.load(SeqCst), 0);
    // It may be given away again, with its owner.
    let tensor: legacy::Dlpack = vector.into_dlpack(&device)?;
    assert_eq!(drops.load(SeqCst), 0);
    drop(tensor);
    assert_eq!(drops.load(SeqCst), 1);

    // Without strides, which old producers leave out; pinned memory; dimensions of one element, whose stride is any.
    let without = |tensor: &mut DLTensor| tensor.strides = ptr::null_mut();
    let (theirs, drops) = tensor_of_six::<DLManagedTensor, 2>([2, 3], [7, 7], without);
    // SAFETY: as above.
    let matrix = unsafe { device.dlpack_matrix::<f32, _>(theirs)? };
    assert_eq!(device.sum(matrix.as_vector())?, 15.0);
    drop(matrix);
    assert_eq!(drops.load(SeqCst), 1);
    let pinned = |tensor: &mut DLTensor| tensor.device.device_type = DLDeviceType::CUDAHOST;
    let (theirs, _) = tensor_of_six::<DLManagedTensor, 2>([1, 6], [-7, 1], pinned);
    // SAFETY: as above.
    assert_eq!(
        unsafe { device.dlpack_matrix::<f32, _>(theirs)? }.height(),
        1
    );
    let (theirs, _) = tensor_of_six::<DLManagedTensor, 2>([6, 1], [1, 100], |_| {});
    // SAFETY: as above.
    assert_eq!(
        unsafe { device.dlpack_matrix::<f32, _>(theirs)? }.width(),
        1
    );
    Ok(())
}

fn tensor_of_six<M: ManagedTensorBase, const N: usize>(
    shape: [i64; N],
    strides: [i64; N],
    change: impl FnOnce(&mut DLTensor),
) -> (Managed<M>, Arc<AtomicU32>) {
    tensor(
        vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0],
        shape,
        strides,
        change,
    )
}

#[test]
fn no_elements_are_at_no_address() -> Result<()> {
    for device in devices::all() {
        let none: Vector<f32> = device.zeros(0)?;
        let tensor: versioned::Dlpack = none.into_dlpack(device)?;
        let described = tensor.validate_export().expect("it is valid");
        assert!(described.data_ptr().is_null());
        assert_eq!(described.shape(), [0]);
        // SAFETY: no elements are used.
        let none = unsafe { device.dlpack_vector::<f32, _>(tensor)? };
        assert!(none.is_empty());
        assert_eq!(device.sum(&none)?, 0.0);
        let own = cuda_or_cpu(device);
        let (tensor, drops) =
            tensor_of_six::<DLManagedTensorVersioned, 2>([3, 0], [9, 9], |tensor| {
                tensor.data = ptr::null_mut();
                tensor.device = own;
                tensor.byte_offset = u64::MAX;
            });
        // SAFETY: no elements are used.
        let none = unsafe { device.dlpack_matrix::<f32, _>(tensor)? };
        assert_eq!((none.height(), none.width()), (3, 0));
        drop(none);
        assert_eq!(drops.load(SeqCst), 1);
    }
    Ok(())
}

/// Each tensor that is refused says why, and its deleter is called.
#[test]
fn what_is_not_as_asked_for_is_refused() {
    let device = devices::cpu();
    let vector = |parts: &[&str], change: &dyn Fn(&mut DLTensor)| {
        let (tensor, drops) = tensor_of_six::<DLManagedTensorVersioned, 1>([6], [1], change);
        // SAFETY: what is refused is not used.
        let result = unsafe { device.dlpack_vector::<f32, _>(tensor) };
        refused(result, &[&["dlpack_vector: "], parts].concat());
        assert_eq!(drops.load(SeqCst), 1, "{parts:?}");
    };
    let place = |device_type, device_id| {
        move |tensor: &mut DLTensor| {
            tensor.device = DLDevice {
                device_type,
                device_id,
            };
        }
    };
    vector(&["on cpu", "on cuda:1"], &place(DLDeviceType::CUDA, 1));
    vector(
        &["on cpu", "managed memory"],
        &place(DLDeviceType::CUDAMANAGED, 0),
    );
    vector(
        &["on cpu", "device -1 of the kind 2"],
        &place(DLDeviceType::CUDA, -1),
    );
    vector(
        &["on cpu", "device 3 of the kind 8"],
        &place(DLDeviceType::METAL, 3),
    );
    let of = |dtype| move |tensor: &mut DLTensor| tensor.dtype = dtype;
    vector(&["of f32", "one of f64"], &of(DLDataType::F64));
    vector(&["of f32", "one of bf16"], &of(DLDataType::BF16));
    vector(&["of f32", "one of u32"], &of(DLDataType::U32));
    vector(&["of f32", "one of bool8"], &of(DLDataType::BOOL));
    vector(
        &["of f32", "one of kind 17 of bits 4"],
        &of(DLDataType::F4E2M1FN),
    );
    vector(&["of f32", "one of 4 x f32"], &|tensor| {
        tensor.dtype.lanes = 4
    });
    vector(&["a valid tensor", "lane count"], &|tensor| {
        tensor.dtype.lanes = 0
    });
    vector(&["with 1 dimension ", "the shape []"], &|tensor| {
        tensor.ndim = 0
    });
    vector(&["a valid tensor", "ndim is negative"], &|tensor| {
        tensor.ndim = -1
    });
    vector(&["a valid tensor", "shape pointer is null"], &|tensor| {
        tensor.shape = ptr::null_mut()
    });
    vector(&["a valid tensor", "strides"], &|tensor| {
        tensor.strides = ptr::null_mut()
    });
    // SAFETY: the tensor has a dimension.
    let shape = |len| move |tensor: &mut DLTensor| unsafe { *tensor.shape = len };
    vector(&["a valid tensor", "negative"], &shape(-6));
    vector(&["a valid tensor", "overflows"], &shape(i64::MAX));
    // SAFETY: as above.
    let stride = |step| move |tensor: &mut DLTensor| unsafe { *tensor.strides = step };
    for step in [2, 0, -1] {
        let given = format!("the shape [6] with the strides [{step}]");
        vector(&["without gaps", &given], &stride(step));
    }
    vector(&["not null", "0x0"], &|tensor| {
        tensor.data = ptr::null_mut()
    });
    vector(&["not null", "0x0"], &|tensor| {
        tensor.data = ptr::null_mut();
        tensor.byte_offset = 4;
    });
    vector(&["a multiple of 4"], &|tensor| tensor.byte_offset = 2);
    vector(&["an address", "bytes behind"], &|tensor| {
        tensor.byte_offset = u64::MAX
    });

    let matrix = |shape: [i64; 2], strides: [i64; 2], parts: &[&str]| {
        let (tensor, drops) = tensor_of_six::<DLManagedTensorVersioned, 2>(shape, strides, |_| {});
        // SAFETY: what is refused is not used.
        let result = unsafe { device.dlpack_matrix::<f32, _>(tensor) };
        refused(result, &[&["dlpack_matrix: "], parts].concat());
        assert_eq!(drops.load(SeqCst), 1, "{parts:?}");
    };
    matrix([2, 2], [3, 1], &["without gaps", "[2, 2]", "[3, 1]"]);
    matrix([2, 3], [1, 2], &["without gaps", "[2, 3]", "[1, 2]"]);
    matrix([2, 3], [-3, 1], &["without gaps"]);
    let (tensor, drops) = tensor_of_six::<DLManagedTensor, 1>([6], [1], |_| {});
    // SAFETY: what is refused is not used.
    let result = unsafe { device.dlpack_matrix::<f32, _>(tensor) };
    refused(result, &["with 2 dimensions ", "the shape [6]"]);
    assert_eq!(drops.load(SeqCst), 1);

    let (mut tensor, drops) = tensor_of_six::<DLManagedTensorVersioned, 1>([6], [1], |_| {});
    // SAFETY: it is true that nobody writes.
    unsafe { *tensor.flags_mut() |= DlpackFlags::READ_ONLY };
    // SAFETY: what is refused is not used.
    let result = unsafe { device.dlpack_vector::<f32, _>(tensor) };
    refused(result, &["can be written", "for reading alone"]);
    assert_eq!(drops.load(SeqCst), 1);
}

/// Tensors that can only be read are lent where they are, and stay their owner's.
#[test]
fn what_can_only_be_read_is_lent() -> Result<()> {
    let device = devices::cpu();
    let (mut tensor, drops) = tensor_of_six::<DLManagedTensorVersioned, 1>([6], [1], |_| {});
    // SAFETY: it is true that nobody writes.
    unsafe { *tensor.flags_mut() |= DlpackFlags::READ_ONLY };
    let address = tensor.validate().expect("it is valid").data_ptr().addr() as u64;
    // SAFETY: nobody writes.
    let view = unsafe { device.dlpack_view::<f32, _>(&tensor)? };
    assert_eq!(view.device_pointer(), address);
    let elements = view.to_vec()?;
    assert_eq!(device.sum(view)?, elements.iter().sum::<f32>());
    // SAFETY: what is refused is not used.
    let result = unsafe { device.dlpack_view::<f64, _>(&tensor) };
    refused(result, &["a tensor of f64", "one of f32"]);
    // SAFETY: as above.
    let result = unsafe { device.dlpack_rect::<f32, _>(&tensor) };
    refused(result, &["with 2 dimensions ", "the shape [6]"]);
    assert_eq!(drops.load(SeqCst), 0);
    drop(tensor);
    assert_eq!(drops.load(SeqCst), 1);

    // Rows without gaps and with them.
    for (width, expected) in [(3, &elements[..]), (2, &[0.0, 1.0, 3.0, 4.0])] {
        let shape = [2, width as i64];
        let (tensor, drops) = tensor_of_six::<DLManagedTensor, 2>(shape, [3, 1], |_| {});
        // SAFETY: nobody writes.
        let rect = unsafe { device.dlpack_rect::<f32, _>(&tensor)? };
        assert_eq!((rect.height(), rect.width(), rect.stride()), (2, width, 3));
        assert_eq!(rect.to_vec()?, expected);
        drop(tensor);
        assert_eq!(drops.load(SeqCst), 1);
    }
    // Rows that overlap, that go backwards, and elements that are apart.
    for strides in [[2, 1], [0, 1], [-3, 1], [3, 2], [1, 2]] {
        let (tensor, _) = tensor_of_six::<DLManagedTensor, 2>([2, 3], strides, |_| {});
        // SAFETY: what is refused is not used.
        let result = unsafe { device.dlpack_rect::<f32, _>(&tensor) };
        refused(result, &["elements row by row required", "[2, 3]"]);
    }
    Ok(())
}

/// Results go to tensors that stay their owner's, and gaps between rows are not written.
#[test]
fn tensors_are_places_for_results() -> Result<()> {
    let device = devices::cpu();
    let values = device.upload(&[7.0_f32, 5.0, 6.0])?;
    let (mut tensor, drops) = tensor_of_six::<DLManagedTensor, 1>([3], [1], |_| {});
    // SAFETY: nobody else uses the tensor.
    let place = unsafe { device.dlpack_view_mut::<f32, _>(&mut tensor)? };
    device.sort_request(&values).output_to(place).run()?;
    // SAFETY: as above.
    let sorted = unsafe { device.dlpack_view::<f32, _>(&tensor)? };
    assert_eq!(sorted.to_vec()?, [5.0, 6.0, 7.0]);
    drop(tensor);
    assert_eq!(drops.load(SeqCst), 1);

    let (mut tensor, drops) = tensor_of_six::<DLManagedTensor, 2>([2, 2], [3, 1], |_| {});
    let data = tensor.validate().expect("it is valid").data_ptr();
    // SAFETY: as above.
    let place = unsafe { device.dlpack_rect_mut::<f32, _>(&mut tensor)? };
    assert_eq!((place.height(), place.width(), place.stride()), (2, 2, 3));
    let matrix = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    device.gemm(&matrix, &matrix).output_to(place).run()?;
    device.synchronize()?;
    // SAFETY: the tensor has these elements, which nobody writes any more.
    let all = unsafe { *data.cast::<[f32; 6]>() };
    assert_eq!(all, [7.0, 10.0, 2.0, 15.0, 22.0, 5.0]);
    // SAFETY: what is refused is not used.
    let result = unsafe { device.dlpack_view_mut::<f32, _>(&mut tensor) };
    refused(result, &["dlpack_view_mut: ", "the shape [2, 2]"]);
    drop(tensor);
    assert_eq!(drops.load(SeqCst), 1);

    let (mut tensor, _) = tensor_of_six::<DLManagedTensorVersioned, 2>([2, 3], [3, 1], |_| {});
    // SAFETY: it is true that nobody writes.
    unsafe { *tensor.flags_mut() |= DlpackFlags::READ_ONLY };
    // SAFETY: what is refused is not used.
    let result = unsafe { device.dlpack_rect_mut::<f32, _>(&mut tensor) };
    refused(result, &["can be written", "for reading alone"]);
    Ok(())
}

#[test]
fn what_cannot_be_given_away_says_so() -> Result<()> {
    let device = devices::cpu();
    let values = device.upload(&[1_u32, 2])?;
    let captured = device.capture(|| values.into_dlpack::<DLManagedTensor>(&device).map(drop));
    let error = captured.expect_err("it cannot be captured");
    assert!(error.to_string().contains("`into_dlpack`"), "{error}");
    for other in devices::Executor::Cuda.devices() {
        let values = device.upload(&[1_u32, 2])?;
        let result = values.into_dlpack::<DLManagedTensor>(other).map(drop);
        let error = result.expect_err("another device");
        assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices {
    use warpwright_tests::faults::{self, Driver};

    use super::*;

    const DONE: &str = "all calls are as stated";
    const ORDER: [&str; 4] = [
        "cuEventCreate",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuEventDestroy_v2",
    ];
    const WAIT: &str = "cuStreamSynchronize";
    const WAIT_C: &std::ffi::CStr = c"cuStreamSynchronize";
    const FREE: &str = "cuMemFreeAsync";

    #[test]
    fn child() {
        let Some(behind) = faults::is_child() else {
            return;
        };
        let driver = faults::driver(behind).expect("a driver");
        driver.devices(2, 1 << 30);
        calls(&driver).expect("no call fails");
        assert_eq!(driver.wrong(), "");
        println!("{DONE}");
    }

    #[test]
    fn calls_are_as_stated() {
        faults::run_child("on_mock_devices::child", DONE);
    }

    /// Streams are ordered by events, and nobody waits, unless that fails.
    fn calls(driver: &Driver) -> Result<()> {
        let device = Device::cuda(0)?;
        let consumer = device.new_stream()?;
        let memory = driver.live()[3];
        let given = || device.upload(&[1_u32, 2, 3])?.into_dlpack(&consumer);
        let values = device.upload(&[1_u32, 2, 3])?;
        let (tensor, made) = driver.names_of(|| values.into_dlpack(&consumer));
        let tensor: versioned::Dlpack = tensor?;
        assert_eq!(made, ORDER);
        assert_eq!(driver.live()[3], memory + 1);
        // SAFETY: the work is in order, and nobody else uses the memory.
        let (vector, made) =
            driver.names_of(|| unsafe { consumer.dlpack_vector::<u32, _>(tensor) });
        assert_eq!(made, ["cuPointerGetAttributes"]);
        let ((), made) = driver.names_of(|| drop(vector));
        assert_eq!(made, [&[WAIT], &ORDER[..], &[FREE]].concat());
        assert_eq!(driver.live()[3], memory);
        // A tensor that the consumer drops.
        let tensor: legacy::Dlpack = given()?;
        let ((), made) = driver.names_of(|| drop(tensor));
        assert_eq!(made, [&ORDER[..], &[FREE]].concat());
        // One stream is in order with itself.
        let values = device.upload(&[1_u32])?;
        let (tensor, made) = driver.names_of(|| values.into_dlpack::<DLManagedTensor>(&device));
        assert_eq!(made, [""; 0]);
        assert_eq!(driver.names_of(|| drop(tensor)).1, [FREE]);

        // The streams cannot be ordered.
        let tensor: legacy::Dlpack = given()?;
        driver.answer(c"cuEventRecord", 999);
        let ((), made) = driver.names_of(|| drop(tensor));
        assert!(
            made.contains(&WAIT.to_owned()) && made.contains(&FREE.to_owned()),
            "{made:?}"
        );
        let error = given().map(|_: legacy::Dlpack| ()).expect_err("no order");
        assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
        driver.answer(c"cuEventRecord", 0);
        assert_eq!(driver.live()[3], memory);
        // After a fault nothing runs any more.
        let tensor: legacy::Dlpack = given()?;
        driver.answer(c"cuEventRecord", 719);
        driver.answer(WAIT_C, 719);
        drop(tensor);
        assert_eq!(driver.live()[3], memory);
        // The consumer's work may still run.
        driver.answer(c"cuEventRecord", 0);
        driver.answer(WAIT_C, 0);
        let tensor: legacy::Dlpack = given()?;
        driver.answer(c"cuEventRecord", 999);
        driver.answer(WAIT_C, 999);
        drop(tensor);
        driver.answer(c"cuEventRecord", 0);
        driver.answer(WAIT_C, 0);
        assert_eq!(driver.live()[3], memory + 1, "the memory is left as it is");

        // Another device.
        let second = Device::cuda(1)?;
        let error = device
            .upload(&[1_u32])?
            .into_dlpack::<DLManagedTensor>(&second);
        let error = error.map(drop).expect_err("another device");
        assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
        let tensor: legacy::Dlpack = second.upload(&[1_u32])?.into_dlpack(&second)?;
        // SAFETY: what is refused is not used.
        let result = unsafe { device.dlpack_vector::<u32, _>(tensor) };
        refused(result, &["on cuda:0", "on cuda:1"]);
        // A tensor that lies about its device.
        let (tensor, drops) = tensor_of_six::<DLManagedTensor, 1>([6], [1], |tensor| {
            tensor.device = DLDevice::cuda(0);
        });
        // SAFETY: as above.
        let result = unsafe { device.dlpack_vector::<f32, _>(tensor) };
        refused(result, &["memory of cuda:0"]);
        assert_eq!(drops.load(SeqCst), 1);
        Ok(())
    }
}
