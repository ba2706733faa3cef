//! `package`: makes the packages for crates.io. That of the library has its PTX and machine code as one archive, which is made
//! here and never committed: a package of the folder itself would be twice as large as crates.io takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use fs_err as fs;
use zstd::zstd_safe::CParameter;

use crate::shipped::{self, File};
use crate::{Result, command, project};

/// The name of the library's package.
const LIBRARY: &str = "warpwright";

/// The most bytes that crates.io takes of a package: <https://doc.rust-lang.org/cargo/reference/publishing.html>.
const LIMIT: u64 = 10_000_000;

/// The level of compression. The highest, 22, makes the archive 6 % smaller and takes three times as long.
const LEVEL: i32 = 17;

/// The logarithm of the window's bytes. The decoder of the library's build script takes windows of up to 100 MiB.
const WINDOW: u32 = 26;

/// How to package.
#[derive(clap::Args)]
pub struct Arguments {
    /// Also build the library from the packages alone, offline, and compare what it contains with a build of this checkout.
    #[arg(long)]
    build: bool,
    /// Leave the archive in its place, for a `cargo publish --allow-dirty` that follows.
    #[arg(long)]
    keep: bool,
    /// Also package what is not committed.
    #[arg(long)]
    allow_dirty: bool,
}

/// Makes the packages and checks them.
pub fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.allow_dirty {
        // Cargo lists nothing if there is something that is not committed, which the archive itself will be.
        command::output("package", packaging().arg("--list"))?;
    }
    let files = shipped::read(&project::ptx_folder())?;
    let archive = Archive {
        path: project::root().join("host").join(shipped::ARCHIVE),
        keep: arguments.keep,
    };
    fs::write(&archive.path, pack(&files)?)?;

    let folder = project::target_dir().join("package");
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    let mut cargo = packaging();
    cargo.args(["--no-verify", "--allow-dirty"]);
    command::finish("package", &mut cargo)?;
    let packages = packages(&folder)?;
    for (name, path) in &packages {
        println!("{:>9} bytes  {name}", within(path, LIMIT)?);
    }

    let unpacked = tempfile::tempdir()?;
    let library = (packages.iter())
        .find(|(name, _)| is_library(name))
        .ok_or("package: no package of the library")?;
    let folder = unpack(library, unpacked.path())?;
    let packed = fs::File::open(folder.join(shipped::ARCHIVE))?;
    if shipped::unpack(packed)? != files {
        return Err("package: the archive has other files than host/ptx".into());
    }
    println!(
        "package: {} files of host/ptx are in it as they are",
        files.len()
    );
    if arguments.build {
        // Those that it depends on are not on crates.io before it is.
        let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
        let used = |name| lock.contains(&format!("\nname = \"{}\"\n", crate_name(name)));
        for other in packages.iter().filter(|(name, _)| used(name)) {
            unpack(other, unpacked.path())?;
        }
        build(&folder, unpacked.path())?;
    }
    Ok(())
}

/// Returns cargo's command for the packages.
fn packaging() -> Command {
    let mut cargo = command::cargo();
    cargo.args(["package", "--quiet", "--workspace"]);
    // The tests are never published, and depend on crates that are not either.
    cargo.args(["--exclude", "warpwright-tests"]);
    cargo
}

/// The archive beside the library's sources, which is removed when the value is dropped.
struct Archive {
    path: PathBuf,
    keep: bool,
}

impl Drop for Archive {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Packs files into an archive, the same for the same files.
fn pack(files: &[File]) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.set_parameter(CParameter::EnableLongDistanceMatching(true))?;
    encoder.set_parameter(CParameter::WindowLog(WINDOW))?;
    let mut tar = tar::Builder::new(encoder);
    for File { arch, name, bytes } in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into()?);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("{arch}/{name}"), &**bytes)?;
    }
    Ok(tar.into_inner()?.finish()?)
}

/// Returns the packages in a folder, in order, with their names and versions.
fn packages(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(name) = name.strip_suffix(".crate") {
            packages.push((name.to_owned(), path));
        }
    }
    packages.sort();
    Ok(packages)
}

/// Returns a package's name without its version.
fn crate_name(package: &str) -> &str {
    package.rsplit_once('-').map_or(package, |(name, _)| name)
}

fn is_library(package: &str) -> bool {
    crate_name(package) == LIBRARY
}

/// Returns the bytes of a package, which are no more than `limit`.
fn within(package: &Path, limit: u64) -> Result<u64> {
    let bytes = fs::metadata(package)?.len();
    if bytes <= limit {
        return Ok(bytes);
    }
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    Err(format!(
        "package: at most {limit} bytes required, which is what crates.io takes; {name} has {bytes}"
    )
    .into())
}

/// Unpacks a package. Returns its folder, `<name>-<version>` in `to`.
fn unpack((name, path): &(String, PathBuf), to: &Path) -> Result<PathBuf> {
    tar::Archive::new(GzDecoder::new(fs::File::open(path)?)).unpack(to)?;
    Ok(to.join(name))
}

/// Builds the library in `folder`, which is one of those of the packages in `all`, and compares what the build script makes
/// with what it makes in the checkout.
fn build(folder: &Path, all: &Path) -> Result<()> {
    let mut alone = command::cargo();
    alone
        .current_dir(folder)
        .args(["build", "--quiet", "--offline"]);
    for package in fs::read_dir(all)? {
        let package = package?.path();
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        let (name, path) = (crate_name(&name), package.to_string_lossy());
        if name != LIBRARY {
            let path = toml::Value::from(&*path);
            alone.arg(format!("--config=patch.crates-io.{name}.path={path}"));
        }
    }
    alone
        .env("CARGO_TARGET_DIR", all.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "none");
    let mut checkout = command::cargo();
    checkout.args(["check", "--quiet", "--package", LIBRARY]);
    let (alone, checkout) = (made(&mut alone)?, made(&mut checkout)?);
    let (names, others) = (alone.keys(), checkout.keys());
    if !names.eq(others) {
        return Err("package: the library alone has other groups than in the checkout".into());
    }
    for (name, bytes) in &alone {
        if checkout.get(name) != Some(bytes) {
            return Err(format!("package: the library alone has another {name}").into());
        }
    }
    println!(
        "package: builds alone, with the checkout's modules and machine code ({} files)",
        alone.len()
    );
    Ok(())
}

/// Runs a cargo command that builds the library with all its kernels. Returns the files that its build script makes.
fn made(cargo: &mut Command) -> Result<BTreeMap<String, Vec<u8>>> {
    cargo.args([
        "--lib",
        "--features",
        "ladder",
        "--message-format=json-render-diagnostics",
    ]);
    let report = command::output("package", cargo)?;
    let out = out_dir(&report).ok_or("package: cargo reports no folder of the build script's")?;
    let mut files = BTreeMap::new();
    for path in project::files(Path::new(&out), &[])? {
        let bytes = fs::read(&path)?;
        let bytes = match str::from_utf8(&bytes) {
            // The tables name the files of groups by their paths.
            Ok(text) => text.replace(&out, "").into_bytes(),
            Err(_) => bytes,
        };
        files.insert(project::name_below(Path::new(&out), &path)?, bytes);
    }
    Ok(files)
}

/// Returns the folder of the files that the library's build script made, by cargo's report.
fn out_dir(report: &str) -> Option<String> {
    let messages = report
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut folders = messages.filter_map(|message: serde_json::Value| {
        let (_, package) = message["package_id"].as_str()?.rsplit_once('#')?;
        let is_library = package.split('@').next() == Some(LIBRARY);
        let folder = message["out_dir"].as_str()?;
        is_library.then(|| folder.to_owned())
    });
    folders.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(arch: &str, name: &str, bytes: &[u8]) -> File {
        let (arch, name) = (arch.to_owned(), name.to_owned());
        let bytes = bytes.to_owned();
        File { arch, name, bytes }
    }

    #[test]
    fn what_is_packed_is_unpacked_as_it_is() {
        let text = ".visible .entry k()\n{\n\tadd.u32 %r1, %r2, %r3;\n}\n".repeat(10_000);
        let code: Vec<u8> = (0..100_000_u32)
            .flat_map(|i| i.wrapping_mul(i).to_le_bytes())
            .collect();
        let files = [
            file("sm_75", "scan.ptx", text.as_bytes()),
            file("sm_75", "scan_ladder.ptx", b""),
            file("sm_90", "kernels.tar", &code),
            file("sm_90", "scan.ptx", text.replace("u32", "u64").as_bytes()),
            file("sm_90a", "scan.ptx", b"\x00\xff"),
        ];
        let folder = tempfile::tempdir().unwrap();
        for File { arch, name, bytes } in &files {
            project::write(&folder.path().join(arch).join(name), bytes).unwrap();
        }
        project::write(&folder.path().join("manifest.json"), b"{}").unwrap();
        let read = shipped::read(folder.path()).unwrap();
        assert_eq!(read, files);
        let packed = pack(&read).unwrap();
        assert_eq!(shipped::unpack(&*packed).unwrap(), files);
        assert_eq!(pack(&read).unwrap(), packed);
        assert!(packed.len() < code.len() + text.len() / 100);

        for cut in [0, 3, packed.len() / 2, packed.len() - 1] {
            assert!(shipped::unpack(&packed[..cut]).is_err(), "{cut} bytes");
        }
    }

    #[test]
    fn a_checkout_is_taken_before_a_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = shipped::source(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask package"), "{error}");
        fs::write(folder.path().join(shipped::ARCHIVE), "").unwrap();
        assert_eq!(shipped::source(folder.path()).unwrap(), "ptx.tar.zst");
        fs::create_dir(folder.path().join(shipped::FOLDER)).unwrap();
        assert_eq!(shipped::source(folder.path()).unwrap(), "ptx");
    }

    #[test]
    fn a_package_over_the_limit_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warpwright-0.1.0.crate");
        fs::write(&path, [0; 10]).unwrap();
        assert_eq!(
            packages(folder.path()).unwrap(),
            [("warpwright-0.1.0".to_owned(), path.clone())]
        );
        assert_eq!(within(&path, 10).unwrap(), 10);
        let error = within(&path, 9).unwrap_err().to_string();
        assert_eq!(
            error,
            "package: at most 9 bytes required, which is what crates.io takes; warpwright-0.1.0.crate has 10"
        );
        assert!(is_library("warpwright-0.1.0") && !is_library("warpwright-gpu-0.1.0"));
    }

    #[test]
    fn the_library_is_found_in_the_report() {
        let message = |package: &str, folder: &str| {
            format!(
                r#"{{"reason":"build-script-executed","package_id":"{package}","out_dir":"{folder}"}}"#
            )
        };
        let report = [
            message(
                "registry+https://github.com/rust-lang/crates.io-index#libc@0.2.0",
                "/a",
            ),
            message(
                "path+file:///b/warpwright-cust-0.1.0#warpwright-cust@0.1.0",
                "/b",
            ),
            r#"{"reason":"compiler-artifact","package_id":"path+file:///c/host#warpwright@0.1.0"}"#
                .to_owned(),
            message("path+file:///c/host#warpwright@0.1.0", "/c"),
        ];
        assert_eq!(out_dir(&report.join("\n")).as_deref(), Some("/c"));
        assert_eq!(out_dir(&report[..3].join("\n")), None);
    }

    #[test]
    fn the_archive_goes_with_its_guard() {
        for keep in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(shipped::ARCHIVE);
            fs::write(&path, "").unwrap();
            drop(Archive {
                path: path.clone(),
                keep,
            });
            assert_eq!(path.exists(), keep);
        }
    }
}
