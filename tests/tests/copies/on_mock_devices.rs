//! What is asked of the driver for copies: mock devices list the calls.

use warpwright_tests::faults::{self, Driver, Plan};

use super::*;

const DONE: &str = "all calls are as stated";
/// The device attribute that says whether there are memory pools.
const POOLS: i32 = 115;

#[test]
fn child() {
    let Some(behind) = faults::is_child() else {
        return;
    };
    let driver = faults::driver(behind).expect("a driver");
    driver.devices(9, 1 << 30);
    peers(&driver).expect("no call fails");
    links(&driver).expect("no call fails");
    data().expect("no call fails");
    failures(&driver).expect("no other call fails");
    cpu(&driver).expect("no call fails");
    streams(&driver).expect("no call fails");
    assert_eq!(driver.wrong(), "");
    println!("{DONE}");
}

#[test]
fn calls_are_as_stated() {
    faults::run_child("on_mock_devices::child", DONE);
}

/// Returns the calls of `work` with what they are about, without those that make the context current or name an error.
fn calls<T>(driver: &Driver, work: impl FnOnce() -> Result<T>) -> (Result<T>, Vec<String>) {
    let (value, mut calls) = driver.calls_of(work);
    calls.retain(|call| !call.starts_with("cuCtxSet") && !call.starts_with("cuCtxGet"));
    calls.retain(|call| !call.starts_with("cuGetError"));
    (value, calls)
}

/// The calls that make the work of device `later` wait for that of device `earlier`.
fn waits(later: usize, earlier: usize) -> [String; 4] {
    [
        "cuEventCreate".to_owned(),
        format!("cuEventRecord {earlier}"),
        format!("cuStreamWaitEvent {later}"),
        "cuEventDestroy_v2".to_owned(),
    ]
}

/// The calls of a copy from one device to another: it is made by the source's stream, between two orders.
fn copied(from: usize, to: usize, copies: &[&str]) -> Vec<String> {
    let copies = copies
        .iter()
        .map(|copy| format!("cuMemcpyPeerAsync {copy} on {from}"));
    let mut all = waits(from, to).to_vec();
    all.extend(copies);
    all.extend(waits(to, from));
    all
}

/// The calls that let the devices `a` and `b` access each other's memory.
fn connected(a: usize, b: usize) -> Vec<String> {
    [[a, b], [b, a]]
        .iter()
        .flat_map(|[own, other]| {
            [
                format!("cuDeviceCanAccessPeer {own} {other}"),
                format!("cuCtxEnablePeerAccess {own} {other}"),
                // Memory on a device (1), the device that gets access, to read and write (3).
                format!("cuMemPoolSetAccess [1, {}, 3]", 1000 + own),
            ]
        })
        .collect()
}

/// Access is enabled once, for both contexts and both pools; nobody waits.
fn peers(driver: &Driver) -> Result<()> {
    let (first, second) = (Device::cuda(0)?, Device::cuda(1)?);
    let source = first.upload(&numbers(10))?;
    let (copy, made) = calls(driver, || source.to_device(&second));
    let mut wanted = vec!["cuMemAllocAsync 40".to_owned()];
    wanted.extend(connected(0, 1));
    wanted.extend(copied(0, 1, &["40B+0 40B+0 40"]));
    assert_eq!(made, wanted);
    let mut copy = copy?;
    assert_eq!(copy.to_vec()?, numbers(10));
    // Now it is enabled, both ways, and for every handle.
    let third = first.new_stream()?;
    let mut back = third.zeros::<u32>(16)?;
    let (done, made) = calls(driver, || {
        back.slice_mut(2..6)?.copy_from(copy.slice(1..5)?)
    });
    done?;
    assert_eq!(made, copied(1, 0, &["64B+8 40B+4 16"]));
    assert_eq!(back.to_vec()?[2..6], numbers(10)[1..5]);
    let (done, made) = calls(driver, || copy.slice_mut(3..3)?.copy_from(back.slice(..0)?));
    done?;
    assert_eq!(made, [""; 0], "there is nothing to copy");
    // The source is freed in the order of the stream that copies it.
    let (copy, made) = calls(driver, || {
        let source = first.upload(&numbers(10))?;
        source.to_device(&second)
    });
    assert_eq!(made.last().map(String::as_str), Some("cuMemFreeAsync"));
    assert!(!made.iter().any(|call| call.contains("Synchronize")));
    assert_eq!(copy?.to_vec()?, numbers(10));
    // A copy for each row whose neighbors are not copied too.
    let matrix = first.upload_matrix(&numbers(60), 6, 10)?;
    let (copy, made) = calls(driver, || matrix.rect(1..3, 2..7)?.to_device(&second));
    let rows = ["40B+0 240B+48 20", "40B+20 240B+88 20"];
    assert_eq!(made[1..], copied(0, 1, &rows));
    assert_eq!(copy?.to_vec()?, matrix.rect(1..3, 2..7)?.to_vec()?);
    let (copy, made) = calls(driver, || matrix.rows(1..3)?.to_device(&second));
    assert_eq!(made[1..], copied(0, 1, &["80B+0 240B+40 80"]));
    assert_eq!(copy?.to_vec()?, numbers(60)[10..30]);
    Ok(())
}

/// Without a link, without pools, and with access that others have enabled, copies are as right.
fn links(driver: &Driver) -> Result<()> {
    let first = Device::cuda(0)?;
    let source = first.upload(&numbers(10))?;
    let setup = |made: Vec<String>| -> Vec<String> {
        let end = made.iter().position(|call| call == "cuEventCreate");
        made[1..end.expect("an order")].to_vec()
    };
    let second = Device::cuda(2)?;
    driver.links(false);
    let (copy, made) = calls(driver, || source.to_device(&second));
    driver.links(true);
    assert_eq!(copy?.to_vec()?, numbers(10));
    let asked = ["cuDeviceCanAccessPeer 0 2", "cuDeviceCanAccessPeer 2 0"];
    assert_eq!(setup(made), asked);
    // They are not asked again.
    let (copy, made) = calls(driver, || second.zeros::<u32>(9)?.to_device(&first));
    assert_eq!(copy?.to_vec()?, [0; 9]);
    assert!(!made.iter().any(|call| call.contains("Peer ")), "{made:?}");
    // Memory of `cuMemAlloc` on one side: there is no pool that has to give access.
    driver.attribute(POOLS, 0);
    let second = Device::cuda(3)?;
    driver.attribute(POOLS, 1);
    let (copy, made) = calls(driver, || source.to_device(&second));
    assert_eq!(copy?.to_vec()?, numbers(10));
    let mut wanted = connected(0, 3);
    wanted.remove(2);
    assert_eq!(setup(made), wanted);
    // Enabled by others already, not to be had, of too many peers, not there.
    for (ordinal, code) in [(4, 704), (5, 217), (6, 711), (7, 801)] {
        let second = Device::cuda(ordinal)?;
        driver.answer(c"cuCtxEnablePeerAccess", code);
        let (copy, made) = calls(driver, || source.to_device(&second));
        driver.answer(c"cuCtxEnablePeerAccess", 0);
        assert_eq!(copy?.to_vec()?, numbers(10), "{code}");
        let enabled = setup(made)
            .iter()
            .filter(|call| call.contains("SetAccess"))
            .count();
        assert_eq!(enabled, 2, "{code}: the pools give access all the same");
    }
    Ok(())
}

/// What the copies give.
fn data() -> Result<()> {
    let devices = [Device::cuda(0)?, Device::cuda(1)?, devices::cpu()];
    for from in &devices {
        for to in &devices {
            check(from, to)?;
        }
    }
    Ok(())
}

/// A failed call is told, loses nothing, and the next copy works.
fn failures(driver: &Driver) -> Result<()> {
    let (first, second) = (Device::cuda(0)?, Device::cuda(8)?);
    let source = first.upload(&numbers(10))?;
    let mut place = second.zeros::<u32>(10)?;
    let live = driver.live();
    for call in [
        c"cuDeviceCanAccessPeer",
        c"cuCtxEnablePeerAccess",
        c"cuMemPoolSetAccess",
        c"cuEventCreate",
        c"cuEventRecord",
        c"cuStreamWaitEvent",
        c"cuMemcpyPeerAsync",
    ] {
        let name = call.to_str().expect("a name");
        driver.answer(call, 999);
        let (over, made) = calls(driver, || place.copy_from(&source));
        let anew = source.to_device(&second).map(drop);
        driver.answer(call, 0);
        for result in [over, anew] {
            let error = result.expect_err(name);
            let text = error.to_string();
            assert!(matches!(error, Error::Driver { code: 999, .. }), "{text}");
            assert!(text.contains(name) && !text.contains('\n'), "{text}");
        }
        let copies = made.iter().filter(|it| it.contains("Memcpy")).count();
        let wanted = usize::from(name == "cuMemcpyPeerAsync");
        assert_eq!(copies, wanted, "{name}: {made:?}");
        assert_eq!(driver.live(), live, "{name}");
        assert_eq!(source.to_vec()?, numbers(10));
        assert_eq!(place.to_vec()?, [0; 10]);
    }
    // The copy is queued, and the target cannot be made to wait for it: the host waits.
    place.copy_from(&source)?;
    let (done, made) = driver.calls_of(|| place.copy_from(&source));
    done?;
    let last = made
        .iter()
        .rposition(|call| call.starts_with("cuStreamWaitEvent"));
    let nth = last.expect("an order") as u64 + 1;
    driver.arm(Plan::Once, nth, 999);
    let (failed, made) = calls(driver, || place.copy_from(&source));
    driver.disarm();
    assert!(matches!(failed, Err(Error::Driver { code: 999, .. })));
    assert!(
        made.ends_with(&["cuStreamSynchronize".to_owned()]),
        "{made:?}"
    );
    assert_eq!(place.to_vec()?, numbers(10));
    driver.devices(9, 1 << 10);
    let full = second.zeros::<u8>(950)?;
    let error = source.to_device(&second).expect_err("there is no room");
    assert!(
        matches!(
            error,
            Error::OutOfMemory {
                operation: "to_device",
                requested: 40,
                ..
            }
        ),
        "{error:?}"
    );
    driver.devices(9, 1 << 30);
    drop(full);
    assert_eq!(driver.live(), live);
    // The thread captures: a copy to another device is no work of this handle alone.
    let kind = InvalidKind::Capture;
    let captured = first.capture(|| place.copy_from(&source));
    refused(captured, kind, &["copy_from"]);
    Ok(())
}

/// The host waits for a copy to the CPU. From there it is an upload.
fn cpu(driver: &Driver) -> Result<()> {
    // It reports reads of elements that nobody has written.
    let (device, cpu) = (Device::cuda(0)?, devices::cpu());
    let source = device.upload(&numbers(10))?;
    let (copy, made) = calls(driver, || source.to_device(&cpu));
    assert_eq!(
        made,
        ["cuMemcpyDtoHAsync_v2 40B+0 40", "cuStreamSynchronize"]
    );
    let copy = copy?;
    let sum = numbers(10).iter().map(|it| u64::from(*it)).sum::<u64>();
    assert_eq!(cpu.sum(&copy)?, sum);
    let (back, made) = calls(driver, || copy.to_device(&device));
    assert_eq!(
        made,
        [
            "cuMemAllocAsync 40",
            "cuPointerGetAttributes",
            "cuMemcpyHtoDAsync_v2 40B+0 40"
        ]
    );
    assert_eq!(back?.to_vec()?, numbers(10));
    // The driver cannot tell that the copy is done: it is asked twice.
    driver.answer(c"cuStreamSynchronize", 999);
    let (failed, made) = driver.names_of(|| source.to_device(&cpu));
    driver.answer(c"cuStreamSynchronize", 0);
    assert!(matches!(failed, Err(Error::Driver { code: 999, .. })));
    let asked = made.iter().filter(|call| *call == "cuStreamSynchronize");
    assert_eq!(asked.count(), 2, "{made:?}");
    Ok(())
}

/// On one stream a copy is one call, and between two of them it is ordered by events.
fn streams(driver: &Driver) -> Result<()> {
    let device = Device::cuda(0)?;
    let other = device.new_stream()?;
    let source = device.upload(&numbers(10))?;
    let mut own = device.zeros::<u32>(10)?;
    let copy = "cuMemcpyDtoDAsync_v2 40B+0 40B+0 40".to_owned();
    let (done, made) = calls(driver, || own.copy_from(&source));
    done?;
    assert_eq!((own.to_vec()?, made), (numbers(10), vec![copy.clone()]));
    let mut theirs = other.zeros::<u32>(10)?;
    let (done, made) = calls(driver, || theirs.copy_from(&source));
    done?;
    let mut wanted = waits(0, 0).to_vec();
    wanted.push(copy);
    wanted.extend(waits(0, 0));
    assert_eq!((theirs.to_vec()?, made), (numbers(10), wanted));
    Ok(())
}
