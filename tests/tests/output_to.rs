//! Requests that are told where their results go: what is there afterwards, and what is refused.

use std::fmt::Debug;

use warpwright::{
    Device, Error, Matrix, Result,
    ops::{
        Destination, Operation, Request,
        map::{PowPairs, Sqrt, Wave},
    },
};
use warpwright_tests::devices;

const UNTOUCHED: f32 = -7.0;

/// The error of a place that does not fit says what is wanted and what is there; nothing was written.
fn refused<R: Debug>(result: Result<R>, wanted: &str, given: &str) {
    let error = result.expect_err("a place that does not fit");
    let text = error.to_string();
    assert!(matches!(error, Error::Invalid { .. }), "{text}");
    assert!(text.contains(wanted) && text.contains(given), "{text}");
}

/// A request whose result is an array of so many elements, and what prepares it.
macro_rules! array {
    ($device:ident, $len:literal, $prepare:ident, $request:expr) => {{
        let (device, request) = ($device, || $request);
        let upload = |len: usize| device.upload(&vec![UNTOUCHED; len]);
        let mut prepared = request().$prepare()?;
        prepared.enqueue()?;
        let wanted = prepared.into_output()?.to_vec()?;
        assert_eq!(wanted.len(), $len);
        // The whole of an array, which comes back.
        let mut prepared = request().output_to(upload($len)?).$prepare()?;
        prepared.enqueue()?;
        assert_eq!(prepared.into_output()?.to_vec()?, wanted);
        // One that is lent, twice.
        let mut place = upload($len)?;
        let mut prepared = request().output_to(&mut place).$prepare()?;
        assert!(prepared.output().is_err());
        prepared.enqueue()?;
        prepared.enqueue()?;
        assert_eq!(prepared.output()?.to_vec()?, wanted);
        assert_eq!(place.to_vec()?, wanted);
        // A part of one, which another handle has made.
        let mut place = device.new_stream()?.upload(&[UNTOUCHED; $len + 3])?;
        let part = place.slice_mut(1..=$len)?;
        request().output_to(part).$prepare()?.enqueue()?;
        let found = place.to_vec()?;
        assert_eq!(found[1..=$len], wanted);
        assert_eq!([found[0], found[$len + 1], found[$len + 2]], [UNTOUCHED; 3]);

        for other in [$len - 1, $len + 1] {
            let mut place = upload(other)?;
            refused(
                request().output_to(&mut place).$prepare(),
                &format!("an output of {} elements", $len),
                &format!("{other} elements"),
            );
            assert_eq!(place.to_vec()?, vec![UNTOUCHED; other]);
        }
    }};
}

#[test]
fn an_array_is_overwritten_with_the_result() -> Result<()> {
    for device in devices::all() {
        let values = device.upload(&[4.0_f32, 9.0, 16.0, 25.0, 36.0, 49.0])?;
        let matrix = device.upload_matrix(&values.to_vec()?, 2, 3)?;
        array!(device, 3, prepare_min, device.reduce_columns(&matrix));
        array!(device, 3, prepare_sum, device.reduce_columns(&matrix));
        array!(device, 2, prepare_max, device.reduce_rows(&matrix));
        array!(device, 2, prepare_sum, device.reduce_rows(&matrix));
        array!(
            device,
            6,
            prepare,
            device.convolve_request(&values, &[0.5, 0.25])
        );
        array!(device, 6, prepare, device.map_request(&values, Sqrt));
        array!(
            device,
            6,
            prepare,
            device.map_pairs_request(&values, &values, PowPairs)
        );
        array!(device, 6, prepare, device.map_positions_request(6, Wave));
    }
    Ok(())
}

/// A request whose result is a matrix of 3 rows of 2.
fn matrix<Op, D>(
    device: &Device,
    request: impl Fn() -> Request<Op, D>,
    wanted: &[f32],
) -> Result<()>
where
    Op: Operation<Output = Matrix<f32>>,
    D: Destination<Op::Output>,
{
    let upload = |height: usize, width: usize| {
        device.upload_matrix(&vec![UNTOUCHED; height * width], height, width)
    };
    let mut place = upload(3, 2)?;
    let mut prepared = request().output_to(&mut place).prepare()?;
    for _ in 0..2 {
        prepared.enqueue()?;
    }
    assert_eq!(prepared.into_output()?.to_vec()?, wanted);
    // Rows of a larger one.
    let mut place = upload(5, 2)?;
    let mut prepared = request().output_to(place.rect_mut(1..4, ..)?).prepare()?;
    prepared.enqueue()?;
    drop(prepared);
    let found = place.to_vec()?;
    assert_eq!(found[2..8], *wanted);
    assert_eq!([&found[..2], &found[8..]], [&[UNTOUCHED; 2]; 2]);

    for (height, width) in [(2, 3), (3, 3), (6, 1)] {
        let mut place = upload(height, width)?;
        refused(
            request().output_to(&mut place).prepare(),
            "an output of 3 x 2 elements",
            &format!("{height} x {width} elements"),
        );
        assert_eq!(place.to_vec()?, vec![UNTOUCHED; height * width]);
    }
    Ok(())
}

#[test]
fn a_matrix_is_overwritten_with_the_result() -> Result<()> {
    for device in devices::all() {
        let values = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let wide = device.upload_matrix(&values, 2, 3)?;
        let high = device.upload_matrix(&values, 3, 2)?;
        let one = device.upload_matrix(&[1.0_f32, 0.0, 0.0, 1.0], 2, 2)?;
        let turned = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        matrix(device, || device.transpose_request(&wide), &turned)?;
        matrix(device, || device.gemm(&high, &one), &values)?;
        let doubled = values.map(|value| 2.0 * value);
        matrix(
            device,
            || device.convolve_rows_request(&high, &[2.0]),
            &doubled,
        )?;

        // Rows that are apart: a product's may be, the others' not.
        let mut place = device.upload_matrix(&[UNTOUCHED; 9], 3, 3)?;
        refused(
            device
                .transpose_request(&wide)
                .output_to(place.rect_mut(.., 1..)?)
                .run(),
            "rows follow one another",
            "rows 3 apart",
        );
        refused(
            device
                .convolve_rows_request(&high, &[2.0])
                .output_to(place.rect_mut(.., 1..)?)
                .run(),
            "rows follow one another",
            "rows 3 apart",
        );
        assert_eq!(place.to_vec()?, [UNTOUCHED; 9]);
        device
            .gemm(&high, &one)
            .output_to(place.rect_mut(.., 1..)?)
            .run()?;
        let wanted = [
            UNTOUCHED, 1.0, 2.0, UNTOUCHED, 3.0, 4.0, UNTOUCHED, 5.0, 6.0,
        ];
        assert_eq!(place.to_vec()?, wanted);
    }
    Ok(())
}

#[test]
fn counts_go_where_they_are_told_and_are_read_from_there() -> Result<()> {
    for device in devices::all() {
        for variant in warpwright_tests::cases::variants("histogram") {
            let values = device.upload(&[1_u8, 3, 3, 9])?;
            let request = || device.histogram_request(&values, 4).variant(variant.name);
            let mut counts = device.upload(&[7_u64; 6])?;
            let histogram = request().output_to(counts.slice_mut(1..5)?).run()?;
            assert_eq!(
                (&*histogram.counts, histogram.outside),
                (&[0, 1, 0, 2][..], 1)
            );
            assert_eq!(counts.to_vec()?, [7, 0, 1, 0, 2, 7]);
            // On the device, without a wait.
            let mut prepared = request().prepare()?;
            for _ in 0..2 {
                prepared.enqueue()?;
            }
            assert_eq!(prepared.output()?.to_vec()?, [0, 1, 0, 2]);
            refused(
                request().output_to(&mut counts).run(),
                "an output of 4 elements",
                "6 elements",
            );
            assert_eq!(counts.to_vec()?, [7, 0, 1, 0, 2, 7]);
        }
    }
    Ok(())
}

#[test]
fn a_place_on_another_device_is_refused() -> Result<()> {
    let cpu = Device::cpu();
    for device in devices::all().filter(|it| it.kind() != cpu.kind()) {
        let values = device.upload(&[1.0_f32, 2.0])?;
        let mut place = cpu.upload(&[UNTOUCHED; 2])?;
        let error = device
            .map_request(&values, Sqrt)
            .output_to(&mut place)
            .run();
        let error = error.map(drop).unwrap_err();
        assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
        assert_eq!(place.to_vec()?, [UNTOUCHED; 2]);
    }
    Ok(())
}
