//! Graphs and events: what is captured gives the same bits at each launch, and what cannot be captured says so.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices;
mod own_kernels;
mod update;

use warpwright::{
    Device, Error, InvalidKind, Result,
    ops::{map::Sqrt, reduce::Operator, scan},
};
use warpwright_tests::devices;
use warpwright_workloads::FAMILIES;

/// Asserts that `result` is the error of something that cannot be captured, in one line that has `part`.
#[track_caller]
fn not_captured<T: std::fmt::Debug>(result: Result<T>, part: &str) {
    let error = result.expect_err("an error");
    let text = error.to_string();
    let kind = InvalidKind::Capture;
    assert!(
        matches!(error, Error::Invalid { kind: found, .. } if found == kind),
        "{error:?}"
    );
    assert!(!text.contains('\n'), "{text}");
    for part in ["capture: work of", "required", "given", part] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn each_launch_gives_the_same_bits() -> Result<()> {
    for device in devices::all() {
        let values: Vec<f32> = (0..20_000).map(|i| ((i * 7919) % 4099) as f32).collect();
        let mut input = device.upload(&values)?;
        // A pipeline of several operations, the first of which reads what the caller changes between launches.
        let mut roots = device.zeros::<f32>(values.len())?;
        let mut total = device.zeros::<f32>(1)?;
        let addresses = [
            input.view_mut().device_pointer(),
            roots.view_mut().device_pointer(),
        ];
        // SAFETY: the arrays live as long as the requests, and what is between two launches is in order with them.
        let [from, between] = unsafe {
            let view = |at| device.foreign_view::<f32>(at, values.len());
            [view(addresses[0])?, view(addresses[1])?]
        };
        let mut map = device
            .map_request(from, Sqrt)
            .output_to(&mut roots)
            .prepare()?;
        let mut sort = device.sort_request(between).prepare()?;
        let mut sums = device
            .scan_request(between, scan::Operator::Sum)
            .prepare()?;
        let mut sum = device.reduce(between).output_to(&mut total).prepare_sum()?;
        let mut best = device.reduce(between).prepare(Operator::ArgMax)?;
        let mut graph = device.capture(|| {
            map.enqueue()?;
            sort.enqueue()?;
            sums.enqueue()?;
            sum.enqueue()?;
            best.enqueue()
        })?;
        assert_eq!(graph.device().kind(), device.kind());
        for factor in [1.0_f32, 4.0, 1.0] {
            let changed: Vec<f32> = values.iter().map(|value| value * factor).collect();
            input.upload(&changed)?;
            for _ in 0..2 {
                // SAFETY: everything is still there.
                unsafe { graph.launch()? };
            }
            let roots: Vec<f32> = changed.iter().map(|value| value.sqrt()).collect();
            let apart = device.upload(&roots)?;
            assert_eq!(sort.output()?.to_vec()?, device.sort(&apart)?.to_vec()?);
            assert_eq!(
                sums.output()?.to_vec()?,
                device.cumulative_sum(&apart)?.to_vec()?
            );
            assert_eq!(sum.output()?.to_vec()?, [device.sum(&apart)?]);
            let position = device.argmax(&apart)?.expect("elements");
            assert_eq!(
                format!("{:?}", best.finish()?),
                format!("Some(Index({position}))")
            );
        }
    }
    Ok(())
}

/// One operation of each kind of every family, by a graph and by itself.
#[test]
fn every_family_is_captured_or_says_why_not() {
    let mut left_out = Vec::new();
    for device in devices::all() {
        for family in FAMILIES {
            for workload in (family.operations)() {
                let name = format!("{} {}", family.name, workload.name());
                let input = workload.input(device).expect("memory");
                let mut ready = input.prepare(device, None).expect("a plan");
                if ready.kernels().is_empty() {
                    continue;
                }
                match device.capture(|| ready.enqueue()) {
                    Ok(mut graph) => {
                        for _ in 0..2 {
                            // SAFETY: the workload is still there.
                            unsafe { graph.launch() }.expect(&name);
                            graph.update(|| ready.enqueue()).expect(&name);
                        }
                    }
                    Err(error) => {
                        not_captured::<()>(Err(error), "given");
                        left_out.push(name.clone());
                    }
                }
                // The request works as before.
                ready.enqueue().expect(&name);
                device.synchronize().expect(&name);
            }
        }
    }
    left_out.sort();
    left_out.dedup();
    let with_table = |name: &String| name.starts_with("convolution ") || name.contains(" wave ");
    assert!(left_out.iter().all(with_table), "{left_out:?}");
}

#[test]
fn what_cannot_be_captured_says_so() -> Result<()> {
    for device in devices::all() {
        let mut values = device.upload(&[3.0_f32, 1.0, 2.0])?;
        let keys = device.upload(&[3_u32, 1, 2])?;
        let mut pinned = device.pinned::<f32>(3)?;
        let other = device.new_stream()?;
        let mut sorted = device.sort_request(&values).prepare()?;
        let mut elsewhere = other.sort_request(&values).prepare()?;
        let mut mask = device.convolve_request(&values, &[0.5, 0.25]).prepare()?;
        let capture = |work: &mut dyn FnMut() -> Result<()>| device.capture(work);
        not_captured(capture(&mut || device.zeros::<u8>(1).map(drop)), "`zeros`");
        not_captured(capture(&mut || device.sort(&values).map(drop)), "`sort`");
        not_captured(
            capture(&mut || device.pinned::<u8>(1).map(drop)),
            "`pinned`",
        );
        not_captured(capture(&mut || values.to_vec().map(drop)), "`download`");
        not_captured(capture(&mut || device.synchronize()), "`synchronize`");
        not_captured(capture(&mut || device.time(|| Ok(())).map(drop)), "`time`");
        not_captured(
            capture(&mut || device.record_event().map(drop)),
            "`record_event`",
        );
        not_captured(capture(&mut || device.wait_for(&other)), "`wait_for`");
        not_captured(
            capture(&mut || device.capture(|| Ok(())).map(drop)),
            "`capture`",
        );
        not_captured(capture(&mut || elsewhere.enqueue()), "of another handle");
        not_captured(capture(&mut || mask.enqueue()), "`convolve`");
        // Both can be asked before.
        not_captured(mask.capturable(), "`convolve`");
        sorted.capturable()?;
        // The same convolution, with its mask in memory.
        let request = device
            .convolve_request(&values, &[0.5, 0.25])
            .mask_in_memory();
        let mut captured = request.prepare()?;
        captured.capturable()?;
        let mut graph = device.capture(|| captured.enqueue())?;
        // SAFETY: the arrays are still there, and nothing else writes to them.
        unsafe { graph.launch()? };
        mask.enqueue()?;
        assert_eq!(captured.output()?.to_vec()?, mask.output()?.to_vec()?);
        assert_ne!(captured.kernels(), mask.kernels());
        let counts = device.histogram_request(&keys, 4).output_on_device();
        let serial = counts.clone().variant("serial").prepare()?;
        not_captured(serial.capturable(), "given");
        counts.prepare()?.capturable()?;
        // The work before the error is not done, and nothing is left of the capture.
        let half = device.capture(|| {
            sorted.enqueue()?;
            Err(values.slice(4..).expect_err("too far"))
        });
        assert!(matches!(
            half,
            Err(Error::Invalid {
                kind: InvalidKind::Range,
                ..
            })
        ));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            device.capture(|| panic!("in a capture"))
        }));
        assert!(caught.is_err());
        sorted.enqueue()?;
        assert_eq!(sorted.output()?.to_vec()?, [1.0, 2.0, 3.0]);
        mask.enqueue()?;
        drop((sorted, elsewhere, mask));
        not_captured(capture(&mut || values.upload(&[1.0; 3])), "`upload`");
        let upload = &mut || values.upload_pinned(&mut pinned);
        not_captured(capture(upload), "`upload_pinned`");
        // Nothing at all is a graph, too; and a graph cannot be launched into another one.
        let mut graph = device.capture(|| Ok(()))?;
        // SAFETY: nothing is used.
        unsafe {
            graph.launch()?;
            not_captured(capture(&mut || graph.launch()), "`launch of a graph`");
        }
        // Work of other threads on the same handle is not captured.
        let mut graph = device.capture(|| {
            let sum = std::thread::scope(|scope| scope.spawn(|| device.sum(&values)).join());
            assert_eq!(sum.expect("no panic")?, 6.0);
            values.view_mut().clear()
        })?;
        assert_eq!(values.to_vec()?, [3.0, 1.0, 2.0]);
        // SAFETY: the array is still there.
        unsafe { graph.launch()? };
        assert_eq!(values.to_vec()?, [0.0; 3]);
    }
    Ok(())
}

#[test]
fn events_order_handles() -> Result<()> {
    for device in devices::all() {
        let other = device.new_stream()?;
        let values = device.upload(&[1_u32, 2, 3])?;
        let event = device.record_event()?;
        other.wait_event(&event)?;
        event.synchronize()?;
        assert_eq!(other.sum(&values)?, 6);
        let cpu = Device::cpu();
        if device.kind() != cpu.kind() {
            let error = cpu.wait_event(&event).expect_err("another device");
            assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
        }
    }
    Ok(())
}
