//! Overlaps copies with each other and with kernels, by pinned host memory and several streams.
//!
//! The example computes the sine of many numbers in parts: each part is uploaded, computed and downloaded. With one stream
//! each step waits for the previous one. With three streams the upload of a part, the kernel of the part before it and the
//! download of the part before that run at the same time, because a GPU has a separate engine for each.
//!
//! ```console
//! $ cargo run --release -p warpwright --example overlap [ELEMENTS]
//! ```

use std::time::{Duration, Instant};

use warpwright::{Device, DeviceKind, PinnedVec, Result, Vector, ops::map::Sin};

/// The number of parts.
const PARTS: usize = 16;

fn main() -> Result<()> {
    let device = Device::auto()?;
    let elements = match std::env::args()
        .nth(1)
        .map(|argument| argument.parse::<usize>())
    {
        Some(Ok(elements)) => elements,
        Some(Err(error)) => {
            eprintln!("overlap: a number of elements required: {error}");
            std::process::exit(2);
        }
        None if device.kind() == DeviceKind::Cpu => 1 << 14,
        None => 1 << 26,
    };
    let part = elements.div_ceil(PARTS);
    println!("device: {} ({})", device.kind(), device.info().name);
    println!(
        "sin of {} f32 in {PARTS} parts, from pinned memory and back",
        part * PARTS
    );

    let mut inputs = Vec::new();
    for index in 0..PARTS {
        let mut pinned = device.pinned::<f32>(part)?;
        for (i, value) in pinned.as_mut_slice()?.iter_mut().enumerate() {
            *value = (index * part + i) as f32 / 1000.0;
        }
        inputs.push(pinned);
    }
    let (alone, one) = run(&device, 1, &mut inputs)?;
    let (together, three) = run(&device, 3, &mut inputs)?;
    assert!(one == three, "the results differ");
    let expected = |i: usize| (i as f32 / 1000.0).sin();
    let off = |i: usize| (three[i] - expected(i)).abs();
    assert!(
        (0..three.len().min(100_000)).all(|i| off(i) < 1e-6),
        "a result is wrong"
    );

    let bytes = (2 * part * PARTS * size_of::<f32>()) as f64;
    for (streams, time) in [("1 stream ", alone), ("3 streams", together)] {
        let rate = bytes / time.as_secs_f64() / 1e9;
        println!(
            "{streams}  {:8.3} ms  {rate:6.1} GB/s over the bus",
            time.as_secs_f64() * 1e3
        );
    }
    println!(
        "overlap: {:.2} times as fast",
        alone.as_secs_f64() / together.as_secs_f64()
    );
    if device.kind() == DeviceKind::Cpu {
        eprintln!("(the CPU executor does one thing after the other: there is nothing to overlap)");
    }
    Ok(())
}

/// Computes all parts with `streams` streams. Returns the best time of several runs, and the results.
fn run(
    device: &Device,
    streams: usize,
    inputs: &mut [PinnedVec<f32>],
) -> Result<(Duration, Vec<f32>)> {
    let part = inputs[0].len();
    let streams = (0..streams)
        .map(|_| device.new_stream())
        .collect::<Result<Vec<Device>>>()?;
    let mut buffers = streams
        .iter()
        .map(|stream| stream.zeros(part))
        .collect::<Result<Vec<Vector<f32>>>>()?;
    let mut outputs = inputs
        .iter()
        .map(|_| device.pinned::<f32>(part))
        .collect::<Result<Vec<_>>>()?;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for (index, (input, output)) in inputs.iter_mut().zip(&mut outputs).enumerate() {
            let (stream, buffer) = (&streams[index % streams.len()], index % streams.len());
            buffers[buffer].upload_pinned(input)?;
            stream.map(&buffers[buffer], Sin)?.download_pinned(output)?;
        }
        for stream in &streams {
            stream.synchronize()?;
        }
        best = best.min(start.elapsed());
    }
    let mut results = Vec::new();
    for output in &mut outputs {
        results.extend_from_slice(output.as_mut_slice()?);
    }
    Ok((best, results))
}
