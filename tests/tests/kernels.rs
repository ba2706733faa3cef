//! A user's own kernels: typed launches, and what is refused.

use cuda_std::prelude::*;
use warpwright::{DeviceKind, Error, LaunchConfig, Module};
use warpwright_tests::{cases, devices};

/// `output[i] = input[i] + add`, for every element of `output`.
///
/// # Safety
/// `input` is no shorter than `output`; the grid has a thread per element.
#[kernel(launch_bounds(128))]
pub unsafe fn add_to_all(input: Global<u32>, output: GlobalMut<u32>, add: u32) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        output.set(i, input.get(i) + add);
    }
}

/// The line of the access in [`add_to_all`], which is out of bounds where the input is too short.
const ACCESS: u32 = line!() - 5;

/// Every lane but the last waits.
///
/// # Safety
/// None comes of it: it ends with an error.
#[kernel]
pub unsafe fn wait_in_vain(output: GlobalMut<u32>) {
    if thread::thread_idx_x() + 1 < thread::block_dim_x() {
        thread::sync_threads();
    }
    output.set(0, 1);
}

/// `output[0] = a + b + c.0 + c.1`.
///
/// # Safety
/// `output` has an element.
#[kernel]
pub unsafe fn mixed(a: u8, output: GlobalMut<f64>, b: f32, c: [i64; 2]) {
    output.set(0, f64::from(a) + f64::from(b) + (c[0] + c[1]) as f64);
}

/// What a builder writes for these kernels, for CUDA devices as far as these tests launch them there.
const PTX: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry add_to_all(
	.param .u64 input,
	.param .u64 input_len,
	.param .u64 output,
	.param .u64 output_len,
	.param .u32 add
)
.maxntid 128, 1, 1
{
	.reg .pred %p;
	.reg .b32 %r<6>;
	.reg .b64 %d<8>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r3, %r0, %r1, %r2;
	cvt.u64.u32 %d0, %r3;
	ld.param.u64 %d1, [output_len];
	setp.ge.u64 %p, %d0, %d1;
	@%p ret;
	ld.param.u64 %d2, [input];
	ld.param.u64 %d3, [output];
	cvta.to.global.u64 %d2, %d2;
	cvta.to.global.u64 %d3, %d3;
	shl.b64 %d4, %d0, 2;
	add.u64 %d5, %d2, %d4;
	add.u64 %d6, %d3, %d4;
	ld.param.u32 %r4, [add];
	ld.global.u32 %r5, [%d5];
	add.u32 %r5, %r5, %r4;
	st.global.u32 [%d6], %r5;
	ret;
}

.visible .entry wait_in_vain(
	.param .u64 output,
	.param .u64 output_len
)
{
	ret;
}

.visible .entry mixed(
	.param .u32 a,
	.param .u64 output,
	.param .u64 output_len,
	.param .f32 b,
	.param .align 8 .b8 c[16]
)
{
	ret;
}
";

fn module() -> Module {
    Module::from_ptx(PTX).unwrap()
}

#[test]
fn a_typed_launch_runs_the_kernel() {
    let module = module();
    for device in devices::all() {
        let values: Vec<u32> = (0..1000).collect();
        let input = device.upload(&values).unwrap();
        let mut output = device.zeros::<u32>(1000).unwrap();
        device.load(&module).unwrap();
        for add in [5, 7] {
            let config = LaunchConfig::linear(8, 128);
            // SAFETY: both have 1000 elements; 1024 threads.
            unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut output, add)) }
                .unwrap();
            let wanted: Vec<u32> = values.iter().map(|value| value + add).collect();
            assert_eq!(output.to_vec().unwrap(), wanted);
        }
    }
}

#[test]
fn a_typed_launch_takes_views_and_matrices() {
    let module = module();
    for device in devices::all() {
        let input = device
            .upload_matrix(&(0..60).collect::<Vec<u32>>(), 6, 10)
            .unwrap();
        let mut output = device.zeros::<u32>(30).unwrap();
        let rows = input.rows(2..4).unwrap();
        let target = output.slice_mut(5..25).unwrap();
        let config = LaunchConfig::linear(1, 32);
        // SAFETY: both have 20 elements; 32 threads.
        unsafe { device.launch::<AddToAll>(&module, config, (rows, target, 1)) }.unwrap();
        let got = output.to_vec().unwrap();
        assert_eq!(got[..5], [0; 5]);
        assert_eq!(got[5..25], (21..41).collect::<Vec<u32>>());
        assert_eq!(got[25..], [0; 5]);

        let mut matrix = device.zeros_matrix::<u32>(6, 10).unwrap();
        let config = LaunchConfig::linear(1, 64);
        // SAFETY: both have 60 elements; 64 threads.
        unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut matrix, 0)) }.unwrap();
        assert_eq!(matrix.to_vec().unwrap(), input.to_vec().unwrap());
    }
}

#[test]
fn values_of_all_sizes_arrive() {
    let (device, module) = (devices::cpu(), module());
    let mut output = device.zeros::<f64>(1).unwrap();
    let config = LaunchConfig::linear(1, 1);
    let args = (200_u8, &mut output, 0.5_f32, [-1_i64 << 40, 3]);
    // SAFETY: the output has an element.
    unsafe { device.launch::<Mixed>(&module, config, args) }.unwrap();
    assert_eq!(output.to_vec().unwrap(), [203.5 - (1_i64 << 40) as f64]);
}

#[test]
fn more_threads_than_the_launch_bounds_are_refused() {
    let module = module();
    for device in devices::all() {
        let input = device.zeros::<u32>(256).unwrap();
        let mut output = device.zeros::<u32>(256).unwrap();
        for block in [[129, 1, 1], [64, 3, 1], [32, 2, 4]] {
            let config = LaunchConfig {
                grid: [1, 1, 1],
                block,
                shared_bytes: 0,
            };
            // SAFETY: both have 256 elements.
            let launched =
                unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut output, 1)) };
            let text = launched.unwrap_err().to_string();
            assert!(
                text.contains("128") && text.contains("add_to_all"),
                "{text}"
            );
            assert!(
                text.contains(&block.iter().product::<u32>().to_string()),
                "{text}"
            );
            assert!(!text.contains('\n'), "{text}");
        }
        assert_eq!(output.to_vec().unwrap(), [0; 256]);
    }
}

#[test]
fn shapes_that_no_device_takes_are_refused() {
    let (device, module) = (devices::cpu(), module());
    let mut output = device.zeros::<u32>(1).unwrap();
    let shapes = [
        LaunchConfig::linear(0, 32),
        LaunchConfig::linear(1, 0),
        LaunchConfig::linear(1, 2048),
        LaunchConfig {
            grid: [1, 65536, 1],
            block: [1, 1, 1],
            shared_bytes: 0,
        },
        LaunchConfig {
            grid: [1, 1, 1],
            block: [1, 1, 65],
            shared_bytes: 0,
        },
        LaunchConfig::linear(1, 1).with_shared(1 << 20),
    ];
    for config in shapes {
        // SAFETY: the output has an element.
        let launched = unsafe { device.launch::<WaitInVain>(&module, config, (&mut output,)) };
        let error = launched.unwrap_err();
        assert!(matches!(error, Error::Launch(_)), "{config:?}: {error:?}");
        assert!(error.to_string().contains("given"), "{error}");
    }
    assert_eq!(output.to_vec().unwrap(), [0]);
}

#[test]
fn a_kernel_that_the_module_does_not_hold_is_refused() {
    let ptx = PTX.replace("wait_in_vain", "something_else");
    let module = Module::from_ptx(ptx).unwrap();
    for device in devices::all() {
        let mut output = device.zeros::<u32>(1).unwrap();
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: the output has an element.
        let launched = unsafe { device.launch::<WaitInVain>(&module, config, (&mut output,)) };
        let error = launched.unwrap_err();
        assert!(matches!(error, Error::UnknownKernel { .. }), "{error:?}");
        assert!(error.to_string().contains("`wait_in_vain`"), "{error}");
    }
}

/// PTX of another version of the source: the kernel would read what is not passed.
#[test]
fn a_kernel_that_takes_other_parameters_is_refused() {
    let ptx = PTX.replace("\t.param .u32 add\n", "\t.param .u64 add\n");
    assert_ne!(ptx, PTX);
    let module = Module::from_ptx(ptx).unwrap();
    for device in devices::all() {
        let input = device.upload(&[1_u32]).unwrap();
        let mut output = device.zeros::<u32>(1).unwrap();
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: both have an element.
        let launched =
            unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut output, 1)) };
        let error = launched.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Invalid {
                    operation: "launch",
                    ..
                }
            ),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains("`add_to_all` with parameters of [8, 8, 8, 8, 4] bytes"),
            "{text}"
        );
        assert!(text.contains("[8, 8, 8, 8, 8]"), "{text}");
        assert_eq!(output.to_vec().unwrap(), [0]);
    }
}

#[test]
fn text_that_is_no_module_is_refused() {
    for text in ["", "something else", ".version 7.0\n.target sm_75\n"] {
        let error = Module::from_ptx(text).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    }
    let kernels: Vec<String> = module().kernels().map(str::to_owned).collect();
    assert_eq!(kernels, ["add_to_all", "wait_in_vain", "mixed"]);
}

#[test]
fn a_module_that_does_not_compile_is_an_error_of_the_driver() {
    let module = Module::from_ptx(PTX.replace("mad.lo.u32", "mad.nonsense")).unwrap();
    for device in devices::all().filter(|device| cases::is_cuda(device)) {
        let error = device.load(&module).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
    }
}

#[test]
fn an_access_out_of_bounds_names_kernel_block_lane_index_and_line() {
    let (device, module) = (devices::cpu(), module());
    let input = device.zeros::<u32>(70).unwrap();
    let mut output = device.zeros::<u32>(128).unwrap();
    let config = LaunchConfig::linear(4, 32);
    // SAFETY: the CPU executor checks every access, so the short input is an error and no more.
    let launched = unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut output, 1)) };
    let error = launched.unwrap_err();
    assert!(matches!(error, Error::Launch(_)), "{error:?}");
    let text = error.to_string();
    let place = format!("kernels.rs:{ACCESS}");
    for part in [
        "add_to_all",
        "block (2, 0, 0)",
        "lane (6, 0, 0)",
        "element 70",
        "input",
        &place,
    ] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn a_barrier_that_a_lane_never_reaches_is_an_error_and_no_hang() {
    let (device, module) = (devices::cpu(), module());
    let mut output = device.zeros::<u32>(1).unwrap();
    let config = LaunchConfig::linear(3, 64);
    // SAFETY: the output has an element.
    let launched = unsafe { device.launch::<WaitInVain>(&module, config, (&mut output,)) };
    let text = launched.unwrap_err().to_string();
    for part in ["wait_in_vain", "barrier", "0-62", "63", "kernels.rs:"] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn arguments_on_another_device_are_refused() {
    let (cpu, module) = (devices::cpu(), module());
    for device in devices::all().filter(|device| cases::is_cuda(device)) {
        let input = cpu.zeros::<u32>(10).unwrap();
        let mut output = device.zeros::<u32>(10).unwrap();
        let config = LaunchConfig::linear(1, 32);
        // SAFETY: both have 10 elements.
        let launched =
            unsafe { device.launch::<AddToAll>(&module, config, (&input, &mut output, 1)) };
        let error = launched.unwrap_err();
        assert!(
            matches!(
                error,
                Error::DeviceMismatch {
                    second: DeviceKind::Cpu,
                    ..
                }
            ),
            "{error:?}"
        );
    }
}
