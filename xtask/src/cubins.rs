//! Machine code beside the PTX: `host/ptx/<architecture>/<kernel>.cubin`, a file for each kernel that `auto` launches, and
//! the check that they are what `ptxas` makes of the PTX.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::NvvmArch;
use cuda_builder::assemble::Ptxas;

use crate::manifest::{Code, Manifest, Record};
use crate::{Result, project, ptx, sources, usage};

/// The machine code of a family's kernels for an architecture: its record, and the images by kernel.
pub struct Assembled {
    pub record: Code,
    pub images: Vec<(String, Vec<u8>)>,
}

/// Assembles the kernels that are shipped as machine code, of the modules of these records.
pub fn assemble(ptxas: &Ptxas, folder: &Path, records: &[&Record]) -> Result<Vec<Assembled>> {
    let mut done = Vec::new();
    for &(arch, from) in &project::assembled() {
        for record in records.iter().filter(|record| record.arch == from.sm()) {
            done.push(assemble_family(ptxas, folder, record, arch)?);
        }
    }
    Ok(done)
}

fn assemble_family(
    ptxas: &Ptxas,
    folder: &Path,
    record: &Record,
    arch: NvvmArch,
) -> Result<Assembled> {
    let path = folder.join(record.file());
    let text = fs::read_to_string(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
    let temporary = tempfile::tempdir()?;
    let image = |name: &String| -> Result<(String, Vec<u8>)> {
        let slice = ptx::slice(&text, name)
            .ok_or_else(|| format!("{}: no kernel `{name}`", record.file()))?;
        let at = |extension: &str| temporary.path().join(format!("{name}.{extension}"));
        fs::write(at("ptx"), slice)?;
        ptxas.assemble_to(&at("ptx"), arch, &at("cubin"))?;
        Ok((name.clone(), fs::read(at("cubin"))?))
    };
    // An error of a thread is its text.
    let images = usage::in_parallel(&kernels(record), |name| {
        image(name).map_err(|error| error.to_string())
    });
    let images = images.into_iter().collect::<Result<Vec<_>, String>>()?;
    let hash = |(name, image): &(String, Vec<u8>)| (name.clone(), sources::bytes_hash(image));
    Ok(Assembled {
        record: Code {
            family: record.family.clone(),
            arch: arch.to_string(),
            ptx: record.sha256.clone(),
            ptxas: ptxas.version.clone(),
            kernels: images.iter().map(hash).collect(),
        },
        images,
    })
}

/// The kernels of a module that `auto` launches.
fn kernels(record: &Record) -> Vec<String> {
    let is_wanted = |entry: &&String| {
        let kernel = entry.split("__").next().unwrap_or_default();
        project::best_kernels(&record.family).contains(&kernel)
    };
    record.entries.iter().filter(is_wanted).cloned().collect()
}

/// What is wrong with the committed files that belong to the modules of these records, without assembling them again.
pub fn committed_problems(folder: &Path, manifest: &Manifest, records: &[&Record]) -> Vec<String> {
    let mut problems = Vec::new();
    for &(arch, from) in &project::assembled() {
        for record in records.iter().filter(|record| record.arch == from.sm()) {
            let family = format!("{arch}, {}", record.family);
            let Some(code) = manifest.code(arch.sm(), &record.family) else {
                problems.push(format!("{family}: the manifest has no machine code"));
                continue;
            };
            if code.ptx != record.sha256 {
                problems.push(format!("{family}: machine code of another PTX"));
            }
            if !code.kernels.keys().eq(sorted(kernels(record)).iter()) {
                problems.push(format!("{family}: machine code of other kernels"));
            }
            for (name, hash) in &code.kernels {
                let file = code.file(name);
                match fs::read(folder.join(&file)) {
                    Err(error) => problems.push(format!("{file}: {error}")),
                    Ok(image) if sources::bytes_hash(&image) != *hash => {
                        problems.push(format!("{file}: the file is not the manifest's"));
                    }
                    Ok(_) => {}
                }
            }
        }
    }
    problems
}

fn sorted(names: Vec<String>) -> BTreeSet<String> {
    names.into_iter().collect()
}

/// Assembles again what belongs to the modules of these records, where `ptxas` is the one that made it, and gives what
/// comes out otherwise.
pub fn rebuild_problems(
    folder: &Path,
    manifest: &Manifest,
    records: &[&Record],
) -> Result<Vec<String>> {
    let ptxas = match Ptxas::install(true) {
        Ok(ptxas) => ptxas,
        Err(error) => {
            eprintln!("warning: the machine code was not assembled again: {error}");
            return Ok(Vec::new());
        }
    };
    if let Some(code) = manifest.code.iter().find(|it| it.ptxas != ptxas.version) {
        eprintln!(
            "note: the committed machine code is of ptxas {}, here is {}: it was not assembled again",
            code.ptxas, ptxas.version
        );
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    for Assembled { record: new, .. } in assemble(&ptxas, folder, records)? {
        let old = manifest.code(&new.arch, &new.family);
        for (name, hash) in &new.kernels {
            if old.and_then(|old| old.kernels.get(name)) != Some(hash) {
                problems.push(format!(
                    "{}: ptxas {} gives another image",
                    new.file(name),
                    ptxas.version
                ));
            }
        }
    }
    Ok(problems)
}

/// Files of machine code below the folder that the manifest does not name.
pub fn strays(folder: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>> {
    let files = |code: &Code| -> Vec<PathBuf> {
        let names = code.kernels.keys();
        names.map(|name| folder.join(code.file(name))).collect()
    };
    let known: BTreeSet<PathBuf> = manifest.code.iter().flat_map(files).collect();
    let mut found = project::files_below(folder)?;
    found.retain(|file| file.extension() == Some(OsStr::new("cubin")) && !known.contains(file));
    Ok(found)
}

/// Writes the images, and removes those that the manifest does not name.
pub fn write(folder: &Path, manifest: &Manifest, assembled: &[Assembled]) -> Result<()> {
    for family in assembled {
        for (name, image) in &family.images {
            project::write(&folder.join(family.record.file(name)), image)?;
        }
    }
    for file in strays(folder, manifest)? {
        fs::remove_file(&file).map_err(|e| format!("removing {}: {e}", file.display()))?;
    }
    Ok(())
}

/// The bytes of the images by architecture.
pub fn sizes(assembled: &[Assembled]) -> BTreeMap<&str, usize> {
    let mut sizes = BTreeMap::new();
    for family in assembled {
        let bytes: usize = family.images.iter().map(|(_, image)| image.len()).sum();
        *sizes.entry(family.record.arch.as_str()).or_default() += bytes;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Tools;

    fn record(entries: &[&str]) -> Record {
        let (_, from) = project::assembled()[0];
        Record {
            family: "reduce".to_owned(),
            arch: from.to_string(),
            ptx_version: "7.0".to_owned(),
            sha256: "p".to_owned(),
            sources: "s".to_owned(),
            tools: Tools {
                rustc: "1".into(),
                rustc_llvm: "2".into(),
                llvm: "3".into(),
            },
            entries: entries.iter().map(|&entry| entry.to_owned()).collect(),
        }
    }

    const IMAGE: &[u8] = b"\x7fELF\r\n";

    /// A folder with one kernel as it should be.
    fn committed() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::new(vec![record(&[
            "reduce_best__sum_f32",
            "reduce_cascaded__sum_f32",
        ])]);
        let (arch, _) = project::assembled()[0];
        let hash = sources::bytes_hash(IMAGE);
        manifest.code = vec![Code {
            family: "reduce".to_owned(),
            arch: arch.to_string(),
            ptx: "p".to_owned(),
            ptxas: "13".to_owned(),
            kernels: [("reduce_best__sum_f32".to_owned(), hash)].into(),
        }];
        let file = manifest.code[0].file("reduce_best__sum_f32");
        project::write(&folder.path().join(file), IMAGE).unwrap();
        (folder, manifest)
    }

    fn problems(folder: &Path, manifest: &Manifest) -> Vec<String> {
        let records: Vec<&Record> = manifest.modules.iter().collect();
        committed_problems(folder, manifest, &records)
    }

    #[test]
    fn files_as_the_manifest_says_are_no_problem() {
        let (folder, manifest) = committed();
        assert_eq!(problems(folder.path(), &manifest), [""; 0]);
        assert!(strays(folder.path(), &manifest).unwrap().is_empty());
    }

    #[test]
    fn what_is_missing_changed_or_of_another_ptx_is_told() {
        let (folder, manifest) = committed();
        let file = manifest.code[0].file("reduce_best__sum_f32");
        let path = folder.path().join(&file);
        // No line endings in here.
        fs::write(&path, b"\x7fELF\n").unwrap();
        assert_eq!(
            problems(folder.path(), &manifest),
            [format!("{file}: the file is not the manifest's")]
        );
        fs::remove_file(&path).unwrap();
        let found = problems(folder.path(), &manifest);
        assert!(found.len() == 1 && found[0].starts_with(&file), "{found:?}");

        let (folder, good) = committed();
        let family = format!("{}, reduce", good.code[0].arch);
        let mut manifest = good.clone();
        manifest.modules[0].sha256 = "other".to_owned();
        let other = [format!("{family}: machine code of another PTX")];
        assert_eq!(problems(folder.path(), &manifest), other);
        let mut manifest = good.clone();
        let entries = &mut manifest.modules[0].entries;
        entries.push("reduce_best__max_f32".to_owned());
        let kernels = [format!("{family}: machine code of other kernels")];
        assert_eq!(problems(folder.path(), &manifest), kernels);
        let mut manifest = good.clone();
        manifest.code.clear();
        let none = [format!("{family}: the manifest has no machine code")];
        assert_eq!(problems(folder.path(), &manifest), none);
        // Code that nothing names would run in the place of new PTX.
        assert_eq!(strays(folder.path(), &manifest).unwrap().len(), 1);
        write(folder.path(), &manifest, &[]).unwrap();
        assert!(strays(folder.path(), &manifest).unwrap().is_empty());
    }
}
