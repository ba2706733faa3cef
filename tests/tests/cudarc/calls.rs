//! The driver calls of operations on arrays of `cudarc`: nothing is copied, and nobody waits.

use std::error::Error;

use cudarc::driver::{CudaContext, DevicePtr};
use warpwright::{Device, MatrixRect, MatrixRectMut};
use warpwright_tests::faults::{Behind, Driver};

/// The side of the matrices.
const SIDE: usize = 512;

/// Runs an operation twice, so that its kernels are loaded, and returns the calls of the second time, after a title.
fn shown(
    driver: &Driver,
    title: &str,
    mut work: impl FnMut() -> warpwright::Result<()>,
) -> Result<Vec<String>, Box<dyn Error>> {
    work()?;
    let (done, calls) = driver.calls_of(work);
    done?;
    println!("{title}");
    for call in &calls {
        println!("    {call}");
        for forbidden in ["Synchronize", "cuMemcpy", "cuStreamQuery", "cuEventQuery"] {
            assert!(!call.contains(forbidden), "{title}: {calls:#?}");
        }
    }
    Ok(calls)
}

/// Sums, sorts and multiplies arrays of `cudarc` in place, on a stream of `cudarc`.
pub fn in_place(driver: &Driver, behind: Behind) -> Result<(), Box<dyn Error>> {
    let device = Device::cuda(0)?;
    let stream = CudaContext::new(0)?.new_stream()?;
    let values: Vec<u32> = (0..1_u32 << 20)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let [a, b] =
        [3, 5].map(|step| Vec::from_iter((0..SIDE * SIDE).map(|i| (i * step % 17) as f32)));
    let mut numbers = stream.clone_htod(&values)?;
    let mut total = stream.alloc_zeros::<u64>(1)?;
    let matrices = [stream.clone_htod(&a)?, stream.clone_htod(&b)?];
    let mut product = stream.alloc_zeros::<f32>(SIDE * SIDE)?;
    let address = numbers.device_ptr(&stream).0;
    let name = device.info().name.clone();
    println!(
        "device: {name}; the stream of cudarc: {:p}",
        stream.cu_stream()
    );

    let places = [address, total.device_ptr(&stream).0].map(|place| format!("{place:#x}"));
    let [from, to] = &places;
    let title = format!("sum of {} u32 at {from} to {to}", values.len());
    let mut launches = shown(driver, &title, || {
        let lent = device.cudarc_view(&numbers)?;
        let mut place = device.cudarc_view_mut(&mut total)?;
        // The view's handle is that of the stream of `cudarc`.
        let request = lent.view().device().reduce(lent.view());
        request.output_to(place.view_mut()).sum().map(drop)
    })?;
    let title = format!("sort of the u32 at {from} in their place");
    launches.extend(shown(driver, &title, || {
        let mut lent = device.cudarc_view_mut(&mut numbers)?;
        let theirs = lent.view().device().clone();
        theirs.sort_in_place(lent.view_mut())
    })?);
    let arrays = [&matrices[0], &matrices[1], &product];
    let of_product = arrays.map(|slice| format!("{:#x}", slice.device_ptr(&stream).0));
    let [first, second, third] = &of_product;
    let title = format!("product of {SIDE} x {SIDE} f32 at {first} and {second} to {third}");
    launches.extend(shown(driver, &title, || {
        let [x, y] = [0, 1].map(|i| device.cudarc_view(&matrices[i]));
        let (x, y) = (x?, y?);
        let mut place = device.cudarc_view_mut(&mut product)?;
        let to = MatrixRectMut::from_vector(place.view_mut(), SIDE, SIDE, SIDE)?;
        let rect = |elements| MatrixRect::from_vector(elements, SIDE, SIDE, SIDE);
        let request = x.view().device().gemm(rect(x.view())?, rect(y.view())?);
        request.output_to(to).run().map(drop)
    })?);
    let title = format!("sum of the u32 at {from} to {to} by a handle of ours, in order by events");
    shown(driver, &title, || {
        let lent = device.cudarc_view(&numbers)?;
        let mut place = device.cudarc_view_mut(&mut total)?;
        let request = device.reduce(lent.view()).output_to(place.view_mut());
        request.sum().map(drop)
    })?;
    assert_eq!(numbers.device_ptr(&stream).0, address);

    if matches!(behind, Behind::RealDriver) {
        // The kernels were given these addresses and this stream, and no others of arrays.
        for place in places.iter().chain(&of_product) {
            let is_given = |call: &String| call.contains("Launch") && call.contains(place.as_str());
            assert!(launches.iter().any(is_given), "{place}: {launches:#?}");
        }
        let ours = format!("{:p}", stream.cu_stream());
        for launch in launches.iter().filter(|call| call.contains("Launch")) {
            assert!(launch.contains(&ours), "on the stream of cudarc: {launch}");
        }
        let sum = values.iter().map(|value| u64::from(*value)).sum::<u64>();
        assert_eq!(stream.clone_dtoh(&total)?, [sum]);
        let mut sorted = values;
        sorted.sort_unstable();
        assert!(stream.clone_dtoh(&numbers)? == sorted);
        // Whole numbers below 2^24, so that the sums are exact in any order.
        let given = stream.clone_dtoh(&product)?;
        for (row, column) in [(0, 0), (1, 2), (SIDE - 1, SIDE - 1), (100, 400)] {
            let terms = (0..SIDE).map(|k| a[row * SIDE + k] * b[k * SIDE + column]);
            assert_eq!(given[row * SIDE + column], terms.sum::<f32>());
        }
    }
    Ok(())
}
