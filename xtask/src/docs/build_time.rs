//! The output of `cargo xtask build-time`, in `docs/PERFORMANCE.md`.

use super::page;
use crate::Result;

/// The end of the records' names.
pub const SUFFIX: &str = "-build-time.txt";
/// The marks around the block.
const MARKS: [&str; 2] = [
    "<!-- build-time: `cargo xtask docs` writes this -->\n",
    "<!-- end of build-time -->\n",
];

/// Returns the page with the records between its marks.
pub fn fill(page: &str, name: &str, records: &[(String, String)]) -> Result<String> {
    let mut blocks = Vec::new();
    for (path, text) in records {
        let ([command], text) = page::head(path, text, "the command")?;
        blocks.push(format!(
            "`{command}` ([record](../{path})):\n\n```text\n{text}```\n"
        ));
    }
    if blocks.is_empty() {
        blocks.push("No record yet: `cargo xtask build-time` prints one.\n".to_owned());
    }
    page::fill(page, name, MARKS, &blocks.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_what_was_printed() {
        let page = format!("before\n{}old\n{}after\n", MARKS[0], MARKS[1]);
        let records = [(
            "benches/record/cpu/a".to_owned(),
            "# a command\nsizes\n".to_owned(),
        )];
        let filled = fill(&page, "page", &records).unwrap();
        assert!(filled.contains("`a command` ([record](../benches/record/cpu/a))"));
        assert!(filled.contains("```text\nsizes\n```") && !filled.contains("old"));
        assert_eq!(fill(&filled, "page", &records).unwrap(), filled);
        assert!(fill(&page, "page", &[]).unwrap().contains("No record yet"));
        assert!(fill("no marks", "page", &records).is_err());
    }
}
