//! Runs other programs without the environment of a parent cargo.

use std::process::Command;

pub(crate) use system::process::run;

/// Removes from `command`'s environment the variables that a parent cargo (from a build script, `cargo run` or `cargo
/// test`) set for its own build, and those that would silently change the device build.
pub(crate) fn clear_parent_cargo(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        if key.to_str().is_some_and(belongs_to_parent) {
            command.env_remove(&key);
        }
    }
}

fn belongs_to_parent(key: &str) -> bool {
    // The user's settings for where cargo stores and fetches crates are kept.
    const KEPT: [&str; 6] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const NAMES: [&str; 17] = [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "RUSTC_BOOTSTRAP",
        "RUSTUP_TOOLCHAIN",
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
    ];
    if KEPT.iter().any(|kept| key.starts_with(kept)) {
        return false;
    }
    key.starts_with("CARGO_")
        || key.starts_with("DEP_")
        || key.starts_with("RUST_RECURSION")
        || key == "MAKEFLAGS"
        || NAMES.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_cargos_variables_are_known() {
        for key in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "OUT_DIR",
        ] {
            assert!(belongs_to_parent(key), "{key}");
        }
        for key in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "RUSTUP_HOME",
            "PATH",
            "HOME",
        ] {
            assert!(!belongs_to_parent(key), "{key}");
        }
    }
}
