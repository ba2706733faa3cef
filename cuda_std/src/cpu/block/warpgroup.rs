//! The products of warpgroups.
//!
//! ```text
//! step i of a lane (begin, product, commit or wait): the first lane notes it; a lane that does something else is a fault
//! product:  note the address of the lane's sums, and its registers of A; read the tiles, if that is the moment
//! commit:   the last lane: read the tiles of the group's products, if that is the moment
//! wait:     not the last of the 128 lanes: suspend it
//!           the last: read all other tiles; compute the sums of all lanes; the others are ready
//! ```
//!
//! The hardware reads the tiles at any time from the product to the wait. So the launch's order says which moment it is: the
//! start, the commit or the wait. A kernel that writes to a tile too early has wrong sums in some order.

use super::*;
use crate::{
    cpu::copies::{Moment, moment},
    wgmma::Format,
};

/// The name of the operation by which lanes wait.
pub(super) const WAIT: &str = "wgmma::InFlight::wait";

/// The lanes of a warpgroup.
pub(in crate::cpu) const LANES: usize = 128;

/// A tile of a product in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) struct Tile {
    pub start: usize,
    pub rows: usize,
    pub along_k: bool,
}

/// A product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) struct Product {
    /// The tile of A. It is `None` if the lanes have A in registers.
    pub a: Option<Tile>,
    pub b: Tile,
    pub format: Format,
    /// Whether it is added to the sums. Otherwise it replaces them.
    pub adds: bool,
}

impl Product {
    /// Returns the tiles by their starts, with their bytes.
    fn tiles(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let tiles = self.a.into_iter().chain([self.b]);
        tiles.map(|tile| (tile.start, tile.rows * 128))
    }
}

/// What a lane does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Step {
    Begin,
    Add(Product),
    Commit,
    /// The wait for sums of that many columns.
    Wait(usize),
}

impl Step {
    /// Says what a lane of a block does.
    fn told(self, block: &BlockState) -> String {
        let tile = |tile: Tile| {
            let bytes = block.bytes(Space::Shared, tile.start, tile.start, tile.rows * 128);
            let lines = if tile.along_k { "along k" } else { "across" };
            format!("{bytes} (lines {lines})")
        };
        match self {
            Self::Begin => "begins products".to_owned(),
            Self::Add(Product { a, b, format, adds }) => {
                let element = match format {
                    Format::F16 => "f16",
                    Format::Bf16 => "bf16",
                    Format::Tf32 => "TF32",
                    Format::I8 => "i8",
                    Format::E4m3 => "F8E4M3",
                    Format::E5m2 => "F8E5M2",
                };
                let a = a.map_or("registers".to_owned(), tile);
                let b = tile(b);
                let verb = if adds { "adds" } else { "sets" };
                format!("{verb} a product in {element} of {a} and {b}")
            }
            Self::Commit => "commits products".to_owned(),
            Self::Wait(columns) => format!("waits for sums of {columns} columns"),
        }
    }
}

/// A step that at least one lane has taken.
struct Taken {
    step: Step,
    at: &'static Location<'static>,
    /// The first lane, and the number of lanes.
    by: u32,
    lanes: usize,
    /// The warps of which a lane has taken it.
    warps: u32,
}

/// The bits of the elements of the tiles of A and B, row after row of A (column after column of B).
pub(in crate::cpu) type Elements = [Vec<u32>; 2];

/// The bits of a lane's elements of A.
pub(in crate::cpu) type OfLane = [u32; 16];

/// A product whose sums have not been waited for.
struct Started {
    product: Product,
    at: &'static Location<'static>,
    /// The lane that started it first.
    by: u32,
    /// Its group's number.
    group: u32,
    moment: Moment,
    /// The addresses of the lanes' sums, 0 for lanes that have not started it.
    sums: [usize; LANES],
    /// The elements, once they have been read.
    elements: Option<Elements>,
    /// The lanes' registers of A, if it is there.
    registers: Vec<OfLane>,
    /// Whether a wait for its group is over.
    done: bool,
}

impl Started {
    fn read(&mut self, read: Read) {
        if self.elements.is_none() {
            let Product { a, b, format, .. } = self.product;
            let of_a = a.map_or_else(Vec::new, |tile| read(tile, format));
            self.elements = Some([of_a, read(b, format)]);
        }
    }
}

/// The products of a warpgroup.
pub(super) struct Warpgroup {
    /// The steps since the last wait, and how many of them each lane has taken.
    steps: Vec<Taken>,
    taken: [usize; LANES],
    /// The groups up to the last wait.
    groups: u32,
    products: Vec<Started>,
    /// The addresses of the lanes' sums at the wait.
    sums: [usize; LANES],
    waiting: Vec<(u32, &'static Location<'static>)>,
}

impl Warpgroup {
    fn new() -> Self {
        Self {
            steps: Vec::new(),
            taken: [0; LANES],
            groups: 0,
            products: Vec::new(),
            sums: [0; LANES],
            waiting: Vec::new(),
        }
    }

    /// Returns the lanes that wait, with their lines.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, &'static Location<'static>)> {
        self.waiting.iter().copied()
    }

    /// Returns the number of groups that are ended before step `index`, and the products among those steps.
    fn before(&self, index: usize) -> (u32, usize) {
        let steps = &self.steps[..index];
        let count = |is: fn(&Step) -> bool| steps.iter().filter(|it| is(&it.step)).count();
        let ended = count(|step| *step == Step::Commit) as u32;
        (
            self.groups + ended,
            count(|step| matches!(step, Step::Add(_))),
        )
    }
}

/// The read of a tile's elements from shared memory.
type Read = fn(Tile, Format) -> Vec<u32>;

impl BlockState {
    fn wgmma_fault(&self, lane: &Lane, what: String, at: &'static Location<'static>) -> ! {
        self.fail(lane, FaultKind::Wgmma { what, at })
    }

    /// Takes a step, after comparing it with that of the lanes that have taken it before. Returns its index, and whether
    /// the lane is the first of its warpgroup and of its warp to take it.
    fn product_step(
        &self,
        lane: &Lane,
        step: Step,
        at: &'static Location<'static>,
    ) -> (usize, bool, bool) {
        let (number, own) = (lane.linear as usize / LANES, lane.linear as usize % LANES);
        if (number + 1) * LANES > self.lanes as usize {
            let what = format!(
                "the last warpgroup of the block has {} lanes, of {LANES}",
                self.lanes as usize % LANES
            );
            self.wgmma_fault(lane, what, at);
        }
        let mut all = self.warpgroups.borrow_mut();
        if all.len() <= number {
            all.resize_with(number + 1, Warpgroup::new);
        }
        let warpgroup = &mut all[number];
        let index = warpgroup.taken[own];
        let is_first = index == warpgroup.steps.len();
        if is_first {
            warpgroup.steps.push(Taken {
                step,
                at,
                by: lane.linear,
                lanes: 0,
                warps: 0,
            });
        }
        let taken = &mut warpgroup.steps[index];
        let same_line = core::ptr::eq(taken.at, at)
            || taken.at == at
            || !self.options.checks.contains(Checks::SYNC);
        if taken.step != step || !same_line {
            let what = format!(
                "its lanes must do the same, but this lane {}, and lane {} {} at {}",
                step.told(self),
                taken.by,
                taken.step.told(self),
                taken.at
            );
            drop(all);
            self.wgmma_fault(lane, what, at);
        }
        let warp = 1 << (own / 32);
        let is_first_of_warp = taken.warps & warp == 0;
        taken.warps |= warp;
        taken.lanes += 1;
        warpgroup.taken[own] += 1;
        (index, is_first, is_first_of_warp)
    }

    /// Begins products.
    pub fn products_begin(&self, lane: &Lane, at: &'static Location<'static>) {
        if self.may_wait(lane) {
            self.product_step(lane, Step::Begin, at);
        }
    }

    /// Starts a product, whose sums are at an address. `of_a` is what the lane has of A, if A is in registers.
    pub fn product_starts(
        &self,
        lane: &Lane,
        product: Product,
        of_a: OfLane,
        sums: usize,
        at: &'static Location<'static>,
        read: Read,
    ) {
        if !self.may_wait(lane) {
            return;
        }
        let (index, is_first, is_first_of_warp) = self.product_step(lane, Step::Add(product), at);
        let (number, own) = (lane.linear as usize / LANES, lane.linear as usize % LANES);
        let mut all = self.warpgroups.borrow_mut();
        let warpgroup = &mut all[number];
        let (group, before) = warpgroup.before(index);
        if is_first {
            let stream = u32::MAX - 1 - number as u32;
            let moment = moment(self.options.order, self.block_idx.get(), stream, group);
            warpgroup.products.push(Started {
                product,
                at,
                by: lane.linear,
                group,
                moment,
                sums: [0; LANES],
                elements: None,
                registers: vec![[0; 16]; if product.a.is_none() { LANES } else { 0 }],
                done: false,
            });
        }
        // The products of these steps are the last ones.
        let (_, since) = warpgroup.before(warpgroup.steps.len());
        let place = warpgroup.products.len() - since + before;
        warpgroup.products[place].sums[own] = sums;
        if let Some(registers) = warpgroup.products[place].registers.get_mut(own) {
            *registers = of_a;
        }
        drop(all);
        if is_first_of_warp {
            let first = is_first.then_some((number as u32, group));
            shadow::product_starts(lane, product.tiles(), at, first);
        }
        let mut all = self.warpgroups.borrow_mut();
        let started = &mut all[number].products[place];
        if started.moment == Moment::Start {
            started.read(read);
        }
    }

    /// Ends a group of products.
    pub fn products_commit(&self, lane: &Lane, at: &'static Location<'static>, read: Read) {
        if !self.may_wait(lane) {
            return;
        }
        let (index, ..) = self.product_step(lane, Step::Commit, at);
        let mut all = self.warpgroups.borrow_mut();
        let warpgroup = &mut all[lane.linear as usize / LANES];
        let (group, _) = warpgroup.before(index);
        if warpgroup.steps[index].lanes < LANES {
            return;
        }
        for started in &mut warpgroup.products {
            if started.group == group && started.moment == Moment::Commit {
                started.read(read);
            }
        }
    }

    /// Waits for all groups of products. `complete` gets the products of these sums, with their elements, and the addresses of
    /// all lanes' sums.
    pub fn products_wait(
        &self,
        lane: &Lane,
        (sums, columns): (usize, usize),
        at: &'static Location<'static>,
        read: Read,
        complete: impl FnOnce(&[(Product, Elements, Vec<OfLane>)], &[usize; LANES]),
    ) {
        if !self.may_wait(lane) {
            return;
        }
        let (index, ..) = self.product_step(lane, Step::Wait(columns), at);
        let (number, own) = (lane.linear as usize / LANES, lane.linear as usize % LANES);
        let mut all = self.warpgroups.borrow_mut();
        let warpgroup = &mut all[number];
        warpgroup.sums[own] = sums;
        warpgroup.waiting.push((lane.linear, at));
        if warpgroup.steps[index].lanes < LANES {
            drop(all);
            lane.suspend();
            return;
        }
        let (groups, _) = warpgroup.before(index);
        warpgroup.steps.clear();
        warpgroup.taken = [0; LANES];
        warpgroup.groups = groups;
        let all_sums = warpgroup.sums;
        let is_done = |it: &Started| it.group < groups;
        let of_these = |it: &Started| is_done(it) && it.sums[own] == sums;
        let differ = |it: &&Started| {
            is_done(it)
                && it
                    .sums
                    .iter()
                    .zip(&all_sums)
                    .any(|(of, here)| (of == here) != of_these(it))
        };
        if let Some(started) = warpgroup.products.iter().find(differ) {
            let what = format!(
                "lanes wait for sums of different products, as for that at {}",
                started.at
            );
            drop(all);
            self.wgmma_fault(lane, what, at);
        }
        let new = |it: &&Started| is_done(it) && !it.done;
        let read_until_now = warpgroup.products.iter().filter(new);
        let read_until_now =
            read_until_now.flat_map(|it| it.product.tiles().map(move |tile| (it.by, tile, it.at)));
        let first = (number * LANES) as u32;
        let lanes = first..first + LANES as u32;
        if let Some(last) = groups.checked_sub(1) {
            shadow::products_are_done(read_until_now, number as u32, lanes, last);
        }
        let mut products = Vec::new();
        for mut started in core::mem::take(&mut warpgroup.products) {
            if is_done(&started) {
                started.read(read);
                started.done = true;
            }
            match started.elements.take() {
                Some(elements) if of_these(&started) => {
                    products.push((started.product, elements, started.registers));
                }
                elements => warpgroup.products.push(Started {
                    elements,
                    ..started
                }),
            }
        }
        let waiting = core::mem::take(&mut warpgroup.waiting);
        drop(all);
        complete(&products, &all_sums);
        let others = waiting.iter().map(|(other, _)| *other);
        let others = others.filter(|other| *other != lane.linear);
        self.released.borrow_mut().extend(others);
        self.enqueue_released();
    }

    /// Returns the fault of a lane that has returned without a wait for a product.
    pub fn product_not_awaited(&self, linear: u32) -> Option<FaultKind> {
        let all = self.warpgroups.borrow();
        let warpgroup = all.get(linear as usize / LANES)?;
        let own = linear as usize % LANES;
        let left = warpgroup.products.iter().find(|it| it.sums[own] != 0)?;
        let is_checked = self.options.checks.contains(Checks::SYNC);
        is_checked.then(|| FaultKind::Wgmma {
            what: "a lane does not wait for a product".to_owned(),
            at: left.at,
        })
    }
}
