use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;

use warpwright_gpu::{Family, Variant};

use super::*;
use crate::manifest::tests::record;
use crate::manifest::{Manifest, Record};
use crate::sources;

mod circles;
mod waits;

const PTX: &str = ".version 7.0
.visible .entry sum_naive__f32(
)
.visible .entry sum_naive__f64(
)
.visible .entry sum_best(
)
";

const fn variant(name: &'static str, kernels: &'static [&'static str]) -> Variant {
    let idea = "an idea";
    Variant {
        name,
        idea,
        kernels,
    }
}

const fn family(variants: &'static [Variant]) -> Family {
    Family {
        name: "sum",
        summary: "sums",
        variants,
    }
}

static FAMILIES: &[Family] = &[family(&[
    variant("serial", &[]),
    variant("naive", &["sum_naive"]),
    variant("best", &["sum_best", "sum_naive"]),
])];

/// Families with a kernel that does not exist.
static OTHER_FAMILIES: &[Family] = &[family(&[
    variant("serial", &[]),
    variant("naive", &["sum_naive"]),
    variant("best", &["sum_best", "sum_naive", "sum_other"]),
])];

fn manifest() -> Manifest {
    let record = |arch: &str| Record {
        ptx_version: "7.0".to_owned(),
        sha256: sources::text_hash(PTX.as_bytes()),
        entries: ["sum_best", "sum_naive__f32", "sum_naive__f64"]
            .map(str::to_owned)
            .to_vec(),
        ..record(arch, "sum")
    };
    Manifest::new(vec![record("sm_75"), record("sm_80")])
}

/// Makes a small project without violations.
fn sound() -> Tree {
    let page = "//! Sums.\n//!\n//! | variant | idea |\n//! | --- | --- |\n//! | `serial` | a |\n\
                //! | `naive` | b |\n//! | `best` | c |\n\ndeclare_family! {}\n\
                const K: &[&str] = &[\"sum_naive\", \"sum_best\"];\n";
    let gpu = "[package]\nname = \"warpwright-gpu\"\n[dependencies]\ncuda_std.workspace = true\n";
    let device = "[package]\nname = \"warpwright-cuda-std\"\n[dependencies]\nhalf = \"2\"\n";
    let root = "[workspace.dependencies]\n\
                cuda_std = { package = \"warpwright-cuda-std\", path = \"cuda_std\" }\n\
                warpwright = { path = \"host\" }\n";
    let host = "[package]\nname = \"warpwright\"\n\
                [target.'cfg(unix)'.dependencies]\nwarpwright-cust = { path = \"../cust\" }\n";
    let published = "[package]\nname = \"published-cust\"\n[dependencies]\ncust = \"=0.3.2\"\n";
    let security = format!(
        "{}\n| --- | --- | --- | --- | --- |\n| `CUDA_HOME`, `CARGO_*` | b | c | d | e |\n",
        environment::TABLE_HEAD
    );
    let layers = format!(
        "{}\n| --- | --- | --- |\n| `cuda_std/` | a | nothing of ours |\n| `gpu/` | b | `cuda_std` |\n\
         | `host/` | c | `cust` |\n| `cust/`, `tests/published-cust/` | d | nothing |\n",
        layers::TABLE_HEAD
    );
    let files = [
        ("ARCHITECTURE.md", &*layers),
        ("Cargo.toml", root),
        (
            "README.md",
            "Type `cargo xtask demo`, or `cargo xtask <command>`.\n",
        ),
        ("SECURITY.md", &security),
        ("gpu/Cargo.toml", gpu),
        ("gpu/src/sum/mod.rs", page),
        (
            "gpu/src/sum/naive.rs",
            "// cust, asm! and todo! in comments are no code\n",
        ),
        (
            "gpu/src/sum/best.rs",
            "const TEXT: &str = \"cust asm! dbg!\";\n",
        ),
        ("cuda_std/Cargo.toml", device),
        ("cuda_std/src/lib.rs", "fn f() { asm!(\"trap;\") }\n"),
        ("host/Cargo.toml", host),
        ("host/src/ops/sum.rs", "fn sum() {}\n"),
        ("host/src/cuda/mod.rs", "use cust::stream::Stream;\n"),
        ("cust/Cargo.toml", "[package]\nname = \"warpwright-cust\"\n"),
        ("cust/tests/memory.rs", "use cust::memory;\n"),
        ("tests/tests/cust_parity.rs", "use cust as c;\n"),
        ("tests/published-cust/Cargo.toml", published),
        ("tests/published-cust/lib.rs", "use cust as c;\n"),
        ("host/ptx/sm_75/sum.ptx", PTX),
        ("host/ptx/sm_80/sum.ptx", PTX),
        ("tests/tests/sum.rs", "const PATH: &str = \"/tmp/x\";\n"),
    ];
    let mut files: std::collections::BTreeMap<String, String> = files
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
    files.insert(
        "host/ptx/manifest.json".to_owned(),
        manifest().text().unwrap(),
    );
    Tree {
        files,
        families: FAMILIES,
        subcommands: vec!["demo".to_owned()],
        tokens: OnceCell::new(),
    }
}

/// Returns the violations after `change`: `file:line: rule`.
fn places(change: impl FnOnce(&mut Tree)) -> Vec<String> {
    let mut tree = sound();
    change(&mut tree);
    let place = |v: &Violation| format!("{}:{}: {}", v.file, v.line, v.rule);
    check(&tree).iter().map(place).collect()
}

/// Returns the violations after `text` is appended to the file `path`.
fn after_adding(path: &str, text: &str) -> Vec<String> {
    places(|tree| *tree.files.entry(path.to_owned()).or_default() += text)
}

/// Returns the violations with these files, in place of those of the same paths.
fn after_writing<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    places(|tree| tree.files.extend(files))
}

/// As `after_adding`, with a manifest that matches the changed PTX.
fn after_adding_ptx(path: &str, text: &str) -> Vec<String> {
    places(|tree| {
        let ptx = tree.files.entry(path.to_owned()).or_default();
        *ptx += text;
        let mut manifest = manifest();
        for record in &mut manifest.modules {
            if format!("host/ptx/{}", record.file()) == path {
                record.sha256 = sources::text_hash(ptx.as_bytes());
                let names = ptx
                    .lines()
                    .filter_map(|line| line.strip_prefix(".visible .entry "));
                record.entries = names
                    .map(|name| name.trim_end_matches('(').to_owned())
                    .collect();
                record.entries.sort();
            }
        }
        tree.files.insert(
            "host/ptx/manifest.json".to_owned(),
            manifest.text().unwrap(),
        );
    })
}

fn after_replacing(path: &str, from: &str, to: &str) -> Vec<String> {
    places(|tree| {
        let text = tree.files.get_mut(path).unwrap();
        assert!(text.contains(from), "{path} does not have {from}");
        *text = text.replace(from, to);
    })
}

fn after_removing(path: &str) -> Vec<String> {
    places(|tree| assert!(tree.files.remove(path).is_some(), "{path}"))
}

#[test]
fn a_sound_project_passes() {
    assert_eq!(places(|_| {}), [""; 0]);
}

/// For every rule there is a project that breaks it and no other.
#[test]
fn every_check_finds_a_planted_violation() {
    let planted = [
        after_adding("gpu/Cargo.toml", "warpwright.workspace = true\n"),
        after_adding("gpu/src/sum/best.rs", "use cust::memory;\n"),
        after_adding(
            "host/src/ops/sum.rs",
            "fn g() { unsafe { asm!(\"nop\") } }\n",
        ),
        after_writing([
            ("cuda_std/src/a.rs", "use crate::b::B;\npub struct A;\n"),
            (
                "cuda_std/src/b.rs",
                "//! Of `A`.\nuse super::a::A;\npub struct B;\n",
            ),
        ]),
        places(|tree| tree.families = OTHER_FAMILIES),
        after_adding_ptx("host/ptx/sm_80/sum.ptx", ".visible .entry sum_old__f32(\n"),
        after_adding("host/ptx/sm_80/sum.ptx", "// changed by hand\n"),
        after_removing("tests/tests/sum.rs"),
        after_replacing("gpu/src/sum/mod.rs", "//! | `naive` | b |\n", ""),
        after_adding("host/src/ops/sum.rs", &"\n".repeat(600)),
        after_adding(
            "host/src/ops/sum.rs",
            &format!("    // {}\n", "a ".repeat(61)),
        ),
        after_adding("host/src/ops/sum.rs", "// see /home/me/notes\n"),
        after_adding("host/src/ops/sum.rs", &format!("// {}{}\n", "TO", "DO")),
        after_adding("host/src/ops/sum.rs", "fn f() { (] }\n"),
        after_adding("README.md", "And `cargo xtask party`.\n"),
        after_adding(
            "host/src/ops/sum.rs",
            "impl Device {\n/// Computes it.\npub fn g(&self) -> Result<u8> {}\n}\n",
        ),
        after_adding("host/src/ops/sum.rs", &format!("// {}\n", own("PARTY"))),
        after_adding(
            "host/src/ops/sum.rs",
            "fn g() { std::env::var_os(\"CARGO_HOME\") }\n",
        ),
    ];
    let expected = [
        "gpu/Cargo.toml:5: layers",
        "gpu/src/sum/best.rs:2: cust-door",
        "host/src/ops/sum.rs:2: asm-door",
        "cuda_std/src/a.rs:1: circles",
        // One violation for each architecture.
        "gpu/src/sum/mod.rs:1: catalogue-ptx",
        "host/ptx/sm_80/sum.ptx:8: ptx-catalogue",
        "host/ptx/sm_80/sum.ptx:1: ptx-manifest",
        "tests/tests/sum.rs:1: stems",
        "gpu/src/sum/mod.rs:3: family-page",
        "host/src/ops/sum.rs:601: file-length",
        "host/src/ops/sum.rs:2: comment-width",
        "host/src/ops/sum.rs:2: own-paths",
        "host/src/ops/sum.rs:2: unfinished",
        "host/src/ops/sum.rs:2: rust",
        "README.md:2: commands",
        "host/src/ops/sum.rs:4: waits",
        "host/src/ops/sum.rs:2: variables",
        "host/src/ops/sum.rs:2: privileges",
    ];
    for (mut places, expected) in planted.into_iter().zip(expected) {
        places.dedup();
        assert_eq!(places, [expected]);
    }
    let rules: BTreeSet<&str> = CHECKS.iter().map(|(rule, _)| *rule).collect();
    let tested = expected
        .iter()
        .filter_map(|place| place.rsplit(' ').next())
        .collect();
    assert_eq!(rules, tested, "a rule without a planted violation");
}

/// Returns a name with the prefix of the project's variables, built here so that this file passes its own check.
fn own(name: &str) -> String {
    format!("{}_{name}", "WARPWRIGHT")
}

#[test]
fn every_way_to_read_a_variable_is_seen() {
    let at = |text: &str| after_adding("tests/tests/sum.rs", text);
    let found = ["tests/tests/sum.rs:1: variables"];
    for text in [
        "f(std::env::var(\"PARTY\"))",
        "f(env::var_os( \"PARTY\" ))",
        "f(env!(\"PARTY\"), option_env!(\"CARGO_X\"))",
        "f(option_env!(\"PARTY\"))",
        "f(variable(\"PARTY\"))",
        "f(system::environment::variable(PARTY)); const PARTY: &str = \"PARTY\";",
        "f(Command::new(\"sh\"))",
        "f(env::home_dir())",
        // The variable that is read cannot be determined.
        "f(env::var_os(key))",
        "names.map(env::var_os)",
        "f(env::vars())",
    ] {
        let found_here = places(|tree| {
            let file = "tests/tests/sum.rs".to_owned();
            tree.files.insert(file, format!("{text}\n"));
        });
        assert_eq!(found_here, found, "{text}");
    }
    for text in [
        "f(env!(\"CARGO_PKG_NAME\"), variable(\"CUDA_HOME\"))\n",
        "let variable = |name| env::var_os(name);\n",
        "// env::var(\"PARTY\")\n",
        "const T: &str = \"env::vars()\";\n",
        "environment(\"PARTY\"); f.env(\"PARTY\", 1); my_env!(\"PARTY\");\n",
    ] {
        assert_eq!(at(text), [""; 0], "{text}");
    }
}

#[test]
fn scripts_and_stale_rows_are_looked_at_and_own_variables_have_a_row_each() {
    let script = "A=1\nexport B=2\necho $A ${B:-} ${CUDA_HOME:-} $1 $here\necho ${PARTY:-}\n";
    assert_eq!(
        after_adding("xtask/x.sh", script),
        ["xtask/x.sh:4: variables"]
    );
    let row = format!("| `{}` | b | c | d | e |\n", own("PARTY"));
    assert_eq!(
        after_adding("SECURITY.md", &row),
        ["SECURITY.md:4: variables"]
    );
    let stars = format!("| `{}` | b | c | d | e |\n", own("*"));
    let both = places(|tree| {
        *tree.files.get_mut("SECURITY.md").unwrap() += &stars;
        *tree.files.get_mut("tests/tests/sum.rs").unwrap() += &own("PARTY");
    });
    assert_eq!(
        both,
        [
            "SECURITY.md:4: variables",
            "tests/tests/sum.rs:2: variables"
        ]
    );
    let both = places(|tree| {
        *tree.files.get_mut("SECURITY.md").unwrap() += &row;
        *tree.files.get_mut("tests/tests/sum.rs").unwrap() += &own("PARTY");
    });
    assert_eq!(both, [""; 0]);
}

#[test]
fn tests_of_a_library_may_read_variables_as_they_like() {
    let read = "fn g() { env::var(\"CUDA_HOME\") }\n";
    let at = |path: &str, text: &str| after_adding(path, text);
    assert_eq!(at("host/src/cuda/tests/gpu.rs", read), [""; 0]);
    let module = format!("#[cfg(test)]\nmod tests {{\n{read}}}\n");
    assert_eq!(at("host/src/ops/sum.rs", &module), [""; 0]);
    assert_eq!(
        at("cuda_std/src/cpu.rs", read),
        ["cuda_std/src/cpu.rs:1: privileges"]
    );
}

#[test]
fn the_kernels_do_not_reach_the_library_by_another_crate() {
    let found = after_adding(
        "cuda_std/Cargo.toml",
        "w = { package = \"warpwright\", path = \"x\" }\n",
    );
    assert_eq!(found, ["cuda_std/Cargo.toml:5: layers"]);
    let found = after_adding("gpu/Cargo.toml", "[dev-dependencies]\ncust = \"0.3\"\n");
    assert_eq!(found, ["gpu/Cargo.toml:6: cust-door"]);
    let found = after_adding("host/Cargo.toml", "cust = \"0.3\"\n");
    assert_eq!(found, ["host/Cargo.toml:5: cust-door"]);
    let found = after_adding("gpu/Cargo.toml", "warpwright-cust = { path = \"x\" }\n");
    assert_eq!(found, ["gpu/Cargo.toml:5: layers"]);
    let found = after_adding("gpu/Cargo.toml", "[[");
    assert_eq!(found, ["gpu/Cargo.toml:1: layers"]);
}

#[test]
fn the_table_of_layers_is_what_the_manifests_say() {
    assert_eq!(after_removing("ARCHITECTURE.md").len(), 6);
    let other =
        "[package]\nname = \"other\"\n[dependencies]\ncuda_std = { path = \"../cuda_std\" }\n";
    assert_eq!(
        after_adding("other/Cargo.toml", other),
        ["other/Cargo.toml:1: layers"]
    );
    let with_row = |row: &str| {
        places(|tree| {
            tree.files.insert(
                "other/deep/Cargo.toml".to_owned(),
                other.replace("../", "../../"),
            );
            *tree.files.get_mut("ARCHITECTURE.md").unwrap() += row;
        })
    };
    assert_eq!(with_row("| `other/` | e | `cuda_std` |\n"), [""; 0]);
    assert_eq!(with_row("| `other/` | e | all |\n"), [""; 0]);
    let found = with_row("| `other/` | e | nothing |\n");
    assert_eq!(found, ["other/deep/Cargo.toml:4: layers"]);
    let found = with_row("| `other/` | e | all |\n| `more/` | f | all |\n");
    assert_eq!(found, ["ARCHITECTURE.md:8: layers"]);
    // A folder that no crate depends on, and a name that is not a folder.
    for other in ["gpu", "party"] {
        let row = format!("| `other/` | e | `cuda_std`, `{other}` |\n");
        assert_eq!(with_row(&row), ["ARCHITECTURE.md:7: layers"]);
    }
    // A crate of the same row, and one that is ours by its name alone.
    let own = "cust_core = { package = \"warpwright-cust\", version = \"0.1\" }\n";
    assert_eq!(
        after_adding("cust/Cargo.toml", &format!("[dependencies]\n{own}")),
        [""; 0]
    );
    assert_eq!(
        after_adding("gpu/Cargo.toml", own),
        ["gpu/Cargo.toml:5: layers"]
    );
}

#[test]
fn all_forms_of_assembly_are_found() {
    for text in [
        "core::arch::global_asm!(\"\");\n",
        "fn f() { naked_asm!(\"\") }\n",
    ] {
        assert_eq!(
            after_adding("host/src/ops/sum.rs", text),
            ["host/src/ops/sum.rs:2: asm-door"]
        );
    }
}

#[test]
fn ptx_that_is_not_there_or_not_known_is_found() {
    assert_eq!(
        after_removing("host/ptx/sm_75/sum.ptx"),
        ["host/ptx/manifest.json:1: ptx-manifest"]
    );
    assert_eq!(
        after_adding("host/ptx/sm_80/scan.ptx", ".version 7.0\n"),
        [
            "host/ptx/sm_80/scan.ptx:1: ptx-catalogue",
            "host/ptx/sm_80/scan.ptx:1: ptx-manifest"
        ]
    );
    assert_eq!(
        after_removing("host/ptx/manifest.json"),
        ["host/ptx/manifest.json:1: ptx-manifest"]
    );
    assert_eq!(
        after_replacing("host/ptx/manifest.json", "sum_naive__f64", "sum_naive__i32"),
        [
            "host/ptx/sm_75/sum.ptx:1: ptx-manifest",
            "host/ptx/sm_80/sum.ptx:1: ptx-manifest"
        ]
    );
    let none = places(|tree| tree.files.retain(|path, _| !path.ends_with(".ptx")));
    assert_eq!(none[0], "host/ptx/manifest.json:1: catalogue-ptx");
    // Modules for one card only need neither every family nor every kernel.
    let part = after_adding("host/ptx/sm_90a/sum.ptx", ".visible .entry sum_best(\n");
    assert_eq!(part, ["host/ptx/sm_90a/sum.ptx:1: ptx-manifest"]);
}

#[test]
fn files_of_a_family_may_be_folders() {
    let found = places(|tree| {
        let text = tree.files.remove("gpu/src/sum/best.rs").unwrap();
        tree.files
            .insert("gpu/src/sum/best/mod.rs".to_owned(), text);
    });
    assert_eq!(found, [""; 0]);
    assert_eq!(
        after_removing("gpu/src/sum/best.rs"),
        ["gpu/src/sum/best.rs:1: stems"]
    );
    let found = after_adding("gpu/src/scan/mod.rs", "//! Scan.\ndeclare_family! {}\n");
    assert_eq!(found, ["gpu/src/scan/mod.rs:2: stems"]);
}

#[test]
fn exceptions_for_length_must_be_needed() {
    let tree = sound();
    let found = text::files_are_short_but(&tree, &[("README.md", "a reason")]);
    assert_eq!(found.len(), 1, "{found:?}");
    let found = text::files_are_short_but(&tree, &[("gone.rs", "a reason")]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn paths_are_judged_by_their_start_and_outside_tests() {
    let at = |text: &str| after_adding("host/src/ops/sum.rs", text);
    assert_eq!(at("// docs.rs/home/x and ${HOME}/tmp/x\n"), [""; 0]);
    assert_eq!(at("#[cfg(test)]\nmod tests {\n    // /tmp/x\n}\n"), [""; 0]);
    assert_eq!(
        at("#[cfg(test)]\nmod tests;\n// /tmp/x\n"),
        ["host/src/ops/sum.rs:4: own-paths"]
    );
    assert_eq!(
        after_adding_ptx("host/ptx/sm_80/sum.ptx", ".file 1 \"/root/x.rs\"\n"),
        ["host/ptx/sm_80/sum.ptx:8: own-paths"]
    );
}

#[test]
fn the_form_of_a_line_is_what_editors_take() {
    let mut tree = sound();
    tree.files
        .get_mut("README.md")
        .unwrap()
        .push_str("`cargo xtask party`\n");
    let lines: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["README.md:2: commands: there is no command `party`"]
    );
}

#[test]
fn a_tree_is_read_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in sound().files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for path in ["target/x.rs", "gpu/target/x.rs", "picture.png", ".git/x.rs"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "dbg!(1)").unwrap();
    }
    let read = || Tree::read(folder.path(), FAMILIES, vec!["demo".to_owned()]).unwrap();
    assert_eq!(read().files, sound().files);
    fs::write(
        folder.path().join("host/src/ops/sum.rs"),
        "fn f() { dbg!(1) }\n",
    )
    .unwrap();
    let violations = check(&read());
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert_eq!(violations[0].rule, "unfinished");
}
