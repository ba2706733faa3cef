//! Launching kernels on the CPU executor, for the tests of this crate.
#![allow(dead_code)]

pub mod races;
pub mod warpgroups;

use core::{ffi::c_void, panic::Location};

use cuda_std::{
    cpu::{self, Checks, FaultKind, LaunchError, Options, Order},
    kernel::{ByValue, Kernel, LaunchConfig},
};

/// The arguments of a launch, in the order of the kernel's parameters.
// Boxes, because the launch gets the arguments' addresses.
#[allow(clippy::vec_box)]
#[derive(Default)]
pub struct Args(Vec<Box<[u128; 8]>>);

impl Args {
    pub fn new() -> Self {
        Self::default()
    }

    /// A `Global` or `GlobalMut`.
    pub fn view<T>(self, elements: &mut [T]) -> Self {
        let len = elements.len();
        self.raw(elements.as_mut_ptr()).raw(len)
    }

    pub fn value<T: ByValue>(self, value: T) -> Self {
        self.raw(value)
    }

    /// A tensor map.
    pub fn map(self, map: cuda_std::tensor_map::EncodedTensorMap) -> Self {
        self.raw(map)
    }

    fn raw<T: Copy>(mut self, value: T) -> Self {
        assert!(size_of::<T>() <= size_of::<[u128; 8]>());
        let mut bytes = Box::new([0u128; 8]);
        // SAFETY: it fits, as just checked.
        unsafe { (&raw mut *bytes).cast::<T>().write(value) };
        self.0.push(bytes);
        self
    }

    pub fn launch<K: Kernel>(&self, config: LaunchConfig) -> Result<(), LaunchError> {
        self.launch_in::<K>(config, Order::Forward)
    }

    pub fn launch_in<K: Kernel>(
        &self,
        config: LaunchConfig,
        order: Order,
    ) -> Result<(), LaunchError> {
        // Everything is checked, unless somebody asks for something else.
        let checks = Checks::from_env().unwrap().unwrap_or(Checks::ALL);
        self.launch_with::<K>(
            config,
            Options {
                order,
                checks,
                ..Options::default()
            },
        )
    }

    pub fn launch_with<K: Kernel>(
        &self,
        config: LaunchConfig,
        options: Options,
    ) -> Result<(), LaunchError> {
        // SAFETY: the tests pass what the kernels take.
        unsafe { cpu::launch(&K::DESCRIPTOR, &config, &self.pointers(), &options) }
    }

    /// Where the arguments are, as a launch takes them.
    pub fn pointers(&self) -> Vec<*const c_void> {
        let pointers = self.0.iter().map(|bytes| (&raw const **bytes).cast());
        pointers.collect()
    }
}

pub const ORDERS: [Order; 5] = [
    Order::Forward,
    Order::Backward,
    Order::Seeded(0),
    Order::Seeded(1),
    Order::Seeded(0xfeed),
];

/// No checks, for kernels that are wrong on purpose.
pub fn unchecked(order: Order) -> Options {
    Options {
        order,
        checks: Checks::NONE,
        ..Options::default()
    }
}

/// One block of `threads`.
pub fn block(threads: u32) -> LaunchConfig {
    LaunchConfig::linear(1, threads)
}

/// The fault that a launch ended with.
#[track_caller]
pub fn fault(result: Result<(), LaunchError>) -> cpu::Fault {
    match result {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("expected a fault, got {other:?}"),
    }
}

/// Checks that a fault names a line of a file.
#[track_caller]
pub fn assert_at(at: &Location<'_>, file: &str, line: u32) {
    assert!(
        file.ends_with(at.file()) || at.file().ends_with(file),
        "the fault is in {}, expected {file}",
        at.file()
    );
    assert_eq!(at.line(), line, "the fault's line");
}

/// The lanes that wait, and what for, of a fault that has some.
pub fn waiting(kind: &FaultKind) -> Vec<(Vec<u32>, &'static str)> {
    match kind {
        FaultKind::Stuck { waiting, .. } => waiting
            .iter()
            .map(|(lanes, name, _)| (lanes.0.clone(), *name))
            .collect(),
        other => panic!("expected lanes that are stuck, got {other:?}"),
    }
}
