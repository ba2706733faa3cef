//! The tuning of the matrix product.

use crate::tuning::{self, Choice};

/// The side of a tile of `tiled`, and of `naive`, which uses tiles only to divide C.
pub const RUNG_TILE: usize = 32;
/// The threads of a block of `naive` along y; along x there are [`RUNG_TILE`]. Each computes one element.
pub const NAIVE_ROWS: usize = 8;

/// The columns of C that a thread of `best` computes.
pub const PER_THREAD: usize = 8;
/// The index of the large tiles of `best` in the constants below.
pub const LARGE: usize = 0;
/// The index of the small tiles.
pub const SMALL: usize = 1;
/// The rows of C that a thread of `best` computes in a large tile, and in a small one.
pub const BEST_ROWS: [usize; 2] = [8, 4];
/// The sides of the large and small tiles of C of `best`.
pub const BEST_TILE: [usize; 2] = [128, 64];
/// The threads of a block of `best`: for a large tile 4 x 2 warps of 4 x 8 lanes, for a small one 4 warps below each other.
pub const BEST_BLOCK: [usize; 2] = [256, 128];
/// The blocks of a kernel for groups that are resident on a multiprocessor at once: with 4, whose threads have 128 registers
/// each, `ptxas` 13.0 spills some of the loop's.
///
/// A product of a group has a launch of its own if it has so many small tiles for each multiprocessor, as it fills the device
/// alone.
pub const GROUP_RESIDENT: u32 = 3;
/// The minimum length along `k` of a tile of A or B of `best`.
pub const BEST_STEP: usize = 8;

/// The architecture from which on there are the kernels for tensor cores: it has products of 16 x 8 elements.
pub const TENSOR_ARCHITECTURE: u32 = 90;
/// The heights and widths of the large and small tiles of C on tensor cores.
pub const TENSOR_TILE: [[usize; 2]; 2] = [[128, 64], [64, 64]];
/// The warps of a block, down and across such a tile: each has 64 x 32 elements of a large one, and 32 x 32 of another.
pub const TENSOR_WARPS: [[usize; 2]; 2] = [[2, 2]; 2];
/// The threads of a block for such a tile.
pub const TENSOR_BLOCK: [usize; 2] = [128; 2];
/// The blocks of such tiles that are resident at once: registers limit them.
const TENSOR_RESIDENT: [usize; 2] = [2, 3];
/// The time of such a tile for each element of C, in sixteenths of a large one's, as measured on an H100.
const TENSOR_COST: [usize; 2] = [16, 17];

/// The bytes along `k` of a tile of A or B of `best` by products of fragments, whose tiles of C are those of other types.
pub const FRAGMENTS_STEP: usize = 64;
/// The tiles of A and of B that are in shared memory or on their way there, for large and small tiles of C: as many as fit two
/// blocks, and four, in 100 KiB.
pub const FRAGMENTS_STAGES: [u32; 2] = [3, 3];
/// The warps of a block, down and across a tile of C: each has 64 x 32 elements of a large one, and 32 x 32 of a small one.
pub const FRAGMENTS_WARPS: [[usize; 2]; 2] = [[2, 4], [2, 2]];
/// The rows of tiles that consecutive blocks go down before the next column, by products of fragments.
pub const FRAGMENTS_GROUP: u32 = 16;

/// The architecture from which on tensor cores multiply fragments of `f16` and `bf16`.
pub const FRAGMENTS_ARCHITECTURE: u32 = 80;

/// The index of the tiles of C between the large and the small ones that warpgroups have too.
pub const MEDIUM: usize = 2;
/// The rows of a tile of C of a block whose warpgroups multiply.
pub const WGMMA_HEIGHT: usize = 128;
/// The columns of a large, a small and a medium one.
pub const WGMMA_WIDTH: [usize; 3] = [256, 64, 128];
/// The threads of such a block.
pub const WGMMA_BLOCK: u32 = 384;
/// The rows of tiles that consecutive tiles go down before the next column.
pub const WGMMA_GROUP: u32 = 16;
/// The static shared memory of such a block in bytes: its mbarriers.
pub const WGMMA_STATIC_BYTES: usize = 128;
/// The length along k of a step of such a block.
pub const WGMMA_STEP: usize = 64;
/// The time of such a step for each column of a tile, in sixteenths of a large one's, as measured on an H100. A unit of time,
/// here and below, is such a sixteenth for one column: about 0.17 ns.
const WGMMA_COST: [usize; 3] = [16, 32, 19];
/// The time that a tile takes beside its steps: until its first operands have come, and to write C.
const WGMMA_TILE_COST: usize = 8192;
/// The bytes of A that come from global memory in a unit of time, and those of B for tiles of a size: narrow ones have short
/// lines of B.
const A_BYTES: usize = 470;
const B_BYTES: [usize; 3] = [470, 333, 427];
/// The time of the launch that adds parts, what it takes for each, and the bytes of sums that are written or read in a unit of
/// time.
const PARTS_COST: usize = 18_000;
const PART_COST: usize = 400;
const PARTS_BYTES: usize = 325;
/// The multiprocessors for which k is divided into parts, whatever the device has: the sums of a product depend on its parts.
const PARTS_FOR: usize = 132;
/// The greatest sizes of matrices whose tiles warpgroups multiply: coordinates of tensor maps have 32 bits.
pub const WGMMA_MOST: usize = i32::MAX as usize - 256;

/// Returns the bytes of a slot of the ring of a block whose tiles of C have so many columns: tiles of A and B, one step long.
const fn wgmma_slot(width: usize) -> usize {
    (WGMMA_HEIGHT + width) * WGMMA_STEP * 2
}

/// Returns the slots of such a ring: as many as fit 192 KiB.
pub const fn wgmma_slots(width: usize) -> usize {
    (192 << 10) / wgmma_slot(width)
}

/// Returns the dynamic shared memory of such a block in bytes: the ring, two panels of C for each of two warpgroups, and what
/// aligns them to 1024 bytes.
pub const fn wgmma_bytes(width: usize) -> usize {
    ring_bytes(wgmma_slots(width), width)
}

/// Returns those of a block with so many slots.
const fn ring_bytes(slots: usize, width: usize) -> usize {
    slots * wgmma_slot(width) + 4 * 64 * 64 * 2 + 1024
}

/// Returns the time of `count` products by a model: the blocks take equal numbers of tiles, or one more. `part` is the length
/// along k of a part.
fn wgmma_time(
    [m, n, k]: [usize; 3],
    count: usize,
    size: usize,
    part: usize,
    multiprocessors: usize,
) -> usize {
    let parts = k.div_ceil(part);
    let tiles = wgmma_cut(size).tiles([m, n]).saturating_mul(parts);
    let tiles = tiles.saturating_mul(count);
    let rounds = tiles.div_ceil(multiprocessors.max(1));
    let steps = part.min(k).div_ceil(WGMMA_STEP);
    let step = WGMMA_WIDTH[size] * WGMMA_COST[size];
    let tile = steps.saturating_mul(step).saturating_add(WGMMA_TILE_COST);
    let bytes = |lines: usize| lines.saturating_mul(k).saturating_mul(2);
    let operands = (bytes(m) / A_BYTES).saturating_add(bytes(n) / B_BYTES[size]);
    let time = rounds.saturating_mul(tile);
    let time = time.max(operands.saturating_mul(count));
    if parts == 1 {
        return time;
    }
    let sums = m.saturating_mul(n).saturating_mul(parts);
    let sums = sums.saturating_mul(count);
    let adding = sums.saturating_mul(2 * size_of::<f32>()) / PARTS_BYTES;
    time.saturating_add(adding)
        .saturating_add(PART_COST.saturating_mul(parts) + PARTS_COST)
}

/// Returns the size of the tiles of C with which the warpgroups of `count` products `[m, n, k]` take the least time. `part` is
/// the length along k of a part.
pub fn wgmma_size(shape: [usize; 3], count: usize, part: usize, multiprocessors: usize) -> usize {
    let sizes = [LARGE, MEDIUM, SMALL];
    sizes
        .into_iter()
        .min_by_key(|size| wgmma_time(shape, count, *size, part, multiprocessors))
        .unwrap_or(LARGE)
}

/// Returns the length along k of a part of `count` products `[m, n, k]`, of which warpgroups add parts apart: `k`, or less
/// where all C together have so few tiles that they would leave most multiprocessors idle.
///
/// It depends on nothing but the shape and the number, and so do the bits of the products.
pub fn wgmma_part(shape: [usize; 3], count: usize) -> usize {
    let steps = shape[2].div_ceil(WGMMA_STEP);
    let mut least = (usize::MAX, usize::MAX);
    for size in [LARGE, MEDIUM, SMALL] {
        let tiles = wgmma_cut(size).tiles([shape[0], shape[1]]);
        let tiles = tiles.saturating_mul(count);
        // So many that one round of blocks takes all, half as many, and so on.
        let mut parts = (PARTS_FOR / tiles.max(1)).max(1);
        while parts > 0 {
            let part = steps.div_ceil(parts).max(1) * WGMMA_STEP;
            let time = wgmma_time(shape, count, size, part, PARTS_FOR);
            // Of equal times that of fewer parts.
            if time <= least.0 {
                least = (time, part);
            }
            parts /= 2;
        }
    }
    least.1.min(shape[2].max(1))
}

/// The rows of a tile of a block that multiplies a matrix by a few vectors, which are the rows or the columns of the other
/// operand.
pub const SKINNY_HEIGHT: usize = 64;
/// The most vectors of such a tile: of a narrow one, and of a wide one.
pub const SKINNY_WIDTH: [usize; 2] = [16, 64];
/// The threads of such a block: a warpgroup that multiplies, and a warp that copies.
pub const SKINNY_BLOCK: u32 = 160;
/// The most slots of its ring.
pub const SKINNY_MOST_SLOTS: usize = skinny_slots(SKINNY_WIDTH[0]);
/// The distance between the sums of two vectors in shared memory, so that neither direction has many bank conflicts.
pub const SKINNY_PITCH: usize = SKINNY_HEIGHT + 1;

/// Returns the bytes of a slot of the ring of such a block: a step of the matrix and of so many vectors.
const fn skinny_slot(width: usize) -> usize {
    (SKINNY_HEIGHT + width) * LINE
}

/// Returns the slots of such a ring: as many as fit 192 KiB.
pub const fn skinny_slots(width: usize) -> usize {
    (192 << 10) / skinny_slot(width)
}

/// Returns the dynamic shared memory of such a block in bytes: the ring, the sums, and what aligns them to 1024 bytes.
pub const fn skinny_bytes(width: usize) -> usize {
    skinny_slots(width) * skinny_slot(width) + SKINNY_PITCH * width * 4 + 1024
}

/// The time of a step of such a block, narrow or wide.
const SKINNY_STEP_COST: [usize; 2] = [1000, 1500];
/// The time that its last block takes to add parts, beside that for each.
const SKINNY_PARTS_COST: usize = 8000;

/// Returns the index of the width of the tiles with which `best` multiplies a matrix of so many `lines` by so many `vectors`
/// `count` times, which are elements of some `bytes`. Returns `None` for products that larger tiles compute faster. `is_turned`
/// says whether the matrix is B, and `along_k` whether memory has its lines along k.
pub fn skinny_width(
    [lines, vectors]: [usize; 2],
    count: usize,
    bytes: usize,
    is_turned: bool,
    along_k: bool,
) -> Option<usize> {
    // Larger tiles read less. They take longer only where the multiprocessors have one of these each, and where larger ones
    // would be half empty, or their rows would be read by threads.
    let most = if bytes < 4 { 32 } else { 64 };
    let are_few = skinny_tiles([lines, vectors], 1).saturating_mul(count) <= PARTS_FOR;
    let are_faster = are_few || bytes == 4 && !along_k;
    match (vectors, lines) {
        (0..=16, _) => Some(0),
        (17..=64, _) if is_turned && are_faster => Some(1),
        // The vectors take the place of the matrix.
        (_, lines) if lines <= most && !along_k && are_faster => Some(1),
        _ => None,
    }
}

/// Returns the tiles of such products, of a matrix of so many `lines` by so many `vectors`.
pub fn skinny_tiles([lines, vectors]: [usize; 2], width: usize) -> usize {
    let across = vectors.div_ceil(SKINNY_WIDTH[width]);
    lines.div_ceil(SKINNY_HEIGHT).saturating_mul(across)
}

/// Returns the length along k of a part of `count` products of matrices of so many `lines` by so many `vectors`, of elements of
/// some `bytes`: `k`, or less where so few blocks would not read a matrix at the rate of memory.
///
/// It depends on nothing but the shape and the number, and so do the bits of the products.
pub fn skinny_part(
    [lines, vectors, k]: [usize; 3],
    width: usize,
    bytes: usize,
    count: usize,
) -> usize {
    let step = LINE / bytes;
    let steps = k.div_ceil(step);
    let tiles = skinny_tiles([lines, vectors], width).saturating_mul(count);
    let time = |parts: usize| {
        let rounds = tiles.saturating_mul(parts).div_ceil(PARTS_FOR);
        let tile = steps
            .div_ceil(parts)
            .saturating_mul(SKINNY_STEP_COST[width]);
        let time = rounds.saturating_mul(tile.saturating_add(WGMMA_TILE_COST));
        if parts == 1 {
            return time;
        }
        let sums = lines.saturating_mul(vectors).saturating_mul(count * parts);
        let adding = sums.saturating_mul(2 * size_of::<f32>()) / PARTS_BYTES;
        time.saturating_add(adding)
            .saturating_add(PART_COST.saturating_mul(parts) + SKINNY_PARTS_COST)
    };
    let most = (PARTS_FOR / tiles.max(1)).clamp(1, steps.max(1));
    let parts = (1..=most).min_by_key(|parts| time(*parts)).unwrap_or(1);
    (steps.div_ceil(parts) * step).min(k.max(1))
}

/// Returns the distance between rows of sums of a part for a matrix of `n` columns, in elements: whole chunks of 16 bytes.
pub const fn parts_pitch(n: usize) -> usize {
    n.next_multiple_of(PARTS_CHUNK)
}

/// The threads of a block that adds parts.
pub const PARTS_BLOCK: u32 = 256;
/// The elements that a thread of such a block adds.
pub const PARTS_CHUNK: usize = 4;

/// The bytes of a line along k of a step of products of operands with such lines.
pub const LINE: usize = WGMMA_STEP * 2;

/// The planes of `bf16` that an element of `f32` is divided into.
pub const PLANES: usize = 3;
/// The rows of op(A), or columns of op(B), whose planes lie together.
pub const PLANES_GROUP: usize = 128;
/// The threads of a block that writes planes.
pub const SPLIT_BLOCK: u32 = 256;
/// The columns of a large and a small tile of C whose products are of planes.
const PLANES_WIDTH: [usize; 2] = [128, 64];
/// The time of a step for each column of such a tile.
const PLANES_COST: [usize; 2] = [4, 5];

/// Returns the groups of `lines` rows of op(A), or columns of op(B), with the steps along k of each, so many elements long.
pub const fn planes_groups(lines: usize, k: usize, step: usize) -> usize {
    let steps = k.div_ceil(step);
    lines.div_ceil(PLANES_GROUP).saturating_mul(steps)
}

/// Returns the elements of the planes of so many groups.
pub const fn planes_len(groups: usize) -> usize {
    groups.saturating_mul(PLANES * PLANES_GROUP * WGMMA_STEP)
}

/// Returns the elements of the tiles of so many groups, whose lines have `step` elements.
pub const fn tiles_len(groups: usize, step: usize) -> usize {
    groups.saturating_mul(PLANES_GROUP * step)
}

/// Returns the size of the tiles of C with which `count` products `[m, n, k]` of lines along k take the least time, with parts
/// of k of this length. An element of some `bytes` takes their part of the time of one of 16 bits.
pub fn lines_size(
    [m, n, k]: [usize; 3],
    bytes: usize,
    count: usize,
    part: usize,
    multiprocessors: usize,
) -> usize {
    let [k, part] = [k, part].map(|len| len.saturating_mul(bytes).div_ceil(2));
    wgmma_size([m, n, k], count, part, multiprocessors)
}

/// Returns the length along k of a part of `count` products `[m, n, k]` of lines along k: see [`wgmma_part`].
pub fn lines_part([m, n, k]: [usize; 3], bytes: usize, count: usize) -> usize {
    let len = k.saturating_mul(bytes).div_ceil(2);
    let part = wgmma_part([m, n, len], count);
    if part < len { part * 2 / bytes } else { k }
}

/// Returns the size of the tiles, [`LARGE`] or [`SMALL`], with which the products of planes take the least time, for `count`
/// matrices C, each `m` x `n`.
pub fn planes_size([m, n]: [usize; 2], count: usize, multiprocessors: usize) -> usize {
    let time = |size: usize| {
        let tiles = planes_cut(size).tiles([m, n]).saturating_mul(count);
        let rounds = tiles.div_ceil(multiprocessors.max(1));
        rounds.saturating_mul(PLANES_WIDTH[size] * PLANES_COST[size])
    };
    if time(SMALL) < time(LARGE) {
        SMALL
    } else {
        LARGE
    }
}

/// Returns how `best` divides C if its products are of planes, into [`LARGE`] or [`SMALL`] tiles.
pub const fn planes_cut(size: usize) -> Cut {
    Cut {
        tile: [WGMMA_HEIGHT, PLANES_WIDTH[size]],
        block: [WGMMA_BLOCK, 1],
    }
}

/// Returns how `best` divides C among warpgroups.
pub const fn wgmma_cut(size: usize) -> Cut {
    Cut {
        tile: [WGMMA_HEIGHT, WGMMA_WIDTH[size]],
        block: [WGMMA_BLOCK, 1],
    }
}

/// The maximum `k` of `best`, which counts its tiles in 32 bits.
pub const BEST_MOST_K: usize = BEST_STEP * u32::MAX as usize;

/// The rows of tiles that consecutive blocks of `naive`, `tiled` and `registers` go down before the next column.
pub const RUNG_GROUP: u32 = 16;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The length of a tile of A or B along `k`: [`BEST_STEP`] or twice that.
    pub step: usize,
    /// The rows of tiles that consecutive blocks go down before the next column.
    pub group: u32,
    /// The number of blocks of large tiles that must be resident at once.
    pub resident: u32,
    /// The length of a small tile along k.
    pub small_step: usize,
    /// The number of blocks of small tiles that must be resident at once.
    pub small_resident: u32,
    /// On tensor cores, the length of a tile of A or B along `k`.
    pub tensor_step: usize,
    /// On tensor cores, the tiles of A and of B that are in shared memory or on their way there.
    pub tensor_stages: u32,
    /// The length along `k` of a product of fragments.
    pub tensor_depth: usize,
}

impl Policy {
    /// Returns the dynamic shared memory of a block that computes a tile of this size on tensor cores, in bytes.
    pub const fn tensor_bytes(self, size: usize) -> usize {
        let [height, width] = TENSOR_TILE[size];
        let room = tensor_room(height, self.tensor_step) + tensor_room(width, self.tensor_step);
        self.tensor_stages as usize * room * size_of::<f64>()
    }
}

/// Returns the distance between the lines of a tile in shared memory on tensor cores, in elements.
pub(super) const fn tensor_pitch(line: usize) -> usize {
    line + 4
}

/// Returns the elements that a tile of A of so many rows (of B, columns) takes, whether its lines are along k or across.
pub(super) const fn tensor_room(tile: usize, step: usize) -> usize {
    let (along, across) = (tile * tensor_pitch(step), step * tensor_pitch(tile));
    if along > across { along } else { across }
}

const fn policy(step: usize, group: u32, resident: u32) -> Policy {
    Policy {
        step,
        group,
        resident,
        small_step: step,
        small_resident: 2 * resident,
        tensor_step: 16,
        tensor_stages: 3,
        tensor_depth: 4,
    }
}

/// Returns a row of `f64` with these numbers for tensor cores.
const fn tensor(step: usize, stages: u32, depth: usize) -> Policy {
    Policy {
        tensor_step: step,
        tensor_stages: stages,
        tensor_depth: depth,
        ..policy(8, 16, 1)
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(8, 16, 2),
        // In f64 the sums alone take 128 registers, so that only one block fits a multiprocessor.
        policy(8, 16, 1),
        policy(16, 16, 2),
        policy(16, 16, 1),
        policy(8, 8, 2),
        policy(8, 8, 1),
        policy(8, 32, 2),
        policy(8, 32, 1),
        Policy {
            small_step: 16,
            ..policy(8, 16, 2)
        },
        tensor(16, 3, 8),
        tensor(16, 4, 4),
        tensor(32, 2, 4),
        tensor(32, 2, 8),
        tensor(32, 3, 4),
    ];
    const CHOICES: &'static [Choice] = &[Choice::up_to(4, 2), Choice::up_to(8, 1)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::GEMM_BEST_ROWS,
        super::best::GEMM_BEST_SMALL_ROWS,
        super::best::GEMM_BEST_DOUBLE_ROWS,
        super::best::GEMM_BEST_SMALL_DOUBLE_ROWS,
        super::tensor::GEMM_BEST_TENSOR_ROWS,
        super::tensor::GEMM_BEST_TENSOR_SMALL_ROWS,
    ];
}

/// How a variant divides C among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The rows and columns of C that a block computes.
    pub tile: [usize; 2],
    /// The threads of a block along x and y.
    pub block: [u32; 2],
}

impl Cut {
    /// Returns the number of tiles of an `m` x `n` matrix C.
    pub const fn tiles(&self, [m, n]: [usize; 2]) -> usize {
        let [height, width] = self.tile;
        m.div_ceil(height).saturating_mul(n.div_ceil(width))
    }
}

/// The division of `naive`.
pub const NAIVE: Cut = Cut {
    tile: [NAIVE_ROWS, RUNG_TILE],
    block: [RUNG_TILE as u32, NAIVE_ROWS as u32],
};
/// The division of `tiled`.
pub const TILED: Cut = Cut {
    tile: [RUNG_TILE, RUNG_TILE],
    block: [RUNG_TILE as u32, RUNG_TILE as u32],
};

/// How a rung whose operands tensor maps bring is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// The division of C, among clusters of blocks.
    pub cut: Cut,
    /// The blocks of a cluster, whose tiles of C lie below each other, and which share the columns of B.
    pub blocks: u32,
    /// The slots of a block's ring.
    pub slots: usize,
    /// Whether clusters stay on their multiprocessors and take one tile after another; otherwise there is one for each tile.
    pub stays: bool,
}

impl Mapped {
    /// Returns the dynamic shared memory of a block in bytes: the ring, and two panels of C for each of two warpgroups.
    pub const fn bytes(&self) -> usize {
        ring_bytes(self.slots, self.cut.tile[1])
    }
}

/// The numbers of `warpgroups`: so few slots that two blocks are resident.
pub const WARPGROUPS: Mapped = Mapped {
    cut: Cut {
        tile: [WGMMA_HEIGHT, WGMMA_WIDTH[MEDIUM]],
        block: [256, 1],
    },
    blocks: 1,
    slots: 2,
    stays: false,
};

/// The numbers of `specialised`.
pub const SPECIALISED: Mapped = Mapped {
    cut: wgmma_cut(LARGE),
    blocks: 1,
    slots: wgmma_slots(WGMMA_WIDTH[LARGE]),
    stays: false,
};

/// The blocks of a cluster of `cluster`.
pub const CLUSTER_BLOCKS: u32 = 2;
/// The numbers of `cluster`.
pub const CLUSTER: Mapped = Mapped {
    cut: Cut {
        tile: [CLUSTER_BLOCKS as usize * WGMMA_HEIGHT, WGMMA_WIDTH[LARGE]],
        block: [WGMMA_BLOCK, 1],
    },
    blocks: CLUSTER_BLOCKS,
    stays: true,
    ..SPECIALISED
};

/// Returns how `best` divides C, into [`LARGE`] or [`SMALL`] tiles.
pub const fn best_cut(size: usize) -> Cut {
    Cut {
        tile: [BEST_TILE[size]; 2],
        block: [BEST_BLOCK[size] as u32, 1],
    }
}

/// Returns how `best` divides C on tensor cores, into [`LARGE`] or [`SMALL`] tiles.
pub const fn tensor_cut(size: usize) -> Cut {
    Cut {
        tile: TENSOR_TILE[size],
        block: [TENSOR_BLOCK[size] as u32, 1],
    }
}

/// Returns the size of the tiles of `count` matrices C, each `m` x `n`, on tensor cores: that which takes the least time by a
/// model.
///
/// Resident blocks take turns, so a round of them takes the same time for each block's elements. The last round may have fewer
/// blocks on a multiprocessor: it takes longer for each, as there is less to hide latencies with.
pub fn tensor_size([m, n]: [usize; 2], count: usize, multiprocessors: usize) -> usize {
    let multiprocessors = multiprocessors.max(1);
    let time = |size: usize| {
        let [height, width] = TENSOR_TILE[size];
        let resident = TENSOR_RESIDENT[size];
        let tiles = tensor_cut(size).tiles([m, n]).saturating_mul(count);
        let in_a_round = multiprocessors.saturating_mul(resident);
        let last = (tiles % in_a_round).div_ceil(multiprocessors);
        // In halves of a block's time.
        let last = if last > 0 { resident + last } else { 0 };
        let blocks = (tiles / in_a_round).saturating_mul(2 * resident) + last;
        blocks.saturating_mul(height * width * TENSOR_COST[size])
    };
    if time(SMALL) < time(LARGE) {
        SMALL
    } else {
        LARGE
    }
}

/// Returns whether `best` uses small tiles: if there are fewer large ones than multiprocessors.
pub fn is_small(large_tiles: usize, multiprocessors: usize) -> bool {
    large_tiles < multiprocessors
}
