//! Tests of the first driver call of a process, made by many threads at once.

#[allow(
    dead_code,
    unused_imports,
    reason = "other test programs use more of it"
)]
mod common;

use std::sync::Barrier;
use std::{env, thread};

use cust::CudaFlags;

/// One test only, because the environment belongs to the process.
#[test]
fn threads_race_to_the_first_call_and_look_no_function_up_again() {
    const THREADS: usize = 16;
    let library = common::library();
    // SAFETY: nothing else runs in this process.
    unsafe { env::set_var(common::LIBRARY, &library) };
    let start = Barrier::new(THREADS);
    let init = || assert_eq!(cust::init(CudaFlags::empty()), Ok(()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                init();
            });
        }
    });
    let driver = common::Driver::open(&library).expect("the driver that was compiled");
    assert_eq!(driver.calls(), THREADS as u64);
    let (found, missing) = driver.lookups();
    assert!((1..=THREADS as u32).contains(&found) && missing == 0);
    init();
    assert_eq!(driver.calls(), THREADS as u64 + 1);
    assert_eq!(driver.lookups(), (found, 0));

    // A missing function returns its error at every call.
    driver.lack(c"cuDriverGetVersion");
    for turn in 1..3 {
        let error = cust::CudaApiVersion::get().expect_err("it is lacking");
        assert_eq!(
            error.to_string(),
            format!(
                "the CUDA driver {} has no function cuDriverGetVersion: a newer driver is required",
                library.display()
            )
        );
        assert_eq!(driver.lookups(), (found, turn));
    }
}
