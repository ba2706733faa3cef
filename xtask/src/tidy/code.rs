//! Rust text without what is not code.

/// The text with comments and the contents of string and character literals as spaces. Lines stay where
/// they are.
pub fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut kept = vec![b' '; bytes.len()];
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        kept[at] = *byte;
    }
    let mut at = 0;
    while at < bytes.len() {
        let end = match skipped(text, at) {
            Some(end) => end,
            None => {
                kept[at] = bytes[at];
                at + 1
            }
        };
        at = end;
    }
    // Only whole literals and comments were cut out, so this loses nothing.
    String::from_utf8_lossy(&kept).into_owned()
}

/// The numbers of the lines that have `word` with no letter, digit or `_` beside it.
pub fn lines_with_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
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

/// The end of the comment or literal that starts at `at`, if one does.
fn skipped(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    let length = match rest {
        [b'/', b'/', ..] => rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => 1 + quoted(&rest[1..], b'"'),
        [b'r', ..] if starts_word(text, at) => raw_string(rest, 1)?,
        [b'b' | b'c', b'r', ..] if starts_word(text, at) => raw_string(rest, 2)?,
        [b'\'', b'\\', ..] => 1 + quoted(&rest[1..], b'\''),
        // A lifetime has no quote behind its first character.
        [b'\'', ..] => {
            let character = text[at + 1..].chars().next()?.len_utf8();
            (rest.get(1 + character) == Some(&b'\'')).then_some(2 + character)?
        }
        _ => return None,
    };
    Some(at + length)
}

fn starts_word(text: &str, at: usize) -> bool {
    at == 0 || !matches!(text.as_bytes()[at - 1], b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
}

/// The length of a comment that may have others inside.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length up to and with the closing quote.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a raw string whose hash signs or quote come after `prefix` letters.
fn raw_string(rest: &[u8], prefix: usize) -> Option<usize> {
    let hashes = rest[prefix..]
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    let start = prefix + hashes + 1;
    if rest.get(start - 1) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let found = rest[start..]
        .windows(end.len())
        .position(|window| window == end);
    Some(found.map_or(rest.len(), |at| start + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        for (text, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("a\"b", c)"#, "f(      , c)"),
            (r##"f(r#"a"b"#, c)"##, "f(        , c)"),
            ("f(b'x', '\\'', 'é', c)", "f(b   ,     ,     , c)"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("r#type = bar", "r#type = bar"),
            ("var\"x\"", "var   "),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
        // What is never closed ends with the text.
        for text in ["/* a", "\"a\\", "r#\"a\"", "'\\"] {
            assert_eq!(code(text).trim(), "", "{text}");
        }
    }

    #[test]
    fn words_have_ends() {
        let lines = |text| lines_with_word(text, "cust").collect::<Vec<_>>();
        assert_eq!(lines("custom\nuse cust::x;\ncust_raw\n(cust)"), [2, 4]);
        assert_eq!(lines(""), [0_usize; 0]);
    }
}
