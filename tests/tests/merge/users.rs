//! Sorts by a user's comparisons: elements of every size, orders that are none, and a comparison that panics.

use std::fmt::Debug;

use cuda_builder::NvvmArch;
use cuda_std::{
    cpu::Order,
    merge::{SortKernel, tile_len},
};
use cuda_std_device_tests::comparisons::{Contrary, Nearer, Remainders, SecondWord, Without};
use rand::Rng;
use warpwright::{Device, Element, Error, Module};
use warpwright_tests::{compare, data, device_library, devices, panics};

fn module() -> Module {
    Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap()
}

/// Makes elements from a counter and random bits.
fn values<T>(len: usize, make: impl Fn(u32, u64) -> T) -> Vec<T> {
    let mut generator = data::generator(len as u64);
    (0..len as u32)
        .map(|i| make(i, generator.random()))
        .collect()
}

/// Checks sorts of all lengths up to some tiles, from several elements on, apart and in place, by std's stable sort.
fn check<C: SortKernel<Item: Element + Debug>>(
    device: &Device,
    module: &Module,
    by: C,
    make: impl Fn(u32, u64) -> C::Item,
) {
    let tile = tile_len::<C::Item>();
    // SAFETY: the module is built from the crate that has the comparison.
    let comparison = unsafe { module.comparison(by) };
    let lengths = [0, 1, 2, 14, 16, 300, tile - 1, tile, tile + 1, 3 * tile + 7];
    for (len, offset) in lengths.iter().flat_map(|len| [(*len, 0), (*len, 3)]) {
        let all = values(offset + len, &make);
        let mut wanted = all[offset..].to_vec();
        wanted.sort_by(|a, b| by.is_less(*b, *a).cmp(&by.is_less(*a, *b)));
        wanted.splice(..0, all[..offset].iter().copied());
        let what = format!("{len} from {offset}, on {}", device.kind());
        let is_wanted = |got: Vec<C::Item>| {
            assert_eq!(compare::same_bits(&got, &wanted), Ok(()), "{what}");
        };
        let mut input = device.upload(&all).unwrap();
        let mut output = device.upload(&all).unwrap();
        let place = output.slice_mut(all.len() - len..).unwrap();
        let request = device.sort_by_request(input.slice(offset..).unwrap(), comparison.clone());
        let mut prepared = request.output_to(place).prepare().unwrap();
        for _ in 0..2 {
            prepared.enqueue().unwrap();
        }
        drop(prepared);
        is_wanted(output.to_vec().unwrap());
        let part = input.slice_mut(offset..).unwrap();
        device.sort_by_in_place(part, comparison.clone()).unwrap();
        is_wanted(input.to_vec().unwrap());
    }
}

#[test]
fn elements_of_every_size_are_sorted() {
    let module = &module();
    for device in devices::all() {
        check(device, module, Remainders { by: 10_u8 }, |_, hash| {
            hash as u8
        });
        check(device, module, Remainders { by: 100_u16 }, |_, hash| {
            hash as u16
        });
        check(device, module, Remainders { by: 7_u32 }, |i, _| i);
        check(device, module, Remainders { by: 1_u64 << 20 }, |_, hash| {
            hash
        });
        let nearer = Nearer { x: 0.5, y: -1.0 };
        check(device, module, nearer, |i, hash| {
            [(hash % 8) as f32, (hash >> 8) as u8 as f32, i as f32]
        });
        check(device, module, SecondWord, |i, hash| {
            [(hash % 5) as u32, (hash >> 32) as u32 % 9, i, 3]
        });
    }
}

#[test]
fn many_tiles_are_sorted_by_a_round_for_each_doubling() {
    let module = module();
    // SAFETY: the module is built from the crate that has the comparison.
    let comparison = unsafe { module.comparison(Remainders { by: 1000_u32 }) };
    for device in devices::all() {
        let tile = tile_len::<u32>();
        let all = values(11 * tile + 5, |_, hash| hash as u32);
        let mut wanted = all.clone();
        wanted.sort_by_key(|value| std::cmp::Reverse(value % 1000));
        let input = device.upload(&all).unwrap();
        let mut prepared = device
            .sort_by_request(&input, comparison.clone())
            .prepare()
            .unwrap();
        assert_eq!(prepared.kernels().len(), 1 + 4);
        // The words that the blocks share come behind the elements' room.
        let room = (all.len() * 4).next_multiple_of(16);
        assert_eq!(prepared.workspace_bytes(), room + 16);
        prepared.enqueue().unwrap();
        assert!(prepared.output().unwrap().to_vec().unwrap() == wanted);
        assert!(input.to_vec().unwrap() == all);
    }
}

#[test]
fn sorts_in_any_order_of_lanes_and_blocks() {
    let module = &module();
    for order in [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(2),
    ] {
        let device = devices::cpu_in(order);
        check(&device, module, Remainders { by: 7_u32 }, |i, _| i);
    }
}

/// A comparison that contradicts itself gives some order of all elements.
#[test]
fn no_element_is_lost_by_a_comparison_that_contradicts_itself() {
    let module = module();
    // SAFETY: the module is built from the crate that has the comparison.
    let contrary = unsafe { module.comparison(Contrary) };
    let tile = tile_len::<u32>();
    for device in devices::all() {
        for len in [2, 100, tile, 2 * tile, 9 * tile + 1] {
            let mut all = values(len, |_, hash| hash as u32 % 5000);
            let mut input = device.upload(&all).unwrap();
            let sorted = device.sort_by(&input, contrary.clone()).unwrap();
            device
                .sort_by_in_place(&mut input, contrary.clone())
                .unwrap();
            all.sort_unstable();
            for sorted in [sorted, input] {
                let mut got = sorted.to_vec().unwrap();
                got.sort_unstable();
                assert!(got == all, "{len} on {}", device.kind());
            }
        }
    }
}

#[test]
fn a_comparison_that_panics_is_an_error() {
    let module = module();
    // SAFETY: the module is built from the crate that has the comparison.
    let without = unsafe { module.comparison(Without { number: 77 }) };
    let told = ["sort_without__tile", "not this number"];
    let bad = [(0..5000).rev().collect(), vec![77; 2]];
    panics::check(told, &bad, (&[3, 1, 2], &[1, 2, 3]), |device, input| {
        device.sort_by(input, without.clone())
    });
}

#[test]
fn comparisons_that_cannot_be_launched_are_refused() {
    let device = Device::cpu();
    let (module, other) = (
        module(),
        Module::from_ptx(".version 6.3\n.entry something()\n").unwrap(),
    );
    // SAFETY: the module is built from the crate that has the comparison; the other one has no kernel, and none is run.
    let (by, missing) = unsafe { (module.comparison(SecondWord), other.comparison(SecondWord)) };
    let x = device.zeros::<[u32; 4]>(3).unwrap();
    let error = device
        .sort_by_request(&x, by.clone())
        .variant("naive")
        .run()
        .unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    let error = device.sort_by(&x, missing).unwrap_err();
    assert!(matches!(error, Error::UnknownKernel { .. }), "{error:?}");
    assert!(error.to_string().contains("sort_second_word"), "{error}");
    let mut short = device.zeros::<[u32; 4]>(2).unwrap();
    let error = device
        .sort_by_request(&x, by)
        .output_to(&mut short)
        .run()
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Invalid {
                operation: "sort_by",
                ..
            }
        ),
        "{error:?}"
    );
}
