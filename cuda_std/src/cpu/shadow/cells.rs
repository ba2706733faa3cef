//! Shadow memory: who touched which bytes last.
//!
//! A page of memory has a cell per granule. A granule is as small as the smallest access that the page has
//! seen in a launch, 16 bytes at most, so that every access covers whole ones.

use std::collections::HashMap;

use super::{
    clocks::Clocks,
    entry::{Entry, Lists, NONE},
};

/// What is known of a granule: the last plain write, and what came behind it. That write is after everything
/// before it, and races with whatever that would race with. An atomic operation is no such write: it does
/// not race with other atomic operations, so the plain write stays beside it.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The last write that is no atomic operation.
    write: Entry,
    /// Reads and atomic operations since then by the block that came here last.
    recent: Entry,
    /// Those of other blocks, and the block's own before other blocks came.
    foreign: Entry,
}

const EMPTY: Cell = Cell {
    write: NONE,
    recent: NONE,
    foreign: NONE,
};

impl Cell {
    /// Notes an access of the granule at `address`; gives the earlier one that it races with. Entries of
    /// blocks before `valid` are of no meaning any more, lists of blocks before `launch` are no more.
    #[inline]
    pub fn touch(
        &mut self,
        lists: &mut Lists,
        clocks: &mut Clocks,
        me: Entry,
        address: usize,
        valid: u32,
        launch: u32,
    ) -> Option<Entry> {
        // The common case: nothing but accesses of this lane so far, or of nobody.
        if self.write.run < valid {
            self.write = NONE;
        }
        if self.foreign.run < valid {
            self.foreign = NONE;
        }
        if self.recent.run != me.run && self.recent.run != 0 {
            if self.recent.run >= valid {
                let other = self.recent.race(lists, clocks, &me, address, false);
                if other.is_some() {
                    return other;
                }
                self.leave(lists, clocks);
            } else if self.recent.run >= launch {
                lists.give_back(self.recent);
            }
            self.recent = NONE;
        }
        let other = self
            .write
            .race(lists, clocks, &me, address, false)
            .or_else(|| self.recent.race(lists, clocks, &me, address, false))
            .or_else(|| self.foreign.race(lists, clocks, &me, address, true));
        if other.is_some() {
            return other;
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

    /// Another block comes: what is recent becomes foreign.
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
            // Their blocks are over, and nothing that is still to come has an order with one of them: each kind is
            // there once, and that will do.
            lists.give_back(self.recent);
        }
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
    /// By each 64 bytes of shared memory, which are one block's (`block::Line`): the block, and a bit per byte that
    /// it has written.
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

    /// The first of these bytes of shared memory that nobody in block `run` has written; they do not
    /// cross a multiple of 64.
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
