//! Rust-CUDA's public names, kept as data with their source, and compared with this workspace's.

use std::path::Path;
use std::process::Command;

use super::names;
use crate::{Result, project};

/// The file of the names.
const DATA: &str = "xtask/data/rust-cuda-names.txt";

/// The page whose tables list the missing names, and those with another type.
#[cfg(test)]
const PAGE: &str = "docs/FROM-RUST-CUDA.md";

/// The crates that both have: the name, and the root of the one here.
const CRATES: &[(&str, &str)] = &[
    ("cuda_builder", "cuda_builder/src/lib.rs"),
    ("cuda_std", "cuda_std/src/lib.rs"),
    ("cust", "cust/src/lib.rs"),
    ("cust_core", "cust/core/src/lib.rs"),
];

/// Writes the names of a checkout into the workspace.
pub fn record(checkout: &Path) -> Result<()> {
    let mut command = Command::new("git");
    command.args(["rev-parse", "HEAD"]).current_dir(checkout);
    let output = system::process::run(&mut command, None, false)
        .map_err(|error| format!("rust-cuda: git {error}"))?;
    let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if commit.is_empty() {
        let given = checkout.display();
        return Err(format!("rust-cuda: a checkout by git required, given {given}").into());
    }
    let mut text = format!(
        "# The public names of Rust-CUDA's crates with their signatures, as `cargo xtask rust-cuda DIR --names` reads them.\n\
         # Source: https://github.com/Rust-GPU/rust-cuda, commit {commit}.\n"
    );
    let mut count = 0;
    for (name, _) in CRATES {
        let root = checkout.join("crates").join(name).join("src/lib.rs");
        for (path, signatures) in names::read(&root)?.names {
            for signature in signatures {
                text += &format!("{name}::{path}\t{signature}\n");
                count += 1;
            }
        }
    }
    project::write(&project::root().join(DATA), text.as_bytes())?;
    println!("{DATA}: {count} names of {commit}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    use super::super::names::{FROM_ELSEWHERE, Names};
    use super::*;

    /// Returns the names in the data by crate, with their signatures.
    fn there() -> BTreeMap<String, Names> {
        let text = fs::read_to_string(project::root().join(DATA)).unwrap();
        let mut crates: BTreeMap<String, Names> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (path, signature) = line.split_once('\t').unwrap();
            let (of, path) = path.split_once("::").unwrap();
            let names = crates.entry(of.to_owned()).or_default();
            let signatures = names.entry(path.to_owned()).or_default();
            signatures.insert(signature.to_owned());
        }
        crates
    }

    /// Returns the names in backticks in the first column of the page's tables, with `a::{b, c}` as two. They are all names
    /// that differ.
    fn listed() -> BTreeSet<String> {
        let text = fs::read_to_string(project::root().join(PAGE)).unwrap();
        let mut names = BTreeSet::new();
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let cell = row.split('|').nth(1).unwrap_or_default();
            for name in cell.split('`').skip(1).step_by(2) {
                let of_a_crate = |(of, _): &(&str, &str)| name.starts_with(&format!("{of}::"));
                if !CRATES.iter().any(of_a_crate) {
                    continue;
                }
                match name.strip_suffix('}').and_then(|name| name.split_once('{')) {
                    None => drop(names.insert(name.to_owned())),
                    Some((start, ends)) => {
                        names.extend(ends.split(',').map(|end| format!("{start}{}", end.trim())));
                    }
                }
            }
        }
        names
    }

    /// Returns the names of Rust-CUDA that are missing here or differ, each with the reason, and the number of equal ones.
    fn differences() -> (BTreeMap<String, String>, usize) {
        let (mut same, mut different) = (0, BTreeMap::new());
        for (of, theirs) in there() {
            let (_, root) = CRATES.iter().find(|(name, _)| *name == of).unwrap();
            let ours = names::read(&project::root().join(root)).unwrap();
            let mut missing: BTreeSet<&str> = BTreeSet::new();
            for (path, signatures) in &theirs {
                let elsewhere = |set: &BTreeSet<String>| set.contains(FROM_ELSEWHERE);
                let (above, last) = path.rsplit_once("::").unwrap_or(("", path));
                let text = match ours.names.get(path) {
                    Some(own) if elsewhere(own) || elsewhere(signatures) => None,
                    Some(own) if !own.is_disjoint(signatures) => None,
                    Some(own) => Some(format!("{signatures:?} there, {own:?} here")),
                    // A prelude defines nothing itself.
                    None if above != "prelude"
                        && !missing.contains(above)
                        && ours.in_macros.contains(last) =>
                    {
                        None
                    }
                    None => {
                        missing.insert(path);
                        Some("not here".to_owned())
                    }
                };
                match text {
                    Some(text) => drop(different.insert(format!("{of}::{path}"), text)),
                    None => same += 1,
                }
            }
        }
        (different, same)
    }

    #[test]
    fn every_name_of_rust_cuda_is_here_or_listed_with_a_reason() {
        let listed = listed();
        let (different, same) = differences();
        // An empty list must not pass.
        assert!(same >= 800, "{same}");
        // `a::*_b` covers all names of `a` with that ending.
        let covers = |name: &str, path: &str| match name.split_once('*') {
            Some((start, end)) => path.starts_with(start) && path.ends_with(end),
            None => {
                let rest = path.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            }
        };
        let unlisted = different
            .iter()
            .filter(|(path, _)| !listed.iter().any(|name| covers(name, path)));
        let unlisted: Vec<String> = unlisted
            .map(|(path, text)| format!("{path}: {text}"))
            .collect();
        assert!(
            unlisted.is_empty(),
            "not in {PAGE}:\n{}",
            unlisted.join("\n")
        );
        let needless = listed
            .iter()
            .filter(|name| !different.keys().any(|path| covers(name, path)));
        let needless: Vec<&str> = needless.map(String::as_str).collect();
        assert!(
            needless.is_empty(),
            "in {PAGE}, and no difference: {needless:?}"
        );
    }
}
