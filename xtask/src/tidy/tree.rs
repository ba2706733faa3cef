//! The project as the checks see it: its files' texts, its catalogue, and its commands.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use fs_err as fs;
use warpwright_gpu::Family;

use super::code::{self, Token};
use crate::{Result, project};

/// Folders without files of the project.
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
    pub families: &'static [Family],
    /// The names of the subcommands of `cargo xtask`.
    pub subcommands: Vec<String>,
    /// The tokens of the Rust sources by path, or the error of one that is not Rust. They are read at the first use.
    pub tokens: OnceCell<BTreeMap<String, Lexed>>,
}

/// The tokens of a text, or the line and the reason why it has none.
pub type Lexed = std::result::Result<Vec<Token>, (usize, String)>;

impl Tree {
    /// Reads all files below `root`.
    pub fn read(
        root: &Path,
        families: &'static [Family],
        subcommands: Vec<String>,
    ) -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in project::files(root, SKIPPED)? {
            if is_text(&path) {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                files.insert(project::name_below(root, &path)?, text);
            }
        }
        Ok(Self {
            files,
            families,
            subcommands,
            tokens: OnceCell::new(),
        })
    }

    /// Returns the files whose path ends with `ending`, with their texts.
    pub fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(ending))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the Rust sources as tokens.
    pub fn lexed(&self) -> &BTreeMap<String, Lexed> {
        self.tokens.get_or_init(|| {
            let sources = self.ending(".rs");
            sources
                .map(|(path, text)| (path.to_owned(), code::tokens(text)))
                .collect()
        })
    }

    /// Returns the paths and tokens of the Rust sources, without those that are not Rust.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &[Token])> {
        let lexed = self.lexed().iter();
        lexed.map(|(path, lexed)| (path.as_str(), lexed.as_deref().unwrap_or_default()))
    }

    /// Returns the tokens of one file.
    pub fn code(&self, path: &str) -> &[Token] {
        let lexed = self.lexed().get(path);
        lexed.and_then(|it| it.as_deref().ok()).unwrap_or_default()
    }

    /// Returns the number of lines before a module of tests at the end of a source file, or of all lines of any other file.
    pub fn lines_before_tests(&self, path: &str) -> usize {
        let tokens = self.code(path);
        code::find(tokens, "#[cfg(test)] mod")
            .find(|place| tokens.get(place.end + 1).is_some_and(|it| it.text == "{"))
            .map_or(usize::MAX, |place| tokens[place.start].line - 1)
    }

    /// Returns the text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => TEXTS.contains(&extension),
        // Scripts such as `.ci/run` have no extension.
        None => path
            .parent()
            .and_then(Path::file_name)
            .is_some_and(|folder| folder == ".ci"),
    }
}
