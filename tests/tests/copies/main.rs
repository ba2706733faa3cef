//! Copies of arrays and matrices from device to device, from stream to stream, and from and to the CPU.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices;

use warpwright::{Device, Error, InvalidKind, MatrixRect, MatrixRectMut, MatrixView, Result};
use warpwright_tests::devices;

/// Numbers that differ.
fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9))
        .collect()
}

/// Asserts that `result` is [`Error::Invalid`] of kind `kind`, told in one line that has all of `parts`.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, kind: InvalidKind, parts: &[&str]) {
    let error = result.expect_err("an error");
    let text = error.to_string();
    assert!(
        matches!(error, Error::Invalid { kind: found, .. } if found == kind),
        "{error:?}"
    );
    assert!(!text.contains('\n'), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Checks copies of vectors and matrices, of parts of them and into parts of them.
fn check(from: &Device, to: &Device) -> Result<()> {
    for len in [0, 1, 1000, 70_001] {
        let all = numbers(len);
        let source = from.upload(&all)?;
        let copy = source.to_device(to)?;
        assert_eq!((copy.device().kind(), copy.to_vec()?), (to.kind(), all));
        // The source is as it was.
        assert_eq!(source.to_vec()?, numbers(len));
    }
    let all = numbers(1200);
    let source = from.upload(&all)?;
    let part = source.slice(100..400)?.to_device(to)?;
    assert_eq!(part.to_vec()?, all[100..400]);
    let mut place = to.zeros::<u32>(500)?;
    place
        .slice_mut(50..350)?
        .copy_from(source.slice(100..400)?)?;
    let got = place.to_vec()?;
    assert_eq!((&got[..50], &got[350..]), (&[0; 50][..], &[0; 150][..]));
    assert_eq!(got[50..350], all[100..400]);
    place.copy_from(from.upload(&all[..500])?.view())?;
    assert_eq!(place.to_vec()?, all[..500]);
    // Elements of an odd size.
    let bytes = from.upload(&[[1_u8, 2, 3], [4, 5, 6]])?;
    assert_eq!(bytes.to_device(to)?.to_vec()?, [[1, 2, 3], [4, 5, 6]]);

    let matrix = from.upload_matrix(&all, 30, 40)?;
    let copy = matrix.to_device(to)?;
    let shape = (copy.height(), copy.width(), copy.device().kind());
    assert_eq!(shape, (30, 40, to.kind()));
    assert_eq!(copy.to_vec()?, all);
    assert_eq!(matrix.rows(3..7)?.to_device(to)?.to_vec()?, all[120..280]);
    let rect = matrix.rect(3..7, 5..15)?;
    let wanted = rect.to_vec()?;
    let copy = rect.to_device(to)?;
    assert_eq!((copy.height(), copy.width()), (4, 10));
    assert_eq!(copy.to_vec()?, wanted);
    // From rows that are apart into rows that are apart, and adjoining rows into such.
    let mut place = to.zeros_matrix::<u32>(6, 12)?;
    place.rect_mut(1..5, 1..11)?.copy_from(rect)?;
    let mut expected = vec![0; 72];
    for (row, values) in wanted.chunks(10).enumerate() {
        expected[(row + 1) * 12 + 1..][..10].copy_from_slice(values);
    }
    assert_eq!(place.to_vec()?, expected);
    let mut place = to.zeros_matrix::<u32>(6, 12)?;
    place
        .rect_mut(1..5, 1..11)?
        .copy_from(&from.upload_matrix(&wanted, 4, 10)?)?;
    assert_eq!(place.to_vec()?, expected);
    let mut whole = to.zeros_matrix::<u32>(30, 40)?;
    whole.copy_from(&matrix)?;
    assert_eq!(whole.to_vec()?, all);
    // Nothing at all.
    assert_eq!(matrix.rect(3..3, ..)?.to_device(to)?.height(), 0);
    assert!(matrix.rect(.., 3..3)?.to_device(to)?.to_vec()?.is_empty());
    Ok(())
}

/// Checks that work before a copy and after it is in order, although the source and the copy are dropped at once.
fn check_order(from: &Device, to: &Device) -> Result<()> {
    const LEN: usize = 1 << 11;
    let mut values = numbers(LEN);
    let unsorted = from.upload(&values)?;
    values.sort_unstable();
    for _ in 0..2 {
        let sorted = from.sort(&unsorted)?;
        let copy = sorted.to_device(to)?;
        // What takes the source's memory next must not be seen in the copy.
        drop(sorted);
        let next = from.upload(&numbers(LEN))?;
        let max = to.max(&copy)?;
        assert_eq!(max, values.last().copied());
        assert_eq!(copy.to_vec()?, values);
        // A copy that nobody looks at, into memory that is freed at once.
        drop(next.to_device(to)?);
        assert_eq!(to.upload(&values)?.to_vec()?, values);
    }
    Ok(())
}

#[test]
fn between_handles_of_one_device_and_the_cpu() -> Result<()> {
    for device in devices::all() {
        let (other, cpu) = (device.new_stream()?, devices::cpu());
        for (from, to) in [
            (device, device),
            (device, &other),
            (&other, device),
            (device, &cpu),
            (&cpu, device),
        ] {
            check(from, to)?;
            check_order(from, to)?;
        }
    }
    Ok(())
}

#[test]
fn between_two_cuda_devices() -> Result<()> {
    let Some([first, second]) = devices::two() else {
        return Ok(());
    };
    for (from, to) in [(first, second), (second, first)] {
        check(from, to)?;
        check_order(from, to)?;
    }
    let other = second.new_stream()?;
    check_order(first, &other)
}

#[test]
fn other_lengths_and_shapes_are_refused() -> Result<()> {
    let cpu = devices::cpu();
    for device in devices::all() {
        let source = device.upload(&numbers(12))?;
        let mut place = cpu.zeros::<u32>(11)?;
        let parts = ["copy_from", "11 elements required", "12 given"];
        refused(place.copy_from(&source), InvalidKind::Length, &parts);
        let parts = ["copy_from", "5 elements required", "0 given"];
        let none = source.slice(3..3)?;
        let refusal = place.slice_mut(..5)?.copy_from(none);
        refused(refusal, InvalidKind::Length, &parts);
        // As many elements in another shape.
        let matrix = MatrixView::from_vector(source.view(), 3, 4)?;
        let mut turned = cpu.zeros_matrix::<u32>(4, 3)?;
        let parts = ["copy_from", "4 rows of 3 required", "3 rows of 4 given"];
        refused(turned.copy_from(matrix), InvalidKind::Shape, &parts);
        let rect = MatrixRect::from_vector(source.view(), 2, 3, 4)?;
        refused(
            MatrixRectMut::from(&mut turned).copy_from(rect),
            InvalidKind::Shape,
            &["4 rows of 3 required", "2 rows of 3 given"],
        );
        assert_eq!(turned.to_vec()?, [0; 12]);
        assert_eq!(place.to_vec()?, [0; 11]);
    }
    Ok(())
}

#[test]
fn a_copy_on_the_handle_that_captures_is_captured() -> Result<()> {
    for device in devices::all() {
        let (other, cpu) = (device.new_stream()?, Device::cpu());
        let mut source = device.upload(&[1_u32, 2, 3])?;
        let mut copy = device.zeros::<u32>(3)?;
        let mut graph = device.capture(|| copy.copy_from(&source))?;
        assert_eq!(copy.to_vec()?, [0; 3]);
        for values in [[1, 2, 3], [4, 5, 6]] {
            source.upload(&values)?;
            // SAFETY: both arrays still exist, and nothing else uses them.
            unsafe { graph.launch()? };
            assert_eq!(copy.to_vec()?, values);
        }
        // Work of another handle, and what allocates.
        let theirs = other.upload(&[7_u32, 8, 9])?;
        let kind = InvalidKind::Capture;
        let captured = device.capture(|| copy.copy_from(&theirs));
        refused(captured, kind, &["copy", "another handle"]);
        let captured = device.capture(|| source.to_device(device).map(drop));
        refused(captured, kind, &["to_device"]);
        if device.kind() != cpu.kind() {
            let mut here = cpu.zeros::<u32>(3)?;
            let captured = device.capture(|| here.copy_from(&source));
            refused(captured, kind, &["copy_from"]);
            let captured = device.capture(|| copy.copy_from(&here));
            refused(captured, kind, &["copy_from"]);
        }
        assert_eq!(copy.to_vec()?, [4, 5, 6]);
    }
    Ok(())
}
