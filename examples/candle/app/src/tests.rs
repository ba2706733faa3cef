//! What tensors are lent and what vectors are given, on the CPU and on the GPU.

use candle_core::{DType, Device as Candle, Tensor};
use warpwright::{CandleElement, CandleMemory, Device, Error, VectorView};

use super::{Sort, SquaredRelu, address};

/// The CPU, and a CUDA device with a stream of its own and with the stream of each thread.
fn devices() -> Vec<(Candle, Device)> {
    let mut all = vec![Candle::Cpu];
    if candle_core::utils::cuda_is_available() {
        all.push(Candle::new_cuda_with_stream(0).unwrap());
        all.push(Candle::new_cuda(0).unwrap());
    }
    all.into_iter()
        .map(|candle| (candle.clone(), Device::of_candle(&candle).unwrap()))
        .collect()
}

fn read<T: CandleElement>(device: &Device, tensor: &impl CandleMemory) -> Vec<T> {
    device
        .with_candle(tensor, |values: VectorView<T>| values.to_vec())
        .unwrap()
}

#[test]
fn tensors_are_lent_where_they_are() {
    for (candle, device) in devices() {
        let tensor = Tensor::arange(0_f32, 12.0, &candle).unwrap();
        let tensor = (tensor + 1.0).unwrap().reshape((2, 3, 2)).unwrap();
        for part in [tensor.clone(), tensor.get(1).unwrap()] {
            let lent =
                device.with_candle(&part, |values: VectorView<f32>| Ok(values.device_pointer()));
            assert_eq!(lent.unwrap(), address(&part).unwrap());
            let theirs = part.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_eq!(read::<f32>(&device, &part), theirs);
            let other = Device::cpu();
            let copied = other.upload_candle::<f32>(&part).unwrap();
            assert_eq!(copied.to_vec().unwrap(), theirs);
            let copied = device.upload_candle::<f32>(&part).unwrap();
            assert_eq!(copied.to_vec().unwrap(), theirs);
        }
        let none = Tensor::zeros((0, 3), DType::U8, &candle).unwrap();
        assert_eq!(read::<u8>(&device, &none), [0_u8; 0]);
    }
}

/// All types of elements come and go.
#[test]
fn vectors_become_tensors() {
    fn around<T: CandleElement + std::fmt::Debug>(candle: &Candle, device: &Device) {
        let numbers: Vec<T> = (0..6).map(|i| T::from_f64(f64::from(i))).collect();
        let vector = device.upload(&numbers).unwrap();
        let tensor = vector.into_candle(candle, (2, 3)).unwrap();
        assert_eq!((tensor.dims(), tensor.dtype()), (&[2, 3][..], T::DTYPE));
        assert!(tensor.device().same_device(candle));
        assert_eq!(read::<T>(device, &tensor), numbers);
        let matrix = device.upload_matrix(&numbers, 3, 2).unwrap();
        let tensor = matrix.into_candle(candle).unwrap();
        assert_eq!(tensor.dims(), [3, 2]);
        assert_eq!(read::<T>(device, &tensor), numbers);
        // From the CPU to candle's device, and memory that is not the library's own.
        let tensor = Device::cpu()
            .upload(&numbers)
            .unwrap()
            .into_candle(candle, 6);
        assert_eq!(read::<T>(device, &tensor.unwrap()), numbers);
    }
    for (candle, device) in devices() {
        around::<u8>(&candle, &device);
        around::<u32>(&candle, &device);
        around::<i16>(&candle, &device);
        around::<i32>(&candle, &device);
        around::<i64>(&candle, &device);
        around::<f32>(&candle, &device);
        around::<f64>(&candle, &device);
        let none = device.upload(&[0.0_f32; 0]).unwrap();
        let none = none.into_candle(&candle, (0, 4)).unwrap();
        assert_eq!((none.dims(), none.elem_count()), (&[0, 4][..], 0));
        let vector = device.upload(&[1.0_f32, 2.0]).unwrap();
        let error = vector.into_candle(&candle, (2, 2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "into_candle: 4 elements required, 2 given"
        );
    }
}

/// Many operations in turn, candle's and ours, without a wait between them: each sees what the one before has written.
#[test]
fn work_is_in_order() {
    for (candle, device) in devices() {
        let n = if candle.is_cpu() { 1 << 10 } else { 1 << 22 };
        let mut tensor = Tensor::arange(0_u32, n, &candle).unwrap();
        for _ in 0..8 {
            let turned = tensor.to_dtype(DType::F32).unwrap().neg().unwrap();
            let sorted = device.with_candle(&turned, |values: VectorView<f32>| {
                values.device().sort(values)
            });
            drop(turned);
            let sorted = sorted.unwrap().into_candle(&candle, n as usize).unwrap();
            let again = device.with_candle(&sorted, |values: VectorView<f32>| device.sort(values));
            drop(sorted);
            let again = again.unwrap().into_candle(&candle, n as usize).unwrap();
            tensor = (again + f64::from(n - 1))
                .unwrap()
                .to_dtype(DType::U32)
                .unwrap();
        }
        let all: Vec<u32> = (0..n).collect();
        assert!(tensor.to_vec1::<u32>().unwrap() == all, "{candle:?}");
    }
}

#[test]
fn operations_of_candle_are_computed_here() {
    for (candle, device) in devices() {
        let x = Tensor::new(&[[3.0_f32, -1.0], [0.5, 2.0]], &candle).unwrap();
        let sorted = x.apply_op1_no_bwd(&Sort(device.clone())).unwrap();
        assert_eq!(sorted.to_vec2::<f32>().unwrap(), [[-1.0, 0.5], [2.0, 3.0]]);
        let y = x.apply_op1(SquaredRelu::new(&device).unwrap()).unwrap();
        assert_eq!(y.to_vec2::<f32>().unwrap(), [[9.0, 0.0], [0.25, 4.0]]);
        let error = x.t().unwrap().apply_op1_no_bwd(&Sort(device)).unwrap_err();
        assert!(error.to_string().contains("without gaps"), "{error}");
    }
}

#[test]
fn what_cannot_be_lent_is_refused() {
    fn refused(device: &Device, tensor: &Tensor) -> String {
        let lent = device.with_candle(tensor, |_: VectorView<f32>| Ok(()));
        let error = lent.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        error.to_string()
    }
    for (candle, device) in devices() {
        let tensor = Tensor::arange(0_f32, 6.0, &candle).unwrap();
        let turned = tensor.reshape((2, 3)).unwrap().t().unwrap();
        assert_eq!(
            refused(&device, &turned),
            "with_candle: elements row by row without gaps required, \
             a tensor of the shape [3, 2] with the strides [1, 3] given"
        );
        let numbers = tensor.to_dtype(DType::U32).unwrap();
        assert_eq!(
            refused(&device, &numbers),
            "with_candle: a tensor of f32 required, one of u32 given"
        );
        if !candle.is_cpu() {
            let here = tensor.to_device(&Candle::Cpu).unwrap();
            assert_eq!(
                refused(&device, &here),
                "with_candle: a tensor on cuda:0 required, one on cpu given"
            );
            assert_eq!(
                refused(&Device::cpu(), &tensor),
                "with_candle: a tensor on cpu required, one on cuda:0 given"
            );
        }
        let failed = device.with_candle(&tensor, |values: VectorView<f32>| {
            device.max(values.slice(7..)?).map(drop)
        });
        assert!(failed.is_err(), "an error of the work is passed on");
    }
    // A layout that is another storage's.
    let (small, large) = (
        Tensor::zeros(2, DType::F32, &Candle::Cpu).unwrap(),
        Tensor::zeros(5, DType::F32, &Candle::Cpu).unwrap(),
    );
    let (storage, _) = small.storage_and_layout();
    let candle_core::Storage::Cpu(storage) = &*storage else {
        panic!("another device");
    };
    let lent = Device::cpu().with_candle(&(storage, large.layout()), |_: VectorView<f32>| Ok(()));
    assert_eq!(
        lent.unwrap_err().to_string(),
        "with_candle: a layout within the 2 elements of the storage required, 0..5 given"
    );
}
