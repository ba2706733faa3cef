//! Checks that docstrings say when the host waits.

use super::Found;
use super::code::{Token, find};
use super::text::is_test;
use super::tree::Tree;

/// The files of the operations.
const OPERATIONS: &str = "host/src/ops/";

/// The docstring of each public function of `Device` that returns a `Result` says whether the host waits. Functions that return
/// a request do no work yet. A macro's functions are found where the macro has them, without what its callers add.
pub fn operations_say_when_they_wait(tree: &Tree) -> Found {
    let mut found = Found::new();
    let operations = |path: &str| path.starts_with(OPERATIONS) && !is_test(path);
    for (path, tokens) in tree.sources().filter(|(path, _)| operations(path)) {
        for place in find(tokens, "impl Device") {
            let body = block(&tokens[place.end..]);
            for at in find(body, "pub").map(|place| place.start) {
                let Some(name) = fallible(&body[at + 1..]) else {
                    continue;
                };
                let before = body[..at].iter().rev();
                let own = before.take_while(|it| !matches!(&*it.text, "{" | "}" | ";"));
                let waits = |it: &Token| it.text.to_ascii_lowercase().contains("wait");
                if !own.into_iter().any(waits) {
                    let what = format!("the docstring of `{name}` must say whether the host waits");
                    found.push((path.to_owned(), body[at].line, what));
                }
            }
        }
    }
    found
}

/// Returns the tokens of the block that `tokens` begin with, or none if they begin with something else.
fn block(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| {
        match &*token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &tokens[..end.unwrap_or_default()]
}

/// Returns the name of the function that follows `pub`, if there is one that returns a `Result`.
fn fallible(tokens: &[Token]) -> Option<String> {
    let text = |at: usize| tokens.get(at).map_or("", |it| &*it.text);
    let keyword = (0..).find(|at| !matches!(text(*at), "async" | "const" | "unsafe"))?;
    if text(keyword) != "fn" {
        return None;
    }
    let (mut depth, mut returns) = (0, false);
    for at in keyword + 1.. {
        match text(at) {
            "" | "{" | ";" => break,
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "Result" => returns |= depth == 0 && text(at - 1) == ">" && text(at - 2) == "-",
            _ => {}
        }
    }
    let name = tokens[keyword + 1..].iter();
    let name = name.take_while(|it| !matches!(&*it.text, "<" | "("));
    returns.then(|| name.map(|it| it.text.as_str()).collect())
}
