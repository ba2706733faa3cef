//! The steps after the compiler: link, launch bounds, optimize, write PTX.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::builder::CudaBuilder;
use crate::ir::{self, Prepared};
use crate::module::{self, BuiltModule, EntryPoint};
use crate::options::{EmitOption, PanicMessages};
use crate::{CudaBuilderError, Module, PtxVersion, Toolchain, process, symbols};

/// The maximum number of modules that are optimized at the same time.
const JOBS: usize = 2;

/// Passes that keep only the code that the module's kernels reach.
const REDUCE: &str = "internalize,globaldce";
/// Passes that also optimize. LLVM 22 drops the assumptions about address spaces in its main pipeline, so they are used before
/// it. `infer-address-spaces` only uses a dominator tree that already exists; without one, an assumption holds no further than
/// the next place where branches join.
const OPTIMISE: &str =
    "internalize,globaldce,function(require<domtree>,infer-address-spaces),default<O3>,globaldce";
/// Passes without optimization: they only inline functions that must be inlined, and infer address spaces.
const PLAIN: &str =
    "internalize,globaldce,always-inline,function(require<domtree>,infer-address-spaces),globaldce";

pub(crate) struct Pipeline<'a> {
    pub(crate) builder: &'a CudaBuilder,
    pub(crate) toolchain: &'a Toolchain,
    /// The folder of the modules and all intermediate files.
    pub(crate) folder: &'a Path,
    /// The name of the single module if the entries are not divided.
    pub(crate) default_module: &'a str,
    pub(crate) ptx_version: PtxVersion,
}

impl Pipeline<'_> {
    /// Links `libraries` and returns their text.
    pub(crate) fn link(&self, libraries: &[PathBuf]) -> Result<String, CudaBuilderError> {
        let linked = self.linked();
        let mut command = self.tool("llvm-link");
        command
            .args(["-S", "--ignore-non-bitcode"])
            .args(libraries)
            .arg("-o")
            .arg(&linked);
        self.execute("linking the crates", &mut command)?;
        fs::read_to_string(&linked).map_err(CudaBuilderError::io("reading", &linked))
    }

    /// Returns the file of all crates' text.
    fn linked(&self) -> PathBuf {
        self.folder.join("linked.ll")
    }

    /// Writes one PTX file per module of the text of all crates.
    pub(crate) fn run(
        &self,
        text: String,
        modules: &[Module],
        wanted: Option<&[String]>,
    ) -> Result<Vec<BuiltModule>, CudaBuilderError> {
        let prepared = ir::prepare(&text, self.builder.arch)?;
        // It is large.
        drop(text);
        let linked = self.linked();
        if prepared.entries.is_empty() {
            return Err(CudaBuilderError::Modules(
                "kernels: a function with the calling convention `extern \"ptx-kernel\"` required, \
                 given none"
                    .to_owned(),
            ));
        }
        let mut parts: Vec<(String, Vec<EntryPoint>)> = match modules {
            [] => Vec::new(),
            _ => {
                let split = module::split(modules, &prepared.entries)?;
                modules
                    .iter()
                    .map(|module| module.name().to_owned())
                    .zip(split)
                    .collect()
            }
        };
        if modules.is_empty() {
            parts.push((self.default_module.to_owned(), prepared.entries.clone()));
        }
        if let Some(wanted) = wanted {
            for name in wanted {
                if !parts.iter().any(|(part, _)| part == name) {
                    return Err(CudaBuilderError::Modules(format!(
                        "module `{name}`: one of the crate's modules required, given another name"
                    )));
                }
            }
            parts.retain(|(part, _)| wanted.contains(part));
        }
        write(&linked, &prepared.text)?;

        // All modules start from the small part of the code that the kernels reach.
        let reduced = self.folder.join("reduced.ll");
        let entries = prepared.entries.iter().map(|entry| entry.name.as_str());
        let others = prepared.statics.iter().chain(&prepared.visible);
        let public = entries.chain(others.map(String::as_str));
        self.optimise(REDUCE, &linked, &reduced, "reduced", public)?;
        let text =
            fs::read_to_string(&reduced).map_err(CudaBuilderError::io("reading", &reduced))?;
        let text = ir::statics::place(&text, self.builder.use_constant_memory_space)?;
        let text = match self.builder.messages() {
            PanicMessages::Place => ir::panics::without_arguments(&text),
            PanicMessages::None | PanicMessages::Full => text,
        };
        write(&reduced, &symbols::canonical(&text))?;
        // The linked file is large and no longer needed.
        fs::remove_file(&linked).map_err(CudaBuilderError::io("removing", &linked))?;
        self.each(&parts, |(name, entries)| {
            self.module(&reduced, name, entries, &prepared)
        })
    }

    /// Builds one module.
    fn module(
        &self,
        reduced: &Path,
        name: &str,
        entries: &[EntryPoint],
        crates: &Prepared,
    ) -> Result<BuiltModule, CudaBuilderError> {
        let kernels = || entries.iter().map(|entry| entry.name.as_str());
        let kept = || kernels().chain(crates.visible.iter().map(String::as_str));
        let statics = &crates.statics;
        // A static that the host may write must stay visible in a module whose kernels read it, since otherwise its initial
        // value would count as its only value. The other modules do not contain it.
        let mut visible = Vec::new();
        if !statics.is_empty() {
            let probe = self.folder.join(format!("{name}.probe.ll"));
            self.optimise(REDUCE, reduced, &probe, name, kept())?;
            let text =
                fs::read_to_string(&probe).map_err(CudaBuilderError::io("reading", &probe))?;
            let read = |symbol: &&String| {
                text.lines()
                    .any(|line| line.starts_with(&format!("@{symbol} = ")))
            };
            visible = statics.iter().filter(read).collect();
        }
        let optimised = self.folder.join(format!("{name}.ll"));
        let public = kept().chain(visible.into_iter().map(String::as_str));
        let passes = if self.builder.nvvm_opts {
            OPTIMISE
        } else {
            PLAIN
        };
        self.optimise(passes, reduced, &optimised, name, public)?;

        let text =
            fs::read_to_string(&optimised).map_err(CudaBuilderError::io("reading", &optimised))?;
        if let Some(lowered) = ir::local::lower(&text) {
            write(&optimised, &lowered)?;
        }

        let path = self.folder.join(format!("{name}.ptx"));
        let unfinished = self.folder.join(format!("{name}.ptx.new"));
        self.write_ptx(name, &optimised, &unfinished)?;
        let text = fs::read_to_string(&unfinished)
            .map_err(CudaBuilderError::io("reading", &unfinished))?;
        let text = match with_aligned_maps(&text) {
            None => text,
            Some(aligned) => {
                write(&unfinished, &aligned)?;
                aligned
            }
        };
        let found = ptx_entries(&text);
        if !kernels().eq(found.iter().copied()) {
            return Err(CudaBuilderError::Modules(format!(
                "module `{name}`: the entries {} required in the PTX, given {}",
                kernels().collect::<Vec<_>>().join(", "),
                found.join(", ")
            )));
        }
        if lacks_allocator(&text) {
            return Err(CudaBuilderError::Modules(format!(
                "module `{name}`: a global allocator required where a crate uses `alloc`, given none; cuda_std has one \
                 with its feature `alloc`"
            )));
        }
        fs::rename(&unfinished, &path).map_err(CudaBuilderError::io("writing", &path))?;
        if let Some(EmitOption::Bitcode) = self.builder.emit {
            let bitcode = self.folder.join(format!("{name}.bc"));
            let mut command = self.tool("opt");
            command
                .arg("-passes=")
                .arg(&optimised)
                .arg("-o")
                .arg(&bitcode);
            self.execute("writing bitcode", &mut command)?;
        }
        Ok(BuiltModule {
            name: name.to_owned(),
            path,
            arch: self.builder.arch,
            ptx_version: self.ptx_version,
            entries: entries.to_vec(),
        })
    }

    fn optimise<'s>(
        &self,
        passes: &str,
        input: &Path,
        output: &Path,
        name: &str,
        public: impl Iterator<Item = &'s str>,
    ) -> Result<(), CudaBuilderError> {
        let list = self.folder.join(format!("{name}.public"));
        write(
            &list,
            &public.fold(String::new(), |text, symbol| text + symbol + "\n"),
        )?;
        let mut command = self.tool("opt");
        command
            .arg("-S")
            .arg(format!("-mcpu={}", self.builder.arch))
            .arg(format!("-passes={passes}"))
            .arg(option("-internalize-public-api-file=", &list))
            .arg(input)
            .arg("-o")
            .arg(output);
        self.execute(&format!("optimising `{name}`"), &mut command)
    }

    fn write_ptx(&self, name: &str, input: &Path, output: &Path) -> Result<(), CudaBuilderError> {
        let builder = self.builder;
        let mut command = self.tool("llc");
        command
            .arg(format!("-mcpu={}", builder.arch))
            .arg(format!("-mattr={}", self.ptx_version.feature()))
            // Level 0 is not possible: LLVM 22 then keeps atomic operations on local memory, which it cannot write.
            .arg(if builder.nvvm_opts { "-O3" } else { "-O1" })
            .arg(format!(
                "-nvptx-fma-level={}",
                if builder.fma_contraction { 2 } else { 0 }
            ))
            .arg(format!(
                "-nvptx-prec-divf32={}",
                if builder.fast_div { 0 } else { 2 }
            ))
            .arg(format!(
                "-nvptx-prec-sqrtf32={}",
                if builder.fast_sqrt { 0 } else { 1 }
            ));
        if builder.fma_contraction {
            command.arg("-fp-contract=fast");
        }
        if builder.ftz {
            command.arg("-denormal-fp-math-f32=preserve-sign");
        }
        command.arg(input).arg("-o").arg(output);
        self.execute(
            &format!("writing PTX of `{name}` for {}", builder.arch),
            &mut command,
        )
    }

    fn tool(&self, name: &str) -> Command {
        Command::new(self.toolchain.tool(name))
    }

    fn execute(&self, step: &str, command: &mut Command) -> Result<(), CudaBuilderError> {
        let failed = |message: String| CudaBuilderError::BuildFailed {
            step: step.to_owned(),
            message,
        };
        let program = command.get_program().to_owned();
        let output = process::run(command, None, false)
            .map_err(|error| failed(format!("`{}` {error}", program.to_string_lossy())))?;
        if output.status.success() {
            return Ok(());
        }
        // The first lines name the error; a crash of LLVM prints its stack after them.
        let lines: Vec<&str> = output.stderr.lines().take(20).collect();
        Err(failed(format!(
            "`{}` ended with {}\n{}",
            program.to_string_lossy(),
            output.status,
            lines.join("\n")
        )))
    }

    /// Runs `work` on every part, a few at a time, and returns the results in order.
    fn each<T: Sync, R: Send>(
        &self,
        parts: &[T],
        work: impl Fn(&T) -> Result<R, CudaBuilderError> + Sync,
    ) -> Result<Vec<R>, CudaBuilderError> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..JOBS.min(parts.len()) {
                scope.spawn(|| {
                    while let Some((index, part)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        parts.get(index).map(|part| (index, part))
                    } {
                        let result = work(part);
                        done.lock()
                            .unwrap_or_else(|e| e.into_inner())
                            .push((index, result));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push(value);
    text
}

fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    fs::write(path, text).map_err(CudaBuilderError::io("writing", path))
}

/// Returns the PTX text with the parameters whose address a kernel takes aligned to 64 bytes, as a tensor map must be, if there
/// are any. LLVM aligns a parameter to 16 bytes at most. `#[kernel]` writes the instructions that take the address.
fn with_aligned_maps(ptx: &str) -> Option<String> {
    let mut aligned: Option<String> = None;
    for (at, _) in ptx.match_indices("; cvta.param.u64 ") {
        let line = &ptx[..at];
        let name = line.rsplit(' ').next().unwrap_or_default();
        let declaration = |align: u32| format!(".param .align {align} .b8 {name}[128]");
        let text = aligned.get_or_insert_with(|| ptx.to_owned());
        *text = text.replace(&declaration(16), &declaration(64));
    }
    aligned
}

/// Returns whether a PTX text declares a function of rustc's allocator without defining it.
fn lacks_allocator(ptx: &str) -> bool {
    let mut declared = ptx.match_indices(".extern .func").map(|(at, _)| &ptx[at..]);
    declared.any(|text| {
        let end = text.find([';', '{']).unwrap_or(text.len());
        text[..end].contains("7___rustc")
    })
}

/// Returns the entries of a PTX text, ordered by name.
pub(crate) fn ptx_entries(ptx: &str) -> Vec<&str> {
    let mut names: Vec<&str> = ptx
        .lines()
        .filter_map(|line| line.strip_prefix(".visible .entry "))
        .map(|rest| rest.split(['(', ' ']).next().unwrap_or(rest))
        .collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_maps_are_aligned_to_64_bytes() {
        let ptx = "\t.param .align 16 .b8 k_param_1[128],\n\t.param .align 16 .b8 k_param_12[128]\n\
                   \tmov.b64 %rd1, k_param_1; cvta.param.u64 %rd1, %rd1;\n";
        let aligned = with_aligned_maps(ptx).unwrap();
        assert!(aligned.contains(".align 64 .b8 k_param_1[128]"));
        assert!(aligned.contains(".align 16 .b8 k_param_12[128]"));
        assert_eq!(
            with_aligned_maps(".param .align 16 .b8 k_param_1[128]"),
            None
        );
    }

    #[test]
    fn entries_of_a_ptx_text_are_found() {
        let ptx = ".visible .entry b__f32(\n\t.param .u64 b_param_0\n)\n{\n}\n\
                   .visible .entry a()\n{\n}\n.func helper()\n";
        assert_eq!(ptx_entries(ptx), ["a", "b__f32"]);
    }
}
