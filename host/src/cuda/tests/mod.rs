//! Tests of the door and the executor: without a driver, with a make-believe one, and on a device.

mod fake_driver;
mod gpu;
mod no_driver;

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Runs `body` in a process of its own with `WARPWRIGHT_LIBCUDA` set to what `library` gives: which
/// driver there is gets decided once per process. `test` is the path of the test that calls this,
/// below this module; the process is this very test executable, told to run that test alone.
fn with_library(test: &str, library: impl FnOnce() -> PathBuf, body: fn()) {
    const CHILD: &str = "WARPWRIGHT_TEST_CHILD";
    if env::var_os(CHILD).is_some_and(|name| name == test) {
        return body();
    }
    let (_, module) = module_path!()
        .split_once("::")
        .expect("this module lies in a crate");
    let output = Command::new(env::current_exe().expect("the test executable has a path"))
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env(CHILD, test)
        .env(super::door::LIBRARY_VARIABLE, library())
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

#[allow(dead_code, reason = "its `main` is Cargo's to call")]
#[path = "../../../build.rs"]
mod build_script;

#[test]
fn the_list_of_symbols_is_checked() {
    let names = |text| build_script::symbol_names(text);
    assert_eq!(
        names("# a comment\ncuInit\n\n cuMemAlloc_v2 \n"),
        Ok(vec!["cuInit", "cuMemAlloc_v2"])
    );
    for (text, part) in [
        ("", "at least one name"),
        ("# cuInit\n", "at least one name"),
        ("cuInit\ncuInit\n", "symbols.txt:2: cuInit is there twice"),
        (
            "cuInit\nmain\n",
            "symbols.txt:2: \"main\" names no driver function",
        ),
        ("cuInit, cuMemAlloc_v2\n", "names no driver function"),
    ] {
        let error = names(text).expect_err(text);
        assert!(error.contains(part), "{text:?}: {error}");
    }
}
