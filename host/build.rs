//! Packs the PTX modules and writes `modules.rs` to `OUT_DIR`, their table, which `src/module.rs` includes. With the CUDA
//! side it also writes the machine code (`code.rs`, for `src/code.rs`) and its hashes, for the tests.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, process, thread};

use miniz_oxide::deflate::compress_to_vec;

#[path = "src/ptx.rs"]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "the library has it too, and uses more of it"
)]
mod ptx;
mod shipped;

use shipped::File;

/// The name of the files of machine code.
const CODE: &str = "kernels.tar";

/// The ending of the names of the modules that belong to the feature `ladder`.
const LADDER: &str = "_ladder";

/// Kernels are added to a group until its text has this many bytes. A group is much smaller than kernels packed one by
/// one, because they are alike, and it is quick to unpack for one of them.
const GROUP: usize = 64 * 1024;

/// Like `GROUP`, for machine code, which has more bytes per kernel.
const CODE_GROUP: usize = 128 * 1024;

/// The compression level, 0 to 10. At 5 an unoptimized build script takes 14 s of one processor for all modules, at 6 almost
/// twice as long for 1.7 % fewer bytes.
const EFFORT: u8 = 5;

/// The bytes of groups, and the files that they are written to, compressed.
type Groups = Vec<(PathBuf, Vec<u8>)>;

fn main() {
    let files = files().unwrap_or_else(|e| fail(&e.to_string()));
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shipped.rs");
    println!("cargo:rerun-if-changed=src/ptx.rs");
    let mut groups = Groups::new();
    let table = module_table(&files, &out, &mut groups);
    write(&out.join("modules.rs"), table.as_bytes());
    if env::var_os("CARGO_FEATURE_CUDA").is_some() {
        let (table, hashes) = code_table(&files, &out, &mut groups);
        write(&out.join("code.rs"), table.as_bytes());
        write(&out.join("code_hashes.rs"), hashes.as_bytes());
    }
    compress(&groups);
}

/// Writes each group to its file, compressed, with as many threads as cargo has jobs.
fn compress(groups: &Groups) {
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((path, bytes)) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            write(path, &compress_to_vec(bytes, EFFORT));
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.unwrap_or(1) {
            scope.spawn(worker);
        }
    });
}

/// Returns the files of a checkout or of a package. Cargo is told about those that are there: it would run this program each
/// time if one that it knows of is missing.
fn files() -> io::Result<Vec<File>> {
    let source = shipped::source(Path::new("."))?;
    println!("cargo:rerun-if-changed={source}");
    let files = if source == shipped::FOLDER {
        shipped::read(Path::new(source))
    } else {
        shipped::unpack(fs::File::open(source)?)
    };
    files.map_err(|e| io::Error::new(e.kind(), format!("{source}: {e}")))
}

/// Divides the PTX modules into groups for files in `out`. Returns their table as a Rust array of `Packed`.
fn module_table(files: &[File], out: &Path, packed: &mut Groups) -> String {
    let mut rows = String::from("&[\n");
    for File { arch, name, bytes } in files {
        let Some(family) = name.strip_suffix(".ptx") else {
            continue;
        };
        if family.ends_with(LADDER) && env::var_os("CARGO_FEATURE_LADDER").is_none() {
            continue;
        }
        let text = str::from_utf8(bytes).unwrap_or_else(|e| fail(&format!("{arch}/{name}: {e}")));
        for (number, (names, text)) in groups(text).into_iter().enumerate() {
            let path = out.join(format!("{arch}-{family}-{number}.deflate"));
            let _ = writeln!(
                rows,
                "    Packed {{ arch: {arch:?}, kernels: &{names:?}, text: include_bytes!({path:?}) }},"
            );
            packed.push((path, text.into_bytes()));
        }
    }
    rows + "]\n"
}

/// Divides the machine code into groups for files in `out`. Returns its table as a Rust array of `Packed`, and for the tests
/// an array of each image's architecture, kernel, size in bytes and hash.
fn code_table(files: &[File], out: &Path, packed: &mut Groups) -> (String, String) {
    let mut rows = String::from("&[\n");
    let mut hashes = rows.clone();
    for File { arch, bytes, .. } in files.iter().filter(|file| file.name == CODE) {
        let images = images(bytes).unwrap_or_else(|e| fail(&format!("{arch}/{CODE}: {e}")));
        for (name, image) in &images {
            let mut hasher = DefaultHasher::new();
            image.hash(&mut hasher);
            let (bytes, hash) = (image.len(), hasher.finish());
            let _ = writeln!(hashes, "    ({arch:?}, {name:?}, {bytes}, {hash}),");
        }
        for (number, (kernels, group)) in code_groups(images).into_iter().enumerate() {
            let path = out.join(format!("{arch}-code-{number}.deflate"));
            let _ = writeln!(
                rows,
                "    Packed {{ arch: {arch:?}, kernels: &{kernels:?}, images: include_bytes!({path:?}) }},"
            );
            packed.push((path, group));
        }
    }
    (rows + "]\n", hashes + "]\n")
}

/// Returns the images of an archive with their kernels' names, in the archive's order.
fn images(archive: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut images = Vec::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let mut image = Vec::new();
        entry.read_to_end(&mut image)?;
        let path = entry.path()?;
        let name = path.file_stem().and_then(|name| name.to_str());
        images.extend(name.map(|name| (name.to_owned(), image)));
    }
    Ok(images)
}

/// The name and size in bytes of each image of a group, and the concatenated images.
type CodeGroup = (Vec<(String, usize)>, Vec<u8>);

/// Divides images of machine code into groups.
fn code_groups(images: Vec<(String, Vec<u8>)>) -> Vec<CodeGroup> {
    let mut groups: Vec<CodeGroup> = Vec::new();
    for (name, image) in images {
        let row = (name, image.len());
        match groups
            .last_mut()
            .filter(|(_, group)| group.len() < CODE_GROUP)
        {
            Some((kernels, group)) => {
                kernels.push(row);
                group.extend(image);
            }
            None => groups.push((vec![row], image)),
        }
    }
    groups
}

/// Divides a module into groups: the names of each group's kernels, and its text.
fn groups(module: &str) -> Vec<(Vec<&str>, String)> {
    let (shared, kernels) = ptx::split(module);
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, text) in kernels {
        match groups.last_mut().filter(|(_, group)| group.len() < GROUP) {
            Some((names, group)) => {
                names.push(name);
                group.push_str(&text);
            }
            None => groups.push((vec![name], format!("{shared}{text}"))),
        }
    }
    groups
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|e| fail(&format!("{name}: {e}")))
}

fn write(path: &Path, bytes: &[u8]) {
    if let Err(e) = fs::write(path, bytes) {
        fail(&format!("{}: {e}", path.display()));
    }
}

fn fail(text: &str) -> ! {
    println!("cargo::error={text}");
    process::exit(1);
}
