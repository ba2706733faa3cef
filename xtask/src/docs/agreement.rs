//! `docs/COMPUTE-SANITIZER.md`, from the records of runs under compute-sanitizer.
//!
//! `benches/record/<card>/<date>-sanitizer.md` has two lines that begin with `# `, the commands and the card, followed by the
//! output of the bundle's `sanitize.sh` and of `planted-defect compare`.

use super::page;
use crate::Result;

pub const PAGE: &str = "docs/COMPUTE-SANITIZER.md";
pub const SUFFIX: &str = "-sanitizer.md";

const INTRODUCTION: &str = "# Under compute-sanitizer

Written by `cargo xtask docs` from the record of a run on a card: the kernels under each of its tools, and the planted
defects ([SANITIZER.md](SANITIZER.md)) under the tool that looks for what our check looks for. In the unchanged kernels
neither finds anything. Where it is silent on a defect, the defect lies where the tool does not look:

- `racecheck` follows shared memory: races in global memory, such as those between blocks, are not its
  subject, and atomic operations of too narrow a scope or of two widths neither. Of the races in shared memory it was
  silent on three, where one of the accesses is atomic.
- `initcheck` follows global memory: shared memory that nobody wrote is not. What a bulk copy has written there it takes for
  unwritten: it reports each read of the planes of `gemm_best_split` and of the tiles of `gemm_best_tiles`, whose every byte our
  check has seen written.
- `memcheck` knows allocations, our check knows views: an access out of a view that stays within the allocation, or within
  the shared memory that the launch gave, is none to it.
- `synccheck` takes lanes that have left a kernel for lanes that have arrived, as the hardware does; the executor asks
  for every lane of the block. The same goes for the masks of shuffles. An asynchronous copy that is
  never waited for, and a lane that waits for ever, are none of its subjects.
";

/// Returns the page in its correct state.
pub fn page(records: &[(String, String)]) -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    for (path, text) in records {
        let ([commands, card], tables) = page::head(path, text, "the commands, and the card")?;
        if !tables.contains("\n| ") {
            return Err(format!("{path}: a table required, found none").into());
        }
        page += &format!(
            "\n## {card}\n\n`{commands}`, [record](../{path})\n{}\n",
            tables.trim_end()
        );
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_part_of_the_page() {
        let given = |text: &str| page(&[("path".to_owned(), text.to_owned())]);
        let text = given("# a\n# A card\n\n| b |\n| --- |\n").unwrap();
        assert!(
            text.ends_with("## A card\n\n`a`, [record](../path)\n\n| b |\n| --- |\n"),
            "{text}"
        );
        assert!(given("# a\n# A card\nnothing\n").is_err());
        assert!(given("# a\n\n| b |\n").is_err());
    }
}
