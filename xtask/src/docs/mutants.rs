//! The output of `cargo xtask mutants`, in `docs/SANITIZER.md`.

use super::page;
use crate::Result;

/// The page.
pub const PAGE: &str = "docs/SANITIZER.md";
/// The end of the records' names.
pub const SUFFIX: &str = "-mutants.md";
/// The marks around the tables.
const MARKS: [&str; 2] = [
    "<!-- mutants: `cargo xtask docs` writes this -->\n",
    "<!-- end of mutants -->\n",
];

/// Returns the page with the newest record between its marks.
pub fn fill(page: &str, records: &[(String, String)]) -> Result<String> {
    let [(path, text)] = records else {
        let count = records.len();
        return Err(format!("{PAGE}: a record of one machine required, found {count}").into());
    };
    let ([command], tables) = page::head(path, text, "the command")?;
    if !tables.contains("\n| ") {
        return Err(format!("{path}: a table required, found none").into());
    }
    let tables = tables.trim();
    let block = format!("`{command}`, [record](../{path})\n\n{tables}\n");
    page::fill(page, PAGE, MARKS, &block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_what_was_printed() {
        let page = format!("before\n{}old\n{}after\n", MARKS[0], MARKS[1]);
        let given = |text: &str| vec![("benches/record/cpu/a".to_owned(), text.to_owned())];
        let records = given("# a command\n### A\n\n| b |\n| --- |\n");
        let filled = fill(&page, &records).unwrap();
        let expected =
            "`a command`, [record](../benches/record/cpu/a)\n\n### A\n\n| b |\n| --- |\n\n<!-- end";
        assert!(
            filled.contains(expected) && !filled.contains("old"),
            "{filled}"
        );
        assert_eq!(fill(&filled, &records).unwrap(), filled);
        assert!(fill("no marks", &records).is_err());
        assert!(fill(&page, &[]).is_err());
        assert!(fill(&page, &given("# a command\nno table\n")).is_err());
        assert!(fill(&page, &given("no command")).is_err());
    }
}
