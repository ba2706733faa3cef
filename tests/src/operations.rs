//! All operations of the library, each with every variant, for tests of failures.

mod others;

use std::{
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
};

use bytemuck::Pod;
use warpwright::{
    Device, Generator, LaunchConfig, Matrix, Module, Result, Vector, ops::reduce::Operator,
};
use warpwright_gpu::{map::MAP_PI, transpose::TransposeNaive};
use warpwright_workloads::{FAMILIES, Workload};

use crate::cases;

type Run = Box<dyn Fn(&Device) -> Result<u64> + Send + Sync>;

/// An operation of the library. It returns a number that depends on every bit of the result.
pub struct Operation {
    /// The family and variant, or a description.
    pub name: String,
    /// Runs the operation from input on the host to output on the host, and releases everything that it allocated.
    pub run: Run,
    /// Whether it is the default variant of a family.
    pub is_best: bool,
}

/// The number of elements of an input.
const LEN: usize = 3000;

fn floats() -> Vec<f32> {
    (0..LEN).map(|i| (i % 101) as f32 - 50.0).collect()
}

fn words() -> Vec<u32> {
    (0..LEN as u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9))
        .collect()
}

fn bits<T: Pod>(values: &[T]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytemuck::cast_slice(values));
    hasher.finish()
}

fn read<T: warpwright::Element>(vector: &Vector<T>) -> Result<u64> {
    Ok(bits(&vector.to_vec()?))
}

/// Returns all operations.
pub fn all() -> Vec<Operation> {
    let mut all = families();
    all.extend(buffers());
    all.extend(modules());
    all.extend(others::all());
    all
}

fn families() -> Vec<Operation> {
    let all = workloads().into_iter();
    all.map(|(workload, variant)| of_variant(workload, variant))
        .collect()
}

/// Returns the operations of all families, each with every variant that can do it and always gives the same bits.
pub fn workloads() -> Vec<(Arc<Workload>, &'static str)> {
    let mut all = Vec::new();
    for family in FAMILIES {
        for workload in (family.operations)().into_iter().map(Arc::new) {
            for variant in cases::variants(family.name) {
                if !workload.wavers(variant.name) && !workload.excludes(variant.name) {
                    all.push((workload.clone(), variant.name));
                }
            }
        }
    }
    all
}

fn of_variant(workload: Arc<Workload>, variant: &'static str) -> Operation {
    Operation {
        name: format!("{} {variant} {}", workload.family(), workload.name()),
        run: Box::new(move |device| match workload.bits(device, variant) {
            // Some variants need a card of compute capability 9.0. On another one the refusal is the result.
            Err(warpwright::Error::NotEligible { .. }) if is_other(device) => Ok(0),
            got => Ok(bits(&got?)),
        }),
        is_best: variant == "best",
    }
}

fn is_other(device: &Device) -> bool {
    let capability = device.info().compute_capability;
    capability.is_some_and(|capability| capability != (9, 0))
}

fn named(name: &str, run: impl Fn(&Device) -> Result<u64> + Send + Sync + 'static) -> Operation {
    Operation {
        name: name.to_owned(),
        run: Box::new(run),
        is_best: false,
    }
}

fn buffers() -> Vec<Operation> {
    vec![
        named("upload and download", |device| {
            read(&device.upload(&words())?)
        }),
        named("zeros, upload over, clear", |device| {
            let mut vector = device.zeros::<u32>(LEN)?;
            vector.upload(&words())?;
            vector.slice_mut(10..20)?.clear()?;
            read(&vector)
        }),
        named("pinned memory, both ways", |device| {
            let mut vector = device.upload(&words())?;
            let mut pinned = device.pinned::<u32>(LEN)?;
            vector.download_pinned(&mut pinned)?;
            let got = bits(pinned.as_mut_slice()?);
            pinned.as_mut_slice()?.fill(3);
            vector.upload_pinned(&mut pinned)?;
            Ok(got ^ read(&vector)?.rotate_left(1))
        }),
        named(
            "pinned memory, uploaded as any other and then changed",
            |device| {
                let mut vector = device.zeros::<u32>(LEN)?;
                let mut pinned = device.pinned::<u32>(LEN)?;
                pinned.as_mut_slice()?.copy_from_slice(&words());
                vector.upload(pinned.as_mut_slice()?)?;
                pinned.as_mut_slice()?.fill(3);
                let got = vector.to_vec()?;
                assert!(got == words(), "what was uploaded is what it was then");
                Ok(bits(&got))
            },
        ),
        named("pinned memory, dropped while it is copied", |device| {
            let mut vector = device.zeros::<u32>(LEN)?;
            let mut pinned = device.pinned::<u32>(LEN)?;
            vector.upload_pinned(&mut pinned)?;
            drop(pinned);
            read(&vector)
        }),
        named("pinned memory, from stream to stream", |device| {
            let other = device.new_stream()?;
            let vector = other.upload(&words())?;
            let mut second = device.zeros::<u32>(LEN)?;
            let mut pinned = device.pinned::<u32>(LEN)?;
            vector.download_pinned(&mut pinned)?;
            second.upload_pinned(&mut pinned)?;
            read(&second)
        }),
        named("another stream", |device| {
            let other = device.new_stream()?;
            let vector = device.upload(&words())?;
            let sum = other.reduce(&vector);
            let mut sum = sum.prepare(Operator::Sum)?;
            sum.enqueue()?;
            drop(other);
            // The matrix is freed while the work may still be running.
            let turned = device.transpose(&device.upload_matrix(&words(), 1, LEN)?)?;
            Ok(format!("{:?}", sum.finish()?).len() as u64 ^ read(turned.as_vector())?)
        }),
        named("a copy, from stream to stream", |device| {
            let other = device.new_stream()?;
            // The source is freed while it may still be copied.
            let mut copy = other.upload(&words())?.to_device(device)?;
            copy.slice_mut(10..20)?
                .copy_from(other.upload(&words()[..10])?.view())?;
            read(&copy)
        }),
        named("copies to the CPU and back", |device| {
            let cpu = Device::cpu();
            let mut there = device.upload_matrix(&words(), 30, LEN / 30)?;
            let here = there.rect(3..9, 5..50)?.to_device(&cpu)?;
            there.rect_mut(..6, ..45)?.copy_from(&here)?;
            read(there.as_vector())
        }),
        named("events", |device| {
            let (vector, _) = device.time(|| device.upload(&words()))?;
            read(&vector)
        }),
        named("free memory", |device| {
            Ok(u64::from(device.free_memory()? > 0))
        }),
        named("auto", |device| {
            let auto = warpwright::Device::auto()?;
            assert_eq!(auto.kind(), device.kind(), "a GPU that fails is replaced");
            Ok(0)
        }),
    ]
}

/// Returns copies from a device to `peer` and back.
pub fn to_peer(peer: Device) -> Operation {
    named("copies to another device and back", move |device| {
        let there = device.upload(&words())?.to_device(&peer)?;
        let mut back = device.upload_matrix(&words(), 30, LEN / 30)?;
        let there = Matrix::from_vector(there, 30, LEN / 30)?;
        back.rect_mut(..6, ..45)?
            .copy_from(there.rect(3..9, 5..50)?)?;
        drop(there);
        read(back.as_vector())
    })
}

/// Loads the library's own PTX as a user's module.
fn ptx(family: &str) -> Result<Module> {
    Module::from_ptx(match family {
        "transpose" => include_str!("../../host/ptx/sm_75/transpose_ladder.ptx"),
        _ => include_str!("../../host/ptx/sm_75/map.ptx"),
    })
}

fn modules() -> Vec<Operation> {
    vec![
        named("a module, loaded and unloaded", |device| {
            device.load(&ptx("map")?)?;
            Ok(0)
        }),
        named("a module's kernel", |device| {
            let module = ptx("transpose")?;
            let input = device.upload(&words())?;
            let mut output = device.zeros::<u32>(LEN)?;
            let (width, height) = (LEN / 20, 20_usize);
            let config = LaunchConfig {
                grid: [(width.div_ceil(16) * height.div_ceil(16)) as u32, 1, 1],
                block: [16, 16, 1],
                shared_bytes: 0,
            };
            for _ in 0..2 {
                let args = (&input, &mut output, width, height);
                // SAFETY: both arrays have `width * height` elements, and the grid has a block per tile.
                unsafe { device.launch::<TransposeNaive<u32>>(&module, config, args)? };
            }
            read(&output)
        }),
        named("a module's constants", |device| {
            let module = ptx("map")?;
            device.set_constant(&module, MAP_PI.with(&[3.0]))?;
            device.set_constant(&module, MAP_PI.with(&[4.0]))?;
            device.synchronize()?;
            Ok(0)
        }),
    ]
}

/// Returns the number of families that the operations cover.
pub fn asked(operations: &[Operation]) -> usize {
    let families = warpwright::families().iter();
    families
        .filter(|family| {
            let prefix = format!("{} ", family.name);
            let variants = cases::variants(family.name).iter();
            variants.clone().all(|variant| {
                let start = format!("{prefix}{} ", variant.name);
                operations
                    .iter()
                    .any(|operation| operation.name.starts_with(&start))
            })
        })
        .count()
}

/// Runs each family's operations on `here` with arguments on the device `there`, by the variant that the library chooses.
///
/// # Errors
/// Returns an error if the arguments cannot be made.
pub fn mixed(here: &Device, there: &Device) -> Result<Vec<(String, Result<()>)>> {
    let mut results = Vec::new();
    for workload in FAMILIES.iter().flat_map(|family| (family.operations)()) {
        // The problems of `random` and the wave have no argument on a device.
        if workload.family() != "random" && !workload.name().starts_with("wave ") {
            let input = workload.input(there)?;
            let ready = input.prepare(here, None);
            let result = ready.and_then(|mut ready| ready.enqueue());
            results.push((workload.name(), result));
        }
    }
    let vector = there.upload(&floats())?;
    let words = there.upload(&words())?;
    let matrix = there.upload_matrix(&floats(), 30, LEN / 30)?;
    let own = here.upload_matrix(&floats(), 30, LEN / 30)?;
    let mut output = there.zeros::<u32>(LEN)?;
    let mut pinned = here.pinned::<f32>(LEN)?;
    let mut random = here.generator(Generator::Philox, 1)?;
    // One argument alone is elsewhere, or the output.
    let others = [
        ("gemm", here.matmul(matrix.rect(.., ..30)?, &own).map(drop)),
        ("gemm", here.matmul(own.rect(.., ..30)?, &matrix).map(drop)),
        ("random", random.fill_bits(output.view_mut())),
        (
            "sum by key",
            here.reduce_by_key(&words, own.as_vector()).sum().map(drop),
        ),
        ("a copy", vector.download_pinned(&mut pinned)),
        ("a launch", {
            let module = ptx("transpose")?;
            let (input, mut output) = (there.zeros::<u32>(16)?, here.zeros::<u32>(16)?);
            let config = LaunchConfig::linear(1, 256);
            let args = (&input, &mut output, 4_usize, 4_usize);
            // SAFETY: the launch is refused; the shapes are valid.
            unsafe { here.launch::<TransposeNaive<u32>>(&module, config, args) }
        }),
    ];
    results.extend(others.map(|(name, result)| (name.to_owned(), result)));
    Ok(results)
}
