//! `host/ptx/manifest.json`: describes the committed PTX and what it was built from.

use std::collections::BTreeMap;
use std::path::Path;

use cuda_builder::Toolchain;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::Result;

/// The version of the file's format.
const FORMAT: u32 = 1;

/// The manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The modules, ordered by architecture and family.
    pub modules: Vec<Record>,
    /// The machine code of their kernels, in the same order.
    #[serde(default)]
    pub code: Vec<Code>,
}

/// The machine code of some kernels of a family, for an architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The family.
    pub family: String,
    /// The architecture, as in `sm_90`.
    pub arch: String,
    /// The SHA-256 of the PTX module that was assembled, as in the module's record.
    pub ptx: String,
    /// The version of `ptxas`.
    pub ptxas: String,
    /// The kernels, and the SHA-256 of each one's image.
    pub kernels: BTreeMap<String, String>,
}

/// One PTX module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The family.
    pub family: String,
    /// The architecture, as in `sm_80`.
    pub arch: String,
    /// The version of PTX, as in `7.0`.
    pub ptx_version: String,
    /// The SHA-256 of the PTX text with single line feeds.
    pub sha256: String,
    /// The hash of everything that the module was built from.
    pub sources: String,
    /// The tools that built it.
    pub tools: Tools,
    /// The module's entries, ordered by name.
    pub entries: Vec<String>,
}

/// The versions of the tools that determine the PTX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The compiler's version.
    pub rustc: String,
    /// The version of the compiler's LLVM.
    pub rustc_llvm: String,
    /// The version of the LLVM of `opt` and `llc`.
    pub llvm: String,
}

impl Tools {
    /// Returns the versions of a toolchain.
    pub fn of(toolchain: &Toolchain) -> Self {
        Self {
            rustc: toolchain.rust_version.clone(),
            rustc_llvm: toolchain.rust_llvm_version.clone(),
            llvm: toolchain.llvm_version.clone(),
        }
    }
}

impl std::fmt::Display for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "rustc {} (LLVM {}), LLVM tools {}",
            self.rustc, self.rustc_llvm, self.llvm
        )
    }
}

impl Record {
    /// Returns the file's path below the folder of the PTX.
    pub fn file(&self) -> String {
        format!("{}/{}.ptx", self.arch, self.family)
    }
}

impl Manifest {
    /// Makes a manifest of these modules.
    pub fn new(mut modules: Vec<Record>) -> Self {
        modules.sort_by(|a, b| (&a.arch, &a.family).cmp(&(&b.arch, &b.family)));
        Self {
            format: FORMAT,
            modules,
            code: Vec::new(),
        }
    }

    /// Reads the file. Returns `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| format!("reading {}: {error}", path.display()))?;
        if manifest.format != FORMAT {
            return Err(format!(
                "{}: format {FORMAT} required, given {}",
                path.display(),
                manifest.format
            )
            .into());
        }
        Ok(Some(manifest))
    }

    /// Returns the file's text.
    pub fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the record of one module.
    pub fn record(&self, arch: &str, family: &str) -> Option<&Record> {
        self.modules
            .iter()
            .find(|record| record.arch == arch && record.family == family)
    }

    /// Replaces the records of the same modules by these.
    pub fn replace(&mut self, records: Vec<Record>) {
        let same = |a: &Record, b: &Record| a.arch == b.arch && a.family == b.family;
        self.modules
            .retain(|old| !records.iter().any(|new| same(old, new)));
        let modules = std::mem::take(&mut self.modules);
        self.modules = Self::new(modules.into_iter().chain(records).collect()).modules;
    }

    /// Returns the record of a family's machine code.
    pub fn code(&self, arch: &str, family: &str) -> Option<&Code> {
        self.code
            .iter()
            .find(|code| code.arch == arch && code.family == family)
    }

    /// Keeps the machine code of unchanged modules, and adds these records for the others.
    pub fn set_code(&mut self, records: Vec<Code>) {
        let same = |a: &Code, b: &Code| a.arch == b.arch && a.family == b.family;
        let modules = &self.modules;
        let is_current = |code: &Code| modules.iter().any(|module| module.sha256 == code.ptx);
        self.code
            .retain(|old| is_current(old) && !records.iter().any(|new| same(old, new)));
        self.code.extend(records);
        self.code
            .sort_by(|a, b| (&a.arch, &a.family).cmp(&(&b.arch, &b.family)));
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Makes versions with the given compiler.
    pub fn tools(rustc: &str) -> Tools {
        Tools {
            rustc: rustc.to_owned(),
            rustc_llvm: "22.1.8".to_owned(),
            llvm: "22.1.8".to_owned(),
        }
    }

    /// Makes the record of a module without kernels.
    pub fn record(arch: &str, family: &str) -> Record {
        Record {
            family: family.to_owned(),
            arch: arch.to_owned(),
            ptx_version: "7.0".to_owned(),
            sha256: "p".to_owned(),
            sources: "s".to_owned(),
            tools: tools("1"),
            entries: Vec::new(),
        }
    }

    fn hashed(arch: &str, family: &str, sha256: &str) -> Record {
        Record {
            sha256: sha256.to_owned(),
            ..record(arch, family)
        }
    }

    #[test]
    fn the_text_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        assert_eq!(Manifest::read(&path).unwrap(), None);
        let manifest = Manifest::new(vec![
            hashed("sm_80", "sum", "1"),
            hashed("sm_75", "sum", "2"),
        ]);
        fs::write(&path, manifest.text().unwrap()).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), Some(manifest.clone()));
        assert_eq!(manifest.modules[0].file(), "sm_75/sum.ptx");

        fs::write(&path, "{").unwrap();
        assert!(Manifest::read(&path).is_err());
        fs::write(&path, r#"{"format": 7, "modules": []}"#).unwrap();
        let error = Manifest::read(&path).unwrap_err().to_string();
        assert!(error.contains("format 1 required, given 7"), "{error}");
    }

    #[test]
    fn records_are_replaced_in_place() {
        let mut manifest = Manifest::new(vec![
            hashed("sm_75", "sum", "1"),
            hashed("sm_80", "sum", "2"),
        ]);
        manifest.replace(vec![
            hashed("sm_80", "sum", "new"),
            hashed("sm_75", "fill", "3"),
        ]);
        let found: Vec<(String, &str)> = manifest
            .modules
            .iter()
            .map(|r| (r.file(), r.sha256.as_str()))
            .collect();
        let expected = [
            ("sm_75/fill.ptx", "3"),
            ("sm_75/sum.ptx", "1"),
            ("sm_80/sum.ptx", "new"),
        ];
        assert_eq!(found, expected.map(|(file, hash)| (file.to_owned(), hash)));
    }
}
