//! Releases through atomic variables: a graph, in which a release knows the releases before it.

use std::collections::{HashMap, HashSet};

/// A release, by its index. 0 is no release.
pub(in crate::cpu) type Node = u32;

/// One lane's release, or a join of two releases.
#[derive(Default)]
pub(super) struct Release {
    pub run: u32,
    pub lane: u32,
    /// Accesses of the lane with an earlier clock are released;
    pub event: u32,
    /// accesses of its warp with an earlier clock than `warp`, and of the block with an earlier one than `block`.
    pub warp: u32,
    pub block: u32,
    /// What the lane knows of the lanes of its warp, if it differs between them.
    pub known: Option<Box<[u32; 32]>>,
    /// What its warp knows of the block's warps from named barriers.
    pub met: Option<Box<[u32]>>,
    /// Events of several lanes.
    pub events: Box<[(u32, u32)]>,
    /// The variable of the release, by its address. A lane that reads the release there is also ordered after the operation
    /// itself, which comes after the releasing fence: after the lane's atomic operations on this variable with an earlier
    /// clock than `own`.
    pub variable: usize,
    pub own: u32,
    pub parents: [Node; 2],
}

/// Everything that a node has released: accesses with an earlier clock.
#[derive(Default)]
struct Table {
    /// Clocks by block number and lane, warp or block.
    events: HashMap<(u32, u32), u32>,
    /// Clocks by block number, lane and variable.
    own: HashMap<(u32, u32, usize), u32>,
}

/// Keys of a table for warps and blocks, above the lanes' numbers.
const WARPS: u32 = 1 << 16;
const BLOCK: u32 = 1 << 17;

impl Table {
    fn raise(&mut self, run: u32, key: u32, event: u32) {
        if event > 0 {
            let slot = self.events.entry((run, key)).or_default();
            *slot = event.max(*slot);
        }
    }

    fn raise_own(&mut self, key: (u32, u32, usize), own: u32) {
        if own > 0 {
            let slot = self.own.entry(key).or_default();
            *slot = own.max(*slot);
        }
    }

    fn add(&mut self, other: &Self) {
        for (key, event) in &other.events {
            self.raise(key.0, key.1, *event);
        }
        for (key, own) in &other.own {
            self.raise_own(*key, *own);
        }
    }

    fn add_release(&mut self, release: &Release) {
        let (run, lane) = (release.run, release.lane);
        self.raise(run, lane, release.event);
        self.raise(run, WARPS + lane / 32, release.warp);
        self.raise(run, BLOCK, release.block);
        let known = release.known.iter().flat_map(|known| known.iter());
        for (i, event) in known.enumerate() {
            self.raise(run, lane / 32 * 32 + i as u32, *event);
        }
        let met = release.met.iter().flat_map(|met| met.iter());
        for (warp, event) in met.enumerate() {
            self.raise(run, WARPS + warp as u32, *event);
        }
        for (lane, event) in &release.events {
            self.raise(run, *lane, *event);
        }
        self.raise_own((run, lane, release.variable), release.own);
    }
}

/// The releases of a launch.
#[derive(Default)]
pub(super) struct Releases {
    /// The first entry is no release.
    all: Vec<Release>,
    /// The tables of some nodes.
    tables: HashMap<Node, Table>,
}

impl Releases {
    /// Forgets the previous launch.
    pub fn clear(&mut self) {
        self.all.clear();
        self.all.push(Release::default());
        self.tables.clear();
    }

    pub fn get(&self, node: Node) -> &Release {
        &self.all[node as usize]
    }

    pub fn add(&mut self, release: Release) -> Node {
        self.all.push(release);
        (self.all.len() - 1) as Node
    }

    pub fn join(&mut self, a: Node, b: Node) -> Node {
        match (a, b) {
            (0, other) | (other, 0) => other,
            (a, b) if a == b || self.get(a).parents.contains(&b) => a,
            (a, b) if self.get(b).parents.contains(&a) => b,
            (a, b) => self.add(Release {
                parents: [a, b],
                ..Release::default()
            }),
        }
    }

    /// Returns whether what was released up to `node` includes the access of a block by a lane at a clock. The access was
    /// an atomic operation if it has a variable.
    #[cold]
    pub fn reach(
        &mut self,
        node: Node,
        (run, lane, clock): (u32, u32, u32),
        variable: Option<usize>,
    ) -> bool {
        /// The most tables that are kept at a time.
        const TABLES: usize = 64;
        if !self.tables.contains_key(&node) {
            if self.tables.len() >= TABLES {
                self.tables.clear();
            }
            let table = self.table(node);
            self.tables.insert(node, table);
        }
        let table = &self.tables[&node];
        let before = |event: Option<&u32>| event.is_some_and(|event| clock < *event);
        [lane, WARPS + lane / 32, BLOCK]
            .iter()
            .any(|key| before(table.events.get(&(run, *key))))
            || variable.is_some_and(|variable| before(table.own.get(&(run, lane, variable))))
    }

    fn table(&self, node: Node) -> Table {
        let mut table = Table::default();
        let (mut seen, mut left) = (HashSet::new(), vec![node]);
        while let Some(node) = left.pop() {
            if node == 0 || !seen.insert(node) {
                continue;
            }
            if let Some(known) = self.tables.get(&node) {
                table.add(known);
                continue;
            }
            let release = self.get(node);
            left.extend(release.parents);
            table.add_release(release);
        }
        table
    }
}
