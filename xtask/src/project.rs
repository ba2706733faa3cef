//! Facts about the project: its folders, its families, and what it ships.

use std::path::{Path, PathBuf};

use cuda_builder::{Module, NvvmArch, PtxVersion};
use fs_err as fs;

use crate::Result;

/// The architectures for which PTX is shipped, the oldest first, and the modules that are; an empty list has all. The driver
/// compiles the oldest for every later device. A later one has the families with a kernel that uses its instructions. One with
/// a letter, which runs on its own devices alone, has only the kernels that need it.
pub const SHIPPED: &[(NvvmArch, &[&str])] = &[
    (NvvmArch::Compute75, &[]),
    (
        NvvmArch::Compute80,
        &["gemm", "gemm_ladder", "scan", "select", "sort"],
    ),
    (NvvmArch::Compute90, &["gemm"]),
    (NvvmArch::Compute90a, &["gemm", "gemm_ladder"]),
];

/// The kernels that are compiled from an architecture on, for its asynchronous copies or its products of fragments, or for one
/// with a letter alone.
const FROM: &[(&str, NvvmArch)] = &[
    ("gemm_best_lines", NvvmArch::Compute90a),
    ("gemm_best_parts", NvvmArch::Compute90a),
    ("gemm_best_planes", NvvmArch::Compute90a),
    ("gemm_best_skinny", NvvmArch::Compute90a),
    ("gemm_best_split", NvvmArch::Compute90a),
    ("gemm_best_tensor", NvvmArch::Compute90),
    ("gemm_best_tensor_small", NvvmArch::Compute90),
    ("gemm_best_tiles", NvvmArch::Compute90a),
    ("gemm_best_wgmma", NvvmArch::Compute90a),
    ("gemm_cluster", NvvmArch::Compute90a),
    ("gemm_copies", NvvmArch::Compute80),
    ("gemm_fragments", NvvmArch::Compute80),
    ("gemm_specialised", NvvmArch::Compute90a),
    ("gemm_warpgroups", NvvmArch::Compute90a),
    ("scan_best_persistent", NvvmArch::Compute80),
    ("scan_segmented_persistent", NvvmArch::Compute80),
    ("select_best_persistent", NvvmArch::Compute80),
];

/// Returns the architectures for which a module is shipped.
pub fn shipped(module: &str) -> impl Iterator<Item = NvvmArch> {
    let has = move |modules: &[&str]| modules.is_empty() || modules.contains(&module);
    (SHIPPED.iter()).filter_map(move |(arch, modules)| has(modules).then_some(*arch))
}

/// Returns whether an architecture has a letter, and its code runs on its own devices alone.
pub fn is_specific(arch: NvvmArch) -> bool {
    !arch.sm().ends_with(|last: char| last.is_ascii_digit())
}

/// Returns whether code for `from` is taken for `arch`: for the same one, or a later one if neither has a letter.
fn runs_on(from: NvvmArch, arch: NvvmArch) -> bool {
    from == arch || (from < arch && !is_specific(from) && !is_specific(arch))
}

/// Returns whether a kernel, named without the suffix of the instance, is shipped for an architecture.
pub fn has_kernel(arch: NvvmArch, kernel: &str) -> bool {
    let from = FROM.iter().find(|(name, _)| *name == kernel);
    from.map_or(!is_specific(arch), |(_, from)| runs_on(*from, arch))
}

/// The architectures for which machine code of the kernels that `auto` launches is shipped with the PTX, so that the first call
/// on a machine does not wait for the driver's compiler. Machine code runs only on its own generation, and the compressed code
/// is a part of every program with the library. The list has the cards whose times are published.
pub const ASSEMBLED: &[NvvmArch] = &[NvvmArch::Compute90, NvvmArch::Compute90a];

/// Architectures later than those that PTX is shipped for: `build-ptx --check` assembles for them what `auto` launches, as the
/// driver of such a device compiles it.
pub const LATER: &[NvvmArch] = &[NvvmArch::Compute100, NvvmArch::Compute120];

/// Returns the architecture whose PTX of a module is assembled for `arch`: the newest, as the driver would get it.
pub fn assembled_from(arch: NvvmArch, module: &str) -> Option<NvvmArch> {
    shipped(module).filter(|from| runs_on(*from, arch)).max()
}

/// Returns the kernels of a family that `auto` launches, without the suffix of the instance.
pub fn best_kernels(family: &str) -> &'static [&'static str] {
    warpwright_gpu::family(family)
        .and_then(|family| family.variants.last())
        .map_or(&[], |best| best.kernels)
}

/// The ending of the name of a module with the kernels that `auto` never launches.
const LADDER: &str = "_ladder";

/// Returns the family whose kernels a module has.
pub fn family_of(module: &str) -> &str {
    module.strip_suffix(LADDER).unwrap_or(module)
}

/// Returns the names that a family's modules can have: that of the kernels that `auto` launches, and that of its ladder.
pub fn modules_of(family: &str) -> [String; 2] {
    [family.to_owned(), format!("{family}{LADDER}")]
}

/// Returns the names of a family's modules. A ladder without kernels of its own has none.
pub fn existing_modules_of(family: &str) -> impl Iterator<Item = String> {
    let has_ladder = ladder_kernels(family).next().is_some();
    let count = 1 + usize::from(has_ladder);
    modules_of(family).into_iter().take(count)
}

/// Returns the kernels of a family that `auto` never launches, without the suffix of the instance.
fn ladder_kernels(family: &str) -> impl Iterator<Item = &'static str> {
    let best = best_kernels(family);
    let variants = warpwright_gpu::family(family).map_or(&[][..], |family| family.variants);
    let kernels = variants.iter().flat_map(|variant| variant.kernels);
    kernels.copied().filter(|kernel| !best.contains(kernel))
}

/// Returns the PTX version for an architecture: the lowest with the instructions in use.
pub fn ptx_version(arch: NvvmArch) -> PtxVersion {
    arch.default_ptx_version()
}

/// Kernels that may use local memory: the start of the name, and the reason.
pub const LOCAL_MEMORY_ALLOWED: &[(&str, &str)] = &[
    ("gemm_best__f32_nt", PRODUCT_OF_MATRICES),
    ("gemm_best_double__f64", DOUBLES),
    ("gemm_best_fragments__bf16", HALVES),
    ("gemm_best_fragments__f16", HALVES),
    ("gemm_best_fragments_small__e4m3", BYTES),
    ("gemm_best_fragments_small__e5m2", BYTES),
    ("gemm_best_lines__e4m3_256", TWO_SUMS),
    ("gemm_best_lines__e4m3_bf16_256", TWO_SUMS),
    ("gemm_best_lines__e4m3_f16_256", TWO_SUMS),
    ("gemm_best_lines__e5m2_256", TWO_SUMS),
    ("sort_best_first__b4", TWO_BLOCKS),
    ("sort_best_items__b1", VALUES),
    ("sort_best_items__b2", VALUES),
    ("sort_best_items__b4", VALUES),
    ("sort_best_items__b8", VALUES),
    ("sort_best_keys__b2", TWO_BLOCKS),
    ("sort_best_keys__b4", TWO_BLOCKS),
    ("sort_ballot_items__b2", VALUES),
    ("sort_ballot_items__b4", VALUES),
    ("sort_ballot_items__b8", VALUES),
    ("segments_best__product_i64", PRODUCTS),
    ("segments_best__product_u64", PRODUCTS),
    ("scan_best_persistent__product_bf16", TWO_BLOCKS),
    ("scan_best_persistent__product_f16", TWO_BLOCKS),
    ("scan_best_persistent__sum_bf16", TWO_BLOCKS),
    ("scan_best_persistent__sum_f16", TWO_BLOCKS),
    ("scan_segmented__max_u8", SEGMENTS),
    ("scan_segmented__min_u8", SEGMENTS),
    ("scan_segmented__product_u8", SEGMENTS),
    ("scan_segmented__sum_u8", SEGMENTS),
    ("scan_segmented_persistent__max_bf16", SEGMENTS),
    ("scan_segmented_persistent__max_f16", SEGMENTS),
    ("scan_segmented_persistent__max_u16", SEGMENTS),
    ("scan_segmented_persistent__min_bf16", SEGMENTS),
    ("scan_segmented_persistent__min_f16", SEGMENTS),
    ("scan_segmented_persistent__min_u16", SEGMENTS),
    ("scan_segmented_persistent__product_u16", SEGMENTS),
    ("scan_segmented_persistent__sum_u16", SEGMENTS),
    ("select_best_persistent__flagged_b1", FLAGS),
];
const TWO_BLOCKS: &str =
    "two resident blocks leave too few registers on an older architecture; on 9.0 nothing spills";

const PRODUCT_OF_MATRICES: &str = "two resident blocks leave 128 registers, of which 64 are sums: one other spills where B is transposed";

const DOUBLES: &str = "128 of 255 registers are sums of 64 bits: up to 14 others spill on 9.0, where tensor cores multiply, \
                       and none on older architectures";

const HALVES: &str = "two resident blocks leave 128 registers, of which 64 are sums: up to four others spill, and of \
                      products with results in `f32` up to 40, all behind the loop of products";

const TWO_SUMS: &str = "128 sums of all steps and those of one take nearly all registers: six numbers of a tile are kept in memory, and read before and behind the loop of products";
const BYTES: &str = "four resident blocks leave 128 registers: on 7.5, whose tensor cores do not multiply numbers of 8 \
                     bits, up to 16 others spill; on 8.0 and 9.0 nothing spills";

const VALUES: &str = "two resident blocks leave too few registers for values that are under way: on 9.0 one spills, \
                      up to ten for values wider than a key, and twelve where ballots rank keys of 8 bytes";

const PRODUCTS: &str = "four resident blocks leave too few registers for products of 64 bits: up to 14 registers spill";

const SEGMENTS: &str = "two resident blocks leave too few registers for the heads of narrow elements: \
                        up to 8 registers spill";

const FLAGS: &str =
    "the flags of bytes take more registers than two resident blocks leave: 22 registers spill";

/// Returns the families of kernels. The entries of a family are named `<family>_<variant>__<suffix>`.
pub fn families() -> Vec<&'static str> {
    warpwright_gpu::FAMILIES
        .iter()
        .map(|family| family.name)
        .collect()
}

/// Checks that there is a family of this name.
pub fn require_family(operation: &str, name: &str) -> Result<()> {
    let known = families();
    if known.contains(&name) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(format!("{operation}: one of the families {known} required, given `{name}`").into())
}

/// Returns the PTX modules for an architecture, one or two per family.
pub fn modules(arch: NvvmArch) -> Vec<Module> {
    let specific = SHIPPED
        .iter()
        .find(|(it, _)| *it == arch && is_specific(arch));
    if let Some((_, families)) = specific {
        let own = |name: &&str| {
            let family = family_of(name);
            let of_ladder = |kernel: &str| ladder_kernels(family).any(|it| it == kernel);
            FROM.iter()
                .filter(|(kernel, from)| *from == arch && kernel.starts_with(&format!("{family}_")))
                .filter(|(kernel, _)| of_ladder(kernel) == (family != *name))
                .fold(Module::new(*name), |module, (kernel, _)| {
                    module.prefix(*kernel)
                })
        };
        // The crate has other kernels too.
        let others = Module::new("other").prefix("");
        return families.iter().map(own).chain([others]).collect();
    }
    let of = |name: String| {
        let family = family_of(&name).to_owned();
        let module = Module::new(&*name);
        if name == family {
            return module.prefix(format!("{family}_"));
        }
        let shipped = |kernel: &&str| has_kernel(arch, kernel);
        let mut kernels: Vec<&str> = ladder_kernels(&family).filter(shipped).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
            .iter()
            .fold(module, |module, kernel| module.prefix(*kernel))
    };
    families()
        .into_iter()
        .flat_map(existing_modules_of)
        .map(of)
        .collect()
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    // Cargo sets the variable when it runs this program. A checkout may have moved since the program was compiled.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// Returns the target folder of the workspace.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the folder of the crate of kernels.
pub fn gpu_crate() -> PathBuf {
    root().join("gpu")
}

/// Returns the folder of the committed PTX.
pub fn ptx_folder() -> PathBuf {
    root().join("host/ptx")
}

/// Returns all files below a folder, in order, except those in folders with these names. Links are left out.
pub fn files(folder: &Path, skipped: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && !skipped.iter().any(|name| entry.file_name() == *name) {
            files.extend(self::files(&path, skipped)?);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns a file's path below a folder, with `/` between folders.
pub fn name_below(folder: &Path, file: &Path) -> Result<String> {
    let name = file.strip_prefix(folder)?.to_string_lossy();
    Ok(name.replace('\\', "/"))
}

/// Writes the file if its content differs. Missing folders are made.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, content)?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_order_and_named_from_the_folder_on() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a/z", "a/a/y", "skipped/x", "a/skipped/w", "c.d"] {
            write(&folder.path().join(name), b"text").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        let names: Vec<String> = (files(folder.path(), &["skipped"]).unwrap().iter())
            .map(|file| name_below(folder.path(), file).unwrap())
            .collect();
        assert_eq!(names, ["a/a/y", "a/z", "b", "c.d"]);
        let absent = folder.path().join("absent");
        let error = files(&absent, &[]).unwrap_err().to_string();
        assert!(error.contains("absent"), "{error}");
    }
}
