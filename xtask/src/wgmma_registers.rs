//! The check that no instruction writes a register that products of a warpgroup still read.
//!
//! `wgmma` takes A from registers or from shared memory. If it takes registers, they must not change until the group of
//! products has been waited for. `ptxas` does not see to that, and the results would be wrong without a fault. So this check
//! reads the machine code. It follows the order of the text, in which the kernels' products begin and are waited for.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use cuda_builder::assemble::NVDISASM;

use crate::{Result, command};

/// The registers of A that an instruction reads.
const OF_A: u32 = 4;

/// Returns whether the PTX of a kernel has products with A in registers: their operands are two lists of registers.
pub fn has_registers(ptx: &str) -> bool {
    let is_one = |line: &str| match line.split_once("wgmma.mma_async") {
        Some((_, operands)) => operands.contains("}, {"),
        None => false,
    };
    ptx.lines().any(is_one)
}

/// Fails if an instruction of the image writes a register too early.
pub fn check(kernel: &str, cubin: &Path) -> Result<()> {
    let nvdisasm = NVDISASM.install("nvdisasm", true)?;
    let mut command = Command::new(&nvdisasm);
    command.arg("-c").arg(cubin);
    let code = command::output("build-ptx", &mut command)?;
    match find(&code) {
        Ok(0) => Err(format!(
            "build-ptx: {kernel}: products with A in registers required in the machine code, as in the PTX, given none"
        )
        .into()),
        Ok(_) => Ok(()),
        Err(line) => Err(format!(
            "build-ptx: {kernel}: registers of A unchanged until the products are waited for required, given `{line}`"
        )
        .into()),
    }
}

/// Returns the number of products with A in registers, or the first instruction that writes such a register before the wait.
fn find(code: &str) -> std::result::Result<usize, String> {
    let mut products = 0;
    // The registers that each group in flight reads, from the oldest group on. The last one is not committed.
    let mut groups = VecDeque::from([Vec::<Range<u32>>::new()]);
    for instruction in code.lines().filter_map(instruction) {
        let (name, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        let written = written(name, &operands);
        let mut read = groups.iter().flatten();
        if read.any(|of_a| of_a.start < written.end && written.start < of_a.end) {
            return Err(instruction.to_owned());
        }
        if name.contains("GMMA.") {
            if let Some(first) = operands.get(1).copied().and_then(register) {
                products += 1;
                if let Some(open) = groups.back_mut() {
                    open.push(first..first + OF_A);
                }
            }
            if operands.last().is_some_and(|last| last.starts_with("gsb")) {
                groups.push_back(Vec::new());
            }
        } else if name.starts_with("WARPGROUP.DEPBAR") {
            // A wait that is not understood is none.
            let later = operands.last().copied().and_then(number);
            while later.is_some_and(|later| groups.len() > later + 1) {
                groups.pop_front();
            }
        }
    }
    Ok(products)
}

/// Returns the instruction of a line such as `/*0530*/  @P0 MUFU.RCP R2, R2 ;`, without its predicate.
fn instruction(line: &str) -> Option<&str> {
    let (_, behind) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let text = behind.trim().trim_end_matches(';').trim_end();
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1.trim_start(),
        None => text,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the registers that an instruction writes. Products write theirs asynchronously, and nothing else may use those.
fn written(name: &str, operands: &[&str]) -> Range<u32> {
    const NONE: Range<u32> = 0..0;
    let writes_none = |start: &&str| name.starts_with(*start);
    if ["ST", "RED", "SYNCS", "BAR", "BRA", "WARPGROUP"]
        .iter()
        .any(writes_none)
        || name.contains("SETP")
        || name.contains("GMMA.")
    {
        return NONE;
    }
    // Some instructions write a predicate before the register.
    let is_predicate = |it: &&&str| it.starts_with('P') || it.starts_with("UP");
    let first = operands.iter().find(|it| !is_predicate(it));
    let Some(first) = first.copied().and_then(register) else {
        return NONE;
    };
    let has = |part: &str| name.split('.').any(|it| it == part);
    let count = if has("128") || has("4") {
        4
    } else if has("64") || has("WIDE") || has("2") || name.starts_with('D') {
        2
    } else {
        1
    };
    first..first + count
}

/// Returns the number of a register such as `R12` or `R12.reuse`.
fn register(operand: &str) -> Option<u32> {
    let (number, _) = operand.split_once('.').unwrap_or((operand, ""));
    number.strip_prefix('R')?.parse().ok()
}

/// Returns a number such as `0x1`.
fn number(operand: &str) -> Option<usize> {
    usize::from_str_radix(operand.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of which the first one reads R88 to R95, and the second one R96 to R99.
    fn code(before: &str, between: &str, behind: &str) -> String {
        format!(
            "
        /*0000*/                   LDSM.16.M88.4 R88, [R88] ;
        /*0010*/                   WARPGROUP.ARRIVE ;
        /*0020*/                   QGMMA.64x64x32.F32.E4M3.E4M3 R56, R88, gdesc[UR4], RZ, !UPT ;
        /*0030*/                   QGMMA.64x64x32.F32.E4M3.E4M3 R56, R92, gdesc[UR4], R56, gsb0 ;
        {before}
        /*0050*/                   QGMMA.64x64x32.F32.E4M3.E4M3 R24, R96, gdesc[UR4], RZ, !UPT, gsb0 ;
        /*0060*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        {between}
        /*0080*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        {behind}
        /*00a0*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 ;
"
        )
    }

    #[test]
    fn registers_may_be_written_when_their_group_is_waited_for() {
        let free = "/*0090*/ LDSM.16.M88.4 R96, [R2] ;";
        let early = "/*0070*/ @!P0 IMAD.WIDE.U32 R94, R2, R3, RZ ;";
        assert_eq!(find(&code("", early, free)), Ok(3));
        // What reads, what writes a predicate or the register below, and what goes to memory.
        let reads = "/*0040*/ FADD R2, R88, R89 ;
        /*0045*/ LDS.128 R84, [R2] ;
        /*0041*/ ISETP.NE.U32.AND P0, PT, R88, 0x8, PT ;
        /*0042*/ STS.128 [R88], R92 ;
        /*0043*/ SYNCS.ARRIVE.TRANS64 RZ, [R88+URZ], R92 ;
        /*0044*/ BAR.SYNC.DEFER_BLOCKING R88, 0x80 ;";
        assert_eq!(find(&code(reads, reads, free)), Ok(3));
        let unknown = code("", "", free).replace("gsb0, 0x0 ;", "gsb0, UR4 ;");
        assert_eq!(find(&unknown), Err("LDSM.16.M88.4 R96, [R2]".to_owned()));
    }

    #[test]
    fn registers_that_are_written_before_the_wait_are_found() {
        for (before, between) in [
            ("MOV R88, R2", ""),
            ("MOV R95, R2", ""),
            ("@P1 LDS.128 R85, [R2]", ""),
            ("LDG.E.64 R87, [R2.64]", ""),
            ("SHFL.IDX PT, R91, R2, RZ, 0x1f", ""),
            ("", "DADD R98, R2, R4"),
            ("", "@!P0 IADD3 R99, P1, R2, 0x40, RZ"),
        ] {
            let line = |text: &str| match text {
                "" => String::new(),
                text => format!("/*0040*/  {text} ;"),
            };
            let found = find(&code(&line(before), &line(between), ""));
            let text = format!("{before}{between}");
            let expected = text.trim_start_matches("@P1 ").trim_start_matches("@!P0 ");
            assert_eq!(found, Err(expected.to_owned()));
        }
    }

    #[test]
    fn products_of_registers_are_told_by_their_ptx() {
        let product =
            |a: &str| format!("wgmma.mma_async.x {{%r1, %r2}}, {a}, of_b, adds, 1, 1; }}");
        assert!(has_registers(&product("{%r3, %r4, %r5, %r6}")));
        assert!(!has_registers(&product("of_a")));
        assert!(!has_registers("ldmatrix.sync {%r1, %r2}, {%r3};"));
    }
}
