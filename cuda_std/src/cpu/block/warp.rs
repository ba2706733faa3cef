//! The operations of a warp: votes, shuffles, `match` and `redux`.

use super::*;

/// The input of a lane to a warp operation.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cpu) struct Offer {
    pub value: u64,
    pub argument: u32,
}

/// A warp operation at which some lanes have arrived and others have not.
pub(super) struct Pending {
    pub operation: &'static str,
    pub at: &'static Location<'static>,
    mask: u32,
    /// The lanes that have arrived. None: the record is free.
    pub arrived: u32,
    offers: [Offer; 32],
}

/// A warp of 32 lanes, or fewer at a block's end.
#[derive(Default)]
pub(super) struct Warp {
    /// The lanes that have not returned from the kernel.
    pub live: u32,
    /// The lanes that wait at the block's barrier.
    pub at_barrier: u32,
    /// Operations of different masks can be under way at the same time.
    pub pending: Vec<Pending>,
}

impl BlockState {
    /// Ends the launch if a shuffle reads from a lane that its mask does not name.
    pub fn check_source(
        &self,
        lane: &Lane,
        operation: &'static str,
        mask: u32,
        source: u32,
        at: &'static Location<'static>,
    ) {
        // A mask without the lane itself is reported as such.
        let wrong = mask >> source & 1 == 0 && mask >> (lane.linear % 32) & 1 != 0;
        if wrong && self.options.checks.contains(Checks::SYNC) && self.may_wait(lane) {
            self.fail(
                lane,
                FaultKind::Source {
                    operation,
                    mask,
                    source,
                    at,
                },
            );
        }
    }

    /// Executes a warp operation: waits until every lane that `mask` names has arrived, then `complete` turns the inputs
    /// (by lane of the warp) into results.
    // Inlined, because after a switch of stacks the processor mispredicts each return.
    #[inline(always)]
    pub fn warp(
        &self,
        lane: &Lane,
        operation: &'static str,
        mask: u32,
        offer: Offer,
        at: &'static Location<'static>,
        complete: impl FnOnce(&[Offer; 32], &mut [u64; 32]),
    ) -> u64 {
        let own = lane.linear % 32;
        if !self.may_wait(lane) {
            return offer.value;
        }
        let bit = 1 << own;
        let first = lane.linear - own;
        let mut warps = self.warps.borrow_mut();
        let warp = &mut warps[lane.linear as usize / 32];
        if mask & bit == 0 || mask & !warp.live != 0 {
            let present = warp.live;
            drop(warps);
            self.fail(
                lane,
                FaultKind::Mask {
                    operation,
                    mask,
                    present,
                    at,
                },
            );
        }
        let mut joined = None;
        for (index, pending) in warp.pending.iter().enumerate() {
            // Another operation waits for this lane, and this one would wait for lanes in that operation. Both must be the
            // same operation, or they would wait forever.
            if pending.arrived & mask == 0 || pending.mask & bit == 0 {
                continue;
            }
            // Names and places that are not the same object may still be equal.
            let is_same = core::ptr::eq(pending.operation, operation)
                && core::ptr::eq(pending.at, at)
                || pending.operation == operation && pending.at == at;
            if pending.mask == mask && is_same {
                joined = Some(index);
                continue;
            }
            let others = (
                LaneSet(lanes_of(first, pending.arrived).collect()),
                pending.operation,
                pending.at,
            );
            drop(warps);
            self.fail(
                lane,
                FaultKind::Diverged {
                    others,
                    operation,
                    at,
                },
            );
        }
        let pending = match joined {
            Some(index) => &mut warp.pending[index],
            None => {
                let free = warp.pending.iter().position(|pending| pending.arrived == 0);
                let index = free.unwrap_or_else(|| {
                    let offers = [Offer::default(); 32];
                    warp.pending.push(Pending {
                        operation,
                        at,
                        mask,
                        arrived: 0,
                        offers,
                    });
                    warp.pending.len() - 1
                });
                let pending = &mut warp.pending[index];
                (pending.operation, pending.at, pending.mask) = (operation, at, mask);
                pending
            }
        };
        pending.offers[own as usize] = offer;
        pending.arrived |= bit;
        if pending.arrived != mask {
            drop(warps);
            lane.suspend();
            return lane.result.get();
        }
        pending.arrived = 0;
        let mut results = [0; 32];
        complete(&pending.offers, &mut results);
        drop(warps);
        self.release(first, mask & !bit, |lane| results[lane as usize]);
        self.enqueue_released();
        results[own as usize]
    }
}
