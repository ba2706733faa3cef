// What `warpwright` and `cudarc` do in one program: they have one context of a device, and each reads what the other wrote.
// Included by the test and by the program that it builds, which links the driver.

use cudarc::driver::{CudaContext, DevicePtr, result};
use warpwright::Device;

/// What [`share`] prints.
const SHARED: &str = "warpwright and cudarc share the context";

/// Panics where something is not as it should be. `kernels`: whether the device runs kernels.
fn share(kernels: bool) -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::cuda(0)?;
    let ours: Vec<u32> = (0..1000).collect();
    let mut vector = device.upload(&ours)?;
    device.synchronize()?;
    let current = result::ctx::get_current()?;
    let theirs = CudaContext::new(0)?;
    assert_eq!(current, Some(theirs.cu_ctx()), "one context");

    let mut read = vec![0_u32; ours.len()];
    let address = vector.view_mut().device_pointer();
    // SAFETY: so many elements are there, whose upload is done.
    unsafe { result::memcpy_dtoh_sync(&mut read, address)? };
    assert_eq!(read, ours, "cudarc reads what warpwright wrote");

    let stream = theirs.new_stream()?;
    let values: Vec<u32> = ours.iter().map(|value| value * 3 + 1).collect();
    let slice = stream.clone_htod(&values)?;
    let bytes = size_of_val(values.as_slice());
    {
        let (from, _in_use) = slice.device_ptr(&stream);
        // SAFETY: both have so many bytes; nobody else uses them until the stream was waited for.
        unsafe { result::memcpy_dtod_async(address, from, bytes, stream.cu_stream())? };
    }
    stream.synchronize()?;
    assert_eq!(vector.to_vec()?, values, "warpwright reads what cudarc wrote");
    if kernels {
        let sum: u64 = values.iter().map(|value| u64::from(*value)).sum();
        assert_eq!(device.sum(&vector)?, sum, "so do its kernels");
    }

    // Each goes on when the other is gone.
    drop((slice, stream, theirs));
    assert_eq!(vector.to_vec()?, values);
    drop((vector, device));
    let theirs = CudaContext::new(0)?;
    let stream = theirs.new_stream()?;
    let slice = stream.clone_htod(&values)?;
    assert_eq!(stream.clone_dtoh(&slice)?, values);
    println!("{SHARED}");
    Ok(())
}
