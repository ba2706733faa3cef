//! `tidy`: checks the invariants of the architecture on the text of the source tree.
//!
//! A check is a function from the [`Tree`] to the violations of its rule, and a row in [`CHECKS`]. Each is tested on a
//! violation planted in a small tree.

mod catalogue;
mod circles;
pub mod code;
mod environment;
mod layers;
mod text;
mod tree;
mod waits;

use std::fmt;

use crate::{Result, project};
use tree::Tree;

/// A violation of a rule, and its place.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    file: String,
    /// The line, counted from 1; also 1 if the violation has no line.
    line: usize,
    rule: &'static str,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.file, self.line, self.rule, self.what
        )
    }
}

/// The violations of a check: file, line, and text.
type Found = Vec<(String, usize, String)>;

/// A rule's name and its check.
type Check = (&'static str, fn(&Tree) -> Found);

const CHECKS: &[Check] = &[
    ("layers", layers::crates_keep_to_the_table),
    ("cust-door", layers::one_door_to_cust),
    ("asm-door", layers::one_place_for_asm),
    ("circles", circles::no_two_files_import_from_each_other),
    ("catalogue-ptx", catalogue::every_variant_has_ptx),
    ("ptx-catalogue", catalogue::all_ptx_is_in_the_catalogue),
    ("ptx-manifest", catalogue::ptx_is_what_the_manifest_says),
    ("stems", catalogue::every_family_has_its_files),
    ("family-page", catalogue::pages_list_the_variants),
    ("file-length", text::files_are_short),
    ("comment-width", text::comments_are_narrow),
    ("own-paths", text::no_paths_of_one_machine),
    ("unfinished", text::nothing_is_left_undone),
    ("rust", text::sources_are_rust),
    ("commands", text::commands_exist),
    ("waits", waits::operations_say_when_they_wait),
    ("variables", environment::every_variable_is_listed),
    ("privileges", environment::libraries_ask_system),
];

/// Runs the command: one line per violation on standard output.
pub fn run(subcommands: Vec<String>) -> Result<()> {
    let tree = Tree::read(&project::root(), warpwright_gpu::FAMILIES, subcommands)?;
    let violations = check(&tree);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("tidy: ok ({} checks)", CHECKS.len());
            Ok(())
        }
        1 => Err("tidy: 1 violation".into()),
        count => Err(format!("tidy: {count} violations").into()),
    }
}

/// Returns the violations of all checks, in the order of the checks, then of files and lines.
fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (rule, check) in CHECKS {
        let mut found = check(tree);
        found.sort();
        violations.extend(found.into_iter().map(|(file, line, what)| Violation {
            file,
            line,
            rule,
            what,
        }));
    }
    violations
}

#[cfg(test)]
mod tests;
