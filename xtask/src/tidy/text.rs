//! Checks of the contents and the length of files.

use super::Found;
use super::code::lines;
use super::tree::Tree;

/// The maximum number of lines of a source file or a page. A file that grows past 500 should be divided.
const MOST_LINES: usize = 600;

/// Files that may be longer, and the reasons.
const LONG_FILES: &[(&str, &str)] = &[];

/// The maximum number of characters of a line that is a comment. A row of a table may be longer.
const COMMENT_WIDTH: usize = 128;

/// Macros for unfinished code, or for printing a value while debugging.
const UNFINISHED_MACROS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// No source file or page is longer than [`MOST_LINES`].
pub fn files_are_short(tree: &Tree) -> Found {
    // Small trees, such as those of the tests, do not have these files.
    let there = LONG_FILES
        .iter()
        .filter(|(path, _)| tree.text(path).is_some());
    files_are_short_but(tree, &there.copied().collect::<Vec<_>>())
}

pub(super) fn files_are_short_but(tree: &Tree, exceptions: &[(&str, &str)]) -> Found {
    let mut found = Found::new();
    for (path, text) in tree.ending("").filter(|(path, _)| is_written(path)) {
        let (lines, excepted) = (
            text.lines().count(),
            exceptions.iter().any(|(name, _)| *name == path),
        );
        if lines > MOST_LINES && !excepted {
            let what = format!("at most {MOST_LINES} lines required, given {lines}: divide it");
            found.push((path.to_owned(), lines, what));
        } else if lines <= MOST_LINES && excepted {
            let what = "it is short enough and needs no exception".to_owned();
            found.push((path.to_owned(), 1, what));
        }
    }
    for (name, _) in exceptions
        .iter()
        .filter(|(name, _)| tree.text(name).is_none())
    {
        found.push((
            (*name).to_owned(),
            1,
            "the exception is for a file that is not there".into(),
        ));
    }
    found
}

/// No comment in a Rust source is wider than [`COMMENT_WIDTH`].
pub fn comments_are_narrow(tree: &Tree) -> Found {
    let mut found = Found::new();
    for (path, text) in tree.ending(".rs") {
        for (index, line) in text.lines().enumerate() {
            let (width, comment) = (line.chars().count(), line.trim_start());
            let is_row = comment.trim_start_matches(['/', '!', ' ']).starts_with('|');
            if width > COMMENT_WIDTH && comment.starts_with("//") && !is_row {
                let what = format!(
                    "a comment of at most {COMMENT_WIDTH} characters required, given {width}"
                );
                found.push((path.to_owned(), index + 1, what));
            }
        }
    }
    found
}

/// No text outside tests names a folder of one machine.
pub fn no_paths_of_one_machine(tree: &Tree) -> Found {
    // Built from parts, so that this file passes its own check.
    let folders = ["root", "home", "tmp"].map(|name| format!("/{name}/"));
    let mut found = Found::new();
    for (path, text) in tree.ending("").filter(|(path, _)| !is_test(path)) {
        for (index, line) in text.lines().take(tree.lines_before_tests(path)).enumerate() {
            if let Some(folder) = folders.iter().find(|folder| names_folder(line, folder)) {
                let what = format!("`{folder}` is a folder of one machine");
                found.push((path.to_owned(), index + 1, what));
            }
        }
    }
    found
}

/// No file has marks for unfinished work.
pub fn nothing_is_left_undone(tree: &Tree) -> Found {
    // Built from parts, so that this file passes its own check.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|parts| parts.concat());
    let mut found = Found::new();
    for (path, text) in tree.ending("").filter(|(path, _)| is_written(path)) {
        for mark in &marks {
            for line in lines_with_word(text, mark) {
                let what = format!("`{mark}`: do it, or make it an issue");
                found.push((path.to_owned(), line, what));
            }
        }
    }
    for (path, tokens) in tree.sources() {
        for name in UNFINISHED_MACROS {
            for line in lines(tokens, name) {
                found.push((path.to_owned(), line, format!("`{name}` is left in")));
            }
        }
    }
    found
}

/// Every source is Rust, so that the other checks see its code.
pub fn sources_are_rust(tree: &Tree) -> Found {
    let lexed = tree.lexed().iter();
    lexed
        .filter_map(|(path, lexed)| {
            let (line, what) = lexed.as_ref().err()?;
            Some((path.clone(), *line, what.clone()))
        })
        .collect()
}

/// Every `cargo xtask …` in a page or in a message is a command that exists.
pub fn commands_exist(tree: &Tree) -> Found {
    const CALL: &str = "cargo xtask ";
    let mut found = Found::new();
    for (path, text) in tree
        .ending("")
        .filter(|(path, _)| is_written(path) && !is_test(path))
    {
        for (index, line) in text.lines().take(tree.lines_before_tests(path)).enumerate() {
            for (at, _) in line.match_indices(CALL) {
                let rest = &line[at + CALL.len()..];
                let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
                let name = &rest[..end.unwrap_or(rest.len())];
                // A placeholder such as `<command>` does not start with a letter.
                if name.starts_with(|c: char| c.is_ascii_lowercase())
                    && !tree.subcommands.iter().any(|known| known == name)
                {
                    let what = format!("there is no command `{name}`");
                    found.push((path.to_owned(), index + 1, what));
                }
            }
        }
    }
    found
}

/// Returns the rows of the table with this head in a page: their lines and cells.
pub(super) fn table<'a>(
    page: &'a str,
    head: &'a str,
) -> impl Iterator<Item = (usize, Vec<&'a str>)> {
    let lines = page.lines().enumerate();
    lines
        .skip_while(move |(_, line)| *line != head)
        .skip(2)
        .map_while(|(index, line)| {
            let cells = line.strip_prefix('|')?.split('|').map(str::trim);
            Some((index + 1, cells.collect()))
        })
}

/// Returns the texts between backticks.
pub(super) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns whether people write the file: its text is code, a page or settings.
fn is_written(path: &str) -> bool {
    !(path.ends_with(".ptx") || path.ends_with(".json") || path.ends_with(".txt"))
}

/// Returns whether the whole file is about tests.
pub(super) fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| part == "tests" || part == "tests.rs") || path.ends_with("_tests.rs")
}

/// Returns the numbers of the lines that have `word` with no letter, digit or `_` beside it.
fn lines_with_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let has = move |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let free =
                |beside: Option<char>| beside.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
            free(line[..at].chars().next_back()) && free(line[at + word.len()..].chars().next())
        })
    };
    text.lines()
        .enumerate()
        .filter(move |(_, line)| has(line))
        .map(|(index, _)| index + 1)
}

/// Returns whether the line has the folder as the start of a path, and not as a part of a longer one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at]
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | '~'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_ends() {
        let lines = |text| lines_with_word(text, "word").collect::<Vec<_>>();
        assert_eq!(lines("words\n// a word.\nword_s\n(word)"), [2, 4]);
        assert_eq!(lines(""), [0_usize; 0]);
    }
}
