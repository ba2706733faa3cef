//! `docs/ULP.md`, from the records of `warpwright ulp`.
//!
//! `benches/record/<device>/<date>-ulp.txt` is the output of `warpwright ulp --full` on that device, below two lines that begin
//! with `#`: the command, and the device.

use super::page;
use crate::Result;

pub const PAGE: &str = "docs/ULP.md";
pub const SUFFIX: &str = "-ulp.txt";

const INTRODUCTION: &str = "# The errors of the device functions of `f32`\n\nWritten by `cargo xtask docs` \
    from the records that `warpwright ulp --full` printed: each function of one argument\nwas called for every \
    one of the 2^32, each of two for 2^28 pairs, and compared with the function of `f64`. An `ulp` is a\nunit in \
    the last place of the exact result, 2^-149 where that is subnormal. The bounds are in the functions' \
    documentation;\nthe command fails where one does not hold. On a CUDA device it also compares every bit of \
    the `accurate` functions with\nthe CPU's. The CPU bodies of the `approx` functions are roundings of \
    `f64` functions, so their errors on the CPU say\nnothing of the hardware's.\n";

/// Returns the page in its correct state.
pub fn page(records: &[(String, String)]) -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    for (path, text) in records {
        page += &section(path, text)?;
    }
    Ok(page)
}

/// Returns the tables of one record, without the bounds documented on the day of the run, which may have changed.
fn section(path: &str, text: &str) -> Result<String> {
    let ([command, device], text) = page::head(path, text, "the command, and the device")?;
    let mut section = format!(
        "\n## {device}\n\n`{command}`, [record](../{path})\n\n\
         | function | arguments | measured | largest error |\n| --- | --- | ---: | ---: |\n"
    );
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [function, arguments, measured, error, _] = cells[..] else {
            return Err(format!("{path}: a row of five cells required, given `{row}`").into());
        };
        section += &format!("| {function} | {arguments} | {measured} | {error} |\n");
        count += 1;
    }
    match count {
        0 => Err(format!("{path}: a table of functions required, found none").into()),
        _ => Ok(section),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_a_table() {
        let text = "# warpwright ulp\n# A card, a date\n| function | arguments | measured | largest error | \
                    stated bound |\n| --- | --- | --- | --- | --- |\n| `sin` | all | 16 | 0.8 ulp | 1.0 ulp |\n\
                    on cuda:0 in 1 s\n";
        let page = page(&[("benches/record/a/b-ulp.txt".to_owned(), text.to_owned())]).unwrap();
        assert!(page.contains("## A card, a date\n"), "{page}");
        assert!(
            page.contains("\n| `sin` | all | 16 | 0.8 ulp |\n"),
            "{page}"
        );
        assert!(!page.contains("1.0 ulp"), "{page}");
        let given = |text: &str| section("path", text).unwrap_err().to_string();
        assert!(given("# a\n").contains("two lines"));
        assert!(given("# a\n# b\n").contains("found none"));
        assert!(given("# a\n# b\n| `sin` | all |\n").contains("five cells"));
    }
}
