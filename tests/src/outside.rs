//! Projects outside of the workspace, which tests build as a user would.

use std::{
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use system::folder;

/// Variables that a user's environment does not have, or need not have.
const NOT_A_USERS: &[&str] = &[
    "CUDA_HOME",
    "CUDA_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_BOOTSTRAP",
    "RUSTFLAGS",
];

/// The crates that a copy of this workspace compiles faster, to run slower: few of their kernels run there, on small inputs.
const OWN: &[&str] = &[
    "warpwright",
    "warpwright-bench",
    "warpwright-cli",
    "warpwright-defects",
    "warpwright-gpu",
    "warpwright-tests",
    "warpwright-workloads",
    "xtask",
];

/// The compiler's flags in this workspace.
const RUSTFLAGS: &str = include_str!(concat!(env!("OUT_DIR"), "/rustflags"));

/// Returns a cargo command for a user's project, without the variables of this workspace and of a CUDA toolkit.
///
/// What the project depends on is compiled faster and runs slower: it runs few kernels of the library, on small inputs. The
/// project's own crates keep their profile. All projects have one target folder, in the tests' folder `temporary`
/// (`CARGO_TARGET_TMPDIR`), and share build results.
pub fn cargo(program: impl AsRef<OsStr>, temporary: &str) -> Command {
    let mut command = plain(program, temporary);
    command
        .arg("--config=profile.dev.package.\"*\".opt-level=0")
        // The executor.
        .arg("--config=profile.dev.package.warpwright-cuda-std.opt-level=1")
        .env("CARGO_PROFILE_DEV_DEBUG", "none");
    command
}

/// Returns a cargo command for a copy of this workspace, whose programs go where those of [`cargo`] go.
///
/// The copy has this workspace's profiles, flags and folder of build results, so that no crate of a registry is built again.
/// Its version must be that of [`renumber`]: cargo names the build results of a package by its version and its path from the
/// root of its workspace, and those of a copy with this version would replace this workspace's. A project with paths to this
/// workspace's crates cannot have that folder at all.
///
/// # Panics
/// Panics if `temporary` is not in a folder.
pub fn cargo_of_copy(program: impl AsRef<OsStr>, temporary: &str) -> Command {
    let mut command = plain(program, temporary);
    for package in OWN {
        for setting in ["opt-level=0", "debug=false"] {
            command.arg(format!("--config=profile.dev.package.{package}.{setting}"));
        }
    }
    command
        .env("CARGO_BUILD_BUILD_DIR", results(temporary))
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS);
    command
}

/// Gives the packages of a copy of this workspace, whose root is `copy`, a version that differs in its build metadata.
///
/// # Panics
/// Panics if the manifest cannot be read or written, or has another version than this workspace.
pub fn renumber(copy: &Path) {
    let path = copy.join("Cargo.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let version = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n");
    let other = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "+copy\"\n");
    assert!(
        text.contains(version),
        "{}: {version:?} required",
        path.display()
    );
    fs::write(&path, text.replacen(version, other, 1)).expect("a manifest");
}

fn plain(program: impl AsRef<OsStr>, temporary: &str) -> Command {
    let mut command = Command::new(program);
    for variable in NOT_A_USERS {
        command.env_remove(variable);
    }
    command
        .env("CARGO_TARGET_DIR", programs(temporary))
        .env("CARGO_INCREMENTAL", "0");
    command
}

/// Returns the folder of the programs that [`cargo`] builds.
pub fn programs(temporary: &str) -> PathBuf {
    Path::new(temporary).join("outside")
}

/// Returns the folder of this workspace's build results: the target folder, in which the tests' folder `temporary` is.
///
/// # Panics
/// Panics if `temporary` is not in a folder.
pub fn results(temporary: &str) -> &Path {
    Path::new(temporary).parent().expect("a target folder")
}

/// A crate in the folder for temporary files that depends on `warpwright` by its path. Dropping the value removes the crate.
#[derive(Debug)]
pub struct Package {
    folder: PathBuf,
    /// The tests' folder for temporary files.
    temporary: &'static str,
}

impl Package {
    /// Makes a program with the text `main`. `options` follow the library's path, and `dependencies` are further lines.
    ///
    /// # Panics
    /// Panics if it cannot be written.
    pub fn new(
        temporary: &'static str,
        name: &str,
        options: &str,
        dependencies: &str,
        main: &str,
    ) -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = tests.parent().unwrap();
        // The folder is the same in every run of this workspace, so that builds are reused.
        let mut hasher = DefaultHasher::new();
        workspace.hash(&mut hasher);
        let folder = folder::temporary(&format!("{name}-{:016x}", hasher.finish()));
        assert!(
            !folder.starts_with(workspace),
            "{} is in the workspace",
            folder.display()
        );
        let _ = fs::remove_dir_all(&folder);
        // The folder is private, because its contents are built and run.
        let folder = folder::private(&folder).unwrap();
        fs::create_dir(folder.join("src")).unwrap();
        let library = workspace.join("host");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nwarpwright = {{ path = {library:?}{options} }}\n{dependencies}\
             # With the features that it has in the examples, so that what uses it is not built again.\n\
             libm = \"0.2\"\n\n\
             [profile.dev]\nopt-level = 1\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/main.rs"), main).unwrap();
        // The versions of the workspace, so that nothing must be resolved.
        fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Self { folder, temporary }
    }

    /// Builds and runs the program, with the additions of `settings` to cargo's environment, and returns its output.
    ///
    /// # Panics
    /// Panics if the build or the run fails.
    pub fn run(&self, settings: impl FnOnce(&mut Command) -> &mut Command) -> String {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut command = cargo(program, self.temporary);
        command
            .args(["run", "--quiet", "--offline"])
            .current_dir(&self.folder);
        let output = settings(&mut command).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:\n{errors}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // Files left in the temporary folder do no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
