//! Scans of segments, by key and of rows, held to a loop over the elements.

use warpwright::{
    CpuOptions, Device, Error, InvalidKind, MatrixView,
    ops::scan::{Operator, Scannable},
};
use warpwright_gpu::{
    reduce::{Max, Min},
    scan::{Product, Scan, ScanSegmentedPersistent, Start, Sum, SumOfBytes, policy::Policy},
    tuning::shipped,
};
use warpwright_tests::{Number, compare, data::Data, devices};

use super::{in_orders, module, rounding};
use cuda_std::{
    bf16,
    cpu::{Checks, Order},
    f16,
    kernel::LaunchConfig,
};

/// Returns the scan that begins anew at every position in `heads`, from `initial` if that is given.
fn expected<T: Copy>(
    values: &[T],
    is_head: impl Fn(usize) -> bool,
    combine: impl Fn(T, T) -> T,
    initial: Option<T>,
    exclusive: bool,
) -> Vec<T> {
    let mut prefix = initial;
    let results = values.iter().enumerate().map(|(i, value)| {
        let before = if is_head(i) { initial } else { prefix };
        let next = before.map_or(*value, |before| combine(before, *value));
        prefix = Some(next);
        match (exclusive, before) {
            (true, Some(before)) => before,
            (true, None) => unreachable!("an exclusive scan has an initial value here"),
            _ => next,
        }
    });
    results.collect()
}

/// Offsets of segments of `len` elements that begin and end inside, every fourth one empty, from seeded lengths up to `most`.
fn offsets(len: usize, most: usize) -> Vec<u32> {
    let lengths: Vec<u32> = Data::Spread.values(len);
    let mut offsets = vec![(len / 9) as u32];
    for (i, seed) in lengths.into_iter().enumerate() {
        let step = if i % 4 == 3 { 0 } else { seed as usize % most };
        let next = *offsets.last().unwrap() as usize + step;
        if next > len {
            break;
        }
        offsets.push(next as u32);
    }
    offsets
}

/// Checks the sums of one type for every way to say where segments begin.
fn check<T: Number + Scannable>(
    operator: Operator,
    combine: impl Fn(T, T) -> T + Copy,
    initial: T,
    len: usize,
) {
    let all: Vec<T> = Data::Spread.values(len + 3);
    let keys: Vec<u16> = (0..len + 3).map(|i| (i / 5 % 3) as u16).collect();
    for device in in_orders() {
        let (values, keys_there) = (device.upload(&all).unwrap(), device.upload(&keys).unwrap());
        for (offset, exclusive) in [(0, false), (1, true), (3, false)] {
            let part = offset..offset + len;
            let (here, keys) = (&all[part.clone()], &keys[part.clone()]);
            let view = || values.slice(part.clone()).unwrap();
            let start = (exclusive || len.is_multiple_of(2)).then_some(initial);
            macro_rules! same {
                ($request:expr, $is_head:expr) => {{
                    let mut request = $request;
                    if exclusive {
                        request = request.exclusive();
                    }
                    if let Some(start) = start {
                        request = request.initial(start);
                    }
                    let mut prepared = request.prepare().unwrap();
                    let want = expected(here, $is_head, combine, start, exclusive);
                    // Words of the launch before are not cleared.
                    for _ in 0..2 {
                        prepared.enqueue().unwrap();
                        let got = prepared.output().unwrap().to_vec().unwrap();
                        let outcome = compare::same_bits(&got, &want);
                        assert_eq!(outcome, Ok(()), "{len} from {offset}, {}", device.kind());
                    }
                }};
            }
            for most in [2, 40, 3000] {
                let heads = offsets(len, most);
                let segments = device.upload(&heads).unwrap();
                let segments = device.segments(segments).unwrap();
                same!(
                    device.scan_segments_request(view(), &segments, operator),
                    |i| heads.binary_search(&(i as u32)).is_ok()
                );
            }
            let there = keys_there.slice(part.clone()).unwrap();
            same!(device.scan_by_key_request(there, view(), operator), |i| i
                == 0
                || keys[i] != keys[i - 1]);
            for width in [1, 7, 31, 64, len.max(1)] {
                if len.is_multiple_of(width) {
                    let rows = MatrixView::from_vector(view(), len / width, width).unwrap();
                    same!(device.scan_rows_request(rows, operator), |i| i
                        .is_multiple_of(width));
                }
            }
        }
    }
}

#[test]
fn sums_and_maxima_of_words_bytes_and_long_words() {
    for len in [0, 1, 14, 31, 64, 4095, 4096, 8192 + 7] {
        check::<u32>(Operator::Sum, u32::wrapping_add, 5, len);
    }
    for len in [16, 217, 16_384, 33_000] {
        check::<u8>(Operator::Sum, u8::wrapping_add, 200, len);
        check::<i64>(Operator::Max, i64::max, -3, len);
    }
    check::<u16>(Operator::Product, u16::wrapping_mul, 3, 8193);
    check::<i32>(Operator::Min, i32::min, i32::MAX, 4097);
}

/// More tiles than a batch has, so that blocks wait for the batches before theirs; segments longer than a batch.
#[test]
fn segments_of_many_tiles() {
    let cpu = |order| Device::cpu_with(CpuOptions::default().checks(Checks::NONE).order(order));
    let len = 700_000;
    let values: Vec<f32> = (0..len).map(|i| (i % 13) as f32 - 6.0).collect();
    let heads: [u32; 5] = [3, 90_001, 90_001, 100_000, 650_000];
    let is_head = |i: usize| i == 0 || heads.contains(&(i as u32));
    let want = expected(&values, is_head, |a, b| a + b, None, false);
    // Enough for persistent blocks.
    let width = 1000;
    let height = shipped::<Policy, f64>().persistent_bytes / 8 / width + 1;
    let matrix: Vec<f64> = (0..height * width).map(|i| (i % 17) as f64 - 8.0).collect();
    let is_first = |i: usize| i.is_multiple_of(width);
    let want_of_rows = expected(&matrix, is_first, |a, b| a + b, None, false);
    for device in [cpu(Order::Forward), cpu(Order::Seeded(3))] {
        let input = device.upload(&values).unwrap();
        let segments = device.segments(device.upload(&heads).unwrap()).unwrap();
        let got = device.scan_segments(&input, &segments, Operator::Sum);
        let got = got.unwrap().to_vec().unwrap();
        assert_eq!(compare::same_bits(&got, &want), Ok(()));
        let input = device.upload_matrix(&matrix, height, width).unwrap();
        let got = device.scan_rows(&input, Operator::Sum).unwrap();
        let got = got.to_vec().unwrap();
        assert_eq!(compare::same_bits(&got, &want_of_rows), Ok(()));
    }
}

/// Holds the kernel with persistent blocks to the one with a block per tile, which small inputs get. `$lens` makes lengths of
/// the length of a tile, each with a greatest distance of offsets.
macro_rules! both_kernels {
    ($scan:ty, $operator:expr, $lens:expr, $blocks:expr) => {{
        type Type = <$scan as Scan>::In;
        let policy: Policy = shipped::<Policy, Type>().of_segments();
        let words = size_of::<<$scan as Scan>::Acc>().div_ceil(4);
        let tile = policy.tile_bytes() / size_of::<Type>();
        for (len, most) in $lens(tile) {
            let values: Vec<Type> = rounding(len);
            let offsets = offsets(len, most);
            // The kernel copies up to 16 bytes at once, and zeros behind the end: compute-sanitizer wants those bytes too.
            let mut bits = vec![0_u32; len.div_ceil(32).next_multiple_of(4)];
            for offset in offsets.iter().map(|it| *it as usize).filter(|it| *it < len) {
                bits[offset / 32] |= 1 << (offset % 32);
            }
            for device in in_orders() {
                let input = device.upload(&values).unwrap();
                let segments = device.segments(device.upload(&offsets).unwrap()).unwrap();
                let request = device.scan_segments_request(&input, &segments, $operator);
                let request = request.exclusive().initial(values[0]);
                let want = request.run().unwrap().to_vec().unwrap();
                let (module, heads) = (module(), device.upload(&bits).unwrap());
                let mut control = device.zeros::<u64>(1).unwrap();
                let tiles = len.div_ceil(tile);
                let mut statuses = device.zeros::<u64>(tiles * words).unwrap();
                for blocks in $blocks {
                    let mut output = device.zeros::<Type>(len).unwrap();
                    let mut config = LaunchConfig::linear(blocks, policy.threads as u32);
                    config.shared_bytes = policy.segmented_ring_bytes(size_of::<Type>()) as u32;
                    let start = Start::new(<$scan>::load(values[0]), true).unwrap();
                    let args = (
                        &input,
                        &mut output,
                        &heads,
                        &mut control,
                        &mut statuses,
                        start,
                    );
                    // SAFETY: the arrays have the lengths that the kernel asks for, and were 0 before the first launch.
                    unsafe {
                        device.launch::<ScanSegmentedPersistent<$scan>>(&module, config, args)
                    }
                    .unwrap();
                    let outcome = compare::same_bits(&output.to_vec().unwrap(), &want);
                    let name = stringify!($scan);
                    assert_eq!(outcome, Ok(()), "{name}, {len}, {blocks} blocks");
                }
            }
        }
    }};
}

#[test]
fn both_kernels_give_the_same_bits_for_every_grid_and_order() {
    let lens = |tile| [(tile + 1, 3), (5 * tile + 3, 700), (6 * tile, 4 * tile)];
    both_kernels!(Sum<f32>, Operator::Sum, lens, [1, 2, 3, 7]);
    both_kernels!(Sum<f64>, Operator::Sum, lens, [1, 2, 3, 7]);
    both_kernels!(SumOfBytes, Operator::Sum, lens, [1, 2, 3, 7]);
    both_kernels!(Max<u16>, Operator::Max, lens, [1, 2, 3, 7]);
}

#[test]
fn both_kernels_of_every_type_and_operator_give_the_same_bits() {
    let lens = |tile| [(2 * tile + 3, 700)];
    macro_rules! each {
        ($operator:ident: $($type:ident)*) => { $(
            both_kernels!($operator<$type>, Operator::$operator, lens, [2]);
        )* };
    }
    each!(Sum: u16 u32 u64 f16 bf16);
    each!(Product: u8 u16 u32 u64 f16 bf16 f32 f64);
    each!(Min: u8 u16 u32 u64 i32 i64 f16 bf16 f32 f64);
    each!(Max: u8 u32 u64 i32 i64 f16 bf16 f32 f64);
}

#[test]
fn every_order_and_offset_gives_the_same_bits() {
    let len = 20_000;
    let values: Vec<f32> = rounding(len);
    let mut first: Option<Vec<f32>> = None;
    for device in in_orders() {
        for offset in 0..4 {
            let mut behind = vec![0.0; offset];
            behind.extend(&values);
            let input = device.upload(&behind).unwrap();
            let segments = device.upload(&[0_u64, 7, 6000, 20_000]).unwrap();
            let segments = device.segments(segments).unwrap();
            let mut output = device.zeros::<f32>(len).unwrap();
            let view = input.slice(offset..).unwrap();
            let request = device.scan_segments_request(view, &segments, Operator::Sum);
            request.output_to(&mut output).run().unwrap();
            let got = output.to_vec().unwrap();
            let want = first.get_or_insert_with(|| got.clone());
            let outcome = compare::same_bits(&got, want);
            assert_eq!(outcome, Ok(()), "from {offset} on {}", device.kind());
        }
    }
}

#[test]
fn columns_are_the_rows_of_the_transpose() {
    for device in in_orders() {
        for (height, width) in [(0, 3), (3, 0), (1, 9), (9, 1), (33, 70), (500, 37)] {
            let values: Vec<u16> = Data::Spread.values(height * width);
            let matrix = device.upload_matrix(&values, height, width).unwrap();
            let mut want = values.clone();
            for i in width..height * width {
                want[i] = want[i].wrapping_add(want[i - width]);
            }
            let sums = device.scan_columns(&matrix, Operator::Sum).unwrap();
            assert_eq!(sums.to_vec().unwrap(), want, "{height} x {width}");
            let mut output = device.zeros_matrix::<u16>(height, width).unwrap();
            let request = device.scan_columns_request(&matrix, Operator::Sum);
            let mut prepared = request
                .initial(7)
                .exclusive()
                .output_to(&mut output)
                .prepare()
                .unwrap();
            for _ in 0..2 {
                prepared.enqueue().unwrap();
            }
            drop(prepared);
            let before = |i: usize| if i < width { 0 } else { want[i - width] };
            let want: Vec<u16> = (0..want.len()).map(|i| before(i).wrapping_add(7)).collect();
            assert_eq!(output.to_vec().unwrap(), want, "{height} x {width}");
        }
    }
}

#[test]
fn a_nan_and_an_infinity_stay_in_their_segment() {
    for device in devices::all() {
        let values = [1.0, f64::NAN, 2.0, 5.0, f64::INFINITY, -1.0];
        let input = device.upload(&values).unwrap();
        let segments = device.segments(device.upload(&[0_u32, 3, 5]).unwrap());
        let segments = segments.unwrap();
        let scan = |operator| {
            let scan = device.scan_segments(&input, &segments, operator);
            scan.unwrap().to_vec().unwrap()
        };
        let most = scan(Operator::Max);
        assert!(most[0] == 1.0 && most[1].is_nan() && most[2].is_nan());
        assert_eq!(most[3..], [5.0, f64::INFINITY, -1.0]);
        let sums = scan(Operator::Sum);
        assert_eq!(sums[3..], [5.0, f64::INFINITY, -1.0]);
        let keys = device.upload(&[1.0, 1.0, f32::NAN, f32::NAN, 0.0, -0.0]);
        let sums = device.scan_by_key(&keys.unwrap(), &input, Operator::Sum);
        let sums = sums.unwrap().to_vec().unwrap();
        // A NaN differs from itself, and zeros are equal.
        assert_eq!(sums[2..], [2.0, 5.0, f64::INFINITY, f64::INFINITY]);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = devices::cpu();
    let values = device.upload(&[1_u32, 2, 3]).unwrap();
    let segments = device.segments(device.upload(&[0_u32, 4]).unwrap());
    let segments = segments.unwrap();
    let kind = |error| match error {
        Error::Invalid { kind, .. } => kind,
        other => panic!("{other:?}"),
    };
    let error = device.scan_segments(&values, &segments, Operator::Sum);
    assert_eq!(kind(error.unwrap_err()), InvalidKind::Range);
    let keys = device.upload(&[1_u8, 1]).unwrap();
    let error = device.scan_by_key(&keys, &values, Operator::Sum);
    assert_eq!(kind(error.unwrap_err()), InvalidKind::Length);
    // Nothing to scan is no excuse.
    let none = device.upload::<u32>(&[]).unwrap();
    let error = device.scan_by_key(&keys, &none, Operator::Sum);
    assert_eq!(kind(error.unwrap_err()), InvalidKind::Length);
    let request = device.scan_by_key_request(&values, &values, Operator::Sum);
    let error = request.variant("naive").run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    let mut short = device.zeros::<u32>(2).unwrap();
    let request = device.scan_by_key_request(&values, &values, Operator::Sum);
    let error = request.output_to(&mut short).run().unwrap_err();
    assert_eq!(kind(error), InvalidKind::Length);
}
