//! Splits Rust text into tokens with their lines, to separate code from comments.

use std::ops::Range;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A token. Each bracket is one, and so is each character of an operator.
pub struct Token {
    pub text: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns the tokens of a text. Comments give none; documentation comments are attributes.
///
/// # Errors
/// Returns the line and the reason if the text is not Rust.
pub fn tokens(text: &str) -> Result<Vec<Token>, (usize, String)> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| (error.span().start().line, error.to_string()))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let token = |text: String, span: Span| Token {
        text,
        line: span.start().line,
    };
    for tree in stream {
        let TokenTree::Group(group) = tree else {
            tokens.push(token(tree.to_string(), tree.span()));
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        tokens.push(token(open.to_owned(), group.span_open()));
        flatten(group.stream(), tokens);
        tokens.push(token(close.to_owned(), group.span_close()));
    }
}

/// Returns where a pattern, which must be Rust too, occurs in tokens.
pub fn find<'a>(all: &'a [Token], pattern: &str) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let pattern = tokens(pattern).unwrap_or_default();
    let length = pattern.len();
    (0..(all.len() + 1).saturating_sub(length))
        .map(move |at| at..at + length)
        .filter(move |place| {
            let mut pairs = all[place.clone()].iter().zip(&pattern);
            length > 0 && pairs.all(|(one, other)| one.text == other.text)
        })
}

/// Returns the lines on which a pattern begins.
pub fn lines(tokens: &[Token], pattern: &str) -> Vec<usize> {
    let mut lines: Vec<usize> = find(tokens, pattern)
        .map(|place| tokens[place.start].line)
        .collect();
    lines.dedup();
    lines
}

/// Returns the value of a string literal.
pub fn string(token: Option<&Token>) -> Option<String> {
    let literal: syn::LitStr = syn::parse_str(&token?.text).ok()?;
    Some(literal.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("a\"b", c)"#, r#"f ( "a\"b" , c )"#),
            (r##"f(r#"a"b"#, c)"##, r##"f ( r#"a"b"# , c )"##),
            ("f(b'x', '\\'', 'é', c)", "f ( b'x' , '\\'' , 'é' , c )"),
            ("fn f<'a>(x: &'a str)", "fn f < ' a > ( x : & ' a str )"),
            ("r#type = bar", "r#type = bar"),
            ("/// b\na", "# [ doc = \" b\" ] a"),
        ] {
            let words: Vec<String> = tokens(text)
                .unwrap()
                .into_iter()
                .map(|it| it.text)
                .collect();
            assert_eq!(words.join(" "), expected, "{text}");
        }
        // A bracket or literal that is never closed is not Rust.
        for text in ["/* a", "\"a\\", "r#\"a\"", "'\\", "f(", "a\n)"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_are_found_between_whole_words() {
        let at = |text, pattern| lines(&tokens(text).unwrap(), pattern);
        let text = "custom\nuse cust::x;\ncust_raw // cust\n(cust)\n\"cust\"";
        assert_eq!(at(text, "cust"), [2, 4]);
        assert_eq!(at("a::b; a :: b\n; a::b_c; a\n::b", "a::b"), [1, 2]);
        assert_eq!(at("", "cust"), [0_usize; 0]);
        assert_eq!(at("a", ""), [0_usize; 0]);
        let text = tokens(r##"("a\"b" r#"c"# 1)"##).unwrap();
        let strings: Vec<_> = (0..6).map(|at| string(text.get(at))).collect();
        let [a, b] = ["a\"b", "c"].map(|text| Some(text.to_owned()));
        assert_eq!(strings, [None, a, b, None, None, None]);
    }
}
