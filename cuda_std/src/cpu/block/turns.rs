//! Lanes that wait in a loop: they give way, and nobody waits for ever.

use super::*;

/// What is known of how long the lanes of a block have only waited.
#[derive(Default)]
pub(super) struct Waiting {
    /// Times that lanes have given way since one of them last changed anything.
    turns: Cell<u32>,
    /// The launch's epoch in which the last round of turns began, and whether it was told that the block is
    /// idle since. None: the block is not idle.
    epoch: Cell<Option<(u64, bool)>>,
    /// Writes are looked for, though the launch is not followed.
    watch: RefCell<Option<shadow::Watch>>,
}

/// Turns in which each of the lanes that wait has looked several times.
const ROUND: u32 = 1 << 12;
/// Turns without any change after which a block is idle, if its launch is followed.
const IDLE_FOLLOWED: u32 = 1 << 18;
/// The same otherwise, where time counts as well. After half of them plain writes are looked for too.
const IDLE: u32 = 1 << 13;

impl BlockState {
    /// Lets others run: the lanes that are ready, or else other threads. `name` is what the lane waits by,
    /// at the line `at`.
    pub fn take_turns(&self, lane: &Lane, name: &'static str, at: &'static Location<'static>) {
        if !self.may_wait(lane) {
            return;
        }
        lane.gave_way.set(Some((name, at)));
        let turns = self.waiting.turns.get() + 1;
        self.waiting.turns.set(turns);
        if turns >= ROUND || self.progress().failed().is_some() {
            self.waits_long(lane, turns);
        }
        {
            let mut ready = self.ready.borrow_mut();
            if ready.is_empty() && self.all_started.get() {
                drop(ready);
                if !shadow::is_on() {
                    std::thread::yield_now();
                }
                return;
            }
            ready.push_back(lane.linear);
        }
        lane.suspend();
    }

    /// A lane has changed memory.
    #[inline]
    pub fn changed(&self) {
        if self.waiting.turns.get() != 0 {
            self.goes_on();
        }
    }

    #[cold]
    fn goes_on(&self) {
        self.waiting.turns.set(0);
        if self.waiting.epoch.take().is_some() {
            self.progress().block_changes();
        }
        self.waiting.watch.take();
    }

    /// The block is over, or begins.
    pub fn waits_no_more(&self) {
        self.changed();
    }

    #[cold]
    fn waits_long(&self, lane: &Lane, turns: u32) {
        let progress = self.progress();
        if let Some(failed) = progress.failed()
            && (failed < self.number.get() || turns >= ROUND)
        {
            self.cancel(lane);
        }
        if !turns.is_multiple_of(ROUND) {
            return;
        }
        let (idle, followed) = match shadow::is_on() {
            true => (IDLE_FOLLOWED, true),
            false => (IDLE, false),
        };
        if turns == idle / 2 && !followed {
            self.waiting.watch.replace(Some(shadow::Watch::start()));
        }
        if turns < idle {
            return;
        }
        let Some((mut epoch, mut told)) = self.waiting.epoch.get() else {
            let epoch = progress.block_changes();
            self.waiting.epoch.set(Some((epoch, false)));
            return;
        };
        // Turns are counted from here again, so that they do not overflow.
        self.waiting.turns.set(idle);
        let over = progress.still_idle(&mut epoch, &mut told, followed);
        self.waiting.epoch.set(Some((epoch, told)));
        if over {
            self.idle(lane);
        }
    }

    /// Ends the launch because its lanes wait for what nobody does.
    fn idle(&self, lane: &Lane) -> ! {
        let mut waiting = self.waiting_groups();
        let mut at_rest = vec![false; self.lanes as usize];
        for linear in waiting.iter().flat_map(|(lanes, _, _)| &lanes.0) {
            at_rest[*linear as usize] = true;
        }
        let live =
            |linear: u32| self.warps.borrow()[linear as usize / 32].live >> (linear % 32) & 1 != 0;
        let mut loops: Vec<(LaneSet, &'static str, &'static Location<'static>)> = Vec::new();
        let lanes = (0..self.lanes).filter(|linear| live(*linear) && !at_rest[*linear as usize]);
        for linear in lanes {
            let Some((name, at)) = self.lane(linear).gave_way.get() else {
                continue;
            };
            match loops.iter_mut().find(|(_, n, a)| *n == name && *a == at) {
                Some((group, _, _)) => group.0.push(linear),
                None => loops.push((LaneSet(vec![linear]), name, at)),
            }
        }
        let first = loops.first().and_then(|(lanes, _, _)| lanes.0.first());
        let first = first.map_or(lane, |linear| self.lane(*linear));
        loops.append(&mut waiting);
        let not_started = self.progress().not_started();
        self.record(
            first,
            FaultKind::Idle {
                waiting: loops,
                not_started,
            },
        );
        lane.end()
    }
}
