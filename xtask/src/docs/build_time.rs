//! What `cargo xtask build-time` printed, in `docs/PERFORMANCE.md`.

use crate::Result;

/// How the names of the records end.
pub const SUFFIX: &str = "-build-time.txt";
/// What the block is between.
const MARKS: [&str; 2] = [
    "<!-- build-time: `cargo xtask docs` writes this -->\n",
    "<!-- end of build-time -->\n",
];

/// The page with the records between its marks.
pub fn fill(page: &str, records: &[(String, String)]) -> Result<String> {
    let [begin, end] = MARKS;
    let parts = page.split_once(begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or("the marks of the build's time required, found none")?;
    let mut block = String::new();
    for (path, text) in records {
        let (command, text) = text
            .strip_prefix("# ")
            .and_then(|text| text.split_once('\n'))
            .ok_or_else(|| format!("{path}: a line with `# ` required: the command"))?;
        block += &format!("`{command}` ([record](../{path})):\n\n```text\n{text}```\n\n");
    }
    if block.is_empty() {
        block += "No record yet: `cargo xtask build-time` prints one.\n\n";
    }
    Ok(format!("{before}{begin}\n{block}{end}{after}"))
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
        let filled = fill(&page, &records).unwrap();
        assert!(filled.contains("`a command` ([record](../benches/record/cpu/a))"));
        assert!(filled.contains("```text\nsizes\n```") && !filled.contains("old"));
        assert_eq!(fill(&filled, &records).unwrap(), filled);
        assert!(fill(&page, &[]).unwrap().contains("No record yet"));
        assert!(fill("no marks", &records).is_err());
    }
}
