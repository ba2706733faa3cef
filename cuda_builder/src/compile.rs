//! The first step: cargo and rustc, from sources to libraries of LLVM bitcode.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::builder::CudaBuilder;
use crate::options::{DebugInfo, PanicMessages};
use crate::{CudaBuilderError, NvvmArch, Toolchain, process};

pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// Cargo's metadata of the crate before compilation.
#[derive(Debug)]
pub(crate) struct CrateInfo {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    /// The folder and name of every path dependency; empty unless requested.
    path_packages: Vec<(PathBuf, String)>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    source: Option<String>,
}

/// Returns a cargo command in the crate's folder with the device compiler and a clean environment.
fn cargo(toolchain: &Toolchain, root: &Path) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    process::clear_parent_cargo(&mut command);
    command
        .current_dir(root)
        .env("RUSTC", &toolchain.rustc)
        // The target's panic strategy, `-Zbuild-std` and the kernels' calling convention are unstable. This variable makes
        // a stable compiler accept them.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "");
    command
}

/// Gets cargo's metadata of the crate in `root`. With `dependencies`, also of its path dependencies.
pub(crate) fn crate_info(
    toolchain: &Toolchain,
    root: &Path,
    dependencies: bool,
) -> Result<CrateInfo, CudaBuilderError> {
    let missing = || CudaBuilderError::CratePathDoesntExist(root.to_owned());
    let root = root.canonicalize().map_err(|_| missing())?;
    if !root.join("Cargo.toml").is_file() {
        return Err(missing());
    }
    let failed = |message: String| CudaBuilderError::BuildFailed {
        step: format!("reading the manifest of {}", root.display()),
        message,
    };
    let mut command = cargo(toolchain, &root);
    command.args(["metadata", "--format-version", "1"]);
    if dependencies {
        command.args(["--filter-platform", TARGET]);
    } else {
        command.arg("--no-deps");
    }
    let output =
        process::run(&mut command, None, false).map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.stderr));
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let name = metadata
        .packages
        .iter()
        .find(|package| package.manifest_path.parent() == Some(&root))
        .map(|package| package.name.clone())
        .ok_or_else(|| failed("a package required, given a workspace without one".to_owned()))?;
    let path_packages = metadata
        .packages
        .into_iter()
        .filter(|package| package.source.is_none())
        .filter_map(|package| Some((package.manifest_path.parent()?.to_owned(), package.name)))
        .collect();
    Ok(CrateInfo {
        name,
        root,
        workspace_root: metadata.workspace_root,
        target_directory: metadata.target_directory,
        path_packages,
    })
}

/// One line of cargo's JSON messages, with the fields that the builder uses.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    target: Option<MessageTarget>,
    filenames: Option<Vec<PathBuf>>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct MessageTarget {
    name: String,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
}

/// Compiles the crate and returns the libraries of exactly this build, including `core`. Their order does not depend on
/// which compilation finished first.
///
/// `alloc` is only built for a crate that uses it. Only the compiler can tell, since any dependency may use it, depending
/// on its features. So the first build leaves it out until a crate requires it, and the file `<crate>.alloc` records that.
pub(crate) fn compile(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    info: &CrateInfo,
    flags: &[String],
    target_dir: &Path,
) -> Result<Vec<PathBuf>, CudaBuilderError> {
    let uses_alloc = target_dir.join(format!("{}.alloc", info.name));
    let with = |library| compile_with(library, builder, toolchain, info, flags, target_dir);
    if !uses_alloc.is_file() {
        match with("core") {
            Err(CudaBuilderError::BuildFailed { message, .. }) if lacks_alloc(&message) => {}
            done => return done,
        }
        std::fs::write(&uses_alloc, "")
            .map_err(CudaBuilderError::io("writing", uses_alloc.as_path()))?;
    }
    with("core,alloc")
}

/// Returns whether the compiler found no `alloc`, or one for another `core` beside the toolchain's libraries.
fn lacks_alloc(errors: &str) -> bool {
    errors.contains("`alloc`")
        && ["E0463", "E0460", "E0152"]
            .iter()
            .any(|code| errors.contains(&format!("error[{code}]")))
}

/// Compiles like [`compile`], with the given standard libraries.
fn compile_with(
    standard: &str,
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    info: &CrateInfo,
    flags: &[String],
    target_dir: &Path,
) -> Result<Vec<PathBuf>, CudaBuilderError> {
    // The separator in `CARGO_ENCODED_RUSTFLAGS`.
    if let Some(flag) = flags.iter().find(|flag| flag.contains('\x1f')) {
        return Err(CudaBuilderError::BuildFailed {
            step: "writing the compiler's flags".to_owned(),
            message: format!("paths without the control character 0x1f required, given {flag:?}"),
        });
    }
    let mut command = cargo(toolchain, &info.root);
    command
        .args([
            "rustc",
            "--lib",
            "--crate-type",
            "rlib",
            "--target",
            TARGET,
            "-Zprofile-rustflags",
        ])
        .arg(format!("-Zbuild-std={standard}"))
        .arg("--message-format=json")
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CUDA_ARCH", builder.arch.cuda_arch());
    // Without `--release` the checks of a debug build are on. The rest of the profile is the same.
    let profile = if builder.release { "RELEASE" } else { "DEV" };
    if builder.release {
        command.arg("--release");
    }
    for setting in architecture(builder) {
        command.arg("--config").arg(setting);
    }
    let debug = match builder.debug_info() {
        DebugInfo::None => "none",
        DebugInfo::LineTables => "line-tables-only",
        DebugInfo::Full => "full",
    };
    for (key, value) in [
        ("OPT_LEVEL", "3"),
        ("LTO", "off"),
        ("CODEGEN_UNITS", "1"),
        ("INCREMENTAL", "false"),
        ("PANIC", "abort"),
        ("STRIP", "none"),
        ("DEBUG", debug),
        (
            "DEBUG_ASSERTIONS",
            if builder.release { "false" } else { "true" },
        ),
        (
            "OVERFLOW_CHECKS",
            if builder.release { "false" } else { "true" },
        ),
    ] {
        command.env(format!("CARGO_PROFILE_{profile}_{key}"), value);
    }
    command.args(&builder.build_args);

    let failed = |message: String| CudaBuilderError::BuildFailed {
        step: format!("compiling `{}` for {}", info.name, builder.arch),
        message,
    };
    let output = process::run(&mut command, None, builder.verbose)
        .map_err(|error| failed(format!("`{}` {error}", toolchain.cargo.display())))?;
    let mut libraries = BTreeSet::new();
    let mut errors = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        match (message.reason.as_str(), message.message) {
            (
                "compiler-message",
                Some(Diagnostic {
                    level,
                    rendered: Some(text),
                }),
            ) => {
                if level.starts_with("error") {
                    errors += &text;
                } else if builder.verbose {
                    eprint!("{text}");
                }
            }
            ("compiler-artifact", _) => {
                let name = message.target.map(|target| target.name).unwrap_or_default();
                let id = message.package_id.unwrap_or_default();
                // The part after `#` is the name and version. The part before depends on the folder.
                let version = id.rsplit('#').next().unwrap_or_default().to_owned();
                if let Some(file) = message.filenames.as_deref().and_then(library) {
                    libraries.insert((name, version, file));
                }
            }
            _ => {}
        }
    }
    if !output.status.success() {
        // Cargo's own messages go to standard error; the compiler's diagnostics are in `errors`.
        let message = if errors.is_empty() {
            cargo_error(&output.stderr)
        } else {
            errors
        };
        return Err(failed(message));
    }
    Ok(libraries.into_iter().map(|(_, _, file)| file).collect())
}

/// Returns the library among the files of an artifact, if it is for the device. Libraries of procedural macros and build
/// scripts are for the host.
fn library(files: &[PathBuf]) -> Option<PathBuf> {
    let with = |extension: &str| {
        files
            .iter()
            .find(|file| file.extension().is_some_and(|found| found == extension))
    };
    let library = with("rlib")?;
    if !library.components().any(|part| part.as_os_str() == TARGET) {
        return None;
    }
    // Cargo copies the crate's own library to a name without a hash, which a build with other options may replace at any
    // time. The original lies beside the metadata file.
    let original = with("rmeta").map(|metadata| metadata.with_extension("rlib"));
    Some(
        original
            .filter(|file| file.is_file())
            .unwrap_or_else(|| library.clone()),
    )
}

/// Returns the part of cargo's standard error that is no progress report.
fn cargo_error(stderr: &str) -> String {
    let start = stderr
        .find("error")
        .map(|at| stderr[..at].rfind('\n').map_or(0, |end| end + 1));
    stderr[start.unwrap_or(0)..].trim_end().to_owned()
}

/// Returns the profile settings that compile all crates except `core` and `alloc` for the architecture. `core` and `alloc`
/// do not depend on the architecture: they are compiled once for all of them, and [`crate::ir::prepare`] writes the
/// architecture to them.
fn architecture(builder: &CudaBuilder) -> Vec<String> {
    let profile = if builder.release { "release" } else { "dev" };
    let mut flags = vec![format!("-Ctarget-cpu={}", builder.arch)];
    // The attributes that a crate of kernels may, but need not, write itself.
    for attribute in [
        "no_std",
        "feature(abi_ptx)",
        "feature(asm_experimental_arch)",
    ] {
        flags.push(format!("-Zcrate-attr={attribute}"));
    }
    flags.push("-Aduplicate_features".to_owned());
    flags.push("-Aunused_features".to_owned());
    if builder.use_constant_memory_space {
        // rustc's own passes may fold a table into the code. Whether a table remains would depend on the code that they
        // see.
        flags.push("-Cno-prepopulate-passes".to_owned());
        flags.push("-Zmir-opt-level=1".to_owned());
    }
    flags.push("--check-cfg=cfg(cuda_std_panic_messages, values(\"full\"))".to_owned());
    if builder.messages() == PanicMessages::Full {
        flags.push("--cfg=cuda_std_panic_messages=\"full\"".to_owned());
    }
    flags.push("--check-cfg=cfg(optix)".to_owned());
    if builder.optix {
        flags.push("--cfg=optix".to_owned());
    }
    // rustc sets features such as `sm_75`; Rust-CUDA's crates test for `compute_75`.
    flags.push("-Aexplicit_builtin_cfgs_in_flags".to_owned());
    for arch in builder.arch.included() {
        flags.push(format!("--cfg=target_feature=\"{}\"", arch.compute()));
    }
    let every = NvvmArch::ALL
        .iter()
        .map(|arch| format!("\"{}\"", arch.compute()));
    let every: Vec<String> = every.collect();
    flags.push(format!(
        "--check-cfg=cfg(target_feature, values({}))",
        every.join(", ")
    ));
    let flags: Vec<String> = flags.iter().map(|flag| format!("'{flag}'")).collect();
    let mut settings = vec![format!(
        "profile.{profile}.rustflags=[{}]",
        flags.join(", ")
    )];
    // Procedural macros and build scripts are for the host.
    for other in [
        "build-override",
        "package.core",
        "package.alloc",
        "package.compiler_builtins",
    ] {
        settings.push(format!("profile.{profile}.{other}.rustflags=[]"));
    }
    settings
}

/// Returns the rustc flags of all crates, in order, without that of [`generated`].
pub(crate) fn rustflags(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    info: &CrateInfo,
) -> Vec<String> {
    let panic = match builder.messages() {
        PanicMessages::None => "immediate-abort",
        PanicMessages::Place | PanicMessages::Full => "abort",
    };
    let mut flags = vec![
        // Makes libraries hold LLVM bitcode instead of PTX.
        "-Clinker-plugin-lto".to_owned(),
        "-Cembed-bitcode=yes".to_owned(),
        "-Zunstable-options".to_owned(),
        format!("-Cpanic={panic}"),
        // The pass duplicates a barrier into both arms of a branch around it. The lanes of a warp then wait at two
        // different barriers, which is undefined.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
    ];
    // Of several matching prefixes, rustc uses the last.
    for (from, to) in remapped_folders(toolchain, info) {
        flags.push(remap(&from, &to));
    }
    flags
}

/// Returns the last flag, which remaps files that build scripts write below cargo's target folder.
pub(crate) fn generated(target_dir: &Path) -> String {
    remap(target_dir, "/target")
}

fn remap(from: &Path, to: &str) -> String {
    format!("--remap-path-prefix={}={to}", from.display())
}

/// Returns folders of this machine and their replacements in the PTX.
fn remapped_folders(toolchain: &Toolchain, info: &CrateInfo) -> Vec<(PathBuf, String)> {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let mut folders = Vec::new();
    if let Some(home) = cargo_home {
        folders.push((home.join("registry/src"), "/registry".to_owned()));
        folders.push((home.join("git/checkouts"), "/git".to_owned()));
    }
    folders.push((
        toolchain.sysroot.join("lib/rustlib/src/rust"),
        "/rust".to_owned(),
    ));
    for (folder, name) in &info.path_packages {
        if !folder.starts_with(&info.workspace_root) {
            folders.push((folder.clone(), format!("/{name}")));
        }
    }
    folders.push((info.workspace_root.clone(), ".".to_owned()));
    folders
}

/// Returns the files that the last compilation of the crate read, for `cargo:rerun-if-changed`.
pub(crate) fn sources(builder: &CudaBuilder, info: &CrateInfo, target_dir: &Path) -> Vec<PathBuf> {
    let profile = if builder.release { "release" } else { "debug" };
    let library = format!("lib{}.d", info.name.replace('-', "_"));
    let listing = target_dir.join(TARGET).join(profile).join(library);
    let mut files = vec![info.root.join("Cargo.toml"), info.root.join("src")];
    let lock = info.workspace_root.join("Cargo.lock");
    if lock.is_file() {
        files.push(lock);
    }
    if let Ok(text) = std::fs::read_to_string(listing) {
        files.extend(dependency_files(&text));
    }
    files
}

/// Returns the files after the colon of a makefile's first rule. `\ ` is a space in a name.
fn dependency_files(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let mut name = String::new();
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&' ') => {
                characters.next();
                name.push(' ');
            }
            ' ' => files.push(PathBuf::from(std::mem::take(&mut name))),
            other => name.push(other),
        }
    }
    files.push(PathBuf::from(name));
    files.retain(|file| !file.as_os_str().is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefile_rules_are_read() {
        let text = "/t/libk.rlib: /a/src/lib.rs /a\\ b/src/x.rs\n\nother: rule\n";
        assert_eq!(
            dependency_files(text),
            [
                PathBuf::from("/a/src/lib.rs"),
                PathBuf::from("/a b/src/x.rs")
            ]
        );
        assert!(dependency_files("").is_empty());
        assert!(dependency_files("/t/libk.rlib: \n").is_empty());
    }

    #[test]
    fn host_libraries_are_left_out_and_originals_preferred() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join(TARGET).join("release");
        std::fs::create_dir_all(device.join("deps")).unwrap();
        let copy = device.join("libk.rlib");
        let original = device.join("deps/libk-12.rlib");
        let files = [copy.clone(), original.with_extension("rmeta")];
        assert_eq!(library(&files), Some(copy));
        std::fs::write(&original, "").unwrap();
        assert_eq!(library(&files), Some(original));
        assert_eq!(
            library(&[PathBuf::from("/target/release/deps/libsyn-3.rlib")]),
            None
        );
        assert_eq!(library(&[device.join("libk.so")]), None);
    }

    #[test]
    fn a_crate_that_asks_for_alloc_is_known_by_the_compilers_words() {
        assert!(lacks_alloc(
            "error[E0463]: can't find crate for `alloc`\n --> x.rs"
        ));
        assert!(!lacks_alloc("error[E0463]: can't find crate for `std`\n"));
        assert!(!lacks_alloc(
            "error[E0433]: cannot find `alloc` in the crate root\n"
        ));
    }

    #[test]
    fn progress_reports_are_left_out_of_errors() {
        let text = "   Updating index\nerror: no matching package\nlocation: here\n";
        assert_eq!(
            cargo_error(text),
            "error: no matching package\nlocation: here"
        );
        assert_eq!(cargo_error("killed\n"), "killed");
    }
}
