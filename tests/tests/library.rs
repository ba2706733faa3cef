//! The library around the operations: devices, buffers, shapes, streams, threads and errors.

use std::ops::Bound;

use warpwright::{
    Device, DeviceKind, Error, InvalidKind, Matrix, Module, Vector, VectorView, ops::map::Sin,
};
use warpwright_tests::{cases, compare, data::Data, devices, oracle};

/// Asserts that `error` is one line that holds all of `parts`.
#[track_caller]
fn says(error: &Error, parts: &[&str]) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && !text.contains('\n'),
        "not one line: {text:?}"
    );
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Asserts that `result` is [`Error::Invalid`], told in one line that holds all of `parts`.
#[track_caller]
fn invalid<T: std::fmt::Debug>(result: warpwright::Result<T>, parts: &[&str]) {
    let error = result.expect_err("an error");
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    says(&error, parts);
    says(&error, &["required", "given"]);
}

/// Every kind of invalid argument comes of calls of the library, and says itself which it is.
#[test]
fn invalid_arguments_say_what_kind_they_are() {
    use InvalidKind as Kind;
    let device = Device::cpu();
    let vector = device.upload(&[1.0_f32, 2.0, 3.0]).unwrap();
    let matrix = device.zeros_matrix::<f32>(2, 3).unwrap();
    let odd = device.zeros_matrix::<[u8; 3]>(2, 2).unwrap();
    let bytes = device.upload(&[1_u8, 2]).unwrap();
    let mut short = device.zeros::<f32>(2).unwrap();
    let mut wide = device.zeros_matrix::<f32>(2, 3).unwrap();
    let transposed = device.transpose_request(&matrix);
    let mapped = device.map_request(&vector, Sin);
    let unlaunched = device.map_request(&vector, Sin).shape(0, 32);
    let prepared = device.transpose_request(&matrix).prepare().unwrap();
    let none = device.zeros_matrix::<f32>(0, 3).unwrap();
    // SAFETY: there is nothing at the address, which is refused.
    let on_null = unsafe { device.foreign_view::<u8>(0, 1) };
    let captured = device.capture(|| device.synchronize());
    let refused = [
        (Kind::Length, vector.download(&mut [0.0; 2])),
        (Kind::Length, device.convolve(&vector, &[]).map(drop)),
        (Kind::Length, device.upload_matrix(&[1_u8], 1, 2).map(drop)),
        (Kind::Length, mapped.output_to(&mut short).run().map(drop)),
        (Kind::TooLarge, device.zeros::<u64>(usize::MAX).map(drop)),
        (Kind::Shape, device.gemm(&matrix, &matrix).run().map(drop)),
        (Kind::Shape, transposed.output_to(&mut wide).run().map(drop)),
        (Kind::Shape, device.reduce_columns(&none).max().map(drop)),
        (Kind::Range, vector.slice(2..4).map(drop)),
        (Kind::Range, device.top_k(&vector, 4).map(drop)),
        (Kind::Value, device.histogram(&bytes, 0).map(drop)),
        (Kind::ElementSize, device.transpose(&odd).map(drop)),
        (Kind::Launch, unlaunched.run().map(drop)),
        (Kind::Module, Module::from_ptx("no PTX").map(drop)),
        (Kind::Name, "nought".parse::<DeviceKind>().map(drop)),
        (Kind::Name, "nought".parse::<Kind>().map(drop)),
        (Kind::Foreign, on_null.map(drop)),
        (Kind::Capture, captured.map(drop)),
        (Kind::NotQueued, prepared.output().map(drop)),
    ];
    for kind in Kind::ALL {
        assert!(refused.iter().any(|(wanted, _)| *wanted == kind), "{kind}");
    }
    for (wanted, result) in refused {
        match result {
            Err(Error::Invalid { kind, .. }) if kind == wanted => {}
            other => panic!("{wanted}: {other:?}"),
        }
    }
}

#[test]
fn the_list_ends_with_the_cpu() {
    let list = Device::list();
    let (cpu, cuda) = list.split_last().unwrap();
    assert_eq!(cpu.kind, DeviceKind::Cpu);
    assert_eq!((cpu.compute_capability, cpu.driver_version), (None, None));
    for (i, info) in cuda.iter().enumerate() {
        assert_eq!(info.kind, DeviceKind::Cuda { ordinal: i });
        assert!(
            info.compute_capability.is_some() && info.driver_version.is_some(),
            "{info:?}"
        );
    }
    for info in &list {
        assert!(
            !info.name.is_empty() && info.multiprocessors > 0,
            "{info:?}"
        );
        assert!(info.shared_bytes_per_block >= 48 * 1024, "{info:?}");
    }
}

#[test]
fn a_device_is_what_the_list_says() {
    let list = Device::list();
    for device in devices::all() {
        assert!(
            list.contains(device.info()),
            "{:?} is not in {list:?}",
            device.info()
        );
        assert_eq!(device.kind(), device.info().kind);
        let free = device.free_memory().unwrap();
        assert!(free > 0 && free <= device.info().memory_bytes, "{free}");
    }
}

#[test]
fn auto_takes_a_cuda_device_where_there_is_one() {
    let kind = Device::auto().unwrap().kind();
    let supported = |capability: Option<(u32, u32)>| capability >= Some((7, 5));
    let best = Device::list()
        .into_iter()
        .find(|info| supported(info.compute_capability));
    assert_eq!(kind, best.map_or(DeviceKind::Cpu, |info| info.kind));
}

#[test]
fn kinds_are_written_as_the_program_takes_them() {
    assert_eq!(DeviceKind::Cpu.to_string(), "cpu");
    assert_eq!(DeviceKind::Cuda { ordinal: 3 }.to_string(), "cuda:3");
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    for ordinal in [99, usize::MAX] {
        let error = Device::cuda(ordinal).unwrap_err();
        assert!(matches!(error, Error::NoDevice { .. }), "{error:?}");
        says(&error, &[&format!("cuda:{ordinal}")]);
    }
}

#[test]
fn handles_and_what_they_make_can_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Device>();
    check::<Vector<f32>>();
    check::<VectorView<'_, f32>>();
    check::<Matrix<u8>>();
    check::<warpwright::PinnedVec<u8>>();
    check::<warpwright::Module>();
    check::<Error>();
}

#[test]
fn what_is_uploaded_comes_back() {
    for device in devices::all() {
        for len in [0, 1, 2, 1000, 65_537] {
            let values: Vec<u64> = Data::Spread.values(len);
            let vector = device.upload(&values).unwrap();
            assert_eq!((vector.len(), vector.is_empty()), (len, len == 0));
            compare::same_bits(&vector.to_vec().unwrap(), &values).unwrap();
            let mut copy = vec![0; len];
            vector.download(&mut copy).unwrap();
            compare::same_bits(&copy, &values).unwrap();
        }
    }
}

#[test]
fn bits_are_kept_whatever_they_mean() {
    for device in devices::all() {
        let nans: Vec<f32> = [0x7f80_0001, 0xffc0_0000, 0x8000_0000, 1]
            .map(f32::from_bits)
            .into();
        compare::same_bits(&device.upload(&nans).unwrap().to_vec().unwrap(), &nans).unwrap();
        let odd = [[1_u8, 2, 3], [4, 5, 6]];
        compare::same_bits(&device.upload(&odd).unwrap().to_vec().unwrap(), &odd).unwrap();
    }
}

#[test]
fn upload_overwrites_and_zeros_are_nought() {
    for device in devices::all() {
        let mut vector = device.zeros::<i32>(100).unwrap();
        assert_eq!(vector.to_vec().unwrap(), [0; 100]);
        vector.upload(&[7; 100]).unwrap();
        assert_eq!(vector.to_vec().unwrap(), [7; 100]);
        vector.slice_mut(10..20).unwrap().clear().unwrap();
        vector.slice_mut(50..=50).unwrap().upload(&[9]).unwrap();
        let got = vector.to_vec().unwrap();
        for (i, value) in got.iter().enumerate() {
            let wanted = if (10..20).contains(&i) {
                0
            } else {
                7 + 2 * i32::from(i == 50)
            };
            assert_eq!(*value, wanted, "{i}");
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    for device in devices::all() {
        let mut vector = device.zeros::<u16>(10).unwrap();
        invalid(vector.upload(&[1; 9]), &["upload", "10", "9"]);
        invalid(vector.upload(&[1; 11]), &["upload", "10", "11"]);
        invalid(vector.download(&mut [0; 9]), &["download", "10", "9"]);
        invalid(
            vector.slice(2..4).unwrap().download(&mut [0; 3]),
            &["download", "2", "3"],
        );
        assert_eq!(vector.to_vec().unwrap(), [0; 10]);
    }
}

#[test]
fn slices_are_the_elements_of_their_range() {
    for device in devices::all() {
        let values: Vec<u32> = (0..100).collect();
        let vector = device.upload(&values).unwrap();
        let slice = |range: std::ops::Range<usize>| vector.slice(range).unwrap().to_vec().unwrap();
        assert_eq!(slice(0..100), values);
        assert_eq!(slice(13..57), values[13..57]);
        assert_eq!(slice(100..100), [0_u32; 0]);
        assert_eq!(vector.slice(..).unwrap().len(), 100);
        assert_eq!(vector.slice(..=4).unwrap().to_vec().unwrap(), values[..=4]);
        let inner = vector.slice(10..).unwrap().slice(5..8).unwrap();
        assert_eq!(inner.to_vec().unwrap(), values[15..18]);
        let after = (Bound::Excluded(97), Bound::Unbounded);
        assert_eq!(vector.slice(after).unwrap().to_vec().unwrap(), [98, 99]);
    }
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn ranges_that_do_not_lie_within_are_refused() {
    for device in devices::all() {
        let mut vector = device.zeros::<u8>(10).unwrap();
        let ranges = [
            (Bound::Included(0), Bound::Excluded(11)),
            (Bound::Included(11), Bound::Unbounded),
            (Bound::Included(5), Bound::Excluded(4)),
            (Bound::Included(0), Bound::Included(10)),
            (Bound::Unbounded, Bound::Included(usize::MAX)),
            (Bound::Excluded(usize::MAX), Bound::Unbounded),
        ];
        for range in ranges {
            invalid(vector.slice(range), &["slice", "0..10"]);
            invalid(vector.slice_mut(range).map(|_| ()), &["slice_mut", "0..10"]);
        }
        invalid(vector.slice(2..5).unwrap().slice(2..4), &["slice", "0..3"]);
        let matrix = device.zeros_matrix::<u8>(3, 4).unwrap();
        invalid(matrix.rows(2..4), &["rows", "0..3"]);
        invalid(matrix.rows(2..1), &["rows", "0..3"]);
    }
}

#[test]
fn matrices_have_their_shape() {
    for device in devices::all() {
        let values: Vec<u16> = (0..12).collect();
        let matrix = device.upload_matrix(&values, 3, 4).unwrap();
        assert_eq!((matrix.height(), matrix.width()), (3, 4));
        assert_eq!(matrix.to_vec().unwrap(), values);
        let rows = matrix.rows(1..).unwrap();
        assert_eq!((rows.height(), rows.width()), (2, 4));
        assert_eq!(rows.to_vec().unwrap(), values[4..]);
        assert_eq!(rows.rows(1..2).unwrap().to_vec().unwrap(), values[8..]);
        let other = Matrix::from_vector(matrix.into_vector(), 6, 2).unwrap();
        assert_eq!((other.height(), other.width()), (6, 2));
        assert_eq!(other.to_vec().unwrap(), values);
        let zeros = device.zeros_matrix::<f64>(2, 5).unwrap();
        assert_eq!(zeros.to_vec().unwrap(), [0.0; 10]);
        for (height, width) in [(0, 0), (0, 7), (7, 0)] {
            let empty = device.upload_matrix::<u8>(&[], height, width).unwrap();
            assert_eq!((empty.height(), empty.width()), (height, width));
            let turned = device.transpose(&empty).unwrap();
            assert_eq!((turned.height(), turned.width()), (width, height));
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    for device in devices::all() {
        invalid(
            device.upload_matrix(&[1_u8; 5], 2, 3),
            &["upload_matrix", "2 x 3", "5"],
        );
        invalid(
            device.upload_matrix(&[1_u8; 5], 0, 3),
            &["upload_matrix", "0 x 3", "5"],
        );
        invalid(
            device.upload_matrix::<u8>(&[], usize::MAX, 2),
            &["upload_matrix"],
        );
        invalid(
            device.zeros_matrix::<u8>(usize::MAX, usize::MAX),
            &["zeros_matrix"],
        );
        let vector = device.zeros::<u8>(5).unwrap();
        invalid(
            Matrix::from_vector(vector, 5, 2),
            &["from_vector", "5 x 2", "5"],
        );
    }
}

#[test]
fn pinned_memory_copies_both_ways() {
    for device in devices::all() {
        let mut pinned = device.pinned::<u32>(1000).unwrap();
        assert_eq!((pinned.len(), pinned.is_empty()), (1000, false));
        assert_eq!(pinned.as_mut_slice().unwrap(), [0; 1000]);
        let values: Vec<u32> = Data::Spread.values(1000);
        pinned.as_mut_slice().unwrap().copy_from_slice(&values);
        let mut vector = device.zeros::<u32>(1000).unwrap();
        vector.upload_pinned(&mut pinned).unwrap();
        // Writing waits for the copy, so that what it read was not this.
        pinned.as_mut_slice().unwrap().fill(1);
        assert_eq!(vector.to_vec().unwrap(), values);
        vector.download_pinned(&mut pinned).unwrap();
        pinned.wait().unwrap();
        assert_eq!(pinned.as_mut_slice().unwrap(), values);
        let mut short = device.pinned::<u32>(999).unwrap();
        invalid(
            vector.download_pinned(&mut short),
            &["download_pinned", "1000", "999"],
        );
        invalid(
            vector.upload_pinned(&mut short),
            &["upload_pinned", "1000", "999"],
        );
        assert!(
            device
                .pinned::<u64>(0)
                .unwrap()
                .as_mut_slice()
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn pinned_memory_on_another_stream_of_its_device() {
    for device in devices::all() {
        let other = device.new_stream().unwrap();
        let mut pinned = device.pinned::<u32>(70_000).unwrap();
        let values: Vec<u32> = Data::Spread.values(70_000);
        let vector = other.upload(&values).unwrap();
        let mut second = device.zeros::<u32>(70_000).unwrap();
        vector.download_pinned(&mut pinned).unwrap();
        second.upload_pinned(&mut pinned).unwrap();
        assert_eq!(second.to_vec().unwrap(), values);
    }
}

#[test]
fn more_memory_than_there_is_is_refused() {
    const TOO_MUCH: usize = 1 << 50;
    let refused = |result: warpwright::Result<()>, operation: &str| {
        let error = result.expect_err("no machine has a petabyte");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
        says(&error, &[operation, &TOO_MUCH.to_string(), "bytes"]);
    };
    for device in devices::all() {
        refused(device.zeros::<u8>(TOO_MUCH).map(drop), "zeros");
        refused(
            device.zeros_matrix::<u32>(TOO_MUCH / 64, 16).map(drop),
            "zeros",
        );
        refused(device.pinned::<u16>(TOO_MUCH / 2).map(drop), "pinned");
        invalid(
            device.zeros::<u64>(usize::MAX),
            &["zeros", &usize::MAX.to_string()],
        );
        invalid(device.pinned::<u64>(usize::MAX / 8), &["pinned"]);
        // The device is as good as before.
        assert_eq!(device.sum(&device.upload(&[1_u8, 2]).unwrap()).unwrap(), 3);
    }
}

#[test]
fn what_lies_on_another_device_is_refused() {
    let cpu = devices::cpu();
    for device in devices::all().filter(|device| cases::is_cuda(device)) {
        for (here, there) in [(&cpu, device), (device, &cpu)] {
            let bytes = there.upload(&[1_u8, 2, 3]).unwrap();
            let matrix = there.upload_matrix(&[1_u8, 2], 1, 2).unwrap();
            let mut pinned = here.pinned::<u8>(3).unwrap();
            let errors = [
                here.sum(&bytes).map(drop).unwrap_err(),
                here.argmax(&bytes).map(drop).unwrap_err(),
                here.mean(&bytes).map(drop).unwrap_err(),
                here.transpose(&matrix).map(drop).unwrap_err(),
                here.histogram(&bytes, 4).map(drop).unwrap_err(),
                bytes.download_pinned(&mut pinned).unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::DeviceMismatch { .. }), "{error:?}");
                says(
                    &error,
                    &[&here.kind().to_string(), &there.kind().to_string()],
                );
            }
        }
    }
}

#[test]
fn another_handle_of_the_cpu_is_the_same_device() {
    let vector = devices::cpu().upload(&[1.0_f32, 2.0]).unwrap();
    assert_eq!(devices::cpu().sum(&vector).unwrap(), 3.0);
}

#[test]
fn many_threads_share_a_device() {
    for device in devices::all() {
        let values: Vec<u32> = Data::Spread.values(3001);
        let shared = device.upload(&values).unwrap();
        let sum: u64 = values.iter().map(|value| u64::from(*value)).sum();
        let work = |thread: usize| {
            for round in 0..10 {
                assert_eq!(device.sum(&shared).unwrap(), sum);
                let own: Vec<u16> = (0..500).map(|i| (i * thread + round) as u16 % 64).collect();
                let vector = device.upload(&own).unwrap();
                let (counts, outside) = oracle::histogram(own.iter().map(|v| (*v).into()), 50);
                let got = device.histogram(&vector, 50).unwrap();
                assert_eq!((got.counts, got.outside), (counts, outside));
                let matrix = device.upload_matrix(&own, 20, 25).unwrap();
                let wanted = oracle::transpose(&own, 20, 25);
                assert_eq!(device.transpose(&matrix).unwrap().to_vec().unwrap(), wanted);
            }
        };
        std::thread::scope(|scope| {
            for thread in 1..=8 {
                scope.spawn(move || work(thread));
            }
        });
    }
}

#[test]
fn a_device_and_its_vectors_outlive_the_thread_that_made_them() {
    for device in devices::all() {
        let (handle, vector) = std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let handle = device.new_stream().unwrap();
                let vector = handle.upload(&[1_i64, -2, 3]).unwrap();
                (handle, vector)
            });
            made.join().unwrap()
        });
        assert_eq!(handle.sum(&vector).unwrap(), 2);
        drop(handle);
        assert_eq!(vector.to_vec().unwrap(), [1, -2, 3]);
    }
}

#[test]
fn two_streams_of_a_device_keep_the_order_of_one_vector() {
    for device in devices::all() {
        let other = device.new_stream().unwrap();
        assert_eq!(other.kind(), device.kind());
        let len = if cases::is_cuda(device) {
            1 << 22
        } else {
            10_000
        };
        let mut vector = device.zeros::<u32>(len).unwrap();
        for round in 1..=20_u32 {
            // Written on the owner's stream, read on the other, and written again.
            vector.upload(&vec![round; len]).unwrap();
            let sum = other.reduce(&vector);
            let mut sum = sum.prepare(warpwright::ops::reduce::Operator::Sum).unwrap();
            sum.enqueue().unwrap();
            let wanted = warpwright::ops::reduce::Value::Sum(u64::from(round) * len as u64);
            assert_eq!(sum.finish().unwrap(), Some(wanted));
            let matrix = device.upload_matrix(&vec![round; len], 8, len / 8).unwrap();
            let turned = other.transpose(&matrix).unwrap();
            drop(matrix);
            assert_eq!(device.max(turned.as_vector()).unwrap(), Some(round));
        }
    }
}

#[test]
fn the_time_of_work_is_measured_and_its_value_comes_back() {
    for device in devices::all() {
        let vector = device.upload(&[1.0_f64; 100]).unwrap();
        let (sum, time) = device.time(|| device.sum(&vector)).unwrap();
        assert_eq!(sum, 100.0);
        assert!(
            time > std::time::Duration::ZERO && time.as_secs() < 60,
            "{time:?}"
        );
        let failed = device
            .time(|| device.histogram(&device.upload(&[1_u8])?, 0))
            .unwrap_err();
        assert!(
            matches!(
                failed,
                Error::Invalid {
                    operation: "histogram",
                    ..
                }
            ),
            "{failed:?}"
        );
    }
}

#[test]
fn means_are_close_to_those_of_a_plain_loop() {
    for device in devices::all() {
        let values: Vec<f32> = Data::Spread.values(10_000);
        let plain = values.iter().map(|value| f64::from(*value)).sum::<f64>() / 1e4;
        let mean = device
            .mean(&device.upload(&values).unwrap())
            .unwrap()
            .unwrap();
        approx::assert_abs_diff_eq!(mean, plain, epsilon = 1e-3);
        let mean = device
            .mean(&device.upload(&[u64::MAX, 1]).unwrap())
            .unwrap();
        assert_eq!(
            mean,
            Some(2_f64.powi(63)),
            "a mean does not wrap where the sum does"
        );
    }
}
