//! Every device function of `cuda_std` gives the same bits on the CPU executor and on CUDA devices, and the
//! bits that it should.
//!
//! | file | functions |
//! | --- | --- |
//! | `atomics.rs` | atomic operations |
//! | `blocks.rs` | scans, exchanges and ranks of blocks |
//! | `bulk.rs` | mbarriers, bulk copies, tiles by tensor maps |
//! | `clusters.rs` | clusters, distributed shared memory |
//! | `copies.rs` | asynchronous copies |
//! | `functions.rs` | floats, conversions, clocks, a trap |
//! | `memory.rs` | views, shared and constant memory, kinds of memory |
//! | `names.rs` | Rust-CUDA's atomic functions of pointers, libdevice's names |
//! | `products.rs` | products of fragments of matrices |
//! | `threads.rs` | places in a launch, barriers |
//! | `tiles.rs` | loads, stores, sorts and runs of blocks |
//! | `waits.rs` | waits for words |
//! | `warp_tiles.rs` | loads, stores, exchanges, sorts, runs and ranks of warps |
//! | `warpgroups.rs` | products of warpgroups |
//! | `warps.rs` | shuffles, votes, matches, reductions |
//!
//! Each operation takes values that another operation would make something else of, and has a result of its
//! own, which the host computes too: from the definition, not by the CPU executor.

mod atomics;
mod blocks;
mod bulk;
mod clusters;
mod copies;
mod functions;
mod memory;
mod names;
mod products;
mod threads;
mod tiles;
mod waits;
mod warp_tiles;
mod warpgroups;
mod warps;

use std::sync::OnceLock;

use bytemuck::Pod;
use cuda_builder::NvvmArch;
use cuda_std::{kernel::Kernel, prelude::*};
use warpwright::{Device, LaunchConfig, Module};
use warpwright_tests::{compare, device_library, devices};

/// The architectures of the kernels, and the compute capabilities that take them: the oldest; one that has `redux`,
/// asynchronous copies and products of 8 x 8 elements; and one with larger products.
const ARCHITECTURES: [(NvvmArch, (u32, u32)); 3] = [
    (NvvmArch::Compute75, (7, 5)),
    (NvvmArch::Compute80, (8, 0)),
    (NvvmArch::Compute90, (9, 0)),
];

/// The architecture of the kernels with instructions that Hopper alone has, and its compute capability.
const HOPPER: (NvvmArch, (u32, u32)) = (NvvmArch::Compute90a, (9, 0));

/// The kernels for an architecture.
fn module(arch: NvvmArch) -> &'static Module {
    static MODULES: [OnceLock<Module>; 4] = [const { OnceLock::new() }; 4];
    let index = ARCHITECTURES.iter().position(|(it, _)| *it == arch);
    MODULES[index.unwrap_or(ARCHITECTURES.len())]
        .get_or_init(|| Module::from_ptx(device_library::ptx(arch)).unwrap())
}

/// Calls `work` with every device and every module that it takes: the CPU first.
fn everywhere(mut work: impl FnMut(&Device, NvvmArch)) {
    for device in devices::all() {
        for (arch, from) in ARCHITECTURES {
            // The CPU takes one like the other.
            if arch == NvvmArch::Compute75 || device.info().compute_capability >= Some(from) {
                work(device, arch);
            }
        }
    }
}

/// Calls `work` with the CPU and every Hopper card, and the module for Hopper.
fn on_hopper(mut work: impl FnMut(&Device, NvvmArch)) {
    let (arch, capability) = HOPPER;
    for device in devices::all() {
        let found = device.info().compute_capability;
        if device.kind() == warpwright::DeviceKind::Cpu || found == Some(capability) {
            work(device, arch);
        }
    }
}

/// Runs `work` everywhere: the same bytes come out. Gives what came out, so that a test can look at it.
fn same_everywhere<T: Pod + std::fmt::Debug>(
    what: &str,
    work: impl Fn(&Device, &Module) -> Vec<T>,
) -> Vec<T> {
    same(what, |work| everywhere(work), work)
}

/// Runs `work` on the CPU and on Hopper: the same bytes come out.
fn same_on_hopper<T: Pod + std::fmt::Debug>(
    what: &str,
    work: impl Fn(&Device, &Module) -> Vec<T>,
) -> Vec<T> {
    same(what, |work| on_hopper(work), work)
}

/// Runs `work` on the devices of `each`, of which the first is the CPU: the same bytes come out.
fn same<T: Pod + std::fmt::Debug>(
    what: &str,
    each: impl FnOnce(&mut dyn FnMut(&Device, NvvmArch)),
    work: impl Fn(&Device, &Module) -> Vec<T>,
) -> Vec<T> {
    let mut expected = Vec::new();
    each(&mut |device, arch| {
        let got = work(device, module(arch));
        if device.kind() == warpwright::DeviceKind::Cpu {
            expected = got;
            assert!(!expected.is_empty());
        } else if let Err(why) = compare::same_bits(&got, &expected) {
            panic!(
                "{what} on {} with {arch:?}, against the CPU: {why}",
                device.kind()
            );
        }
    });
    expected
}

/// Panics unless the results are those of the definition, to the bit.
#[track_caller]
fn assert_defined<T: Pod + std::fmt::Debug>(what: &str, got: &[T], expected: &[T]) {
    if let Err(why) = compare::same_bits(got, expected) {
        panic!("{what}, against its definition: {why}");
    }
}

const WARP: LaunchConfig = LaunchConfig::linear(1, 32);

/// Bytes without a pattern: the steps of a multiplicative generator.
fn noise<T: Pod>(len: usize) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut values = vec![T::zeroed(); len];
    for byte in bytemuck::cast_slice_mut::<T, u8>(&mut values) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
    values
}

/// Runs a kernel that fills its only view.
fn fill<K, T>(what: &str, config: LaunchConfig, len: usize) -> Vec<T>
where
    K: Kernel<Params = (GlobalMut<T>,)>,
    T: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let mut output = device.zeros::<T>(len).unwrap();
        // SAFETY: the tests give as many elements as the kernel's threads use.
        unsafe { device.launch::<K>(module, config, (&mut output,)) }.unwrap();
        output.to_vec().unwrap()
    })
}

/// Runs a kernel from one view to another.
fn from_to<K, A, B>(what: &str, config: LaunchConfig, values: &[A], len: usize) -> Vec<B>
where
    K: Kernel<Params = (Global<A>, GlobalMut<B>)>,
    A: warpwright::Element,
    B: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<B>(len).unwrap();
        // SAFETY: the tests give as many elements as the kernel's threads use.
        unsafe { device.launch::<K>(module, config, (&input, &mut output)) }.unwrap();
        output.to_vec().unwrap()
    })
}

/// Runs a kernel from one view to another on the CPU and on Hopper.
fn hopper_from_to<K, A, B>(what: &str, config: LaunchConfig, values: &[A], len: usize) -> Vec<B>
where
    K: Kernel<Params = (Global<A>, GlobalMut<B>)>,
    A: warpwright::Element,
    B: warpwright::Element + std::fmt::Debug,
{
    same_on_hopper(what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<B>(len).unwrap();
        // SAFETY: the tests give as many elements as the kernel's threads use.
        unsafe { device.launch::<K>(module, config, (&input, &mut output)) }.unwrap();
        output.to_vec().unwrap()
    })
}

/// Runs a kernel from one view to another, with the lanes that take part.
fn from_to_masked<K, A, B>(
    what: &str,
    config: LaunchConfig,
    values: &[A],
    len: usize,
    mask: u32,
) -> Vec<B>
where
    K: Kernel<Params = (Global<A>, GlobalMut<B>, u32)>,
    A: warpwright::Element,
    B: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<B>(len).unwrap();
        // SAFETY: as many elements as the kernel's threads use; the lanes that are not named leave.
        unsafe { device.launch::<K>(module, config, (&input, &mut output, mask)) }.unwrap();
        output.to_vec().unwrap()
    })
}
