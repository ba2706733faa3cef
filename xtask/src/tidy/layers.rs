//! Checks of the dependencies between crates.

use toml::{Table, Value};

use super::Found;
use super::code::lines;
use super::text::{quoted, table};
use super::tree::Tree;

/// The page with the table of layers, and the table's head.
const PAGE: &str = "ARCHITECTURE.md";
pub(super) const TABLE_HEAD: &str = "| folder | what it is | may depend on |";

/// The packages of the published `cust`.
const CUST: &[&str] = &["cust", "cust_core", "cust_derive", "cust_raw"];

/// The places that may name `cust`: the project's own crate, the library's use of it, the comparison with the published one,
/// and the text of a crate for the examples of Rust-CUDA.
const USERS_OF_CUST: &[&str] = &[
    "cust/",
    "host/src/cuda",
    "tests/tests/cust_parity.rs",
    // Tensor maps of the driver.
    "tests/tests/device_library/bulk.rs",
    "xtask/src/rust_cuda/blastoff.rs",
    PUBLISHED_CUST,
];

/// The crate that depends on the published one, outside of the workspace.
const PUBLISHED_CUST: &str = "tests/published-cust/";

/// The folder in which assembly may be written, because it defines the instructions.
const ASM_ALLOWED: &str = "cuda_std/";

/// A dependency of a package.
struct Dependency {
    /// The key in the manifest.
    key: String,
    package: String,
    /// The folder of the project that the dependency is in, if any.
    folder: Option<String>,
}

/// A row of the table of layers.
struct Layer {
    line: usize,
    /// The layer's folders, without the final `/`.
    folders: Vec<String>,
    /// The folders of other rows that it may depend on; `None` for any.
    below: Option<Vec<String>>,
}

/// Every crate depends only on what its row of the table in `ARCHITECTURE.md` names, and every named dependency is used by one
/// of its crates.
pub fn crates_keep_to_the_table(tree: &Tree) -> Found {
    let layers = layers(tree.text(PAGE).unwrap_or_default());
    let mut found = Found::new();
    let mut used = Vec::new();
    for (path, _) in tree.ending("Cargo.toml") {
        let manifest = match parse(tree, path) {
            Ok(manifest) => manifest,
            // Without the dependencies the table cannot be checked.
            Err(reason) => return vec![(path.to_owned(), 1, reason)],
        };
        if !manifest.contains_key("package") {
            continue;
        }
        let Some(layer) = layer_of(&layers, folder(path)) else {
            let what = format!("the table of layers of {PAGE} needs a row for it");
            found.push((path.to_owned(), 1, what));
            continue;
        };
        for dependency in dependencies(tree, path).unwrap_or_default() {
            let folder_of = dependency.folder.as_ref();
            let Some(target) = folder_of.and_then(|folder| layer_of(&layers, folder)) else {
                continue;
            };
            let is_named = |below: &Vec<String>| target.folders.iter().any(|it| below.contains(it));
            if target.line != layer.line && !layer.below.as_ref().is_none_or(is_named) {
                let line = line_of_key(tree, path, &dependency.key);
                let package = &dependency.package;
                let what = format!("{} must not depend on `{package}`: {PAGE}", folder(path));
                found.push((path.to_owned(), line, what));
            }
            used.push((layer.line, target.line));
        }
    }
    for layer in &layers {
        for folder in &layer.folders {
            let start = format!("{folder}/");
            if !tree
                .ending("Cargo.toml")
                .any(|(path, _)| path.starts_with(&start))
            {
                let what = format!("there is no crate in `{folder}`");
                found.push((PAGE.to_owned(), layer.line, what));
            }
        }
        for name in layer.below.iter().flatten() {
            let target = layers.iter().find(|it| it.folders.contains(name));
            if target.is_none_or(|target| !used.contains(&(layer.line, target.line))) {
                let what = format!("no crate of the row depends on a folder `{name}`");
                found.push((PAGE.to_owned(), layer.line, what));
            }
        }
    }
    if layers.is_empty() {
        let what = format!("a table of layers required, with the head `{TABLE_HEAD}`");
        found.push((PAGE.to_owned(), 1, what));
    }
    found
}

/// Returns the rows of the table.
fn layers(page: &str) -> Vec<Layer> {
    let names = |cell: &str| -> Vec<String> {
        let names = quoted(cell).map(|name| name.trim_end_matches('/').to_owned());
        names.collect()
    };
    table(page, TABLE_HEAD)
        .map(|(line, cells)| Layer {
            line,
            folders: cells.first().map_or_else(Vec::new, |cell| names(cell)),
            below: cells
                .get(2)
                .filter(|cell| **cell != "all")
                .map(|cell| names(cell)),
        })
        .collect()
}

/// Returns the layer of a folder: the one with the longest matching path.
fn layer_of<'a>(layers: &'a [Layer], folder: &str) -> Option<&'a Layer> {
    let holds = |outer: &String| {
        let rest = folder.strip_prefix(outer.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let depth = |layer: &&Layer| {
        let outer = layer.folders.iter().filter(|outer| holds(outer));
        outer.map(|outer| outer.len()).max()
    };
    layers
        .iter()
        .filter(|layer| depth(layer).is_some())
        .max_by_key(depth)
}

/// Returns the folder of a manifest.
fn folder(manifest: &str) -> &str {
    manifest.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Only `host/src/cuda*` and the crate `cust` itself name `cust`, and nothing depends on the published one except the
/// comparison with our own.
pub fn one_door_to_cust(tree: &Tree) -> Found {
    let mut found = Found::new();
    for (path, tokens) in tree
        .sources()
        .filter(|(path, _)| !USERS_OF_CUST.iter().any(|user| path.starts_with(user)))
    {
        for line in lines(tokens, "cust") {
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
        // Cargo reports a manifest that cannot be read.
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
    for (path, tokens) in tree.sources() {
        if path.starts_with(ASM_ALLOWED) {
            continue;
        }
        for pair in tokens.windows(2) {
            if pair[0].text.ends_with("asm") && pair[1].text == "!" {
                let what = "assembly belongs in cuda_std".to_owned();
                found.push((path.to_owned(), pair[0].line, what));
            }
        }
    }
    found
}

/// Returns all dependencies in a manifest: normal, for tests, for builds, and those of some targets only.
fn dependencies(tree: &Tree, path: &str) -> Result<Vec<Dependency>, String> {
    let manifest = parse(tree, path)?;
    let (root, shared) = workspace(tree, folder(path));
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
    let dependency = |(key, value): (&String, &Value)| {
        let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
        let shared = shared.get(key).filter(|_| inherited);
        let from = if shared.is_some() {
            &root
        } else {
            folder(path)
        };
        let value = shared.unwrap_or(value);
        let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
        let below = value.get("path").and_then(Value::as_str);
        let there = below
            .map(|below| joined(from, below))
            .filter(|folder| tree.text(&format!("{folder}/Cargo.toml")).is_some());
        Dependency {
            key: key.clone(),
            package: package.to_owned(),
            folder: there.or_else(|| folder_of(tree, package)),
        }
    };
    Ok(rows.map(dependency).collect())
}

/// Returns the folder of the workspace that a folder is in, and the dependencies that its crates share.
fn workspace(tree: &Tree, mut folder: &str) -> (String, Table) {
    loop {
        let path = format!("{folder}/Cargo.toml");
        let manifest = parse(tree, path.trim_start_matches('/')).unwrap_or_default();
        if let Some(workspace) = manifest.get("workspace") {
            let shared = workspace.get("dependencies").and_then(Value::as_table);
            return (folder.to_owned(), shared.cloned().unwrap_or_default());
        }
        if folder.is_empty() {
            return Default::default();
        }
        folder = self::folder(folder);
    }
}

/// Returns a path relative to the root, from a path relative to a folder.
fn joined(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the folder of a package of the project.
fn folder_of(tree: &Tree, package: &str) -> Option<String> {
    let is_it = |path: &str| {
        let manifest = parse(tree, path).ok()?;
        Some(manifest.get("package")?.get("name")?.as_str()? == package)
    };
    let mut manifests = tree.ending("Cargo.toml").map(|(path, _)| path);
    let manifest = manifests.find(|path| is_it(path) == Some(true))?;
    Some(folder(manifest).to_owned())
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
