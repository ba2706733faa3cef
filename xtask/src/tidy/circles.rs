//! The check that no two files of a crate import from each other.
//!
//! A name counts as an import from the file that defines it: a path is followed through modules and `use` declarations, to
//! functions, types and the like that a file writes out. Names that a macro makes, macros, and names that a glob brings from
//! another crate are not known and count as none. So do tests. Files of which one is a module inside the other are left out:
//! a module may use what the module above it defines.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::code::Token;
use super::tree::Tree;

/// Pairs of files that may import from each other, and the reasons. A `*` stands for any text.
const ALLOWED: &[([&str; 2], &str)] = &[
    (
        ["cuda_std/src/*", "cuda_std/src/cpu/imp*"],
        "the name of an operation and its body on the CPU: the name calls the body, which takes the name's types",
    ),
    (
        ["cuda_std/src/*", "cuda_std/src/nvptx/*"],
        "the name of an operation and its body on the GPU, in the same way",
    ),
];

/// The words before the name of an item.
const ITEMS: &[&str] = &[
    "const", "enum", "fn", "static", "struct", "trait", "type", "union",
];

/// No two files of a crate import from each other, except for [`ALLOWED`].
pub fn no_two_files_import_from_each_other(tree: &Tree) -> Found {
    // Small trees, such as those of the tests, do not have these files.
    let there = ALLOWED.iter().filter(|(pair, _)| {
        pair.iter()
            .all(|name| tree.files.keys().any(|path| matches(name, path)))
    });
    circles_but(tree, &there.copied().collect::<Vec<_>>())
}

pub(super) fn circles_but(tree: &Tree, allowed: &[([&str; 2], &str)]) -> Found {
    let imports = Crates::read(tree).imports();
    let mut used = vec![false; allowed.len()];
    let mut found = Found::new();
    for ((one, other), line) in &imports {
        let Some(back) = imports.get(&(*other, *one)).filter(|_| one < other) else {
            continue;
        };
        let is_it = |[a, b]: [&str; 2]| {
            matches(a, one) && matches(b, other) || matches(a, other) && matches(b, one)
        };
        if let Some(at) = allowed.iter().position(|(pair, _)| is_it(*pair)) {
            used[at] = true;
            continue;
        }
        let what = format!(
            "one of two files required to import from the other, given {other}:{back} which imports from here"
        );
        found.push(((*one).to_owned(), *line, what));
    }
    for ((pair, _), _) in allowed.iter().zip(used).filter(|(_, used)| !used) {
        let what = format!("no circle with {}, which needs no exception", pair[1]);
        found.push((pair[0].to_owned(), 1, what));
    }
    found
}

/// Returns whether a path is one that a name with `*` for any text stands for.
fn matches(name: &str, path: &str) -> bool {
    match name.split_once('*') {
        None => name == path,
        Some((start, end)) => path
            .strip_prefix(start)
            .is_some_and(|rest| rest.ends_with(end)),
    }
}

/// A module: the folder of its crate's root, and the modules' names from there.
type Place<'a> = (&'a str, Vec<&'a str>);

/// A path that a module names.
struct Named<'a> {
    path: Vec<&'a str>,
    /// The name that a `use` gives it: `*` for a glob. `None` for a path elsewhere.
    name: Option<&'a str>,
    line: usize,
}

/// What a module writes out.
struct Module<'a> {
    file: &'a str,
    named: Vec<Named<'a>>,
    items: BTreeSet<&'a str>,
}

/// The modules of all crates.
#[derive(Default)]
struct Crates<'a> {
    modules: BTreeMap<Place<'a>, Module<'a>>,
    /// The place of each file's own module.
    pages: BTreeMap<&'a str, Place<'a>>,
}

impl<'a> Crates<'a> {
    fn read(tree: &'a Tree) -> Self {
        let mut crates = Self::default();
        for (file, tokens) in tree.sources() {
            let Some(place) = place_of(tree, file) else {
                continue;
            };
            // A crate's library comes before its program in the same folder.
            if !is_of_tests(&place) && !crates.modules.contains_key(&place) {
                crates.pages.insert(file, place.clone());
                crates.scan(file, place, tokens);
            }
        }
        crates
    }

    /// Adds a module and those that are written inside it.
    fn scan(&mut self, file: &'a str, place: Place<'a>, tokens: &'a [Token]) {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
        let mut module = Module {
            file,
            named: Vec::new(),
            items: BTreeSet::new(),
        };
        let (mut at, mut depth) = (0, 0_usize);
        while at < tokens.len() {
            let before = |by: usize| at.checked_sub(by).map_or("", text);
            match text(at) {
                "#" if is_for_tests(tokens, at) => {
                    at = end_of_item(tokens, at + 1);
                    continue;
                }
                "macro_rules" if text(at + 1) == "!" => {
                    at = end_of_group(tokens, at + 3);
                    continue;
                }
                "mod" if text(at + 2) == "{" => {
                    let (mut inside, end) = (place.clone(), end_of_group(tokens, at + 2));
                    inside.1.push(text(at + 1));
                    self.scan(file, inside, &tokens[at + 3..end - 1]);
                    at = end;
                    continue;
                }
                "use" if text(at + 1) != "<" => {
                    at = uses(tokens, at + 1, &[], &mut module.named);
                    continue;
                }
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                word if ITEMS.contains(&word) && depth == 0 => {
                    module.items.insert(text(at + 1));
                }
                word if is_name(word) && is_separator(tokens, at + 1) => {
                    let line = tokens[at].line;
                    let is_whole = !matches!(before(1), "." | "$")
                        && !matches!((before(2), before(1)), (":", ":") | ("(", "in"));
                    let mut path = vec![word];
                    while is_separator(tokens, at + 1) && is_name(text(at + 3)) {
                        at += 3;
                        path.push(text(at));
                    }
                    if is_whole {
                        let name = None;
                        module.named.push(Named { path, name, line });
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.modules.insert(place, module);
    }

    /// Returns the pairs of a file and another one from which it imports, with the line of the first import. Neither is a
    /// module inside the other.
    fn imports(&self) -> BTreeMap<(&'a str, &'a str), usize> {
        let mut imports = BTreeMap::new();
        for (place, module) in &self.modules {
            let own = &self.pages[module.file].1;
            for named in &module.named {
                let mut from = BTreeSet::new();
                self.follow(place, &named.path, &mut BTreeSet::new(), &mut from);
                for file in from {
                    let other = &self.pages[file].1;
                    if !other.starts_with(own) && !own.starts_with(other) {
                        let line = imports.entry((module.file, file)).or_insert(named.line);
                        *line = named.line.min(*line);
                    }
                }
            }
        }
        imports
    }

    /// Adds the files that define what a path means in a module. A path to a module adds none.
    fn follow(
        &self,
        at: &Place<'a>,
        path: &[&'a str],
        seen: &mut BTreeSet<(Place<'a>, &'a str)>,
        files: &mut BTreeSet<&'a str>,
    ) {
        let (mut place, mut rest) = (at.clone(), path);
        match path.first() {
            Some(&"crate") => (place.1, rest) = (Vec::new(), &path[1..]),
            Some(&"self") => rest = &path[1..],
            Some(&"super") => {
                while let Some((&"super", after)) = rest.split_first() {
                    place.1.pop();
                    rest = after;
                }
            }
            _ => {}
        }
        while let Some((&name, after)) = rest.split_first() {
            place.1.push(name);
            if self.modules.contains_key(&place) {
                rest = after;
                continue;
            }
            place.1.pop();
            let Some(module) = self.modules.get(&place) else {
                return;
            };
            if !seen.insert((place.clone(), name)) {
                return;
            }
            let is_named = module.named.iter().any(|it| it.name == Some(name));
            if module.items.contains(name) && !is_named {
                files.insert(module.file);
                return;
            }
            for named in &module.named {
                let further = match named.name {
                    Some(it) if it == name => after,
                    Some("*") if !is_named => rest,
                    _ => continue,
                };
                let path = [&*named.path, further].concat();
                self.follow(&place, &path, seen, files);
            }
            return;
        }
    }
}

/// Returns the place of the module of a file below the folder of a `lib.rs` or `main.rs`.
fn place_of<'a>(tree: &Tree, file: &'a str) -> Option<Place<'a>> {
    let is_root = |folder: &&str| {
        let has = |name| tree.files.contains_key(&format!("{folder}/{name}"));
        has("lib.rs") || has("main.rs")
    };
    let ends = file.rmatch_indices('/').map(|(at, _)| &file[..at]);
    let root = { ends }.find(is_root)?;
    let below = file[root.len() + 1..].strip_suffix(".rs")?;
    let mut names: Vec<&str> = below.split('/').collect();
    if matches!(names[..], ["lib" | "main"]) || names.last() == Some(&"mod") {
        names.pop();
    }
    Some((root, names))
}

/// Returns whether a module is one of tests by its name.
fn is_of_tests((_, names): &Place<'_>) -> bool {
    names.contains(&"tests")
}

/// Returns whether an attribute makes an item one of tests.
fn is_for_tests(tokens: &[Token], at: usize) -> bool {
    let is = |pattern: &[&str]| {
        let all = tokens[at..].iter().map(|it| it.text.as_str());
        all.take(pattern.len()).eq(pattern.iter().copied())
    };
    is(&["#", "[", "cfg", "(", "test", ")"]) || is(&["#", "[", "cfg", "(", "all", "(", "test", ","])
}

/// Returns the end of the group of brackets that begins at `at`.
fn end_of_group(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the end of the item that `at` is in front of or inside.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            ";" => return at + 1,
            "{" => return end_of_group(tokens, at),
            "(" | "[" => at = end_of_group(tokens, at),
            // The end of what the item is in, such as the type of a field.
            "}" | ")" | "]" => return at,
            _ => at += 1,
        }
    }
    at
}

/// Adds the paths of a tree of a `use` below `above`, and returns the end of the tree.
fn uses<'a>(
    tokens: &'a [Token],
    mut at: usize,
    above: &[&'a str],
    named: &mut Vec<Named<'a>>,
) -> usize {
    let mut path = above.to_vec();
    while let Some(Token { text, line }) = tokens.get(at) {
        match text.as_str() {
            // A path from `::` on is that of another crate.
            ":" if path.is_empty() => path.push(""),
            ":" => {}
            "{" => {
                let end = end_of_group(tokens, at);
                while at + 1 < end {
                    at = uses(tokens, at + 1, &path, named);
                }
                return end;
            }
            "*" => {
                let name = Some("*");
                named.push(Named {
                    path,
                    name,
                    line: *line,
                });
                return at + 1;
            }
            word if is_name(word) => {
                path.push(word);
                if !is_separator(tokens, at + 1) {
                    path.pop_if(|last| *last == "self" && !above.is_empty());
                    let alias = tokens.get(at + 1).is_some_and(|next| next.text == "as");
                    at += 1 + 2 * usize::from(alias);
                    let name = match alias {
                        true => Some(tokens[at - 1].text.as_str()),
                        false => path.last().copied(),
                    };
                    named.push(Named {
                        path,
                        name,
                        line: *line,
                    });
                    return at;
                }
            }
            _ => return at,
        }
        at += 1;
    }
    at
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Returns whether there is `::` at `at`.
fn is_separator(tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at..at + 2)
        .is_some_and(|pair| pair.iter().all(|token| token.text == ":"))
}
