//! Builds the fixture crates with the device tools. Missing tools are installed, so no test is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::assemble::Ptxas;
use cuda_builder::{
    CudaBuilder, CudaBuilderError, DebugInfo, EntryPoint, Module, NvvmArch, PtxVersion, Toolchain,
    ToolchainOptions,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Returns a folder that stays between runs, so that `core` is compiled once. Its name contains a space, which every tool
/// must accept.
fn device_target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("device builds")
}

fn builder(name: &str) -> CudaBuilder {
    CudaBuilder::new(fixture(name))
        .install_tools(true)
        .target_dir(device_target())
}

fn families() -> [Module; 2] {
    [Module::family("fill"), Module::family("sum")]
}

fn entry(name: &str, max_threads: u32, min_blocks: u32) -> EntryPoint {
    EntryPoint {
        name: name.to_owned(),
        max_threads,
        min_blocks,
        cluster: [1; 3],
    }
}

/// Returns the text of one kernel, from its name to the end of its body.
fn kernel<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx
        .find(&format!(".visible .entry {name}("))
        .expect("the kernel is in the PTX");
    let end = ptx[start..].find("\n}").expect("the kernel ends");
    &ptx[start..start + end]
}

#[test]
fn one_module_has_every_kernel_with_its_launch_bounds() {
    let built = builder("kernels").build_modules().unwrap();
    assert_eq!(built.len(), 1);
    assert_eq!(built[0].name, "fixture_kernels");
    assert_eq!(
        (built[0].arch, built[0].ptx_version),
        (NvvmArch::Compute75, PtxVersion::new(7, 0))
    );
    assert_eq!(
        built[0].entries,
        [
            entry("fill_affine__f32", 0, 0),
            entry("fill_value__f32", 256, 2),
            entry("sum_rows__f64", 128, 0),
            entry("sum_weighted__f32", 0, 0),
        ]
    );
    let ptx = fs::read_to_string(&built[0].path).unwrap();
    assert!(ptx.contains(".version 7.0\n.target sm_75\n"));
    assert!(!ptx.contains("__launch_bounds__"));
    assert!(!ptx.contains(".file"));
    let value = kernel(&ptx, "fill_value__f32");
    assert!(
        value.contains(")\n.maxntid 256, 1, 1\n.minnctapersm 2"),
        "{value}"
    );
    let rows = kernel(&ptx, "sum_rows__f64");
    assert!(rows.contains(")\n.maxntid 128, 1, 1"), "{rows}");
    assert!(!rows.contains(".minnctapersm"), "{rows}");
    assert!(!kernel(&ptx, "fill_affine__f32").contains(".maxntid"));
    // The host may set this one before a launch.
    assert!(ptx.contains(".visible .global .align 4 .b8 SUM_WEIGHTS[128];"));
    // The names contain no hash that depends on the compiler's build.
    assert!(ptx.contains("_RNvNtCs_15fixture_kernels6helper3sum"));
}

#[test]
fn path_is_known_before_the_build() {
    let expected = builder("kernels").ptx_path().unwrap();
    assert_eq!(builder("kernels").build().unwrap(), expected);
}

#[test]
fn modules_hold_their_families_and_what_these_reach() {
    let built = builder("kernels")
        .modules(families())
        .build_modules()
        .unwrap();
    let names: Vec<&str> = built.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["fill", "sum"]);
    let text = |index: usize| fs::read_to_string(&built[index].path).unwrap();
    let (fill, sum) = (text(0), text(1));
    assert!(fill.contains(".entry fill_value__f32(") && !fill.contains("sum_"));
    assert!(!fill.contains("SUM_WEIGHTS"));
    assert!(sum.contains(".entry sum_rows__f64(") && !sum.contains("fill_"));
    assert!(sum.contains(".visible .global .align 4 .b8 SUM_WEIGHTS[128];"));
}

#[test]
fn one_module_of_several_can_be_built_alone() {
    let built = builder("kernels")
        .modules(families())
        .only(["sum"])
        .build_modules()
        .unwrap();
    let names: Vec<&str> = built.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["sum"]);
    let error = builder("kernels")
        .modules(families())
        .only(["scan"])
        .build_modules()
        .unwrap_err();
    assert!(error.to_string().contains("module `scan`"), "{error}");
}

#[test]
fn a_division_that_leaves_an_entry_out_is_refused() {
    let error = builder("kernels")
        .modules([Module::family("sum")])
        .build_modules()
        .unwrap_err();
    assert!(matches!(error, CudaBuilderError::Modules(_)), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("entry `fill_affine__f32`: a module"),
        "{error}"
    );
}

#[test]
fn products_and_sums_are_fused_only_where_asked_for() {
    let affine = |fused: bool| {
        let path = builder("kernels").fma_contraction(fused).build().unwrap();
        kernel(&fs::read_to_string(path).unwrap(), "fill_affine__f32").to_owned()
    };
    let plain = affine(false);
    assert!(
        plain.contains("mul.rn.f32") && plain.contains("add.rn.f32"),
        "{plain}"
    );
    assert!(affine(true).contains("fma.rn.f32"));
}

#[test]
fn subnormal_numbers_are_flushed_only_where_asked_for() {
    let path = builder("kernels").ftz(true).build().unwrap();
    let ptx = fs::read_to_string(path).unwrap();
    assert!(kernel(&ptx, "fill_affine__f32").contains("mul.rn.ftz.f32"));
}

#[test]
fn copies_go_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("a/b/k.ptx");
    let ir = folder.path().join("c/k.ll");
    let built = builder("kernels")
        .copy_to(&ptx)
        .final_module_path(&ir)
        .build()
        .unwrap();
    assert_eq!(built, ptx);
    assert!(
        fs::read_to_string(&ptx)
            .unwrap()
            .contains(".entry fill_value__f32(")
    );
    assert!(
        fs::read_to_string(&ir)
            .unwrap()
            .contains("define ptx_kernel void @fill_value__f32(")
    );

    let blocked = folder.path().join("a/b");
    let error = builder("kernels").copy_to(&blocked).build().unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::FailedToCopyPtxFile(_)),
        "{error}"
    );
}

/// Returns the PTX of the fixture without attributes, after `ptxas` has assembled it.
fn plain(builder: CudaBuilder, arch: NvvmArch) -> String {
    let path = builder.arch(arch).build().unwrap();
    let assembly = Ptxas::install(true).unwrap().assemble(&path, arch).unwrap();
    assert_eq!(assembly.kernels.len(), 3);
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_crate_needs_no_attribute_and_may_be_a_cdylib_too() {
    for (arch, value) in [
        (NvvmArch::Compute75, "75000075"),
        (NvvmArch::Compute90a, "90000090"),
    ] {
        let ptx = plain(builder("kernels/plain"), arch);
        let newest = kernel(&ptx, "newest");
        assert!(newest.contains(value), "{newest}");
    }
}

/// `ptxas` refuses `atom` on local memory, which LLVM leaves for this operation. The test is that `plain` assembles it.
#[test]
fn a_compare_and_exchange_on_the_lanes_own_variable_assembles() {
    let ptx = plain(builder("kernels/plain"), NvvmArch::Compute75);
    assert!(!kernel(&ptx, "own_atomic").contains("atom."), "{ptx}");
}

#[test]
fn statics_marked_for_shared_memory_are_there() {
    let ptx = plain(builder("kernels/plain"), NvvmArch::Compute75);
    let text = kernel(&ptx, "plain");
    assert!(ptx.contains(".shared .align 1 .b8 _RNv"), "{ptx}");
    assert!(
        text.contains("st.shared") && text.contains("ld.shared"),
        "{text}"
    );
    assert!(!ptx.contains(".const"), "{ptx}");
}

#[test]
fn tables_are_in_constant_memory_where_asked_for() {
    let ptx = plain(
        builder("kernels/plain").use_constant_memory_space(true),
        NvvmArch::Compute75,
    );
    assert!(ptx.contains(".const .align 4 .b8 _RNv"), "{ptx}");
    assert!(kernel(&ptx, "plain").contains("ld.const"), "{ptx}");
}

#[test]
fn what_is_externally_visible_stays_and_nothing_else() {
    let ptx = plain(builder("kernels/plain"), NvvmArch::Compute75);
    assert!(
        ptx.contains(".visible .func") && ptx.contains(" thrice("),
        "{ptx}"
    );
    assert!(
        !ptx.contains("unused") && !ptx.contains("__externally"),
        "{ptx}"
    );
}

#[test]
fn crates_see_the_option_for_optix() {
    let ptx = plain(builder("kernels/plain").optix(true), NvvmArch::Compute75);
    assert!(kernel(&ptx, "newest").contains("75000080"), "{ptx}");
}

#[test]
fn libdevice_in_the_place_of_libm_is_refused_by_name() {
    let error = builder("kernels").override_libm(true).build().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("override_libm: `false` required, given `true`"),
        "{text}"
    );
}

#[test]
fn code_that_is_not_optimised_as_one_assembles_and_is_another() {
    let ptxas = Ptxas::install(true).unwrap();
    let text = |optimised: bool| {
        let path = builder("kernels").nvvm_opts(optimised).build().unwrap();
        let assembly = ptxas.assemble(&path, NvvmArch::Compute75).unwrap();
        assert_eq!(assembly.kernels.len(), 4);
        fs::read_to_string(path).unwrap()
    };
    // rustc has already optimized each crate: here the instructions are the same, in another order.
    assert!(text(true) != text(false));
    // This build has no instructions that `ptxas` would refuse either.
    plain(
        builder("kernels/plain").nvvm_opts(false),
        NvvmArch::Compute75,
    );
}

#[test]
fn lines_come_without_release_unless_they_are_not_wanted() {
    let has_lines = |release: bool, wanted: bool| {
        let builder = builder("kernels/plain").release(release);
        let path = builder.generate_line_info(wanted).build().unwrap();
        fs::read_to_string(path).unwrap().contains("\t.loc")
    };
    assert!(has_lines(false, true));
    assert!(!has_lines(false, false));
    assert!(!has_lines(true, true));
}

/// The error shows that `alloc` was built, for a crate that only requests it by `extern crate`.
#[test]
fn a_crate_that_allocates_needs_an_allocator() {
    let error = builder("kernels/lists").build().unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("module `fixture_lists`: a global allocator required"),
        "{text}"
    );
}

#[test]
fn bitcode_lies_beside_the_ptx() {
    let ptx = builder("kernels").emit_llvm_bitcode(true).build().unwrap();
    let bitcode = fs::read(ptx.with_extension("bc")).unwrap();
    assert_eq!(&bitcode[..4], b"BC\xC0\xDE");
}

#[test]
fn an_error_of_the_compiler_is_shown_as_it_wrote_it() {
    let error = builder("kernels/broken").build().unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, CudaBuilderError::BuildFailed { .. }),
        "{text}"
    );
    assert!(
        text.starts_with("compiling `fixture-broken` for sm_75 failed:\n"),
        "{text}"
    );
    assert!(text.contains("error[E0308]: mismatched types"), "{text}");
    assert!(text.contains("--> broken/src/lib.rs:12:22"), "{text}");
    assert!(text.contains("let wrong: u32 = \"seven\";"), "{text}");
    // `unwrap()` in a build script prints this.
    assert_eq!(format!("{error:?}"), text);
}

#[test]
fn an_error_of_cargo_is_shown_too() {
    let error = builder("kernels")
        .build_args(&["--features", "absent"])
        .build()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("absent") && !text.contains("Compiling"),
        "{text}"
    );
}

#[test]
fn line_tables_name_the_sources_relative_to_the_workspace() {
    let path = builder("kernels")
        .debug(DebugInfo::LineTables)
        .build()
        .unwrap();
    let ptx = fs::read_to_string(&path).unwrap();
    let files: Vec<&str> = ptx.lines().filter(|line| line.contains(".file")).collect();
    assert!(
        files.iter().any(|line| line.contains("src/helper.rs\"")),
        "{files:?}"
    );
    assert!(ptx.contains("\t.loc"));
    let here = env!("CARGO_MANIFEST_DIR");
    assert!(!ptx.contains(here) && !ptx.contains("rustlib"), "{files:?}");
    let target = device_target();
    assert!(!ptx.contains(target.to_str().unwrap()), "{files:?}");
    let assembly = Ptxas::install(true)
        .unwrap()
        .assemble(&path, NvvmArch::Compute75)
        .unwrap();
    assert_eq!(assembly.kernels.len(), 4);
}

#[test]
fn full_debug_information_names_variables_where_lines_do_not() {
    let path = builder("kernels").debug(DebugInfo::Full).build().unwrap();
    let ptx = fs::read_to_string(&path).unwrap();
    assert!(ptx.contains(".section\t.debug_info"));
    let assembly = Ptxas::install(true)
        .unwrap()
        .assemble(&path, NvvmArch::Compute75)
        .unwrap();
    assert_eq!(assembly.kernels.len(), 4);
}

#[test]
fn every_generation_of_architectures_is_built_for() {
    for arch in [
        NvvmArch::Compute86,
        NvvmArch::Compute89,
        NvvmArch::Compute90a,
        NvvmArch::Compute100,
        NvvmArch::Compute120,
    ] {
        let path = builder("kernels").arch(arch).build().unwrap();
        let ptx = fs::read_to_string(&path).unwrap();
        let head = format!(".version {}\n.target {arch}\n", arch.default_ptx_version());
        assert!(ptx.contains(&head), "{arch}");
        let assembly = Ptxas::install(true).unwrap().assemble(&path, arch).unwrap();
        assert_eq!(assembly.kernels.len(), 4, "{arch}");
    }
}

#[test]
fn ptx_assembles_and_the_report_names_every_kernel() {
    let path = builder("kernels").build().unwrap();
    let ptxas = Ptxas::install(true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cubin = folder.path().join("kernels.cubin");
    let assembly = ptxas
        .assemble_to(&path, NvvmArch::Compute75, &cubin)
        .unwrap();
    let names: Vec<&str> = assembly
        .kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "fill_affine__f32",
            "fill_value__f32",
            "sum_rows__f64",
            "sum_weighted__f32"
        ]
    );
    assert!(assembly.kernels.iter().all(|kernel| kernel.registers > 0));
    assert!(
        assembly
            .kernels
            .iter()
            .all(|kernel| !kernel.uses_local_memory())
    );
    assert_eq!(&fs::read(cubin).unwrap()[..4], b"\x7fELF");

    let broken = folder.path().join("broken.ptx");
    fs::write(
        &broken,
        ".version 7.0\n.target sm_75\n.address_size 64\nnonsense\n",
    )
    .unwrap();
    let error = ptxas
        .assemble(&broken, NvvmArch::Compute75)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nonsense") || error.contains("line 4"),
        "{error}"
    );
}

/// A user's crate builds the kernels from its build script, in another folder and under a parent cargo whose settings must
/// not affect the device build. The PTX is the same to the byte.
#[test]
fn a_build_script_in_another_folder_gives_the_same_ptx() {
    let tools = Toolchain::install(&ToolchainOptions::from_env(), true).unwrap();
    let expected = builder("kernels").build().unwrap();
    let expected = fs::read_to_string(expected).unwrap();

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("other folder");
    for name in ["kernels", "user"] {
        copy_folder(&fixture(name), &folder.join(name));
    }
    let manifest = folder.join("user/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    // A literal string, since a path may contain backslashes.
    let text = text.replace("\"BUILDER\"", &format!("'{}'", env!("CARGO_MANIFEST_DIR")));
    fs::write(&manifest, text).unwrap();
    // The dependency versions of this workspace's lock file, if it has one.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    if lock.is_file() {
        fs::copy(lock, folder.join("user/Cargo.lock")).unwrap();
    }
    let output = Command::new(env!("CARGO"))
        // With an explicit target, the flags do not apply to the build script and its dependencies. The folder then holds
        // the same dependencies as for the other projects outside the workspace (`tests/tests/examples.rs`).
        .args(["run", "--quiet", "--target", "host-tuple"])
        .current_dir(folder.join("user"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside"),
        )
        .env("RUSTFLAGS", "--cfg=of_the_parent")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("WARPWRIGHT_RUSTC", &tools.rustc)
        .env("WARPWRIGHT_LLVM_BIN", &tools.llvm_bin)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
