//! Groups of products of different sizes: each has the bits that it has alone.

use cuda_std::{F8E4M3, F8E5M2, bf16, cpu::Order, f16};
use rand::{Rng, rngs::StdRng};
use warpwright::{
    Device, DeviceKind, Error,
    ops::gemm::{GemmRequest, ResultIn},
};
use warpwright_tests::{
    compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    problem::{Activation, FACTORS, Gemm, MARGINS, Multiplied, TAILS, plain},
};

/// Products of many sizes, with every option. On a CUDA device some fill it, and have launches of their own.
fn members(executor: Executor) -> Vec<Gemm> {
    let mut shapes = vec![
        [33, 20, 9],
        [70, 66, 17],
        [1, 5, 0],
        [0, 7, 3],
        [64, 64, 64],
        [129, 3, 40],
        [200, 130, 33],
        [1, 1, 130],
    ];
    if executor == Executor::Cuda {
        shapes.extend([[1601, 1664, 40], [1000, 900, 96]]);
    }
    (0..6 * TAILS.len())
        .map(|i| Gemm {
            transpose: TRANSPOSES[i % 4],
            factors: FACTORS[i / 2 % FACTORS.len()],
            count: 1 + i % 3,
            shared: [i % 4 == 3, i % 5 == 4],
            tail: TAILS[i % TAILS.len()],
            margins: [MARGINS[i / 3 % 3]; 3],
            ..plain(executor, shapes[i / 3 % shapes.len()])
        })
        .collect()
}

/// Compares the products of a group with those alone, and checks that products of the type share a launch for each way to
/// transpose, or that none does.
fn check<T: Multiplied>(
    is_shared: bool,
    mut value: impl FnMut(&mut StdRng) -> T::Factor,
    mut of_result: impl FnMut(&mut StdRng) -> T::Result,
) {
    for executor in Executor::ALL {
        let mut rng = data::generator(23);
        let mut members = members(executor);
        for member in members.iter_mut().filter(|_| !T::HAS_GELU) {
            let activation = &mut member.tail.activation;
            *activation = activation.filter(|it| *it != Activation::Gelu);
        }
        let operands: Vec<_> = members
            .iter()
            .map(|it| {
                let rng = std::cell::RefCell::new(&mut rng);
                it.operands_of::<T>(
                    || value(&mut rng.borrow_mut()),
                    || of_result(&mut rng.borrow_mut()),
                )
            })
            .collect();
        let all = || members.iter().zip(&operands);
        for device in executor.devices() {
            let alone: Vec<_> = all()
                .map(|(it, operands)| it.by_the_library(device, operands, "best").unwrap())
                .collect();
            let mut on_device: Vec<_> = all()
                .map(|(it, operands)| it.upload(device, operands).unwrap())
                .collect();
            let requests = all()
                .zip(&mut on_device)
                .map(|((it, operands), on_device)| {
                    it.request(device, operands, on_device, "best").unwrap()
                });
            let mut prepared = device.gemm_group(requests).prepare().unwrap();
            prepared.enqueue().unwrap();
            let kernels = prepared.kernels();
            let groups = kernels.iter().filter(|it| it.contains("_group")).count();
            assert_eq!(groups, if is_shared { 4 } else { 0 }, "{kernels:?}");
            if is_shared && device.kind() == DeviceKind::Cpu {
                assert_eq!(kernels.len(), 4, "{kernels:?}");
            }
            assert_eq!(prepared.results().unwrap().len(), members.len());
            drop(prepared);
            for (((it, operands), on_device), alone) in all().zip(&on_device).zip(&alone) {
                let got = it.result(operands, on_device).unwrap();
                if let Err(why) = compare::same_bits(&got, alone) {
                    panic!("{device:?} {it:?}: {why}");
                }
            }
        }
    }
}

/// Products of types whose factors are those of results too.
macro_rules! reals {
    ($($ty:ident: $is_shared:literal;)*) => { $({
        let real = |rng: &mut StdRng| <$ty as warpwright_tests::number::Number>::from_real(rng.random_range(-3.0..3.0));
        check::<$ty>($is_shared, real, real);
    })* };
}

#[test]
fn members_have_the_bits_that_they_have_alone() {
    reals! {
        f32: true;
        f64: false;
        f16: true;
        bf16: true;
    }
    check::<i8>(true, |rng| rng.random(), |rng| rng.random());
    let number = |rng: &mut StdRng| F8E4M3::from_f32(rng.random_range(-3.0..3.0));
    check::<F8E4M3>(false, number, |rng| rng.random_range(-3.0..3.0));
    check::<ResultIn<F8E4M3, bf16>>(false, number, |rng| {
        bf16::from_f32(rng.random_range(-3.0..3.0))
    });
    check::<ResultIn<f16, f32>>(
        true,
        |rng| f16::from_f32(rng.random_range(-3.0..3.0)),
        |rng| rng.random_range(-3.0..3.0),
    );
    check::<ResultIn<bf16, f32>>(
        true,
        |rng| bf16::from_f32(rng.random_range(-3.0..3.0)),
        |rng| rng.random_range(-3.0..3.0),
    );
    check::<F8E5M2>(
        false,
        |rng| F8E5M2::from_f32(rng.random_range(-3.0..3.0)),
        |rng| rng.random_range(-3.0..3.0),
    );
}

/// Many small products, in every order of blocks.
#[test]
fn many_members_in_any_order() {
    let count = 300_usize;
    let orders = [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(2),
    ];
    let cpus = orders.into_iter().map(devices::cpu_in);
    let cuda = Executor::Cuda.devices().iter().cloned();
    for device in cpus.chain(cuda) {
        let ones = device.upload_matrix(&vec![1.0_f32; 130 * 3], 130, 3);
        let ones = ones.unwrap();
        let products = (0..count).map(|i| {
            let rows = ones.rect(..i % 131, ..).unwrap();
            device.gemm(rows, &ones).transpose_b().alpha(i as f32)
        });
        let mut prepared = device.gemm_group(products).prepare().unwrap();
        // The tables and nothing else: 256 bytes for each product with elements, and a word for each of its tiles.
        let are_there = (0..count).filter(|i| i % 131 > 0).count();
        let tiles = |i: usize| (i % 131).div_ceil(64) * 130_usize.div_ceil(64);
        let numbers = 4 * (0..count).map(tiles).sum::<usize>();
        let bytes = numbers.next_multiple_of(16) + 256 * are_there;
        assert_eq!(prepared.workspace_bytes(), bytes);
        assert!(matches!(prepared.results(), Err(Error::Invalid { .. })));
        prepared.enqueue().unwrap();
        for (i, result) in prepared.results().unwrap().iter().enumerate() {
            assert_eq!([result.height(), result.width()], [i % 131, 130]);
            let expected = 3.0 * i as f32;
            assert!(result.to_vec().unwrap().iter().all(|x| *x == expected));
        }
    }
}

/// A group that is queued again adds again, also from a graph.
#[test]
fn groups_are_queued_again_and_captured() {
    for device in devices::all() {
        let a = device.upload_matrix(&[1.0_f32, 2.0], 2, 1).unwrap();
        let mut c = [1, 2].map(|side| device.zeros_matrix::<f32>(2 * side, 2).unwrap());
        let [first, second] = &mut c;
        let products = [
            device.gemm(&a, &a).transpose_b().add_to(1.0, first),
            device
                .gemm(&a, &a)
                .transpose_b()
                .batch(1)
                .add_to(0.0, second),
        ];
        // The second one's place has another shape: nothing is computed.
        let error = device.gemm_group(products).run().unwrap_err().to_string();
        assert!(error.contains("gemm") && error.contains("2 x 2"), "{error}");
        assert_eq!(c[0].to_vec().unwrap(), [0.0; 4]);
        let [first, second] = &mut c;
        let products = [
            device
                .gemm(&a, &a)
                .transpose_b()
                .add_to(1.0, first.rect_mut(.., ..).unwrap()),
            device
                .gemm(&a, &a)
                .transpose_b()
                .add_to(1.0, second.rect_mut(1..3, ..).unwrap()),
        ];
        let mut prepared = device.gemm_group(products).prepare().unwrap();
        prepared.capturable().unwrap();
        let mut graph = device.capture(|| prepared.enqueue()).unwrap();
        for _ in 0..3 {
            // SAFETY: the arrays and the prepared group live, and nothing else uses them.
            unsafe { graph.launch().unwrap() };
        }
        drop((graph, prepared));
        let [one, two, four] = [1.0, 2.0, 4.0].map(|x| 3.0 * x);
        assert_eq!(c[0].to_vec().unwrap(), [one, two, two, four]);
        let of_second = c[1].to_vec().unwrap();
        assert_eq!(of_second, [0.0, 0.0, one, two, two, four, 0.0, 0.0]);
    }
}

#[test]
fn members_that_do_not_fit_are_refused() {
    let device = Device::cpu();
    let a = device.zeros_matrix::<f32>(3, 4).unwrap();
    let products = [device.gemm(&a, &a).transpose_b(), device.gemm(&a, &a)];
    let error = device.gemm_group(products).run().unwrap_err().to_string();
    assert!(
        error.contains("op(A) of 3 x 4 and op(B) of 3 x 4"),
        "{error}"
    );
    let products = [device.gemm(&a, &a).transpose_b().variant("fastest")];
    let error = device.gemm_group(products).run().unwrap_err();
    assert!(matches!(error, Error::UnknownVariant { .. }), "{error:?}");
    let none: [GemmRequest<'_, f32>; 0] = [];
    assert!(device.gemm_group(none).run().unwrap().is_empty());
}
