//! Tests of the executor: without a driver, with a mock driver, and on a device.

mod gpu;
mod mock;
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

/// The variable that names a library to open instead of the driver.
const LIBRARY: &str = cust::driver::LIBRARY_VARIABLE;

/// Runs `body` in its own process with an environment variable, because a process chooses its driver once. `test` is the
/// path of the calling test below this module. The process runs this same test executable, with this one test.
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
    // A name that matches no test would pass as well, with "0 passed".
    assert!(
        output.status.success() && shown.contains("1 passed"),
        "{test}: {}\n{shown}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
