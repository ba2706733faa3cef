//! Waits for words: lanes that wait for lanes, and blocks for blocks that have started.

use cuda_std::kernel::Kernel;
use cuda_std::prelude::*;
use cuda_std_device_tests::waits;
use warpwright::LaunchConfig;

use super::{assert_defined, fill, noise, same_everywhere};

fn look_back<K>(what: &str)
where
    K: Kernel<Params = (Global<u32>, GlobalMut<u32>, GlobalMut<u64>)>,
{
    for (tiles, blocks) in [(1, 1), (5, 2), (40, 40), (700, 100), (3000, 3000)] {
        let input = noise::<u32>(tiles * 32);
        let got = same_everywhere(what, |device, module| {
            let input = device.upload(&input).unwrap();
            let mut sums = device.zeros::<u32>(tiles * 32).unwrap();
            // On the CPU one launch is like the other.
            let launches = match device.kind() {
                warpwright::DeviceKind::Cpu => 1,
                _ => 20,
            };
            for _ in 0..launches {
                let mut states = device.zeros::<u64>(3 * tiles + 1).unwrap();
                let config = LaunchConfig::linear(blocks, 32);
                // SAFETY: blocks of a warp, whole tiles, and states of zeros.
                unsafe { device.launch::<K>(module, config, (&input, &mut sums, &mut states)) }
                    .unwrap();
            }
            sums.to_vec().unwrap()
        });
        let sums = input.into_iter().scan(0_u32, |sum, value| {
            *sum = sum.wrapping_add(value);
            Some(*sum)
        });
        assert_defined(what, &got, &sums.collect::<Vec<u32>>());
    }
}

#[test]
fn prefix_sums_by_look_back() {
    look_back::<waits::LookBack<true>>("look-back by one word");
    look_back::<waits::LookBack<false>>("look-back by two words");
}

#[test]
fn lanes_and_blocks_go_on_in_turn() {
    fn in_turn<K, T>(what: &str)
    where
        K: Kernel<Params = (GlobalMut<T>,)>,
        T: waits::Count + warpwright::Element + std::fmt::Debug,
    {
        const LANES: u32 = 70;
        for blocks in [1, 2] {
            let len = (blocks * LANES * 3 + 2) as usize;
            let config = LaunchConfig::linear(blocks, LANES);
            let got = fill::<K, T>(what, config, len);
            let word = |block: u64| T::of(block | block << 60 | block << 30);
            let mut expected = Vec::new();
            for block in (0..u64::from(blocks)).rev() {
                for lane in (0..u64::from(LANES)).rev() {
                    let counted = T::of(block * u64::from(LANES) + lane);
                    expected.extend([T::of(lane), word(block), counted]);
                }
            }
            expected.extend([word(blocks.into()), T::of(u64::from(blocks * LANES))]);
            assert_defined(what, &got, &expected);
        }
    }
    in_turn::<waits::InTurn<u32>, u32>("waits for u32");
    in_turn::<waits::InTurn<i32>, i32>("waits for i32");
    in_turn::<waits::InTurn<u64>, u64>("waits for u64");
    in_turn::<waits::InTurn<i64>, i64>("waits for i64");
}
