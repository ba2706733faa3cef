//! The barriers 1 to 15, at which some warps of a block meet.

use super::*;

/// The name of the operation.
pub(super) const NAME: &str = "sync_threads_named";

/// A named barrier: the lanes that wait there.
#[derive(Default)]
pub(super) struct NamedBarrier {
    /// The number of lanes that the first of them waits for.
    threads: u32,
    /// The lanes that have arrived, each with its source line.
    pub lanes: Vec<(u32, &'static Location<'static>)>,
}

impl BlockState {
    /// Executes a named barrier for one lane.
    pub fn named_barrier(
        &self,
        lane: &Lane,
        barrier: u32,
        threads: u32,
        at: &'static Location<'static>,
    ) {
        if !self.may_wait(lane) {
            return;
        }
        let refuse = |what: String| self.fail(lane, FaultKind::Argument { what, at });
        if !(1..=15).contains(&barrier) {
            refuse(format!("a named barrier must be 1 to 15, given {barrier}"));
        }
        if threads == 0 || !threads.is_multiple_of(32) || threads > self.lanes.next_multiple_of(32)
        {
            refuse(format!(
                "the threads of a named barrier must be a multiple of 32 up to the block's {}, given {threads}",
                self.lanes
            ));
        }
        let mut all = self.named.borrow_mut();
        if all.len() <= barrier as usize {
            all.resize_with(barrier as usize + 1, NamedBarrier::default);
        }
        let named = &mut all[barrier as usize];
        match named.lanes.first() {
            None => named.threads = threads,
            Some((first, first_at)) if named.threads != threads => {
                let what = format!(
                    "named barrier {barrier}: this lane waits for {threads} threads, but lane {first} waits there for {} \
                     at {first_at}",
                    named.threads
                );
                drop(all);
                refuse(what);
            }
            Some(_) => {}
        }
        let own_warp = lane.linear / 32;
        let elsewhere = named
            .lanes
            .iter()
            .find(|(other, other_at)| other / 32 == own_warp && *other_at != at);
        if let Some((other, other_at)) = elsewhere {
            let what = format!(
                "named barrier {barrier}: lane {other} of the same warp waits at another line, {other_at}"
            );
            drop(all);
            refuse(what);
        }
        named.lanes.push((lane.linear, at));
        let arrived = &named.lanes;
        // The hardware counts warps. The last warp of the block may have fewer lanes.
        let mut warps: Vec<u32> = arrived.iter().map(|(lane, _)| lane / 32).collect();
        warps.sort_unstable();
        warps.dedup();
        let missing = |warp: &u32| {
            let present = (self.lanes - warp * 32).min(32) as usize;
            arrived
                .iter()
                .filter(|(lane, _)| lane / 32 == *warp)
                .count()
                < present
        };
        let counted = warps.len() as u32 * 32;
        if counted > threads {
            let what = format!(
                "named barrier {barrier} of {threads} threads: lanes of {} warps have reached it",
                warps.len()
            );
            drop(all);
            refuse(what);
        }
        if counted < threads || warps.iter().any(missing) {
            drop(all);
            lane.suspend();
            return;
        }
        let arrived = core::mem::take(&mut named.lanes);
        drop(all);
        shadow::with(|tracker| tracker.named_barrier(&warps));
        let mut released = self.released.borrow_mut();
        released.extend(
            arrived
                .iter()
                .map(|(lane, _)| *lane)
                .filter(|other| *other != lane.linear),
        );
        drop(released);
        self.enqueue_released();
    }
}
