//! Requests that are told where their results go: what is there afterwards, and what is refused.

use std::fmt::Debug;

use warpwright::{
    Device, Error, Matrix, Result,
    ops::{
        Destination, Operation, Request,
        map::{PowPairs, Sqrt, Wave},
        select::Compare,
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
        let segments = device.segments(device.upload(&[0_u32, 2, 2, 6])?)?;
        let request = || device.reduce_segments(&values, &segments);
        let mut means = device.upload(&[f64::from(UNTOUCHED); 5])?;
        request().output_to(means.slice_mut(1..4)?).mean()?;
        let found = means.to_vec()?;
        assert!(found[2].is_nan());
        assert_eq!(
            [found[0], found[1], found[3], found[4]],
            [-7.0, 6.5, 31.5, -7.0]
        );
        device
            .reduce(&values)
            .output_to(means.slice_mut(4..)?)
            .mean()?;
        assert_eq!(means.to_vec()?[4], 139.0 / 6.0);
        let fewer = request().output_to(&mut means).mean();
        refused(fewer, "an output of 3 elements", "5 elements");
        let none = device.reduce(values.slice(..0)?).output_on_device().mean();
        refused(none, "at least one element", "none");
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

/// A request with a second result of so many elements, which `$to` gives a place and `$get` returns.
macro_rules! second {
    ($device:ident, $len:expr, $to:ident, $get:ident, $request:expr) => {{
        let (device, len, request) = ($device, $len, || $request);
        let (first, wanted) = request().run()?;
        let (first, wanted) = (first.to_vec()?, wanted.to_vec()?);
        assert_eq!(wanted.len(), len);
        // A part of an array, which another handle has made; the options of a request stay.
        let marks = vec![77; len + 3];
        let mut place = device.new_stream()?.upload(&marks)?;
        let (keys, _) = request().$to(place.slice_mut(1..=len)?).run()?;
        assert_eq!(keys.to_vec()?, first);
        let found = place.to_vec()?;
        assert_eq!(found[1..=len], wanted);
        assert_eq!([found[0], found[len + 1], found[len + 2]], [77; 3]);
        // An array that is lent, twice.
        let mut place = device.upload(&marks[..len])?;
        let mut prepared = request().$to(&mut place).prepare()?;
        assert!(prepared.$get().is_err());
        prepared.enqueue()?;
        prepared.enqueue()?;
        assert_eq!(prepared.$get()?.to_vec()?, wanted);
        drop(prepared);
        assert_eq!(place.to_vec()?, wanted);
        for other in [len - 1, len + 1] {
            let mut place = device.upload(&vec![77; other])?;
            refused(
                request().$to(&mut place).prepare(),
                &format!("an output of {len} elements"),
                &format!("{other} elements"),
            );
            assert_eq!(place.to_vec()?, vec![77; other]);
        }
    }};
}

#[test]
fn keys_and_results_of_runs_go_where_they_are_told() -> Result<()> {
    for device in devices::all() {
        let keys = device.upload(&[4_u16, 4, 9, 9, 9, 4])?;
        let values = device.upload(&[1_u32, 2, 3, 4, 5, 6])?;
        for variant in warpwright_tests::cases::variants("segments") {
            // Parts of arrays that another handle has made.
            let other = device.new_stream()?;
            let (mut heads, mut lengths) =
                (other.upload(&[77_u16; 8])?, other.upload(&[77_u64; 8])?);
            let runs = || device.run_lengths_request(&keys).variant(variant.name);
            let (_, _, count) = runs()
                .keys_to(heads.slice_mut(1..7)?)
                .output_to(lengths.slice_mut(1..7)?)
                .run_counted()?;
            assert_eq!(count, 3);
            let (found, sizes) = (heads.to_vec()?, lengths.to_vec()?);
            assert_eq!(
                (&found[1..4], &sizes[1..4]),
                (&[4, 9, 4][..], &[2, 3, 1][..])
            );
            assert_eq!(
                ([found[0], found[7]], [sizes[0], sizes[7]]),
                ([77; 2], [77; 2])
            );

            // Arrays that are lent, twice, and the number on the device.
            let (mut heads, mut sums) =
                (device.upload(&[77_u16; 6])?, device.upload(&[77_u64; 6])?);
            let by_key = || device.reduce_by_key(&keys, &values).variant(variant.name);
            let request = by_key().keys_to(&mut heads).output_to(&mut sums);
            let mut prepared = request.prepare_sum()?;
            assert!(prepared.keys().is_err());
            prepared.enqueue()?;
            prepared.enqueue()?;
            assert_eq!(prepared.count()?, 3);
            assert_eq!(prepared.keys()?.to_vec()?[..3], [4, 9, 4]);
            drop(prepared);
            assert_eq!(sums.to_vec()?[..3], [3, 12, 6]);

            for len in [5, 7] {
                let mut place = device.upload(&vec![77_u16; len])?;
                let given = format!("{len} elements");
                let wanted = "an output of 6 elements";
                refused(runs().keys_to(&mut place).run_counted(), wanted, &given);
                refused(by_key().keys_to(&mut place).prepare_max(), wanted, &given);
                assert_eq!(place.to_vec()?, vec![77; len]);
            }
        }
        let mut place = device.upload(&[77_u32; 7])?;
        let request = device.select_request(&values, Compare::less(5));
        let (_, count) = request.output_to(place.slice_mut(..6)?).run_counted()?;
        assert_eq!((count, &place.to_vec()?[..4]), (4, &[1, 2, 3, 4][..]));
        let request = device.sorted_unique_request(&keys);
        let mut place = device.upload(&[77_u16; 6])?;
        let (_, count) = request.output_to(&mut place).run_counted()?;
        assert_eq!((count, &place.to_vec()?[..2]), (2, &[4, 9][..]));
    }
    Ok(())
}

#[test]
fn a_second_result_goes_where_it_is_told() -> Result<()> {
    for device in devices::all() {
        let keys = device.upload(&[3_i32, 1, 2, 9, 8, 1])?;
        let values = device.upload(&[30_u64, 10, 20, 90, 80, 11])?;
        let segments = device.segments(device.upload(&[0_u32, 3, 6])?)?;
        let sorted = device.sort(&keys)?;
        second!(
            device,
            6,
            values_to,
            values,
            device.sort_pairs_request(&keys, &values).descending()
        );
        second!(
            device,
            6,
            values_to,
            values,
            device.sort_pairs_segments_request(&keys, &values, &segments)
        );
        second!(
            device,
            12,
            values_to,
            values,
            device.merge_pairs_request((&sorted, &values), (&sorted, &values))
        );
        second!(
            device,
            4,
            positions_to,
            positions,
            device.top_k_request(&keys, 4).smallest()
        );

        // Matrices of positions: a whole one, rows of a larger one, and one of another shape.
        let rows = device.upload_matrix(&keys.to_vec()?, 2, 3)?;
        let (_, wanted) = device.top_k_rows(&rows, 2)?;
        let mut place = device.upload_matrix(&[77_u64; 8], 4, 2)?;
        let request = || device.top_k_rows_request(&rows, 2);
        request().positions_to(place.rect_mut(1..3, ..)?).run()?;
        let found = place.to_vec()?;
        assert_eq!(found[2..6], wanted.to_vec()?);
        assert_eq!([&found[..2], &found[6..]], [[77; 2]; 2]);
        let (_, wanted) = device.top_k_segments(&keys, &segments, 2)?;
        let mut place = device.upload_matrix(&[77_u64; 4], 2, 2)?;
        let request_of_segments = || device.top_k_segments_request(&keys, &segments, 2);
        request_of_segments().positions_to(&mut place).run()?;
        assert_eq!(place.to_vec()?, wanted.to_vec()?);
        let mut other = device.upload_matrix(&[77_u64; 6], 2, 3)?;
        refused(
            request().positions_to(&mut other).prepare(),
            "2 x 2",
            "2 x 3",
        );
        refused(
            request().positions_to(other.rect_mut(.., ..2)?).prepare(),
            "an output whose rows follow one another",
            "rows 3 apart",
        );
        assert_eq!(other.to_vec()?, [77; 6]);
    }
    Ok(())
}
