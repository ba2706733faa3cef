//! More than 2^32 elements, of one byte each, for the variants that the library chooses.
//!
//! CUDA devices with room for it do all of it in seconds. The CPU executor needs hours: it is left out, and a
//! line says so, unless `WARPWRIGHT_HUGE_ON_CPU=1` asks for it.

use std::{
    io::Write as _,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use cuda_builder::NvvmArch;
use cuda_std_device_tests::maps::{Brighten, Pattern, pattern};
use rayon::prelude::*;
use warpwright::{
    Device, Matrix, Module, Vector, VectorView,
    ops::{scan::Operator, select::Compare},
};
use warpwright_tests::{
    compare, device_library,
    devices::{self, Executor},
};

/// A few more than a 32-bit number counts.
const LEN: usize = (1 << 32) + 3;

/// A matrix of more elements than that, of which no side is a multiple of a tile's.
const HEIGHT: usize = 65537;
const WIDTH: usize = 65539;
const _: () = assert!(HEIGHT * WIDTH > 1 << 32);

/// What the host looks at in one piece.
const PIECE: usize = 1 << 26;

/// Writes a line, which the test harness does not keep back.
fn tell(line: &str) {
    // There is nobody to tell that standard error is closed.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Calls `work` with every device that has `bytes` to spare, one test at a time; says what is left out.
fn with_room(what: &str, bytes: usize, work: impl Fn(&Device)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let devices = Executor::Cuda.devices();
    if devices.is_empty() {
        devices::leave_out(1);
        tell(&format!("huge {what}: left out, there is no CUDA device"));
    }
    for device in devices {
        let free = device.free_memory().unwrap();
        // What the operation takes beside its arrays.
        let required = bytes as u64 + (1 << 28);
        if free < required {
            let kind = device.kind();
            tell(&format!(
                "huge {what}: left out on {kind}, {required} bytes required, {free} free"
            ));
            continue;
        }
        work(device);
    }
    if std::env::var_os("WARPWRIGHT_HUGE_ON_CPU").is_some_and(|value| value == "1") {
        work(&Device::cpu());
    } else {
        tell(&format!(
            "huge {what}: left out on the CPU executor, WARPWRIGHT_HUGE_ON_CPU=1 asks for it"
        ));
    }
}

/// The bytes of [`pattern`], made on the device.
fn filled(device: &Device, len: usize) -> Vector<u8> {
    let module = Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap();
    // SAFETY: the module is built from the crate that has the function.
    let pattern = unsafe { module.map_function(Pattern(0.0)) };
    let values = device.map_positions(len, pattern);
    values.unwrap()
}

/// The parts of `0..len` that the host looks at one by one.
fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len)
        .step_by(PIECE)
        .map(move |start| start..len.min(start + PIECE))
}

/// Panics unless every element is that of `expected`.
fn assert_every<'a>(what: &str, values: VectorView<'a, u8>, expected: impl Fn(usize) -> u8 + Sync) {
    let mut got = vec![0_u8; PIECE];
    for piece in pieces(values.len()) {
        let got = &mut got[..piece.len()];
        let start = piece.start;
        values.slice(piece).unwrap().download(got).unwrap();
        let wrong = (0..got.len())
            .into_par_iter()
            .find_first(|i| got[*i] != expected(start + i));
        if let Some(i) = wrong {
            let (at, got) = (start + i, got[i]);
            panic!("{what}: element {at} is {got}, not {}", expected(at));
        }
    }
}

/// Panics unless the elements are those that `make` gives for the positions of each piece in turn, one behind the other.
fn assert_made(
    what: &str,
    values: VectorView<'_, u8>,
    mut make: impl FnMut(Range<usize>) -> Vec<u8>,
) {
    let mut got = vec![0_u8; PIECE];
    let mut at = 0;
    for piece in pieces(LEN) {
        let wanted = make(piece);
        let got = &mut got[..wanted.len()];
        let place = values.slice(at..at + wanted.len()).unwrap();
        place.download(got).unwrap();
        if let Err(why) = compare::same_bits(got, &wanted) {
            panic!("{what}, from {at} on: {why}");
        }
        at += wanted.len();
    }
    assert_eq!(values.len(), at, "{what}");
}

/// The sum of the pattern's bytes at `positions`.
fn pattern_sum(positions: impl ParallelIterator<Item = usize>) -> u64 {
    positions.map(|i| u64::from(pattern(i))).sum()
}

#[test]
fn map() {
    with_room("map", 2 * LEN, |device| {
        let values = filled(device, LEN);
        assert_every("positions", values.view(), pattern);
        let module = Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap();
        // SAFETY: as above.
        let brighten = unsafe { module.map_function(Brighten(150.0)) };
        let brighter = device.map(&values, brighten);
        assert_every("bytes", brighter.unwrap().view(), |i| {
            pattern(i).saturating_add(150)
        });
    });
}

#[test]
fn reduce() {
    with_room("reduce", LEN, |device| {
        let mut values = filled(device, LEN);
        let last = LEN - 1;
        let sum = pattern_sum((0..last).into_par_iter());
        // The pattern has no 0 and no 255: the only one is in the last place.
        values.slice_mut(last..).unwrap().upload(&[255]).unwrap();
        assert_eq!(device.sum(&values).unwrap(), sum + 255);
        assert_eq!(device.max(&values).unwrap(), Some(255));
        assert_eq!(device.argmax(&values).unwrap(), Some(last as u64));
        // A part that begins at an odd address.
        let part = values.slice(1..).unwrap();
        assert_eq!(device.sum(part).unwrap(), sum + 255 - u64::from(pattern(0)));
        assert_eq!(device.argmax(part).unwrap(), Some(last as u64 - 1));
        values.slice_mut(last..).unwrap().upload(&[0]).unwrap();
        assert_eq!(device.min(&values).unwrap(), Some(0));
        assert_eq!(device.argmin(&values).unwrap(), Some(last as u64));
    });
}

#[test]
fn histogram() {
    with_room("histogram", LEN, |device| {
        let mut values = filled(device, LEN);
        let counts = (0..LEN)
            .into_par_iter()
            .fold(
                || vec![0_u64; 256],
                |mut counts, i| {
                    counts[usize::from(pattern(i))] += 1;
                    counts
                },
            )
            .reduce(
                || vec![0; 256],
                |a, b| a.iter().zip(b).map(|(a, b)| a + b).collect(),
            );
        assert_eq!(device.histogram(&values, 256).unwrap().counts, counts);
        // One bin with more than a 32-bit number counts, then as many values outside.
        values.view_mut().clear().unwrap();
        let all = device.histogram(&values, 1).unwrap();
        assert_eq!((all.counts, all.outside), (vec![LEN as u64], 0));
        let ones = vec![1_u8; PIECE];
        for piece in pieces(LEN) {
            let len = piece.len();
            values
                .slice_mut(piece)
                .unwrap()
                .upload(&ones[..len])
                .unwrap();
        }
        let none = device.histogram(&values, 1).unwrap();
        assert_eq!((none.counts, none.outside), (vec![0], LEN as u64));
    });
}

#[test]
fn transpose() {
    with_room("transpose", 2 * HEIGHT * WIDTH, |device| {
        let values = filled(device, HEIGHT * WIDTH);
        let matrix = Matrix::from_vector(values, HEIGHT, WIDTH).unwrap();
        let transposed = device.transpose(&matrix).unwrap();
        assert_eq!((transposed.height(), transposed.width()), (WIDTH, HEIGHT));
        assert_every("transposed", transposed.as_vector().view(), |i| {
            let (row, column) = (i / HEIGHT, i % HEIGHT);
            pattern(column * WIDTH + row)
        });
    });
}

/// Sums and greatest elements along both axes, of a matrix whose last element is its greatest.
#[test]
fn columns_and_rows() {
    with_room("columns and rows", HEIGHT * WIDTH, |device| {
        let mut values = filled(device, HEIGHT * WIDTH);
        let last = HEIGHT * WIDTH - 1;
        values.slice_mut(last..).unwrap().upload(&[255]).unwrap();
        let matrix = Matrix::from_vector(values, HEIGHT, WIDTH).unwrap();
        let more = 255 - u64::from(pattern(last));

        let rows: Vec<u64> = (0..HEIGHT)
            .into_par_iter()
            .map(|row| {
                let row = row * WIDTH..(row + 1) * WIDTH;
                let sum: u64 = row.clone().map(|i| u64::from(pattern(i))).sum();
                sum + if row.contains(&last) { more } else { 0 }
            })
            .collect();
        let got = device.row_sums(&matrix).unwrap().to_vec().unwrap();
        compare::same_bits(&got, &rows).unwrap();

        let add = |mut a: Vec<u64>, b: Vec<u64>| {
            for (a, b) in a.iter_mut().zip(b) {
                *a += b;
            }
            a
        };
        let mut columns = (0..HEIGHT)
            .into_par_iter()
            .fold(
                || vec![0_u64; WIDTH],
                |mut sums, row| {
                    for (column, sum) in sums.iter_mut().enumerate() {
                        *sum += u64::from(pattern(row * WIDTH + column));
                    }
                    sums
                },
            )
            .reduce(|| vec![0; WIDTH], add);
        columns[WIDTH - 1] += more;
        let got = device.column_sums(&matrix).unwrap().to_vec().unwrap();
        compare::same_bits(&got, &columns).unwrap();

        for (greatest, len) in [
            (device.reduce_rows(&matrix).max(), HEIGHT),
            (device.reduce_columns(&matrix).max(), WIDTH),
        ] {
            let greatest = greatest.unwrap().to_vec().unwrap();
            assert_eq!(greatest.len(), len);
            assert_eq!(
                greatest.iter().position(|value| *value == 255),
                Some(len - 1)
            );
        }
    });
}

/// One row, and one column, of more than 2^32 elements.
#[test]
fn one_row_and_one_column() {
    with_room("row and column", LEN, |device| {
        let values = filled(device, LEN);
        let sum = pattern_sum((0..LEN).into_par_iter());
        let row = Matrix::from_vector(values, 1, LEN).unwrap();
        assert_eq!(device.row_sums(&row).unwrap().to_vec().unwrap(), [sum]);
        let column = Matrix::from_vector(row.into_vector(), LEN, 1).unwrap();
        assert_eq!(
            device.column_sums(&column).unwrap().to_vec().unwrap(),
            [sum]
        );
    });
}

#[test]
fn scan() {
    with_room("scan", 2 * LEN, |device| {
        let mut values = filled(device, LEN);
        let mut sum = 0_u8;
        let sums = device.cumulative_sum(&values).unwrap();
        assert_made("sums", sums.view(), |piece| {
            let next = |i| {
                sum = sum.wrapping_add(pattern(i));
                sum
            };
            piece.map(next).collect()
        });
        drop(sums);
        // The greatest elements so far: the pattern has no 255.
        let last = LEN - 1;
        values.slice_mut(last..).unwrap().upload(&[255]).unwrap();
        let greatest = device.inclusive_scan(&values, Operator::Max).unwrap();
        let end = greatest.slice(last - 1..).unwrap().to_vec().unwrap();
        assert_eq!(end, [128, 255]);
    });
}

#[test]
fn select() {
    with_room("select", 2 * LEN, |device| {
        let values = filled(device, LEN);
        // More than a 32-bit number counts.
        let all = device.select(&values, Compare::less(129_u8)).unwrap();
        assert_eq!(all.len(), LEN);
        assert_every("all", all.view(), pattern);
        drop(all);
        let some = device.select(&values, Compare::greater(50_u8)).unwrap();
        assert_made("above 50", some.view(), |piece| {
            let bytes = piece.into_par_iter().map(pattern);
            bytes.filter(|byte| *byte > 50).collect()
        });
    });
}

#[test]
fn unique() {
    with_room("unique", 2 * LEN, |device| {
        let mut values = filled(device, LEN);
        // No two neighbors of the pattern are equal.
        let all = device.unique(&values).unwrap();
        assert_eq!(all.len(), LEN);
        assert_every("all", all.view(), pattern);
        drop(all);
        // A run of more than 2^32, and the last element.
        values.slice_mut(..LEN - 1).unwrap().clear().unwrap();
        let two = device.unique(&values).unwrap().to_vec().unwrap();
        assert_eq!(two, [0, pattern(LEN - 1)]);
    });
}

#[test]
fn run_lengths() {
    // A key and a length for each element, and in the workspace a position of 8 bytes and a bit.
    with_room("run lengths", 19 * LEN, |device| {
        let mut values = filled(device, LEN);
        let (keys, lengths) = device.run_lengths(&values).unwrap();
        assert_eq!((keys.len(), lengths.len()), (LEN, LEN));
        assert_every("keys", keys.view(), pattern);
        assert_eq!(device.sum(&lengths).unwrap(), LEN as u64);
        assert_eq!(device.min(&lengths).unwrap(), Some(1));
        drop((keys, lengths));
        values.slice_mut(..LEN - 1).unwrap().clear().unwrap();
        let (keys, lengths) = device.run_lengths(&values).unwrap();
        assert_eq!(keys.to_vec().unwrap(), [0, pattern(LEN - 1)]);
        assert_eq!(lengths.to_vec().unwrap(), [LEN as u64 - 1, 1]);
    });
}

#[test]
fn sort() {
    with_room("sort", 10 * LEN, |device| {
        let values = filled(device, LEN);
        let sorted = device.sort(&values).unwrap();
        let mut ends = device.histogram(&values, 256).unwrap().counts;
        for byte in 1..ends.len() {
            ends[byte] += ends[byte - 1];
        }
        assert_every("sorted", sorted.view(), |i| {
            ends.partition_point(|end| *end <= i as u64) as u8
        });
        drop(sorted);
        let request = device.argsort_request::<u8, u64>(&values);
        let positions = request.run().unwrap();
        // Bytes that do not fall, and positions that rise where the bytes are equal, are those of a stable sort.
        let mut got = vec![0_u64; PIECE + 1];
        for piece in pieces(LEN) {
            let start = piece.start.saturating_sub(1);
            let got = &mut got[..piece.end - start];
            let part = positions.slice(start..piece.end).unwrap();
            part.download(got).unwrap();
            let key = |position: u64| (pattern(position as usize), position);
            let wrong = got
                .par_windows(2)
                .find_first(|two| key(two[0]) >= key(two[1]) || two[1] >= LEN as u64);
            assert_eq!(wrong, None, "positions from {start} on");
        }
    });
}

#[test]
fn top_k() {
    // Everything is sorted.
    with_room("top_k", 21 * LEN, |device| {
        let mut values = filled(device, LEN);
        let last = LEN - 1;
        for (place, value) in [(5, 254), (last, 255)] {
            let place = place..place + 1;
            values.slice_mut(place).unwrap().upload(&[value]).unwrap();
        }
        let first = |byte| (0..LEN).find(|i| *i != 5 && pattern(*i) == byte).unwrap() as u64;
        let (greatest, positions) = device.top_k(&values, 3).unwrap();
        assert_eq!(greatest.to_vec().unwrap(), [255, 254, 128]);
        assert_eq!(positions.to_vec().unwrap(), [last as u64, 5, first(128)]);
        drop((greatest, positions));
        let ones = device.histogram(&values, 256).unwrap().counts[1] as usize;
        for (k, byte) in [
            (0, 1),
            (ones - 1, 1),
            (ones, 2),
            (last - 1, 254),
            (last, 255),
        ] {
            assert_eq!(device.select_kth(&values, k).unwrap(), byte, "number {k}");
        }
    });
}
