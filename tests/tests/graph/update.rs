//! Updates: a graph goes on with other arrays, scalars and sizes, and refuses work of other parts.

use warpwright::{
    Device, Error, Generator, Graph, InvalidKind, Matrix, Result,
    ops::{map::Scale, reduce::Operator},
};
use warpwright_tests::devices;

/// Asserts that `result` is the error of work that is not what a graph has, in one line that has `parts`.
#[track_caller]
fn not_updated(result: Result<()>, parts: &[&str]) {
    let error = result.expect_err("an error");
    let text = error.to_string();
    let kind = InvalidKind::Capture;
    assert!(
        matches!(error, Error::Invalid { kind: found, .. } if found == kind),
        "{error:?}"
    );
    assert!(!text.contains('\n'), "{text}");
    for part in [&["update of a graph: ", "required", "given"], parts].concat() {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The elements of a matrix, 40 x 40.
fn matrix(device: &Device, scalar: f32) -> Result<Matrix<f32>> {
    let elements: Vec<f32> = (0..40 * 40).map(|i| (i % 23) as f32 - scalar).collect();
    device.upload_matrix(&elements, 40, 40)
}

#[test]
fn a_graph_goes_on_with_other_arrays_scalars_and_sizes() -> Result<()> {
    for device in devices::all() {
        let other = device.new_stream()?;
        // The last arrays are of another handle, and longer.
        let handles = [device, device, &other];
        let scalars = [2.0, -0.3, 7.7];
        let mut vectors = [
            device.zeros::<f32>(20_000)?,
            device.zeros::<f32>(20_000)?,
            other.zeros::<f32>(23_001)?,
        ];
        let matrices = [
            matrix(device, scalars[0])?,
            matrix(device, scalars[1])?,
            matrix(&other, scalars[2])?,
        ];
        let mut work = Vec::new();
        for (number, scalar) in scalars.into_iter().enumerate() {
            let (vector, matrix) = (&mut vectors[number], &matrices[number]);
            let (at, len) = (vector.view_mut().device_pointer(), vector.len());
            // SAFETY: the arrays live as long as the requests, and uploads are in order with them.
            let view = unsafe { handles[number].foreign_view::<f32>(at, len)? };
            work.push((
                device
                    .map_request(view, Scale::multiply(scalar))
                    .prepare()?,
                device.gemm(matrix, matrix).alpha(scalar).prepare()?,
                device.sort_request(view).prepare()?,
                device.reduce(view).prepare(Operator::ArgMax)?,
            ));
        }
        let mut graph: Option<Graph> = None;
        for (turn, number) in [0, 1, 2, 1, 1, 0].into_iter().enumerate() {
            let (map, gemm, sort, max) = &mut work[number];
            let enqueue = || {
                map.enqueue()?;
                gemm.enqueue()?;
                sort.enqueue()?;
                max.enqueue()
            };
            match &mut graph {
                Some(graph) => graph.update(enqueue)?,
                None => graph = Some(device.capture(enqueue)?),
            }
            let graph = graph.as_mut().expect("a graph");
            let values: Vec<f32> = (0..vectors[number].len())
                .map(|i| ((i + turn) * 7919 % 4099) as f32 * 0.37)
                .collect();
            vectors[number].upload(&values)?;
            let apart = device.upload(&values)?;
            let (matrix, scalar) = (&matrices[number], scalars[number]);
            let wanted = [
                device.map(&apart, Scale::multiply(scalar))?.to_vec()?,
                device.gemm(matrix, matrix).alpha(scalar).run()?.to_vec()?,
                device.sort(&apart)?.to_vec()?,
            ];
            for _ in 0..2 {
                // SAFETY: everything is still there.
                unsafe { graph.launch()? };
            }
            let found = [
                map.output()?.to_vec()?,
                gemm.output()?.to_vec()?,
                sort.output()?.to_vec()?,
            ];
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(bits(found), bits(wanted), "{number} in turn {turn}");
            }
            let position = device.argmax(&apart)?.expect("elements");
            assert_eq!(
                format!("{:?}", max.finish()?),
                format!("Some(Index({position}))")
            );
        }
    }
    Ok(())
}

#[test]
fn launches_before_an_update_do_what_they_were_to_do() -> Result<()> {
    for device in devices::all() {
        let values: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
        let input = device.upload(&values)?;
        let mut all = Vec::new();
        for factor in 1..=12_u16 {
            let scale = Scale::multiply(f32::from(factor));
            all.push(device.map_request(&input, scale).prepare()?);
        }
        let mut graph = device.capture(|| all[0].enqueue())?;
        for request in &mut all {
            // The launch of before still runs, for all that the host knows.
            graph.update(|| request.enqueue())?;
            // SAFETY: the requests still exist.
            unsafe { graph.launch()? };
        }
        for (request, factor) in all.iter().zip(1..) {
            let wanted: Vec<f32> = values.iter().map(|value| value * factor as f32).collect();
            assert_eq!(request.output()?.to_vec()?, wanted);
        }
        // What a launch uses may be dropped behind it.
        let output = {
            let more = device.upload(&[1.5_f32; 3000])?;
            let mut place = device.zeros::<f32>(3000)?;
            let mut request = device
                .map_request(&more, Scale::multiply(2.0))
                .output_to(&mut place)
                .prepare()?;
            graph.update(|| request.enqueue())?;
            // SAFETY: the request still exists.
            unsafe { graph.launch()? };
            graph.update(|| all[0].enqueue())?;
            drop(request);
            place
        };
        assert_eq!(output.to_vec()?, [3.0; 3000]);
        // SAFETY: the request still exists.
        unsafe { graph.launch()? };
    }
    Ok(())
}

#[test]
fn work_of_other_parts_is_refused_and_the_graph_stays() -> Result<()> {
    for device in devices::all() {
        let mut values = device.upload(&[3.0_f32, 1.0, 2.0])?;
        let mut zeros = device.upload(&[1_u8; 10])?;
        let mut none = device.zeros::<u8>(0)?;
        let at = values.view_mut().device_pointer();
        // SAFETY: the array lives as long as the requests, and uploads are in order with them.
        let view = unsafe { device.foreign_view::<f32>(at, 3)? };
        let mut map = device.map_request(view, Scale::add(1.0)).prepare()?;
        let mut turned = device.map_request(view, Scale::add(-1.0)).prepare()?;
        let mut sort = device.sort_request(view).prepare()?;
        let mut graph = device.capture(|| {
            zeros.view_mut().clear()?;
            map.enqueue()
        })?;
        let fewer = graph.update(|| zeros.view_mut().clear());
        let parts = ["1, where the graph has a launch of `map_", "as number 2"];
        not_updated(fewer, &parts);
        let nothing = graph.update(|| none.view_mut().clear());
        not_updated(nothing, &["0, where the graph has a fill as number 1"]);
        let more = graph.update(|| {
            zeros.view_mut().clear()?;
            map.enqueue()?;
            zeros.view_mut().clear()
        });
        not_updated(more, &["a fill as number 3, where the graph has 2"]);
        let another = graph.update(|| {
            zeros.view_mut().clear()?;
            sort.enqueue()
        });
        let parts = [
            "launch of `sort_",
            "as number 2, where the graph has a launch of `map_",
        ];
        not_updated(another, &parts);
        let order = graph.update(|| {
            map.enqueue()?;
            zeros.view_mut().clear()
        });
        not_updated(order, &["as number 1, where the graph has a fill"]);
        // What cannot be captured, and other errors and panics of the work.
        let waits = graph.update(|| device.synchronize());
        super::not_captured(waits, "`synchronize`");
        let fails = graph.update(|| values.slice(4..).map(drop));
        assert!(matches!(
            fails,
            Err(Error::Invalid {
                kind: InvalidKind::Range,
                ..
            })
        ));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            graph.update(|| panic!("in an update"))
        }));
        assert!(caught.is_err());
        let within = device.capture(|| graph.update(|| Ok(())));
        super::not_captured(within, "`update of a graph`");
        // The graph is what it was.
        let mut launch = |graph: &mut Graph, by: f32| -> Result<()> {
            values.upload(&[by, 2.0 * by, 3.0 * by])?;
            // SAFETY: everything is still there.
            unsafe { graph.launch() }
        };
        launch(&mut graph, 1.0)?;
        assert_eq!(map.output()?.to_vec()?, [2.0, 3.0, 4.0]);
        // And can still be updated.
        graph.update(|| {
            zeros.view_mut().clear()?;
            turned.enqueue()
        })?;
        launch(&mut graph, 10.0)?;
        assert_eq!(turned.output()?.to_vec()?, [9.0, 19.0, 29.0]);
        assert_eq!(map.output()?.to_vec()?, [2.0, 3.0, 4.0]);
        assert_eq!(zeros.to_vec()?, [0; 10]);
    }
    Ok(())
}

/// A fill of another size, which a driver may not take in the place of the first one, and copies.
#[test]
fn fills_and_copies_of_other_sizes() -> Result<()> {
    for device in devices::all() {
        let sizes = [1000_usize, 10, 60_001];
        let mut arrays = Vec::new();
        for len in sizes {
            arrays.push((device.upload(&vec![7_u8; len])?, device.zeros::<u8>(len)?));
        }
        let mut graph: Option<Graph> = None;
        for (from, to) in &mut arrays {
            let half = to.len() / 2;
            let enqueue = || {
                to.view_mut().copy_from(from.view())?;
                to.slice_mut(..half)?.clear()
            };
            match &mut graph {
                Some(graph) => graph.update(enqueue)?,
                None => graph = Some(device.capture(enqueue)?),
            }
            let graph = graph.as_mut().expect("a graph");
            // SAFETY: the arrays are still there.
            unsafe { graph.launch()? };
            let mut wanted = vec![7; to.len()];
            wanted[..half].fill(0);
            assert_eq!(to.to_vec()?, wanted);
        }
    }
    Ok(())
}

/// The numbers of a graph are those of the place where the generator was, and the generator's own go on behind them.
#[test]
fn generators_draw_the_same_at_each_launch_and_go_on_at_an_update() -> Result<()> {
    const LEN: usize = 3000;
    for device in devices::all() {
        for kind in [Generator::Philox, Generator::Xorwow] {
            let all = device.generator(kind, 7)?.bits(4 * LEN)?.to_vec()?;
            let numbers: Vec<&[u32]> = all.chunks(LEN).collect();
            let mut random = device.generator(kind, 7)?;
            let [mut first, mut third] = [device.zeros::<u32>(LEN)?, device.zeros::<u32>(LEN)?];
            let mut graph = device.capture(|| random.fill_bits(first.view_mut()))?;
            // Drawn by the generator itself, before and after launches.
            assert_eq!(random.bits(LEN)?.to_vec()?, numbers[1], "{kind:?}");
            for _ in 0..2 {
                first.view_mut().clear()?;
                // SAFETY: the array and the generator still exist.
                unsafe { graph.launch()? };
                assert_eq!(first.to_vec()?, numbers[0], "{kind:?}");
            }
            graph.update(|| random.fill_bits(third.view_mut()))?;
            assert_eq!(random.bits(LEN)?.to_vec()?, numbers[3], "{kind:?}");
            // SAFETY: as above.
            unsafe { graph.launch()? };
            assert_eq!(third.to_vec()?, numbers[2], "{kind:?}");
            assert_eq!(first.to_vec()?, numbers[0], "{kind:?}");
        }
    }
    Ok(())
}
