//! The README shows what the project does: its code compiles (see `lib.rs`), its kernel's error is this one.

use cuda_std::prelude::*;
use warpwright::{Device, LaunchConfig, Module};

/// The README's kernel without its check.
///
/// # Safety
/// `x` and `y` have an element for every thread of the grid.
#[kernel(launch_bounds(256))]
pub unsafe fn saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    y.set(i, a.mul_add(x.get(i), y.get(i)));
}

/// A module that declares the kernel: the CPU executor asks for no more.
const PTX: &str = ".version 7.0
.visible .entry saxpy(
	.param .f32 a,
	.param .u64 x,
	.param .u64 x_len,
	.param .u64 y,
	.param .u64 y_len
)
{
	ret;
}
";

#[test]
fn the_readme_shows_the_real_error() {
    let device = Device::cpu();
    let module = Module::from_ptx(PTX).unwrap();
    let x = device.upload(&[1.0_f32; 1000]).unwrap();
    let mut y = device.upload(&[2.0_f32; 1000]).unwrap();
    let config = LaunchConfig::linear(4, 256);
    // SAFETY: none is needed on the CPU executor, which checks every access.
    let error = unsafe { device.launch::<Saxpy>(&module, config, (0.5, &x, &mut y)) };
    let error = error.unwrap_err().to_string();
    let error = &error[error.find("kernel saxpy").unwrap_or(0)..];
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&format!("```text\n{error}\n```")),
        "the README required to show:\n{error}"
    );
}
