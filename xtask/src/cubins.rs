//! Machine code that accompanies the PTX. `host/ptx/<architecture>/kernels.tar` has a file `<kernel>.cubin` for each kernel
//! that `auto` launches. The module also checks that `ptxas` makes these files from the PTX.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use cuda_builder::NvvmArch;
use cuda_builder::assemble::Ptxas;
use fs_err as fs;

use crate::manifest::{Code, Manifest, Record};
use crate::{Result, project, ptx, sources, usage, wgmma_registers};

/// The name of an architecture's archive, and the extension of the files in it.
const ARCHIVE: &str = "kernels.tar";
const ENDING: &str = ".cubin";

/// The images of an architecture, by kernel.
type Images = BTreeMap<String, Vec<u8>>;

/// Returns the archive of these images. Its bytes are always the same: ordered by name, without times or owners.
fn pack(images: &Images) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, image) in images {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_size(image.len() as u64);
        archive.append_data(&mut header, format!("{name}{ENDING}"), &**image)?;
    }
    Ok(archive.into_inner()?)
}

fn unpack(bytes: &[u8]) -> Result<Images> {
    let mut images = Images::new();
    for entry in tar::Archive::new(bytes).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let name = path
            .strip_suffix(ENDING)
            .ok_or_else(|| format!("names that end with {ENDING} required, given {path}"))?;
        let mut image = Vec::new();
        entry.read_to_end(&mut image)?;
        images.insert(name.to_owned(), image);
    }
    Ok(images)
}

/// Returns the bytes of an architecture's archive and its images. Both are empty if there is none.
fn committed(folder: &Path, arch: &str) -> Result<(Vec<u8>, Images)> {
    let bytes = match fs::read(folder.join(arch).join(ARCHIVE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Default::default()),
        read => read?,
    };
    let images = unpack(&bytes).map_err(|error| format!("{arch}/{ARCHIVE}: {error}"))?;
    Ok((bytes, images))
}

/// The machine code of a family's kernels for an architecture: its record, and the images by kernel.
pub struct Assembled {
    pub record: Code,
    pub images: Vec<(String, Vec<u8>)>,
}

/// Assembles the kernels of these records' modules that are shipped as machine code.
pub fn assemble(ptxas: &Ptxas, folder: &Path, records: &[&Record]) -> Result<Vec<Assembled>> {
    let mut done = Vec::new();
    for &arch in project::ASSEMBLED {
        for record in of(records, arch) {
            done.push(assemble_family(ptxas, folder, record, arch)?);
        }
    }
    Ok(done)
}

/// Returns the records of the modules that are assembled for an architecture: those with kernels that `auto` launches.
fn of<'a>(records: &'a [&Record], arch: NvvmArch) -> impl Iterator<Item = &'a Record> {
    let wanted = move |record: &&Record| {
        let from = project::assembled_from(arch, &record.family);
        from.is_some_and(|from| record.arch == from.sm()) && !kernels(record).is_empty()
    };
    records.iter().copied().filter(wanted)
}

fn assemble_family(
    ptxas: &Ptxas,
    folder: &Path,
    record: &Record,
    arch: NvvmArch,
) -> Result<Assembled> {
    let text = fs::read_to_string(folder.join(record.file()))?;
    let temporary = tempfile::tempdir()?;
    let image = |name: &String| -> Result<(String, Vec<u8>)> {
        let slice = ptx::slice(&text, name)
            .ok_or_else(|| format!("{}: no kernel `{name}`", record.file()))?;
        let at = |extension: &str| temporary.path().join(format!("{name}.{extension}"));
        fs::write(at("ptx"), &slice)?;
        ptxas.assemble_to(&at("ptx"), arch, &at("cubin"))?;
        if wgmma_registers::has_registers(&slice) {
            wgmma_registers::check(name, &at("cubin"))?;
        }
        Ok((name.clone(), fs::read(at("cubin"))?))
    };
    // A thread's error is passed on as text.
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

/// Returns the kernels of a module that `auto` launches.
fn kernels(record: &Record) -> Vec<String> {
    let is_wanted = |entry: &&String| {
        let kernel = entry.split("__").next().unwrap_or_default();
        project::best_kernels(&record.family).contains(&kernel)
    };
    record.entries.iter().filter(is_wanted).cloned().collect()
}

/// Returns the problems of the committed machine code of these records' modules, without assembling it again.
pub fn committed_problems(folder: &Path, manifest: &Manifest, records: &[&Record]) -> Vec<String> {
    let mut problems = Vec::new();
    for &arch in project::ASSEMBLED {
        let (bytes, images) = match committed(folder, arch.sm()) {
            Ok(read) => read,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        if !bytes.is_empty() && pack(&images).is_ok_and(|packed| packed != bytes) {
            problems.push(format!("{arch}/{ARCHIVE}: it is packed in another way"));
        }
        for record in of(records, arch) {
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
                let what = match images.get(name) {
                    None => "it is not there",
                    Some(image) if sources::bytes_hash(image) != *hash => {
                        "it is not the manifest's"
                    }
                    Some(_) => continue,
                };
                problems.push(format!("{}: {what}", place(&code.arch, name)));
            }
        }
    }
    problems
}

/// Returns the name of an image in messages.
fn place(arch: &str, kernel: &str) -> String {
    format!("{arch}/{ARCHIVE}, {kernel}{ENDING}")
}

fn sorted(names: Vec<String>) -> BTreeSet<String> {
    names.into_iter().collect()
}

/// Assembles the machine code of these records' modules again, if `ptxas` is the version that made it, and returns the images
/// that differ.
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
                    place(&new.arch, name),
                    ptxas.version
                ));
            }
        }
    }
    Ok(problems)
}

/// Returns the machine code below the folder that the manifest does not name.
pub fn strays(folder: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let mut strays = Vec::new();
    for arch in archs(folder)? {
        let known = kernels_of(manifest, &arch);
        let (_, images) = committed(folder, &arch)?;
        let names = images.keys().filter(|name| !known.contains(name.as_str()));
        strays.extend(names.map(|name| place(&arch, name)));
    }
    Ok(strays)
}

/// Returns the architectures that have an archive.
fn archs(folder: &Path) -> Result<BTreeSet<String>> {
    let mut files = project::files(folder, &[])?;
    files.retain(|file| file.file_name().is_some_and(|name| name == ARCHIVE));
    let arch = |file: &Path| Some(file.parent()?.file_name()?.to_string_lossy().into_owned());
    Ok(files.iter().filter_map(|file| arch(file)).collect())
}

/// Returns the kernels that the manifest names for an architecture.
fn kernels_of<'a>(manifest: &'a Manifest, arch: &str) -> BTreeSet<&'a str> {
    let codes = manifest.code.iter().filter(|code| code.arch == arch);
    codes
        .flat_map(|code| code.kernels.keys().map(String::as_str))
        .collect()
}

/// Writes the images into the archives, and removes images that the manifest does not name.
pub fn write(folder: &Path, manifest: &Manifest, assembled: &[Assembled]) -> Result<()> {
    let mut all = archs(folder)?;
    all.extend(assembled.iter().map(|family| family.record.arch.clone()));
    for arch in all {
        // An archive that cannot be read is replaced. The check then reports missing images.
        let (_, mut images) = committed(folder, &arch).unwrap_or_default();
        for family in assembled.iter().filter(|family| family.record.arch == arch) {
            images.extend(family.images.iter().cloned());
        }
        let known = kernels_of(manifest, &arch);
        images.retain(|name, _| known.contains(name.as_str()));
        let path = folder.join(&arch).join(ARCHIVE);
        if images.is_empty() {
            fs::remove_file(&path)?;
        } else {
            project::write(&path, &pack(&images)?)?;
        }
    }
    Ok(())
}

/// Returns the bytes of the images by architecture.
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
    use crate::manifest::tests;

    fn record(entries: &[&str]) -> Record {
        Record {
            entries: entries.iter().map(|&entry| entry.to_owned()).collect(),
            ..tests::record(project::SHIPPED[0].0.sm(), "reduce")
        }
    }

    const IMAGE: &[u8] = b"\x7fELF\r\n";
    const KERNEL: &str = "reduce_best__sum_f32";

    fn arch() -> String {
        project::ASSEMBLED[0].to_string()
    }

    /// Returns the machine code of one kernel.
    fn assembled() -> Assembled {
        Assembled {
            record: Code {
                family: "reduce".to_owned(),
                arch: arch(),
                ptx: "p".to_owned(),
                ptxas: "13".to_owned(),
                kernels: [(KERNEL.to_owned(), sources::bytes_hash(IMAGE))].into(),
            },
            images: vec![(KERNEL.to_owned(), IMAGE.to_vec())],
        }
    }

    /// Makes a folder with one kernel in its correct state.
    fn sound() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::new(vec![record(&[KERNEL, "reduce_cascaded__sum_f32"])]);
        manifest.code = vec![assembled().record];
        write(folder.path(), &manifest, &[assembled()]).unwrap();
        (folder, manifest)
    }

    fn problems(folder: &Path, manifest: &Manifest) -> Vec<String> {
        let records: Vec<&Record> = manifest.modules.iter().collect();
        committed_problems(folder, manifest, &records)
    }

    #[test]
    fn files_as_the_manifest_says_are_no_problem() {
        let (folder, manifest) = sound();
        assert_eq!(problems(folder.path(), &manifest), [""; 0]);
        assert!(strays(folder.path(), &manifest).unwrap().is_empty());
    }

    #[test]
    fn the_same_images_are_the_same_archive_in_the_order_of_names() {
        let images = ["b", "a", "long".repeat(20).as_str()]
            .map(|name| (name.to_owned(), name.as_bytes().to_vec()));
        let bytes = pack(&images.clone().into()).unwrap();
        let other = pack(&images.iter().rev().cloned().collect()).unwrap();
        assert_eq!(bytes, other);
        assert_eq!(unpack(&bytes).unwrap(), images.into());
        let mut archive = tar::Archive::new(&*bytes);
        let mut names = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 0);
            entry.path().unwrap().to_string_lossy().into_owned()
        });
        assert_eq!(names.next().as_deref(), Some("a.cubin"));
        assert!(unpack(&bytes[..700]).is_err());
    }

    #[test]
    fn what_is_missing_changed_or_of_another_ptx_is_told() {
        let (folder, manifest) = sound();
        let path = folder.path().join(arch()).join(ARCHIVE);
        let given = |archive: &[u8]| {
            fs::write(&path, archive).unwrap();
            problems(folder.path(), &manifest)
        };
        // The bytes have no line endings.
        let other = Images::from([(KERNEL.to_owned(), b"\x7fELF\n".to_vec())]);
        assert_eq!(
            given(&pack(&other).unwrap()),
            [format!(
                "{}: it is not the manifest's",
                place(&arch(), KERNEL)
            )]
        );
        let good = pack(&Images::from([(KERNEL.to_owned(), IMAGE.to_vec())])).unwrap();
        let way = format!("{}/{ARCHIVE}: it is packed in another way", arch());
        assert_eq!(given(&[&*good, &[0; 512]].concat()), [way]);
        let found = given(&good[..700]);
        let start = format!("{}/{ARCHIVE}: ", arch());
        assert!(
            found.len() == 1 && found[0].starts_with(&start),
            "{found:?}"
        );
        fs::remove_file(&path).unwrap();
        let found = problems(folder.path(), &manifest);
        let missing = format!("{}: it is not there", place(&arch(), KERNEL));
        assert_eq!(found, [missing]);

        let (folder, good) = sound();
        let family = format!("{}, reduce", arch());
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
        // Unnamed machine code would run in place of new PTX.
        let stray = [place(&arch(), KERNEL)];
        assert_eq!(strays(folder.path(), &manifest).unwrap(), stray);
        write(folder.path(), &manifest, &[]).unwrap();
        assert!(strays(folder.path(), &manifest).unwrap().is_empty());
        assert!(!folder.path().join(arch()).join(ARCHIVE).exists());
    }

    #[test]
    fn what_is_not_assembled_again_stays() {
        let (folder, mut manifest) = sound();
        let mut other = assembled();
        other.record.family = "map".to_owned();
        other.record.kernels = [("map_best__sin".to_owned(), "h".to_owned())].into();
        other.images = vec![("map_best__sin".to_owned(), b"map".to_vec())];
        manifest.code.push(other.record.clone());
        write(folder.path(), &manifest, &[other]).unwrap();
        let (_, images) = committed(folder.path(), &arch()).unwrap();
        assert_eq!(images[KERNEL], IMAGE);
        assert_eq!(images["map_best__sin"], b"map");
    }
}
