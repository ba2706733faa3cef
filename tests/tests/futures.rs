//! Events as futures, with an executor of a few lines: ready when the work is done, never pending for ever.

use std::{
    env,
    future::{Future, IntoFuture},
    pin::{Pin, pin},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use cuda_std::prelude::*;
use warpwright::{
    Device, DeviceKind, Error, EventFuture, InvalidKind, LaunchConfig, Module, Result,
};
use warpwright_tests::devices;

/// The time after which a future counts as pending for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Unparks a thread and counts its calls.
struct Unpark(Thread, AtomicU32);

impl Unpark {
    fn new() -> Arc<Self> {
        Arc::new(Self(thread::current(), AtomicU32::new(0)))
    }

    fn calls(&self) -> u32 {
        self.1.load(SeqCst)
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, SeqCst);
        self.0.unpark();
    }
}

/// Polls once.
fn poll<F: Future + Unpin>(future: &mut F, unpark: &Arc<Unpark>) -> Poll<F::Output> {
    let waker = Waker::from(unpark.clone());
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Runs a future on this thread, which sleeps until the waker is called.
#[track_caller]
fn block_on<F: Future>(future: impl IntoFuture<IntoFuture = F>) -> F::Output {
    let mut future = pin!(future.into_future());
    let unpark = Unpark::new();
    let waker = Waker::from(unpark.clone());
    let (start, mut seen) = (Instant::now(), 0);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        while unpark.calls() == seen {
            assert!(start.elapsed() < PATIENCE, "the future is pending for ever");
            thread::park_timeout(PATIENCE);
        }
        seen = unpark.calls();
    }
}

#[test]
fn a_future_goes_to_any_executor() {
    fn goes<T: Send + Sync + Unpin + 'static>() {}
    goes::<EventFuture>();
}

/// The elements that take a device a while, and how often they are sorted.
fn sizes(device: &Device) -> (u32, u32) {
    match device.kind() {
        DeviceKind::Cpu => (1000, 2),
        _ => (1 << 20, 20),
    }
}

#[test]
fn work_is_done_when_its_event_is_awaited() -> Result<()> {
    async fn sorted(device: &Device, values: &[u32]) -> Result<Vec<u32>> {
        let mut pinned = device.pinned::<u32>(values.len())?;
        let mut values = device.upload(values)?;
        device.sort_in_place(values.view_mut())?;
        values.download_pinned(&mut pinned)?;
        device.record_event()?.await?;
        Ok(pinned.as_mut_slice()?.to_vec())
    }
    for device in devices::all() {
        let values: Vec<u32> = (0..sizes(device).0)
            .map(|i| i % 2003 * 7919 % 20_011)
            .collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        assert_eq!(block_on(sorted(device, &values))?, expected);
        // More than once, and by reference, and when it is long done.
        let event = device.record_event()?;
        block_on(&event)?;
        event.synchronize()?;
        let mut future = (&event).into_future();
        let unpark = Unpark::new();
        for _ in 0..2 {
            assert!(matches!(poll(&mut future, &unpark), Poll::Ready(Ok(()))));
        }
        assert_eq!(unpark.calls(), 0);
        block_on(event)?;
    }
    Ok(())
}

#[test]
fn many_tasks_wait_at_once() -> Result<()> {
    for device in devices::all() {
        let (len, turns) = sizes(device);
        thread::scope(|scope| {
            let tasks: Vec<_> = (0..8_u32)
                .map(|task| {
                    scope.spawn(move || -> Result<()> {
                        let own = device.new_stream()?;
                        let mut values = own.upload(&vec![task; len as usize])?;
                        for _ in 0..turns {
                            own.sort_in_place(values.view_mut())?;
                            // A future that nobody waits for any more.
                            let mut dropped = own.record_event()?.into_future();
                            let _ = poll(&mut dropped, &Unpark::new());
                            own.sort_in_place(values.view_mut())?;
                            let event = own.record_event()?;
                            let mut future = (&event).into_future();
                            let _ = poll(&mut future, &Unpark::new());
                            drop(dropped);
                            block_on(future)?;
                            block_on(event)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            tasks
                .into_iter()
                .try_for_each(|task| task.join().expect("no panic"))
        })?;
    }
    Ok(())
}

#[test]
fn a_future_is_not_captured() -> Result<()> {
    for device in devices::all() {
        let event = device.record_event()?;
        let captured = device.capture(|| block_on(&event));
        let error = captured.expect_err("it cannot be captured");
        assert!(
            matches!(
                error,
                Error::Invalid {
                    kind: InvalidKind::Capture,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("`wait for an event`"), "{error}");
        block_on(event)?;
    }
    Ok(())
}

/// Runs for a while, and ends with an error.
///
/// # Safety
/// None comes of it.
#[kernel]
pub unsafe fn fault_later(output: GlobalMut<u32>) {
    output.set(usize::MAX, 1);
}

/// The kernel for CUDA devices: it faults after 300 ms.
const FAULT: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry fault_later(
	.param .u64 output,
	.param .u64 output_len
)
{
	.reg .b64 %start, %now;
	.reg .pred %early;
	mov.u64 %start, %globaltimer;
WAIT:
	mov.u64 %now, %globaltimer;
	sub.u64 %now, %now, %start;
	setp.lt.u64 %early, %now, 300000000;
	@%early bra WAIT;
	trap;
	ret;
}
";

/// The variable that makes the test below fault on the CUDA device that it numbers.
const FAULT_ON: &str = "WARPWRIGHT_TEST_FAULT_ON";

/// A fault of the device ends a future that is pending. It takes the context along, so another process does it.
#[test]
fn a_fault_of_the_device_is_the_futures_error() -> Result<()> {
    if let Ok(ordinal) = env::var(FAULT_ON) {
        let device = Device::cuda(ordinal.parse().expect("a number"))?;
        let mut output = device.zeros::<u32>(1)?;
        let module = Module::from_ptx(FAULT)?;
        // SAFETY: the kernel ends with an error.
        unsafe {
            device.launch::<FaultLater>(&module, LaunchConfig::linear(1, 1), (&mut output,))?
        };
        let mut future = device.record_event()?.into_future();
        assert!(poll(&mut future, &Unpark::new()).is_pending());
        let start = Instant::now();
        let error = block_on(future).expect_err("a fault");
        println!("awaited {:?}: {error}", start.elapsed());
        let later = device.record_event().and_then(block_on);
        println!("later: {}", later.expect_err("the context is lost"));
        return Ok(());
    }
    for device in devices::all() {
        let DeviceKind::Cuda { ordinal } = device.kind() else {
            continue;
        };
        let output = Command::new(env::current_exe().expect("a path"))
            .args([
                "a_fault_of_the_device_is_the_futures_error",
                "--exact",
                "--nocapture",
            ])
            .env(FAULT_ON, ordinal.to_string())
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let told = |start| {
            let line = text.lines().find(|line| line.contains(start));
            line.is_some_and(|line| line.contains("context is lost"))
        };
        assert!(
            output.status.success() && told("awaited ") && told("later: "),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        println!("{text}");
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices {
    use std::sync::Mutex;

    use warpwright::{Event, PinnedVec, Vector};
    use warpwright_tests::faults::{self, Driver, Plan};

    use super::*;

    const DONE: &str = "all futures ended";
    const LAUNCH_FAILED: u32 = 719;
    const QUERY: &str = "cuEventQuery";

    #[test]
    fn child() {
        let Some(behind) = faults::is_child() else {
            return;
        };
        let driver = faults::driver(behind).expect("a driver");
        let device = Device::cuda(0).expect("a device");
        let all = || -> Result<()> {
            let mut queued = Queued::new(&device)?;
            // The first wait makes a stream, which stays.
            let live = driver.live_in_all() + 1;
            calls(&driver, &mut queued, live)?;
            dropped(&driver, &mut queued, live)?;
            wakers(&driver, &mut queued)?;
            faults_of_the_device(&driver, &mut queued)?;
            failures(&driver, &mut queued, live)
        };
        all().expect("no call fails");
        assert_eq!(driver.wrong(), "");
        println!("{DONE}");
    }

    #[test]
    fn futures_end() {
        faults::run_child("on_mock_devices::child", DONE);
    }

    /// A copy from pinned memory, which a mock device does not do at once.
    struct Queued<'a> {
        device: &'a Device,
        pinned: PinnedVec<u32>,
        values: Vector<u32>,
    }

    impl<'a> Queued<'a> {
        fn new(device: &'a Device) -> Result<Self> {
            Ok(Self {
                device,
                pinned: device.pinned(4)?,
                values: device.zeros(4)?,
            })
        }

        /// An event behind a copy.
        fn event(&mut self) -> Result<Event> {
            self.values.upload_pinned(&mut self.pinned)?;
            self.device.record_event()
        }

        fn pending(&mut self, unpark: &Arc<Unpark>) -> Result<EventFuture> {
            let mut future = self.event()?.into_future();
            assert!(poll(&mut future, unpark).is_pending());
            Ok(future)
        }
    }

    /// Sleeps until the waker was called.
    #[track_caller]
    fn woken(unpark: &Unpark) {
        let start = Instant::now();
        while unpark.calls() == 0 {
            assert!(start.elapsed() < PATIENCE, "the waker is not called");
            thread::park_timeout(PATIENCE);
        }
    }

    /// Waits until nothing more is left in the driver: the library's thread may have an event a moment longer than the future.
    #[track_caller]
    fn left(driver: &Driver, live: u64) {
        let start = Instant::now();
        while driver.live_in_all() != live && start.elapsed() < PATIENCE {
            thread::yield_now();
        }
        assert_eq!(driver.live_in_all(), live);
    }

    /// Each wait is three calls, none of which waits; the stream is made once.
    fn calls(driver: &Driver, queued: &mut Queued<'_>, live: u64) -> Result<()> {
        for turn in 0..3 {
            driver.hold_callbacks();
            let [first, second] = [Unpark::new(), Unpark::new()];
            let mut future = queued.event()?.into_future();
            let (pending, mut made) = driver.names_of(|| poll(&mut future, &first).is_pending());
            assert!(pending);
            if turn == 0 {
                assert_eq!(made.remove(1), "cuStreamCreate");
            }
            assert_eq!(made, [QUERY, "cuStreamWaitEvent", "cuStreamAddCallback"]);
            // Another task has it now.
            let (pending, made) = driver.names_of(|| poll(&mut future, &second).is_pending());
            assert_eq!((pending, made.len()), (true, 0));
            assert_eq!(driver.release_callbacks(0), 1);
            woken(&second);
            let (done, made) = driver.names_of(|| poll(&mut future, &second));
            assert!(matches!(done, Poll::Ready(Ok(()))));
            assert_eq!(made, [QUERY]);
            assert_eq!([first.calls(), second.calls()], [0, 1]);
            drop(future);
            left(driver, live);
        }
        // A callback may come before the waker is there.
        block_on(queued.event()?)?;
        // What is done needs no callback.
        let event = queued.event()?;
        queued.device.synchronize()?;
        assert_eq!(driver.names_of(|| block_on(event)).1[..1], [QUERY]);
        Ok(())
    }

    /// Of a future that is dropped nothing is left, and nobody is woken.
    fn dropped(driver: &Driver, queued: &mut Queued<'_>, live: u64) -> Result<()> {
        left(driver, live);
        driver.hold_callbacks();
        let unpark = Unpark::new();
        let futures = [queued.pending(&unpark)?, queued.pending(&unpark)?];
        assert_eq!(driver.live_in_all(), live + 2 + 1);
        drop(futures);
        assert_eq!(Arc::strong_count(&unpark), 1);
        // The callbacks still have the events.
        assert_eq!(driver.release_callbacks(0), 2);
        block_on(queued.event()?)?;
        left(driver, live);
        assert_eq!(unpark.calls(), 0);
        Ok(())
    }

    /// A waker may call the driver, and its panic ends there.
    fn wakers(driver: &Driver, queued: &mut Queued<'_>) -> Result<()> {
        struct Frees(Mutex<Option<Vector<u32>>>, Arc<Unpark>);
        impl Wake for Frees {
            fn wake(self: Arc<Self>) {
                drop(self.0.lock().expect("no panic").take());
                self.1.clone().wake();
                std::panic::resume_unwind(Box::new("a panic"));
            }
        }
        let unpark = Unpark::new();
        let mine = queued.device.zeros(100)?;
        let waker = Waker::from(Arc::new(Frees(Mutex::new(Some(mine)), unpark.clone())));
        driver.hold_callbacks();
        let live = driver.live();
        let mut future = queued.event()?.into_future();
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        driver.release_callbacks(0);
        woken(&unpark);
        assert!(matches!(poll(&mut future, &unpark), Poll::Ready(Ok(()))));
        assert_eq!(driver.live()[3], live[3] - 1, "the memory is freed");
        block_on(queued.event()?)
    }

    #[track_caller]
    fn is_lost(polled: Poll<Result<()>>) {
        let Poll::Ready(Err(error)) = polled else {
            panic!("{polled:?}");
        };
        let text = error.to_string();
        let code = LAUNCH_FAILED;
        assert!(
            matches!(error, Error::Driver { code: found, .. } if found == code),
            "{error:?}"
        );
        for part in ["wait for an event on cuda:0", "context is lost"] {
            assert!(text.contains(part), "{text}");
        }
    }

    fn faults_of_the_device(driver: &Driver, queued: &mut Queued<'_>) -> Result<()> {
        // The driver calls back with the error.
        driver.hold_callbacks();
        let unpark = Unpark::new();
        let mut future = queued.pending(&unpark)?;
        driver.arm(Plan::Lost, 1, LAUNCH_FAILED);
        assert_eq!(driver.release_callbacks(LAUNCH_FAILED), 1);
        woken(&unpark);
        is_lost(poll(&mut future, &unpark));
        // From then on at once.
        is_lost(poll(&mut future, &unpark));
        drop(future);
        driver.disarm();
        block_on(queued.event()?)?;

        // The callback knows of no error, but the event does.
        driver.hold_callbacks();
        let unpark = Unpark::new();
        let mut future = queued.pending(&unpark)?;
        driver.arm(Plan::Lost, 1, LAUNCH_FAILED);
        driver.release_callbacks(0);
        woken(&unpark);
        is_lost(poll(&mut future, &unpark));
        driver.disarm();
        block_on(queued.event()?)?;

        // The driver never calls back.
        driver.hold_callbacks();
        let unpark = Unpark::new();
        let mut future = queued.pending(&unpark)?;
        driver.answer(c"cuEventQuery", LAUNCH_FAILED);
        woken(&unpark);
        is_lost(poll(&mut future, &unpark));
        driver.answer(c"cuEventQuery", 0);
        assert_eq!(driver.release_callbacks(LAUNCH_FAILED), 1);
        block_on(queued.event()?)?;
        assert_eq!(unpark.calls(), 1);
        Ok(())
    }

    /// Each call fails once: the error names it, nothing is left, and the next future ends.
    fn failures(driver: &Driver, queued: &mut Queued<'_>, live: u64) -> Result<()> {
        let mut failed = 0;
        for nth in 1.. {
            let event = queued.event()?;
            driver.arm(Plan::Once, nth, 999);
            let outcome = block_on(&event);
            let (calls, call) = driver.disarm();
            if let Err(error) = outcome {
                let call = call.as_deref().unwrap_or("no call");
                assert!(error.to_string().contains(call), "{call}: {error}");
                failed += 1;
            }
            drop(event);
            block_on(queued.event()?)?;
            left(driver, live);
            if calls < nth {
                break;
            }
        }
        assert!(failed >= 4, "{failed}");
        Ok(())
    }
}
