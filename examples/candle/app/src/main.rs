//! Computes on tensors of candle with warpwright and with a kernel of our own, and checks the results: on the GPU, on candle's
//! stream, if the feature `cuda` is on, else on the CPU.

mod ops;
#[cfg(test)]
mod tests;

use std::{error::Error, ffi::c_void};

use candle_core::{D, Storage, Tensor, Var};
use ops::{Sort, SquaredRelu};
use warpwright::{Device, MatrixView, VectorView};

const ROWS: usize = 64;
const COLUMNS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let candle = match candle_core::utils::cuda_is_available() {
        true => candle_core::Device::new_cuda_with_stream(0)?,
        false => candle_core::Device::Cpu,
    };
    // On CUDA the handle's work is queued on candle's stream.
    let device = Device::of_candle(&candle)?;
    println!("device: {} ({})", device.kind(), device.info().name);

    let numbers = (0..(ROWS * COLUMNS) as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20);
    let x = Tensor::from_iter(numbers.map(|number| number as f32), &candle)?;
    let x = ((x.reshape((ROWS, COLUMNS))? * 0.5)? - 1024.0)?; // candle's work, after which ours comes
    view(&device, &x)?;
    sums(&device, &x)?;
    sort(&device, &x)?;
    squared_relu(&device, &x)
}

/// The elements are used where candle has them.
fn view(device: &Device, x: &Tensor) -> Result<(), Box<dyn Error>> {
    let (lent, stream) = device.with_candle(x, |values: VectorView<f32>| {
        let stream = values.device().cuda_stream();
        Ok((values.device_pointer(), stream))
    })?;
    let (theirs, their_stream) = (address(x)?, stream_of(x.device()));
    eprintln!("candle: {theirs:#x}, stream {their_stream:?}");
    eprintln!("view:   {lent:#x}, stream {stream:?}");
    assert_eq!((lent, stream), (theirs, their_stream));
    println!("view: {} elements, where candle has them", x.elem_count());
    Ok(())
}

/// An operation of the library on a tensor, and a tensor of its result.
fn sums(device: &Device, x: &Tensor) -> Result<(), Box<dyn Error>> {
    let sums = device.with_candle(x, |values: VectorView<f32>| {
        device.row_sums(MatrixView::from_vector(values, ROWS, COLUMNS)?)
    })?;
    let ours = sums.view().device_pointer();
    let sums = sums.into_candle(x.device(), ROWS)?;
    eprintln!("sums:   {ours:#x}, as a tensor {:#x}", address(&sums)?);
    if !x.device().is_cpu() {
        assert_eq!(ours, address(&sums)?, "the sums were copied");
    }
    // All elements are multiples of a half and none is large, so every order of additions is exact.
    let sums = sums.to_vec1::<f32>()?;
    assert_eq!(sums, x.sum(D::Minus1)?.to_vec1::<f32>()?);
    println!(
        "sums of rows: {ROWS} as candle's, the last is {}",
        sums[ROWS - 1]
    );
    Ok(())
}

/// An operation of the library as one of candle.
fn sort(device: &Device, x: &Tensor) -> Result<(), Box<dyn Error>> {
    let sorted = elements(&x.apply_op1_no_bwd(&Sort(device.clone()))?)?;
    let mut plain = elements(x)?;
    plain.sort_by(f32::total_cmp);
    assert_eq!(sorted, plain, "another order than plain Rust's");
    let (count, last) = (sorted.len(), sorted[sorted.len() - 1]);
    println!("sort: {count} elements as in plain Rust, the last is {last}");
    Ok(())
}

/// A kernel of our own as an operation of candle, with its gradient.
fn squared_relu(device: &Device, x: &Tensor) -> Result<(), Box<dyn Error>> {
    let x = Var::from_tensor(x)?;
    let y = x.apply_op1(SquaredRelu::new(device)?)?;
    let gradients = y.sum_all()?.backward()?;
    let gradient = elements(gradients.get(&x).ok_or("no gradient")?)?;
    let y = elements(&y)?;
    assert_eq!(y, elements(&x.relu()?.sqr()?)?, "other squares");
    let (count, last) = (y.len(), y[y.len() - 1]);
    println!("squared ReLU: {count} elements as candle's, the last is {last}");
    let (count, last) = (gradient.len(), gradient[gradient.len() - 1]);
    println!("its gradient: {count} elements, the last is {last}");
    Ok(())
}

fn elements(tensor: &Tensor) -> candle_core::Result<Vec<f32>> {
    tensor.flatten_all()?.to_vec1()
}

/// Returns where a tensor of `f32` begins.
fn address(tensor: &Tensor) -> candle_core::Result<u64> {
    let (storage, layout) = tensor.storage_and_layout();
    let start = match &*storage {
        Storage::Cpu(storage) => storage.as_slice::<f32>()?.as_ptr().addr() as u64,
        #[cfg(feature = "cuda")]
        Storage::Cuda(storage) => {
            use candle_core::cuda_backend::cudarc::driver::DevicePtr;
            let stream = storage.device.cuda_stream();
            storage.as_cuda_slice::<f32>()?.device_ptr(&stream).0
        }
        _ => 0,
    };
    Ok(start + 4 * layout.start_offset() as u64)
}

/// Returns the stream of a CUDA device.
fn stream_of(device: &candle_core::Device) -> Option<*mut c_void> {
    match device {
        #[cfg(feature = "cuda")]
        candle_core::Device::Cuda(device) => Some(device.cuda_stream().cu_stream().cast()),
        _ => None,
    }
}
