//! The project as the checks see it: the texts of its files, its catalogue, its commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;

/// Folders that hold nothing of the project's own.
const SKIPPED: &[&str] = &[".git", "target", "bundle"];

/// Extensions of the files that are read.
const TEXTS: &[&str] = &[
    "json", "md", "ptx", "rs", "sh", "toml", "txt", "yaml", "yml",
];

/// The project.
pub struct Tree {
    /// The texts, by path below the root with `/` between folders.
    pub files: BTreeMap<String, String>,
    /// The catalogue.
    pub families: Vec<Family>,
    /// The names of the subcommands of `cargo xtask`.
    pub subcommands: Vec<String>,
}

/// A family in the catalogue.
pub struct Family {
    /// The stem.
    pub name: String,
    /// The rungs, in order.
    pub variants: Vec<Variant>,
}

/// A rung.
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its kernels, without the suffix of an instance.
    pub kernels: Vec<String>,
}

impl Tree {
    /// Reads all files below `root`.
    pub fn read(root: &Path, families: Vec<Family>, subcommands: Vec<String>) -> Result<Self> {
        let mut files = BTreeMap::new();
        collect(root, "", &mut files)?;
        Ok(Self {
            files,
            families,
            subcommands,
        })
    }

    /// The files whose path ends with `ending`, with their texts.
    pub fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(ending))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust sources.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ending(".rs")
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    let failed =
        |path: &Path, error: std::io::Error| format!("reading {}: {error}", path.display());
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let entry = entry?;
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        if kind.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(&path, &format!("{prefix}{name}/"), files)?;
            }
        } else if kind.is_file() && is_text(&path) {
            let bytes = fs::read(&path).map_err(|error| failed(&path, error))?;
            files.insert(
                format!("{prefix}{name}"),
                String::from_utf8_lossy(&bytes).into_owned(),
            );
        }
    }
    Ok(())
}

fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => TEXTS.contains(&extension),
        // Scripts such as `.ci/run` have none.
        None => path
            .parent()
            .and_then(Path::file_name)
            .is_some_and(|folder| folder == ".ci"),
    }
}
