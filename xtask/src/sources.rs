//! One hash of everything that the PTX is built from.

use std::collections::BTreeSet;
use std::path::Path;

use fs_err as fs;
use sha2::{Digest, Sha256};

use crate::{Result, command, project};

/// Files and folders whose text determines the PTX. In folders, only the Rust sources count.
const INPUTS: &[&str] = &[
    "gpu/Cargo.toml",
    "gpu/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
    "cuda_builder/Cargo.toml",
    "cuda_builder/src",
];

/// The part of these that is compiled for the host only.
const HOST_ONLY: &[&str] = &["cuda_std/src/cpu"];

/// The crate whose dependencies count too.
const DEVICE_PACKAGE: &str = "warpwright-gpu";

/// Returns the hash of all inputs of the project, in hexadecimal. Line endings, times and the folder of the checkout do not
/// matter.
pub fn hash() -> Result<String> {
    let root = project::root();
    let mut hasher = hash_files(&root)?;
    for dependency in dependencies()? {
        add(&mut hasher, "dependency", dependency.as_bytes());
    }
    Ok(hexadecimal(&hasher.finalize()))
}

fn hash_files(root: &Path) -> Result<Sha256> {
    let mut files = Vec::new();
    for input in INPUTS {
        let path = root.join(input);
        if path.is_dir() {
            let below = project::files(&path, &[])?;
            files.extend(below.into_iter().filter(|file| is_rust(file)));
        } else if path.is_file() {
            files.push(path);
        } else {
            return Err(format!("sources: {input} required, given none").into());
        }
    }
    let mut named = Vec::new();
    for file in files {
        let name = project::name_below(root, &file)?;
        let is_one = |folder| Path::new(&name).starts_with(folder);
        if !HOST_ONLY.iter().any(is_one) {
            named.push((name, file));
        }
    }
    named.sort();
    let mut hasher = Sha256::new();
    for (name, file) in named {
        add(&mut hasher, &name, &normalised(&fs::read(&file)?));
    }
    Ok(hasher)
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// Adds a part with its name and length, so that different lists of parts never give the same input.
fn add(hasher: &mut Sha256, name: &str, content: &[u8]) {
    hasher.update(format!("{name}\n{}\n", content.len()));
    hasher.update(content);
}

/// Returns the bytes with every line ending as a single line feed.
pub fn normalised(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\r' || bytes.peek() != Some(&b'\n') {
            out.push(byte);
        }
    }
    out
}

/// Returns the SHA-256 of a text, with normalized line endings, in hexadecimal.
pub fn text_hash(text: &[u8]) -> String {
    bytes_hash(&normalised(text))
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub fn bytes_hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the packages that the device crate is built with and that have no folder here, each as one line.
fn dependencies() -> Result<BTreeSet<String>> {
    let mut command = command::cargo();
    command
        .args(["tree", "--package", DEVICE_PACKAGE])
        .args(["--target", "nvptx64-nvidia-cuda", "--edges", "no-dev"])
        .args(["--prefix", "none", "--format", "{p}"]);
    Ok(from_elsewhere(&command::output("sources", &mut command)?))
}

/// Returns the lines without a folder, each once, of lines such as `half v2.7.1`, `zerocopy-derive v0.8.63 (proc-macro) (*)`
/// and `system v0.1.0 (/folder/system)`.
fn from_elsewhere(tree: &str) -> BTreeSet<String> {
    let is_here = |line: &str| {
        let mut remarks = line.split(" (").skip(1);
        remarks.any(|remark| Path::new(remark.trim_end_matches(')')).is_absolute())
    };
    tree.lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty() && !is_here(line))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_do_not_matter_and_lone_returns_stay() {
        assert_eq!(normalised(b"a\r\nb\n\rc\r"), b"a\nb\n\rc\r");
        assert_eq!(text_hash(b"a\r\nb"), text_hash(b"a\nb"));
        assert_ne!(text_hash(b"a\nb"), text_hash(b"a\n\nb"));
        // The published value for "abc".
        assert!(text_hash(b"abc").starts_with("ba7816bf8f01cfea"));
    }

    fn project(folder: &Path) {
        for input in INPUTS {
            let path = folder.join(input);
            let file = if input.ends_with("src") {
                path.join("lib.rs")
            } else {
                path
            };
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "text\n").unwrap();
        }
    }

    fn files_hash(folder: &Path) -> String {
        hexadecimal(&hash_files(folder).unwrap().finalize())
    }

    #[test]
    fn the_hash_follows_the_sources_and_nothing_else() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        project(one.path());
        project(other.path());
        let start = files_hash(one.path());
        assert_eq!(files_hash(other.path()), start);

        let write = |name: &str, text: &str| {
            let path = one.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            files_hash(one.path())
        };
        assert_eq!(write("gpu/src/lib.rs", "text\r\n"), start);
        assert_eq!(write("gpu/README.md", "new"), start);
        assert_eq!(write("cuda_std/src/cpu/run.rs", "new"), start);
        assert_ne!(write("gpu/src/new.rs", ""), start);
        fs::remove_file(one.path().join("gpu/src/new.rs")).unwrap();
        assert_eq!(files_hash(one.path()), start);
        assert_ne!(write("cuda_builder/src/lib.rs", "other\n"), start);
    }

    #[test]
    fn a_missing_input_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = hash_files(folder.path()).unwrap_err().to_string();
        assert_eq!(error, "sources: gpu/Cargo.toml required, given none");
    }

    #[test]
    fn path_packages_are_left_out_and_repetitions() {
        let here = std::env::temp_dir();
        let tree = format!(
            "gpu v0.1.0 ({0})\nmacros v0.1.0 (proc-macro) ({0}) (*)\nhalf v2.7.1\nderive v1.0.0 (proc-macro)\n\n\
             other v1.0.0 (https://example.com/other#1234)\nhalf v2.7.1 (*)\n",
            here.display()
        );
        let lines: Vec<String> = from_elsewhere(&tree).into_iter().collect();
        let other = "other v1.0.0 (https://example.com/other#1234)";
        assert_eq!(lines, ["derive v1.0.0 (proc-macro)", "half v2.7.1", other]);
    }

    #[test]
    fn dependencies_of_the_kernels_are_found_and_those_of_tests_are_not() {
        let lines = dependencies().unwrap();
        let has = |name: &str| lines.iter().any(|line| line.starts_with(name));
        // A source of the device library, one of its macros, and one of its tests.
        assert!(
            has("half v") && has("syn v") && !has("trybuild v"),
            "{lines:?}"
        );
    }
}
