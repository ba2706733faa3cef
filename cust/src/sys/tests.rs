//! Compares sizes and offsets with those of NVIDIA's header on 64-bit targets.

use std::mem::{align_of, offset_of, size_of};

use super::*;

macro_rules! layout {
    ($ty:ident: $size:literal, $align:literal, $($($field:ident).+ = $offset:literal),* $(,)?) => {
        assert_eq!((size_of::<$ty>(), align_of::<$ty>()), ($size, $align), stringify!($ty));
        $( assert_eq!(offset_of!($ty, $($field).+), $offset, stringify!($ty.$($field).+)); )*
    };
}

#[test]
#[cfg(target_pointer_width = "64")]
fn structs_have_the_layout_of_the_driver() {
    layout!(CUuuid: 16, 1, bytes = 0);
    layout!(CUDA_MEMCPY2D: 128, 8,
        srcXInBytes = 0, srcY = 8, srcMemoryType = 16, srcHost = 24, srcDevice = 32, srcArray = 40, srcPitch = 48,
        dstXInBytes = 56, dstY = 64, dstMemoryType = 72, dstHost = 80, dstDevice = 88, dstArray = 96,
        dstPitch = 104, WidthInBytes = 112, Height = 120);
    layout!(CUmemLocation: 8, 4, r#type = 0, id = 4);
    layout!(CUmemPoolProps: 88, 8, allocType = 0, handleTypes = 4, location = 8,
        win32SecurityAttributes = 16, maxSize = 24, usage = 32, reserved = 34);
    layout!(CUmemAccessDesc: 12, 4, location = 0, flags = 8);
    layout!(CUDA_KERNEL_NODE_PARAMS: 56, 8, func = 0, gridDimX = 8, blockDimX = 20, blockDimZ = 28,
        sharedMemBytes = 32, kernelParams = 40, extra = 48);
    layout!(CUlaunchAttribute: 72, 8, id = 0, value = 8);
    layout!(CUlaunchConfig: 56, 8, gridDimX = 0, blockDimX = 12, sharedMemBytes = 24, hStream = 32,
        attrs = 40, numAttrs = 48);
    layout!(CUtensorMap: 128, 64, opaque = 0);
    layout!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC: 104, 8, r#type = 0, handle = 8, size = 24, flags = 32,
        reserved = 36);
    layout!(CUexternalMemoryWin32: 16, 8, handle = 0, name = 8);
    layout!(CUDA_EXTERNAL_MEMORY_BUFFER_DESC: 88, 8, offset = 0, size = 8, flags = 16, reserved = 20);
}

#[test]
fn numbers_have_the_size_of_c_enumerations() {
    assert_eq!(size_of::<CUresult>(), 4);
    assert_eq!(size_of::<CUdeviceptr>(), 8);
    assert_eq!(size_of::<CUjit_target>(), 4);
    assert_eq!(size_of::<Option<CUoccupancyB2DSize>>(), size_of::<usize>());
}

#[test]
fn a_function_is_exported_under_its_own_name_and_perhaps_a_number() {
    for symbol in SYMBOLS {
        let (name, export) = (symbol.name(), symbol.export());
        let rest = export.strip_prefix(name).unwrap_or("?");
        assert!(
            ["", "_v2"].contains(&rest),
            "{name} is exported as {export}"
        );
        assert!(
            (2000..=13000).contains(&symbol.version()),
            "{name}: {}",
            symbol.version()
        );
        // The second form of a function is newer than the first.
        assert!(
            rest.is_empty() || symbol.version() >= 3020,
            "{name}: {}",
            symbol.version()
        );
    }
    let mut names: Vec<_> = SYMBOLS.iter().map(|symbol| symbol.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SYMBOLS.len());
}

/// Runs on a machine with a driver for CUDA 12.0 or later, which has all functions.
#[test]
fn the_driver_of_this_machine_has_every_function() {
    let version = crate::CudaApiVersion::get().map(|version| version.major());
    if !version.is_ok_and(|major| major >= 12) {
        let required =
            std::env::var_os("WARPWRIGHT_REQUIRE_CUDA").is_some_and(|value| value == "1");
        assert!(!required, "WARPWRIGHT_REQUIRE_CUDA=1 and {version:?}");
        eprintln!("left out, there is no driver for CUDA 12.0 or later: {version:?}");
        return;
    }
    for symbol in SYMBOLS {
        let name = symbol.name();
        assert!(crate::driver::has_function(name), "{name}");
    }
}
