//! A pipeline of prepared operations, captured once into a graph, launched many times, and updated to another input.
//!
//! Each launch takes one call of the driver, however many kernels there are. The host waits where it reads the results.
//!
//! ```console
//! $ cargo run --release -p warpwright --example graph [LAUNCHES]
//! ```

use std::time::Instant;

use warpwright::{
    Device, DeviceKind, Result,
    ops::{map::Sqrt, scan::Operator},
};

fn main() -> Result<()> {
    let device = Device::auto()?;
    let launches = match std::env::args().nth(1).map(|text| text.parse::<u32>()) {
        Some(Ok(launches)) => launches,
        Some(Err(error)) => {
            eprintln!("graph: a number of launches required: {error}");
            std::process::exit(2);
        }
        None if device.kind() == DeviceKind::Cpu => 10,
        None => 10_000,
    };
    println!("device: {} ({})", device.kind(), device.info().name);

    // Roots, their running sums, and the sum of those: three operations, each on the result of the one before.
    let values: Vec<f32> = (0..1000).map(|i| (i % 100) as f32).collect();
    let input = device.upload(&values)?;
    let mut roots = device.zeros::<f32>(values.len())?;
    let address = roots.view_mut().device_pointer();
    // SAFETY: the array lives until the end, and what reads this view comes after what writes the array.
    let between = unsafe { device.foreign_view::<f32>(address, values.len())? };
    let mut map = device
        .map_request(&input, Sqrt)
        .output_to(&mut roots)
        .prepare()?;
    let mut scan = device.scan_request(between, Operator::Sum).prepare()?;
    let mut sum = device.reduce(between).output_on_device().prepare_sum()?;
    let mut all = || {
        map.enqueue()?;
        scan.enqueue()?;
        sum.enqueue()
    };
    all()?;
    device.synchronize()?;

    let start = Instant::now();
    for _ in 0..launches {
        all()?;
    }
    device.synchronize()?;
    let apart = start.elapsed();

    let mut graph = device.capture(&mut all)?;
    let start = Instant::now();
    for _ in 0..launches {
        // SAFETY: the arrays and the requests are still there, and nothing else uses them.
        unsafe { graph.launch()? };
    }
    device.synchronize()?;
    let together = start.elapsed();

    let wanted: f32 = values.iter().map(|value| value.sqrt()).sum();
    let found = sum.output()?.to_vec()?[0];
    assert!(
        (found - wanted).abs() < 1e-3 * wanted,
        "{found}, not {wanted}"
    );
    for (name, time) in [("queued apart ", apart), ("as a graph   ", together)] {
        println!(
            "{name} {:8.2} us each",
            time.as_secs_f64() * 1e6 / f64::from(launches)
        );
    }
    println!("graph: {launches} launches, the sum is {found}");

    // The same operations on another array: the graph is updated where it is, and not made anew.
    let squares: Vec<f32> = values.iter().map(|value| value * value).collect();
    let squares = device.upload(&squares)?;
    drop(map);
    let mut map = device
        .map_request(&squares, Sqrt)
        .output_to(&mut roots)
        .prepare()?;
    graph.update(|| {
        map.enqueue()?;
        scan.enqueue()?;
        sum.enqueue()
    })?;
    // SAFETY: as above, with the new array and request.
    unsafe { graph.launch()? };
    println!("updated: the sum is {}", sum.output()?.to_vec()?[0]);
    Ok(())
}
