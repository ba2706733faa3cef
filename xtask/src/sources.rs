//! One hash of everything that the PTX is built from.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{Result, project};

/// Files and folders whose text decides what the PTX is. Of folders, the Rust sources count.
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

/// Of these, what is compiled for the host only.
const HOST_ONLY: &[&str] = &["cuda_std/src/cpu"];

/// The crate whose dependencies count too.
const DEVICE_PACKAGE: &str = "warpwright-gpu";

/// The hash of all inputs of the project, in hexadecimal. Line endings, times and the folder of the
/// checkout do not matter.
pub fn hash() -> Result<String> {
    let root = project::root();
    let mut hasher = hash_files(&root)?;
    for dependency in dependencies(&root)? {
        add(&mut hasher, "dependency", dependency.as_bytes());
    }
    Ok(hexadecimal(&hasher.finalize()))
}

fn hash_files(root: &Path) -> Result<Sha256> {
    let mut files = Vec::new();
    for input in INPUTS {
        let path = root.join(input);
        if path.is_dir() {
            collect(&path, &mut files)?;
        } else if path.is_file() {
            files.push(path);
        } else {
            return Err(format!("sources: {input} required, given none").into());
        }
    }
    let mut named = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(root)?
            .to_string_lossy()
            .replace('\\', "/");
        if !HOST_ONLY
            .iter()
            .any(|folder| Path::new(&name).starts_with(folder))
        {
            named.push((name, file));
        }
    }
    named.sort();
    let mut hasher = Sha256::new();
    for (name, file) in named {
        let text = fs::read(&file).map_err(|e| format!("reading {}: {e}", file.display()))?;
        add(&mut hasher, &name, &normalised(&text));
    }
    Ok(hasher)
}

/// The Rust files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|e| format!("reading {}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Adds a part with its name and length, so that no two lists of parts read the same.
fn add(hasher: &mut Sha256, name: &str, content: &[u8]) {
    hasher.update(format!("{name}\n{}\n", content.len()));
    hasher.update(content);
}

/// The bytes with every line ending as a single line feed.
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

/// The SHA-256 of a text, line endings normalised, in hexadecimal.
pub fn text_hash(text: &[u8]) -> String {
    bytes_hash(&normalised(text))
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn bytes_hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The packages from a registry that the device crate is built with, each as one line, in order.
fn dependencies(root: &Path) -> Result<Vec<String>> {
    let output = project::cargo()
        .args(["metadata", "--format-version", "1"])
        .args(["--filter-platform", "nvptx64-nvidia-cuda"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata could not be started: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", text.trim()).into());
    }
    device_dependencies(&serde_json::from_slice(&output.stdout)?)
}

fn device_dependencies(metadata: &Metadata) -> Result<Vec<String>> {
    let start = metadata
        .packages
        .iter()
        .find(|package| package.name == DEVICE_PACKAGE)
        .ok_or_else(|| format!("sources: a package {DEVICE_PACKAGE} required, given none"))?;
    let mut reached = vec![start.id.as_str()];
    let mut next = 0;
    while let Some(&id) = reached.get(next) {
        next += 1;
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
        for dependency in node.into_iter().flat_map(|node| &node.deps) {
            // Dependencies of tests have no part in the kernels.
            let counts = dependency
                .dep_kinds
                .iter()
                .any(|k| k.kind.as_deref() != Some("dev"));
            if counts && !reached.contains(&dependency.pkg.as_str()) {
                reached.push(&dependency.pkg);
            }
        }
    }
    let mut lines: Vec<String> = metadata
        .packages
        .iter()
        .filter(|package| reached.contains(&package.id.as_str()))
        .filter_map(|package| {
            let source = package.source.as_deref()?;
            Some(format!("{} {} {source}", package.name, package.version))
        })
        .collect();
    lines.sort();
    Ok(lines)
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
    fn dependencies_of_tests_and_path_packages_are_left_out() {
        let metadata = serde_json::json!({
            "packages": [
                {"id": "g", "name": "warpwright-gpu", "version": "0.1.0", "source": null},
                {"id": "s", "name": "std", "version": "0.1.0", "source": null},
                {"id": "h", "name": "half", "version": "2.7.0", "source": "registry"},
                {"id": "t", "name": "tester", "version": "1.0.0", "source": "registry"},
                {"id": "o", "name": "other", "version": "1.0.0", "source": "registry"},
            ],
            "resolve": {"nodes": [
                {"id": "g", "deps": [
                    {"pkg": "s", "dep_kinds": [{"kind": null}]},
                    {"pkg": "t", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "s", "deps": [
                    {"pkg": "h", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]},
                    {"pkg": "g", "dep_kinds": [{"kind": null}]},
                ]},
            ]},
        });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        assert_eq!(
            device_dependencies(&metadata).unwrap(),
            ["half 2.7.0 registry"]
        );
    }
}
