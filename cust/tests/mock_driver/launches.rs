//! Tests of kernels (attributes, occupancy, launches) and of tensor maps.

use cust::context::{CacheConfig, SharedMemoryConfig};
use cust::error::CudaError;
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::launch;
use cust::launch::{LaunchConfig, parameter};
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::module::Module;
use cust::tensor_map::{
    Im2colTensor, TensorDataType, TensorFill, TensorL2Promotion, TensorSwizzle, TiledTensor,
};

use crate::common::mock;

const PTX: &str = "
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 n, .param .u8 flag) { ret; }
.visible .entry nothing() { ret; }
";

#[test]
fn a_launch_has_its_shape_and_its_arguments() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let saxpy = module.get_function("saxpy").expect("a kernel");
    let x = DeviceBuffer::from_slice(&[0.0_f32; 10]).expect("a buffer");
    let mut evaluated = 0;
    let mut count = || {
        evaluated += 1;
        x.len()
    };
    let (result, calls) = mock.driver.calls_of(|| {
        // SAFETY: the arguments match the kernel's parameters; the mock driver runs no kernel.
        unsafe {
            launch!(saxpy<<<(2, 3), BlockSize::xyz(4, 5, 6), 128, stream>>>(
                1.5_f32,
                x.as_device_ptr().wrapping_add(1),
                count(),
                true,
            ))
        }
    });
    assert_eq!(result, Ok(()));
    assert_eq!(
        calls,
        ["cuLaunchKernel saxpy [2, 3, 1] [4, 5, 6] 128 (0x3fc00000, 40B+4, 0xa, 0x01)"]
    );
    assert_eq!(evaluated, 1, "an argument is evaluated once");
    drop((x, module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_kernel_is_launched_by_its_modules_name_and_its_own() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    // SAFETY: the kernels have no parameters; the mock driver runs no kernel.
    unsafe {
        assert_eq!(launch!(module.nothing<<<1, 32, 0, stream>>>()), Ok(()));
        assert_eq!(
            launch!(module.missing<<<1, 32, 0, stream>>>()),
            Err(CudaError::NotFound)
        );
    }
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn shared_memory_above_the_usual_is_asked_for_first() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let mut kernel = module.get_function("nothing").expect("a kernel");
    kernel
        .set_max_dynamic_shared_memory(100 * 1024)
        .expect("allowed");
    let most = kernel.get_attribute(FunctionAttribute::MaxDynamicSharedSizeBytes);
    assert_eq!(most, Ok(100 * 1024));
    // SAFETY: the kernel has no parameters; the mock driver runs no kernel.
    let result = unsafe { launch!(kernel<<<1, 32, 100 * 1024, stream>>>()) };
    assert_eq!(result, Ok(()));
    assert_eq!(
        kernel.set_max_dynamic_shared_memory(1 << 20),
        Err(CudaError::InvalidValue)
    );
    assert_eq!(
        kernel.set_max_dynamic_shared_memory(usize::MAX),
        Err(CudaError::InvalidValue)
    );
    assert_eq!(
        kernel.get_attribute(FunctionAttribute::NumRegisters),
        Ok(32)
    );
    let ((), calls) = mock.driver.calls_of(|| {
        kernel
            .set_cache_config(CacheConfig::PreferShared)
            .expect("set");
        kernel
            .set_shared_memory_config(SharedMemoryConfig::FourByteBankSize)
            .expect("set");
    });
    assert_eq!(
        calls,
        ["cuFuncSetCacheConfig 1", "cuFuncSetSharedMemConfig 1"]
    );
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn occupancy_is_the_drivers() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let kernel = module.get_function("saxpy").expect("a kernel");
    assert_eq!(
        kernel.suggested_launch_configuration(0, 0.into()),
        Ok((32, 256))
    );
    assert_eq!(
        kernel.suggested_launch_configuration(0, (8, 8).into()),
        Ok((128, 64))
    );
    assert_eq!(
        kernel.max_active_blocks_per_multiprocessor(512.into(), 0),
        Ok(4)
    );
    let shared = kernel.available_dynamic_shared_memory_per_block(2.into(), 256.into());
    assert_eq!(shared, Ok(227 * 1024 / 2));
    let refused = Some(CudaError::InvalidValue);
    let huge = BlockSize::xyz(u32::MAX, u32::MAX, 2);
    assert_eq!(
        kernel.max_active_blocks_per_multiprocessor(huge, 0).err(),
        refused
    );
    assert_eq!(
        kernel.suggested_launch_configuration(0, huge).err(),
        refused
    );
    let grid = GridSize::xy(1 << 16, 1 << 15);
    assert_eq!(
        kernel
            .available_dynamic_shared_memory_per_block(grid, huge)
            .err(),
        refused
    );
    let config = LaunchConfig::new(64, 256).cluster(2);
    assert_eq!(kernel.max_active_clusters(&config), Ok(2));
    assert_eq!(kernel.max_potential_cluster_size(&config), Ok(8));
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn clusters_cooperation_and_priority_are_attributes_of_a_launch() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let kernel = module.get_function("saxpy").expect("a kernel");
    let (a, x, n, flag) = (2.0_f32, DevicePointer::<f32>::null(), 7_u64, 1_u8);
    let config = LaunchConfig::new((8, 2), 64)
        .shared_bytes(256)
        .cluster((2, 1, 1))
        .cooperative(true)
        .priority(-3);
    let (result, calls) = mock.driver.calls_of(|| {
        let arguments = [
            parameter(&a),
            parameter(&x),
            parameter(&n),
            parameter(&flag),
        ];
        // SAFETY: the arguments match the kernel's parameters; the mock driver runs no kernel.
        unsafe { stream.launch_with(&kernel, &config, &arguments) }
    });
    assert_eq!(result, Ok(()));
    let expected = "cuLaunchKernelEx [(4, [2, 1, 1]), (2, [1]), (8, [4294967293])] saxpy [8, 2, 1] \
                    [64, 1, 1] 256 (0x40000000, 0x0, 0x7, 0x01)";
    assert_eq!(calls, [expected]);
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_tensor_map_is_what_the_driver_encodes() {
    let mock = mock();
    let (context, stream) = mock.open();
    let mut tensor = TiledTensor::new(TensorDataType::F32, &[640, 480], &[2560], &[64, 8]);
    tensor.swizzle = TensorSwizzle::Bytes128;
    tensor.promotion = TensorL2Promotion::Bytes256;
    tensor.fill = TensorFill::Nan;
    let address = DevicePointer::<f32>::from_raw(0x1000);
    let (map, calls) = mock.driver.calls_of(|| tensor.encode(address));
    assert_eq!(calls, ["cuTensorMapEncodeTiled [0, 3, 3, 1]"]);
    let mut map = map.expect("a map");
    let one = |size: u64| size | 1 << 32;
    let words = map.as_raw().opaque;
    assert_eq!(words[..4], [0x1000, 7 | 2 << 32, 640, 480]);
    assert_eq!((words[7], words[11], words[12]), (2560, one(64), one(8)));
    map.replace_address(address.wrapping_add(4))
        .expect("replaced");
    assert_eq!(map.as_raw().opaque[0], 0x1010);
    assert_eq!(
        tensor.encode(address.wrapping_add(1)).err(),
        Some(CudaError::InvalidValue)
    );
    for wrong in [
        TiledTensor {
            sizes: &[],
            ..tensor.clone()
        },
        TiledTensor {
            sizes: &[1; 6],
            strides: &[16; 5],
            box_sizes: &[1; 6],
            ..tensor.clone()
        },
        TiledTensor {
            strides: &[],
            ..tensor.clone()
        },
        TiledTensor {
            box_sizes: &[1],
            ..tensor.clone()
        },
        TiledTensor {
            element_strides: &[1],
            ..tensor.clone()
        },
    ] {
        assert_eq!(
            wrong.encode(address).err(),
            Some(CudaError::InvalidValue),
            "{wrong:?}"
        );
    }
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_map_of_pixels_under_a_mask_is_what_the_driver_encodes() {
    let mock = mock();
    let (context, stream) = mock.open();
    // Eight images of 32 by 24 pixels with 64 channels, under a mask of 3 by 3.
    let (sizes, strides) = ([64, 32, 24, 8], [256, 8192, 196_608]);
    let mut images = Im2colTensor::new(TensorDataType::F32, &sizes, &strides, 16, 128);
    images.lower_corner = &[-1, -2];
    images.upper_corner = &[-1, 3];
    images.swizzle = TensorSwizzle::Bytes64;
    let address = DevicePointer::<f32>::from_raw(0x2000);
    let (map, calls) = mock.driver.calls_of(|| images.encode(address));
    assert_eq!(calls, ["cuTensorMapEncodeIm2col [0, 2, 0, 0]"]);
    let words = map.expect("a map").as_raw().opaque;
    assert_eq!(words[..6], [0x2000, 7 | 4 << 32, 64, 32, 24, 8]);
    assert_eq!(words[7..10], strides);
    let corner = |lower: i32, upper: i32| u64::from(lower as u32) | u64::from(upper as u32) << 32;
    assert_eq!(words[11..14], [corner(-1, -1), corner(-2, 3), 0]);
    assert_eq!(words[14..], [16 | 128 << 32, 4]);
    let wrong = [
        Im2colTensor {
            sizes: &sizes[..2],
            ..images.clone()
        },
        Im2colTensor {
            strides: &strides[..2],
            ..images.clone()
        },
        Im2colTensor {
            lower_corner: &[0],
            ..images.clone()
        },
        Im2colTensor {
            upper_corner: &[0],
            ..images.clone()
        },
        Im2colTensor {
            element_strides: &[1; 3],
            ..images.clone()
        },
    ];
    let ((), calls) = mock.driver.calls_of(|| {
        for wrong in wrong {
            let given = wrong.encode(address).err();
            assert_eq!(given, Some(CudaError::InvalidValue), "{wrong:?}");
        }
    });
    assert!(calls.is_empty(), "the driver would read beyond them");
    images.channels_per_pixel = 257;
    assert_eq!(images.encode(address).err(), Some(CudaError::InvalidValue));
    drop((stream, context));
    mock.nothing_is_left();
}
