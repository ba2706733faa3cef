//! Environment variables. The user who starts a process chooses them, even if the process has more rights than the user.

use std::env;
use std::ffi::OsString;
use std::sync::OnceLock;

/// Returns the value of the environment variable `name`. Returns `None` if it is unset or empty, or if the process has
/// raised privileges (see [`raised`]), as the dynamic linker does with `LD_LIBRARY_PATH`.
pub fn variable(name: &str) -> Option<OsString> {
    honoured(env::var_os(name), raised())
}

fn honoured(value: Option<OsString>, raised: bool) -> Option<OsString> {
    value.filter(|value| !raised && !value.is_empty())
}

/// Returns whether the process has privileges that the user who started it may not have: those of a set-user-ID or
/// set-group-ID file or of file capabilities. On Linux the kernel reports it (`AT_SECURE`), as to the dynamic linker.
/// Elsewhere `issetugid` does, or a difference between the real and effective users or groups.
pub fn raised() -> bool {
    static RAISED: OnceLock<bool> = OnceLock::new();
    *RAISED.get_or_init(ask)
}

/// Returns an error if the process has raised privileges, so that it must not follow its environment.
///
/// # Errors
/// With raised privileges, one line that names the `operation`.
pub fn require_own_privileges(operation: &str) -> Result<(), String> {
    refuse(operation, raised())
}

fn refuse(operation: &str, raised: bool) -> Result<(), String> {
    if !raised {
        return Ok(());
    }
    Err(format!(
        "{operation}: a process with the privileges of its user alone required, this one has raised ones (a \
         set-user-ID or set-group-ID file, or file capabilities): programs that PATH and other variables name \
         are not run"
    ))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn ask() -> bool {
    // SAFETY: the function reads a value that the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "illumos",
    target_os = "solaris",
))]
fn ask() -> bool {
    unsafe extern "C" {
        fn issetugid() -> libc::c_int;
    }
    // SAFETY: the function takes no arguments and cannot fail.
    unsafe { issetugid() != 0 }
}

#[cfg(all(
    unix,
    not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos",
        target_os = "solaris",
    ))
))]
fn ask() -> bool {
    // SAFETY: the four functions take no arguments and cannot fail.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

/// On this system a file cannot raise the privileges of the user who starts it.
#[cfg(not(unix))]
fn ask() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_counts_without_raised_privileges_alone() {
        let value = || Some(OsString::from("/opt/libcuda.so.1"));
        assert_eq!(honoured(value(), false), value());
        assert_eq!(honoured(value(), true), None);
        assert_eq!(honoured(Some(OsString::new()), false), None);
        assert_eq!(honoured(None, false), None);
    }

    #[test]
    fn programs_are_refused_with_raised_privileges_in_one_line() {
        assert_eq!(refuse("ptxas", false), Ok(()));
        let error = refuse("ptxas", true).unwrap_err();
        assert!(
            error.starts_with("ptxas: ") && error.lines().count() == 1,
            "{error}"
        );
    }

    #[test]
    fn a_test_has_no_raised_privileges() {
        assert!(!raised());
        assert_eq!(variable("PATH"), env::var_os("PATH"));
    }
}
