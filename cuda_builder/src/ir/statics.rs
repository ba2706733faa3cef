//! Puts statics into shared or constant memory.
//!
//! The compiler puts every static into global memory. This pass gives an address space to the statics of `cuda_std`'s
//! sections and, with [`use_constant_memory_space`](crate::CudaBuilder::use_constant_memory_space), to every table that no
//! code writes. Their uses get a generic pointer, from which `opt` infers the address space.

use std::collections::BTreeMap;

use super::symbol;
use crate::CudaBuilderError;

const SHARED: &str = ", section \".cuda_std.shared\"";
const CONSTANT: &str = ", section \".cuda_std.constant\"";
/// The size of a module's constant memory.
const CONSTANT_BYTES: u64 = 64 * 1024;

/// Returns the IR with these statics in their address spaces. The text is unchanged if there are none.
pub(crate) fn place(ir: &str, constants: bool) -> Result<String, CudaBuilderError> {
    let mut spaces: BTreeMap<&str, u32> = BTreeMap::new();
    let mut bytes = 0;
    for line in ir.lines() {
        let Some((name, rest)) = line.strip_prefix('@').map(symbol) else {
            continue;
        };
        if line.contains(SHARED) {
            let value = line.split(SHARED).next().unwrap_or_default();
            if !value.ends_with(" undef") && !value.ends_with(" poison") {
                return Err(CudaBuilderError::Modules(format!(
                    "static `{name}` in shared memory: a value of `MaybeUninit::uninit()` required, given another"
                )));
            }
            spaces.insert(name, 3);
        } else if line.contains(CONSTANT) || (constants && is_table(name, rest)) {
            let size = size_of_definition(rest);
            bytes += size;
            if bytes > CONSTANT_BYTES {
                return Err(CudaBuilderError::Modules(format!(
                    "constant memory: statics of {CONSTANT_BYTES} bytes in all at most required, given {bytes} with \
                     `{name}` of {size}"
                )));
            }
            spaces.insert(name, 4);
        }
    }
    if spaces.is_empty() {
        return Ok(ir.to_owned());
    }
    let mut text = String::with_capacity(ir.len());
    for line in ir.lines() {
        let definition = line.strip_prefix('@').map(symbol);
        let space = definition.and_then(|(name, rest)| Some((rest, *spaces.get(name)?)));
        match space {
            Some((rest, space)) => {
                let head = &line[..line.len() - rest.len()];
                text.push_str(head);
                text.push_str(&uses(&defined_in(rest, space), &spaces));
            }
            None => text.push_str(&uses(line, &spaces)),
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns whether this is the definition of a Rust static that no code writes.
fn is_table(name: &str, rest: &str) -> bool {
    name.starts_with("_R")
        && rest.contains(" constant ")
        && !rest.contains(" global ")
        && !rest.starts_with(" = external")
}

/// Returns a definition without its section, in an address space.
fn defined_in(rest: &str, space: u32) -> String {
    let rest = rest.replace(SHARED, "").replace(CONSTANT, "");
    let words = [" global ", " constant "];
    let at = words.iter().filter_map(|word| rest.find(word)).min();
    let at = at.unwrap_or(rest.len());
    format!("{} addrspace({space}){}", &rest[..at], &rest[at..])
}

/// Returns a line with generic pointers in place of the statics.
fn uses(line: &str, spaces: &BTreeMap<&str, u32>) -> String {
    const POINTER: &str = "ptr @";
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(POINTER) {
        let start = at + POINTER.len();
        let (name, after) = symbol(&rest[start..]);
        text.push_str(&rest[..at]);
        match spaces.get(name) {
            Some(space) => {
                let named = &rest[start - 1..rest.len() - after.len()];
                text += &format!("ptr addrspacecast (ptr addrspace({space}) {named} to ptr)");
            }
            None => text.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
    }
    text + rest
}

/// Returns the size of a definition's type in bytes.
fn size_of_definition(rest: &str) -> u64 {
    let words = [" global ", " constant "];
    let found = words
        .iter()
        .filter_map(|word| rest.find(word).map(|at| at + word.len()));
    found.min().map_or(0, |at| size_of_type(&rest[at..]).0)
}

/// Returns the size in bytes of the type that the text starts with, and the text after it. The types that rustc writes for
/// statics are packed.
fn size_of_type(text: &str) -> (u64, &str) {
    let number = |text: &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        (text[..end].parse::<u64>().unwrap_or(0), end)
    };
    if let Some(inner) = text.strip_prefix('[') {
        let (count, end) = number(inner);
        let (size, rest) = size_of_type(inner[end..].strip_prefix(" x ").unwrap_or_default());
        return (
            count.saturating_mul(size),
            rest.strip_prefix(']').unwrap_or(rest),
        );
    }
    for (open, close) in [("<{ ", " }>"), ("{ ", " }")] {
        if let Some(mut rest) = text.strip_prefix(open) {
            let mut sum = 0_u64;
            while !rest.starts_with(close) && !rest.is_empty() {
                let (size, after) = size_of_type(rest);
                sum = sum.saturating_add(size);
                match after.strip_prefix(", ") {
                    Some(next) => rest = next,
                    None => {
                        rest = after;
                        break;
                    }
                }
            }
            return (sum, rest.strip_prefix(close).unwrap_or(rest));
        }
    }
    if let Some(bits) = text.strip_prefix('i') {
        let (bits, end) = number(bits);
        return (bits.div_ceil(8), &text[1 + end..]);
    }
    for (name, size) in [("ptr", 8), ("float", 4), ("double", 8)] {
        if let Some(rest) = text.strip_prefix(name) {
            return (size, rest);
        }
    }
    (0, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: &str = "@_RNvNvCs_1k3fun4TILE = internal global [64 x i8] undef, section \".cuda_std.shared\", align 4";

    #[test]
    fn a_static_of_the_shared_section_gets_the_address_space() {
        let text = format!(
            "{TILE}\n  store i32 1, ptr @_RNvNvCs_1k3fun4TILE, align 4\n  call void @f(ptr @other)\n"
        );
        let expected = "@_RNvNvCs_1k3fun4TILE = internal addrspace(3) global [64 x i8] undef, align 4\n  \
             store i32 1, ptr addrspacecast (ptr addrspace(3) @_RNvNvCs_1k3fun4TILE to ptr), align 4\n  \
             call void @f(ptr @other)\n";
        assert_eq!(place(&text, false).unwrap(), expected);
    }

    #[test]
    fn shared_memory_with_a_first_value_is_refused() {
        let text = TILE.replace("undef", "zeroinitializer");
        let error = place(&text, false).unwrap_err().to_string();
        assert!(
            error.contains("`MaybeUninit::uninit()` required"),
            "{error}"
        );
    }

    #[test]
    fn tables_go_to_constant_memory_where_asked_for() {
        let text = "@_RNvCs_1k5TABLE = internal unnamed_addr constant <{ [8 x i8], ptr }> <{ [8 x i8] c\"abcdefgh\", ptr @x }>\n";
        assert_eq!(place(text, false).unwrap(), text);
        let placed = place(text, true).unwrap();
        assert!(
            placed.contains("internal unnamed_addr addrspace(4) constant <{ [8 x i8]"),
            "{placed}"
        );
        let marked = text.replace(" }>\n", " }>, section \".cuda_std.constant\"\n");
        assert_eq!(place(&marked, false).unwrap(), placed);
    }

    #[test]
    fn more_than_64_kib_of_constant_memory_is_refused() {
        let table = |name: &str| {
            format!("@_R{name} = internal constant <{{ [35840 x i8] }}> zeroinitializer, align 4\n")
        };
        assert!(place(&table("a"), true).is_ok());
        let error = place(&(table("a") + &table("b")), true)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "constant memory: statics of 65536 bytes in all at most required, given 71680 with `_Rb` of 35840"
        );
    }

    #[test]
    fn sizes_of_types_are_those_of_what_is_packed() {
        for (text, size) in [
            ("[3 x i16] x", 6),
            ("<{ i32, [2 x <{ i8, ptr }>], double }> y", 30),
            ("i1 true", 1),
            ("{ } z", 0),
        ] {
            assert_eq!(size_of_type(text).0, size, "{text}");
        }
    }
}
