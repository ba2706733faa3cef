//! Makes names in the PTX independent of the compiler's build.
//!
//! The mangled name of a function contains a hash that distinguishes crates of the same name, `Cs<hash>_` before the
//! crate's name. The hash differs between two builds of the same compiler version. If only one crate has the name, which is
//! nearly always so, the hash is redundant.

use std::collections::BTreeMap;

/// Replaces the hash by an empty one wherever a crate's name has only one hash in the text.
pub(crate) fn canonical(ir: &str) -> String {
    let mut hashes: BTreeMap<&str, &str> = BTreeMap::new();
    let mut ambiguous = Vec::new();
    for found in crate_names(ir) {
        let known = hashes.entry(found.name).or_insert(found.hash);
        if *known != found.hash {
            ambiguous.push(found.name);
        }
    }
    let mut text = String::with_capacity(ir.len());
    let mut copied = 0;
    for found in crate_names(ir) {
        if !ambiguous.contains(&found.name) {
            text.push_str(&ir[copied..found.hash_start]);
            copied = found.hash_start + found.hash.len();
        }
    }
    text.push_str(&ir[copied..]);
    text
}

struct CrateName<'a> {
    name: &'a str,
    hash: &'a str,
    hash_start: usize,
}

/// Returns every crate name with a hash in the mangled names of `text`, in order.
fn crate_names(text: &str) -> impl Iterator<Item = CrateName<'_>> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut at = 0;
    let symbols = std::iter::from_fn(move || {
        while let Some(offset) = text[at..].find("_R") {
            let start = at + offset;
            let end = text[start..]
                .find(|c| !word(c))
                .map_or(text.len(), |len| start + len);
            at = end;
            if !text[..start].ends_with(word) {
                return Some((start, &text[start..end]));
            }
        }
        None
    });
    symbols.flat_map(|(start, symbol)| {
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(offset) = symbol[at..].find("Cs") {
                at += offset + "Cs".len();
                if let Some(found) = crate_name(symbol, start, at) {
                    // A hash may contain `Cs`, and so may a name.
                    at = found.hash_start - start + found.hash.len();
                    at += symbol[at..].find(found.name).unwrap_or(0) + found.name.len();
                    return Some(found);
                }
            }
            None
        })
    })
}

/// Parses `<hash>_<length>[_]<name>` at `offset` of a symbol that starts at `start` of the text.
fn crate_name(symbol: &str, start: usize, offset: usize) -> Option<CrateName<'_>> {
    let (hash, rest) = symbol[offset..].split_once('_')?;
    if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest[..digits].parse().ok()?;
    let name = rest[digits..].strip_prefix('_').unwrap_or(&rest[digits..]);
    Some(CrateName {
        name: name.get(..length)?,
        hash,
        hash_start: start + offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_crates_go() {
        let one = "call @_RNvNtCsgk24vKHKQ2A_7kernels6helper3sum(ptr @_RNvCs1x_4core1y)";
        let other = "call @_RNvNtCsbzsLXWCmwnR_7kernels6helper3sum(ptr @_RNvCs9_4core1y)";
        let expected = "call @_RNvNtCs_7kernels6helper3sum(ptr @_RNvCs_4core1y)";
        assert_eq!(canonical(one), expected);
        assert_eq!(canonical(other), expected);
    }

    #[test]
    fn two_crates_of_one_name_stay_apart() {
        let text = "@_RNvCsaa_4dual1f @_RNvCsbb_4dual1f @_RNvCscc_3one1f";
        assert_eq!(
            canonical(text),
            "@_RNvCsaa_4dual1f @_RNvCsbb_4dual1f @_RNvCs_3one1f"
        );
    }

    #[test]
    fn a_hash_or_a_name_that_holds_the_mark_itself_is_read_once() {
        let text = "@_RNvNtCskCs1xCs2_7kernels6helper3sum @_RNvCs9_7Cs1_4abc1f";
        let expected = "@_RNvNtCs_7kernels6helper3sum @_RNvCs_7Cs1_4abc1f";
        assert_eq!(canonical(text), expected);
    }

    #[test]
    fn several_crates_in_one_symbol() {
        let text = "@_RINvCsaa_4core3fooNtCsbb_7kernels1SE";
        assert_eq!(canonical(text), "@_RINvCs_4core3fooNtCs_7kernels1SE");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "@Cs1_4core",
            "x_RNvCs1_4core1f",
            "@_RNvCs1_99core",
            "@_RNvCsé_4core",
        ] {
            assert_eq!(canonical(text), text);
        }
    }
}
