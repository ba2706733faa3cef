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
use warpwright::{Device, Matrix, Module, Vector, VectorView};
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
