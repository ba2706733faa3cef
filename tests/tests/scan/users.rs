//! A user's own operators: elements and prefixes of other sizes, not commutative, at every alignment; of an array, of segments,
//! runs of equal keys, rows and columns.

use std::fmt::Debug;

use cuda_builder::NvvmArch;
use cuda_std::scan::{
    MOST_BATCHES, SEGMENTED_CHUNKS, Scan, ScanKernel, SegmentedScanKernel, THREADS, WINDOWS,
    elements_of_tile,
};
use cuda_std_device_tests::operators::{Balanced, Fitting, FourBytes, Matrices};
use rand::Rng;
use warpwright::{Device, Element, Error, MatrixView, Module};
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

/// Checks the scans of segments, by key, of rows and of columns of one operator, in place and not.
fn check_segments<R: SegmentedScanKernel<In: Element + Debug> + Clone>(
    module: &Module,
    make: impl Fn(u64) -> R::In,
    initial: R::In,
) {
    let tile = THREADS * SEGMENTED_CHUNKS * 16 / size_of::<R::In>();
    let all: Vec<R::In> = {
        let mut generator = data::generator(11);
        (0..tile + 80).map(|_| make(generator.random())).collect()
    };
    for device in devices::all() {
        // SAFETY: the module is built from the crate that has the operators.
        let operator = unsafe { module.scan_operator::<R>() };
        for (len, offset) in [(0, 0), (1, 1), (36, 0), (tile - 1, 3), (tile + 80, 0)] {
            let values = &all[offset..offset + len];
            let input = device.upload(&all).unwrap();
            let view = || input.slice(offset..offset + len).unwrap();
            /// Checks the request, with its options and not, of the scan that begins anew at each element with a head.
            macro_rules! same {
                ($request:expr, $in_place:expr, $is_head:expr) => {{
                    let is_head = $is_head;
                    let wanted = by_segments::<R>(values, is_head, true, Some(initial));
                    let mut prepared = $request.exclusive().initial(initial).prepare().unwrap();
                    for _ in 0..2 {
                        prepared.enqueue().unwrap();
                        let got = prepared.output().unwrap().to_vec().unwrap();
                        let what = format!("{len} from {offset}, on {}", device.kind());
                        assert_eq!(compare::same_bits(&got, &wanted), Ok(()), "{what}");
                    }
                    let wanted = by_segments::<R>(values, is_head, false, None);
                    let got = $request.run().unwrap().to_vec().unwrap();
                    assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
                    $in_place.run().unwrap();
                    wanted
                }};
            }
            let mut heads =
                [0, 1, 1, 2, 35, len / 2, len * 2 / 3, len].map(|head| head.min(len) as u32);
            heads.sort_unstable();
            let segments = device.segments(device.upload(&heads).unwrap()).unwrap();
            let mut values_there = device.upload(values).unwrap();
            let wanted = same!(
                device.scan_segments_request(view(), &segments, operator.clone()),
                device.scan_segments_in_place_request(
                    &mut values_there,
                    &segments,
                    operator.clone()
                ),
                |i: usize| i == 0 || heads.contains(&(i as u32))
            );
            let got = values_there.to_vec().unwrap();
            assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
            let keys: Vec<u8> = (0..len).map(|i| (i / 7 % 3 + i / 100) as u8).collect();
            let keys_there = device.upload(&keys).unwrap();
            let mut values_there = device.upload(values).unwrap();
            let wanted = same!(
                device.scan_by_key_request(&keys_there, view(), operator.clone()),
                device.scan_by_key_in_place_request(
                    &keys_there,
                    &mut values_there,
                    operator.clone()
                ),
                |i: usize| i == 0 || keys[i] != keys[i - 1]
            );
            let got = values_there.to_vec().unwrap();
            assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
            for width in [1, 5, 36, len.max(1)] {
                if !len.is_multiple_of(width) {
                    continue;
                }
                let height = len / width;
                let mut matrix = device.upload_matrix(values, height, width).unwrap();
                let rows = MatrixView::from_vector(view(), height, width).unwrap();
                let wanted = same!(
                    device.scan_rows_request(rows, operator.clone()),
                    device.scan_rows_in_place_request(&mut matrix, operator.clone()),
                    |i: usize| i.is_multiple_of(width)
                );
                let got = matrix.to_vec().unwrap();
                assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
                let across = |values: &[R::In], height: usize, width: usize| -> Vec<R::In> {
                    (0..width)
                        .flat_map(|j| (0..height).map(move |i| values[i * width + j]))
                        .collect()
                };
                let turned = across(values, height, width);
                let begins = |i: usize| i.is_multiple_of(height);
                let wanted = by_segments::<R>(&turned, begins, false, None);
                let wanted = across(&wanted, width, height);
                let got = device.scan_columns(rows, operator.clone()).unwrap();
                let got = got.to_vec().unwrap();
                assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
                let mut matrix = device.upload_matrix(values, height, width).unwrap();
                let request = device.scan_columns_in_place_request(&mut matrix, operator.clone());
                request.run().unwrap();
                let got = matrix.to_vec().unwrap();
                assert_eq!(compare::same_bits(&got, &wanted), Ok(()));
            }
        }
    }
}

/// Computes the scans of segments one after the other. A segment begins at each element of which `is_head` is true.
fn by_segments<R: Scan>(
    values: &[R::In],
    is_head: impl Fn(usize) -> bool,
    exclusive: bool,
    initial: Option<R::In>,
) -> Vec<R::In> {
    let heads = (1..values.len()).filter(|i| is_head(*i));
    let ends: Vec<usize> = heads.chain([values.len()]).collect();
    let begins = [0].into_iter().chain(ends.iter().copied());
    let segments = begins.zip(&ends);
    segments
        .flat_map(|(begin, end)| expected::<R>(&values[begin..*end], exclusive, initial))
        .collect()
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

#[test]
fn segments_by_operators_of_a_user() {
    let module = module();
    let words = |hash: u64| [hash as u32, (hash >> 16) as u32, (hash >> 32) as u32, 3];
    check_segments::<Matrices>(&module, words, [1, 2, 3, 4]);
    let bytes = |hash: u64| b"((()))x("[(hash >> 61) as usize];
    check_segments::<Balanced>(&module, bytes, b'(');
}

/// More tiles than a batch has; segments of more than a batch, and ends in the last lanes of tiles.
#[test]
fn segments_of_many_tiles_by_an_operator_of_a_user() {
    let module = module();
    let tile = THREADS * SEGMENTED_CHUNKS;
    let len = 32 * WINDOWS * tile + 4 * tile + 99;
    let values: Vec<[u32; 4]> = (0..len)
        .map(|i| [i as u32 | 1, 1, 0, i as u32 ^ 5])
        .collect();
    let heads = [3, 3, tile - 1, 2 * tile, 66 * tile + 31].map(|head| head as u32);
    let is_head = |i: usize| heads.contains(&(i as u32));
    let wanted = by_segments::<Matrices>(&values, is_head, false, None);
    for device in devices::all() {
        // SAFETY: the module is built from the crate that has the operator.
        let operator = unsafe { module.scan_operator::<Matrices>() };
        let input = device.upload(&values).unwrap();
        let segments = device.segments(device.upload(&heads).unwrap()).unwrap();
        let got = device.scan_segments(&input, &segments, operator).unwrap();
        assert_eq!(compare::same_bits(&got.to_vec().unwrap(), &wanted), Ok(()));
    }
}

/// A sum fits in its segment, and does not where a segment has more.
#[test]
fn an_operator_that_panics_in_a_segment_is_an_error() {
    // SAFETY: the module is built from the crate that has the operator.
    let fitting = unsafe { module().scan_operator::<Fitting>() };
    let device = Device::cpu();
    let mut values = vec![1; 20_000];
    (values[100], values[17_000]) = (i32::MAX - 9, i32::MAX - 9);
    let input = device.upload(&values).unwrap();
    let sums = |heads: &[u32]| {
        let segments = device.segments(device.upload(heads)?)?;
        device
            .scan_segments(&input, &segments, fitting.clone())?
            .to_vec()
    };
    let heads = [100, 110, 17_000, 17_010];
    let is_head = |i: usize| heads.contains(&(i as u32));
    let wanted = by_segments::<Fitting>(&values, is_head, false, None);
    assert_eq!(sums(&heads).unwrap(), wanted);
    let error = sums(&[100, 17_000, 17_011]).unwrap_err().to_string();
    let parts = ["scan_fitting_of_segments", "the sum does not fit"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

/// More batches of tiles than a block adds by itself, so that blocks wait for the batches before theirs.
#[test]
fn many_tiles_of_an_operator_of_a_user() {
    let module = module();
    let len = (MOST_BATCHES * 32 * WINDOWS + 3) * elements_of_tile::<[u32; 4]>(THREADS) + 99;
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
    let whole = device.inclusive_scan(&x, bytes.clone()).err();
    let by_key = device
        .scan_by_key(&device.zeros::<u8>(3).unwrap(), &x, bytes)
        .err();
    for error in [whole, by_key].map(|error| error.unwrap().to_string()) {
        assert!(
            error.contains("scan") && error.contains("one of 4 bytes in other words"),
            "{error}"
        );
    }
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
