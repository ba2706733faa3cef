//! Checks of the catalogue, the files of its rows, and the committed PTX.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::code::lines;
use super::tree::Tree;
use crate::manifest::Manifest;
use crate::{project, sources};
use warpwright_gpu::Family;

const MANIFEST: &str = "host/ptx/manifest.json";

/// The head of the table on a family's page.
const TABLE_HEAD: &str = "//! | variant | idea |";

/// Every variant has an entry for every kernel it names, in the PTX of every architecture. An architecture such as `sm_90a`,
/// which runs only on its own cards, has only the kernels that need it.
pub fn every_variant_has_ptx(tree: &Tree) -> Found {
    let mut found = Found::new();
    let archs: BTreeSet<&str> = ptx_files(tree).map(|(arch, ..)| arch).collect();
    if archs.is_empty() {
        found.push((MANIFEST.to_owned(), 1, "no PTX is committed".to_owned()));
    }
    for arch in archs {
        let shipped = (project::SHIPPED.iter()).find(|(it, _)| it.sm() == arch);
        let is_shipped = |module: &String| {
            shipped.is_none() || project::shipped(module).any(|it| it.sm() == arch)
        };
        for family in tree.families {
            let best = family.variants.last().map_or(&[][..], |best| best.kernels);
            let mut kernels = family.variants.iter().flat_map(|variant| variant.kernels);
            let has_rungs = kernels.any(|kernel| !best.contains(kernel));
            let modules = project::modules_of(family.name);
            let [has_best, has_ladder] = modules.each_ref().map(is_shipped);
            let mut stems = BTreeSet::new();
            for (module, has) in modules.iter().zip([has_best, has_ladder && has_rungs]) {
                match tree.text(&format!("host/ptx/{arch}/{module}.ptx")) {
                    Some(text) => stems.extend(entries(text).map(|(_, entry)| stem(entry))),
                    None if !has => {}
                    None => {
                        let what = format!("there is no PTX `{module}` of the family for {arch}");
                        found.push((page(family), 1, what));
                    }
                }
            }
            let is_expected = |kernel: &str| {
                let has = if best.contains(&kernel) {
                    has_best
                } else {
                    has_ladder
                };
                has && shipped.is_none_or(|(arch, _)| project::has_kernel(*arch, kernel))
            };
            for variant in family.variants {
                for kernel in variant
                    .kernels
                    .iter()
                    .filter(|name| is_expected(name) && !stems.contains(**name))
                {
                    let line = line_with(tree, &page(family), &format!("\"{kernel}\""));
                    let what = format!(
                        "the variant `{}` names `{kernel}`, which is not in the PTX for {arch}",
                        variant.name
                    );
                    found.push((page(family), line, what));
                }
            }
        }
    }
    found
}

/// Every entry in the PTX is a kernel that a variant of its family names.
pub fn all_ptx_is_in_the_catalogue(tree: &Tree) -> Found {
    let mut found = Found::new();
    for (arch, name, text) in ptx_files(tree) {
        let path = format!("host/ptx/{arch}/{name}.ptx");
        let family = project::family_of(name);
        let Some(family) = tree.families.iter().find(|it| it.name == family) else {
            found.push((path, 1, format!("the catalogue has no family `{name}`")));
            continue;
        };
        let known: BTreeSet<&str> = family
            .variants
            .iter()
            .flat_map(|variant| variant.kernels.iter().copied())
            .collect();
        for (line, entry) in entries(text).filter(|(_, entry)| !known.contains(stem(entry))) {
            found.push((
                path.clone(),
                line,
                format!("no variant names the kernel of `{entry}`"),
            ));
        }
    }
    found
}

/// The committed PTX matches its manifest byte for byte, except for line endings.
pub fn ptx_is_what_the_manifest_says(tree: &Tree) -> Found {
    let at_manifest = |what: String| (MANIFEST.to_owned(), 1, what);
    let Some(text) = tree.text(MANIFEST) else {
        return vec![at_manifest("it is not there".to_owned())];
    };
    let manifest: Manifest = match serde_json::from_str(text) {
        Ok(manifest) => manifest,
        Err(error) => return vec![at_manifest(error.to_string())],
    };
    let mut unnamed: BTreeMap<String, &str> = ptx_files(tree)
        .map(|(arch, family, text)| (format!("{arch}/{family}.ptx"), text))
        .collect();
    let mut found = Found::new();
    for record in &manifest.modules {
        let file = record.file();
        let Some(text) = unnamed.remove(&file) else {
            found.push(at_manifest(format!("{file} is not there")));
            continue;
        };
        let mut listed: Vec<&str> = entries(text).map(|(_, entry)| entry).collect();
        listed.sort_unstable();
        if sources::text_hash(text.as_bytes()) != record.sha256 {
            found.push((
                format!("host/ptx/{file}"),
                1,
                "the manifest has another hash".to_owned(),
            ));
        } else if listed != record.entries {
            let what = "the manifest lists other entries".to_owned();
            found.push((format!("host/ptx/{file}"), 1, what));
        }
    }
    for file in unnamed.into_keys() {
        found.push((
            format!("host/ptx/{file}"),
            1,
            "the manifest does not have it".to_owned(),
        ));
    }
    found
}

/// Every family has a page, an operation and tests under its name, and a file for each variant that has kernels. Every page
/// belongs to a family of the catalogue.
pub fn every_family_has_its_files(tree: &Tree) -> Found {
    let mut found = Found::new();
    // A folder may replace a file that has grown.
    let there = |stem: &str, main: &str| {
        [format!("{stem}.rs"), format!("{stem}/{main}.rs")]
            .iter()
            .any(|path| tree.files.contains_key(path))
    };
    for family in tree.families {
        let name = &family.name;
        let mut needed = vec![
            (
                format!("gpu/src/{name}"),
                "mod",
                "the family's page".to_owned(),
            ),
            (
                format!("host/src/ops/{name}"),
                "mod",
                "its operation".to_owned(),
            ),
            (
                format!("tests/tests/{name}"),
                "main",
                "its tests".to_owned(),
            ),
        ];
        for variant in family
            .variants
            .iter()
            .filter(|variant| !variant.kernels.is_empty())
        {
            // Kernels that `auto` launches too are no part of the ladder.
            let best = family.variants.last().map_or(&[][..], |best| best.kernels);
            let in_product = variant.kernels.iter().all(|kernel| best.contains(kernel));
            let folder = if in_product { "" } else { "ladder/" };
            let stem = format!("gpu/src/{name}/{folder}{}", variant.name);
            needed.push((stem, "mod", format!("its variant `{}`", variant.name)));
        }
        for (stem, main, what) in needed {
            if !there(&stem, main) {
                let what = format!("the family `{name}` needs this file for {what}");
                found.push((format!("{stem}.rs"), 1, what));
            }
        }
    }
    for (path, tokens) in tree.sources() {
        let folder = path
            .strip_prefix("gpu/src/")
            .and_then(|rest| rest.strip_suffix("/mod.rs"));
        let Some(name) = folder else { continue };
        let Some(line) = lines(tokens, "declare_family!").pop() else {
            continue;
        };
        if !tree.families.iter().any(|family| family.name == name) {
            let what = format!("the catalogue has no family `{name}`");
            found.push((path.to_owned(), line, what));
        }
    }
    found
}

/// The table at the top of a family's page lists the variants of the catalogue, in its order.
pub fn pages_list_the_variants(tree: &Tree) -> Found {
    let mut found = Found::new();
    for family in tree.families {
        let path = page(family);
        let Some(text) = tree.text(&path) else {
            continue;
        };
        let Some(head) = text.lines().position(|line| line == TABLE_HEAD) else {
            found.push((
                path,
                1,
                format!("the page needs a table with the head `{TABLE_HEAD}`"),
            ));
            continue;
        };
        let listed: Vec<&str> = text
            .lines()
            .skip(head + 1)
            .map_while(|line| line.strip_prefix("//! | "))
            .filter_map(|row| row.strip_prefix('`')?.split('`').next())
            .collect();
        let names: Vec<&str> = family.variants.iter().map(|variant| variant.name).collect();
        if listed != names {
            let what = format!(
                "the table must list {}, it lists {}",
                names.join(", "),
                if listed.is_empty() {
                    "nothing".to_owned()
                } else {
                    listed.join(", ")
                }
            );
            found.push((path, head + 1, what));
        }
    }
    found
}

fn page(family: &Family) -> String {
    format!("gpu/src/{}/mod.rs", family.name)
}

/// Returns the committed PTX: architecture, family, text.
fn ptx_files(tree: &Tree) -> impl Iterator<Item = (&str, &str, &str)> {
    tree.ending(".ptx").filter_map(|(path, text)| {
        let (arch, file) = path.strip_prefix("host/ptx/")?.split_once('/')?;
        Some((arch, file.strip_suffix(".ptx")?, text))
    })
}

/// Returns the names of the kernels in PTX text, with the lines where they start.
fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let name = line.strip_prefix(".visible .entry ")?.split('(').next()?;
        Some((index + 1, name.trim()))
    })
}

/// Returns an entry's name without the suffix of its instance.
fn stem(entry: &str) -> &str {
    entry.split_once("__").map_or(entry, |(stem, _)| stem)
}

fn line_with(tree: &Tree, path: &str, part: &str) -> usize {
    let text = tree.text(path).unwrap_or_default();
    text.lines()
        .position(|line| line.contains(part))
        .map_or(1, |index| index + 1)
}
