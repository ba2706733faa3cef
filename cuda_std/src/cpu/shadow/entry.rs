//! Accesses, and lists of accesses.

use core::panic::Location;

use super::{
    super::access::{AccessKind, CODES},
    clocks::{COPIERS, Clocks},
};

/// An access: its lane and block, its time, its kind and its source line. Block 0 means no access.
///
/// In a cell an entry may instead be a list, whose number is the clock.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub run: u32,
    clock: u32,
    /// The source line in the low 48 bits (addresses of programs have no more), eleven bits of the lane, four bits of the
    /// kind's code. The highest bit marks a list. The lowest 16 bits are then the set of the kinds in it.
    tag: u64,
}

const PLACE: u64 = (1 << 48) - 1;
const LANE: u64 = 2047 << 48;
const KIND_AT: u32 = 59;
const KIND: u64 = 15 << KIND_AT;
const LIST: u64 = 1 << 63;
pub(super) const NONE: Entry = Entry {
    run: 0,
    clock: 0,
    tag: 0,
};

/// A set of kinds, with the bit of each kind's code.
type Kinds = u16;

/// For each kind's code, the kinds of accesses that race with it if nothing orders them: first those of another block, then
/// those of the same block.
static CONFLICTS: [[Kinds; CODES]; 2] = [conflicts(false), conflicts(true)];

const fn conflicts(same_block: bool) -> [Kinds; CODES] {
    let mut all = [0; CODES];
    let mut i = 0;
    while i < CODES * CODES {
        let (a, b) = (i / CODES, i % CODES);
        let kind = AccessKind::from_code(a as u8);
        if kind.conflicts(AccessKind::from_code(b as u8), same_block) {
            all[a] |= 1 << b;
        }
        i += 1;
    }
    all
}

/// For each kind's code, the kinds that it stands for: everything that would race with an earlier access of such a kind, by
/// a lane of the same block, would race with this one too.
static STANDS_FOR: [Kinds; CODES] = {
    let mut all = [0; CODES];
    let mut i = 0;
    while i < CODES * CODES {
        let (a, b) = (i / CODES, i % CODES);
        let near = CONFLICTS[1][b] & !CONFLICTS[1][a];
        let far = CONFLICTS[0][b] & !CONFLICTS[0][a];
        if near == 0 && far == 0 {
            all[a] |= 1 << b;
        }
        i += 1;
    }
    all
};

impl Entry {
    #[inline]
    pub fn new(
        run: u32,
        lane: u32,
        clock: u32,
        touched: AccessKind,
        at: &'static Location<'static>,
    ) -> Self {
        let place = (&raw const *at).expose_provenance() as u64 & PLACE;
        Self {
            run,
            clock,
            tag: place | u64::from(lane) << 48 | u64::from(touched.code()) << KIND_AT,
        }
    }

    #[inline]
    pub fn lane(&self) -> u32 {
        (self.tag >> 48) as u32 & 2047
    }

    /// Returns the lane that made the access, or that started the copy which made it.
    pub fn made_by(&self) -> u32 {
        match self.lane() {
            lane if lane < COPIERS => lane,
            _ => self.clock & (COPIERS - 1),
        }
    }

    /// Returns the lane and the clock of a plain write by a lane of block `run`, which the asynchronous proxy sees only behind
    /// a proxy fence. Writes by bulk copies are the proxy's own.
    pub fn generic_write(&self, run: u32) -> Option<(u32, u32)> {
        let own = self.run == run && self.lane() < COPIERS && self.is_plain_write();
        own.then(|| (self.lane(), self.clock))
    }

    #[inline]
    fn code(&self) -> usize {
        (self.tag >> KIND_AT) as usize & (CODES - 1)
    }

    /// Returns the kind of the access.
    pub fn touched(&self) -> AccessKind {
        AccessKind::from_code(self.code() as u8)
    }

    pub fn at(&self) -> &'static Location<'static> {
        // SAFETY: the address was made from such a reference and has no more bits.
        unsafe { &*core::ptr::with_exposed_provenance((self.tag & PLACE) as usize) }
    }

    #[inline]
    fn is_list(&self) -> bool {
        self.tag & LIST != 0
    }

    /// Returns the kinds of the entry's accesses.
    #[inline]
    pub fn kinds(&self) -> Kinds {
        match self.is_list() {
            true => self.tag as Kinds,
            false => 1 << self.code(),
        }
    }

    /// Returns whether none of the accesses is a write or an atomic operation.
    pub fn only_reads(&self) -> bool {
        const READS: Kinds = 1 << AccessKind::Read.code() | 1 << AccessKind::CopyFrom.code();
        self.kinds() & !READS == 0
    }

    #[inline]
    pub fn is_plain_write(&self) -> bool {
        const PLAIN_WRITES: Kinds = 1 << AccessKind::Write.code() | 1 << AccessKind::CopyTo.code();
        PLAIN_WRITES >> self.code() & 1 != 0
    }

    /// Returns whether an earlier access `other` of the same block is no longer needed, now that this one is known.
    #[inline]
    pub fn replaces(&self, other: &Self, clocks: &Clocks) -> bool {
        !other.is_list()
            && self.stands_for(other)
            && (other.lane() == self.lane() || clocks.before_barrier(other.clock))
    }

    #[inline]
    fn stands_for(&self, other: &Self) -> bool {
        STANDS_FOR[self.code()] >> other.code() & 1 != 0
    }

    /// Returns whether it has the same warp, clock and kind as `other`.
    #[inline]
    fn is_like(&self, other: &Self) -> bool {
        const WARP: u64 = LANE & !(31 << 48);
        (self.run, self.clock) == (other.run, other.clock)
            && (self.tag ^ other.tag) & (WARP | KIND) == 0
    }

    /// Returns whether it is before what `me` does now. Both access the granule at `address`.
    #[inline]
    fn is_before(&self, clocks: &mut Clocks, me: &Self, address: usize) -> bool {
        let (lane, other) = (me.lane(), (self.run, self.lane(), self.clock));
        clocks.ordered_in_block(lane, other)
            || clocks.has_acquired(lane, other, || match self.touched() {
                AccessKind::Atomic { bytes, .. } => Some(address & !(usize::from(bytes) - 1)),
                _ => None,
            })
    }

    /// Returns the kinds of accesses of a block that race with this one.
    #[inline]
    fn conflicts(&self, block: u32) -> Kinds {
        CONFLICTS[usize::from(block == self.run)][self.code()]
    }

    /// Returns the first of these accesses that `me` races with. They belong to one block, or to several (`mixed`).
    #[inline]
    pub fn race(
        &self,
        lists: &Lists,
        clocks: &mut Clocks,
        me: &Self,
        address: usize,
        mixed: bool,
    ) -> Option<Self> {
        // The common case. Accesses that race within a block also race between two blocks.
        let block = if mixed { 0 } else { self.run };
        if self.run == 0 || self.kinds() & me.conflicts(block) == 0 {
            return None;
        }
        if self.is_list() {
            return lists.race(*self, clocks, me, address);
        }
        let races = !mixed || self.kinds() & me.conflicts(self.run) != 0;
        (races && !self.is_before(clocks, me, address)).then_some(*self)
    }
}

/// Accesses of the lanes of a warp that differ only in the lane.
#[derive(Clone, Copy)]
struct Group {
    /// The access of the first lane.
    entry: Entry,
    lanes: u32,
}

impl Group {
    fn of(entry: Entry) -> Self {
        let lanes = 1 << (entry.lane() % 32);
        Self { entry, lanes }
    }

    /// Returns whether an earlier group of a block is no longer needed, now that this one is known: everything after this
    /// group is also after that one.
    fn stands_for(&self, old: &Self) -> bool {
        let (new, old_entry) = (&self.entry, &old.entry);
        new.run == old_entry.run
            && new.lane() / 32 == old_entry.lane() / 32
            && old.lanes & !self.lanes == 0
            && old_entry.clock <= new.clock
            && new.stands_for(old_entry)
    }
}

/// The most groups of a list. Beyond them some are forgotten.
const MOST_GROUPS: usize = 64;

/// Lists of accesses, for granules for which one entry is not enough.
#[derive(Default)]
pub(super) struct Lists {
    all: Vec<Vec<Group>>,
    free: Vec<u32>,
}

impl Lists {
    /// Forgets the previous launch.
    pub fn clear(&mut self) {
        /// The number of lists that are kept between launches.
        const KEPT: usize = 1 << 16;
        if self.all.len() > KEPT {
            *self = Self::default();
        }
        self.all.iter_mut().for_each(Vec::clear);
        self.free = (0..self.all.len() as u32).collect();
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Vec::new());
            (self.all.len() - 1) as u32
        })
    }

    /// Frees an entry.
    #[inline]
    pub fn give_back(&mut self, entry: Entry) {
        if entry.is_list() {
            self.all[entry.clock as usize].clear();
            self.free.push(entry.clock);
        }
    }

    /// Returns a copy of the same accesses for another cell.
    pub fn duplicate(&mut self, entry: Entry) -> Entry {
        if !entry.is_list() {
            return entry;
        }
        let list = self.take();
        self.all[list as usize] = self.all[entry.clock as usize].clone();
        Entry {
            clock: list,
            ..entry
        }
    }

    /// Converts an entry to a list, if it is not one.
    fn list_of<'a>(&'a mut self, entry: &mut Entry) -> &'a mut Vec<Group> {
        if !entry.is_list() {
            let list = self.take();
            self.all[list as usize].push(Group::of(*entry));
            *entry = Entry {
                run: entry.run,
                clock: list,
                tag: LIST | u64::from(entry.kinds()),
            };
        }
        &mut self.all[entry.clock as usize]
    }

    /// Adds an access to a cell's recent ones, which belong to the same block.
    pub fn add(&mut self, recent: &mut Entry, me: Entry, clocks: &Clocks) {
        let groups = self.list_of(recent);
        let bit = 1 << (me.lane() % 32);
        for group in groups.iter_mut().rev() {
            if group.entry.is_like(&me) {
                if group.lanes & bit != 0 {
                    return;
                }
                // A report names the line of each lane.
                if (group.entry.tag ^ me.tag) & PLACE == 0 {
                    group.lanes |= bit;
                    return;
                }
            }
        }
        // Everything after a barrier is ordered after everything before it. The oldest groups are first.
        let mut kinds = recent.kinds() | me.kinds();
        if clocks.before_barrier(groups[0].entry.clock) {
            groups.retain(|Group { entry, .. }| {
                !(clocks.before_barrier(entry.clock) && me.stands_for(entry))
            });
            kinds = groups
                .iter()
                .fold(me.kinds(), |all, group| all | group.entry.kinds());
        }
        push(groups, Group::of(me));
        recent.tag = LIST | u64::from(kinds);
    }

    /// Adds the accesses of one block to those of others. With `again` the block may have been here before.
    pub fn merge(&mut self, foreign: &mut Entry, recent: Entry, again: bool) {
        let mut added = match recent.is_list() {
            true => std::mem::take(&mut self.all[recent.clock as usize]),
            false => vec![Group::of(recent)],
        };
        let groups = self.list_of(foreign);
        for group in added.drain(..) {
            let old = match again {
                true => groups.iter_mut().find(|old| group.stands_for(old)),
                false => None,
            };
            match old {
                Some(old) => *old = group,
                None => push(groups, group),
            }
        }
        foreign.run = recent.run;
        foreign.tag |= u64::from(recent.kinds());
        if recent.is_list() {
            // The list keeps its memory.
            self.all[recent.clock as usize] = added;
            self.free.push(recent.clock);
        }
    }

    fn race(&self, list: Entry, clocks: &mut Clocks, me: &Entry, address: usize) -> Option<Entry> {
        for group in &self.all[list.clock as usize] {
            if group.entry.kinds() & me.conflicts(group.entry.run) == 0 {
                continue;
            }
            let mut left = group.lanes;
            while left != 0 {
                let lane = group.entry.lane() / 32 * 32 + left.trailing_zeros();
                left &= left - 1;
                let other = Entry {
                    tag: group.entry.tag & !LANE | u64::from(lane) << 48,
                    ..group.entry
                };
                if !other.is_before(clocks, me, address) {
                    return Some(other);
                }
            }
        }
        None
    }
}

fn push(groups: &mut Vec<Group>, group: Group) {
    match groups.len() {
        MOST_GROUPS => groups[MOST_GROUPS / 2] = group,
        _ => groups.push(group),
    }
}
