//! `rust-cuda`: builds Rust-CUDA's kernels and the programs that launch them against this workspace, without changing a line of
//! source.

mod copy;
mod names;
mod parity;
mod program;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::assemble::Ptxas;
use cuda_builder::{CudaBuilder, NvvmArch};

use crate::{Result, project};

/// Build a checkout of Rust-CUDA against this workspace: the programs and the kernels of its examples and samples, and the
/// files of its compiler tests. In a copy, of which the dependency lines of the manifests alone are changed.
#[derive(clap::Args)]
pub struct Arguments {
    /// The checkout.
    checkout: PathBuf,
    /// Only what has one of these texts in its path.
    filters: Vec<String>,
    /// Show all of each error.
    #[arg(long)]
    errors: bool,
    /// Build nothing: write its crates' public names and signatures into the workspace, where a test reads them.
    #[arg(long)]
    names: bool,
    /// Put the programs into this folder too.
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
}

/// One crate to build.
struct Case {
    /// The crate's path in the checkout.
    title: String,
    /// The folder of its manifest, relative to the root of the copy.
    folder: String,
    kind: Kind,
}

enum Kind {
    /// A program, whose own build script builds its kernels.
    Program,
    /// A crate of kernels.
    Kernels {
        arch: NvvmArch,
        /// Whether static tables go to constant memory.
        constants: bool,
        /// The message with which upstream's compiler refuses the crate, if it does.
        refused: Option<String>,
    },
}

impl Kind {
    /// Makes the kind of a crate of kernels that is built as it is.
    fn kernels() -> Self {
        Self::Kernels {
            arch: NvvmArch::default(),
            constants: false,
            refused: None,
        }
    }
}

/// Builds the crates, one after the other.
pub fn run(arguments: &Arguments) -> Result<()> {
    let checkout = &arguments.checkout;
    let compiler_tests = checkout.join("tests/compiletests/ui");
    if !compiler_tests.is_dir() {
        return Err(format!(
            "rust-cuda: a checkout with the folder tests/compiletests/ui required, given {}",
            checkout.display()
        )
        .into());
    }
    if arguments.names {
        return parity::record(checkout);
    }
    let root = project::target_dir().join("rust-cuda");
    let copy = root.join("copy");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let mut cases = Vec::new();
    copy::write_stand_in(&copy)?;
    for folder in ["examples", "samples"] {
        for manifest in copy::found(&checkout.join(folder), &|path| path.ends_with("Cargo.toml"))? {
            let title = copy::copy_crate(checkout, &manifest, &copy)?;
            let kind = match manifest.with_file_name("src").join("main.rs").is_file() {
                true => Kind::Program,
                false => Kind::kernels(),
            };
            cases.push(Case {
                folder: title.clone(),
                title,
                kind,
            });
        }
    }
    for source in copy::found(&compiler_tests, &|path| {
        path.extension().is_some_and(|e| e == "rs")
    })? {
        cases.push(compiler_test(&compiler_tests, &source, &copy)?);
    }
    let members: Vec<&str> = cases.iter().map(|case| case.folder.as_str()).collect();
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[profile.release]\nstrip = true\n"
    );
    project::write(&copy.join("Cargo.toml"), workspace.as_bytes())?;

    let ptxas = Ptxas::install(true)?;
    let wanted = |case: &&Case| {
        let filters = &arguments.filters;
        filters.is_empty() || filters.iter().any(|filter| case.title.contains(filter))
    };
    let (mut good, mut all) = (0, 0);
    for case in cases.iter().filter(wanted) {
        all += 1;
        let judged = match &case.kind {
            Kind::Program => program::build(
                &copy.join(&case.folder),
                &root,
                arguments.programs.as_deref(),
            ),
            Kind::Kernels {
                arch,
                constants,
                refused,
            } => {
                let builder = CudaBuilder::new(copy.join(&case.folder))
                    .arch(*arch)
                    .use_constant_memory_space(*constants)
                    .target_dir(root.join("build"))
                    .install_tools(true);
                judge(builder, refused.as_deref(), &ptxas)
            }
        };
        match judged {
            Ok(what) => {
                good += 1;
                println!("ok     {}: {what}", case.title);
            }
            Err(error) => {
                let shown = if arguments.errors {
                    error.as_str()
                } else {
                    telling(&error)
                };
                println!("fails  {}: {shown}", case.title);
            }
        }
    }
    println!("{good} of {all}");
    if good < all {
        return Err(format!("rust-cuda: all {all} required, given {good}").into());
    }
    Ok(())
}

/// Returns the line of an error that names the problem.
fn telling(error: &str) -> &str {
    let mut lines = error.lines().filter(|line| line.contains("error"));
    lines.next().or(error.lines().next()).unwrap_or(error)
}

/// Builds and assembles a crate, or checks that it is refused if it must be.
fn judge(builder: CudaBuilder, refused: Option<&str>, ptxas: &Ptxas) -> Result<String, String> {
    let arch = builder.arch;
    let modules = match (builder.build_modules(), refused) {
        (Ok(modules), None) => modules,
        (Ok(_), Some(reason)) => return Err(format!("built, though upstream says `{reason}`")),
        (Err(error), Some(reason)) => {
            let error = error.to_string();
            // The error's code, or else its subject.
            let about = match reason
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
            {
                Some((code, _)) => format!("error[{code}]"),
                None => "constant memory".to_owned(),
            };
            return if error.contains(&about) {
                Ok(format!("refused, as upstream: {}", telling(&error)))
            } else {
                Err(error)
            };
        }
        (Err(error), None) => return Err(error.to_string()),
    };
    let mut what = String::new();
    for module in &modules {
        let _ = write!(what, "{} kernels for {}", module.entries.len(), module.arch);
        match assembled_for(arch) {
            Some(arch) => {
                ptxas
                    .assemble(&module.path, arch)
                    .map_err(|error| error.to_string())?;
            }
            None => what += ", which today's ptxas no longer assembles",
        }
    }
    Ok(what)
}

/// Returns the architecture to pass to `ptxas`: the crate's own if `ptxas` knows it. New versions drop old architectures, and
/// the PTX of an old one is valid for every later one, unless it has a letter.
fn assembled_for(arch: NvvmArch) -> Option<NvvmArch> {
    match arch.sm().ends_with(|c: char| c.is_ascii_alphabetic()) {
        false => Some(arch.max(NvvmArch::Compute75)),
        true if arch.sm().contains("101") => None,
        true => Some(arch),
    }
}

/// Makes a crate of one file of the compiler's tests, which stays in its place.
fn compiler_test(tests: &Path, source: &Path, copy: &Path) -> Result<Case> {
    let title = source
        .strip_prefix(tests)?
        .with_extension("")
        .to_string_lossy()
        .into_owned();
    let text = fs::read_to_string(source)?;
    let name = title.replace(['/', '.'], "_");
    let directive = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    // A file may set its crate's name.
    let library = directive("#![crate_name = \"").and_then(|rest| rest.split('"').next());
    let library = library.unwrap_or(&name).replace('-', "_");
    let cuda_std =
        copy::dependency("cuda_std", &toml::Value::Boolean(true), copy).unwrap_or_default();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\nname = \"{library}\"\npath = '{}'\n[dependencies]\ncuda_std = {}\n",
        source.canonicalize()?.display(),
        toml::Value::Table(cuda_std),
    );
    let folder = format!("ui/{name}");
    project::write(&copy.join(&folder).join("Cargo.toml"), manifest.as_bytes())?;
    // Upstream's compiler refuses a letter after an architecture, which is not an error of the file.
    let says = fs::read_to_string(source.with_extension("stderr")).unwrap_or_default();
    let refused = says
        .lines()
        .next()
        .filter(|line| line.starts_with("error") && !text.contains("// only-"))
        .map(str::to_owned);
    let arch = directive("// only-").map_or(Ok(NvvmArch::default()), |arch| arch.trim().parse())?;
    Ok(Case {
        title: format!("ui/{title}"),
        folder,
        kind: Kind::Kernels {
            arch,
            constants: text.contains("--use-constant-memory-space"),
            refused,
        },
    })
}
