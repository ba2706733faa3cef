//! The common parts of pages: the heads of records, and blocks between marks.

use crate::Result;

/// Returns the first lines of a record, which begin with `# `, and the rest. `what` names the lines in errors.
pub fn head<'a, const N: usize>(
    path: &str,
    text: &'a str,
    what: &str,
) -> Result<([&'a str; N], &'a str)> {
    let mut rest = text;
    let mut notes = [""; N];
    for note in &mut notes {
        let line = rest.strip_prefix("# ").and_then(|it| it.split_once('\n'));
        (*note, rest) = line.ok_or_else(|| {
            let lines = if N == 1 { "a line" } else { "two lines" };
            format!("{path}: {lines} with `# ` required: {what}")
        })?;
    }
    Ok((notes, rest))
}

/// Returns the page with a block between its marks, which are lines.
pub fn fill(page: &str, name: &str, marks: [&str; 2], block: &str) -> Result<String> {
    let parts = page.split_once(marks[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(marks[1])?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| {
        format!(
            "{name}: the marks `{}` required, found none",
            marks[0].trim()
        )
    })?;
    let [begin, end] = marks;
    Ok(format!("{before}{begin}\n{block}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_blocks_are_whole_or_an_error() {
        assert_eq!(
            head("p", "# a\n# b\nc\n", "d").unwrap(),
            (["a", "b"], "c\n")
        );
        assert_eq!(
            head("p", "# a\n# b\nc\n", "d").unwrap(),
            (["a"], "# b\nc\n")
        );
        let given = |text| head::<2>("p", text, "d").unwrap_err().to_string();
        assert_eq!(given("# a\nb\n# c\n"), "p: two lines with `# ` required: d");
        assert_eq!(given(""), "p: two lines with `# ` required: d");

        let page = fill("1\n[\nold\n]\n2\n", "p", ["[\n", "]\n"], "new\n").unwrap();
        assert_eq!(page, "1\n[\n\nnew\n\n]\n2\n");
        for (page, marks) in [("]\n[\n", ["[\n", "]\n"]), ("[\n", ["[\n", "]\n"])] {
            let error = fill(page, "p", marks, "").unwrap_err().to_string();
            assert_eq!(error, "p: the marks `[` required, found none");
        }
    }
}
