//! CONTRIBUTING.md's "Add a family", followed in a copy of the tree: the family in `tests/family` passes `verify` and its
//! tests, and is in `ladder`, the benchmark, the demo and the documentation. Its kernel runs on the CPU executor.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use system::folder;
use warpwright_tests::outside;

/// The new family.
const FAMILY: &str = "reverse";
/// The family whose lines are copied.
const MODEL: &str = "transpose";
/// The most files and registrations of a family.
const MOST: [usize; 2] = [6, 5];

/// The lines between two lines of CONTRIBUTING.md.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).expect(from);
    rest.split_once(to).expect(to).0
}

/// The first two things in backquotes of each row of a table.
fn rows(table: &str) -> Vec<[&str; 2]> {
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut quoted = row.split('`').skip(1).step_by(2);
        [quoted.next().unwrap(), quoted.next().unwrap_or_default()]
    })
    .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if [".git", "target"].iter().any(|left_out| name == *left_out) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The tests' folder for temporary files.
const TEMPORARY: &str = env!("CARGO_TARGET_TMPDIR");

/// When the build script of this test's package last ran.
fn built() -> SystemTime {
    let file = Path::new(env!("OUT_DIR")).join("rustflags");
    file.metadata().unwrap().modified().unwrap()
}

struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Builds the programs and the family's tests, all at once so that nothing is built twice.
    fn build(&self) {
        let mut cargo = outside::cargo_of_copy(env!("CARGO"), TEMPORARY);
        let all = "build --quiet --offline --workspace --features xtask/demo --test reverse --bin warpwright \
                   --bin warpwright-bench --bin xtask --bin demo";
        cargo.args(all.split_whitespace());
        self.run(cargo);
    }

    /// Runs a program of the tree, and returns what it prints.
    fn program(&self, name: &str, arguments: &str) -> String {
        self.start(
            &outside::programs(TEMPORARY).join("debug").join(name),
            arguments,
        )
    }

    fn start(&self, program: &Path, arguments: &str) -> String {
        let mut program = Command::new(program);
        program.args(arguments.split_whitespace());
        self.run(program)
    }

    fn run(&self, mut command: Command) -> String {
        command
            .current_dir(&self.folder)
            // The kernel is not in the committed PTX.
            .env("WARPWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1")
            .env_remove("WARPWRIGHT_REQUIRE_CUDA")
            // By this `xtask` finds its tree, and here it would be the tests'.
            .env_remove("CARGO_MANIFEST_DIR");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}:\n{text}\n{errors}");
        text
    }

    /// Runs the family's tests, and returns what they print.
    fn test(&self) -> String {
        let files = fs::read_dir(outside::results(TEMPORARY).join("debug/deps")).unwrap();
        let programs = files.map(|file| file.unwrap()).filter(|file| {
            let name = file.file_name();
            name.to_string_lossy().starts_with("reverse-") && file.path().extension().is_none()
        });
        // Earlier runs may have left one.
        let newest = programs.max_by_key(|file| file.metadata().unwrap().modified().unwrap());
        self.start(&newest.expect("a test").path(), "")
    }
}

#[test]
fn a_family_takes_six_files_and_five_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let section = part(&page, "\n## Add a family\n", "\n## ");
    let files = rows(part(section, "| its own file |", "\n\n"));
    let lines = rows(part(section, "| file | line |", "\n\n"));
    assert!(files.len() <= MOST[0] && lines.len() <= MOST[1]);

    let folder = folder::temporary("add-family");
    let _ = fs::remove_dir_all(&folder);
    let tree = Tree {
        folder: folder::private(&folder).unwrap(),
    };
    copy(root, &tree.folder);
    outside::renumber(&tree.folder);
    for [file, _] in &files {
        let to = tree.folder.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root.join("tests/family").join(file), to).expect(file);
    }
    for [file, line] in &lines {
        let path = tree.folder.join(file);
        let text = fs::read_to_string(&path).expect(file);
        let model = line.replace(FAMILY, MODEL);
        let found: Vec<_> = text.lines().filter(|it| it.trim() == model).collect();
        let [old] = found[..] else {
            panic!("{file}: one line `{model}` required, found {}", found.len());
        };
        let new = format!("{old}\n{}", old.replace(MODEL, FAMILY));
        fs::write(&path, text.replacen(old, &new, 1)).unwrap();
    }

    let before = built();
    tree.build();
    assert_eq!(
        built(),
        before,
        "the copy replaced build results of this workspace"
    );
    let verified = tree.program("warpwright", "verify --quick --family reverse");
    assert!(
        verified.contains("6 checks passed, 0 failed"),
        "verify: {verified}"
    );
    let ladder = tree.program("warpwright", "ladder --family reverse --size 1000");
    assert!(
        ladder.contains("reverse: reversal of 1000 u32"),
        "ladder: {ladder}"
    );
    let cases = tree.program("warpwright-bench", "--list --family reverse");
    assert!(cases.contains("reverse: reversal of"), "bench: {cases}");
    let out = tree.folder.join("demo");
    fs::create_dir(&out).unwrap();
    let demo = tree.program("demo", &format!("--size 32 --out {}", out.display()));
    assert!(
        demo.contains("reversal of 768 u32") && demo.contains(" 0 wrong"),
        "demo: {demo}"
    );
    tree.program("xtask", "docs");
    let written = fs::read_to_string(tree.folder.join("docs/LADDER.md")).unwrap();
    assert!(written.contains("| `reverse` |"), "docs: {written}");
    let tested = tree.test();
    assert!(
        tested.contains("test every_variant_reverses ... ok"),
        "tests: {tested}"
    );
    fs::remove_dir_all(&tree.folder).unwrap();
}
