//! `ballot`: one sweep per digit as in `best`, with the place of each key among equal digits by eight ballots of its warp.
//!
//! A ballot says which lanes have a bit of the digit set; eight of them say which lanes have the same digit. Every lane then
//! counts those below it. That is some 30 instructions per key, where `best` has one atomic addition.

use cuda_std::prelude::*;

use crate::{
    sort::{
        best::{
            items::{self, Values},
            keys::{self, Order},
        },
        bits::{Bits, Column, Pass, Twists},
        policy::Policy,
    },
    tuning::{Numbers, SHIPPED, shipped},
};

/// [`sort_best_keys`](crate::sort::sort_best_keys) with ranks by ballots.
///
/// # Safety
/// As there.
#[kernel(
    launch_bounds(shipped::<Policy, U>().threads as u32, shipped::<Policy, U>().resident),
    instances(b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn sort_ballot_keys<U: Bits>(
    input: Global<U>,
    output: GlobalMut<U>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    states: GlobalMut<u32>,
    pass: Pass,
    twists: Twists<U>,
) {
    let order = Order { tickets, states };
    keys::sweep::<U, Numbers<U, SHIPPED>, false, true>(input, output, begins, order, pass, twists);
}

/// [`sort_best_items`](crate::sort::sort_best_items) with ranks by ballots.
///
/// # Safety
/// As there.
#[kernel(
    launch_bounds(shipped::<Policy, U>().threads as u32, shipped::<Policy, U>().items_resident),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn sort_ballot_items<U: Bits>(
    input: Global<U>,
    output: GlobalMut<U>,
    values_in: Global<u8>,
    values_out: GlobalMut<u8>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    states: GlobalMut<u32>,
    pass: Pass,
    twists: Twists<U>,
    column: Column,
) {
    let values = Values {
        input: values_in,
        output: values_out,
        column,
    };
    let order = Order { tickets, states };
    items::sweep::<U, Numbers<U, SHIPPED>, true>(
        input, output, values, begins, order, pass, twists,
    );
}
