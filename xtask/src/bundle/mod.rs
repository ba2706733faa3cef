//! `bundle`: collects the program, the tests, and scripts that run them in a folder for a GPU machine without Rust. The
//! commands `sanitize` and `profile` use the scripts as well.

mod build;
#[path = "../../../tests/src/faults/compile.rs"]
mod compile;
mod lines;

use std::io::Write;
use std::path::{Path, PathBuf};

use cuda_builder::{NvvmArch, PanicMessages};
use fs_err::{self as fs, File};
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use liblzma::write::XzEncoder;

use crate::{Result, project};
use build::Executable;

/// The size that a bundle should stay below, in bytes.
const SIZE_LIMIT: u64 = 60 << 20;

/// The archive of the test programs.
const TESTS: &str = "tests.tar.xz";
/// The archive of [`KERNELS`], which the scripts unpack.
const KERNELS_ARCHIVE: &str = "kernels.tar.xz";
/// The archived kernels: those with source lines, the sources, and those of the tuning tables. The text compresses to a tenth.
const KERNELS: [&str; 3] = ["ptx", "source", "tune"];

/// The window of the archive's compressor. The test programs share the library and its PTX: a window over several of them makes
/// the archive a fifth of the size of separate ones.
const WINDOW: u32 = 128 << 20;

/// The scripts: names and texts.
const SCRIPTS: &[(&str, &str)] = &[
    ("run.sh", include_str!("run.sh")),
    ("sanitize.sh", include_str!("sanitize.sh")),
    ("profile.sh", include_str!("profile.sh")),
];

/// The tests that the bundle leaves out: the package, the test (`None` for the whole package), and the reason.
///
/// Tests that run a compiler or read the source tree belong here.
const LEFT_OUT: &[(&str, Option<&str>, &str)] = &[
    (
        "xtask",
        None,
        "the project's own commands work on the source tree",
    ),
    ("warpwright-cuda-builder", None, "it drives a Rust compiler"),
    (
        "warpwright-cuda-std-macros",
        None,
        "a procedural macro runs inside the compiler",
    ),
    (
        "warpwright-cuda-std",
        Some("compile_fail"),
        "it compiles programs",
    ),
    (
        "warpwright-cli",
        Some("mutations"),
        "it reads the corpus in the source tree",
    ),
    ("warpwright", Some("compile_fail"), "it compiles programs"),
    (
        "warpwright-tests",
        Some("cuda_std_parity"),
        "it says all when it is compiled",
    ),
    (
        "warpwright-tests",
        Some("cust_parity"),
        "it says all when it is compiled, and builds the published crate",
    ),
    (
        "warpwright-tests",
        Some("defects_build"),
        "it builds kernels",
    ),
    (
        "warpwright-tests",
        Some("device_build"),
        "it builds kernels",
    ),
    (
        "warpwright-tests",
        Some("examples"),
        "it builds the examples",
    ),
    (
        "warpwright-tests",
        Some("package"),
        "it packages and builds the crates",
    ),
    ("warpwright-tests", Some("tidy"), "it reads the source tree"),
];

/// The architectures for which the test `device_library` runs the device library's kernels.
const DEVICE_TESTS: &[NvvmArch] = &[
    NvvmArch::Compute75,
    NvvmArch::Compute80,
    NvvmArch::Compute90,
    NvvmArch::Compute90a,
];

/// Where to put the bundle.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder: a new or an empty one, or an earlier bundle, which is replaced.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = &arguments.folder;
    clear(folder)?;
    let excluded: Vec<&str> = LEFT_OUT
        .iter()
        .filter(|(_, test, _)| test.is_none())
        .map(|(package, ..)| *package)
        .collect();
    let built = build::workspace(&excluded)?;
    let tests = chosen(&built.tests)?;
    let programs = tests.iter().map(|test| (test.name(), test.path.as_path()));
    pack(programs, &folder.join(TESTS))?;
    fs::copy(&built.program, folder.join("warpwright"))?;
    for (name, path) in &built.examples {
        fs::copy(path, folder.join(name))?;
    }
    let folder_of_driver = folder.join("fault-driver");
    fs::create_dir_all(&folder_of_driver)?;
    compile::compile(&project::root(), &folder_of_driver.join("libcuda.so.1"))?;
    let folder_of_kernels = folder.join("device-tests");
    fs::create_dir_all(&folder_of_kernels)?;
    for arch in DEVICE_TESTS {
        let to = folder_of_kernels.join(format!("{}.ptx", arch.sm()));
        build::device_tests(*arch, &to)?;
    }
    for messages in [PanicMessages::Place, PanicMessages::Full] {
        build::program_tests(messages, &folder_of_kernels)?;
    }
    crate::tune::build(&folder.join("tune"), None)?;
    add_tools(folder)?;
    pack_away(folder, &KERNELS, &folder.join(KERNELS_ARCHIVE))?;
    fs::write(folder.join("README.txt"), read_me(&tests))?;

    let bytes = size(folder)?;
    println!(
        "{}: the program and {} test programs, {:.1} MiB",
        folder.display(),
        tests.len(),
        bytes as f64 / f64::from(1 << 20)
    );
    if bytes > SIZE_LIMIT {
        eprintln!(
            "warning: a bundle should stay below {} MiB",
            SIZE_LIMIT >> 20
        );
    }
    Ok(())
}

/// Makes a folder with the program, the PTX and the scripts, without tests, for sanitizers and profilers. Returns its path.
pub fn tools() -> Result<PathBuf> {
    let folder = project::target_dir().join("bundle-tools");
    clear(&folder)?;
    fs::copy(&build::program()?, folder.join("warpwright"))?;
    add_tools(&folder)?;
    Ok(folder)
}

/// Returns the path of a program of the CUDA toolkit, found in the same places as the scripts do. `title` names it in errors.
pub fn toolkit_program(name: &str, title: &str) -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let toolkits = [
        variable("CUDA_HOME"),
        variable("CUDA_PATH"),
        Some("/usr/local/cuda".into()),
    ];
    std::env::split_paths(&path)
        .chain(toolkits.into_iter().flatten().map(|folder| folder.join("bin")))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "{title} required, found none; it is part of the CUDA toolkit: install that, and put \
                 its bin folder on PATH or set CUDA_HOME"
            )
            .into()
        })
}

/// Adds the scripts, the PTX with source lines, and the sources that it refers to.
fn add_tools(folder: &Path) -> Result<()> {
    for (name, text) in SCRIPTS {
        let path = folder.join(name);
        fs::write(&path, text)?;
        make_executable(&path)?;
    }
    let (from, lines) = match build::ptx_with_lines() {
        Ok(from) => (from, true),
        Err(error) => {
            eprintln!("warning: the PTX in the bundle has no source lines: {error}");
            (project::ptx_folder(), false)
        }
    };
    for arch in list(&from)?.into_iter().filter(|path| path.is_dir()) {
        let target = folder
            .join("ptx")
            .join(arch.file_name().unwrap_or_default());
        fs::create_dir_all(&target)?;
        for module in list(&arch)? {
            if module.extension().is_none_or(|it| it != "ptx") {
                continue;
            }
            let text = fs::read_to_string(&module)?;
            let text = if lines {
                lines::told_in_kernels(&text)
            } else {
                text
            };
            fs::write(target.join(module.file_name().unwrap_or_default()), text)?;
        }
    }
    copy_sources(
        &project::gpu_crate().join("src"),
        &folder.join("source/gpu/src"),
    )
}

/// Makes the folder, or empties it if it holds a bundle. A folder with anything else is refused.
fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        let entries = list(folder)?;
        if !entries.is_empty() && !folder.join("run.sh").is_file() {
            return Err(format!(
                "bundle: a new or empty folder or an earlier bundle required, given {}",
                folder.display()
            )
            .into());
        }
        for entry in entries {
            remove(&entry)?;
        }
    }
    fs::create_dir_all(folder)?;
    Ok(())
}

/// Returns the tests that go into the bundle.
fn chosen(tests: &[Executable]) -> Result<Vec<&Executable>> {
    let is_left_out = |it: &Executable| {
        LEFT_OUT
            .iter()
            .any(|(package, test, _)| it.package == *package && *test == Some(&it.target))
    };
    let chosen: Vec<&Executable> = tests.iter().filter(|it| !is_left_out(it)).collect();
    if chosen.is_empty() {
        return Err("bundle: cargo built no test".into());
    }
    Ok(chosen)
}

fn read_me(tests: &[&Executable]) -> String {
    let mut text = format!(
        "warpwright {}: the program and its tests, for a machine without Rust (x86-64 Linux).\n\
         \n\
         warpwright      the program; ./warpwright --help\n\
         warpwright-bench  times it beside its peers; ./warpwright-bench --help\n\
         overlap         an example: copies that overlap\n\
         run.sh          runs the tests; with WARPWRIGHT_REQUIRE_CUDA=1 a machine without a CUDA\n\
         \x20               device is a failure; ./run.sh WORD... runs those with a word in their name\n\
         sanitize.sh     the kernels under compute-sanitizer (of the CUDA toolkit)\n\
         profile.sh      one kernel under Nsight Compute (of the CUDA toolkit)\n\
         tests.tar.xz    the test programs (run.sh needs tar and xz); device-tests: kernels that they run\n\
         kernels.tar.xz  the kernels with source lines, for the two above, which unpack it, and tune, the kernels\n\
         \x20               of ./warpwright-bench tune all: every row of the tables of tuning, timed (first: tar xf kernels.tar.xz)\n\
         \n\
         Test programs:\n",
        env!("CARGO_PKG_VERSION")
    );
    for test in tests {
        text += &format!("  {}\n", test.name());
    }
    text += "\nLeft out:\n";
    for (package, test, reason) in LEFT_OUT {
        text += &format!("  {package} {}: {reason}\n", test.unwrap_or("(all)"));
    }
    text
}

/// Packs these names of a folder into an archive, and removes them from the folder.
fn pack_away(folder: &Path, names: &[&str], to: &Path) -> Result<()> {
    let mut files = Vec::new();
    for path in names.iter().map(|name| folder.join(name)) {
        let below = match path.is_dir() {
            true => project::files(&path, &[])?,
            false => vec![path],
        };
        for file in below {
            files.push((project::name_below(folder, &file)?, file));
        }
    }
    let named = files.iter();
    pack(named.map(|(name, path)| (name.clone(), path.as_path())), to)?;
    for name in names {
        remove(&folder.join(name))?;
    }
    Ok(())
}

/// Packs files, each under the given name.
fn pack<'a>(programs: impl Iterator<Item = (String, &'a Path)>, to: &Path) -> Result<()> {
    let mut options = LzmaOptions::new_preset(1)?;
    options.dict_size(WINDOW);
    let stream = Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc64)?;
    let mut archive = tar::Builder::new(XzEncoder::new_stream(File::create(to)?, stream));
    for (name, from) in programs {
        archive.append_path_with_name(from, name)?;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(())
}

/// Copies the Rust files of a folder.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    for path in project::files(from, &[])? {
        let text = fs::read(&path)?;
        project::write(&to.join(path.strip_prefix(from)?), &text)?;
    }
    Ok(())
}

/// Removes a file, or a folder with its contents.
fn remove(path: &Path) -> Result<()> {
    match path.is_dir() {
        true => fs::remove_dir_all(path)?,
        false => fs::remove_file(path)?,
    }
    Ok(())
}

/// Returns the contents of a folder, in order.
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Returns the bytes of all files in a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in project::files(folder, &[])? {
        bytes += fs::metadata(path)?.len();
    }
    Ok(bytes)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
