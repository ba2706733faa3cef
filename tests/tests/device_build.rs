//! Every device function of `cuda_std` compiles for nvptx64, and `ptxas` takes what comes out. A machine
//! without the device tools gets them: nothing here is skipped.

use std::thread;

use cuda_builder::{Module, NvvmArch, PanicMessages, assemble::Ptxas};
use warpwright_tests::device_library;

#[test]
fn every_device_function_compiles_and_assembles_for_every_kind_of_architecture() {
    let ptxas = Ptxas::discover().or_else(|_| Ptxas::install(false));
    let ptxas = &ptxas.unwrap_or_else(|error| panic!("{error}"));
    // The oldest; the first with `redux` and asynchronous copies; the first with clusters; Hopper, with mbarriers and bulk
    // copies. One after the other is compiled,
    // while the one before is optimised and assembled.
    thread::scope(|scope| {
        for arch in [
            NvvmArch::Compute75,
            NvvmArch::Compute80,
            NvvmArch::Compute90,
            NvvmArch::Compute90a,
        ] {
            scope.spawn(move || builds_for(arch, ptxas));
        }
    });
}

fn builds_for(arch: NvvmArch, ptxas: &Ptxas) {
    let path = device_library::build(arch).unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&path).unwrap();
    let barriers = kernel(&text, "barrier_between_branches")
        .filter(|line| line.contains("bar.sync"))
        .count();
    assert_eq!(barriers, 1);
    instructions_are_there(&text, arch);
    let redux = text.contains("redux.sync");
    assert_eq!(redux, arch >= NvvmArch::Compute80, "{arch:?}");
    asynchronous_copies_are_there(&text, arch);
    let mut lines = kernel(&text, "stored_matrices__i8");
    let has = lines.any(|line| line.starts_with("stmatrix.sync.aligned.m8n8.x4.shared.b16 ["));
    assert_eq!(has, arch >= NvvmArch::Compute90, "{arch:?}");
    if arch == NvvmArch::Compute90a {
        bulk_copies_are_there(&text);
    }
    for (name, from) in [
        ("m8n8k4", NvvmArch::Compute80),
        ("m16n8k4", NvvmArch::Compute90),
        ("m16n8k8", NvvmArch::Compute90),
        ("m16n8k16", NvvmArch::Compute90),
    ] {
        let entry = format!("products_{name}_f64");
        let mut lines = kernel(&text, &entry);
        let instruction = format!("mma.sync.aligned.{name}.row.col.f64.f64.f64.f64");
        let has = lines.any(|line| line.starts_with(&instruction));
        assert_eq!(has, arch >= from, "{arch:?}: {name}");
    }
    assert!(text.contains(".visible .func") && text.contains(" externally_visible_twice("));
    let assembly = ptxas
        .assemble(&path, arch)
        .unwrap_or_else(|error| panic!("{error}"));
    let entries = text.matches(".visible .entry ").count();
    assert!(entries >= 115, "{entries}");
    assert_eq!(assembly.kernels.len(), entries, "{arch:?}");
    // Tiles of warps stay in registers.
    let of_warps = || {
        assembly
            .kernels
            .iter()
            .filter(|kernel| kernel.name.starts_with("warp_"))
    };
    assert!(
        of_warps().count() >= 40 && !of_warps().any(|kernel| kernel.uses_local_memory()),
        "{arch:?}"
    );
}

/// What a panic prints is there or not as asked for, and costs what the builder's documents say.
#[test]
fn panics_and_collections_assemble_with_each_kind_of_message() {
    let ptxas = Ptxas::discover().or_else(|_| Ptxas::install(false));
    let ptxas = &ptxas.unwrap_or_else(|error| panic!("{error}"));
    let modules = || {
        [
            Module::new("panics").entry("panics"),
            Module::new("others").prefix(""),
        ]
    };
    // The texts of a message, and of what stands in the place of its arguments.
    let bytes = |text: &str| {
        let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
        bytes.join(", ")
    };
    let (without, with) = (
        bytes("a text without arguments"),
        bytes("x = {}, of lane {}"),
    );
    for messages in [
        PanicMessages::None,
        PanicMessages::Place,
        PanicMessages::Full,
    ] {
        let built = device_library::builder("programs")
            .panic_messages(messages)
            .modules(modules())
            .build_modules()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&built[0].path).unwrap();
        let place = messages == PanicMessages::Place;
        assert_eq!(text.contains("vprintf"), messages != PanicMessages::None);
        assert_eq!(text.contains(&without), messages != PanicMessages::None);
        assert_eq!(text.contains(&with), place, "{messages:?}");
        assert!(
            text.contains("malloc"),
            "{messages:?}: the allocation is not there"
        );
        let formats = text.contains("4core3fmt");
        assert_eq!(formats, messages == PanicMessages::Full, "{messages:?}");
        for module in &built {
            let assembly = ptxas.assemble(&module.path, module.arch);
            let assembly = assembly.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(assembly.kernels.len(), module.entries.len());
            let kernel = &assembly.kernels[0];
            if kernel.name == "panics" && messages != PanicMessages::Full {
                assert!(kernel.registers <= 32, "{messages:?}: {kernel:?}");
            }
        }
    }
}

/// The lines of a kernel.
fn kernel<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> + Clone {
    let start = format!(".entry {name}(");
    let (_, kernel) = text
        .split_once(&start)
        .unwrap_or_else(|| panic!("no {name}"));
    kernel.split_once("\n}").unwrap().0.lines().map(str::trim)
}

/// Mbarriers, bulk copies and their fences are instructions, one for each line of the source.
fn bulk_copies_are_there(text: &str) {
    for (instruction, count) in [
        ("fence.mbarrier_init.release.cluster;", 1),
        ("mbarrier.arrive.expect_tx.shared::cta.b64", 1),
        ("mbarrier.try_wait.parity.shared::cta.b64", 2),
        ("mbarrier.arrive.shared::cta.b64", 1),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
            1,
        ),
        ("fence.proxy.async.shared::cta;", 1),
        ("cp.async.bulk.global.shared::cta.bulk_group", 1),
        ("cp.async.bulk.commit_group;", 1),
        ("cp.async.bulk.wait_group.read 1;", 1),
        ("cp.async.bulk.wait_group.read 0;", 1),
    ] {
        let lines = kernel(text, "bulk_ring__u32");
        let found = lines.filter(|line| line.contains(instruction)).count();
        assert_eq!(found, count, "{instruction}");
    }
    // Behind the maps' own words, the pointer and the length of a view.
    for part in [
        ".param .align 64 .b8 tile_moves__s128_param_0[128]",
        ".param .align 64 .b8 tile_moves__s128_param_3[128]",
        ", tile_moves__s128_param_0; cvta.param.u64 ",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
    ] {
        let mut lines = kernel(text, "tile_moves__s128");
        assert!(lines.any(|line| line.contains(part)), "{part}");
    }
}

/// Asynchronous copies are instructions from the first architecture on that has them, and loads and stores
/// before; either way the waits stand before the barriers.
fn asynchronous_copies_are_there(text: &str, arch: NvvmArch) {
    if arch < NvvmArch::Compute80 {
        assert!(!text.contains("cp.async"), "{arch:?}");
        return;
    }
    let selected = |name: &str| -> Vec<&str> {
        let found = kernel(text, name)
            .filter(|line| ["cp.async", "bar"].iter().any(|i| line.starts_with(i)));
        found.collect()
    };
    for (instance, form) in [
        ("b4", "ca"),
        ("w2", "ca"),
        ("l1", "ca"),
        ("f4", "cg"),
        ("q1", "cg"),
    ] {
        let bytes = match instance {
            "b4" => 4,
            "w2" | "l1" => 8,
            _ => 16,
        };
        let lines = selected(&format!("async_copies__{instance}"));
        let copies = lines.iter().filter(|line| {
            line.starts_with(&format!("cp.async.{form}.shared.global ["))
                && line.ends_with(&format!("], {bytes};"))
        });
        // Two tiles before the loop, one in it.
        assert_eq!(copies.count(), 3, "{arch:?}: {instance}: {lines:?}");
        let wait = lines
            .iter()
            .position(|line| *line == "cp.async.wait_group 2;");
        let wait = wait.unwrap_or_else(|| panic!("{arch:?}: {instance}: {lines:?}"));
        assert!(
            lines[wait + 1].starts_with("bar"),
            "{arch:?}: {instance}: {lines:?}"
        );
        let groups = lines
            .iter()
            .filter(|line| **line == "cp.async.commit_group;");
        assert_eq!(groups.count(), 3, "{arch:?}: {instance}: {lines:?}");
    }
    let parts = selected("async_copies_or_zeros__w4");
    assert!(
        parts[0].starts_with("cp.async.cg.shared.global [") && parts[0].contains("], 16, %r"),
        "{parts:?}"
    );
    assert_eq!(parts[1..], ["cp.async.wait_all;"], "{arch:?}");
    let order: Vec<&str> = selected("async_copies_of_own")
        .into_iter()
        .map(|line| line.split([' ', ';']).next().unwrap_or(line))
        .collect();
    assert_eq!(
        order,
        [
            "cp.async.ca.shared.global",
            "cp.async.commit_group",
            "cp.async.ca.shared.global",
            "cp.async.wait_group",
            "bar.sync",
            "cp.async.wait_all",
            "bar.sync",
        ],
        "{arch:?}"
    );
}

/// What no result shows: which fence stands where, in which forms the atomic operations are there, and the
/// instructions for debuggers and profilers.
fn instructions_are_there(text: &str, arch: NvvmArch) {
    let selected = |name: &str, starts: &[&str]| -> Vec<String> {
        let lines = kernel(text, name);
        let lines = lines.filter(|line| starts.iter().any(|start| line.starts_with(start)));
        lines
            .map(|line| line.split([' ', ';']).next().unwrap().to_owned())
            .collect()
    };
    let fences = selected("fences", &["fence", "membar"]);
    let expected: Vec<String> = ["acq_rel", "acq_rel", "acq_rel", "sc"]
        .iter()
        .flat_map(|order| ["cta", "gpu", "sys"].map(|scope| format!("fence.{order}.{scope}")))
        .collect();
    assert_eq!(fences, expected, "{arch:?}");
    assert_eq!(
        selected("fences_and_sleep", &["fence", "membar", "nanosleep"]),
        [
            "membar.cta",
            "membar.gl",
            "membar.gl",
            "membar.sys",
            "nanosleep.u32"
        ],
        "{arch:?}"
    );
    let has = |name: &str, instructions: &[&str]| {
        for instruction in instructions {
            let found = kernel(text, name).any(|line| line.contains(instruction));
            assert!(found, "{arch:?}: no {instruction} in {name}");
        }
    };
    let counters: Vec<String> = (0..8)
        .map(|counter| format!("pmevent {counter};"))
        .collect();
    let counters: Vec<&str> = counters.iter().map(String::as_str).collect();
    has("miscellany", &counters);
    has("miscellany", &["%clock64", "%globaltimer"]);
    has("traps", &["brkpt;", "trap;"]);

    // Shared memory is known as such, element 0 at a constant index too; and where one branch reads it and another does not.
    for name in ["first_of_shared", "tile_loads__w4", "tile_stores__w4"] {
        let generic: Vec<&str> = kernel(text, name)
            .filter(|line| ["ld.", "st."].iter().any(|start| line.starts_with(start)))
            .filter(|line| {
                !["param", "shared", "global"]
                    .iter()
                    .any(|space| line.contains(space))
            })
            .collect();
        assert!(generic.is_empty(), "{arch:?}: {generic:?}");
    }
    has("first_of_shared", &["st.shared.b32", "ld.shared.b32"]);
    has("tile_loads__w4", &["ld.global.v4.b32", "ld.shared.b32"]);
    has("tile_stores__w4", &["st.global.v4.b32"]);
    for instance in ["b16", "l2"] {
        has(&format!("tile_loads__{instance}"), &["ld.global.v"]);
        has(&format!("tile_stores__{instance}"), &["st.global.v"]);
    }
    has("named_barriers", &["bar.sync"]);
    has("byte_products", &["dp4a.u32.u32", "dp4a.s32.s32"]);
    for (instance, vector) in [("w2", "v2.b32"), ("f4", "v4.b32"), ("d2", "v2.b64")] {
        let name = format!("relaxed_chunks__{instance}");
        let form = |operation: &str| format!("{operation}.relaxed.gpu.global.{vector}");
        has(&name, &[&form("ld"), &form("st")]);
    }

    // Every operation on global memory of the device's scope and of the system's, and on shared memory.
    for (ty, bits, sign) in [
        ("u32", 32, 'u'),
        ("i32", 32, 's'),
        ("u64", 64, 'u'),
        ("i64", 64, 's'),
    ] {
        let name = format!("integers__{ty}");
        let operations = [
            format!("min.{sign}{bits}"),
            format!("max.{sign}{bits}"),
            format!("and.b{bits}"),
            format!("or.b{bits}"),
            format!("xor.b{bits}"),
            format!("exch.b{bits}"),
        ];
        for form in ["atom.global", "atom.relaxed.sys", "atom.shared"] {
            // A sum has the same bits with and without sign.
            let sum = ["u", "s"].map(|sign| format!("{form}.add.{sign}{bits}"));
            let found = kernel(text, &name).any(|line| sum.iter().any(|sum| line.contains(sum)));
            assert!(found, "{arch:?}: none of {sum:?} in {name}");
            for operation in &operations {
                has(&name, &[&format!("{form}.{operation}")]);
            }
        }
    }
    for (ty, bits) in [("f32", 32), ("f64", 64)] {
        for form in ["atom.global", "atom.relaxed.sys", "atom.shared"] {
            has(&format!("floats__{ty}"), &[&format!("{form}.add.{ty}")]);
        }
        for scope in ["cta", "gpu", "sys"] {
            has(
                &format!("floats__{ty}"),
                &[
                    &format!("atom.relaxed.{scope}.global.cas.b{bits}"),
                    &format!("ld.relaxed.{scope}.global.b{bits}"),
                    &format!("ld.acquire.{scope}.global.b{bits}"),
                    &format!("st.relaxed.{scope}.global.b{bits}"),
                    &format!("st.release.{scope}.global.b{bits}"),
                ],
            );
        }
    }
}
