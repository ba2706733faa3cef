//! The library's operations on memory that it does not own, and on a stream that it does not own.
//!
//! Another library has an array and a stream: here they are a second handle's on a CUDA device, and a `Vec` on the CPU. The
//! example sums the array, sorts it where it is, and leaves a sum and a histogram on the device.
//!
//! ```console
//! $ cargo run --release -p warpwright --example foreign_memory
//! ```

use std::any::Any;

use warpwright::{Device, DeviceKind, Result};

/// An array of another library: its address, its length, and the stream that its work is on.
struct Theirs {
    address: u64,
    len: usize,
    device: Device,
    /// What owns the array.
    _memory: Box<dyn Any>,
}

impl Theirs {
    fn new(values: &[u32]) -> Result<Self> {
        let device = Device::auto()?;
        let (address, memory): (u64, Box<dyn Any>) = if device.kind() == DeviceKind::Cpu {
            let mut values = values.to_vec();
            let address = values.as_mut_ptr().expose_provenance() as u64;
            (address, Box::new(values))
        } else {
            let mut values = device.upload(values)?;
            (values.view_mut().device_pointer(), Box::new(values))
        };
        Ok(Self {
            address,
            len: values.len(),
            device,
            _memory: memory,
        })
    }
}

fn main() -> Result<()> {
    let values: Vec<u32> = (0..10_000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 22)
        .collect();
    let theirs = Theirs::new(&values)?;
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);

    // A handle on their stream: its work is in order with theirs, and nobody waits.
    let device = match theirs.device.cuda_stream() {
        // SAFETY: the stream lives as long as `theirs`, which outlives this handle and what is made with it.
        Some(stream) => unsafe { device.on_cuda_stream(stream)? },
        None => device,
    };
    let mut total = device.zeros::<u64>(1)?;
    let mut counts = device.zeros::<u64>(1024)?;
    {
        // SAFETY: the elements live as long as `theirs`, nobody else uses them meanwhile, and the work that wrote them is on
        // the handle's stream.
        let mut view = unsafe { device.foreign_view_mut::<u32>(theirs.address, theirs.len)? };
        device.reduce(view.as_view()).output_to(&mut total).sum()?;
        let histogram = device.histogram_request(view.as_view(), 1024);
        histogram.output_to(&mut counts).output_on_device().run()?;
        device.sort_in_place(view.slice_mut(..)?)?;
    }

    // These copies to the host are the first calls that wait.
    let (total, counts) = (total.to_vec()?[0], counts.to_vec()?);
    // SAFETY: as above; nobody writes to the elements any more.
    let sorted = unsafe { device.foreign_view::<u32>(theirs.address, theirs.len)? }.to_vec()?;
    assert_eq!(
        total,
        values.iter().map(|value| u64::from(*value)).sum::<u64>()
    );
    assert_eq!(counts.iter().sum::<u64>(), values.len() as u64);
    assert!(sorted.is_sorted(), "the array is sorted where it is");
    println!(
        "foreign memory: {} elements, their sum is {total}",
        theirs.len
    );
    Ok(())
}
