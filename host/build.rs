//! Makes the door to the CUDA driver: see `driver-door/README.md`.
//!
//! With the feature `cuda` on x86-64 Linux this sets the configuration flag `warpwright_cuda` and
//! writes to `OUT_DIR`:
//! - `trampolines.s`, one trampoline per name in `driver-door/symbols.txt`, which
//!   `src/cuda/door.rs` includes,
//! - `symbols.rs`, the same names as a Rust array, in the same order,
//! - `libcuda.a`, an archive without members, for the `-lcuda` that `cust_raw` asks of the linker.
//!
//! It also packs the PTX modules, and writes `modules.rs`, the table of them that `src/module.rs` includes; with the CUDA
//! side the machine code too, for `src/code.rs`, and the hashes of it, for its tests.
//!
//! On any other target the library is built without its CUDA side, and a warning says so; with the
//! feature `require-cuda` that is an error.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use miniz_oxide::deflate::compress_to_vec;

#[path = "src/ptx.rs"]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "the library has it too, and uses more of it; its tests have this script as a module"
)]
mod ptx;

/// An `ar` archive that has no members is its magic number alone.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

const SYMBOLS: &str = "driver-door/symbols.txt";

/// The library's PTX, `ptx/<architecture>/<family>.ptx`, and its machine code, a file `<kernel>.cubin` for each kernel in
/// `ptx/<architecture>/kernels.tar`.
const MODULES: &str = "ptx";
const ARCHIVE: &str = "kernels.tar";

/// Kernels are packed together until their text has this many bytes: much smaller than one by one, since
/// they are alike, and quick to unpack for one of them.
const GROUP: usize = 64 * 1024;

/// As `GROUP`, for machine code, of which a kernel has more bytes.
const CODE_GROUP: usize = 128 * 1024;

/// How hard the packer tries, 0 to 10: an unoptimised build script takes seconds for all modules at 6.
const EFFORT: u8 = 6;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SYMBOLS}");
    println!("cargo:rustc-check-cfg=cfg(warpwright_cuda)");
    println!("cargo:rerun-if-changed={MODULES}");
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo:rerun-if-changed=src/ptx.rs");
    let table = module_table(Path::new(MODULES), &out);
    write(&out.join("modules.rs"), table.as_bytes());
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    let os = variable("CARGO_CFG_TARGET_OS");
    // A pointer is 32 bits wide on the x32 ABI, for which the trampolines are wrong.
    let width = variable("CARGO_CFG_TARGET_POINTER_WIDTH");
    if (arch.as_str(), os.as_str(), width.as_str()) != ("x86_64", "linux", "64") {
        let target = variable("TARGET");
        let text = format!("the feature `cuda` needs x86-64 Linux and the target is {target}");
        if env::var_os("CARGO_FEATURE_REQUIRE_CUDA").is_some() {
            fail(&format!("{text}: build without the feature `require-cuda`"));
        }
        println!("cargo:warning={text}: CUDA devices are left out, the CPU executor works");
        return;
    }

    let text = fs::read_to_string(SYMBOLS).unwrap_or_else(|e| fail(&format!("{SYMBOLS}: {e}")));
    let names = symbol_names(&text).unwrap_or_else(|e| fail(&e));
    write(&out.join("trampolines.s"), trampolines(&names).as_bytes());
    write(&out.join("symbols.rs"), name_table(&names).as_bytes());
    write(&out.join("libcuda.a"), EMPTY_ARCHIVE);
    let (table, hashes) = code_table(Path::new(MODULES), &out);
    write(&out.join("code.rs"), table.as_bytes());
    write(&out.join("code_hashes.rs"), hashes.as_bytes());
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-cfg=warpwright_cuda");
}

/// Reads the names from the text of `symbols.txt`; an odd or a repeated one is an error.
pub(crate) fn symbol_names(text: &str) -> Result<Vec<&str>, String> {
    let mut names: Vec<&str> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !plain || !name.starts_with("cu") {
            return Err(format!(
                "{SYMBOLS}:{}: {name:?} names no driver function",
                number + 1
            ));
        }
        if names.contains(&name) {
            return Err(format!("{SYMBOLS}:{}: {name} is there twice", number + 1));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err(format!(
            "{SYMBOLS}: at least one name is required, none was given"
        ));
    }
    Ok(names)
}

/// The assembly text, a template for `global_asm!` with the operands `table` and `resolve`.
///
/// A trampoline jumps to its entry in the table; while that is null it takes the slow way, which
/// keeps every register that may hold an argument in the System V calling convention, asks
/// `resolve` for the address and jumps there. Arguments on the stack stay where they are, since
/// nothing is left on the stack at the jump.
fn trampolines(names: &[&str]) -> String {
    const INTEGERS: [&str; 7] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"];
    let mut asm = String::new();
    asm.push_str(".section .text.warpwright_driver_door,\"ax\",@progbits\n.p2align 4\n");
    asm.push_str(".Lwarpwright_driver_door_enter:\n.cfi_startproc\n");
    for register in INTEGERS {
        let _ = writeln!(asm, "push {register}\n.cfi_adjust_cfa_offset 8");
    }
    // The return address and seven registers are 64 bytes: the stack is aligned to 16 again, as a
    // call requires.
    asm.push_str("sub rsp, 128\n.cfi_adjust_cfa_offset 128\n");
    for i in 0..8 {
        let _ = writeln!(asm, "movups xmmword ptr [rsp + {}], xmm{i}", 16 * i);
    }
    asm.push_str("mov edi, r11d\ncall {resolve}\nmov r11, rax\n");
    for i in 0..8 {
        let _ = writeln!(asm, "movups xmm{i}, xmmword ptr [rsp + {}]", 16 * i);
    }
    asm.push_str("add rsp, 128\n.cfi_adjust_cfa_offset -128\n");
    for register in INTEGERS.iter().rev() {
        let _ = writeln!(asm, "pop {register}\n.cfi_adjust_cfa_offset -8");
    }
    asm.push_str("jmp r11\n.cfi_endproc\n");

    for (index, name) in names.iter().enumerate() {
        // A section each, so that the linker drops those that nobody calls. Hidden, so that no
        // shared library in the process, libcuda itself least of all, takes a trampoline for the
        // driver's function.
        let _ = write!(
            asm,
            ".section .text.warpwright_driver_door.{name},\"ax\",@progbits\n\
             .p2align 4\n.globl {name}\n.hidden {name}\n.type {name},@function\n{name}:\n\
             .cfi_startproc\nendbr64\nmov r11, qword ptr [rip + {{table}} + {offset}]\n\
             test r11, r11\nje 2f\njmp r11\n\
             2: mov r11d, {index}\njmp .Lwarpwright_driver_door_enter\n\
             .cfi_endproc\n.size {name}, . - {name}\n",
            offset = 8 * index,
        );
    }
    asm.push_str(".text\n");
    asm
}

/// The names as a Rust array of C strings, and their number.
fn name_table(names: &[&str]) -> String {
    let mut text = format!(
        "/// How many driver functions the door stands in for.\n\
         const COUNT: usize = {};\n\
         /// Their names, in the order of the trampolines.\n\
         static NAMES: [&::core::ffi::CStr; COUNT] = [\n",
        names.len()
    );
    for name in names {
        let _ = writeln!(text, "    c\"{name}\",");
    }
    text.push_str("];\n");
    text
}

/// Packs the PTX modules into files in `out`; gives them as a Rust array of `Packed`.
fn module_table(root: &Path, out: &Path) -> String {
    let mut rows = String::from("&[\n");
    for folder in entries(root).iter().filter(|path| path.is_dir()) {
        for module in entries(folder) {
            let (Some(arch), Some(family)) = (stem(folder), stem(&module)) else {
                continue;
            };
            if module.extension().is_none_or(|it| it != "ptx") {
                continue;
            }
            let text = fs::read_to_string(&module)
                .unwrap_or_else(|e| fail(&format!("{}: {e}", module.display())));
            for (number, (names, text)) in groups(&text).iter().enumerate() {
                let path = out.join(format!("{arch}-{family}-{number}.deflate"));
                write(&path, &compress_to_vec(text.as_bytes(), EFFORT));
                let _ = writeln!(
                    rows,
                    "    Packed {{ arch: {arch:?}, kernels: &{names:?}, text: include_bytes!({path:?}) }},"
                );
            }
        }
    }
    rows + "]\n"
}

/// Packs the machine code into files in `out`; gives them as a Rust array of `Packed`, and for the tests another of each
/// image's architecture, kernel, bytes and hash.
fn code_table(root: &Path, out: &Path) -> (String, String) {
    let mut rows = String::from("&[\n");
    let mut hashes = rows.clone();
    for folder in entries(root).iter().filter(|path| path.is_dir()) {
        let Some(arch) = stem(folder) else { continue };
        let file = folder.join(ARCHIVE);
        let images = if file.is_file() {
            images(&file).unwrap_or_else(|e| fail(&format!("{}: {e}", file.display())))
        } else {
            Vec::new()
        };
        for (name, image) in &images {
            let mut hasher = DefaultHasher::new();
            image.hash(&mut hasher);
            let (bytes, hash) = (image.len(), hasher.finish());
            let _ = writeln!(hashes, "    ({arch:?}, {name:?}, {bytes}, {hash}),");
        }
        for (number, (kernels, group)) in code_groups(images).iter().enumerate() {
            let path = out.join(format!("{arch}-code-{number}.deflate"));
            write(&path, &compress_to_vec(group, EFFORT));
            let _ = writeln!(
                rows,
                "    Packed {{ arch: {arch:?}, kernels: &{kernels:?}, images: include_bytes!({path:?}) }},"
            );
        }
    }
    (rows + "]\n", hashes + "]\n")
}

/// The images of an archive with their kernels' names, in its order.
fn images(archive: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut images = Vec::new();
    for entry in tar::Archive::new(fs::File::open(archive)?).entries()? {
        let mut entry = entry?;
        let mut image = Vec::new();
        entry.read_to_end(&mut image)?;
        images.extend(stem(&entry.path()?).map(|name| (name.to_owned(), image)));
    }
    Ok(images)
}

/// The name and bytes of each image of a group, and the images one behind the other.
type CodeGroup = (Vec<(String, usize)>, Vec<u8>);

/// Images of machine code in groups.
fn code_groups(images: Vec<(String, Vec<u8>)>) -> Vec<CodeGroup> {
    let mut groups: Vec<CodeGroup> = Vec::new();
    for (name, image) in images {
        let row = (name, image.len());
        match groups
            .last_mut()
            .filter(|(_, group)| group.len() < CODE_GROUP)
        {
            Some((kernels, group)) => {
                kernels.push(row);
                group.extend(image);
            }
            None => groups.push((vec![row], image)),
        }
    }
    groups
}

/// A module as several: the names of the kernels in each, and its text.
fn groups(module: &str) -> Vec<(Vec<&str>, String)> {
    let (shared, kernels) = ptx::split(module);
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, text) in kernels {
        match groups.last_mut().filter(|(_, group)| group.len() < GROUP) {
            Some((names, group)) => {
                names.push(name);
                group.push_str(&text);
            }
            None => groups.push((vec![name], format!("{shared}{text}"))),
        }
    }
    groups
}

/// What is in a folder, sorted; nothing if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|e| fail(&format!("{name}: {e}")))
}

fn write(path: &Path, bytes: &[u8]) {
    if let Err(e) = fs::write(path, bytes) {
        fail(&format!("{}: {e}", path.display()));
    }
}

fn fail(text: &str) -> ! {
    println!("cargo::error={text}");
    process::exit(1);
}
