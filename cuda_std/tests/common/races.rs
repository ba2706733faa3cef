//! Launches under the race check, for tests of what it finds.

use cuda_std::{
    cpu::{Checks, Fault, FaultKind, LaunchError, Options, Order},
    kernel::{Kernel, LaunchConfig},
    prelude::*,
};

use super::{Args, ORDERS, fault};

/// Launches over 64 zeros of a type.
pub fn launch<K: Kernel, T: Plain>(
    config: LaunchConfig,
    order: Order,
    how: u32,
) -> Result<(), LaunchError> {
    let mut zeros = vec![0_u64; 64];
    // SAFETY: zeros of every type that is used here; they are aligned for all of them.
    let values = unsafe { core::slice::from_raw_parts_mut(zeros.as_mut_ptr().cast::<T>(), 64) };
    let options = Options {
        order,
        checks: Checks::RACE,
        ..Options::default()
    };
    let args = Args::new().view(values).value(how);
    args.launch_with::<K>(config, options)
}

#[track_caller]
pub fn clean_of<K: Kernel, T: Plain>(config: LaunchConfig, how: u32) {
    for order in ORDERS {
        if let Err(error) = launch::<K, T>(config, order, how) {
            panic!("{how} in {order:?}: {error}");
        }
    }
}

/// A race in every order.
#[track_caller]
pub fn race_of<K: Kernel, T: Plain>(config: LaunchConfig, how: u32) -> Vec<Fault> {
    let in_order = |order| {
        let result = launch::<K, T>(config, order, how);
        assert!(result.is_err(), "{how} in {order:?}: nothing was found");
        let fault = fault(result);
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
        fault
    };
    ORDERS.map(in_order).into()
}

#[track_caller]
pub fn clean<K: Kernel>(config: LaunchConfig, how: u32) {
    clean_of::<K, u32>(config, how);
}

#[track_caller]
pub fn race<K: Kernel>(config: LaunchConfig, how: u32) -> Vec<Fault> {
    race_of::<K, u32>(config, how)
}

/// Every report has these words.
#[track_caller]
pub fn says(faults: &[Fault], words: &[&str]) {
    for fault in faults {
        let text = fault.to_string();
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    }
}
