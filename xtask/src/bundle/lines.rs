//! Rewrites the source lines in PTX for readers of a kernel.
//!
//! The compiler gives each instruction the line of the innermost inlined function. For a load or store that is always the same
//! line of the device library. This module replaces it by the innermost line in the kernels' own sources, which it finds in the
//! compiler's comment after each `.loc` with the whole chain of calls.

use std::collections::BTreeMap;

/// The folder of the kernels' sources, from the root of the workspace.
const KERNELS: &str = "gpu/src/";

/// Returns the text with its lines rewritten. The sections and the mark of debug information are removed, because they keep the
/// assembler from optimizing.
pub fn told_in_kernels(ptx: &str) -> String {
    let mut files: BTreeMap<String, usize> = ptx.lines().filter_map(file).collect();
    let known = files.len();
    let mut next = files.values().max().map_or(1, |last| last + 1);
    let mut text = String::with_capacity(ptx.len());
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        if line.starts_with(".target") {
            text += &line.replace(", debug", "");
        } else if line.trim_start().starts_with(".section") && line.contains(".debug") {
            let mut last = Some(line);
            while last.is_some_and(|line| !line.trim_end().ends_with('}')) {
                last = lines.next();
            }
            continue;
        } else if let Some((path, line, column)) = place(line) {
            let number = *files.entry(path.to_owned()).or_insert_with(|| {
                next += 1;
                next - 1
            });
            text += &format!("\t.loc\t{number} {line} {column}");
        } else {
            text += line;
        }
        text.push('\n');
    }
    if files.len() > known {
        let last = next - (files.len() - known);
        let mut added: Vec<_> = files
            .iter()
            .filter(|(_, number)| **number >= last)
            .collect();
        added.sort_by_key(|(_, number)| **number);
        for (path, number) in added {
            text += &format!("\t.file\t{number} \"{path}\"\n");
        }
    }
    text
}

/// Returns the path, as comments have it, and the number of a line such as `.file 3 "./gpu/src/sum.rs"`.
fn file(line: &str) -> Option<(String, usize)> {
    let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(' ')?;
    let path = path.trim().trim_matches('"');
    Some((
        path.strip_prefix("./").unwrap_or(path).to_owned(),
        number.parse().ok()?,
    ))
}

/// Returns the innermost place in the kernels' sources of a line such as `.loc 7 9 5 // core/src/ptr.rs:9:5 @[
/// gpu/src/sum.rs:12:3 @[ gpu/src/sum.rs:4:1 ] ]`.
fn place(line: &str) -> Option<(&str, &str, &str)> {
    let comment = line.trim_start().strip_prefix(".loc")?.split_once("// ")?.1;
    comment
        .split(" @[ ")
        .map(|place| place.trim_end_matches([' ', ']']))
        .find_map(|place| {
            let (rest, column) = place.rsplit_once(':')?;
            let (path, line) = rest.rsplit_once(':')?;
            // Line 0 is code that the compiler added.
            (path.starts_with(KERNELS) && line != "0").then_some((path, line, column))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_line_of_the_kernels_is_told() {
        let ptx = "\
.target sm_75, debug
.visible .entry a()
{
\t.loc\t1 9 5                  // core/src/ptr.rs:9:5 @[ cuda_std/src/view.rs:3:1 @[ gpu/src/a.rs:12:3 @[ gpu/src/a.rs:4:1 ] ] ]
\tld.global.b32 \t%r1, [%rd1];
\t.loc\t1 8 5                  // core/src/ptr.rs:8:5 @[ gpu/src/b.rs:7:2 @[ gpu/src/a.rs:12:3 ] ]
\t.loc\t1 1 0                  // core/src/ptr.rs:1:0
\t.loc\t2 0 3                  // gpu/src/a.rs:0:3 @[ gpu/src/c.rs:5:5 ]
\tret;
}
\t.file\t1 \"/rust/library/core/src/ptr.rs\"
\t.file\t2 \"./gpu/src/a.rs\"
\t.section\t.debug_info
\t{
.b64 $L__func_begin0
\t}
\t.section\t.debug_macinfo\t{\t}
";
        let expected = "\
.target sm_75
.visible .entry a()
{
\t.loc\t2 12 3
\tld.global.b32 \t%r1, [%rd1];
\t.loc\t3 7 2
\t.loc\t1 1 0                  // core/src/ptr.rs:1:0
\t.loc\t4 5 5
\tret;
}
\t.file\t1 \"/rust/library/core/src/ptr.rs\"
\t.file\t2 \"./gpu/src/a.rs\"
\t.file\t3 \"gpu/src/b.rs\"
\t.file\t4 \"gpu/src/c.rs\"
";
        assert_eq!(told_in_kernels(ptx), expected);
    }

    #[test]
    fn text_without_lines_stays() {
        let ptx = ".version 7.0\n.target sm_80\n.visible .entry a()\n{\n\tret;\n}\n";
        assert_eq!(told_in_kernels(ptx), ptx);
    }
}
