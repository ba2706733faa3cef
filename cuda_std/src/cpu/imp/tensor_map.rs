//! Tensor maps on the CPU executor. A tile is copied in pieces, each a bulk copy: rows, or chunks of rows that are swizzled.

use super::{
    super::{
        block::BlockState,
        copies::{AsyncCopy, Moment},
        fault::FaultKind,
        lane::Lane,
        shadow,
    },
    Place, bulk, check_within,
};
use crate::tensor_map::{EncodedTensorMap, InvalidMatrix, Stack, Swizzle, TiledMatrix};

/// The first word of a map for this executor.
const MARK: u64 = 0x7770_6370_755f_6d61;

/// The bytes that a swizzle moves together, and a copy at an edge of the matrix.
const CHUNK: usize = 16;

/// What the words of a map have for no stack.
const NO_STACK: Stack = Stack {
    count: 0,
    stride: 0,
};

const SWIZZLES: [(Swizzle, usize); 4] = [
    (Swizzle::None, usize::MAX),
    (Swizzle::Bytes32, 32),
    (Swizzle::Bytes64, 64),
    (Swizzle::Bytes128, 128),
];

/// Encodes a map.
pub fn encode(matrix: &TiledMatrix) -> Result<EncodedTensorMap, InvalidMatrix> {
    let TiledMatrix {
        address,
        element_bytes,
        sizes,
        stride,
        tile,
        swizzle,
        stack,
        to_tf32,
    } = *matrix;
    let row = u64::from(tile[0]) * u64::from(element_bytes);
    let code = SWIZZLES.iter().position(|(it, _)| *it == swizzle);
    let code = code.unwrap_or_default();
    let most = SWIZZLES[code].1 as u64;
    let requirements = [
        (
            matches!(element_bytes, 1 | 2 | 4 | 8),
            "elements of 1, 2, 4 or 8 bytes",
        ),
        (
            address.is_multiple_of(16),
            "an address that is a multiple of 16",
        ),
        (
            stride.is_multiple_of(16) && stride < 1 << 40,
            "a stride that is a multiple of 16, below 2^40",
        ),
        (
            sizes.iter().all(|size| (1..=1 << 32).contains(size)),
            "sizes from 1 to 2^32",
        ),
        (
            stack.is_none_or(|it| (1..=1 << 32).contains(&it.count)),
            "1 to 2^32 matrices of a stack",
        ),
        (
            stack.is_none_or(|it| it.stride.is_multiple_of(16) && it.stride < 1 << 40),
            "matrices of a stack that are a multiple of 16 bytes apart, below 2^40",
        ),
        (
            tile.iter().all(|size| (1..=256).contains(size)),
            "tiles of 1 to 256 columns and rows",
        ),
        (
            row.is_multiple_of(16),
            "tiles with rows of a multiple of 16 bytes",
        ),
        (row <= most, "rows of a tile no longer than its swizzle"),
        (
            !to_tf32 || element_bytes == 4,
            "elements of 4 bytes that are rounded to TF32",
        ),
    ];
    if let Some((_, required)) = requirements.into_iter().find(|(holds, _)| !holds) {
        let given = *matrix;
        return Err(InvalidMatrix { required, given });
    }
    let mut words = [0; 16];
    let stack = stack.unwrap_or(NO_STACK);
    words[..11].copy_from_slice(&[
        MARK,
        address,
        u64::from(element_bytes),
        sizes[0],
        sizes[1],
        stride,
        u64::from(tile[0]) << 32 | u64::from(tile[1]),
        code as u64,
        stack.count,
        stack.stride,
        u64::from(to_tf32),
    ]);
    Ok(EncodedTensorMap::from_words(words))
}

/// Returns the matrix of a map. Ends the launch if it is none of this executor's.
fn matrix(map: *const EncodedTensorMap, at: Place) -> TiledMatrix {
    // SAFETY: the address is that of a parameter of the launch, which outlives its lanes.
    let map = unsafe { map.read_unaligned() };
    let words = map.words();
    if words[0] != MARK {
        let lane = Lane::current();
        let what = "a tensor map that was encoded for the CPU executor required".to_owned();
        lane.block()
            .fail(lane, FaultKind::Argument { what, at: at.0 });
    }
    shadow::with(|tracker| tracker.uses(words[1] as usize));
    TiledMatrix {
        address: words[1],
        element_bytes: words[2] as u32,
        sizes: [words[3], words[4]],
        stride: words[5],
        tile: [(words[6] >> 32) as u32, words[6] as u32],
        swizzle: SWIZZLES[words[7] as usize % 4].0,
        stack: (words[8] > 0).then_some(Stack {
            count: words[8],
            stride: words[9],
        }),
        to_tf32: words[10] != 0,
    }
}

/// Returns an address.
pub fn address<T>(start: *const T) -> usize {
    start.addr()
}

/// Checks a tile in shared memory: bounds, alignment, and that it is the map's.
#[track_caller]
pub fn check<T>(
    start: *const T,
    len: usize,
    i: usize,
    count: usize,
    map: *const EncodedTensorMap,
    write: bool,
) {
    let (lane, at) = (Lane::current(), Place::here());
    check_within(start, len, i, count, write);
    let matrix = matrix(map, at);
    let tile = matrix.tile[0] as usize * matrix.tile[1] as usize;
    if (count, size_of::<T>()) != (tile, matrix.element_bytes as usize) {
        let what = format!(
            "a tile of the map, {tile} elements of {} bytes, required, given {count} of {}",
            matrix.element_bytes,
            size_of::<T>()
        );
        lane.block()
            .fail(lane, FaultKind::Argument { what, at: at.0 });
    }
    let address = start.wrapping_add(i).addr();
    if !address.is_multiple_of(128) {
        let kind = FaultKind::Misaligned {
            view: None,
            index: i,
            address,
            required: 128,
            at: at.0,
        };
        lane.block().fail(lane, kind);
    }
}

/// Ends the launch if a card could not copy the tile at a corner.
fn check_corner(lane: &Lane, matrix: &TiledMatrix, corner: &[i32], is_store: bool, at: Place) {
    let chunk = CHUNK as i64 / i64::from(matrix.element_bytes);
    let coordinates = 2 + usize::from(matrix.stack.is_some());
    let what = if corner.len() != coordinates {
        format!("a place of the map's {coordinates} coordinates required, given {corner:?}")
    } else if i64::from(corner[0]) % chunk != 0 {
        format!(
            "a first column that is a multiple of {chunk} (16 bytes) required, given {corner:?}"
        )
    } else if is_store && corner.iter().any(|&at| at < 0) {
        format!("a place of a store that is not negative required, given {corner:?}")
    } else {
        return;
    };
    lane.block()
        .fail(lane, FaultKind::Argument { what, at: at.0 });
}

/// A piece of a tile: its address in shared memory and in the matrix, its bytes, and those of them that are in the matrix.
struct Piece {
    shared: usize,
    global: u64,
    bytes: usize,
    inside: usize,
}

/// Returns the pieces of the tile at a corner, which lies in shared memory at an address.
fn pieces(matrix: &TiledMatrix, corner: &[i32], start: usize) -> impl Iterator<Item = Piece> {
    let TiledMatrix {
        address,
        element_bytes,
        sizes,
        stride,
        tile,
        swizzle,
        stack,
        ..
    } = *matrix;
    let (corner, number) = ([corner[0], corner[1]], corner.get(2).copied());
    // The address of the matrix, if the stack has it.
    let first = match (stack, number.unwrap_or_default()) {
        (None, _) => Some(address),
        (Some(stack), number) => u64::try_from(number)
            .ok()
            .filter(|number| *number < stack.count)
            .map(|number| address + number * stack.stride),
    };
    let element = element_bytes as usize;
    let row_bytes = tile[0] as usize * element;
    // A piece begins within a row of the matrix or ends before it.
    let bytes = match (swizzle, corner[0] < 0) {
        (Swizzle::None, false) => row_bytes,
        _ => CHUNK,
    };
    (0..tile[1] as usize).flat_map(move |row| {
        (0..row_bytes / bytes).map(move |piece| {
            let place = start + row * row_bytes + piece * bytes;
            let x = i64::from(corner[0]) + (piece * bytes / element) as i64;
            let y = i64::from(corner[1]) + row as i64;
            let is_row = first.is_some() && (0..sizes[1] as i64).contains(&y);
            let left = match is_row && x >= 0 {
                true => (sizes[0] as i64 - x).max(0) as usize,
                false => 0,
            };
            let inside = bytes.min(left.saturating_mul(element));
            let global = match inside {
                0 => address,
                _ => {
                    first.unwrap_or(address)
                        + y as u64 * stride
                        + x as u64 * u64::from(element_bytes)
                }
            };
            Piece {
                shared: swizzle.place(place),
                global,
                bytes,
                inside,
            }
        })
    })
}

/// # Safety
/// `to + i` must be to a tile in shared memory, and the map must describe readable memory.
pub unsafe fn load<T, const N: usize>(
    to: *mut T,
    i: usize,
    map: *const EncodedTensorMap,
    corner: [i32; N],
    mbarrier: *mut u64,
    at: Place,
) {
    let lane = Lane::current();
    // SAFETY: by the contract.
    unsafe { load_in(lane.block(), (to, i), map, corner, mbarrier, at) }
}

/// # Safety
/// As for [`load`], in each block of the ranks.
pub unsafe fn load_to<T, const N: usize>(
    (to, i, ranks): (*mut T, usize, u16),
    map: *const EncodedTensorMap,
    corner: [i32; N],
    mbarrier: *mut u64,
    at: Place,
) {
    let lane = Lane::current();
    for (peer, [to, mbarrier]) in lane.block().peers(lane, ranks, [to.cast(), mbarrier], at.0) {
        // SAFETY: by the contract.
        unsafe { load_in(peer, (to.cast::<T>(), i), map, corner, mbarrier, at) };
    }
}

/// Starts to copy a tile to the shared memory of a block of the cluster.
///
/// # Safety
/// As for [`load`].
unsafe fn load_in<T, const N: usize>(
    block: &BlockState,
    (to, i): (*mut T, usize),
    map: *const EncodedTensorMap,
    corner: [i32; N],
    mbarrier: *mut u64,
    at: Place,
) {
    let lane = Lane::current();
    let matrix = matrix(map, at);
    check_corner(lane, &matrix, &corner, false, at);
    let view = core::ptr::with_exposed_provenance(matrix.address as usize);
    for piece in pieces(&matrix, &corner, to.wrapping_add(i).addr()) {
        let copy = AsyncCopy {
            to: to.cast::<u8>().with_addr(piece.shared),
            from: core::ptr::with_exposed_provenance(piece.global as usize),
            view,
            bytes: piece.bytes,
            given: piece.inside,
            to_tf32: matrix.to_tf32,
            at: at.0,
            moment: Moment::Wait,
        };
        block.load_starts(lane, copy, mbarrier.addr());
    }
}

/// # Safety
/// `from + i` must be to a tile in shared memory, and the map must describe writable memory.
pub unsafe fn store<T, const N: usize>(
    map: *const EncodedTensorMap,
    corner: [i32; N],
    from: *const T,
    i: usize,
    at: Place,
) {
    let lane = Lane::current();
    let matrix = matrix(map, at);
    check_corner(lane, &matrix, &corner, true, at);
    let view = core::ptr::with_exposed_provenance(matrix.address as usize);
    for piece in pieces(&matrix, &corner, from.wrapping_add(i).addr()) {
        if piece.inside == 0 {
            continue;
        }
        // Whole chunks, as a card does: a row of the matrix may end within one.
        let bytes = piece.inside.next_multiple_of(CHUNK);
        let copy = AsyncCopy {
            to: core::ptr::with_exposed_provenance_mut(piece.global as usize),
            from: from.cast::<u8>().with_addr(piece.shared),
            view,
            bytes,
            given: bytes,
            to_tf32: false,
            at: at.0,
            moment: Moment::Wait,
        };
        // SAFETY: by the contract.
        unsafe { bulk::start_store(lane, copy) };
    }
}
