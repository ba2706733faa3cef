//! Operations of warps and blocks on the CPU executor, with every check, in several orders of the lanes.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block};
use cuda_std::{block as of_block, prelude::*, unrolled};

/// An affine map `x -> factor * x + offset` modulo 2^32: associative under composition, and not commutative.
type Affine = (u32, u32);

const IDENTITY: Affine = (1, 0);

fn compose(first: Affine, then: Affine) -> Affine {
    (
        first.0.wrapping_mul(then.0),
        first.1.wrapping_mul(then.0).wrapping_add(then.1),
    )
}

fn map_of(i: usize, values: Global<u32>) -> Affine {
    (values.get(2 * i), values.get(2 * i + 1))
}

fn put(results: GlobalMut<u32>, at: usize, value: Affine) {
    results.set(2 * at, value.0);
    results.set(2 * at + 1, value.1);
}

/// Values without a pattern; the factors are odd, so that nothing is lost.
fn affine_values(count: usize) -> Vec<u32> {
    let mut state = 12345_u32;
    (0..2 * count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state | 1
        })
        .collect()
}

/// The inclusive and exclusive prefixes of one group, the exclusive ones from `initial`.
fn prefixes(maps: &[Affine], initial: Affine) -> (Vec<Affine>, Vec<Affine>) {
    let mut all = IDENTITY;
    maps.iter()
        .map(|map| {
            let before = compose(initial, all);
            all = compose(all, *map);
            (all, before)
        })
        .unzip()
}

fn maps_in(values: &[u32]) -> Vec<Affine> {
    values.chunks(2).map(|map| (map[0], map[1])).collect()
}

#[kernel]
pub unsafe fn warp_scans(values: Global<u32>, results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let value = map_of(i, values);
    put(results, 3 * i, warp::inclusive_scan(value, compose));
    put(
        results,
        3 * i + 1,
        warp::exclusive_scan(value, (3, 4), compose),
    );
    put(results, 3 * i + 2, warp::reduce(value, compose));
}

#[test]
fn a_warp_scans_and_reduces_in_order() {
    for order in ORDERS {
        let mut values = affine_values(96);
        let mut results = vec![0; 6 * 96];
        Args::new()
            .view(&mut values)
            .view(&mut results)
            .launch_in::<WarpScans>(block(96), order)
            .unwrap();
        for (warp, maps) in maps_in(&values).chunks(32).enumerate() {
            let (inclusive, exclusive) = prefixes(maps, (3, 4));
            for lane in 0..32 {
                let got = &results[6 * (32 * warp + lane)..][..6];
                let all = inclusive[31];
                let expected = [inclusive[lane], exclusive[lane], all];
                assert_eq!(
                    maps_in(got),
                    expected,
                    "lane {lane} of warp {warp}, {order:?}"
                );
            }
        }
    }
}

#[kernel(instances(t32: (32), t96: (96), t256: (256), t1024: (1024)))]
pub unsafe fn block_scans<const THREADS: usize>(values: Global<u32>, results: GlobalMut<u32>) {
    // Two words each: a pair is no plain type.
    let memory = shared![u64; of_block::scan_len(1024)];
    let i = thread::index_1d_wide();
    let (factor, offset) = map_of(i, values);
    let pack = |(factor, offset): Affine| u64::from(factor) << 32 | u64::from(offset);
    let unpack = |both: u64| ((both >> 32) as u32, both as u32);
    let value = pack((factor, offset));
    let combine = |a, b| pack(compose(unpack(a), unpack(b)));
    let mut at = 5 * i;
    let mut next = |value| {
        put(results, at, unpack(value));
        at += 1;
    };
    let (inclusive, total) = of_block::inclusive_scan::<_, THREADS>(value, memory, combine);
    next(inclusive);
    next(total);
    thread::sync_threads();
    let (exclusive, total) =
        of_block::exclusive_scan::<_, THREADS>(value, pack((3, 4)), memory, combine);
    next(exclusive);
    next(total);
    thread::sync_threads();
    next(of_block::reduce::<_, THREADS>(value, memory, combine));
}

fn check_block_scans<K: cuda_std::kernel::Kernel>(threads: u32) {
    for order in ORDERS {
        let mut values = affine_values(threads as usize);
        let mut results = vec![0; 10 * threads as usize];
        Args::new()
            .view(&mut values)
            .view(&mut results)
            .launch_in::<K>(block(threads), order)
            .unwrap();
        let (inclusive, exclusive) = prefixes(&maps_in(&values), (3, 4));
        let all = *inclusive.last().unwrap();
        for t in 0..threads as usize {
            let got = maps_in(&results[10 * t..][..10]);
            let expected = [inclusive[t], all, exclusive[t], compose((3, 4), all), all];
            assert_eq!(got, expected, "thread {t} of {threads}, {order:?}");
        }
    }
}

#[test]
fn a_block_scans_and_reduces_in_order() {
    check_block_scans::<BlockScans<32>>(32);
    check_block_scans::<BlockScans<96>>(96);
    check_block_scans::<BlockScans<256>>(256);
    check_block_scans::<BlockScans<1024>>(1024);
}

/// The items in blocked order, then back in striped order.
#[kernel(instances(one: (u32, 1), four: (u32, 4), bytes: (u8, 7), longs: (u64, 32)))]
pub unsafe fn exchanges<T: cuda_std::Plain, const ITEMS: usize>(
    values: Global<T>,
    blocked: GlobalMut<T>,
    striped: GlobalMut<T>,
) {
    let memory = shared![T; of_block::exchange_len::<32>(64)];
    let t = thread::thread_idx_x() as usize;
    let mut items = [values.get(t); ITEMS];
    unrolled!(k < ITEMS of 32 => { items[k] = values.get(k * 64 + t); });
    let items = of_block::striped_to_blocked::<T, 64, ITEMS>(items, memory);
    unrolled!(k < ITEMS of 32 => { blocked.set(t * ITEMS + k, items[k]); });
    thread::sync_threads();
    let items = of_block::blocked_to_striped::<T, 64, ITEMS>(items, memory);
    unrolled!(k < ITEMS of 32 => { striped.set(k * 64 + t, items[k]); });
}

#[test]
fn an_exchange_changes_the_order_and_nothing_else() {
    macro_rules! check {
        ($kernel:ty, $ty:ident, $items:literal) => {
            for order in ORDERS {
                let mut values: Vec<$ty> =
                    (0..64 * $items).map(|i| (i * 7 + i / 256) as $ty).collect();
                let (mut blocked, mut striped) = (vec![0; values.len()], vec![0; values.len()]);
                Args::new()
                    .view(&mut values)
                    .view(&mut blocked)
                    .view(&mut striped)
                    .launch_in::<$kernel>(block(64), order)
                    .unwrap();
                assert_eq!(blocked, values, "{order:?}");
                assert_eq!(striped, values, "{order:?}");
            }
        };
    }
    check!(Exchanges<u32, 1>, u32, 1);
    check!(Exchanges<u32, 4>, u32, 4);
    check!(Exchanges<u8, 7>, u8, 7);
    check!(Exchanges<u64, 32>, u64, 32);
}

#[kernel(instances(bits1: (64, 3, 1), bits4: (64, 5, 4), bits8: (256, 4, 8)))]
pub unsafe fn ranks<const THREADS: usize, const ITEMS: usize, const BITS: u32>(
    digits: Global<u32>,
    ranks: GlobalMut<u32>,
    counts: GlobalMut<u32>,
) {
    let memory = shared![u32; of_block::rank_len(256, 8)];
    let t = thread::thread_idx_x() as usize;
    let first = t / 32 * 32 * ITEMS + t % 32;
    let mut items = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => { items[k] = digits.get(first + 32 * k); });
    let ranked = of_block::rank_digits::<THREADS, ITEMS, BITS>(items, memory);
    unrolled!(k < ITEMS of 32 => { ranks.set(first + 32 * k, ranked.ranks[k]); });
    counts.set(2 * t, ranked.before);
    counts.set(2 * t + 1, ranked.count);
}

#[test]
fn ranks_are_those_of_a_stable_sort() {
    fn check<K: cuda_std::kernel::Kernel>(threads: usize, items: usize, bits: u32) {
        let radix = 1 << bits;
        let noise = affine_values(threads * items);
        // All values, few values, one value, and each value as often as the next.
        let kinds: [&dyn Fn(usize) -> u32; 4] = [
            &|i| noise[i] >> 9 & (radix - 1),
            &|i| noise[i] >> 9 & noise[i + 1] >> 9 & (radix - 1),
            &|_| radix - 1,
            &|i| i as u32 & (radix - 1),
        ];
        for (kind, digit) in kinds.iter().enumerate() {
            for order in ORDERS {
                let mut digits: Vec<u32> = (0..threads * items).map(digit).collect();
                let (mut ranks, mut counts) = (vec![0; digits.len()], vec![9; 2 * threads]);
                Args::new()
                    .view(&mut digits)
                    .view(&mut ranks)
                    .view(&mut counts)
                    .launch_in::<K>(block(threads as u32), order)
                    .unwrap();
                let mut sorted: Vec<usize> = (0..digits.len()).collect();
                sorted.sort_by_key(|i| digits[*i]);
                for (rank, item) in sorted.into_iter().enumerate() {
                    assert_eq!(
                        ranks[item], rank as u32,
                        "item {item} of kind {kind}, {order:?}"
                    );
                }
                for t in 0..threads {
                    let of = |f: &dyn Fn(u32) -> bool| digits.iter().filter(|d| f(**d)).count();
                    let expected = match t as u32 {
                        d if d < radix => [of(&|other| other < d), of(&|other| other == d)],
                        _ => [0, 0],
                    };
                    assert_eq!(
                        counts[2 * t..][..2],
                        expected.map(|n| n as u32),
                        "digit {t}"
                    );
                }
            }
        }
    }
    check::<Ranks<64, 3, 1>>(64, 3, 1);
    check::<Ranks<64, 5, 4>>(64, 5, 4);
    check::<Ranks<256, 4, 8>>(256, 4, 8);
}
