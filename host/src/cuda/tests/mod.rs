//! Tests of the executor: without a driver, with a make-believe one, and on a device.

mod gpu;
mod make_believe;
mod no_driver;

#[path = "../../../../tests/src/faults/compile.rs"]
mod compile;
#[allow(
    dead_code,
    reason = "the tests of failing calls have it, and use more of it"
)]
#[path = "../../../../tests/src/faults/driver.rs"]
mod levers;

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// The variable by which a library is named in the driver's place.
const LIBRARY: &str = cust::driver::LIBRARY_VARIABLE;

/// Runs `body` in a process of its own with an environment variable: which driver there is gets decided once per process.
/// `test` is the path of the test that calls this, below this module; the process is this very test executable, told to
/// run that test alone.
fn with_variable(
    test: &str,
    variable: impl FnOnce() -> (&'static str, OsString),
    body: impl FnOnce(),
) {
    const CHILD: &str = "WARPWRIGHT_TEST_CHILD";
    if env::var_os(CHILD).is_some_and(|name| name == test) {
        return body();
    }
    let (_, module) = module_path!()
        .split_once("::")
        .expect("this module lies in a crate");
    let (name, value) = variable();
    let output = Command::new(env::current_exe().expect("the test executable has a path"))
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env_remove(LIBRARY)
        .env(CHILD, test)
        .env(name, value)
        .output()
        .expect("the test executable starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    // A name that fits no test would pass as well, with "0 passed".
    assert!(
        output.status.success() && shown.contains("1 passed"),
        "{test}: {}\n{shown}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
