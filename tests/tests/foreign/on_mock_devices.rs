//! What is asked of the driver for memory and streams of others: mock devices list the calls.

use std::{ffi::c_void, ptr, sync::Arc};

use libloading::Library;
use warpwright_tests::faults::{self, Driver};

use super::*;

const SYNCHRONIZE: &str = "cuStreamSynchronize";
const DONE: &str = "all calls are as stated";

#[test]
fn child() {
    let Some(behind) = faults::is_child() else {
        return;
    };
    let driver = faults::driver(behind).expect("a driver");
    driver.devices(2, 1 << 30);
    let device = Device::cuda(0).expect("a device");
    memory(&driver, &device).expect("no call fails");
    owners(&driver, &device).expect("no call fails");
    streams(&driver, &device).expect("no call fails");
    tables(&driver, &device).expect("no call fails");
    results(&driver, &device).expect("no call fails");
    assert_eq!(driver.wrong(), "");
    println!("{DONE}");
}

#[test]
fn calls_are_as_stated() {
    faults::run_child("on_mock_devices::child", DONE);
}

/// What the driver says of an address decides.
fn memory(driver: &Driver, device: &Device) -> Result<()> {
    let bare = Bare::open();
    let second = Device::cuda(1)?;
    let mut theirs = device.upload(&[1_u32, 2, 3, 4])?;
    let elsewhere = second.upload(&[1_u32; 4])?;
    let start = theirs.view_mut().device_pointer();
    let kind = InvalidKind::Foreign;
    // SAFETY: what is refused is not used, and the elements that are not live.
    unsafe {
        let (view, asked) = driver.names_of(|| device.foreign_view::<u32>(start, 4));
        assert_eq!(view?.to_vec()?, [1, 2, 3, 4]);
        assert_eq!(asked, ["cuPointerGetAttributes"]);
        assert_eq!(
            device.foreign_view::<u32>(start + 4, 3)?.to_vec()?,
            [2, 3, 4]
        );
        let (none, asked) = driver.names_of(|| device.foreign_view::<u32>(0, 0));
        assert_eq!((none?.len(), asked.len()), (0, 0));
        device
            .foreign_view_mut::<u32>(start, 4)?
            .upload(&[9, 8, 7, 6])?;
        assert_eq!(theirs.to_vec()?, [9, 8, 7, 6]);

        let view = |at, len| device.foreign_view::<u32>(at, len);
        let own = "memory of cuda:0";
        refused(
            view(start, 5),
            kind,
            &["20 bytes", own, "16 bytes before the end"],
        );
        refused(
            view(start + 4, 4),
            kind,
            &["16 bytes", "12 bytes before the end"],
        );
        let host = [0_u32; 4];
        refused(
            view(address(&host), 4),
            kind,
            &[own, "the driver does not know"],
        );
        let mut pinned = device.pinned::<u32>(4)?;
        let pinned = address(pinned.as_mut_slice()?);
        refused(view(pinned, 4), kind, &[own, "memory of the host"]);
        let other = elsewhere.view().device_pointer();
        refused(view(other, 4), kind, &[own, "memory of cuda:1"]);
        let on_cpu = Device::cpu().foreign_view::<u32>(start, 4).map(drop);
        refused(
            on_cpu,
            kind,
            &["memory of the host", "memory of a CUDA device"],
        );

        // Memory of another context of the device, and memory that the host can use as well.
        let (mut context, mut pointer, mut both) = (ptr::null_mut(), 0, 0);
        assert_eq!(bare.ctx_create(&mut context, 0, 1000), 0);
        assert_eq!(bare.mem_alloc(&mut pointer, 16), 0);
        refused(
            view(pointer, 4),
            kind,
            &["primary context", "memory of another context"],
        );
        assert_eq!(bare.ctx_set_current(context), 0);
        assert_eq!(bare.mem_free(pointer), 0);
        assert_eq!(bare.ctx_destroy(context), 0);
        device.synchronize()?;
        assert_eq!(bare.mem_alloc_managed(&mut both, 16, 1), 0);
        for device in [device, &second, &Device::cpu()] {
            let view = device.foreign_view::<u32>(both, 4)?;
            assert_eq!(view.to_vec()?, [0; 4]);
        }
        refused(
            second.foreign_view::<u32>(both, 5),
            kind,
            &["16 bytes before the end"],
        );
        assert_eq!(bare.mem_free(both), 0);

        driver.answer(c"cuPointerGetAttributes", 999);
        let error = view(start, 4).expect_err("the driver cannot tell");
        driver.answer(c"cuPointerGetAttributes", 0);
        assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
    }
    Ok(())
}

/// An owner is dropped when the work is done, or not at all.
fn owners(driver: &Driver, device: &Device) -> Result<()> {
    let owners = Owners::default();
    let vector = || -> Result<_> {
        let mut theirs = device.upload(&[1_u32, 2, 3, 4])?;
        let start = theirs.view_mut().device_pointer();
        // SAFETY: the owner keeps the elements.
        unsafe { device.foreign_vector::<u32>(start, 4, (theirs, owners.one())) }
    };
    let mine = vector()?;
    let ((), made) = driver.names_of(|| drop(mine));
    assert_eq!(made, [SYNCHRONIZE, "cuMemFreeAsync"]);
    assert_eq!(owners.dropped(), 1);
    // The driver cannot tell whether the work is done.
    let mine = vector()?;
    driver.answer(c"cuStreamSynchronize", 999);
    let ((), made) = driver.names_of(|| drop(mine));
    assert_eq!(
        (made, owners.dropped()),
        (vec![SYNCHRONIZE.to_owned(); 2], 1)
    );
    // Nothing runs any more.
    let mine = vector()?;
    driver.answer(c"cuStreamSynchronize", 719);
    drop(mine);
    driver.answer(c"cuStreamSynchronize", 0);
    assert_eq!(owners.dropped(), 2);
    Ok(())
}

fn streams(driver: &Driver, device: &Device) -> Result<()> {
    let live = driver.live();
    let mine = device.new_stream()?;
    let raw = mine.cuda_stream().expect("a CUDA device");
    let handles = [0, 1, 2, raw.addr()].map(ptr::without_provenance_mut::<c_void>);
    for handle in handles {
        // SAFETY: the streams live, and are used on this thread alone.
        let (theirs, made) = driver.names_of(|| unsafe { device.on_cuda_stream(handle) });
        assert_eq!(made, ["cuStreamGetCtx"]);
        let theirs = theirs?;
        assert_eq!(theirs.cuda_stream(), Some(handle));
        let values = theirs.upload(&[1_u32, 2])?;
        let mut sorted = theirs.sort_request(&values).prepare()?;
        let (queued, made) = driver.names_of(|| sorted.enqueue());
        queued?;
        assert!(!made.iter().any(|call| call == SYNCHRONIZE), "{made:?}");
        // With another handle's work it is ordered by events, and nobody waits.
        let mut theirs_too = device.sort_request(&values).prepare()?;
        let (queued, made) = driver.names_of(|| theirs_too.enqueue());
        queued?;
        let ordered = made
            .iter()
            .filter(|call| *call == "cuStreamWaitEvent")
            .count();
        assert_eq!(ordered, 2, "{made:?}");
        assert!(!made.iter().any(|call| call == SYNCHRONIZE), "{made:?}");
        drop((sorted, theirs_too));
        drop(values);
        let ((), made) = driver.names_of(|| drop(theirs));
        assert_eq!(made, [""; 0]);
    }
    // A stream of the library's own, which is another's too: the same stream needs no order.
    // SAFETY: the stream lives.
    let same = unsafe { device.on_cuda_stream(raw)? };
    assert_eq!(driver.names_of(|| same.wait_for(&mine)).1, [""; 0]);
    assert_eq!(
        driver.names_of(|| same.wait_for(device)).1,
        [
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuEventDestroy_v2"
        ]
    );
    // An owner is kept until nothing is left that was made with the handle, and dropped at once if the stream is refused.
    let owner = Arc::new(());
    // SAFETY: the stream lives.
    let kept = unsafe { device.on_cuda_stream_kept_by(raw, owner.clone())? };
    let values = kept.upload(&[1_u32])?;
    drop(kept);
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(values);
    assert_eq!(Arc::strong_count(&owner), 1);
    let own = same.new_stream()?;
    assert_ne!(own.cuda_stream(), Some(raw));
    let second = Device::cuda(1)?;
    let raw = second.cuda_stream().expect("a CUDA device");
    // SAFETY: the stream is refused.
    let other = unsafe { device.on_cuda_stream(raw) };
    let parts = [
        "on_cuda_stream",
        "primary context of cuda:0",
        "another context",
    ];
    refused(other, InvalidKind::Foreign, &parts);
    // SAFETY: the stream is refused.
    let other = unsafe { device.on_cuda_stream_kept_by(raw, owner.clone()) };
    refused(other, InvalidKind::Foreign, &["on_cuda_stream_kept_by"]);
    assert_eq!(Arc::strong_count(&owner), 1);
    let error = device.wait_for(&second).expect_err("another device");
    assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
    drop((same, own, mine, second));
    assert_eq!(driver.live()[1..5], live[1..5]);
    Ok(())
}

/// Results that stay on the device: nothing is read, and nobody waits.
fn results(driver: &Driver, device: &Device) -> Result<()> {
    let values = device.upload(&vec![1_u32; 100_000])?;
    let bytes = device.upload(&vec![1_u8; 100_000])?;
    let none = device.zeros::<u32>(0)?;
    let mut one = device.zeros::<u64>(1)?;
    let mut least = device.zeros::<u32>(1)?;
    let mut counts = device.zeros::<u64>(256)?;
    let all = || device.reduce(&values);
    let mut made = Vec::new();
    let mut note = |result: Result<()>| -> Result<()> {
        made.push(driver.calls());
        result
    };
    let (done, called) = driver.names_of(|| -> Result<()> {
        note(all().output_to(&mut one).sum().map(drop))?;
        note(all().output_to(&mut one).product().map(drop))?;
        note(all().output_to(&mut one).argmin().map(drop))?;
        note(all().output_to(&mut one).argmax().map(drop))?;
        note(all().output_to(&mut least).min().map(drop))?;
        note(all().output_to(&mut least).max().map(drop))?;
        note(all().output_on_device().sum().map(drop))?;
        note(device.reduce(&none).output_to(&mut one).product().map(drop))?;
        let histogram = device.histogram_request(&bytes, 256);
        note(
            histogram
                .output_to(&mut counts)
                .output_on_device()
                .run()
                .map(drop),
        )
    });
    done?;
    assert!(
        made.is_sorted_by(|before, after| before < after),
        "{made:?}"
    );
    let waits = |call: &&String| call.contains("Synchronize") || call.contains("DtoH");
    assert_eq!(called.iter().find(waits), None, "{called:?}");
    // Prepared, a sum is one launch.
    let mut sum = all().output_to(&mut one).prepare_sum()?;
    sum.enqueue()?;
    let (done, called) = driver.names_of(|| sum.enqueue());
    assert_eq!((done?, called), ((), vec!["cuLaunchKernel".to_owned()]));
    Ok(())
}

/// A table of constants keeps nothing of a stream of others, which may be destroyed once its handle is gone.
fn tables(driver: &Driver, device: &Device) -> Result<()> {
    let bare = Bare::open();
    let mut stream = ptr::null_mut();
    device.synchronize()?;
    // SAFETY: the stream is destroyed when its handle is gone; a pointer is written.
    unsafe {
        assert_eq!(bare.stream_create(&mut stream, 1), 0);
        let theirs = device.on_cuda_stream(stream)?;
        let values = theirs.upload(&[1.0_f32; 100])?;
        theirs.convolve(&values, &[0.5, 0.25])?;
        driver.answer(c"cuEventRecord", 999);
        let failed = theirs.convolve(&values, &[0.5, 0.75]);
        driver.answer(c"cuEventRecord", 0);
        assert!(failed.is_err());
        theirs.convolve(&values, &[0.5, 0.5])?;
        drop((values, theirs));
        assert_eq!(bare.stream_destroy(stream), 0);
    }
    let values = device.upload(&[1.0_f32; 100])?;
    device.convolve(&values, &[0.25, 0.25])?;
    Ok(())
}

/// Functions of the driver that another library would call.
struct Bare(Library);

type Handle = *mut c_void;

macro_rules! bare {
    ($($name:ident = $export:literal ($($argument:ident: $ty:ty),*);)*) => {
        impl Bare { $(
            /// # Safety
            /// As for the driver's function.
            unsafe fn $name(&self, $($argument: $ty),*) -> u32 {
                type Function = unsafe extern "C" fn($($ty),*) -> u32;
                // SAFETY: the function has this type; the caller keeps the contract.
                unsafe {
                    let function = self.0.get::<Function>(concat!($export, "\0").as_bytes());
                    function.expect($export)($($argument),*)
                }
            }
        )* }
    };
}
bare! {
    ctx_create = "cuCtxCreate_v2" (context: *mut Handle, flags: u32, device: i32);
    ctx_destroy = "cuCtxDestroy_v2" (context: Handle);
    ctx_set_current = "cuCtxSetCurrent" (context: Handle);
    mem_alloc = "cuMemAlloc_v2" (pointer: *mut u64, bytes: usize);
    mem_alloc_managed = "cuMemAllocManaged" (pointer: *mut u64, bytes: usize, flags: u32);
    mem_free = "cuMemFree_v2" (pointer: u64);
    stream_create = "cuStreamCreate" (stream: *mut Handle, flags: u32);
    stream_destroy = "cuStreamDestroy_v2" (stream: Handle);
}

impl Bare {
    /// Opens the driver of this process once more.
    fn open() -> Self {
        let path = std::env::var_os("WARPWRIGHT_LIBCUDA").expect("the child is told");
        // SAFETY: the library is open already.
        Self(unsafe { Library::new(path) }.expect("the driver"))
    }
}
