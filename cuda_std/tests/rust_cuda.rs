//! What Rust-CUDA's users call by its names: warp operations, statics in shared memory, printing.
#![allow(static_mut_refs)]

mod common;

use core::mem::MaybeUninit;
use cuda_std::{
    address_space, gpu_only,
    kernel::LaunchConfig,
    prelude::*,
    warp::{self, WarpReductionOp},
};

use common::Args;

/// # Safety
/// 64 elements of `output` per lane of one warp.
#[kernel]
pub unsafe fn shuffles(output: GlobalMut<u32>) {
    let lane = warp::lane_id();
    let mask = warp::activemask();
    let mut at = lane as usize * 64;
    let mut keep = |(value, within): (u32, bool)| {
        output.set(at, value | u32::from(within) << 31);
        at += 1;
    };
    // SAFETY: every lane comes here with the same mask.
    unsafe {
        for width in [32, 8] {
            for distance in [0, 1, 5] {
                keep(warp::warp_shuffle_down(mask, lane, distance, width));
                keep(warp::warp_shuffle_up(mask, lane, distance, width));
                keep(warp::warp_shuffle_xor(mask, lane, distance, width));
                keep(warp::warp_shuffle_idx(mask, lane, distance, width));
            }
        }
        let wide = u128::from(lane) << 96 | u128::from(lane);
        let (wide, _) = warp::warp_shuffle_xor(mask, wide, 1, 32);
        keep(((wide >> 96) as u32 + wide as u32, true));
        let (signed, _) = warp::warp_shuffle_idx(mask, -i128::from(lane), 3, 32);
        keep((u32::from(signed == -3), true));
        keep((
            warp::warp_vote_ballot(mask, lane % 2 == 1) & 0xffff,
            warp::warp_vote_any(mask, lane == 31),
        ));
        keep((u32::from(warp::warp_vote_all(mask, lane < 31)), true));
        keep((
            warp::warp_match_any(mask, lane / 8) >> (lane / 8 * 8) & 0xff,
            true,
        ));
        keep((
            warp::warp_match_all(mask, 7_u64).map_or(0, u32::count_ones),
            true,
        ));
        keep((u32::from(warp::warp_match_all(mask, lane).is_none()), true));
        keep((warp::warp_reduce(mask, lane, WarpReductionOp::Add), true));
        keep((
            warp::warp_reduce(mask, -(lane as i32), WarpReductionOp::Min).unsigned_abs(),
            true,
        ));
    }
}

#[test]
fn warp_operations_by_rust_cudas_names() {
    let mut output = vec![0_u32; 32 * 64];
    Args::new()
        .view(&mut output)
        .launch::<Shuffles>(LaunchConfig::linear(1, 32))
        .unwrap();
    for lane in 0..32_u32 {
        let mut found = output[lane as usize * 64..].iter();
        let mut next = || {
            let word = found.next().unwrap();
            (word & !(1 << 31), word >> 31 == 1)
        };
        for width in [32, 8] {
            let (place, first) = (lane % width, lane / width * width);
            for distance in [0, 1, 5] {
                let inside = place + distance < width;
                assert_eq!(next(), (lane + if inside { distance } else { 0 }, inside));
                let inside = place >= distance;
                assert_eq!(next(), (lane - if inside { distance } else { 0 }, inside));
                assert_eq!(next(), (lane ^ distance, true));
                assert_eq!(next(), (first + distance, true));
            }
        }
        let rest: Vec<_> = (0..9).map(|_| next().0).collect();
        assert_eq!(rest, [2 * (lane ^ 1), 1, 0xaaaa, 0, 0xff, 32, 1, 496, 31]);
    }
}

#[address_space(shared)]
static mut OF_THE_MODULE: [MaybeUninit<u32>; 64] = [MaybeUninit::uninit(); 64];

#[address_space(constant)]
static OFFSETS: [u32; 2] = [100, 200];

/// # Safety
/// As many elements as lanes, 64 of a block.
#[kernel]
pub unsafe fn turned(output: *mut u32) {
    #[address_space(shared)]
    static mut ROWS: [[MaybeUninit<u32>; 32]; 2] = [[const { MaybeUninit::uninit() }; 32]; 2];

    let i = thread::thread_idx_x() as usize;
    let at = thread::index_1d();
    // SAFETY: each lane writes one element of each, and reads another's after the barrier.
    unsafe {
        ROWS[i / 32][i % 32].write(at);
        OF_THE_MODULE[i].write(at + OFFSETS[1]);
    }
    thread::sync_threads();
    // SAFETY: as above.
    unsafe {
        let other = 63 - i;
        let sum = ROWS[other / 32][other % 32].assume_init() + OF_THE_MODULE[other].assume_init();
        *output.add(at as usize) = sum;
    }
}

#[test]
fn every_block_has_its_own_of_a_static_in_shared_memory() {
    let mut output = vec![0_u32; 64 * 40];
    let start = output.as_mut_ptr() as usize;
    Args::new()
        .value(start)
        .launch::<Turned>(LaunchConfig::linear(40, 64))
        .unwrap();
    for (i, sum) in output.into_iter().enumerate() {
        let partner = (i / 64 * 64 + 63 - i % 64) as u32;
        assert_eq!(sum, 2 * partner + 200, "{i}");
    }
}

#[gpu_only]
fn clock_rate() -> u32 {
    1
}

#[test]
#[should_panic(expected = "`clock_rate` is for the GPU alone")]
fn a_function_for_the_gpu_alone_says_so() {
    clock_rate();
}

/// # Safety
/// Any launch.
#[kernel]
pub unsafe fn greeting(number: u32) {
    if thread::index_1d() == 1 {
        println!("lane {} says {number:>3}", thread::thread_idx_x());
        print!("no ");
        println!();
    }
    assert_eq!(number, 7, "numbers of lane {}", thread::thread_idx_x());
    assert_ne!(number, 8);
}

const CHILD: &str = "CUDA_STD_TEST_PRINTS";

#[test]
fn text_goes_to_the_standard_output_and_a_failed_assertion_says_what_it_found() {
    let launch = |number: u32| {
        Args::new()
            .value(number)
            .launch::<Greeting>(LaunchConfig::linear(1, 4))
    };
    if std::env::var_os(CHILD).is_some() {
        launch(7).unwrap();
        return;
    }
    let name = "text_goes_to_the_standard_output_and_a_failed_assertion_says_what_it_found";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(child.stdout).unwrap();
    assert!(text.contains("lane 1 says   7\nno \n"), "{text}");
    let error = launch(6).unwrap_err().to_string();
    assert!(
        error.contains("numbers of lane 0") && error.contains("left: 6"),
        "{error}"
    );
}
