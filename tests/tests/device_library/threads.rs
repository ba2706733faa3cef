//! Places in a launch, and barriers.

use cuda_std_device_tests::threads;
use warpwright::LaunchConfig;

use super::{assert_defined, everywhere, fill, from_to, module, noise};

/// A lane: its block's index and its own in the block.
type Place = ([u32; 3], [u32; 3]);

/// All lanes of a launch, in order: x fastest.
fn places(grid: [u32; 3], block: [u32; 3]) -> Vec<Place> {
    let all = |[x, y, z]: [u32; 3]| {
        (0..z).flat_map(move |c| (0..y).flat_map(move |b| (0..x).map(move |a| [a, b, c])))
    };
    all(grid)
        .flat_map(|at| all(block).map(move |thread| (at, thread)))
        .collect()
}

/// A line, and shapes whose axes all differ, of one warp and a part of another.
const SHAPES: [([u32; 3], [u32; 3]); 4] = [
    ([5, 1, 1], [256, 1, 1]),
    ([3, 2, 5], [5, 4, 3]),
    ([2, 5, 3], [3, 4, 5]),
    ([1, 4, 1], [7, 1, 9]),
];

fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
    LaunchConfig {
        grid,
        block,
        shared_bytes: 0,
    }
}

#[test]
fn scalars() {
    for (grid, block) in SHAPES {
        let places = places(grid, block);
        let what = format!("places in {grid:?} blocks of {block:?}");
        let len = places.len() * threads::PLACES;
        let got = fill::<threads::Places, u32>(&what, config(grid, block), len);
        let mut expected = Vec::new();
        for (index, (at, thread)) in places.into_iter().enumerate() {
            for axes in [thread, at, block, grid] {
                expected.extend(axes);
            }
            let along_x = thread[0] + at[0] * block[0];
            expected.extend([
                index as u32,
                along_x,
                along_x,
                grid[0] * block[0],
                thread[0] + block[0] * (thread[1] + block[1] * thread[2]),
                32,
                u32::from(index == 0),
            ]);
        }
        assert_defined(&what, &got, &expected);
    }
}

#[test]
fn vectors() {
    for (grid, block) in SHAPES {
        let places = places(grid, block);
        let what = format!("vectors in {grid:?} blocks of {block:?}");
        let got = fill::<threads::Vectors, u32>(&what, config(grid, block), places.len() * 17);
        let mut expected = Vec::new();
        for (at, thread) in places {
            let index: [u32; 3] = std::array::from_fn(|axis| thread[axis] + at[axis] * block[axis]);
            for axes in [thread, at, block, grid, index] {
                expected.extend(axes);
            }
            expected.extend([index[0], index[1]]);
        }
        assert_defined(&what, &got, &expected);
    }
}

#[test]
fn barriers() {
    // Blocks where no lane's predicate holds, all lanes', one lane's, all but one's, and some.
    const BLOCKS: usize = 5;
    let noise = noise::<u32>(BLOCKS * 256);
    let predicates: Vec<u32> = (0..BLOCKS * 256)
        .map(|i| match (i / 256, i % 256) {
            (0, _) | (3, 255) => 0,
            (1, _) => noise[i] | 1 << 31,
            (2, t) => u32::from(t == 77) << 31,
            (3, _) => 2,
            _ => noise[i] % 3,
        })
        .collect();
    let config = LaunchConfig::linear(BLOCKS as u32, 256);
    let got =
        from_to::<threads::Barriers, u32, u32>("barriers", config, &predicates, BLOCKS * 1024);
    let mut expected = Vec::new();
    for i in 0..BLOCKS * 256 {
        let first = i / 256 * 256;
        let block = &predicates[first..first + 256];
        let count = block.iter().filter(|predicate| **predicate != 0).count() as u32;
        expected.extend([
            count,
            u32::from(count == 256),
            u32::from(count > 0),
            (first + (i + 101) % 256) as u32,
        ]);
    }
    assert_defined("barriers", &got, &expected);
}

#[test]
fn a_barrier_between_branches() {
    for few in [0, 1, 20, 33, 50, 64] {
        let values = noise::<u32>(64)
            .iter()
            .map(|value| value % 1000)
            .collect::<Vec<_>>();
        let sums: Vec<u32> = (0..64)
            .map(|t| {
                if t < few {
                    values[t..].iter().step_by(7).sum()
                } else {
                    0
                }
            })
            .collect();
        let mut expected = values.clone();
        for t in 0..few.min(32) {
            expected[t] = sums[t] + sums[t + 32];
        }
        everywhere(|device, arch| {
            let mut on_device = device.upload(&values).unwrap();
            let config = LaunchConfig::linear(1, 64);
            let parameters = (&mut on_device, few as u32);
            // SAFETY: an element per thread.
            unsafe {
                device.launch::<threads::BarrierBetweenBranches>(module(arch), config, parameters)
            }
            .unwrap();
            let what = format!("{few} lanes on {}", device.kind());
            assert_defined(&what, &on_device.to_vec().unwrap(), &expected);
        });
    }
}

/// Which fences there are the test of the build looks up in the PTX: one lane does not see them.
#[test]
fn fences_and_sleep() {
    everywhere(|device, arch| {
        let mut values = device.upload(&[0_u32, 1000]).unwrap();
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: two elements.
        unsafe { device.launch::<threads::FencesAndSleep>(module(arch), config, (&mut values,)) }
            .unwrap();
        assert_eq!(values.to_vec().unwrap(), [6, 1000], "{}", device.kind());
    });
}

#[test]
fn named_barriers() {
    let values = noise::<u32>(5 * 128);
    let config = LaunchConfig::linear(5, 128);
    let what = "named barriers";
    let got = from_to::<threads::NamedBarriers, u32, u32>(what, config, &values, 5 * 128);
    let expected: Vec<u32> = (0..5 * 128).map(|i| values[i ^ 63]).collect();
    assert_defined(what, &got, &expected);
}
