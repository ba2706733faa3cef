//! Memory and streams of others: what is used where it is, what is refused, and what is asked of the driver for it.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use warpwright::{
    Device, Error, InvalidKind, MatrixRect, MatrixRectMut, MatrixView, Result,
    ops::{map::Sqrt, reduce::Reducible, scan::Operator},
};
use warpwright_tests::{cases, devices};

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
    for part in parts.iter().chain(&["required", "given"]) {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// The address of an array of the host.
fn address<T>(values: &[T]) -> u64 {
    values.as_ptr().expose_provenance() as u64
}

/// Counts the owners that are dropped.
#[derive(Debug, Clone, Default)]
struct Owners(Arc<AtomicU32>);

struct Owner(Owners);

impl Owners {
    fn one(&self) -> Owner {
        Owner(self.clone())
    }

    fn dropped(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn slices_are_used_where_they_are() -> Result<()> {
    let device = devices::cpu();
    let values = [4.0_f32, 9.0, 16.0, 25.0, 36.0];
    let view = device.host_view(&values)?;
    assert_eq!(view.device_pointer(), address(&values));
    assert_eq!(device.sum(view)?, 90.0);
    let mut roots = [0.0_f32; 7];
    let place = device.host_view_mut(&mut roots[1..6])?;
    device.map_request(view, Sqrt).output_to(place).run()?;
    assert_eq!(roots, [0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]);
    // A matrix, and a rectangle of one.
    let image = MatrixView::from_vector(device.host_view(&roots[1..])?, 2, 3)?;
    assert_eq!(device.row_sums(image)?.to_vec()?, [9.0, 11.0]);
    let left = MatrixRect::from_vector(device.host_view(&values)?, 2, 2, 3)?;
    assert_eq!(left.to_vec()?, [4.0, 9.0, 25.0, 36.0]);
    let one = device.upload_matrix(&[1.0_f32, 0.0, 0.0, 1.0], 2, 2)?;
    let mut product = [0.0_f32; 8];
    let place = MatrixRectMut::from_vector(device.host_view_mut(&mut product)?, 2, 2, 4)?;
    device.gemm(left, &one).output_to(place).run()?;
    assert_eq!(product, [4.0, 9.0, 0.0, 0.0, 25.0, 36.0, 0.0, 0.0]);
    // None at all.
    assert_eq!(device.sum(device.host_view::<f32>(&[])?)?, 0.0);
    // SAFETY: there are no elements.
    let none = unsafe { device.foreign_view::<f64>(0, 0)? };
    assert_eq!((device.max(none)?, none.to_vec()?), (None, vec![]));
    Ok(())
}

#[test]
fn rows_that_overlap_are_refused() -> Result<()> {
    let device = devices::cpu();
    let values = device.upload(&[0_u8; 10])?;
    let rect = |height, width, stride| {
        MatrixRect::from_vector(values.view(), height, width, stride).map(|it| it.height())
    };
    assert_eq!(rect(2, 4, 6)?, 2);
    assert_eq!([rect(0, 4, 0)?, rect(5, 0, 0)?], [0, 5]);
    for (height, width, stride) in [(2, 4, 7), (2, 4, 3), (1, 11, 11), (2, 2, usize::MAX)] {
        let parts = ["MatrixRect::from_vector", "within 10 elements"];
        refused(rect(height, width, stride), InvalidKind::Shape, &parts);
        let mut place = device.zeros::<u8>(10)?;
        let place = MatrixRectMut::from_vector(place.view_mut(), height, width, stride);
        refused(
            place.map(drop),
            InvalidKind::Shape,
            &["MatrixRectMut::from_vector"],
        );
    }
    Ok(())
}

#[test]
fn an_owner_lives_as_long_as_its_memory_is_used() -> Result<()> {
    let device = devices::cpu();
    let owners = Owners::default();
    let values = vec![3_u32, 1, 2];
    let start = address(&values);
    // SAFETY: the owner keeps the elements, which nobody else uses.
    let mut vector = unsafe { device.foreign_vector::<u32>(start, 3, (values, owners.one()))? };
    device.sort_in_place(&mut vector)?;
    assert_eq!((vector.to_vec()?, owners.dropped()), (vec![1, 2, 3], 0));
    assert_eq!(vector.view().device_pointer(), start);
    drop(vector);
    assert_eq!(owners.dropped(), 1);
    // SAFETY: the address is refused.
    let refusal = unsafe { device.foreign_vector::<u32>(0, 3, owners.one()) };
    refused(refusal, InvalidKind::Foreign, &["foreign_vector", "0x0"]);
    assert_eq!(owners.dropped(), 2);
    Ok(())
}

#[test]
fn addresses_that_cannot_be_elements_are_refused() {
    let device = devices::cpu();
    let values = [0_u64; 4];
    let start = address(&values);
    let kind = InvalidKind::Foreign;
    // SAFETY: nothing that is refused is read.
    unsafe {
        let view = |at| device.foreign_view::<u32>(at, 2);
        refused(view(0), kind, &["foreign_view", "not null", "0x0"]);
        refused(view(start + 2), kind, &["a multiple of 4"]);
        refused(view(u64::MAX - 3), kind, &["8 bytes"]);
        let wide = device.foreign_view::<[u32; 2]>(start + 4, 1);
        refused(wide, kind, &["a multiple of 8"]);
        let many = device.foreign_view::<u32>(start, usize::MAX);
        refused(many, InvalidKind::TooLarge, &["foreign_view"]);
        refused(
            device.foreign_view_mut::<u32>(0, 1),
            kind,
            &["foreign_view_mut"],
        );
        let stream = device.on_cuda_stream(std::ptr::null_mut());
        refused(stream, kind, &["on_cuda_stream", "a CUDA device", "cpu"]);
    }
}

/// Each kind of memory, on a device that runs the kernels.
#[test]
fn memory_of_others_gives_the_same_results() -> Result<()> {
    for device in devices::all() {
        let other = device.new_stream()?;
        let values: Vec<f32> = (0..10_000).map(|i| (i % 17) as f32).collect();
        let theirs = other.upload(&values)?;
        let mut sums = other.zeros::<f32>(values.len())?;
        device.wait_for(&other)?;
        // SAFETY: both arrays live until the work is done, and nobody else uses them.
        let (view, place) = unsafe {
            let to = sums.view_mut().device_pointer();
            let len = values.len() - 1;
            (
                device.foreign_view::<f32>(theirs.view().device_pointer() + 4, len)?,
                device.foreign_view_mut::<f32>(to + 4, len)?,
            )
        };
        let request = device.scan_request(view, Operator::Sum);
        request.output_to(place).run()?;
        let wanted = device.cumulative_sum(theirs.slice(1..)?)?.to_vec()?;
        other.wait_for(device)?;
        let found = sums.to_vec()?;
        assert_eq!((found[0], &found[1..]), (0.0, &*wanted));
    }
    Ok(())
}

/// What stays on the device is what comes to the host.
fn stays<T: Reducible<Sum: PartialEq> + PartialEq + std::fmt::Debug>(
    device: &Device,
    values: &[T],
) -> Result<()> {
    let vector = device.upload(values)?;
    let all = || device.reduce(&vector);
    let stay = || all().output_on_device();
    assert_eq!(stay().sum()?.to_vec()?, [all().sum()?]);
    assert_eq!(stay().product()?.to_vec()?, [all().product()?]);
    assert_eq!(stay().min()?.to_vec()?, [all().min()?.expect("elements")]);
    assert_eq!(stay().max()?.to_vec()?, [all().max()?.expect("elements")]);
    let position = all().argmin()?.expect("elements");
    assert_eq!(stay().argmin()?.to_vec()?, [position]);
    let position = all().argmax()?.expect("elements");
    assert_eq!(stay().argmax()?.to_vec()?, [position]);
    for variant in cases::variants("reduce").iter().map(|it| it.name) {
        let total = all().variant(variant).sum();
        let stays = stay().variant(variant).sum();
        match (total, stays) {
            (Ok(total), Ok(stays)) => assert_eq!(stays.to_vec()?, [total], "{variant}"),
            (total, stays) => assert!(total.is_err() && stays.is_err(), "{variant}"),
        }
    }
    Ok(())
}

#[test]
fn reductions_stay_on_the_device() -> Result<()> {
    for device in devices::all() {
        for len in [1, 2, 31, 1000, 70_001] {
            let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 7;
            let make = |i: usize| hash(i) as f32 - 1e7;
            stays(device, &(0..len).map(make).collect::<Vec<f32>>())?;
            stays(
                device,
                &(0..len)
                    .map(|i| hash(i) as i32 - (1 << 24))
                    .collect::<Vec<i32>>(),
            )?;
        }
        stays(device, &[3_u8, 1, 2])?;
        stays(device, &[3_u64, u64::MAX, 2])?;
        stays(device, &[-3_i64, i64::MIN, i64::MAX])?;
        stays(device, &[2.0_f64, -0.0, 0.0])?;
        stays(device, &[3_u16, 1, 2])?;
    }
    Ok(())
}

#[test]
fn a_reduction_is_written_where_it_is_told() -> Result<()> {
    for device in devices::all() {
        let values = device.upload(&[5_u32, 7, 1])?;
        let mut totals = device.upload(&[1_u64; 3])?;
        let place = totals.slice_mut(1..2)?;
        let mut prepared = device.reduce(&values).output_to(place).prepare_sum()?;
        assert!(prepared.output().is_err());
        prepared.enqueue()?;
        prepared.enqueue()?;
        assert_eq!(prepared.output()?.as_view().to_vec()?, [13]);
        drop(prepared);
        assert_eq!(totals.to_vec()?, [1, 13, 1]);
        let two = device.reduce(&values).output_to(totals.slice_mut(1..)?);
        refused(
            two.product().map(drop),
            InvalidKind::Length,
            &["product", "an output of 1 elements", "2 elements"],
        );
        let least = device.reduce(&values).output_to(device.zeros::<u32>(1)?);
        assert_eq!(least.min()?.to_vec()?, [1]);
    }
    Ok(())
}

#[test]
fn the_result_of_no_elements_is_defined() -> Result<()> {
    for device in devices::all() {
        let none = device.zeros::<f32>(0)?;
        let request = || device.reduce(&none).output_on_device();
        let mut product = request().prepare_product()?;
        for _ in 0..2 {
            product.enqueue()?;
            assert_eq!(product.output()?.to_vec()?, [1.0]);
        }
        assert_eq!(request().sum()?.to_vec()?[0].to_bits(), 0);
        let kind = InvalidKind::Length;
        refused(request().min(), kind, &["min", "at least one element"]);
        refused(request().max(), kind, &["max", "at least one element"]);
        refused(
            request().argmin(),
            kind,
            &["argmin", "at least one element"],
        );
        refused(
            request().argmax(),
            kind,
            &["argmax", "at least one element"],
        );
    }
    Ok(())
}

#[test]
fn counts_stay_on_the_device() -> Result<()> {
    for device in devices::all() {
        let values = device.upload(&[1_u8, 3, 3, 9])?;
        let request = || device.histogram_request(&values, 4).output_on_device();
        assert_eq!(request().run()?.to_vec()?, [0, 1, 0, 2]);
        let mut counts = device.upload(&[7_u64; 5])?;
        request().output_to(counts.slice_mut(1..)?).run()?;
        assert_eq!(counts.to_vec()?, [7, 0, 1, 0, 2]);
        let values = device.upload(&[0.25_f32, 0.75, 2.0])?;
        let request = device.histogram_range_request(&values, 2, 0.0, 1.0);
        let counts = request
            .output_to(device.zeros(2)?)
            .output_on_device()
            .run()?;
        assert_eq!(counts.to_vec()?, [1, 1]);
    }
    Ok(())
}
