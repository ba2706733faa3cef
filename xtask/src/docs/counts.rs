//! `docs/HOW-WE-KNOW.md`, from the record of `cargo xtask counts`.

use super::page;
use crate::Result;

pub const PAGE: &str = "docs/HOW-WE-KNOW.md";
pub const SUFFIX: &str = "-counts.txt";

const INTRODUCTION: &str = "# How we know

Written by `cargo xtask docs` from the record of `cargo xtask counts`, which runs the programs named here and prints what
they count. All of it runs without a GPU, and `cargo test --workspace` holds all of it.

- **Every variant of every family against plain Rust**, in 64 bits or exact, on awkward sizes, parts that are not
  aligned, NaN and zeros of both signs: `warpwright verify`, on any device. On the CPU executor in several orders of
  blocks and lanes, every access followed: [SANITIZER.md](SANITIZER.md).
- **That the sanitizer sees** is shown on planted defects: real kernels with a small change each, which the right check
  has to report at the right line in every order in which it shows, and which are clean without the change.
- **That no failure of the driver is lost**: every driver call of every operation fails once; the operation has to give
  an error that names the call, leak nothing, and work again, or say that the context is lost.
- **What the numbers are worth**: [NUMBERS.md](NUMBERS.md); [ULP.md](ULP.md) has the error of every function for every
  argument, measured on a card and on the CPU.
- **That readers of files survive any bytes**: `cargo xtask fuzz`, and properties in the tests; `cargo xtask asan` runs
  the host crates' unsafe code under AddressSanitizer.
";

/// Returns the page in its correct state.
pub fn page(records: &[(String, String)]) -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    for (path, text) in records {
        page += &section(path, text)?;
    }
    Ok(page)
}

fn section(path: &str, text: &str) -> Result<String> {
    let ([command], lines) = page::head(path, text, "the command")?;
    let mut section = format!("\n## The counts\n\n`{command}`, [record](../{path})\n");
    let mut count = 0;
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(program) = line.strip_prefix("## ") {
            section += &format!("\n### `{program}`\n\n| what | count |\n| --- | ---: |\n");
        } else {
            let row = line.rsplit_once(": ");
            let (what, number) =
                row.ok_or_else(|| format!("{path}: `what: number` required, given `{line}`"))?;
            section += &format!("| {} | {number} |\n", what.trim().replace('_', " "));
            count += 1;
        }
    }
    match count {
        0 => Err(format!("{path}: counts required, found none").into()),
        _ => Ok(section),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_tables() {
        let text = "# cargo xtask counts\n## a-program\ncheck_race: 7\n  not named: 8\n";
        let page = page(&[(
            "benches/record/cpu/x-counts.txt".to_owned(),
            text.to_owned(),
        )])
        .unwrap();
        assert!(page.contains("### `a-program`\n"), "{page}");
        assert!(
            page.contains("| check race | 7 |\n| not named | 8 |\n"),
            "{page}"
        );
        assert!(section("path", "# a\n").is_err());
        assert!(section("path", "# a\nnothing\n").is_err());
        assert!(section("path", "").is_err());
    }
}
