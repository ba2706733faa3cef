//! Tests of installed tools: a download is only run if it has the required hash and lies in a folder that no other user can
//! write to.
#![cfg(unix)]

use std::env;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cuda_builder::assemble::Wheel;

/// Marks a child process, and holds the required hash of the wheel.
const CHILD: &str = "WARPWRIGHT_TEST_CHILD";

const PACKAGE: &str = "warpwright-test-tool";
const FOLDER: &str = "warpwright-test-tool-1_0";

/// A script that makes the wheel of a package with one program, and prints its hash.
const MAKE_WHEEL: &str = r##"
import hashlib, sys, zipfile
name = sys.argv[1] + "/warpwright_test_tool-1.0-py3-none-any.whl"
info = "warpwright_test_tool-1.0.dist-info/"
with zipfile.ZipFile(name, "w") as wheel:
    program = zipfile.ZipInfo("nvidia/cu13/bin/tool")
    program.external_attr = 0o100775 << 16
    wheel.writestr(program, "#!/bin/sh\necho run\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: warpwright-test-tool\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
print(hashlib.sha256(open(name, "rb").read()).hexdigest())
"##;

/// The entry point of the processes that the other tests start.
#[test]
fn child() {
    let Ok(hash) = env::var(CHILD) else { return };
    let hash: &'static str = hash.leak();
    let wheel = Wheel {
        package: PACKAGE,
        version: "1.0",
        sha256: vec![hash].leak(),
    };
    let told = match wheel.install("tool", false) {
        Ok(path) => format!("installed {}", path.display()),
        Err(error) => format!("refused {error}"),
    };
    println!("\n{told}");
}

/// Returns the output of a child that installs into `tools` from the wheels in `wheels`.
fn install(tools: &Path, wheels: &Path, hash: &str) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(CHILD, hash)
        .env("WARPWRIGHT_TOOLS_DIR", tools)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", wheels)
        .output()
        .unwrap();
    told(&output)
}

fn told(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let at = ["\ninstalled ", "\nrefused "]
        .iter()
        .find_map(|start| text.find(start))
        .unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    let told = &text[at + 1..];
    told.split("\ntest ").next().unwrap().trim_end().to_owned()
}

/// Returns a folder with the wheel, and its hash. Without a Python with `pip` it prints a line and returns `None`.
fn wheel() -> Option<(tempfile::TempDir, String)> {
    let folder = tempfile::tempdir().unwrap();
    let python = |arguments: &[&str]| {
        let output = Command::new("python3").args(arguments).output();
        output.ok().filter(|output| output.status.success())
    };
    if python(&["-m", "pip", "--version"]).is_none() {
        let line = b"cases left out: 1 (wheels with another hash: there is no python3 with pip)\n";
        // An error of a closed standard error is ignored. The test harness does not capture this line.
        let _ = std::io::stderr().write_all(line);
        return None;
    }
    let made = python(&["-c", MAKE_WHEEL, folder.path().to_str().unwrap()]).expect("a wheel");
    let hash = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    Some((folder, hash))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_wheel_with_another_hash_is_refused_and_nothing_of_it_is_left() {
    let Some((wheels, hash)) = wheel() else {
        return;
    };
    let tools = tempfile::tempdir().unwrap();
    let other = hash.replace(|c| c != '0', "1");
    let refused = install(tools.path(), wheels.path(), &other);
    assert!(refused.starts_with("refused tool: "), "{refused}");
    assert!(refused.contains(&hash), "pip names what it got: {refused}");
    assert_eq!(names(tools.path()), [format!("{FOLDER}.lock")]);

    // A program that was unpacked without the check is not used.
    let bin = tools.path().join(FOLDER).join("nvidia/cu13/bin");
    fs::create_dir_all(&bin).unwrap();
    set_mode(&tools.path().join(FOLDER), 0o700);
    fs::write(bin.join("tool"), "#!/bin/sh\necho other\n").unwrap();
    let refused = install(tools.path(), wheels.path(), &other);
    assert!(refused.starts_with("refused tool: "), "{refused}");

    let installed = install(tools.path(), wheels.path(), &hash);
    let program = installed.strip_prefix("installed ").expect(&installed);
    let run = Command::new(program).output().unwrap();
    assert_eq!(run.stdout, b"run\n");
    // The wheel marks the program as group-writable.
    let mode = fs::metadata(program).unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0, "{mode:o}");
    assert_eq!(
        install(tools.path(), Path::new("/nonexistent"), &hash),
        installed
    );
}

/// Returns a folder with a tool, as after an installation with the hash `0`.
fn planted() -> (tempfile::TempDir, PathBuf) {
    let tools = tempfile::tempdir().unwrap();
    let folder = tools.path().join(FOLDER);
    let bin = folder.join("nvidia/cu13/bin");
    fs::create_dir_all(&bin).unwrap();
    let text = format!("{PACKAGE}==1.0 --hash=sha256:0\n");
    fs::write(folder.join("requirements.txt"), text).unwrap();
    let program = bin.join("tool");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    for path in [tools.path(), &folder, &bin, &program] {
        set_mode(path, 0o755);
    }
    for path in [folder.join("nvidia"), folder.join("nvidia/cu13")] {
        set_mode(&path, 0o755);
    }
    (tools, program)
}

#[test]
fn a_tool_that_others_could_have_written_is_refused_in_one_line() {
    let nothing = Path::new("/nonexistent");
    let (tools, program) = planted();
    let said = install(tools.path(), nothing, "0");
    assert!(said.starts_with("installed "), "{said}");

    let folders = program
        .ancestors()
        .take_while(|path| *path != tools.path().parent().unwrap());
    for path in folders {
        let said = install(tools.path(), nothing, "0");
        assert!(said.starts_with("installed "), "{said}");
        for mode in [0o775, 0o757, 0o1777] {
            set_mode(path, mode);
            let said = install(tools.path(), nothing, "0");
            assert!(
                said.starts_with("refused tool: ") && said.contains(&format!("mode is {mode:o}")),
                "{}: {said}",
                path.display()
            );
            assert!(said.contains("WARPWRIGHT_TOOLS_DIR"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        set_mode(path, 0o755);
    }
}

#[test]
fn a_tool_behind_a_symbolic_link_is_refused() {
    let (tools, program) = planted();
    for path in [program.as_path(), &tools.path().join(FOLDER)] {
        let moved = tools.path().join("moved");
        fs::rename(path, &moved).unwrap();
        symlink(&moved, path).unwrap();
        let said = install(tools.path(), Path::new("/nonexistent"), "0");
        assert!(said.contains("it is a symbolic link"), "{said}");
        fs::remove_file(path).unwrap();
        fs::rename(&moved, path).unwrap();
    }
    let link = tools.path().join("link");
    symlink(tools.path(), &link).unwrap();
    let said = install(&link, Path::new("/nonexistent"), "0");
    assert!(said.contains("it is a symbolic link"), "{said}");
}
