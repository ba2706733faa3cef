//! Maps: every variant, every function, any length, alignment and launch shape, and a user's own functions.

use cuda_builder::NvvmArch;
use cuda_std::{
    float::accurate,
    map::{MapFn, MapKernel, Passed},
};
use cuda_std_device_tests::maps::{Angle, Brighten, Halve, Mixed, Narrow, Position, Widen};
use rand::Rng;
use warpwright::{
    Device, Error, LaunchConfig, Module, Vector,
    ops::{ChosenBy, map::*},
};
use warpwright_gpu::map::{MapDirect, MapRolled, policy::BLOCK};
use warpwright_tests::{
    cases::{self, OFFSETS, Problem},
    compare, data, device_library,
    devices::{self, Executor},
};

/// So many elements, from one of a longer array on.
#[derive(Debug)]
struct Part {
    executor: Executor,
    len: usize,
    offset: usize,
}

impl Problem for Part {
    fn executor(&self) -> Executor {
        self.executor
    }
}

fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for executor in Executor::ALL {
        for len in cases::lengths(executor, &[4, BLOCK, 4 * BLOCK, 8 * BLOCK]) {
            parts.push(Part {
                executor,
                len,
                offset: 0,
            });
        }
        for offset in OFFSETS {
            for len in [0, 1, 2, 3, 4, 5, 1000, 4099] {
                parts.push(Part {
                    executor,
                    len,
                    offset,
                });
            }
        }
    }
    parts
}

/// Numbers of every kind, and of every magnitude: bits by chance, and every other one from -32 to 32.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut generator = data::generator(seed);
    let number = |i| match i % 2 {
        0 => f32::from_bits(generator.random()),
        _ => generator.random_range(-32.0..32.0),
    };
    (0..len).map(number).collect()
}

fn text(error: Error) -> String {
    error.to_string()
}

/// The variants, by their names.
fn names(_: &Part) -> Vec<&'static str> {
    cases::variants("map")
        .iter()
        .map(|variant| variant.name)
        .collect()
}

/// Equal to the bit, but that any NaN does for a NaN.
fn same_numbers(got: &[f32], want: &[f32]) -> compare::Outcome {
    let plain = |values: &[f32]| -> Vec<f32> {
        let plain = |x: &f32| if x.is_nan() { f32::NAN } else { *x };
        values.iter().map(plain).collect()
    };
    compare::same_bits(&plain(got), &plain(want))
}

/// Checks a function of one array against the same arithmetic in plain Rust.
fn one<F: Function + Copy + Sync>(function: F, plain: impl Fn(f32) -> f32 + Sync)
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    cases::run(
        &parts(),
        names,
        |device, part| {
            let values = numbers(part.offset + part.len, part.len as u64);
            let wanted: Vec<f32> = values[part.offset..].iter().map(|x| plain(*x)).collect();
            Ok((device.upload(&values)?, wanted))
        },
        |device, part, (vector, wanted): &(Vector<f32>, Vec<f32>), variant| {
            let view = vector.slice(part.offset..).map_err(text)?;
            let got = device.map_request(view, function).variant(*variant).run();
            same_numbers(&got.and_then(|got| got.to_vec()).map_err(text)?, wanted)
        },
    );
}

macro_rules! functions {
    ($($name:ident: $function:expr, |$x:ident| $plain:expr;)*) => { $(
        #[test]
        fn $name() {
            one($function, |$x| $plain);
        }
    )* };
}
// The bits are the same on every device; `cuda_std`'s tests and `warpwright ulp` have the errors.
functions! {
    sin: Sin, |x| accurate::sin(x);
    cos: Cos, |x| accurate::cos(x);
    exp: Exp, |x| accurate::exp(x);
    exp2: Exp2, |x| accurate::exp2(x);
    ln: Ln, |x| accurate::ln(x);
    log2: Log2, |x| accurate::log2(x);
    tanh: Tanh, |x| accurate::tanh(x);
    sqrt: Sqrt, |x| x.sqrt();
    abs: Abs, |x| x.abs();
    neg: Neg, |x| -x;
    pow: Pow { exponent: -2.5 }, |x| accurate::pow(x, -2.5);
    scale: Scale { factor: 1.5, offset: 0.1 }, |x| x.mul_add(1.5, 0.1);
    add: Scale::add(0.1), |x| x + 0.1;
    multiply: Scale::multiply(-0.3), |x| x * -0.3;
}

/// The hardware's approximations: any bits within the stated errors, which `warpwright ulp` measures; here, that
/// each is the function of its name.
#[test]
fn approximations_are_near() {
    fn near<F: Function>(device: &Device, function: F, exact: fn(f64) -> f64)
    where
        F::Map: MapFn<In = f32, Out = f32>,
    {
        let values: Vec<f32> = (1..2000).map(|i| i as f32 / 256.0).collect();
        let x = device.upload(&values).unwrap();
        for variant in cases::variants("map") {
            let got = device
                .map_request(&x, function.clone())
                .variant(variant.name)
                .run();
            for (x, got) in values.iter().zip(got.unwrap().to_vec().unwrap()) {
                let exact = exact(f64::from(*x));
                let bound = 5e-4 * exact.abs() + 1e-6;
                compare::within(f64::from(got), exact, bound)
                    .unwrap_or_else(|wrong| panic!("{} {}: {wrong}", device.kind(), variant.name));
            }
        }
    }
    for device in devices::all() {
        near(device, approx::Sin, f64::sin);
        near(device, approx::Cos, f64::cos);
        near(device, approx::Exp, f64::exp);
        near(device, approx::Exp2, f64::exp2);
        near(device, approx::Ln, f64::ln);
        near(device, approx::Log2, f64::log2);
        near(device, approx::Tanh, f64::tanh);
        near(device, approx::Sqrt, f64::sqrt);
        near(device, approx::Rsqrt, |x| x.sqrt().recip());
        near(device, approx::Recip, f64::recip);
    }
}

#[test]
fn pairs() {
    cases::run(
        &parts(),
        names,
        |device, part| {
            let a = numbers(part.offset + part.len, 1);
            let b = numbers(part.len, 2);
            Ok((device.upload(&a)?, device.upload(&b)?, a, b))
        },
        |device, part, (x, y, a, b), variant| {
            // One of the two is not aligned.
            let view = x.slice(part.offset..).map_err(text)?;
            let pairs = || a[part.offset..].iter().zip(b);
            let function = ScaleAdd { factor: 0.7 };
            let request = device
                .map_pairs_request(view, y, function)
                .variant(*variant);
            let got = request.run().and_then(|got| got.to_vec()).map_err(text)?;
            let wanted: Vec<f32> = pairs().map(|(x, y)| x.mul_add(0.7, *y)).collect();
            same_numbers(&got, &wanted)?;

            let request = device
                .map_pairs_request(view, y, PowPairs)
                .variant(*variant);
            let got = request.run().and_then(|got| got.to_vec()).map_err(text)?;
            let wanted: Vec<f32> = pairs().map(|(x, y)| accurate::pow(*x, *y)).collect();
            same_numbers(&got, &wanted)?;

            let request = device
                .map_pairs_request(view, y, approx::Div)
                .variant(*variant);
            let got = request.run().and_then(|got| got.to_vec()).map_err(text)?;
            compare::same(&got.len(), &part.len)
        },
    );
}

/// The function that the family grew from, in `f64`: `cos(a)^2 + sin(a)^2` is 1.
fn wave(i: usize, count: usize) -> f64 {
    let m = i as f64 - (count / 2) as f64;
    1.0 - (m * std::f64::consts::PI / count as f64).cos()
}

fn is_the_wave(got: &[f32], len: usize) -> compare::Outcome {
    compare::same(&got.len(), &len)?;
    got.iter()
        .enumerate()
        .try_for_each(|(i, got)| compare::within(f64::from(*got), wave(i, len), 1e-6))
}

#[test]
fn the_wave_reads_its_numbers_from_constant_memory() {
    cases::run(
        &parts(),
        names,
        |_, _| Ok(()),
        |device, part, (), variant| {
            let request = device
                .map_positions_request(part.len, Wave)
                .variant(*variant);
            let got = request.run().and_then(|got| got.to_vec()).map_err(text)?;
            is_the_wave(&got, part.len)
        },
    );
}

/// Two waves that are queued one after the other each find their own count.
#[test]
fn a_queued_wave_keeps_its_constants() {
    for device in devices::all() {
        let prepare = |len| device.map_positions_request(len, Wave).prepare().unwrap();
        let (mut long, mut short) = (prepare(5000), prepare(77));
        for _ in 0..3 {
            long.enqueue().unwrap();
            short.enqueue().unwrap();
        }
        is_the_wave(&long.output().unwrap().to_vec().unwrap(), 5000).unwrap();
        is_the_wave(&short.output().unwrap().to_vec().unwrap(), 77).unwrap();
    }
}

/// The shapes of launches: from one thread to more than there are elements.
const SHAPES: [(u32, u32); 8] = [
    (1, 1),
    (1, 32),
    (1, 100),
    (1, 256),
    (3, 33),
    (7, 256),
    (20, 256),
    (1000, 3),
];

#[test]
fn rolled_and_best_do_all_the_work_whatever_the_shape() {
    let len = 2500;
    let values = numbers(len, 5);
    let wanted: Vec<f32> = values.iter().map(|x| accurate::sin(*x)).collect();
    for device in devices::all() {
        let x = device.upload(&values).unwrap();
        for (blocks, threads) in SHAPES {
            for variant in ["rolled", "best"] {
                let request = device.map_request(&x, Sin).variant(variant);
                let got = request.shape(blocks, threads).run().unwrap();
                same_numbers(&got.to_vec().unwrap(), &wanted)
                    .unwrap_or_else(|wrong| panic!("{variant} {blocks} x {threads}: {wrong}"));
                let request = device.map_positions_request(len, Wave).variant(variant);
                let got = request.shape(blocks, threads).run().unwrap();
                is_the_wave(&got.to_vec().unwrap(), len).unwrap();
            }
            let direct = device.map_request(&x, Sin).variant("direct");
            let direct = direct.shape(blocks, threads).run();
            if (blocks * threads) as usize >= len {
                same_numbers(&direct.unwrap().to_vec().unwrap(), &wanted).unwrap();
            } else {
                let error = direct.unwrap_err();
                assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
                assert!(error.to_string().contains("2500"), "{error}");
            }
        }
    }
}

/// The defect of one thread per element, which the library's own check keeps away from its users: a launch
/// that is smaller than the work leaves elements out, and nothing tells.
#[test]
fn direct_alone_leaves_out_what_has_no_thread() {
    let device = devices::cpu();
    let entry = |name: &str| {
        let views = ".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f";
        format!(".entry {name}(.param .align 1 .b8 function[1], {views})\n{{ ret; }}\n")
    };
    let entries = entry("map_direct__neg") + &entry("map_rolled__neg");
    let module = Module::from_ptx(format!(".version 6.3\n{entries}")).unwrap();
    let x = device.upload(&[1.0_f32; 100]).unwrap();
    let none = device.zeros::<u8>(0).unwrap();
    let config = LaunchConfig::linear(2, 32);
    let mut output = device.zeros::<f32>(100).unwrap();
    // SAFETY: the input is as long as the output.
    unsafe {
        let args = (Passed::new(Neg), &x, &none, &mut output);
        device
            .launch::<MapDirect<Neg>>(&module, config, args)
            .unwrap();
    }
    let got = output.to_vec().unwrap();
    assert_eq!(got[..64], [-1.0; 64]);
    assert_eq!(got[64..], [0.0; 36]);
    // SAFETY: as above.
    unsafe {
        let args = (Passed::new(Neg), &x, &none, &mut output);
        device
            .launch::<MapRolled<Neg>>(&module, config, args)
            .unwrap();
    }
    assert_eq!(output.to_vec().unwrap(), [-1.0; 100]);
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    let device = devices::cpu();
    let x = device.upload(&[1.0_f32]).unwrap();
    let prepared = device.map_request(&x, Sin).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let request = device.map_request(&x, Sin).variant("rolled");
    let prepared = request.prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("rolled", ChosenBy::Caller)
    );
    let error = device
        .map_request(&x, Sin)
        .variant("bset")
        .run()
        .unwrap_err();
    let text = error.to_string();
    for variant in cases::variants("map") {
        assert!(text.contains(variant.name), "{text}");
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    for device in devices::all() {
        let (a, b) = (
            device.zeros::<f32>(3).unwrap(),
            device.zeros::<f32>(4).unwrap(),
        );
        let error = device.map_pairs(&a, &b, PowPairs).unwrap_err().to_string();
        assert!(
            error.contains("same length") && error.contains("3 and 4"),
            "{error}"
        );
        for (blocks, threads) in [(0, 32), (1, 0), (1, 257), (u32::MAX, 32)] {
            let error = device
                .map_request(&a, Sin)
                .shape(blocks, threads)
                .run()
                .unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Invalid {
                        operation: "map",
                        ..
                    }
                ),
                "{error:?}"
            );
        }
        let other = Module::from_ptx(".version 6.3\n.entry something()\n").unwrap();
        let x = device.zeros::<i32>(3).unwrap();
        // SAFETY: the kernel is not there, and so it is not run.
        let function = unsafe { other.map_function(Halve) };
        let error = device.map(&x, function).unwrap_err();
        assert!(matches!(error, Error::UnknownKernel { .. }), "{error:?}");
        assert!(error.to_string().contains("map_halve"), "{error}");
        // The function had no fields once, and a parameter more: what is read behind the parameters that are
        // passed would be anything.
        for params in [
            "",
            ".param .u64 a",
            ".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g",
        ] {
            let stale = format!(".version 6.3\n.entry map_halve({params})\n{{ ret; }}\n");
            // SAFETY: a kernel with such parameters is not run.
            let function = unsafe { Module::from_ptx(stale).unwrap().map_function(Halve) };
            let error = device.map(&x, function).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Invalid {
                        operation: "map",
                        ..
                    }
                ),
                "{error:?}"
            );
            assert!(
                error
                    .to_string()
                    .contains("`map_halve` with parameters of [1, 8,"),
                "{error}"
            );
        }
    }
}

/// A user's own functions: elements of every size, from aligned and other views.
#[test]
fn functions_of_a_user() {
    let module = Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap();
    // `function` of the module.
    macro_rules! of_module {
        ($function:expr) => {
            // SAFETY: the module is built from the crate that has the functions.
            unsafe { module.map_function($function) }
        };
    }
    assert_eq!(Halve::KERNEL.descriptor().name, "map_halve");
    for device in devices::all() {
        for (len, offset) in [
            (0, 0),
            (1, 0),
            (1000, 0),
            (4099, 0),
            (1000, 1),
            (1003, 3),
            (5000, 7),
        ] {
            let own = |name: &str| format!("{name} of {len} from {offset} on {}", device.kind());
            let mut generator = data::generator(len as u64);
            let bytes: Vec<u8> = (0..offset + len).map(|_| generator.random()).collect();
            let words: Vec<u16> = (0..offset + len).map(|_| generator.random()).collect();
            let whole: Vec<i32> = (0..offset + len).map(|_| generator.random()).collect();
            let doubles: Vec<f64> = (0..offset + len)
                .map(|_| generator.random_range(0.0..300.0))
                .collect();
            let singles: Vec<f32> = (0..offset + len)
                .map(|_| generator.random_range(-9.0..9.0))
                .collect();
            let (x, y) = (
                device.upload(&bytes).unwrap(),
                device.upload(&words).unwrap(),
            );
            let (z, w) = (
                device.upload(&doubles).unwrap(),
                device.upload(&singles).unwrap(),
            );
            let v = device.upload(&whole).unwrap();

            let got = device
                .map_positions(len, of_module!(Position(5.0)))
                .unwrap();
            let wanted: Vec<u64> = (5..5 + len as u64).collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Position")));

            let function = of_module!(Brighten(100.0));
            let got = device.map(x.slice(offset..).unwrap(), function).unwrap();
            let wanted: Vec<u8> = bytes[offset..]
                .iter()
                .map(|x| x.saturating_add(100))
                .collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Brighten")));

            let function = of_module!(Widen(0.5));
            let got = device.map(x.slice(offset..).unwrap(), function).unwrap();
            let wanted: Vec<f32> = bytes[offset..]
                .iter()
                .map(|x| f32::from(*x) * 0.5)
                .collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Widen")));

            let function = of_module!(Narrow(0.5));
            let got = device.map(z.slice(offset..).unwrap(), function).unwrap();
            let wanted: Vec<u8> = doubles[offset..].iter().map(|x| (x * 0.5) as u8).collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Narrow")));

            let function = of_module!(Halve);
            let got = device.map(v.slice(offset..).unwrap(), function).unwrap();
            let wanted: Vec<i32> = whole[offset..].iter().map(|x| x / 2).collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Halve")));

            let (a, b) = (z.slice(offset..).unwrap(), y.slice(..len).unwrap());
            let got = device.map_pairs(a, b, of_module!(Mixed(1.5))).unwrap();
            let pairs = doubles[offset..].iter().zip(&words).enumerate();
            let wanted: Vec<f64> = pairs
                .map(|(i, (a, b))| a * 1.5 + f64::from(*b) + i as f64)
                .collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Mixed")));

            let (a, b) = (w.slice(offset..).unwrap(), w.slice(..len).unwrap());
            let got = device.map_pairs(a, b, of_module!(Angle(3.0))).unwrap();
            let pairs = singles[offset..].iter().zip(&singles);
            let wanted: Vec<f32> = pairs
                .map(|(x, y)| accurate::sin(x * 3.0) + accurate::exp(*y))
                .collect();
            compare::same_bits(&got.to_vec().unwrap(), &wanted)
                .unwrap_or_else(|error| panic!("{}: {error:?}", own("Angle")));
        }
        let x = device.zeros::<i32>(3).unwrap();
        let request = device.map_request(&x, of_module!(Halve)).variant("rolled");
        let error = request.run().unwrap_err();
        assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    }
}
