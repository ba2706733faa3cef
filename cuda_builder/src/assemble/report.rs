//! The report of `ptxas -v`.

use crate::CudaBuilderError;

/// The resources of the kernels of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assembly {
    /// The kernels, ordered by name.
    pub kernels: Vec<KernelUsage>,
    /// The functions that were not inlined into a kernel and have their own stack frame or spills, ordered by name. Their
    /// `registers`, `shared_bytes` and `constant_bytes` are 0.
    pub functions: Vec<KernelUsage>,
}

impl Assembly {
    /// Returns the assembly, which a build script may require to be without register spills. Arrays that are in local memory
    /// because a kernel indexes them (`stack_bytes`) are no spills.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::BuildFailed`] with the kernels and functions that spill, and how many bytes.
    pub fn without_spills(self) -> Result<Self, CudaBuilderError> {
        let all = self.kernels.iter().chain(&self.functions);
        let spilled: Vec<String> = all
            .filter(|it| it.spill_store_bytes + it.spill_load_bytes > 0)
            .map(|it| {
                let KernelUsage {
                    name,
                    spill_store_bytes,
                    spill_load_bytes,
                    ..
                } = it;
                format!("{name}: {spill_store_bytes} bytes stored, {spill_load_bytes} bytes loaded")
            })
            .collect();
        if spilled.is_empty() {
            return Ok(self);
        }
        Err(CudaBuilderError::BuildFailed {
            step: "assembling without register spills".to_owned(),
            message: spilled.join("\n"),
        })
    }
}

/// The resources of a kernel, per thread unless stated otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelUsage {
    /// The name of the entry.
    pub name: String,
    /// The number of 32-bit registers.
    pub registers: u32,
    /// The static shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The stack frame in local memory, in bytes.
    pub stack_bytes: u32,
    /// The bytes written by register spills to local memory.
    pub spill_store_bytes: u32,
    /// The bytes read by register spills from local memory.
    pub spill_load_bytes: u32,
    /// The constant memory per module, in bytes, including parameters.
    pub constant_bytes: u32,
}

impl KernelUsage {
    /// Returns whether the kernel has a stack frame or spills in local memory.
    pub fn uses_local_memory(&self) -> bool {
        self.stack_bytes > 0 || self.spill_store_bytes > 0 || self.spill_load_bytes > 0
    }
}

/// Parses a report.
pub(super) fn parse(text: &str) -> Assembly {
    let mut assembly = Assembly::default();
    let mut entry: Option<KernelUsage> = None;
    // The function that the next line of numbers describes.
    let mut subject = String::new();
    for line in text.lines() {
        if let Some(name) = between(line, "Compiling entry function '", "'") {
            assembly.kernels.extend(entry.take());
            entry = Some(KernelUsage {
                name: name.to_owned(),
                ..Default::default()
            });
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            name.trim().clone_into(&mut subject);
        } else if line.contains(" bytes stack frame") {
            let read = KernelUsage {
                name: subject.clone(),
                stack_bytes: before(line, " bytes stack frame"),
                spill_store_bytes: before(line, " bytes spill stores"),
                spill_load_bytes: before(line, " bytes spill loads"),
                ..Default::default()
            };
            match &mut entry {
                Some(kernel) if kernel.name == subject => {
                    kernel.stack_bytes = read.stack_bytes;
                    kernel.spill_store_bytes = read.spill_store_bytes;
                    kernel.spill_load_bytes = read.spill_load_bytes;
                }
                _ if read.uses_local_memory() => assembly.functions.push(read),
                _ => {}
            }
        } else if line.contains("Used ")
            && line.contains(" registers")
            && let Some(kernel) = &mut entry
        {
            kernel.registers = before(line, " registers");
            kernel.shared_bytes = before(line, " bytes smem");
            kernel.constant_bytes = line
                .split(',')
                .filter(|part| part.contains(" bytes cmem["))
                .map(first)
                .sum();
        }
    }
    assembly.kernels.extend(entry);
    assembly.kernels.sort_by(|a, b| a.name.cmp(&b.name));
    assembly.functions.sort_by(|a, b| a.name.cmp(&b.name));
    // The same function is reported once for every kernel that calls it.
    assembly.functions.dedup();
    assembly
}

/// Returns the lines that tell of `wgmma` which `ptxas` serialized and of `setmaxnreg` which it ignored, if there are any. It
/// calls neither a warning; their numbers begin with C75.
pub(super) fn losses(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("(C75")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the version in the output of `ptxas --version`: `... release 13.0, V13.0.88`.
pub(super) fn version(text: &str) -> Option<String> {
    let rest = text.split(", V").nth(1)?;
    Some(rest.split_whitespace().next()?.to_owned())
}

fn between<'a>(line: &'a str, start: &str, end: &str) -> Option<&'a str> {
    line.split_once(start)?
        .1
        .split_once(end)
        .map(|(middle, _)| middle)
}

/// Returns the number before `unit` in the line, or 0 if the line does not contain the unit.
fn before(line: &str, unit: &str) -> u32 {
    let Some((head, _)) = line.split_once(unit) else {
        return 0;
    };
    let digits = head
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + 1);
    head[digits..].parse().unwrap_or(0)
}

fn first(part: &str) -> u32 {
    part.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
ptxas info    : 48 bytes gmem, 32 bytes cmem[3]
ptxas info    : Compiling entry function 'sum_rows__f64' for 'sm_80'
ptxas info    : Function properties for sum_rows__f64
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Function properties for _RNvCs1_6helper3sum
    24 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 5.071 ms
ptxas info    : Compiling entry function 'fill__f32' for 'sm_80'
ptxas info    : Function properties for fill__f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _RNvCs1_6helper3sum
    24 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 372 bytes cmem[0]
";

    #[test]
    fn numbers_go_to_their_kernels() {
        let assembly = parse(REPORT);
        assert_eq!(
            assembly.kernels,
            [
                KernelUsage {
                    name: "fill__f32".to_owned(),
                    registers: 8,
                    constant_bytes: 372,
                    ..Default::default()
                },
                KernelUsage {
                    name: "sum_rows__f64".to_owned(),
                    registers: 40,
                    shared_bytes: 4096,
                    stack_bytes: 16,
                    spill_store_bytes: 8,
                    spill_load_bytes: 12,
                    constant_bytes: 384,
                },
            ]
        );
        assert!(!assembly.kernels[0].uses_local_memory());
        assert!(assembly.kernels[1].uses_local_memory());
    }

    #[test]
    fn spills_are_refused_and_stack_frames_are_not() {
        let mut assembly = parse(REPORT);
        let error = assembly.clone().without_spills().unwrap_err().to_string();
        let spilled = "sum_rows__f64: 8 bytes stored, 12 bytes loaded";
        assert!(error.ends_with(&format!("failed:\n{spilled}")), "{error}");
        assembly.kernels.pop();
        assert_eq!(assembly.functions[0].stack_bytes, 24);
        assert_eq!(assembly.clone().without_spills().unwrap(), assembly);
    }

    #[test]
    fn functions_that_stay_out_of_line_are_told_once() {
        let functions = parse(REPORT).functions;
        assert_eq!(functions.len(), 1);
        assert_eq!(
            (functions[0].name.as_str(), functions[0].stack_bytes),
            ("_RNvCs1_6helper3sum", 24)
        );
    }

    #[test]
    fn what_is_serialized_or_ignored_is_told() {
        let ignored = "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register \
                       count at entry.";
        assert_eq!(losses(REPORT), None);
        let text = format!("{REPORT}{ignored}\n{REPORT}");
        assert_eq!(losses(&text).as_deref(), Some(ignored));
    }

    #[test]
    fn an_empty_report_has_no_kernels() {
        assert_eq!(parse("ptxas info    : 0 bytes gmem\n"), Assembly::default());
    }

    #[test]
    fn the_version_is_read() {
        let text = "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler";
        assert_eq!(version(text).as_deref(), Some("13.0.88"));
        assert_eq!(version("nothing"), None);
    }
}
