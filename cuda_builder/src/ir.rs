//! Reads and changes the textual LLVM IR of the linked crates.
//!
//! Only six forms of top-level lines matter: definitions of kernels, launch bounds statics, statics that name externally
//! visible items, the lists of used symbols, other statics that the host may look up by name, and groups of attributes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::module::EntryPoint;
use crate::{CudaBuilderError, NvvmArch};

const LAUNCH_BOUNDS: &str = "__launch_bounds__";
/// The prefix of the name of a static that names an externally visible item.
const VISIBLE: &str = "__externally_visible__";
/// The maximum number of threads of a block, on every architecture.
const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The maximum number of blocks of a cluster on every architecture that has clusters.
const MAX_BLOCKS_PER_CLUSTER: u64 = 8;

/// The IR with launch bounds moved from statics to attributes and all functions for one architecture, and the items that it
/// defines for the host.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The changed IR.
    pub(crate) text: String,
    /// Every kernel, ordered by name.
    pub(crate) entries: Vec<EntryPoint>,
    /// The statics with unmangled names, ordered by name. The host may look them up in the module.
    pub(crate) statics: Vec<String>,
    /// The items that stay visible even if no kernel uses them, ordered by name.
    pub(crate) visible: Vec<String>,
}

/// Reads the kernels, their launch bounds and the statics. Writes the bounds to the kernels and the architecture to all
/// functions. The functions of `core` were compiled without an architecture, and LLVM only inlines a function into one of
/// its own architecture.
pub(crate) fn prepare(ir: &str, arch: NvvmArch) -> Result<Prepared, CudaBuilderError> {
    let mut bounds = BTreeMap::new();
    let mut names = Vec::new();
    let mut statics = Vec::new();
    let mut visible = Vec::new();
    for line in ir.lines() {
        if let Some(name) = marked(line, VISIBLE) {
            visible.push(name.to_owned());
        } else if let Some(name) = kernel_name(line) {
            names.push(name.to_owned());
        } else if let Some(entry) = marked(line, LAUNCH_BOUNDS) {
            let value = launch_bounds_value(line).ok_or_else(|| {
                CudaBuilderError::Modules(format!(
                    "launch bounds of `{entry}`: a static of type [u32; 5] required, given `{line}`"
                ))
            })?;
            bounds.insert(entry.to_owned(), value);
        } else if let Some(name) = exported_static(line) {
            statics.push(name.to_owned());
        }
    }
    names.sort_unstable();
    statics.sort_unstable();
    visible.sort_unstable();
    let entries = entry_points(names, bounds, arch)?;

    let mut text = String::with_capacity(ir.len());
    for line in ir.lines() {
        if [LAUNCH_BOUNDS, VISIBLE]
            .iter()
            .any(|mark| marked(line, mark).is_some())
        {
            continue;
        }
        if line.starts_with("@llvm.used = ") || line.starts_with("@llvm.compiler.used = ") {
            match without_marks(line) {
                Some(rest) => text.push_str(&rest),
                None => continue,
            }
        } else if let Some(name) = kernel_name(line) {
            let found = entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
            let entry = found.ok().map(|index| &entries[index]);
            text.push_str(&entry.map_or_else(|| line.to_owned(), |entry| with_bounds(line, entry)));
        } else if let Some(group) = line.strip_prefix("attributes #") {
            text.push_str("attributes #");
            text.push_str(&with_architecture(group, arch));
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    Ok(Prepared {
        text,
        entries,
        statics,
        visible,
    })
}

fn entry_points(
    names: Vec<String>,
    mut bounds: BTreeMap<String, [u32; 5]>,
    arch: NvvmArch,
) -> Result<Vec<EntryPoint>, CudaBuilderError> {
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let [max_threads, min_blocks, x, y, z] = bounds.remove(&name).unwrap_or([0, 0, 1, 1, 1]);
        if max_threads > MAX_THREADS_PER_BLOCK {
            return Err(CudaBuilderError::Modules(format!(
                "launch bounds of `{name}`: at most {MAX_THREADS_PER_BLOCK} threads per block \
                 required, given {max_threads}"
            )));
        }
        if max_threads == 0 && min_blocks > 0 {
            return Err(CudaBuilderError::Modules(format!(
                "launch bounds of `{name}`: a maximum of threads per block required where a minimum \
                 of blocks is given, given 0 threads and {min_blocks} blocks"
            )));
        }
        let cluster = [x, y, z];
        let blocks = cluster
            .iter()
            .fold(1_u64, |all, size| all.saturating_mul((*size).into()));
        if !(1..=MAX_BLOCKS_PER_CLUSTER).contains(&blocks) {
            return Err(CudaBuilderError::Modules(format!(
                "cluster of `{name}`: 1 to {MAX_BLOCKS_PER_CLUSTER} blocks required, given {cluster:?}"
            )));
        }
        if blocks > 1 && arch.parts().0 < 90 {
            return Err(CudaBuilderError::Modules(format!(
                "cluster of `{name}`: an architecture from sm_90 on required, given {arch}"
            )));
        }
        entries.push(EntryPoint {
            name,
            max_threads,
            min_blocks,
            cluster,
        });
    }
    match bounds.keys().next() {
        None => Ok(entries),
        Some(name) => Err(CudaBuilderError::Modules(format!(
            "launch bounds of `{name}`: a kernel of that name required, given none"
        ))),
    }
}

/// Returns the name of the kernel whose definition starts in `line`.
fn kernel_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("define ")?;
    let at = rest.find('@')?;
    rest[..at]
        .contains("ptx_kernel ")
        .then(|| symbol(&rest[at + 1..]).0)
}

/// Splits a text after the symbol's name that it starts with, which may be quoted.
fn symbol(text: &str) -> (&str, &str) {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some(end) = quoted.find('"')
    {
        return (&quoted[..end], &quoted[end + 1..]);
    }
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
    text.split_at(text.find(|c| !part_of_name(c)).unwrap_or(text.len()))
}

/// Returns the rest of the name of the static that the line defines, if the name starts with `mark`.
fn marked<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (name, rest) = symbol(line.strip_prefix('@')?);
    rest.starts_with(" = ")
        .then(|| name.strip_prefix(mark))
        .flatten()
}

/// Returns the values of a launch bounds static, in any of the forms that LLVM prints.
fn launch_bounds_value(line: &str) -> Option<[u32; 5]> {
    let value = line
        .split_once("constant ")
        .or_else(|| line.split_once("global "))?
        .1;
    let numbers: Vec<u32> = if let Some(text) = value.strip_prefix("[20 x i8] c\"") {
        let bytes = string_bytes(text)?;
        let words = bytes.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    } else {
        let inner = value.strip_prefix("[5 x i32] [")?.split_once(']')?.0;
        let numbers = inner.split(", ");
        let number = |part: &str| part.strip_prefix("i32 ")?.parse().ok();
        numbers.map(number).collect::<Option<_>>()?
    };
    numbers.try_into().ok()
}

/// Returns the bytes of LLVM's `c"..."` up to the closing quote. `\xx` is a byte in hexadecimal.
fn string_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [b'"', ..] => return Some(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                rest = tail;
            }
            [b'\\', high, low, tail @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = tail;
            }
            [byte, tail @ ..] => {
                bytes.push(*byte);
                rest = tail;
            }
            [] => return None,
        }
    }
}

/// Returns the name of a static that is defined in this line and visible by an unmangled name.
fn exported_static(line: &str) -> Option<&str> {
    let (name, rest) = symbol(line.strip_prefix('@')?);
    let rest = rest.strip_prefix(" = ")?;
    let mangled = ["_R", "_ZN", "llvm.", "anon.", "alloc_"]
        .iter()
        .any(|p| name.starts_with(p));
    if mangled {
        return None;
    }
    for word in rest.split(' ') {
        match word {
            "global" | "constant" => return Some(name),
            "local_unnamed_addr" | "unnamed_addr" | "dso_local" | "externally_initialized" => {}
            _ if word.starts_with("addrspace(") || word.starts_with("thread_local") => {}
            // Any other word is a linkage (private, internal, external, ...), a visibility or an alias.
            _ => return None,
        }
    }
    None
}

/// Returns a list of used symbols without the marker statics, or `None` if it would be empty.
fn without_marks(line: &str) -> Option<String> {
    let (head, rest) = line.split_once(" [ptr ")?;
    let (list, tail) = rest.split_once(']')?;
    let kept: Vec<&str> = list
        .split(", ")
        .map(|item| item.strip_prefix("ptr ").unwrap_or(item))
        .filter(|item| {
            let name = item.trim_start_matches(['@', '"']);
            !name.starts_with(LAUNCH_BOUNDS) && !name.starts_with(VISIBLE)
        })
        .collect();
    if kept.is_empty() {
        return None;
    }
    let (before, _) = head.rsplit_once('[')?;
    let items: Vec<String> = kept.iter().map(|item| format!("ptr {item}")).collect();
    Some(format!(
        "{before}[{} x ptr] [{}]{tail}",
        kept.len(),
        items.join(", ")
    ))
}

/// Returns the first line of a kernel's definition with its launch bounds as attributes. `llc` writes them as `.maxntid`,
/// `.minnctapersm` and `.reqnctapercluster`, and `opt` derives the range of the thread indices.
fn with_bounds(line: &str, entry: &EntryPoint) -> String {
    let blocks = entry.cluster != [1; 3];
    if entry.max_threads == 0 && !blocks {
        return line.to_owned();
    }
    let Some(end) = end_of_parameters(line) else {
        return line.to_owned();
    };
    let mut at = end;
    for word in [" local_unnamed_addr", " unnamed_addr"] {
        if line[at..].starts_with(word) {
            at += word.len();
        }
    }
    let mut attributes = String::new();
    if entry.max_threads > 0 {
        attributes += &format!(" \"nvvm.maxntid\"=\"{},1,1\"", entry.max_threads);
    }
    if entry.min_blocks > 0 {
        attributes += &format!(" \"nvvm.minctasm\"=\"{}\"", entry.min_blocks);
    }
    if blocks {
        let [x, y, z] = entry.cluster;
        attributes += &format!(" \"nvvm.cluster_dim\"=\"{x},{y},{z}\"");
    }
    format!("{}{attributes}{}", &line[..at], &line[at..])
}

/// Returns a group of attributes with its architecture replaced.
fn with_architecture(group: &str, arch: NvvmArch) -> Cow<'_, str> {
    const KEY: &str = "\"target-cpu\"=\"";
    let Some((before, rest)) = group.split_once(KEY) else {
        return group.into();
    };
    let Some((_, after)) = rest.split_once('"') else {
        return group.into();
    };
    format!("{before}{KEY}{arch}\"{after}").into()
}

/// Returns the position after the parenthesis that closes the parameter list.
fn end_of_parameters(line: &str) -> Option<usize> {
    let start = line.find('@')?;
    let mut depth = 0_u32;
    let mut quoted = false;
    for (offset, byte) in line.bytes().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

pub(crate) mod local;
pub(crate) mod panics;
pub(crate) mod statics;
#[cfg(test)]
mod tests;
