//! Parses the text of a PTX module: its kernels and what they share. `build.rs` includes this file as a module too.

/// Returns the name of the kernel that a line of PTX begins.
pub(crate) fn entry_name(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix(".visible ")
        .unwrap_or(line)
        .strip_prefix(".entry ")?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    Some(&rest[..end])
}

/// A kernel of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: String,
    /// The sizes of the parameters in bytes. `None` if the text does not state them.
    pub params: Option<Vec<usize>>,
}

/// Returns the kernels of a module, in the text's order.
pub(crate) fn entries(ptx: &str) -> Vec<Entry> {
    let mut start = 0;
    let mut entries = Vec::new();
    for line in ptx.split_inclusive('\n') {
        if let Some(name) = entry_name(line) {
            let from_name = &ptx[start + line.find(name).unwrap_or(0)..];
            entries.push(Entry {
                name: name.to_owned(),
                params: params(&from_name[name.len()..]),
            });
        }
        start += line.len();
    }
    entries
}

/// Returns the sizes of the parameters. `text` is a kernel's text after its name.
fn params(text: &str) -> Option<Vec<usize>> {
    let Some(list) = text.trim_start().strip_prefix('(') else {
        return Some(Vec::new());
    };
    let (list, _) = list.split_once(')')?;
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(param_bytes).collect()
}

/// Returns the size of a parameter: `.param .u64 .ptr .align 1 name` has 8 bytes, `.param .align 4 .b8 name[12]` has 12.
fn param_bytes(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    if words.next()? != ".param" {
        return None;
    }
    let mut bytes = None;
    let mut name = "";
    while let Some(word) = words.next() {
        match word {
            ".align" => drop(words.next()?),
            _ if bytes.is_none() && word.starts_with('.') => {
                let bits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
                bytes = Some(bits.parse::<usize>().ok()? / 8);
            }
            // The state space that a pointer points to.
            _ if word.starts_with('.') => {}
            _ => name = word,
        }
    }
    let count = match name.split_once('[') {
        Some((_, count)) => count.strip_suffix(']')?.parse().ok()?,
        None => 1,
    };
    bytes?.checked_mul(count)
}

/// Returns whether a line is empty or a comment.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with("//")
}

/// Splits a module: returns its text without kernels and comments, and each kernel's name and text, in order.
pub(crate) fn split(ptx: &str) -> (String, Vec<(&str, String)>) {
    let mut shared = String::new();
    let mut kernels = Vec::new();
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        let Some(name) = entry_name(line) else {
            // With hundreds of kernels, the compiler's comments are more text than the kernels.
            if !is_remark(line) {
                push(&mut shared, line);
            }
            continue;
        };
        let mut text = String::new();
        push(&mut text, line);
        // A kernel ends with a closing brace in the first column.
        for line in lines.by_ref() {
            push(&mut text, line);
            if line == "}" {
                break;
            }
        }
        kernels.push((name, text));
    }
    (shared, kernels)
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns a module with only the kernel `name` and what the module's kernels share.
pub(crate) fn slice(ptx: &str, name: &str) -> Option<String> {
    let (shared, kernels) = split(ptx);
    let (_, kernel) = kernels.into_iter().find(|(kernel, _)| *kernel == name)?;
    Some(shared + &kernel)
}
