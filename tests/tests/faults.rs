//! A driver that fails at every single call in turn: see [`warpwright_tests::faults`].
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::{env, process::Command};

use warpwright_tests::{
    devices::{self, Executor},
    faults::{self, Behind},
};

/// The test that a child process runs.
const CHILD: &str = "child";

fn inject(behind: Behind) {
    let mut program = Command::new(env::current_exe().expect("a path"));
    program.args([CHILD, "--exact", "--nocapture"]);
    match faults::in_child(&mut program, behind) {
        // A name that fits no test would pass as well.
        Ok(output) if output.contains("faults injected and survived") => println!("{output}"),
        Ok(output) => panic!("no faults were injected: {output}"),
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn child() {
    if let Some(behind) = faults::is_child() {
        match faults::child(behind) {
            Ok(counts) => println!("\n{counts}"),
            Err(why) => panic!("{why}"),
        }
    }
}

#[test]
fn every_call_of_a_mock_driver() {
    inject(Behind::Mock);
}

#[test]
fn every_call_of_the_real_driver() {
    if Executor::Cuda.devices().is_empty() {
        devices::leave_out(1);
        return;
    }
    inject(Behind::RealDriver);
}
