//! Checks of environment variables: `SECURITY.md` lists each that the project reads.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::code::{Token, find, lines, string};
use super::text::{is_test, quoted, table};
use super::tree::Tree;

/// The page with the table, and the table's head.
const PAGE: &str = "SECURITY.md";
pub(super) const TABLE_HEAD: &str =
    "| variable | who reads it | what it does | what it trusts | with raised privileges |";

/// The prefix of the project's own variables, built from parts so that this file passes its own check.
const PREFIX: &str = concat!("WARP", "WRIGHT_");

/// Functions and macros that read the variable that their argument names. The last is the library's own.
const READERS: &[&str] = &["env::var", "env::var_os", "env!", "option_env!", "variable"];

/// Text that reads a variable without naming it.
const IMPLIED: &[(&str, &str)] = &[
    ("home_dir", "HOME"),
    ("temp_dir", "TMPDIR"),
    ("tempfile", "TMPDIR"),
    ("Command::new", "PATH"),
];

/// Places where all variables are read at once, and the reasons.
const ALL_READ: &[(&str, &str)] = &[(
    "cuda_builder/src/process.rs",
    "their names, to take those that a parent cargo has set from a child",
)];

/// Places where a variable may be read that is named elsewhere, other than functions called `variable`, and the reasons.
const NAMED_ELSEWHERE: &[(&str, &str)] = &[
    (
        "cuda_std/src/cpu/checks.rs",
        "a function for its constants, which have the project's prefix",
    ),
    ("system/src/environment.rs", "it is `variable` itself"),
];

/// The crates that users' programs link: they must read variables only through `system`, which handles raised privileges.
const LIBRARIES: &[&str] = &[
    "cuda_std/src/",
    "cust/src/",
    "gpu/src/",
    "host/src/",
    "cli/src/",
];

/// Every variable that a source or a script names or reads has a row in the table of `SECURITY.md`, and every row with the
/// project's prefix names a variable in use.
pub fn every_variable_is_listed(tree: &Tree) -> Found {
    let listed = listed(tree.text(PAGE).unwrap_or_default());
    let mut found = Found::new();
    let mut named = BTreeSet::new();
    // For each file and variable, the first line is enough.
    let mut missing: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (path, text) in tree.ending("").filter(|(path, _)| is_code(path)) {
        let mut names = own_names(text);
        if path.ends_with(".rs") {
            let (read, unclear) = read_names(tree, path);
            names.extend(read);
            found.extend(
                unclear
                    .into_iter()
                    .map(|(line, what)| (path.to_owned(), line, what)),
            );
        } else {
            names.extend(script_names(text));
        }
        for (line, name) in names {
            if !listed.iter().any(|(row, _)| fits(row, &name)) {
                let first = missing.entry((path, name.clone())).or_insert(line);
                *first = line.min(*first);
            }
            named.insert(name);
        }
    }
    for ((path, name), line) in missing {
        let what = format!("`{name}` needs a row in the table of environment variables of {PAGE}");
        found.push((path.to_owned(), line, what));
    }
    for (row, line) in listed {
        if row.starts_with(PREFIX) && !named.contains(&row) {
            let what = format!("no source reads `{row}`");
            found.push((PAGE.to_owned(), line, what));
        }
    }
    found
}

/// The linked crates read variables in one way, which ignores them with raised privileges.
pub fn libraries_ask_system(tree: &Tree) -> Found {
    let mut found = Found::new();
    let of_libraries = |path: &str| LIBRARIES.iter().any(|start| path.starts_with(start));
    for (path, tokens) in tree
        .sources()
        .filter(|(path, _)| of_libraries(path) && !is_test(path))
    {
        let own = tree.lines_before_tests(path);
        for reader in ["env::var", "env::var_os", "env::vars", "env::vars_os"] {
            for line in lines(tokens, reader)
                .into_iter()
                .filter(|line| *line <= own)
            {
                let what = "`system::environment::variable` is required for variables, given \
                            `std::env`, which honours them with raised privileges too";
                found.push((path.to_owned(), line, what.to_owned()));
            }
        }
    }
    found
}

/// Returns the first column of the table: names with their lines.
fn listed(page: &str) -> Vec<(String, usize)> {
    table(page, TABLE_HEAD)
        .flat_map(|(line, cells)| {
            let names = cells.into_iter().take(1).flat_map(quoted);
            names.map(move |name| (name.to_owned(), line))
        })
        .collect()
}

/// Returns whether a row covers the variable. `CARGO_*` covers all names with that prefix; the project's own variables need a
/// row each.
fn fits(row: &str, name: &str) -> bool {
    match row.strip_suffix('*') {
        Some(start) => name.starts_with(start) && !name.starts_with(PREFIX),
        None => row == name,
    }
}

fn is_code(path: &str) -> bool {
    path.ends_with(".rs") || path.ends_with(".sh") || path.starts_with(".ci/")
}

fn is_name(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

/// Returns the number of the line of a byte.
fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns all names with the project's prefix.
fn own_names(text: &str) -> Vec<(usize, String)> {
    text.match_indices(PREFIX)
        .filter_map(|(at, _)| {
            let rest = &text[at..];
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
            (name.len() > PREFIX.len()).then(|| (line_at(text, at), name.to_owned()))
        })
        .collect()
}

/// Returns the names that a script uses and does not set itself.
fn script_names(text: &str) -> Vec<(usize, String)> {
    let sets = |name: &str| {
        text.lines().any(|line| {
            let line = line.trim_start().trim_start_matches("export ");
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('='))
        })
    };
    text.match_indices('$')
        .filter_map(|(at, _)| {
            let rest = text[at + 1..].trim_start_matches('{');
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
            let is_variable = name.starts_with(|c: char| c.is_ascii_uppercase());
            (is_variable && !sets(name)).then(|| (line_at(text, at), name.to_owned()))
        })
        .collect()
}

/// The lines and names of the variables that a source reads.
type Read = Vec<(usize, String)>;

/// Returns the variables that a source reads, and the places where the name cannot be determined.
fn read_names(tree: &Tree, path: &str) -> (Read, Vec<(usize, String)>) {
    let excepted = |list: &[(&str, &str)]| list.iter().any(|(file, _)| *file == path);
    let tokens = tree.code(path);
    let (mut read, mut unclear) = (Read::new(), Vec::new());
    for (word, name) in IMPLIED {
        let first = lines(tokens, word).into_iter().take(1);
        read.extend(first.map(|line| (line, (*name).to_owned())));
    }
    for word in ["env::vars", "env::vars_os"] {
        for line in lines(tokens, word)
            .into_iter()
            .filter(|_| !excepted(ALL_READ))
        {
            let what = "one variable at a time is required, given a reading of all".to_owned();
            unclear.push((line, what));
        }
    }
    for reader in READERS {
        for place in find(tokens, reader) {
            let line = tokens[place.start].line;
            match argument(tree, path, &tokens[place.end..]) {
                Argument::Name(name) => read.push((line, name)),
                // `variable` is an ordinary word, and calls of a wrapper are checked by its name.
                Argument::Other(given)
                    if *reader == "variable"
                        || (given == "name" && find(tokens, "variable").next().is_some()) => {}
                Argument::Other(_) if excepted(NAMED_ELSEWHERE) => {}
                Argument::Other(given) => {
                    let what = format!(
                        "the name of a variable or a constant of it is required for `{reader}`, given `{given}`"
                    );
                    unclear.push((line, what));
                }
            }
        }
    }
    (read, unclear)
}

/// The argument of a reader.
enum Argument {
    /// The name of a variable.
    Name(String),
    /// An argument whose variable cannot be determined.
    Other(String),
}

/// Returns the argument in the brackets after a reader.
fn argument(tree: &Tree, path: &str, behind: &[Token]) -> Argument {
    let inner = match behind {
        [bracket, and, inner @ ..] if bracket.text == "(" && and.text == "&" => inner,
        [bracket, inner @ ..] if bracket.text == "(" => inner,
        _ => return Argument::Other("no call".to_owned()),
    };
    if let Some(name) = string(inner.first()) {
        return Argument::Name(name);
    }
    let is_path =
        |text: &str| text == ":" || text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let words = inner.iter().map(|token| token.text.as_str());
    let given: String = words.take_while(|text| is_path(text)).collect();
    let constant = given.rsplit("::").next().unwrap_or_default();
    // A constant of this file takes precedence over those of others.
    let here = std::iter::once(tree.code(path));
    let value = here
        .chain(tree.sources().map(|(_, tokens)| tokens))
        .find_map(|tokens| value_of(tokens, constant));
    value.map_or_else(|| Argument::Other(given.to_owned()), Argument::Name)
}

/// Returns the value of a constant that is a string.
fn value_of(tokens: &[Token], constant: &str) -> Option<String> {
    if constant.is_empty() || !constant.chars().all(is_name) {
        return None;
    }
    let place = find(tokens, &format!("const {constant}: &str =")).next()?;
    string(tokens.get(place.end))
}
