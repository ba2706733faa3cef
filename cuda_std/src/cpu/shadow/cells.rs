//! Shadow memory: the last accesses to each byte.
//!
//! ```text
//! an access `me` to a granule, whose cell has the last plain write, and `recent` and `foreign` accesses since then:
//!     drop the entries that no longer count                       (earlier launches; in shared memory, earlier clusters)
//!     if `recent` is another block's: me races with it, or it becomes `foreign`
//!     if the write, or one of `recent` or `foreign`, conflicts with me and is not ordered before me: a race
//!     if me is a plain write: write = me; recent = foreign = none
//!     else if there is no `recent`, or me stands for it: recent = me
//!     else: add me to the list of `recent`
//! ```
//!
//! Most granules have at most one recent access, and need no list.
//!
//! A page of memory has a cell per granule. A granule is as small as the smallest access that the page has seen in a
//! launch, and at most 16 bytes, so that every access covers whole granules.

use std::collections::HashMap;

use super::{
    clocks::Clocks,
    entry::{Entry, Lists, NONE},
};

/// The known accesses of a granule: the last plain write, and the accesses after it. That write is ordered after everything
/// before it, so it races with everything that an earlier access would race with. An atomic operation does not replace it
/// in this way: it does not race with other atomic operations, so the plain write is kept beside it.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The last write that is not an atomic operation.
    write: Entry,
    /// Reads and atomic operations since then, by the block that accessed the granule last.
    recent: Entry,
    /// Those of other blocks, and the block's own from before other blocks' accesses.
    foreign: Entry,
}

const EMPTY: Cell = Cell {
    write: NONE,
    recent: NONE,
    foreign: NONE,
};

impl Cell {
    /// Notes an access of the granule at `address`. Returns the earlier access that it races with. Entries of blocks before
    /// `valid` no longer count, and lists of blocks before `launch` no longer exist.
    ///
    /// If `noted` is true, the access was noted before, as that of its lane, and its order is not looked at again.
    #[inline]
    pub fn touch(
        &mut self,
        lists: &mut Lists,
        clocks: &mut Clocks,
        me: Entry,
        address: usize,
        (valid, launch): (u32, u32),
        noted: bool,
    ) -> Option<Entry> {
        // The common case: only this lane has accessed the granule so far, or none has.
        if self.write.run < valid {
            self.write = NONE;
        }
        if self.foreign.run < valid {
            self.foreign = NONE;
        }
        if self.recent.run != me.run && self.recent.run != 0 {
            if self.recent.run >= valid {
                let other = match noted {
                    true => None,
                    false => self.recent.race(lists, clocks, &me, address, false),
                };
                if other.is_some() {
                    return other;
                }
                self.leave(lists, clocks);
            } else if self.recent.run >= launch {
                lists.give_back(self.recent);
            }
            self.recent = NONE;
        }
        if !noted {
            let other = self
                .write
                .race(lists, clocks, &me, address, false)
                .or_else(|| self.recent.race(lists, clocks, &me, address, false))
                .or_else(|| self.foreign.race(lists, clocks, &me, address, true));
            if other.is_some() {
                return other;
            }
        }
        if me.is_plain_write() {
            lists.give_back(self.recent);
            lists.give_back(self.foreign);
            *self = Self { write: me, ..EMPTY };
        } else if self.recent.run == 0 || me.replaces(&self.recent, clocks) {
            self.recent = me;
        } else {
            lists.add(&mut self.recent, me, clocks);
        }
        None
    }

    /// Returns the earlier access that a read of the granule at `address` by a lane of the same block races with. Entries of
    /// blocks before `valid` do not count. Nothing is noted.
    pub fn look(
        &self,
        lists: &Lists,
        clocks: &mut Clocks,
        me: Entry,
        address: usize,
        valid: u32,
    ) -> Option<Entry> {
        let mut race = |entry: Entry, mixed: bool| match entry.run >= valid {
            true => entry.race(lists, clocks, &me, address, mixed),
            false => None,
        };
        race(self.write, false)
            .or_else(|| race(self.recent, false))
            .or_else(|| race(self.foreign, true))
    }

    /// Returns whether the granule's last plain write is this one, and no access to it by block `run` or a later one is known
    /// that could race with a read.
    pub fn has_only_write(&self, write: Entry, run: u32) -> bool {
        let only_reads = |entry: Entry| entry.run < run || entry.only_reads();
        self.write == write && only_reads(self.recent) && only_reads(self.foreign)
    }

    /// Returns the last plain write.
    pub fn last_write(&self) -> Entry {
        self.write
    }

    /// Makes the recent accesses foreign, because another block accesses the granule.
    #[inline]
    fn leave(&mut self, lists: &mut Lists, clocks: &Clocks) {
        if self.foreign.run == 0 {
            self.foreign = self.recent;
        } else if clocks.orders_blocks()
            || clocks.interleaves()
            || self.recent.kinds() & !self.foreign.kinds() != 0
        {
            lists.merge(&mut self.foreign, self.recent, clocks.interleaves());
        } else {
            // Their blocks are over, and nothing that is still to come is ordered with one of them. One access of each kind
            // is already there, which is enough.
            lists.give_back(self.recent);
        }
    }
}

/// The size of a page in bytes.
pub(super) const PAGE: usize = 4096;

/// The shadow of a page.
pub(super) struct Page {
    /// The launch that the cells belong to, by the number of its first block.
    launch: u32,
    /// The size of a granule in bytes, as the exponent of 2.
    granule: u32,
    cells: Vec<Cell>,
    /// For each 64 bytes of shared memory, which belong to one block (`block::Line`): the block, and a bit per byte that it
    /// has written.
    written: [(u32, u64); PAGE / 64],
}

impl Page {
    fn new() -> Self {
        Self {
            launch: 0,
            granule: 4,
            cells: Vec::new(),
            written: [(0, 0); PAGE / 64],
        }
    }

    /// Returns the cells of the bytes from `start` on. All bytes lie within the page.
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

    #[cold]
    fn refine(&mut self, lists: &mut Lists, launch: u32, needed: u32) {
        if self.launch != launch {
            self.launch = launch;
            // Cells of the same size can stay: their blocks belong to earlier launches.
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
                let [recent, foreign] =
                    [cell.recent, cell.foreign].map(|entry| match entry.run >= launch {
                        true => lists.duplicate(entry),
                        false => NONE,
                    });
                refined.push(Cell {
                    recent,
                    foreign,
                    ..*cell
                });
            }
        }
        self.cells = refined;
        self.granule = needed;
    }

    /// Notes a write of shared memory by block `run`.
    #[inline]
    pub fn write(&mut self, run: u32, start: usize, bytes: usize) {
        *self.written_by(run, start) |= mask(start, bytes);
    }

    /// Returns the first of these bytes of shared memory that block `run` has not written. The bytes must not cross a
    /// multiple of 64.
    #[inline]
    pub fn first_unwritten(&mut self, run: u32, start: usize, bytes: usize) -> Option<usize> {
        let missing = mask(start, bytes) & !*self.written_by(run, start);
        (missing != 0).then(|| start / 64 * 64 + missing.trailing_zeros() as usize)
    }

    #[inline]
    fn written_by(&mut self, run: u32, start: usize) -> &mut u64 {
        let (block, written) = &mut self.written[start / 64];
        if *block != run {
            (*block, *written) = (run, 0);
        }
        written
    }
}

fn mask(start: usize, bytes: usize) -> u64 {
    (u64::MAX >> (64 - bytes)) << (start % 64)
}

/// The pages that have been accessed.
#[derive(Default)]
pub(super) struct Pages {
    index: HashMap<usize, usize>,
    // Pages are large. They are boxed, so they do not move when the list grows.
    #[allow(clippy::vec_box)]
    all: Vec<Box<Page>>,
    /// The pages used last, by the low bits of their number.
    cache: Vec<(usize, usize)>,
}

const CACHED: usize = 256;

impl Pages {
    /// Returns the page of `address`.
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

    /// Drops all pages if they take much memory.
    pub fn trim(&mut self) {
        /// The shadow memory that a thread keeps between launches, in bytes.
        const KEPT: usize = 64 << 20;
        let cells: usize = self.all.iter().map(|page| page.cells.capacity()).sum();
        if cells * size_of::<Cell>() > KEPT {
            *self = Self::default();
        }
    }
}
