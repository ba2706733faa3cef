//! Who may know whom.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Found;
use super::code::{code, lines_with_word};
use super::tree::Tree;

/// The packages of the published `cust`.
const CUST: &[&str] = &["cust", "cust_core", "cust_derive", "cust_raw"];

/// Where the project's own crate of that name is, where the library uses it, and where it is compared with the published one.
const USERS_OF_CUST: &[&str] = &[
    "cust/",
    "host/src/cuda",
    "tests/tests/cust_parity.rs",
    PUBLISHED_CUST,
];

/// The crate that has the published one, outside of the workspace.
const PUBLISHED_CUST: &str = "tests/published-cust/";

/// Packages that the kernels' crate must not reach, beside those of `cust`.
const ABOVE_GPU: &[&str] = &["warpwright", "warpwright-cli", "warpwright-cust"];

/// Where assembly may be written: it is the place for instructions.
const ASM_ALLOWED: &str = "cuda_std/";

/// A dependency of a package.
struct Dependency {
    /// The key in the manifest.
    key: String,
    package: String,
    path: bool,
}

/// The crate of kernels depends neither on the library nor on anything that drives a GPU, also not by way
/// of another crate of the workspace.
pub fn gpu_is_the_lowest_layer(tree: &Tree) -> Found {
    let mut found = Found::new();
    let mut waiting = vec!["gpu/Cargo.toml".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let dependencies = match dependencies(tree, &path) {
            Ok(dependencies) => dependencies,
            Err(reason) => {
                found.push((path, 1, reason));
                continue;
            }
        };
        for dependency in dependencies {
            let package = dependency.package.as_str();
            if ABOVE_GPU.contains(&package) || CUST.contains(&package) {
                let line = line_of_key(tree, &path, &dependency.key);
                let what = format!("the kernels must not depend on `{package}`");
                found.push((path.clone(), line, what));
            } else if dependency.path {
                waiting.extend(manifest_of(tree, package));
            }
        }
    }
    found
}

/// Only `host/src/cuda*` and the crate `cust` itself name `cust`, and nothing depends on the published one, beside the
/// comparison with our own.
pub fn one_door_to_cust(tree: &Tree) -> Found {
    let mut found = Found::new();
    for (path, text) in tree
        .sources()
        .filter(|(path, _)| !USERS_OF_CUST.iter().any(|user| path.starts_with(user)))
    {
        for line in lines_with_word(&code(text), "cust") {
            found.push((
                path.to_owned(),
                line,
                "only host/src/cuda names `cust`".to_owned(),
            ));
        }
    }
    for (path, _) in tree
        .ending("Cargo.toml")
        .filter(|(path, _)| !path.starts_with(PUBLISHED_CUST))
    {
        // A manifest that cannot be read is cargo's to report.
        for dependency in dependencies(tree, path).unwrap_or_default() {
            if CUST.contains(&dependency.package.as_str()) {
                let line = line_of_key(tree, path, &dependency.key);
                let what = format!(
                    "the project's own crate is required, given the published `{}`",
                    dependency.package
                );
                found.push((path.to_owned(), line, what));
            }
        }
    }
    found
}

/// Only the device library contains assembly.
pub fn one_place_for_asm(tree: &Tree) -> Found {
    let mut found = Found::new();
    for (path, text) in tree.sources() {
        if path.starts_with(ASM_ALLOWED) {
            continue;
        }
        for (index, line) in code(text).lines().enumerate() {
            if line.contains("asm!") {
                let what = "assembly belongs in cuda_std".to_owned();
                found.push((path.to_owned(), index + 1, what));
            }
        }
    }
    found
}

/// All dependencies in a manifest: normal, for tests, for builds, and those of some targets only.
fn dependencies(tree: &Tree, path: &str) -> Result<Vec<Dependency>, String> {
    let manifest = parse(tree, path)?;
    let root = parse(tree, "Cargo.toml").unwrap_or_default();
    let shared = root
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"));
    let mut tables = vec![&manifest];
    let targets = manifest.get("target").and_then(Value::as_table);
    tables.extend(
        targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table),
    );
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let rows = tables
        .into_iter()
        .flat_map(|table| {
            kinds
                .iter()
                .filter_map(move |kind| table.get(*kind)?.as_table())
        })
        .flatten();
    Ok(rows
        .map(|(key, value)| dependency(key, value, shared))
        .collect())
}

fn dependency(key: &str, value: &Value, shared: Option<&Value>) -> Dependency {
    let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
    let value = if inherited {
        shared.and_then(|table| table.get(key)).unwrap_or(value)
    } else {
        value
    };
    Dependency {
        key: key.to_owned(),
        package: value
            .get("package")
            .and_then(Value::as_str)
            .unwrap_or(key)
            .to_owned(),
        path: value.get("path").is_some(),
    }
}

/// The path of a package's manifest.
fn manifest_of(tree: &Tree, package: &str) -> Option<String> {
    let is_it = |path: &str| {
        let manifest = parse(tree, path).ok()?;
        Some(manifest.get("package")?.get("name")?.as_str()? == package)
    };
    let mut manifests = tree.ending("Cargo.toml").map(|(path, _)| path);
    manifests
        .find(|path| is_it(path) == Some(true))
        .map(str::to_owned)
}

fn parse(tree: &Tree, path: &str) -> Result<Table, String> {
    let text = tree.text(path).ok_or("the manifest is not there")?;
    text.parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())
}

fn line_of_key(tree: &Tree, path: &str, key: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start()
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    let text = tree.text(path).unwrap_or_default();
    text.lines().position(starts).map_or(1, |index| index + 1)
}
