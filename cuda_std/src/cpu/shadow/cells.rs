//! Shadow memory: who touched which bytes last.
//!
//! A page of memory has a cell per granule. A granule is as small as the smallest access that the page has
//! seen in a launch, 16 bytes at most, so that every access covers whole ones.

use core::panic::Location;
use std::collections::HashMap;

use super::{super::fault::AccessKind, clocks::Clocks};

/// An access: by which lane of which block, when, how and where in the source. 0 as the block: none.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub run: u32,
    pub clock: u32,
    /// The place in the low 48 bits (addresses of programs have no more), ten bits of the lane, two of the
    /// kind and one for an asynchronous copy's. In a cell's `recent` the highest bit stands for a list, whose number is the clock; its kind is
    /// `Atomic` if there are such operations among the reads.
    tag: u64,
}

const PLACE: u64 = (1 << 48) - 1;
const LIST: u64 = 1 << 63;
/// The bit of the kind that only atomic operations have.
const ATOMIC: u64 = 2 << 58;
/// The bit of what an asynchronous copy does.
const COPY: u64 = 1 << 60;
const NONE: Entry = Entry {
    run: 0,
    clock: 0,
    tag: 0,
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
        let copy = if touched.is_copy() { COPY } else { 0 };
        Self {
            run,
            clock,
            tag: place | u64::from(lane) << 48 | (touched.plain() as u64) << 58 | copy,
        }
    }

    #[inline]
    pub fn lane(&self) -> u32 {
        (self.tag >> 48) as u32 & 1023
    }

    /// How it touches memory, a copy's access as any other.
    #[inline]
    fn touched(&self) -> AccessKind {
        match self.tag >> 58 & 3 {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            _ => AccessKind::Atomic,
        }
    }

    /// How it touches memory.
    pub fn told(&self) -> AccessKind {
        match (self.touched(), self.tag & COPY != 0) {
            (AccessKind::Read, true) => AccessKind::CopyFrom,
            (AccessKind::Write, true) => AccessKind::CopyTo,
            (kind, _) => kind,
        }
    }

    pub fn at(&self) -> &'static Location<'static> {
        // SAFETY: made from such a reference, whose address has no more bits.
        unsafe { &*core::ptr::with_exposed_provenance((self.tag & PLACE) as usize) }
    }

    #[inline]
    fn is_list(&self) -> bool {
        self.tag & LIST != 0
    }
}

/// What is known of a granule.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The last write or atomic operation.
    write: Entry,
    /// Reads, and atomic operations of other lanes, since then by the block that came here last.
    recent: Entry,
    /// The latest of those of another block.
    foreign: Entry,
}

const EMPTY: Cell = Cell {
    write: NONE,
    recent: NONE,
    foreign: NONE,
};

/// Accesses of the lanes of a warp, alike but for the lane.
#[derive(Clone, Copy)]
struct Group {
    /// That of the first lane.
    entry: Entry,
    lanes: u32,
}

/// Groups that are remembered of a granule; beyond them some are forgotten.
const MOST_GROUPS: usize = 64;

/// Lists of accesses, for the granules where one entry is not enough.
#[derive(Default)]
pub(super) struct Lists {
    all: Vec<Vec<Group>>,
    free: Vec<u32>,
}

impl Lists {
    pub fn clear(&mut self) {
        self.all.iter_mut().for_each(Vec::clear);
        self.free = (0..self.all.len() as u32).collect();
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Vec::new());
            (self.all.len() - 1) as u32
        })
    }

    fn give_back(&mut self, list: Entry) {
        if list.is_list() {
            self.all[list.clock as usize].clear();
            self.free.push(list.clock);
        }
    }

    /// The same accesses, as a cell's own.
    fn duplicate(&mut self, recent: Entry) -> Entry {
        if !recent.is_list() {
            return recent;
        }
        let list = self.take();
        self.all[list as usize] = self.all[recent.clock as usize].clone();
        Entry {
            clock: list,
            ..recent
        }
    }

    fn push(groups: &mut Vec<Group>, entry: Entry) {
        let bit = 1 << (entry.lane() % 32);
        let same = |group: &&mut Group| {
            let other = group.entry;
            (other.run, other.clock) == (entry.run, entry.clock)
                && other.lane() / 32 == entry.lane() / 32
                && other.told() == entry.told()
        };
        if let Some(group) = groups.iter_mut().rev().find(same) {
            group.lanes |= bit;
            return;
        }
        let lanes = bit;
        if groups.len() == MOST_GROUPS {
            groups[MOST_GROUPS / 2] = Group { entry, lanes };
        } else {
            groups.push(Group { entry, lanes });
        }
    }

    /// Adds an access to a cell's recent ones.
    fn add(&mut self, recent: &mut Entry, entry: Entry) {
        if recent.run == 0 {
            *recent = entry;
            return;
        }
        if !recent.is_list() {
            let list = self.take();
            Self::push(&mut self.all[list as usize], *recent);
            *recent = Entry {
                run: entry.run,
                clock: list,
                tag: LIST | recent.tag & ATOMIC,
            };
        }
        recent.tag |= entry.tag & ATOMIC;
        Self::push(&mut self.all[recent.clock as usize], entry);
    }
}

/// Whether `me` races with `other`.
#[inline]
fn races(clocks: &mut Clocks, me: &Entry, other: &Entry) -> bool {
    other.run != 0
        && me.touched().conflicts(other.touched())
        && !clocks.ordered(me.lane(), other.run, other.lane(), other.clock)
}

/// The first of a cell's recent accesses that `me` races with.
#[inline]
fn race_with_recent(
    lists: &Lists,
    clocks: &mut Clocks,
    me: &Entry,
    recent: Entry,
) -> Option<Entry> {
    // The common case. A list with atomic operations may have reads too, so the kinds of its groups count.
    if me.touched() == AccessKind::Read && recent.touched() == AccessKind::Read {
        return None;
    }
    match recent.is_list() {
        true => race_with_list(lists, clocks, me, recent),
        false => races(clocks, me, &recent).then_some(recent),
    }
}

fn race_with_list(lists: &Lists, clocks: &mut Clocks, me: &Entry, recent: Entry) -> Option<Entry> {
    let groups = lists.all[recent.clock as usize].iter();
    for group in groups.filter(|group| me.touched().conflicts(group.entry.touched())) {
        let mut left = group.lanes;
        while left != 0 {
            let lane = group.entry.lane() / 32 * 32 + left.trailing_zeros();
            left &= left - 1;
            let mut other = group.entry;
            other.tag = other.tag & !(1023 << 48) | u64::from(lane) << 48;
            if races(clocks, me, &other) {
                return Some(other);
            }
        }
    }
    None
}

impl Cell {
    /// Notes an access; gives the earlier one that it races with. Entries of blocks before `valid` are of
    /// no meaning any more, lists of blocks before `launch` are no more.
    #[inline]
    pub fn touch(
        &mut self,
        lists: &mut Lists,
        clocks: &mut Clocks,
        me: Entry,
        valid: u32,
        launch: u32,
    ) -> Option<Entry> {
        let touched = me.touched();
        // The common case: nothing but accesses of this lane so far, or of nobody.
        if self.write.run < valid {
            self.write = NONE;
        }
        if self.foreign.run < valid {
            self.foreign = NONE;
        }
        if self.recent.run != me.run && self.recent.run != 0 {
            if self.recent.run >= valid {
                if let Some(other) = race_with_recent(lists, clocks, &me, self.recent) {
                    return Some(other);
                }
                self.foreign = match self.recent.is_list() {
                    true => lists.all[self.recent.clock as usize][0].entry,
                    false => self.recent,
                };
            }
            if self.recent.run >= launch {
                lists.give_back(self.recent);
            }
            self.recent = NONE;
        }
        if self.write.run != 0 && races(clocks, &me, &self.write) {
            return Some(self.write);
        }
        if self.recent.run != 0
            && let Some(other) = race_with_recent(lists, clocks, &me, self.recent)
        {
            return Some(other);
        }
        if self.foreign.run != 0 && races(clocks, &me, &self.foreign) {
            return Some(self.foreign);
        }
        match touched {
            AccessKind::Write => {
                lists.give_back(self.recent);
                *self = Self {
                    write: me,
                    recent: NONE,
                    foreign: NONE,
                };
            }
            AccessKind::Atomic => {
                let before = self.write;
                if before.run != 0
                    && before.touched() == AccessKind::Atomic
                    && !clocks.ordered_in_block(me.lane(), before.run, before.lane(), before.clock)
                {
                    if before.run == me.run {
                        lists.add(&mut self.recent, before);
                    } else {
                        self.foreign = before;
                    }
                }
                self.write = me;
            }
            _ => {
                let replaces = !self.recent.is_list()
                    && self.recent.touched() == AccessKind::Read
                    && (self.recent.lane() == me.lane()
                        || clocks.before_barrier(self.recent.clock));
                if self.recent.run == 0 || replaces {
                    self.recent = me;
                } else {
                    if self.recent.is_list() {
                        let groups = &mut lists.all[self.recent.clock as usize];
                        // Reads before a barrier are before whatever this one is before.
                        if clocks.before_barrier(groups[0].entry.clock) {
                            groups.retain(|group| {
                                group.entry.touched() != AccessKind::Read
                                    || !clocks.before_barrier(group.entry.clock)
                            });
                        }
                    }
                    lists.add(&mut self.recent, me);
                }
            }
        }
        None
    }
}

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;

/// The shadow of a page.
pub(super) struct Page {
    /// The launch, by its first block's number, that the cells are of.
    launch: u32,
    /// Bytes of a granule, as a power of two.
    granule: u32,
    cells: Vec<Cell>,
    /// The block that `written` is of, where the page is shared memory.
    run: u32,
    /// A bit per byte of shared memory.
    written: [u64; PAGE / 64],
}

impl Page {
    fn new() -> Self {
        Self {
            launch: 0,
            granule: 4,
            cells: Vec::new(),
            run: 0,
            written: [0; PAGE / 64],
        }
    }

    /// The cells of the bytes from `start` on, both within the page.
    #[inline]
    pub fn cells(
        &mut self,
        lists: &mut Lists,
        launch: u32,
        start: usize,
        bytes: usize,
    ) -> &mut [Cell] {
        let needed = (start | bytes | 16).trailing_zeros();
        if self.launch != launch || needed < self.granule {
            self.refine(lists, launch, needed);
        }
        &mut self.cells[start >> self.granule..(start + bytes) >> self.granule]
    }

    /// Bytes of a granule.
    pub fn granule(&self) -> usize {
        1 << self.granule
    }

    #[cold]
    fn refine(&mut self, lists: &mut Lists, launch: u32, needed: u32) {
        if self.launch != launch {
            self.launch = launch;
            // Cells of the same size can stay: their blocks are of earlier launches.
            if self.granule != needed || self.cells.is_empty() {
                self.granule = needed;
                self.cells.clear();
                self.cells.resize(PAGE >> needed, EMPTY);
            }
            return;
        }
        let each = 1 << (self.granule - needed);
        let mut refined = Vec::with_capacity(PAGE >> needed);
        for cell in &self.cells {
            refined.push(*cell);
            for _ in 1..each {
                let recent = match cell.recent.run >= launch {
                    true => lists.duplicate(cell.recent),
                    false => NONE,
                };
                refined.push(Cell { recent, ..*cell });
            }
        }
        self.cells = refined;
        self.granule = needed;
    }

    /// Notes a write of shared memory by block `run`.
    #[inline]
    pub fn write(&mut self, run: u32, start: usize, bytes: usize) {
        self.of_block(run);
        self.written[start / 64] |= mask(start, bytes);
    }

    /// The first of these bytes of shared memory that nobody in block `run` has written; they do not
    /// cross a multiple of 64.
    #[inline]
    pub fn first_unwritten(&mut self, run: u32, start: usize, bytes: usize) -> Option<usize> {
        self.of_block(run);
        let missing = mask(start, bytes) & !self.written[start / 64];
        (missing != 0).then(|| start / 64 * 64 + missing.trailing_zeros() as usize)
    }

    #[inline]
    fn of_block(&mut self, run: u32) {
        if self.run != run {
            self.run = run;
            self.written = [0; PAGE / 64];
        }
    }
}

fn mask(start: usize, bytes: usize) -> u64 {
    (u64::MAX >> (64 - bytes)) << (start % 64)
}

/// The pages that have been touched.
#[derive(Default)]
pub(super) struct Pages {
    index: HashMap<usize, usize>,
    // Pages are large: boxed, they stay where they are when the list grows.
    #[allow(clippy::vec_box)]
    all: Vec<Box<Page>>,
    /// The pages used last, by the low bits of their number.
    cache: Vec<(usize, usize)>,
}

const CACHED: usize = 256;

impl Pages {
    /// The page of `address`.
    #[inline]
    pub fn page(&mut self, address: usize) -> &mut Page {
        let number = address / PAGE;
        let slot = number % CACHED;
        match self.cache.get(slot) {
            Some((cached, position)) if *cached == number => &mut self.all[*position],
            _ => self.find(number),
        }
    }

    #[cold]
    fn find(&mut self, number: usize) -> &mut Page {
        let position = *self.index.entry(number).or_insert_with(|| {
            self.all.push(Box::new(Page::new()));
            self.all.len() - 1
        });
        self.cache.resize(CACHED, (usize::MAX, 0));
        self.cache[number % CACHED] = (number, position);
        &mut self.all[position]
    }

    /// Forgets everything where it has become much.
    pub fn trim(&mut self) {
        /// Bytes of shadow that a thread keeps between launches.
        const KEPT: usize = 64 << 20;
        let cells: usize = self.all.iter().map(|page| page.cells.capacity()).sum();
        if cells * size_of::<Cell>() > KEPT {
            *self = Self::default();
        }
    }
}
