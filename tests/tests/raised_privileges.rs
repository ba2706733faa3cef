//! A program with raised privileges ignores the variables that the environment sets: tried with a copy of this very
//! program that belongs to another user and has the set-user-ID bit, and one with the set-group-ID bit.
//!
//! To make such a copy takes root. Where that cannot be had, the cases are left out, and a line says so.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::{
    env, fs,
    fs::Permissions,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

use cuda_builder::{ToolchainOptions, assemble::Ptxas};
use cuda_std::cpu::{Checks, Order};
use system::environment;
use warpwright::Device;
use warpwright_tests::left_out;

/// Tells a process that it is a child.
const CHILD: &str = "WARPWRIGHT_TEST_CHILD";

/// A user and group that start the programs, and others that these belong to. Neither has any rights.
const STARTED_BY: u32 = 65_533;
const BELONGS_TO: u32 = 65_532;

/// What some of the variables name: nothing that there is.
const NOWHERE: &str = "/nonexistent/warpwright";

/// What the environment of every child has, beside a folder without PTX.
const VARIABLES: [(&str, &str); 7] = [
    ("WARPWRIGHT_LIBCUDA", NOWHERE),
    ("WARPWRIGHT_CHECK", "nonsense"),
    ("WARPWRIGHT_ORDER_SEED", "nonsense"),
    ("WARPWRIGHT_RUSTC", NOWHERE),
    ("WARPWRIGHT_LLVM_BIN", NOWHERE),
    ("WARPWRIGHT_PTXAS", NOWHERE),
    ("WARPWRIGHT_TOOLS_DIR", NOWHERE),
];

/// What the process has made of [`VARIABLES`]: a line each.
fn honoured() -> Vec<(&'static str, bool)> {
    let driver = Device::cuda(0).err().map(|error| error.to_string());
    let tools = ToolchainOptions::from_env();
    let ptxas = Ptxas::discover().err().map(|error| error.to_string());
    vec![
        (
            "WARPWRIGHT_LIBCUDA",
            driver.is_some_and(|text| text.contains(NOWHERE)),
        ),
        (
            "WARPWRIGHT_PTX_DIR",
            warpwright::kernel_ptx("transpose_best__b4", (7, 5)).is_none(),
        ),
        ("WARPWRIGHT_CHECK", Checks::from_env().is_err()),
        ("WARPWRIGHT_ORDER_SEED", Order::from_env().is_err()),
        ("WARPWRIGHT_RUSTC", tools.rustc.is_some()),
        ("WARPWRIGHT_LLVM_BIN", tools.llvm_bin.is_some()),
        (
            "WARPWRIGHT_PTXAS",
            ptxas.is_some_and(|text| text.contains(NOWHERE)),
        ),
    ]
}

/// Whether the kernel gave the process another user or group than that of who started it. This asks neither `system`
/// nor the kernel's own flag.
fn has_other_ids() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("a process");
    ["Uid:", "Gid:"].iter().any(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let mut ids = line.expect("a line of ids").split_whitespace();
        ids.next() != ids.next()
    })
}

/// Is a test for the processes that the other starts.
#[test]
fn child() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    println!("\nother ids: {}", has_other_ids());
    println!("raised: {}", environment::raised());
    for (name, honoured) in honoured() {
        println!("{name}: {honoured}");
    }
    let programs = environment::require_own_privileges("a test").is_ok();
    println!("programs: {programs}\nend of the child");
}

/// What the child says as a copy with this owner and mode, or why that cannot be had.
fn copy_says(folder: &Path, ids: (Option<u32>, Option<u32>), mode: u32) -> Result<String, String> {
    let program = folder.join(format!("copy-{mode:o}"));
    let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
    fs::copy(env::current_exe().expect("a path"), &program).map_err(|e| failed("copying", e))?;
    chown(&program, ids.0, ids.1).map_err(|e| failed("giving a file to another user", e))?;
    let permissions = Permissions::from_mode(mode);
    fs::set_permissions(&program, permissions).map_err(|e| failed("setting a mode", e))?;
    let mut command = Command::new(&program);
    command
        .args(["child", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .envs(VARIABLES)
        .env("WARPWRIGHT_PTX_DIR", folder)
        .uid(STARTED_BY)
        .gid(STARTED_BY)
        .current_dir("/")
        .stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|e| failed("starting a program as another user", e))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("end of the child"),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(text)
}

#[test]
fn variables_are_ignored_with_raised_privileges_and_honoured_without() {
    const WHAT: &str = "raised-privileges";
    let folder = tempfile::tempdir().expect("a folder");
    // The other users have to reach the program.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).expect("own folder");
    let names = || honoured().into_iter().map(|(name, _)| name);
    let plain = match copy_says(folder.path(), (Some(BELONGS_TO), Some(BELONGS_TO)), 0o755) {
        Ok(text) => text,
        Err(why) => return left_out::note(3, WHAT, &why),
    };
    for line in names().map(|name| format!("{name}: true")) {
        assert!(
            plain.contains(&line),
            "without raised privileges {line}: {plain}"
        );
    }
    assert!(
        plain.contains("raised: false") && plain.contains("programs: true"),
        "{plain}"
    );

    for (ids, mode) in [
        ((Some(BELONGS_TO), None), 0o4755),
        ((None, Some(BELONGS_TO)), 0o2755),
    ] {
        let said = copy_says(folder.path(), ids, mode).expect("as before");
        if said.contains("other ids: false") {
            let why = "the folder for temporary files is mounted without set-user-ID programs";
            left_out::note(1, WHAT, why);
            continue;
        }
        for line in names().map(|name| format!("{name}: false")) {
            assert!(said.contains(&line), "{mode:o}, expected {line}: {said}");
        }
        assert!(
            said.contains("raised: true") && said.contains("programs: false"),
            "{said}"
        );
    }
}
