//! The resources of each kernel, as reported by `ptxas`: a table, and the kernels that use local memory.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use cuda_builder::NvvmArch;
use cuda_builder::assemble::{Assembly, KernelUsage, Ptxas};

use crate::{Result, project};

/// The maximum number of modules or kernels that are assembled at the same time.
const JOBS: usize = 2;

/// A PTX file to assemble.
pub struct Input {
    /// The title of its table.
    pub title: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The architecture to assemble for.
    pub arch: NvvmArch,
}

/// Assembles every module, in the given order.
pub fn assemble(ptxas: &Ptxas, inputs: &[Input]) -> Result<Vec<Assembly>> {
    in_parallel(inputs, |input| ptxas.assemble(&input.path, input.arch))
        .into_iter()
        .map(|result| result.map_err(Into::into))
        .collect()
}

/// Does the work for each item, several at a time. The results are in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let todo = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..JOBS.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().unwrap_or_else(|e| e.into_inner()).next();
                    let Some((index, item)) = next else { break };
                    let result = work(item);
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

/// Returns the table of one module.
pub fn table(title: &str, assembly: &Assembly) -> String {
    let head = [
        "kernel",
        "registers",
        "shared",
        "stack",
        "spill stores",
        "spill loads",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for kernel in assembly.kernels.iter().chain(&assembly.functions) {
        rows.push([
            kernel.name.clone(),
            kernel.registers.to_string(),
            kernel.shared_bytes.to_string(),
            kernel.stack_bytes.to_string(),
            kernel.spill_store_bytes.to_string(),
            kernel.spill_load_bytes.to_string(),
        ]);
    }
    let widths: [usize; 6] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or_default()
    });
    let mut text = format!("{title}\n");
    for row in &rows {
        let numbers = (1..row.len()).map(|column| format!("{:>1$}", row[column], widths[column]));
        let numbers: Vec<String> = numbers.collect();
        text += &format!("  {:<2$}  {}\n", row[0], numbers.join("  "), widths[0]);
    }
    text
}

/// Returns the kernels that use local memory without a reason on the list.
pub fn offenders<'a>(assembly: &'a Assembly, allowed: &[(&str, &str)]) -> Vec<&'a KernelUsage> {
    assembly
        .kernels
        .iter()
        .chain(&assembly.functions)
        .filter(|kernel| kernel.uses_local_memory())
        .filter(|kernel| {
            !allowed
                .iter()
                .any(|(start, _)| kernel.name.starts_with(start))
        })
        .collect()
}

/// Returns `ptxas`, installed if it must be. Prints a warning if there is none.
fn ptxas() -> Option<Ptxas> {
    let found = Ptxas::install(true);
    if let Err(error) = &found {
        eprintln!("warning: nothing was assembled, so spills are not checked: {error}");
    }
    found.ok()
}

/// Assembles every module, prints the tables, and returns a line for each kernel that uses local memory without a reason.
/// Without `ptxas` it prints a note and returns no lines.
pub fn report(inputs: &[Input]) -> Result<Vec<String>> {
    let Some(ptxas) = ptxas() else {
        return Ok(Vec::new());
    };
    let mut problems = Vec::new();
    for (input, assembly) in inputs.iter().zip(assemble(&ptxas, inputs)?) {
        println!("{}", table(&input.title, &assembly));
        for kernel in offenders(&assembly, project::LOCAL_MEMORY_ALLOWED) {
            problems.push(format!(
                "{}: {} uses local memory: {} bytes of stack, {} spilled out, {} spilled in",
                input.title,
                kernel.name,
                kernel.stack_bytes,
                kernel.spill_store_bytes,
                kernel.spill_load_bytes
            ));
        }
    }
    println!("assembled with ptxas {}", ptxas.version);
    Ok(problems)
}

/// Assembles every module for an architecture that none is built for. Prints how many kernels there are, and which use local
/// memory without a reason. These are no errors: `ptxas` allocates registers for each architecture anew. Without `ptxas` it
/// prints a note.
///
/// # Errors
/// Returns an error if `ptxas` refuses a module.
pub fn report_later(arch: NvvmArch, inputs: &[Input]) -> Result<()> {
    let Some(ptxas) = ptxas() else {
        return Ok(());
    };
    let assemblies = assemble(&ptxas, inputs)?;
    let kernels: usize = assemblies.iter().map(|it| it.kernels.len()).sum();
    let local: Vec<&str> = (assemblies.iter())
        .flat_map(|it| offenders(it, project::LOCAL_MEMORY_ALLOWED))
        .map(|kernel| &*kernel.name)
        .collect();
    println!("assembled {kernels} kernels for {arch}; local memory without a reason: {local:?}");
    Ok(())
}

/// Returns the input for the module `family` of `arch` below `folder`.
pub fn input(folder: &Path, arch: NvvmArch, family: &str) -> Input {
    Input {
        title: format!("{family} {arch}"),
        path: folder.join(arch.sm()).join(format!("{family}.ptx")),
        arch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, stack_bytes: u32) -> KernelUsage {
        KernelUsage {
            name: name.to_owned(),
            registers: 40,
            stack_bytes,
            ..Default::default()
        }
    }

    #[test]
    fn columns_line_up() {
        let assembly = Assembly {
            kernels: vec![kernel("a", 0), kernel("long__f32", 1024)],
            functions: vec![],
        };
        let text = table("reduce sm_80", &assembly);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "reduce sm_80");
        assert_eq!(
            lines[1],
            "  kernel     registers  shared  stack  spill stores  spill loads"
        );
        assert_eq!(
            lines[3],
            "  long__f32         40       0   1024             0            0"
        );
        assert!(
            lines
                .iter()
                .skip(1)
                .all(|line| line.len() == lines[1].len())
        );
    }

    #[test]
    fn local_memory_needs_a_reason() {
        let assembly = Assembly {
            kernels: vec![
                kernel("clean", 0),
                kernel("sort_a__u8", 8),
                kernel("scan_a__u8", 16),
            ],
            functions: vec![kernel("helper", 4)],
        };
        let names = |allowed: &[(&str, &str)]| -> Vec<String> {
            offenders(&assembly, allowed)
                .iter()
                .map(|kernel| kernel.name.clone())
                .collect()
        };
        assert_eq!(names(&[]), ["sort_a__u8", "scan_a__u8", "helper"]);
        assert_eq!(
            names(&[("sort_", "a reason"), ("helper", "another")]),
            ["scan_a__u8"]
        );
    }
}
