//! `lines`: counts the lines of code of each crate, now and at another commit.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use fs_err as fs;

use crate::{Result, command, project, tidy::code};

/// What to count.
#[derive(clap::Args)]
pub struct Arguments {
    /// Another commit, to compare with.
    #[arg(value_name = "COMMIT")]
    commit: Option<String>,
}

/// The number of lines on which code begins, by the crate's folder. Blank lines, comments and documentation do not count.
type Lines = BTreeMap<String, usize>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut git = Command::new("git");
    // New files too, unless git ignores them.
    let options = ["ls-files", "--cached", "--others", "--exclude-standard"];
    git.current_dir(project::root()).args(options).arg("*.rs");
    let names = command::bytes("lines", &mut git)?;
    let mut files = Vec::new();
    for name in String::from_utf8_lossy(&names).lines() {
        let path = project::root().join(name);
        if path.is_file() {
            files.push((name.to_owned(), fs::read_to_string(path)?));
        }
    }
    let now = count(&files);
    let then = match &arguments.commit {
        None => None,
        Some(commit) => Some(count(&at(commit)?)),
    };
    print!("{}", table(&now, then.as_ref()));
    Ok(())
}

/// Returns the Rust files of a commit.
fn at(commit: &str) -> Result<Vec<(String, String)>> {
    let mut git = Command::new("git");
    git.current_dir(project::root())
        .args(["archive", "--format=tar", commit, "--", "*.rs"]);
    let archive = command::bytes("lines", &mut git)?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(&*archive).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if entry.header().entry_type().is_file() {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut entry, &mut text)?;
            files.push((name, text));
        }
    }
    Ok(files)
}

fn count(files: &[(String, String)]) -> Lines {
    let mut lines = Lines::new();
    for (name, text) in files {
        let folder = name.split('/').next().unwrap_or_default();
        *lines.entry(folder.to_owned()).or_default() += code_lines(text);
    }
    lines
}

/// Returns the number of lines on which a token begins that is not a comment. For text that is not Rust, all non-blank lines
/// count.
fn code_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_comment = |line: &str| line.starts_with("//");
    let Ok(tokens) = code::tokens(text) else {
        let lines = lines.iter().map(|line| line.trim());
        return lines
            .filter(|line| !line.is_empty() && !is_comment(line))
            .count();
    };
    let with_tokens: BTreeSet<usize> = tokens.iter().map(|token| token.line).collect();
    let line = |number: &usize| lines.get(number - 1).map_or("", |line| line.trim());
    let code = with_tokens.iter().map(line);
    code.filter(|line| !is_comment(line)).count()
}

/// Returns a table with a line for each folder, and one for the total.
fn table(now: &Lines, then: Option<&Lines>) -> String {
    let folders: BTreeSet<&String> = now
        .keys()
        .chain(then.into_iter().flatten().map(|it| it.0))
        .collect();
    let of = |lines: &Lines, folder: &str| lines.get(folder).copied().unwrap_or(0);
    let mut rows: Vec<(&str, usize, Option<usize>)> = folders
        .into_iter()
        .map(|folder| {
            (
                folder.as_str(),
                of(now, folder),
                then.map(|then| of(then, folder)),
            )
        })
        .collect();
    let all = now.values().sum();
    rows.push(("all", all, then.map(|then| then.values().sum())));
    let mut text = String::new();
    for (folder, now, then) in rows {
        text += &match then {
            None => format!("{folder:12} {now:>7}\n"),
            Some(0) => format!("{folder:12} {:>7} {now:>7}     new\n", 0),
            Some(then) => {
                let percent = 100.0 * now as f64 / then as f64;
                format!("{folder:12} {then:>7} {now:>7} {percent:>6.1}%\n")
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let text = "//! Page.\n\n/// Doc.\nfn f() { // why\n    /* a\n       b */\n    g(\n        1,\n    );\n}\n";
        assert_eq!(code_lines(text), 5);
        assert_eq!(code_lines("// a\n\n{ never closed\n"), 1);
    }

    #[test]
    fn two_counts_stand_side_by_side() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let then = count(&[
            file("a/src/lib.rs", "fn f() {}\nfn g() {}\n"),
            file("old/x.rs", "fn f() {}"),
        ]);
        let now = count(&[
            file("a/src/lib.rs", "fn f() {}\n"),
            file("b/x.rs", "fn f() {}"),
        ]);
        assert_eq!(
            table(&now, Some(&then)),
            "a                  2       1   50.0%\n\
             b                  0       1     new\n\
             old                1       0    0.0%\n\
             all                3       2   66.7%\n"
        );
        assert_eq!(
            table(&now, None),
            "a                  1\nb                  1\nall                2\n"
        );
    }
}
