//! The accumulation of a part of a row, for both kernels of `best`.

use cuda_std::{Global, unrolled, view::Wide};

use super::policy::Policy;
use crate::{
    axis::{Along, CHUNK},
    tuning::Tuned,
};

/// Returns the total of thread `thread`'s share of the elements `from..to`, which `threads` threads divide. The aligned middle
/// is read by wide loads, several of them before the first is used, and the ends one by one.
#[inline(always)]
#[track_caller]
pub fn accumulate<A: Along, N: Tuned<Policy>>(
    input: Global<A::In>,
    from: usize,
    to: usize,
    thread: usize,
    threads: usize,
) -> A::Acc {
    const { assert!(matches!(N::POLICY.unroll, 2 | 4 | 8)) };
    match const { N::POLICY.unroll } {
        2 => accumulate_by::<A, 2>(input, from, to, thread, threads),
        4 => accumulate_by::<A, 4>(input, from, to, thread, threads),
        _ => accumulate_by::<A, 8>(input, from, to, thread, threads),
    }
}

#[inline(always)]
#[track_caller]
fn accumulate_by<A: Along, const UNROLL: usize>(
    input: Global<A::In>,
    from: usize,
    to: usize,
    thread: usize,
    threads: usize,
) -> A::Acc {
    let lanes = Wide::<A::In>::LEN;
    let past = input.as_ptr().addr() / size_of::<A::In>() + from;
    let head = (lanes - past % lanes) % lanes;
    let body = to.min(from + head);
    let wides = (to - body) / lanes;
    let tail = body + wides * lanes;

    let mut part = A::EMPTY;
    let mut i = from + thread;
    while i < body {
        part = A::add(part, input.get(i));
        i += threads;
    }
    let mut i = tail + thread;
    while i < to {
        part = A::add(part, input.get(i));
        i += threads;
    }
    let mut total = A::total(part);

    let mut wide = thread;
    while wide < wides {
        // The wide loads of one part.
        let stop = wides.min(wide + CHUNK / lanes * threads);
        let mut part = A::EMPTY;
        while wide + (UNROLL - 1) * threads < stop {
            let loaded: [Wide<A::In>; UNROLL] = core::array::from_fn(|round| {
                input.get_wide_streaming(body + (wide + round * threads) * lanes)
            });
            unrolled!(round < UNROLL => {
                part = add_wide::<A>(part, loaded[round]);
            });
            wide += UNROLL * threads;
        }
        while wide < stop {
            part = add_wide::<A>(part, input.get_wide_streaming(body + wide * lanes));
            wide += threads;
        }
        total = A::combine(total, A::total(part));
    }
    total
}

#[inline(always)]
fn add_wide<A: Along>(part: A::Part, wide: Wide<A::In>) -> A::Part {
    wide.fold(part, |part, value, _| A::add(part, value))
}
