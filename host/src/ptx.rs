//! The text of a PTX module: its kernels, and what they share. `build.rs` has this file as a module too.

/// The name of the kernel that a line of PTX begins.
pub(crate) fn entry_name(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix(".visible ")
        .unwrap_or(line)
        .strip_prefix(".entry ")?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    Some(&rest[..end])
}

/// A module's text without its kernels, and each kernel's name and text, in order.
pub(crate) fn split(ptx: &str) -> (String, Vec<(&str, String)>) {
    let mut shared = String::new();
    let mut kernels = Vec::new();
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        let Some(name) = entry_name(line) else {
            push(&mut shared, line);
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

/// What the kernels of a module share, and the kernel called `name`: a module of its own.
pub(crate) fn slice(ptx: &str, name: &str) -> Option<String> {
    let (shared, kernels) = split(ptx);
    let (_, kernel) = kernels.into_iter().find(|(kernel, _)| *kernel == name)?;
    Some(shared + &kernel)
}
