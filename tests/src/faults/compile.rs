//! Compiles `fault-driver`, the mock driver.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/fault-driver` of the workspace at `workspace` as the shared library `library`.
///
/// The compiler gets none of the flags of the current build: a sanitizer's flags, for example, are for the project and not for
/// the mock driver.
///
/// # Errors
/// Returns the compiler's error.
pub fn compile(workspace: &Path, library: &Path) -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(&rustc);
    command
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort"])
        .arg("-Cstrip=symbols");
    // A build script knows the target of the tests. The tests themselves run on it.
    if let Some(target) = env::var_os("TARGET") {
        command.arg("--target").arg(target);
    }
    command.arg("-o").arg(library);
    let source = workspace.join("tests/fault-driver/lib.rs");
    let output = command.arg(source).output();
    let output = output.map_err(|error| {
        format!(
            "{}: {error}: a Rust compiler is required, or the library, as WARPWRIGHT_FAULT_DRIVER",
            rustc.display()
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the path of the library: the file that `WARPWRIGHT_FAULT_DRIVER` names, or else `library`, which is compiled and
/// replaced atomically, since another process may have it open.
///
/// # Panics
/// Panics if it does not compile.
#[allow(dead_code, reason = "for tests; others compile it always")]
pub fn compiled(workspace: &Path, library: &Path) -> PathBuf {
    if let Some(path) = env::var_os("WARPWRIGHT_FAULT_DRIVER") {
        return path.into();
    }
    let fresh = library.with_extension(std::process::id().to_string());
    compile(workspace, &fresh).unwrap_or_else(|error| panic!("{error}"));
    std::fs::rename(&fresh, library).expect("the driver in its place");
    library.to_owned()
}
