//! Builds and runs the projects in `examples/`, which are no part of the workspace, as a user would, and the library's own
//! examples. A machine without the tools for device code gets them: nothing here is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use warpwright_tests::outside;

/// Each example, and what its program prints below the line that names the device.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "own-kernel",
        "kernels: add_block_sums, logistic, saxpy__f32, saxpy__f64, scan_blocks
saxpy: 100003 elements as in plain Rust, the last is 6.714286
inclusive scan: 100003 elements as in plain Rust, the last is 204754946
logistic curve: 100003 elements as in plain Rust, the last is 0.5035714
",
    ),
    (
        "candle",
        "view: 64000 elements, where candle has them
sums of rows: 64 as candle's, the last is 43.5
sort: 64000 elements as in plain Rust, the last is 1023.5
squared ReLU: 64000 elements as candle's, the last is 13572.25
its gradient: 64000 elements, the last is 233
",
    ),
];

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
        // Candle is built for the CPU: for CUDA it needs `nvcc`.
        let required = env::var_os("WARPWRIGHT_REQUIRE_CUDA").is_some_and(|value| value == "1");
        if required && *example != "candle" {
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

/// The examples of the library's own print what their page shows. There `…` stands for what differs from run to run.
#[test]
fn the_librarys_own_examples_print_what_their_page_shows() {
    let root = folder().join("..");
    let page = fs::read_to_string(root.join("docs/EXAMPLES.md")).expect("the page is there");
    let shown: BTreeMap<&str, &str> = page
        .split("\n## `")
        .skip(1)
        .map(|section| {
            let (name, rest) = section.split_once('`').expect("a name");
            let (_, block) = rest.split_once("```text\n").expect("an output");
            (name, block.split_once("```").expect("its end").0)
        })
        .collect();
    let programs = programs(&root);
    assert!(shown.keys().eq(programs.keys()), "{shown:?}, {programs:?}");
    for family in warpwright_gpu::FAMILIES {
        assert!(shown.contains_key(family.name), "{}", family.name);
    }
    for (name, program) in &programs {
        let output = Command::new(program).output().expect("the example starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {printed}\n{errors}");
        let (device, printed) = printed.split_once('\n').unwrap_or_default();
        assert!(device.starts_with("device: "), "{name}: {device}");
        let shown = shown[&**name];
        let same = shown.lines().count() == printed.lines().count()
            && shown.lines().zip(printed.lines()).all(|(shown, line)| {
                match shown.split_once('…') {
                    Some((start, _)) => line.starts_with(start),
                    None => line == shown,
                }
            });
        assert!(same, "{name}:\n{printed}\nthe page shows\n{shown}");
    }
}

/// Builds the library's examples, and returns their programs by name.
fn programs(root: &Path) -> BTreeMap<String, String> {
    // With the features of the whole workspace, so that what the tests are made of is not built again.
    let output = Command::new(env!("CARGO"))
        .args(["build", "--workspace", "--examples"])
        .arg("--message-format=json")
        .current_dir(root)
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.contains(r#""kind":["example"]"#))
        .filter_map(|line| line.split_once(r#""executable":""#)?.1.split_once('"'))
        .map(|(path, _)| {
            let name = Path::new(path).file_stem().expect("a file");
            (name.to_string_lossy().into_owned(), path.to_owned())
        })
        .collect()
}
