//! Kernels whose parameters are written as in Rust-CUDA: slices, references, pointers, structs, arrays and tuples.

use core::ffi::c_void;
use cuda_std::{
    cpu::{self, LaunchError, Options},
    kernel::{ByValue, Kernel, LaunchConfig, RawParam, Signature},
    prelude::*,
};

/// What no `ByValue` says anything of: a kernel takes it all the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Line {
    slope: f32,
    offset: f32,
}

/// Of the name that the marker of the kernel below would have.
#[derive(Debug, PartialEq)]
pub struct Blur(u8);

#[kernel]
#[allow(improper_ctypes_definitions, missing_docs, clippy::missing_safety_doc)]
pub unsafe fn blur(output: *mut u32) {
    // SAFETY: one element, written by one lane.
    unsafe { *output = u32::from(Blur(7).0) };
}

/// # Safety
/// `x` and `y` have as many elements as lanes.
#[kernel]
pub unsafe fn slices(x: &[f32], y: &mut [f32], line: &Line, count: &mut u32) {
    let i = thread::index_1d() as usize;
    y[i] = line.slope * x[i] + line.offset;
    if i == 0 {
        *count = y.len() as u32;
    }
}

/// # Safety
/// `x` and `y` have as many elements as lanes.
#[kernel]
#[allow(clippy::too_many_arguments, clippy::needless_lifetimes)]
pub unsafe fn values<'a>(
    x: *const f32,
    y: *mut f32,
    line: Line,
    factors: [f32; 3],
    pair: (u8, f64),
    nothing: (),
    word: u128,
    name: &'a str,
) {
    let i = thread::index_1d() as usize;
    let () = nothing;
    // SAFETY: by the contract.
    unsafe {
        *y.add(i) = (line.slope * *x.add(i) + line.offset) * factors[2]
            + f32::from(pair.0)
            + pair.1 as f32
            + word as f32
            + name.len() as f32;
    }
}

/// # Safety
/// The two are as long as there are lanes.
#[kernel(instances(f32, u64))]
pub unsafe fn copied<T: Copy + 'static>(x: &[T], y: *mut [T]) {
    let i = thread::index_1d() as usize;
    // SAFETY: by the contract.
    unsafe { (*y)[i] = x[i] };
}

/// A kernel that Rust-CUDA's users may have given attributes of its own macro.
///
/// # Safety
/// One lane.
#[kernel]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn named(output: &mut u32) {
    *output = 5;
}

/// # Safety
/// The kernel's contract; `raw` are its raw parameters.
unsafe fn run<K: Kernel>(config: LaunchConfig, raw: &[*const c_void]) -> Result<(), LaunchError> {
    // SAFETY: by the contract.
    unsafe { cpu::launch(&K::DESCRIPTOR, &config, raw, &Options::default()) }
}

fn words<T>(value: &T) -> *const c_void {
    core::ptr::from_ref(value).cast()
}

fn sizes<K: Kernel>() -> Vec<Vec<usize>> {
    let sizes = |raw: &&[RawParam]| raw.iter().map(|raw| raw.size).collect();
    K::DESCRIPTOR.params.iter().map(sizes).collect()
}

#[test]
fn slices_and_references_are_the_raw_parameters_of_rust_cuda() {
    assert_eq!(
        sizes::<Slices>(),
        [vec![8, 8], vec![8, 8], vec![8], vec![8]]
    );
    let word = size_of::<(u8, f64)>();
    let expected = [
        vec![8],
        vec![8],
        vec![8],
        vec![12],
        vec![word],
        vec![],
        vec![16],
        vec![8, 8],
    ];
    assert_eq!(sizes::<Values>(), expected);
    assert_eq!(sizes::<Copied<u64>>(), [vec![8, 8], vec![8, 8]]);

    let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let (mut y, line, mut count) = (
        vec![0.0_f32; 64],
        Line {
            slope: 2.0,
            offset: 1.0,
        },
        0_u32,
    );
    let (x_start, y_start, len) = (x.as_ptr(), y.as_mut_ptr(), 64_usize);
    let (line_start, count_start) = (&raw const line, &raw mut count);
    let raw = [
        words(&x_start),
        words(&len),
        words(&y_start),
        words(&len),
        words(&line_start),
        words(&count_start),
    ];
    // SAFETY: as many elements as lanes.
    unsafe { run::<Slices>(LaunchConfig::linear(2, 32), &raw) }.unwrap();
    assert!((0..64).all(|i| y[i] == 2.0 * i as f32 + 1.0));
    assert_eq!(count, 64);
}

#[test]
fn structs_arrays_and_tuples_come_by_value() {
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let mut y = vec![0.0_f32; 32];
    let (x_start, y_start) = (x.as_ptr(), y.as_mut_ptr());
    let (line, factors) = (
        Line {
            slope: 1.0,
            offset: 1.0,
        },
        [0.0, 0.0, 2.0_f32],
    );
    let (pair, word, name) = ((3_u8, 4.0_f64), 5_u128, "kernel");
    let (name_start, name_len) = (name.as_ptr(), name.len());
    let raw = [
        words(&x_start),
        words(&y_start),
        words(&line),
        words(&factors),
        words(&pair),
        words(&word),
        words(&name_start),
        words(&name_len),
    ];
    // SAFETY: as many elements as lanes.
    unsafe { run::<Values>(LaunchConfig::linear(1, 32), &raw) }.unwrap();
    assert!((0..32).all(|i| y[i] == 2.0 * (i as f32 + 1.0) + 18.0));
}

#[test]
fn an_empty_slice_may_have_any_start() {
    let (start, len) = (core::ptr::null::<f32>(), 0_usize);
    let raw = [words(&start), words(&len), words(&start), words(&len)];
    // SAFETY: no lane gets to an element: the access is refused before.
    let fault = unsafe { run::<Copied<f32>>(LaunchConfig::linear(1, 1), &raw) }.unwrap_err();
    assert!(
        fault
            .to_string()
            .contains("index out of bounds: the len is 0"),
        "{fault}"
    );
}

#[test]
fn a_type_of_the_markers_name_may_stand_beside_the_kernel() {
    let mut output = 0_u32;
    let start = &raw mut output;
    // SAFETY: one element, one lane.
    unsafe { run::<__blur_marker::Blur>(LaunchConfig::linear(1, 1), &[words(&start)]) }.unwrap();
    assert_eq!((output, Blur(7)), (7, Blur(7)));
}

#[test]
fn the_entry_has_the_functions_name_whatever_attributes_it_has() {
    assert_eq!(Named::DESCRIPTOR.name, "named");
    let mut output = 0_u32;
    let start = &raw mut output;
    // SAFETY: one lane.
    unsafe { run::<Named>(LaunchConfig::linear(1, 1), &[words(&start)]) }.unwrap();
    assert_eq!(output, 5);
}

/// What a launch passes is known by its type, not by the parameter's.
#[test]
fn a_launch_passes_views_and_pointers() {
    const fn same<K: Signature<Params = P>, P>() {}
    same::<Slices, (Global<f32>, GlobalMut<f32>, *const Line, *mut u32)>();
    same::<Copied<u64>, (Global<u64>, GlobalMut<u64>)>();
    const fn by_value<T: ByValue>() {}
    by_value::<u128>();
}
