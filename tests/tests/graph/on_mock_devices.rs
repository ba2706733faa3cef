//! The driver's calls of graphs, and what is left when one of them fails.

use warpwright::{
    Device, Graph, LaunchConfig, Module, Result,
    ops::{map::Scale, scan::Operator},
};
use warpwright_tests::faults::{self, Driver, Plan};

use super::own_kernels::{PTX, Scaled};

const DONE: &str = "all calls are as stated";

#[test]
fn child() {
    let Some(behind) = faults::is_child() else {
        return;
    };
    let driver = faults::driver(behind).expect("a driver");
    let device = Device::cuda(0).expect("a device");
    launches(&driver, &device).expect("no call fails");
    owners(&driver, &device).expect("no call fails");
    failures(&driver, &device).expect("no call fails");
    updates(&driver, &device).expect("no call fails");
    updates_in_flight(&driver, &device).expect("no call fails");
    modules_stay_loaded(&driver, &device).expect("no call fails");
    updates_fail(&driver, &device).expect("no call fails");
    assert_eq!(driver.wrong(), "");
    println!("{DONE}");
}

#[test]
fn calls_are_as_stated() {
    faults::run_child("on_mock_devices::child", DONE);
}

/// A launch is one call, with the nodes of the calls that were captured; a capture waits for nothing.
fn launches(driver: &Driver, device: &Device) -> Result<()> {
    let bytes = device.upload(&vec![1_u8; 10_000])?;
    let values = device.upload(&vec![1_u32; 10_000])?;
    // The kernels are loaded once.
    device.sum(&values)?;
    device.histogram(&bytes, 256)?;
    let live = driver.live_in_all();
    let mut counts = device.histogram_request(&bytes, 256).prepare()?;
    let mut sum = device.reduce(&values).output_on_device().prepare_sum()?;
    counts.enqueue()?;
    let mut work = || {
        counts.enqueue()?;
        sum.enqueue()
    };
    let (graph, made) = driver.names_of(|| device.capture(&mut work));
    let mut graph = graph?;
    assert_eq!(
        made,
        [
            "cuStreamCreate",
            "cuStreamBeginCapture_v2",
            "cuMemsetD8Async",
            "cuLaunchKernel",
            // What a sum needs once is done, not captured.
            "cuMemsetD8Async",
            "cuLaunchKernel",
            "cuStreamEndCapture",
            "cuGraphInstantiateWithFlags",
            "cuGraphDestroy",
            "cuStreamDestroy_v2",
        ]
    );
    for _ in 0..3 {
        // SAFETY: the requests are still there.
        let (done, made) = driver.calls_of(|| unsafe { graph.launch() });
        done?;
        let made: Vec<_> = made
            .iter()
            .filter(|call| *call != "cuCtxGetCurrent")
            .collect();
        let [launch] = made[..] else {
            panic!("{made:?}");
        };
        assert!(launch.starts_with("cuGraphLaunch "), "{launch}");
        let nodes = ["[histogram_best__", "[reduce_best__sum_u32 "];
        assert!(nodes.iter().all(|node| launch.contains(node)), "{launch}");
    }
    drop(graph);
    drop((counts, sum));
    assert_eq!(driver.live_in_all(), live);
    Ok(())
}

/// A graph is ordered with the handles whose arrays it uses, when it is launched.
fn owners(driver: &Driver, device: &Device) -> Result<()> {
    let other = device.new_stream()?;
    let values = other.upload(&[3_u32, 1, 2])?;
    let mut sorted = device.sort_request(&values).prepare()?;
    let (graph, made) = driver.names_of(|| device.capture(|| sorted.enqueue()));
    assert!(!made.iter().any(|call| call.contains("Event")), "{made:?}");
    let mut graph = graph?;
    // SAFETY: the request is still there.
    let (done, made) = driver.names_of(|| unsafe { graph.launch() });
    done?;
    let order = [
        "cuEventCreate",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuEventDestroy_v2",
    ];
    let wanted = [&order[..], &["cuGraphLaunch"], &order].concat();
    assert_eq!(made, wanted);
    // A graph of a handle on the default stream, which cannot be captured itself.
    // SAFETY: the default stream always lives.
    let default = unsafe { device.on_cuda_stream(std::ptr::null_mut())? };
    let values = default.upload(&[3_u32, 1, 2])?;
    let mut sorted = default.sort_request(&values).prepare()?;
    let mut graph = default.capture(|| sorted.enqueue())?;
    // SAFETY: the request is still there.
    unsafe { graph.launch()? };
    Ok(())
}

/// Each call of a capture fails once: the error is told, nothing is left, and the handle works.
fn failures(driver: &Driver, device: &Device) -> Result<()> {
    let values = device.upload(&[3_u32, 1, 2])?;
    let mut sorted = device.sort_request(&values).prepare()?;
    sorted.enqueue()?;
    device.synchronize()?;
    let live = driver.live_in_all();
    let mut failed = 0;
    for nth in 1.. {
        driver.arm(Plan::Once, nth, 999);
        let graph = device.capture(|| sorted.enqueue());
        let (calls, call) = driver.disarm();
        let is_told = graph.is_err();
        drop(graph);
        assert_eq!(driver.live_in_all(), live, "{call:?}");
        failed += u32::from(is_told);
        sorted.enqueue()?;
        device.synchronize()?;
        if calls < nth {
            assert!(!is_told, "no call failed");
            break;
        }
    }
    assert!(failed >= 5, "{failed}");
    let mut graph = device.capture(|| sorted.enqueue())?;
    driver.answer(c"cuGraphLaunch", 719);
    // SAFETY: the request is still there.
    let lost = unsafe { graph.launch() }.expect_err("a fault");
    driver.answer(c"cuGraphLaunch", 0);
    assert!(lost.to_string().contains("cuGraphLaunch"), "{lost}");
    Ok(())
}

/// Launches `graph` and returns what the driver runs.
fn launched(driver: &Driver, graph: &mut Graph) -> Result<String> {
    // SAFETY: the callers keep what the graph uses.
    let (done, made) = driver.calls_of(|| unsafe { graph.launch() });
    done?;
    let made = made.into_iter();
    Ok(made
        .filter(|call| call.starts_with("cuGraphLaunch "))
        .collect())
}

/// An update is one call beside those of the capture, and waits for nothing.
fn updates(driver: &Driver, device: &Device) -> Result<()> {
    let other = device.new_stream()?;
    let own = device.upload(&vec![1_u8; 10_000])?;
    let theirs = other.upload(&vec![1_u8; 9_000])?;
    let live = driver.live_in_all();
    let mut counts = device.histogram_request(&own, 256).prepare()?;
    let mut others = device.histogram_request(&theirs, 256).prepare()?;
    let mut wider = device.histogram_request(&own, 200).prepare()?;
    let mut graph = device.capture(|| counts.enqueue())?;
    let first = launched(driver, &mut graph)?;
    assert!(first.contains("(10000B+0"), "{first}");
    let capture = [
        "cuStreamCreate",
        "cuStreamBeginCapture_v2",
        "cuMemsetD8Async",
        "cuLaunchKernel",
        "cuStreamEndCapture",
        "cuGraphExecUpdate",
    ];
    let end = ["cuGraphDestroy", "cuStreamDestroy_v2"];
    let (updated, made) = driver.names_of(|| graph.update(|| others.enqueue()));
    updated?;
    assert_eq!(made, [&capture[..], &end].concat());
    // The graph is ordered with the handle whose array it has now.
    // SAFETY: the requests are still there.
    let (done, made) = driver.names_of(|| unsafe { graph.launch() });
    done?;
    assert_eq!(
        made.iter()
            .filter(|call| *call == "cuStreamWaitEvent")
            .count(),
        2
    );
    let second = launched(driver, &mut graph)?;
    assert!(second.contains("(9000B+0"), "{second}");
    // What the driver does not put in the place of a node is instantiated.
    driver.answer(c"cuGraphExecUpdate", 910);
    let (updated, made) = driver.names_of(|| graph.update(|| wider.enqueue()));
    driver.answer(c"cuGraphExecUpdate", 0);
    updated?;
    let anew = [
        "cuGraphInstantiateWithFlags",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuStreamDestroy_v2",
    ];
    assert_eq!(made, [&capture[..], &anew].concat());
    // SAFETY: the requests are still there.
    let (done, made) = driver.names_of(|| unsafe { graph.launch() });
    done?;
    assert_eq!(made, ["cuGraphLaunch"]);
    drop(graph);
    drop((counts, others, wider));
    assert_eq!(driver.live_in_all(), live);
    Ok(())
}

/// A launch that still runs does the work of before the update.
fn updates_in_flight(_: &Driver, device: &Device) -> Result<()> {
    let mut first = device.upload(&[1_u32; 100])?;
    let mut second = device.upload(&[2_u32; 200])?;
    let mut graph = device.capture(|| first.view_mut().clear())?;
    // SAFETY: the arrays are still there.
    unsafe { graph.launch()? };
    graph.update(|| second.view_mut().clear())?;
    assert_eq!(first.to_vec()?, [0; 100]);
    assert_eq!(second.to_vec()?, [2; 200]);
    first.upload(&[1; 100])?;
    // SAFETY: the arrays are still there.
    unsafe { graph.launch()? };
    assert_eq!(first.to_vec()?, [1; 100]);
    assert_eq!(second.to_vec()?, [0; 200]);
    Ok(())
}

/// A graph keeps the modules of the kernels that it launches and has launched.
fn modules_stay_loaded(driver: &Driver, device: &Device) -> Result<()> {
    let input = device.upload(&[1_u32; 64])?;
    let mut output = device.zeros::<u32>(64)?;
    let live = driver.live_in_all();
    let mut enqueue = |factor| {
        let module = Module::from_ptx(PTX)?;
        let config = LaunchConfig::linear(1, 64);
        // SAFETY: both arrays have 64 elements.
        unsafe { device.launch::<Scaled>(&module, config, (&input, &mut output, factor)) }
    };
    let mut graph = device.capture(|| enqueue(2))?;
    // A graph to launch, and a module.
    assert_eq!(driver.live_in_all(), live + 2);
    for factor in [3, 4] {
        let text = launched(driver, &mut graph)?;
        assert!(text.contains(&format!("{:#010x})", factor - 1)), "{text}");
        graph.update(|| enqueue(factor))?;
    }
    assert_eq!(driver.live_in_all(), live + 4);
    let text = launched(driver, &mut graph)?;
    assert!(text.contains("0x00000004)"), "{text}");
    drop(graph);
    assert_eq!(driver.live_in_all(), live);
    Ok(())
}

/// Each call of an update fails once: the error is told, the graph does what it did before, and nothing is left.
fn updates_fail(driver: &Driver, device: &Device) -> Result<()> {
    let [short, long] = [
        device.upload(&[1.0_f32; 70])?,
        device.upload(&[1.0_f32; 90])?,
    ];
    let mut before = device.map_request(&short, Scale::multiply(2.0)).prepare()?;
    let mut after = device.map_request(&long, Scale::multiply(3.0)).prepare()?;
    let mut sums = device.scan_request(&long, Operator::Sum).prepare()?;
    for work in [&mut before, &mut after] {
        work.enqueue()?;
    }
    sums.enqueue()?;
    device.synchronize()?;
    let mut graph = device.capture(|| before.enqueue())?;
    let was = launched(driver, &mut graph)?;
    let live = driver.live_in_all();
    let (mut told, mut calls) = (0, Vec::new());
    // Once with an update in place, and once with a graph that is made anew.
    for answer in [0, 910] {
        for nth in 1.. {
            driver.answer(c"cuGraphExecUpdate", answer);
            driver.arm(Plan::Once, nth, 999);
            let updated = graph.update(|| after.enqueue());
            let (made, call) = driver.disarm();
            driver.answer(c"cuGraphExecUpdate", 0);
            let call = call.unwrap_or_default();
            let is = launched(driver, &mut graph)?;
            match &updated {
                Ok(()) => assert!(is.contains("360B+0"), "{call}: {is}"),
                Err(error) => {
                    let stem = call.split("_v").next().unwrap_or_default();
                    let text = error.to_string();
                    assert!(
                        text.contains(stem) && !text.contains('\n'),
                        "{call}: {text}"
                    );
                    assert_eq!(is, was, "{call}");
                    told += 1;
                }
            }
            graph.update(|| before.enqueue())?;
            assert_eq!(launched(driver, &mut graph)?, was, "{call}");
            assert_eq!(driver.live_in_all(), live, "{call}");
            if made < nth {
                assert!(updated.is_ok(), "no call failed");
                break;
            }
            calls.push(call);
        }
    }
    for call in [
        "cuGraphExecUpdate",
        "cuGraphInstantiateWithFlags",
        "cuStreamEndCapture",
    ] {
        assert!(calls.iter().any(|failed| failed == call), "{calls:?}");
    }
    assert!(told >= 10, "{told} of {calls:?}");
    // Other work is refused before the driver is asked.
    let (updated, made) = driver.names_of(|| graph.update(|| sums.enqueue()));
    let text = updated.expect_err("other kernels").to_string();
    assert!(text.contains("map_") && text.contains("scan_"), "{text}");
    assert!(
        !made.iter().any(|call| call.contains("cuGraphExec")),
        "{made:?}"
    );
    assert_eq!(launched(driver, &mut graph)?, was);
    assert_eq!(driver.live_in_all(), live);
    Ok(())
}
