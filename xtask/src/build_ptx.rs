//! `build-ptx`: builds the committed PTX and machine code from the kernels' sources, and checks that they agree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use cuda_builder::assemble::Ptxas;
use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch, PanicMessages, Toolchain, ToolchainOptions};
use fs_err as fs;

use crate::manifest::{Manifest, Record, Tools};
use crate::{Result, cubins, project, sources, usage};

const REBUILD: &str = "type `cargo xtask build-ptx` and commit host/ptx";

/// What to build.
#[derive(clap::Args)]
pub struct Arguments {
    /// Build for this architecture only, as in `sm_80`; may be given several times.
    #[arg(long, value_name = "ARCH")]
    arch: Vec<NvvmArch>,
    /// Build this family only; may be given several times.
    #[arg(long, value_name = "FAMILY")]
    family: Vec<String>,
    /// With `line`, put source lines into the PTX, for profilers; with `full`, variables too. It goes to a
    /// folder of its own in the target folder, `ptx-line` or `ptx-full`.
    #[arg(long, value_enum, default_value_t = DebugLevel::None)]
    debug_info: DebugLevel,
    /// With `debug`, kernels check arithmetic for overflow and keep their debug assertions, and trap where
    /// one fails; the PTX goes to `ptx-debug` in the target folder.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Do not assemble what is built; machine code of other PTX is removed.
    #[arg(long, conflicts_with = "check")]
    no_assemble: bool,
    /// Change nothing; fail if the committed PTX is not what the sources say, if a kernel uses local
    /// memory without a reason, or if the PTX does not assemble for later architectures.
    #[arg(long)]
    check: bool,
    /// With `--check`, compile the modules of this architecture only, and assemble nothing; may be given several times. The
    /// committed files of all are compared with the manifest, and the manifest with the sources.
    #[arg(long, value_name = "ARCH", requires = "check", conflicts_with_all = ["arch", "family"])]
    rebuild: Vec<NvvmArch>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DebugLevel {
    /// No debug information.
    None,
    /// Files and lines.
    Line,
    /// Files, lines and variables.
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// Optimized, as it is shipped.
    Release,
    /// Optimized, with checks.
    Debug,
}

/// The settings of a build.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Settings {
    debug: DebugInfo,
    release: bool,
}

impl Settings {
    const SHIPPED: Self = Self {
        debug: DebugInfo::None,
        release: true,
    };

    fn of(arguments: &Arguments) -> Self {
        Self {
            debug: match arguments.debug_info {
                DebugLevel::None => DebugInfo::None,
                DebugLevel::Line => DebugInfo::LineTables,
                DebugLevel::Full => DebugInfo::Full,
            },
            release: arguments.profile == Profile::Release,
        }
    }

    /// Returns the folder in the target folder for modules that are not shipped.
    fn folder(self) -> String {
        let profile = if self.release { "" } else { "-debug" };
        let debug = match self.debug {
            DebugInfo::None => "",
            DebugInfo::LineTables => "-line",
            DebugInfo::Full => "-full",
        };
        format!("ptx{profile}{debug}")
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let selection = Selection::new(&arguments.arch, &arguments.family)?;
    let settings = Settings::of(arguments);
    match (arguments.check, settings == Settings::SHIPPED) {
        (true, true) if arguments.rebuild.is_empty() => check(&selection, &selection),
        (true, true) => check(&selection, &Selection::new(&arguments.rebuild, &[])?),
        (true, false) => Err(
            "build-ptx: --check without --debug-info and --profile required, given both: the committed \
             PTX is built with neither"
                .into(),
        ),
        (false, true) => build(&selection, !arguments.no_assemble),
        (false, false) => build_aside(&selection, settings, !arguments.no_assemble),
    }
}

/// The modules that a call selects.
struct Selection {
    /// The architectures, each with the names of its modules.
    modules: Vec<(NvvmArch, Vec<String>)>,
    /// Whether these are all shipped modules.
    complete: bool,
}

impl Selection {
    /// Selects these architectures and families. An empty list selects all shipped ones. Of an architecture, the modules that
    /// are shipped for it are selected; if none is, all modules of the families.
    fn new(archs: &[NvvmArch], families: &[String]) -> Result<Self> {
        let known = project::families();
        for name in families {
            project::require_family("build-ptx", name)?;
        }
        let chosen: Vec<String> = (known.into_iter())
            .filter(|family| families.is_empty() || families.iter().any(|name| name == family))
            .flat_map(project::existing_modules_of)
            .collect();
        let shipped = |arch: NvvmArch| {
            let is_shipped = |module: &&String| project::shipped(module).any(|it| it == arch);
            let modules = chosen.iter().filter(is_shipped).cloned();
            (arch, modules.collect::<Vec<_>>())
        };
        let modules = match archs {
            [] => (project::SHIPPED.iter())
                .map(|(arch, _)| shipped(*arch))
                .collect(),
            archs => (archs.iter().collect::<BTreeSet<_>>().into_iter())
                .map(|arch| match shipped(*arch) {
                    // Nothing of it is shipped, so that somebody wants to look at it.
                    (_, modules) if modules.is_empty() && !project::is_specific(*arch) => {
                        (*arch, chosen.clone())
                    }
                    shipped => shipped,
                })
                .collect(),
        };
        Ok(Self {
            modules,
            complete: archs.is_empty() && families.is_empty(),
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (NvvmArch, &str)> {
        (self.modules.iter())
            .flat_map(|(arch, modules)| modules.iter().map(move |module| (*arch, &**module)))
    }

    /// Returns, for each selected module that `auto` launches kernels of, the newest PTX that a device of `arch` compiles.
    fn later_inputs(&self, folder: &Path, arch: NvvmArch) -> Vec<usage::Input> {
        let modules: BTreeSet<&str> = self.pairs().map(|(_, module)| module).collect();
        (modules.into_iter())
            .filter(|module| project::family_of(module) == *module)
            .filter_map(|module| Some((module, project::assembled_from(arch, module)?)))
            .map(|(module, from)| usage::Input {
                arch,
                ..usage::input(folder, from, module)
            })
            .collect()
    }

    fn inputs(&self, folder: &Path) -> Vec<usage::Input> {
        self.pairs()
            .map(|(arch, family)| usage::input(folder, arch, family))
            .collect()
    }
}

/// A built module: its record, and its text.
pub struct Built {
    pub record: Record,
    pub text: String,
}

/// Builds all modules as they are shipped.
pub fn shipped(toolchain: &Toolchain) -> Result<Vec<Built>> {
    compile(&Selection::new(&[], &[])?, toolchain, Settings::SHIPPED)
}

/// Builds all modules with source lines into `ptx-line` in the target folder, and does not assemble them.
pub fn with_lines() -> Result<()> {
    let lines = Settings {
        debug: DebugInfo::LineTables,
        ..Settings::SHIPPED
    };
    build_aside(&Selection::new(&[], &[])?, lines, false)
}

/// Builds the selected modules with these tools, for several architectures at a time: while one waits for the compiler, which
/// takes one processor, another is optimized.
fn compile(selection: &Selection, toolchain: &Toolchain, settings: Settings) -> Result<Vec<Built>> {
    let sources = sources::hash()?;
    let selected: Vec<_> = (selection.modules.iter())
        .filter(|(_, names)| !names.is_empty())
        .collect();
    // A thread's error is passed on as text.
    let built = usage::in_parallel(&selected, |(arch, names)| {
        compile_for(*arch, names, toolchain, settings, &sources).map_err(|error| error.to_string())
    });
    let built = built.into_iter().collect::<Result<Vec<_>, String>>()?;
    Ok(built.into_iter().flatten().collect())
}

/// Builds these modules for one architecture.
fn compile_for(
    arch: NvvmArch,
    names: &[String],
    toolchain: &Toolchain,
    settings: Settings,
    sources: &str,
) -> Result<Vec<Built>> {
    let start = Instant::now();
    let modules = CudaBuilder::new(project::gpu_crate())
        .toolchain(toolchain)
        .target_dir(project::target_dir().join("cuda-builder"))
        .verbose(true)
        .arch(arch)
        .ptx_version(project::ptx_version(arch))
        .debug(settings.debug)
        .generate_line_info(false)
        .panic_messages(PanicMessages::None)
        .release(settings.release)
        .modules(project::modules(arch))
        .only(names)
        .build_args(&["--features", "ladder"])
        .build_modules()?;
    let mut built = Vec::new();
    for module in modules {
        let text = fs::read_to_string(&module.path)?;
        let record = Record {
            family: module.name,
            arch: arch.to_string(),
            ptx_version: module.ptx_version.to_string(),
            sha256: sources::text_hash(text.as_bytes()),
            sources: sources.to_owned(),
            tools: Tools::of(toolchain),
            entries: module.entries.into_iter().map(|entry| entry.name).collect(),
        };
        built.push(Built { record, text });
    }
    eprintln!(
        "built {} for {arch} in {:.1} s",
        names.join(", "),
        start.elapsed().as_secs_f64()
    );
    Ok(built)
}

fn build(selection: &Selection, assemble: bool) -> Result<()> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    eprintln!("building with {}", toolchain.summary());
    let built = compile(selection, &toolchain, Settings::SHIPPED)?;
    let folder = project::ptx_folder();
    for module in &built {
        project::write(&folder.join(module.record.file()), module.text.as_bytes())?;
    }
    let path = folder.join("manifest.json");
    let records: Vec<Record> = built.into_iter().map(|module| module.record).collect();
    // Machine code that is not rebuilt is removed: the old code would run in place of the new PTX.
    let result = match assemble.then(|| Ptxas::install(true)) {
        Some(Ok(ptxas)) => cubins::assemble(&ptxas, &folder, &records.iter().collect::<Vec<_>>()),
        Some(Err(error)) => {
            eprintln!("warning: there is no machine code of what was built: {error}");
            Ok(Vec::new())
        }
        None => Ok(Vec::new()),
    };
    let (assembled, failed) = match result {
        Ok(assembled) => (assembled, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let old = match Manifest::read(&path) {
        Ok(old) => old,
        // A file that cannot be read is replaced if nothing of it needs to be kept.
        Err(_) if selection.complete => None,
        Err(error) => return Err(error),
    };
    let mut manifest = merged(old, records, selection.complete);
    manifest.set_code(assembled.iter().map(|it| it.record.clone()).collect());
    cubins::write(&folder, &manifest, &assembled)?;
    project::write(&path, manifest.text()?.as_bytes())?;
    if selection.complete {
        for file in strays(&folder, &manifest)? {
            fs::remove_file(&file)?;
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    // Problems here are printed and stop only the check, because the developer may be about to fix them.
    if assemble {
        for problem in usage::report(&selection.inputs(&folder))? {
            eprintln!("warning: {problem}");
        }
    }
    for (arch, bytes) in cubins::sizes(&assembled) {
        println!("machine code for {arch}: {bytes} bytes");
    }
    println!(
        "wrote {} modules to {}",
        selection.pairs().count(),
        folder.display()
    );
    Ok(())
}

/// Returns the manifest with these records: as the complete list, or in place of the old records of the same modules. Old
/// machine code is kept if its architecture is shipped.
fn merged(old: Option<Manifest>, records: Vec<Record>, complete: bool) -> Manifest {
    let Some(mut manifest) = old else {
        return Manifest::new(records);
    };
    if complete {
        manifest.modules.clear();
    }
    manifest.replace(records);
    let is_shipped = |arch: &str| project::ASSEMBLED.iter().any(|it| it.sm() == arch);
    manifest.code.retain(|code| is_shipped(&code.arch));
    manifest
}

/// Builds modules that are not shipped.
fn build_aside(selection: &Selection, settings: Settings, assemble: bool) -> Result<()> {
    let toolchain = Toolchain::install(&ToolchainOptions::from_env(), true)?;
    eprintln!("building with {}", toolchain.summary());
    let folder = project::target_dir().join(settings.folder());
    for module in compile(selection, &toolchain, settings)? {
        project::write(&folder.join(module.record.file()), module.text.as_bytes())?;
    }
    if assemble {
        usage::report(&selection.inputs(&folder))?;
    }
    println!(
        "wrote {} modules to {}",
        selection.pairs().count(),
        folder.display()
    );
    Ok(())
}

/// Checks the committed files of `selection`, and builds those of `rebuilt` anew.
fn check(selection: &Selection, rebuilt: &Selection) -> Result<()> {
    let folder = project::ptx_folder();
    let manifest = Manifest::read(&folder.join("manifest.json"))?
        .ok_or_else(|| format!("host/ptx/manifest.json is not there; {REBUILD}"))?;
    let mut problems = committed_problems(selection, &manifest, &folder, &sources::hash()?)?;
    let records: Vec<&Record> = (selection.pairs())
        .filter_map(|(arch, family)| manifest.record(arch.sm(), family))
        .collect();
    problems.extend(cubins::committed_problems(&folder, &manifest, &records));
    if rebuilt.complete != selection.complete {
        let archs: Vec<&str> = rebuilt.modules.iter().map(|(arch, _)| arch.sm()).collect();
        eprintln!(
            "note: of all modules, those of {} are compiled",
            archs.join(", ")
        );
    }
    // Stale sources already mean that the PTX is old. A rebuild would only repeat that.
    if problems.is_empty() {
        problems = rebuild_problems(rebuilt, &manifest)?;
        if rebuilt.complete == selection.complete {
            problems.extend(cubins::rebuild_problems(&folder, &manifest, &records)?);
        }
    }
    if problems.is_empty() && rebuilt.complete == selection.complete {
        problems = usage::report(&selection.inputs(&folder))?;
        for &arch in project::LATER {
            usage::report_later(arch, &selection.later_inputs(&folder, arch))?;
        }
        return conclude(
            &problems,
            "mend the kernels, or add the reason to LOCAL_MEMORY_ALLOWED",
        );
    }
    conclude(&problems, REBUILD)
}

/// Rebuilds the modules if the compiler has the version that built the committed ones, and returns those that differ. If only
/// LLVM's patch version differs, a difference proves nothing and is reported as a note.
fn rebuild_problems(selection: &Selection, manifest: &Manifest) -> Result<Vec<String>> {
    let toolchain = tools_of(manifest)?;
    let tools = Tools::of(&toolchain);
    if let Some(record) = manifest
        .modules
        .iter()
        .find(|record| record.tools.rustc != tools.rustc)
    {
        eprintln!(
            "note: the committed PTX was built with {}, here is {tools}: the hashes of the sources \
             were compared, and the PTX was not rebuilt",
            record.tools
        );
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    for Built { record: new, .. } in compile(selection, &toolchain, Settings::SHIPPED)? {
        let Some(old) = manifest.record(&new.arch, &new.family) else {
            continue;
        };
        let mut same_tools = new.clone();
        same_tools.tools = old.tools.clone();
        if same_tools == *old {
            continue;
        }
        let problem = format!("{}: a rebuild gives another text", new.file());
        if new.tools == old.tools {
            problems.push(problem);
        } else {
            eprintln!(
                "note: {problem}; it was built with {}, here is {tools}",
                old.tools
            );
        }
    }
    Ok(problems)
}

fn conclude(problems: &[String], advice: &str) -> Result<()> {
    if problems.is_empty() {
        println!("host/ptx is what the sources say");
        return Ok(());
    }
    Err(format!("build-ptx --check: {advice}\n  {}", problems.join("\n  ")).into())
}

/// Returns the tools that the manifest names if they are installed, otherwise the best ones that are.
fn tools_of(manifest: &Manifest) -> Result<Toolchain> {
    let options = ToolchainOptions::from_env();
    let survey = Toolchain::survey(&options)?;
    let named = survey.usable.into_iter().find(|found| {
        manifest
            .modules
            .iter()
            .all(|record| record.tools == Tools::of(found))
    });
    match named {
        Some(toolchain) => Ok(toolchain),
        None => Ok(Toolchain::install(&options, true)?),
    }
}

/// Returns the problems of the committed files that need no rebuild.
fn committed_problems(
    selection: &Selection,
    manifest: &Manifest,
    folder: &Path,
    sources: &str,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (arch, family) in selection.pairs() {
        let Some(record) = manifest.record(arch.sm(), family) else {
            problems.push(format!(
                "{arch}/{family}.ptx: the manifest does not have it"
            ));
            continue;
        };
        match fs::read(folder.join(record.file())) {
            Err(error) => problems.push(format!("{}: {error}", record.file())),
            Ok(text) if sources::text_hash(&text) != record.sha256 => {
                problems.push(format!("{}: the file is not the manifest's", record.file()));
            }
            Ok(_) if record.sources != sources => {
                problems.push(format!("{}: the sources have changed since", record.file()));
            }
            Ok(_) => {}
        }
    }
    if selection.complete {
        for record in &manifest.modules {
            if !selection
                .pairs()
                .any(|(a, f)| a.sm() == record.arch && f == record.family)
            {
                problems.push(format!("{}: it is shipped no longer", record.file()));
            }
        }
        for code in &manifest.code {
            let is_shipped = project::ASSEMBLED.iter().any(|it| it.sm() == code.arch)
                && selection.pairs().any(|(_, module)| module == code.family);
            if !is_shipped {
                let (arch, family) = (&code.arch, &code.family);
                problems.push(format!(
                    "{arch}, {family}: machine code that is shipped no longer"
                ));
            }
        }
        let strays = strays(folder, manifest)?.into_iter();
        let strays = strays.map(|file| file.display().to_string());
        for stray in strays.chain(cubins::strays(folder, manifest)?) {
            problems.push(format!("{stray}: the manifest does not have it"));
        }
    }
    Ok(problems)
}

/// Returns the PTX files below the folder that the manifest does not name.
fn strays(folder: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>> {
    let known: BTreeSet<PathBuf> = manifest
        .modules
        .iter()
        .map(|record| folder.join(record.file()))
        .collect();
    let mut strays = project::files(folder, &[])?;
    strays.retain(|file| {
        file.extension().is_some_and(|extension| extension == "ptx") && !known.contains(file)
    });
    Ok(strays)
}

#[cfg(test)]
mod tests;
