//! How fast every distribution comes, by both generators and every variant. Prints, and compares nothing.

use std::time::Duration;

use warpwright::{Device, DeviceKind, Element, Generator, RandomGenerator, Result, VectorViewMut};
use warpwright_tests::{cases, devices};

use super::GENERATORS;

/// Elements: 1 GiB of `f32` on a GPU.
fn elements(device: &Device) -> usize {
    match device.kind() {
        DeviceKind::Cpu => 1 << 18,
        _ => 1 << 28,
    }
}

type Fill<T> = fn(&mut RandomGenerator, VectorViewMut<'_, T>) -> Result<()>;

fn rate<T: Element>(device: &Device, kind: Generator, name: &str, offset: u64, fill: Fill<T>) {
    let len = elements(device);
    for variant in cases::variants("random") {
        let random = device.generator(kind, 1).unwrap().offset(offset);
        let mut random = random.variant(variant.name);
        let mut output = device.zeros::<T>(len).unwrap();
        // The first time makes the states, and a GPU compiles its kernels.
        fill(&mut random, output.view_mut()).unwrap();
        let samples = if device.kind() == DeviceKind::Cpu {
            1
        } else {
            15
        };
        let sample = |_| {
            device
                .time(|| fill(&mut random, output.view_mut()))
                .unwrap()
                .1
        };
        let mut times: Vec<Duration> = (0..samples).map(sample).collect();
        times.sort();
        let seconds = times[samples / 2].as_secs_f64();
        println!(
            "{:8} {:8} {:24} {:12} {:9.3} ms {:9.2} G numbers/s {:9.1} GB/s",
            device.kind().to_string(),
            format!("{kind:?}"),
            name,
            variant.name,
            seconds * 1e3,
            len as f64 / seconds / 1e9,
            (len * size_of::<T>()) as f64 / seconds / 1e9
        );
    }
}

#[test]
#[ignore = "prints"]
fn print_the_rates() {
    for device in devices::all() {
        let mut output = device.zeros::<u32>(elements(device)).unwrap();
        let clear = || device.time(|| output.view_mut().clear()).unwrap().1;
        let fastest = std::iter::repeat_with(clear).take(10).min().unwrap();
        println!(
            "{} clears memory at {:.1} GB/s",
            device.kind(),
            (elements(device) * 4) as f64 / fastest.as_secs_f64() / 1e9
        );
        for kind in GENERATORS {
            rate::<u32>(device, kind, "bits", 0, |r, o| r.fill_bits(o));
            rate::<f32>(device, kind, "uniform f32", 0, |r, o| r.fill_uniform(o));
            rate::<f32>(device, kind, "uniform f32, not aligned", 1, |r, o| {
                r.fill_uniform(o)
            });
            rate::<f32>(device, kind, "normal f32", 0, |r, o| {
                r.fill_normal(o, 0.0, 1.0)
            });
            rate::<f32>(device, kind, "log-normal f32", 0, |r, o| {
                r.fill_log_normal(o, 0.0, 1.0)
            });
            rate::<f64>(device, kind, "uniform f64", 0, |r, o| r.fill_uniform(o));
            rate::<f64>(device, kind, "normal f64", 0, |r, o| {
                r.fill_normal(o, 0.0, 1.0)
            });
            rate::<f64>(device, kind, "log-normal f64", 0, |r, o| {
                r.fill_log_normal(o, 0.0, 1.0)
            });
            rate::<u32>(device, kind, "Poisson 5", 0, |r, o| r.fill_poisson(o, 5.0));
            rate::<u32>(device, kind, "Poisson 1000", 0, |r, o| {
                r.fill_poisson(o, 1000.0)
            });
        }
    }
}
