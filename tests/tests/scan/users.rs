//! A user's own operators: elements and prefixes of other sizes, not commutative, at every alignment.

use std::fmt::Debug;

use cuda_builder::NvvmArch;
use cuda_std::scan::{Scan, ScanKernel, THREADS, WINDOWS, elements_of_tile};
use cuda_std_device_tests::operators::{Balanced, Fitting, FourBytes, Matrices};
use rand::Rng;
use warpwright::{Device, Element, Error, Module};
use warpwright_tests::{compare, data, device_library, devices, panics};

/// Checks the scans of one operator, for all lengths up to some tiles, from several elements on.
fn check<R: ScanKernel<In: Element + Debug> + Clone>(
    module: &Module,
    make: impl Fn(u64) -> R::In,
    initial: R::In,
) {
    let tile = elements_of_tile::<R::In>(THREADS);
    for device in devices::all() {
        // SAFETY: the module is built from the crate that has the operators.
        let operator = unsafe { module.scan_operator::<R>() };
        let lengths = [0, 1, 5, 33, tile - 1, tile, tile + 1, 3 * tile + 7];
        for (len, offset) in lengths
            .iter()
            .flat_map(|len| [(*len, 0), (*len, 1), (*len, 3)])
        {
            let mut generator = data::generator(len as u64);
            let values: Vec<R::In> = (0..offset + len)
                .map(|_| make(generator.random()))
                .collect();
            let input = device.upload(&values).unwrap();
            for (exclusive, initial) in [(false, None), (true, Some(initial)), (true, None)] {
                let wanted = expected::<R>(&values[offset..], exclusive, initial);
                let what = format!("{len} from {offset}, {exclusive}, on {}", device.kind());
                let view = input.slice(offset..).unwrap();
                let mut request = device.scan_request(view, operator.clone());
                if exclusive {
                    request = request.exclusive();
                }
                if let Some(initial) = initial {
                    request = request.initial(initial);
                }
                let mut prepared = request.prepare().unwrap();
                // Words of the launch before are not cleared.
                for _ in 0..2 {
                    prepared.enqueue().unwrap();
                    let got = prepared.output().unwrap().to_vec().unwrap();
                    assert_eq!(compare::same_bits(&got, &wanted), Ok(()), "{what}");
                }
            }
            let mut values = device.upload(&values[offset..]).unwrap();
            let wanted = expected::<R>(&values.to_vec().unwrap(), false, None);
            let request = device.scan_in_place_request(&mut values, operator.clone());
            request.run().unwrap();
            assert_eq!(
                compare::same_bits(&values.to_vec().unwrap(), &wanted),
                Ok(())
            );
        }
    }
}

/// Computes a scan one element after the other.
fn expected<R: Scan>(values: &[R::In], exclusive: bool, initial: Option<R::In>) -> Vec<R::In> {
    let mut prefix = initial.map_or(R::IDENTITY, R::load);
    let results = values.iter().map(|value| {
        let next = R::combine(prefix, R::load(*value));
        let before = std::mem::replace(&mut prefix, next);
        R::store(if exclusive { before } else { next })
    });
    results.collect()
}

fn module() -> Module {
    Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap()
}

#[test]
fn operators_of_a_user() {
    let module = module();
    let words = |hash: u64| [hash as u32, (hash >> 16) as u32, (hash >> 32) as u32, 3];
    check::<Matrices>(&module, words, [1, 2, 3, 4]);
    let bytes = |hash: u64| b"((()))x("[(hash >> 61) as usize];
    check::<Balanced>(&module, bytes, b'(');
}

/// More tiles than a batch has, so that blocks wait for the batches before theirs.
#[test]
fn many_tiles_of_an_operator_of_a_user() {
    let module = module();
    let len = 2 * 32 * WINDOWS * elements_of_tile::<[u32; 4]>(THREADS) + 99;
    let mut generator = data::generator(7);
    let values: Vec<[u32; 4]> = (0..len)
        .map(|i| [generator.random(), 1, 0, i as u32 | 1])
        .collect();
    let wanted = expected::<Matrices>(&values, false, None);
    for device in devices::all() {
        // SAFETY: the module is built from the crate that has the operator.
        let operator = unsafe { module.scan_operator::<Matrices>() };
        let input = device.upload(&values).unwrap();
        let got = device.inclusive_scan(&input, operator).unwrap();
        assert_eq!(compare::same_bits(&got.to_vec().unwrap(), &wanted), Ok(()));
    }
}

/// Sums that do not fit in the first tile, in one amid the tiles, at the last element, and only where two tiles meet.
#[test]
fn an_operator_that_panics_is_an_error() {
    // SAFETY: the module is built from the crate that has the operator.
    let fitting = unsafe { module().scan_operator::<Fitting>() };
    let tile = elements_of_tile::<i32>(THREADS);
    let bad = |places: &[usize], value| {
        let mut values = vec![1; 6 * tile + 5];
        places.iter().for_each(|place| values[*place] = value);
        values
    };
    let all = [
        vec![i32::MAX, 1],
        bad(&[3], i32::MAX),
        bad(&[3 * tile + 7], i32::MAX),
        bad(&[6 * tile + 4], i32::MAX),
        bad(&[5, 4 * tile], i32::MAX / 2 + 1),
    ];
    let ones = vec![1; 6 * tile + 5];
    let wanted: Vec<i32> = (1..=ones.len() as i32).collect();
    panics::check(
        ["scan_fitting", "the sum does not fit"],
        &all,
        (&ones, &wanted),
        |device, input| device.inclusive_scan(input, fitting.clone()),
    );
}

#[test]
fn operators_that_cannot_be_launched_are_refused() {
    let device = Device::cpu();
    // SAFETY: the module is built from the crate that has the operators.
    let (matrices, bytes) = unsafe {
        let module = module();
        (
            module.scan_operator::<Matrices>(),
            module.scan_operator::<FourBytes>(),
        )
    };
    let x = device.zeros::<[u8; 4]>(3).unwrap();
    let error = device.inclusive_scan(&x, bytes).unwrap_err().to_string();
    assert!(
        error.contains("scan") && error.contains("one of 4 bytes in other words"),
        "{error}"
    );
    let x = device.zeros::<[u32; 4]>(3).unwrap();
    let request = device.scan_request(&x, matrices).variant("naive");
    let error = request.run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    let other = Module::from_ptx(".version 6.3\n.entry something()\n").unwrap();
    // SAFETY: the kernel is not there, and so it is not run.
    let missing = unsafe { other.scan_operator::<Matrices>() };
    let error = device.inclusive_scan(&x, missing).unwrap_err();
    assert!(matches!(error, Error::UnknownKernel { .. }), "{error:?}");
    assert!(error.to_string().contains("scan_matrices"), "{error}");
}
