//! Copies the checkout. The copied crates depend on this workspace's crates, and are otherwise unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Result, project};

/// The crates of Rust-CUDA that this workspace provides: the name there, the package here, its folder, and the features that a
/// user enables.
const OURS: &[(&str, &str, &str, &[&str])] = &[
    (
        "cuda_std",
        "warpwright-cuda-std",
        "cuda_std",
        &["rust-cuda"],
    ),
    (
        "cuda_builder",
        "warpwright-cuda-builder",
        "cuda_builder",
        &[],
    ),
    ("cust", "warpwright-cust", "cust", &[]),
    ("cust_core", "warpwright-cust-core", "cust/core", &[]),
];

/// Crates that no example's source names.
const LEFT_OUT: &[&str] = &["cust_raw"];

/// The crate of cuBLAS, whose bindings need a toolkit at build time. It is replaced by a crate that opens the library at run
/// time.
const BLASTOFF: &str = "blastoff";

/// Returns the files below `folder` that `fits` accepts, in order. The folders of cargo and of version control are left out.
pub fn found(folder: &Path, fits: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| format!("reading {}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                files.extend(found(&path, fits)?);
            }
        } else if fits(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Copies the crate of a manifest, with this workspace's crates in its dependency lines, and returns its path in the checkout.
pub fn copy_crate(checkout: &Path, manifest: &Path, copy: &Path) -> Result<String> {
    let from = manifest.parent().unwrap_or(checkout);
    let title = from.strip_prefix(checkout)?.to_string_lossy().into_owned();
    // A crate in a subfolder has its own copy.
    let own = |path: &Path| {
        let below = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != from);
        path != manifest && below.into_iter().all(|f| !f.join("Cargo.toml").is_file())
    };
    for file in found(from, &own)? {
        project::write(&copy.join(file.strip_prefix(checkout)?), &fs::read(&file)?)?;
    }
    let mut table: toml::Table = fs::read_to_string(manifest)?.parse()?;
    replace(&mut table, copy);
    project::write(
        &copy.join(&title).join("Cargo.toml"),
        toml::to_string(&table)?.as_bytes(),
    )?;
    Ok(title)
}

/// Puts this workspace's crates into the dependency lines of a manifest, including those for one target only.
fn replace(table: &mut toml::Table, copy: &Path) {
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let Some(lines) = table.get_mut(kind).and_then(|value| value.as_table_mut()) else {
            continue;
        };
        lines.retain(|name, _| !LEFT_OUT.contains(&name));
        for (name, line) in lines.iter_mut() {
            if let Some(new) = dependency(name, line, copy) {
                *line = new.into();
            }
        }
    }
    if let Some(targets) = table
        .get_mut("target")
        .and_then(|value| value.as_table_mut())
    {
        for target in targets
            .iter_mut()
            .filter_map(|(_, value)| value.as_table_mut())
        {
            replace(target, copy);
        }
    }
}

/// Returns the line for a crate of Rust-CUDA, with the features of `old`, or `None` for any other crate.
pub fn dependency(name: &str, old: &toml::Value, copy: &Path) -> Option<toml::Table> {
    let mut line = toml::Table::new();
    if name == BLASTOFF {
        line.insert(
            "path".to_owned(),
            stand_in(copy).display().to_string().into(),
        );
        return Some(line);
    }
    let (_, package, folder, features) = OURS.iter().find(|(there, ..)| *there == name)?;
    let path = project::root().join(folder).display().to_string();
    line.insert("package".to_owned(), (*package).into());
    line.insert("path".to_owned(), path.into());
    let asked = old.get("features").and_then(toml::Value::as_array);
    let mut features: Vec<toml::Value> = features.iter().map(|name| (*name).into()).collect();
    features.extend(asked.into_iter().flatten().cloned());
    line.insert("features".to_owned(), features.into());
    Some(line)
}

fn stand_in(copy: &Path) -> PathBuf {
    copy.join("stand-in").join(BLASTOFF)
}

/// Writes the crate that replaces cuBLAS's.
pub fn write_stand_in(copy: &Path) -> Result<()> {
    let line = dependency("cust", &toml::Value::Boolean(true), copy).unwrap_or_default();
    let manifest = format!(
        "[package]\nname = \"{BLASTOFF}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nlibloading = \"0.8\"\ncust = {}\n",
        toml::Value::Table(line)
    );
    let folder = stand_in(copy);
    project::write(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    project::write(&folder.join("src/lib.rs"), include_bytes!("blastoff.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependency_lines_change() {
        let folder = tempfile::tempdir().unwrap();
        let (checkout, copy) = (folder.path().join("there"), folder.path().join("copy"));
        let manifest = "[package]\nname = \"a\"\n\n[dependencies]\ncust = { path = \"../x\", features = [\"half\"] }\n\
                        cust_raw = \"1\"\nrand = \"0.9\"\nkernels = { path = \"kernels\" }\n\n\
                        [build-dependencies]\ncuda_builder = { workspace = true }\n\n\
                        [target.'cfg(unix)'.dependencies]\ncuda_std = \"0.2\"\n";
        for (path, text) in [
            ("a/Cargo.toml", manifest),
            ("a/src/main.rs", "fn main() {}"),
            ("a/target/debug/x", "built"),
            ("a/kernels/Cargo.toml", "[package]\nname = \"k\"\n"),
            ("a/kernels/src/lib.rs", ""),
        ] {
            project::write(&checkout.join(path), text.as_bytes()).unwrap();
        }
        let title = copy_crate(&checkout, &checkout.join("a/Cargo.toml"), &copy).unwrap();
        assert_eq!(title, "a");
        let main = fs::read_to_string(copy.join("a/src/main.rs")).unwrap();
        assert_eq!(main, "fn main() {}");
        assert!(!copy.join("a/target").exists() && !copy.join("a/kernels").exists());

        let text = fs::read_to_string(copy.join("a/Cargo.toml")).unwrap();
        let new: toml::Table = text.parse().unwrap();
        let old: toml::Table = manifest.parse().unwrap();
        assert_eq!(new["package"], old["package"]);
        assert_eq!(new["dependencies"]["rand"], old["dependencies"]["rand"]);
        assert_eq!(
            new["dependencies"]["kernels"],
            old["dependencies"]["kernels"]
        );
        assert!(new["dependencies"].get("cust_raw").is_none());
        let line = &new["dependencies"]["cust"];
        assert_eq!(line["package"].as_str(), Some("warpwright-cust"));
        assert_eq!(line["features"], old["dependencies"]["cust"]["features"]);
        let builder = &new["build-dependencies"]["cuda_builder"];
        assert_eq!(builder["package"].as_str(), Some("warpwright-cuda-builder"));
        let std = &new["target"]["cfg(unix)"]["dependencies"]["cuda_std"];
        assert_eq!(std["features"][0].as_str(), Some("rust-cuda"));
        for line in [line, builder, std] {
            assert!(
                Path::new(line["path"].as_str().unwrap())
                    .join("Cargo.toml")
                    .is_file()
            );
        }
    }

    #[test]
    fn the_stand_in_is_a_crate() {
        let folder = tempfile::tempdir().unwrap();
        write_stand_in(folder.path()).unwrap();
        let line = dependency(BLASTOFF, &"1".into(), folder.path()).unwrap();
        let path = Path::new(line["path"].as_str().unwrap());
        assert!(path.join("src/lib.rs").is_file());
        let manifest: toml::Table = fs::read_to_string(path.join("Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(BLASTOFF));
    }
}
