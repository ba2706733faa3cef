//! Every element is the one that its place in the stream says.

use warpwright::{Device, Error, Generator};
use warpwright_gpu::random::policy::SEQUENCES;
use warpwright_tests::{cases, compare, devices};

use super::{Draw, GENERATORS, LogNormalF32, LogNormalF64, for_each_distribution};

const SEED: u64 = 0x0123_4567_89ab_cdef;

/// A generator at an element of the distribution, and what comes of it by every variant.
fn check<D: Draw>(
    device: &Device,
    kind: Generator,
    sequence: u64,
    first: u64,
    len: usize,
    draw: D,
) {
    let words = 4 / D::PER_QUAD as u64;
    let wanted = draw.wanted(kind, SEED, sequence, first, len);
    assert_eq!(wanted.len(), len);
    for variant in cases::variants("random") {
        let mut random = device
            .generator(kind, SEED)
            .unwrap()
            .sequence(sequence)
            .offset(first * words)
            .variant(variant.name);
        let got = draw.draw(&mut random, len).unwrap().to_vec().unwrap();
        let outcome = compare::same_bits(&got, &wanted);
        let on = device.kind();
        assert!(
            outcome.is_ok(),
            "{on} {} {kind:?} {draw:?} {sequence} {first} {len}: {outcome:?}",
            variant.name
        );
        let end = if len == 0 {
            first * words
        } else {
            (first * words).wrapping_add(len as u64 * words)
        };
        // Nothing comes behind the stream's last word.
        let at_end = len > 0 && end == 0;
        assert_eq!(random.position(), (!at_end).then_some(end));
    }
}

#[test]
fn philox_gives_every_element_by_its_number() {
    for device in devices::all() {
        for len in [0, 1, 2, 3, 4, 5, 31, 255, 1024, 1025, 5003] {
            for_each_distribution!(check(device, Generator::Philox, 0, 0, len));
        }
        for first in [1, 2, 3, 5, 1 << 33, (1 << 35) - 3] {
            for len in [1, 2, 3, 4, 7, 1030] {
                for_each_distribution!(check(device, Generator::Philox, u64::MAX - 2, first, len));
            }
        }
        let large = cases::large(warpwright_tests::devices::Executor::Cpu);
        for_each_distribution!(check(device, Generator::Philox, 1, 3, large));
    }
}

#[test]
fn xorwow_gives_every_element_by_its_number() {
    let round = 4 * SEQUENCES as u64;
    for device in devices::all() {
        let kind = Generator::Xorwow;
        for_each_distribution!(check(device, kind, 0, 0, 1027));
        for_each_distribution!(check(device, kind, 3, round - 2, 9));
        check(
            device,
            kind,
            1 << 47,
            round / 2 - 5,
            2 * round as usize + 11,
            super::UniformF32,
        );
        check(
            device,
            kind,
            0,
            3 * round / 4 - 5,
            round as usize / 4 + 11,
            super::PoissonOf(30.0),
        );
        check(device, kind, 0, 1 << 40, 3, super::Bits);
    }
}

/// The last words of a stream, number 2^64 - 1 among them, make elements like any others, and nothing comes after them.
#[test]
fn the_last_words_of_a_stream_can_be_drawn() {
    fn last<D: Draw>(device: &Device, kind: Generator, sequence: u64, len: usize, draw: D) {
        let words = 4 / D::PER_QUAD as u64;
        let first = u64::MAX / words - len as u64 + 1;
        check(device, kind, sequence, first, len, draw);
        // Drawn in two calls, and skipped to; then the stream is at its end.
        let wanted = draw.wanted(kind, SEED, sequence, first, len);
        for variant in cases::variants("random") {
            let random = device.generator(kind, SEED).unwrap().sequence(sequence);
            let mut random = random.offset((first - 1) * words).variant(variant.name);
            random.skip(words).unwrap();
            let mut got = draw.draw(&mut random, len - 1).unwrap().to_vec().unwrap();
            got.extend(draw.draw(&mut random, 1).unwrap().to_vec().unwrap());
            compare::same_bits(&got, &wanted).unwrap();
            assert_eq!(random.position(), None);
            assert_eq!(draw.draw(&mut random, 0).unwrap().len(), 0);
            random.skip(0).unwrap();
            for error in [
                draw.draw(&mut random, 1).map(drop).unwrap_err(),
                random.skip(1).unwrap_err(),
            ] {
                assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
            }
            let mut random = random.offset(u64::MAX);
            random.skip(1).unwrap();
            assert_eq!(random.position(), None);
        }
    }
    for device in devices::all() {
        for len in [1, 2, 3, 4, 5, 1030] {
            for_each_distribution!(last(device, Generator::Philox, u64::MAX, len));
        }
        // Its states take long to make on the CPU executor: one distribution of each kind.
        let kind = Generator::Xorwow;
        last(device, kind, 0, 7, super::Bits);
        last(device, kind, 0, 2, super::UniformF64);
        last(device, kind, 0, 3, super::NormalF32(-1.5, 3.25));
        last(device, kind, 0, 1, super::PoissonOf(77.0));
    }
}

/// Draws `lens` one after the other, and what comes is what comes at once.
fn goes_on<D: Draw>(device: &Device, kind: Generator, lens: &[usize], draw: D) {
    for variant in cases::variants("random") {
        let mut random = device.generator(kind, SEED).unwrap().variant(variant.name);
        let mut parts = Vec::new();
        for len in lens {
            parts.extend(draw.draw(&mut random, *len).unwrap().to_vec().unwrap());
        }
        let wanted = draw.wanted(kind, SEED, 0, 0, parts.len());
        let outcome = compare::same_bits(&parts, &wanted);
        assert!(
            outcome.is_ok(),
            "{} {kind:?} {draw:?}: {outcome:?}",
            variant.name
        );
    }
}

#[test]
fn a_generator_goes_on_where_it_stopped() {
    for device in devices::all() {
        for kind in GENERATORS {
            for_each_distribution!(goes_on(
                device,
                kind,
                &[1, 0, 2, 3, 1, 1, 4, 1000, 7, 1, 64]
            ));
        }
        let round = 4 * SEQUENCES;
        goes_on(
            device,
            Generator::Xorwow,
            &[round - 1, 3, round, 1],
            super::Bits,
        );
    }
}

#[test]
fn a_distribution_of_longer_elements_starts_at_their_multiple() {
    for device in devices::all() {
        for kind in GENERATORS {
            let mut random = device.generator(kind, SEED).unwrap();
            let _ = random.uniform::<f32>(5).unwrap();
            assert_eq!(random.position(), Some(5));
            let got = random.uniform::<f64>(2).unwrap().to_vec().unwrap();
            assert_eq!(got, super::UniformF64.wanted(kind, SEED, 0, 3, 2));
            assert_eq!(random.position(), Some(10));
            let got = random.poisson(3, 20.0).unwrap().to_vec().unwrap();
            assert_eq!(got, super::PoissonOf(20.0).wanted(kind, SEED, 0, 10, 3));
            assert_eq!(random.position(), Some(13));
            random.skip(3).unwrap();
            let got = random.bits(6).unwrap().to_vec().unwrap();
            assert_eq!(got, super::Bits.wanted(kind, SEED, 0, 16, 6));
        }
    }
}

#[test]
fn a_part_of_an_array_is_filled_and_no_more() {
    for device in devices::all() {
        for kind in GENERATORS {
            for variant in cases::variants("random") {
                for (from, to, first) in [
                    (1, 2, 0),
                    (3, 103, 0),
                    (3, 103, 3),
                    (2, 1501, 1),
                    (8, 24, 0),
                ] {
                    let mut random = device
                        .generator(kind, SEED)
                        .unwrap()
                        .offset(first)
                        .variant(variant.name);
                    let mut output = device.upload(&[-1.0_f32; 1600]).unwrap();
                    random
                        .fill_uniform(output.slice_mut(from..to).unwrap())
                        .unwrap();
                    let mut wanted = vec![-1.0; 1600];
                    let numbers = super::UniformF32.wanted(kind, SEED, 0, first, to - from);
                    wanted[from..to].copy_from_slice(&numbers);
                    assert_eq!(output.to_vec().unwrap(), wanted, "{} {from}", variant.name);
                }
            }
        }
    }
}

#[test]
fn powers_out_of_range_are_infinite_or_nothing() {
    for device in devices::all() {
        let kind = Generator::Philox;
        for_each_distribution!(check(device, kind, 0, 0, 8));
        check(device, kind, 0, 0, 64, LogNormalF32(0.0, 200.0));
        check(device, kind, 0, 0, 64, LogNormalF64(0.0, 200.0));
        let mut random = device.generator(kind, SEED).unwrap();
        let high = random.log_normal(100, 1e30_f64, 1.0).unwrap();
        assert!(high.to_vec().unwrap().iter().all(|x| *x == f64::INFINITY));
        let low = random.log_normal(100, -1e30_f32, 1.0).unwrap();
        assert!(low.to_vec().unwrap().iter().all(|x| *x == 0.0));
        let none = random.poisson(100, 0.0).unwrap();
        assert_eq!(none.to_vec().unwrap(), [0; 100]);
        let same = random.normal(100, 2.5_f32, 0.0).unwrap();
        assert_eq!(same.to_vec().unwrap(), [2.5; 100]);
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    for device in devices::all() {
        for kind in GENERATORS {
            let mut random = device.generator(kind, 1).unwrap();
            let refused = |outcome: Result<usize, Error>, given: &str| {
                let error = outcome.unwrap_err();
                assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
                let text = error.to_string();
                assert!(
                    text.starts_with("random: ") && text.contains(given),
                    "{text}"
                );
                assert!(!text.contains('\n'), "{text}");
            };
            for (mean, std_dev) in [
                (0.0, -1.0),
                (f64::NAN, 1.0),
                (0.0, f64::NAN),
                (f64::INFINITY, 1.0),
                (0.0, f64::INFINITY),
            ] {
                refused(
                    random.normal(3, mean, std_dev).map(|v| v.len()),
                    &std_dev.to_string(),
                );
                refused(
                    random
                        .log_normal(3, mean as f32, std_dev as f32)
                        .map(|v| v.len()),
                    &std_dev.to_string(),
                );
            }
            for lambda in [-0.5, 1_000_001.0, f64::NAN, f64::INFINITY] {
                refused(
                    random.poisson(3, lambda).map(|v| v.len()),
                    &lambda.to_string(),
                );
            }
            assert_eq!(random.position(), Some(0));
            let mut late = device.generator(kind, 1).unwrap().offset(u64::MAX - 2);
            refused(late.bits(4).map(|v| v.len()), "4 elements");
            refused(late.skip(4).map(|()| 0), "4 further");
            assert_eq!(late.position(), Some(u64::MAX - 2));
            assert_eq!(late.bits(0).unwrap().len(), 0);
            let error = random.variant("fastest").bits(1).unwrap_err();
            assert!(matches!(error, Error::UnknownVariant { .. }), "{error:?}");
        }
    }
}

#[test]
fn the_order_of_lanes_does_not_matter() {
    use cuda_std::cpu::Order;
    use warpwright::CpuOptions;
    for order in [Order::Backward, Order::Seeded(1)] {
        let device = Device::cpu_with(CpuOptions::default().order(order));
        for kind in GENERATORS {
            goes_on(&device, kind, &[1001, 3, 20], super::NormalF32(0.0, 1.0));
        }
    }
}
