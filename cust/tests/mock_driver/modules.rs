//! Tests of modules, their globals, the linker, and memory of other APIs.

use cust::error::CudaError;
use cust::external::ExternalMemory;
use cust::link::Linker;
use cust::memory::CopyDestination;
use cust::module::{JitFallback, JitTarget, Module, ModuleJitOption, OptLevel};

use crate::common::{Plan, mock};

const PTX: &str = "
.global .align 4 .b8 answer[4];
.visible .entry add(.param .u64 x, .param .u32 n) { ret; }
";

#[test]
fn a_module_has_kernels_and_globals() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    assert!(module.get_function("add").is_ok());
    assert_eq!(module.get_function("sub").err(), Some(CudaError::NotFound));
    assert_eq!(
        module.get_function("a\0dd").err(),
        Some(CudaError::InvalidValue)
    );
    let mut answer = module.get_global::<u32>(c"answer").expect("a global");
    answer.copy_from(&42).expect("a copy");
    let mut value = 0;
    answer.copy_to(&mut value).expect("a copy");
    assert_eq!(value, 42);
    assert!(!answer.as_device_ptr().is_null());
    let wrong = module.get_global::<u64>(c"answer").err();
    assert_eq!(
        wrong,
        Some(CudaError::InvalidValue),
        "four bytes are no u64"
    );
    assert_eq!(
        module.get_global::<u32>(c"question").err(),
        Some(CudaError::NotFound)
    );
    assert!(Module::drop(module).is_ok());
    drop((stream, context));
    mock.nothing_is_left();
}

/// The one-line message that a program shows for this error.
fn line(error: CudaError) -> String {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_missing_kernel_is_a_line_with_the_errors_name() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let error = module.get_function("sub").expect_err("no such kernel");
    assert!(line(error).starts_with("CUDA_ERROR_NOT_FOUND (500)"));
    let error = module.get_global::<u32>(c"sub").err();
    assert!(line(error.expect("no such global")).starts_with("CUDA_ERROR_NOT_FOUND (500)"));
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn ptx_of_a_later_version_than_the_drivers_is_a_line_with_the_errors_name() {
    let mock = mock();
    let (context, stream) = mock.open();
    for load in [
        || Module::from_ptx(PTX, &[]),
        || Module::from_ptx_with_log(PTX, &[]).0,
        || Module::from_fatbin(PTX, &[]),
    ] {
        mock.driver.arm(Plan::Once, 1, 222);
        let error = load().expect_err("the driver is older");
        let (_, failed) = mock.driver.disarm();
        assert_eq!(failed.as_deref(), Some("cuModuleLoadDataEx"));
        assert_eq!(error, CudaError::UnsupportedPtxVersion);
        assert!(line(error).starts_with("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"));
    }
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn an_image_that_is_none_is_a_line_with_the_errors_name() {
    let mock = mock();
    let (context, stream) = mock.open();
    let refused = |loaded: Result<Module, CudaError>, name: &str| {
        let error = loaded.expect_err("no image");
        assert!(line(error).starts_with(name), "{error}");
    };
    let invalid = "CUDA_ERROR_INVALID_IMAGE (200)";
    for bytes in [b"".as_slice(), b"text", b"\x7fELF", &[0xff; 64]] {
        refused(Module::from_cubin(bytes, &[]), invalid);
    }
    // Truncated images: machine code and a fat binary.
    for bytes in [b"\x7fELF".as_slice(), b"\x50\xed\x55\xba"] {
        refused(Module::from_fatbin(bytes, &[]), invalid);
    }
    let invalid = "CUDA_ERROR_INVALID_PTX (218)";
    refused(Module::from_fatbin("bad", &[]), invalid);
    refused(Module::from_ptx("bad", &[]), invalid);
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn options_arrive_as_numbers() {
    let mock = mock();
    let (context, stream) = mock.open();
    let options = [
        ModuleJitOption::MaxRegisters(64),
        ModuleJitOption::OptLevel(OptLevel::O2),
        ModuleJitOption::DetermineTargetFromContext,
        ModuleJitOption::Target(JitTarget::Compute80),
        ModuleJitOption::Fallback(JitFallback::PreferCompatibleBinary),
        ModuleJitOption::GenerateDebugInfo(true),
        ModuleJitOption::GenerateLineInfo(false),
    ];
    let (module, calls) = mock.driver.calls_of(|| Module::from_ptx(PTX, &options));
    assert!(module.is_ok());
    let expected =
        "cuModuleLoadDataEx [(0, 64), (7, 2), (8, 0), (9, 80), (10, 1), (11, 1), (13, 0)]";
    assert_eq!(calls, [expected]);
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn the_log_says_what_is_wrong_with_ptx() {
    let mock = mock();
    let (context, stream) = mock.open();
    assert_eq!(
        Module::from_ptx("bad", &[]).err(),
        Some(CudaError::InvalidPtx)
    );
    let (module, log) = Module::from_ptx_with_log("bad", &[]);
    assert_eq!(module.err(), Some(CudaError::InvalidPtx));
    assert_eq!(
        (log.error.as_str(), log.info.as_str()),
        ("ptxas fatal: line 1: bad", "")
    );
    let (module, log) = Module::from_ptx_with_log(PTX, &[]);
    assert!(module.is_ok() && log.error.is_empty());
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn images_come_from_files_and_bytes_and_are_whole() {
    let mock = mock();
    let (context, stream) = mock.open();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("module.ptx");
    std::fs::write(&path, PTX).expect("a file");
    let module = Module::from_file(&path).expect("a module");
    assert!(module.get_function("add").is_ok());
    let missing = Module::from_file(folder.join("missing.ptx"));
    assert_eq!(missing.err(), Some(CudaError::FileNotFound));
    assert_eq!(
        Module::from_file(folder).err(),
        Some(CudaError::OperatingSystemError)
    );
    assert!(
        Module::from_fatbin(PTX.as_bytes(), &[]).is_ok(),
        "text without a NUL"
    );
    let cut_off = b"\x7fELF\x02\x01\x01".as_slice();
    assert_eq!(
        Module::from_cubin(cut_off, &[]).err(),
        Some(CudaError::InvalidImage)
    );
    assert_eq!(
        Module::from_fatbin(cut_off, &[]).err(),
        Some(CudaError::InvalidImage)
    );
    assert_eq!(
        Module::from_ptx("a\0b", &[]).err(),
        Some(CudaError::InvalidValue)
    );
    #[allow(deprecated)]
    let old = (
        Module::from_str(PTX).is_ok(),
        Module::load_from_string(c"").is_ok(),
    );
    assert_eq!(old, (true, true));
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_linker_makes_machine_code_of_what_is_added() {
    let mock = mock();
    let (context, stream) = mock.open();
    let mut linker = Linker::new().expect("a linker");
    let ((), calls) = mock.driver.calls_of(|| {
        linker.add_ptx("abc").expect("added");
        linker.add_fatbin([9, 9]).expect("added");
    });
    assert_eq!(calls, ["cuLinkAddData_v2 1 4", "cuLinkAddData_v2 2 2"]);
    assert_eq!(linker.add_cubin([1, 2]), Err(CudaError::InvalidImage));
    let code = linker.complete().expect("machine code");
    assert_eq!(code[64..], *b"abc\0\x09\x09");
    assert!(Module::from_cubin(&code, &[]).is_ok());
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn memory_of_other_apis_is_taken_over() {
    let mock = mock();
    let (context, stream) = mock.open();
    // SAFETY: the mock driver does not use the descriptor.
    let mut memory = unsafe { ExternalMemory::import(5, 4096) }.expect("memory");
    let part = memory.mapped_buffer::<u32>(1024, 256).expect("a part");
    assert_eq!(part.as_raw(), 0x7000_0100);
    assert!(memory.mapped_buffer::<u32>(4096, 4).is_err());
    // SAFETY: as above.
    unsafe {
        assert!(memory.reimport(-1, 4096).is_err());
        memory.reimport(6, 8192).expect("other memory");
    }
    assert!(memory.mapped_buffer::<u8>(8192, 0).is_ok());
    drop((memory, stream, context));
    mock.nothing_is_left();
}
