//! Builds and runs the projects in `examples/`, which are no part of the workspace, as a user would. A
//! machine without the tools for device code gets them: nothing here is skipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use warpwright_tests::outside;

/// Each example, and what its program prints below the line that names the device.
const EXAMPLES: &[(&str, &str)] = &[(
    "own-kernel",
    "kernels: add_block_sums, logistic, saxpy__f32, saxpy__f64, scan_blocks
saxpy: 100003 elements as in plain Rust, the last is 6.714286
inclusive scan: 100003 elements as in plain Rust, the last is 204754946
logistic curve: 100003 elements as in plain Rust, the last is 0.5035714
",
)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// What cargo prints on standard output, doing `arguments` in the example's folder.
fn cargo(example: &str, arguments: &[&str]) -> String {
    let output = outside::cargo(env!("CARGO"), env!("CARGO_TARGET_TMPDIR"))
        .args(arguments)
        .current_dir(folder().join(example))
        .env("WARPWRIGHT_INSTALL_TOOLS", "1")
        .output()
        .expect("cargo starts");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{example}: cargo {}: {}\n{stderr}\n{stdout}",
        arguments.join(" "),
        output.status
    );
    stdout.into_owned()
}

#[test]
fn every_example_is_run() {
    let entries = fs::read_dir(folder()).expect("the examples are there");
    let there: BTreeSet<String> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let known: BTreeSet<String> = EXAMPLES
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(there, known);
}

#[test]
fn examples_run_and_their_tests_pass() {
    for (example, expected) in EXAMPLES {
        let printed = cargo(example, &["run", "--quiet"]);
        let (device, rest) = printed.split_once('\n').unwrap_or_default();
        assert!(device.starts_with("device: "), "{example}: {printed}");
        if env::var_os("WARPWRIGHT_REQUIRE_CUDA").is_some_and(|value| value == "1") {
            assert!(device.starts_with("device: cuda:"), "{example}: {printed}");
        }
        assert_eq!(rest, *expected, "{example}");

        let printed = cargo(example, &["test", "--quiet"]);
        let passed: u32 = printed
            .lines()
            .filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next())
            .map(|number| number.parse::<u32>().expect("a number of tests"))
            .sum();
        assert!(passed > 0, "{example}: no test ran\n{printed}");
    }
}

/// What the README of an example shows is what the program prints.
#[test]
fn the_readmes_show_the_real_output() {
    for (example, expected) in EXAMPLES {
        let path = folder().join(example).join("README.md");
        let text = fs::read_to_string(&path).expect("the example has a README");
        assert!(
            text.contains(expected),
            "{}: another output",
            path.display()
        );
    }
}

/// The examples of the library's own: there is nothing to time on the CPU, but their results are checked.
#[test]
fn the_librarys_own_examples_run() {
    for (example, prints) in [
        ("overlap", "\noverlap: "),
        ("foreign_memory", "\nforeign memory: "),
        ("graph", "\ngraph: "),
    ] {
        runs(example, prints);
    }
}

fn runs(example: &str, prints: &str) {
    // With the features of the whole workspace, so that what the tests are made of is not built again.
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--workspace",
            &format!("--example={example}"),
            "--message-format=json",
        ])
        .current_dir(folder().join(".."))
        .output()
        .expect("cargo starts");
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages
        .lines()
        .filter_map(|line| line.split_once(r#""executable":""#)?.1.split_once('"'))
        .map(|(path, _)| path)
        .next_back();
    let program = program.unwrap_or_else(|| {
        panic!(
            "no program was built\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let output = Command::new(program).output().expect("the example starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains(prints),
        "{example}: {printed}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
