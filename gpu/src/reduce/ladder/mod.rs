//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod add_on_load;
mod cascaded;
mod coarsened;
mod finish;
mod folding;
mod folding_shared;
mod fully_unrolled;
mod interleaved_divergent;
mod interleaved_strided;
mod last_warp_unrolled;
mod load;
mod sequential;
mod warp_shuffle;

pub use add_on_load::{ReduceAddOnLoad, reduce_add_on_load};
pub use cascaded::{ReduceCascaded, reduce_cascaded};
pub use coarsened::{ReduceCoarsened, reduce_coarsened};
pub use finish::{ReduceFinish, reduce_finish};
pub use folding::{ReduceFolding, ReduceFoldingFirst, reduce_folding, reduce_folding_first};
pub use folding_shared::{
    ReduceFoldingShared, ReduceFoldingSharedFirst, reduce_folding_shared,
    reduce_folding_shared_first,
};
pub use fully_unrolled::{ReduceFullyUnrolled, reduce_fully_unrolled};
pub use interleaved_divergent::{ReduceInterleavedDivergent, reduce_interleaved_divergent};
pub use interleaved_strided::{ReduceInterleavedStrided, reduce_interleaved_strided};
pub use last_warp_unrolled::{ReduceLastWarpUnrolled, reduce_last_warp_unrolled};
pub use sequential::{ReduceSequential, reduce_sequential};
pub use warp_shuffle::{ReduceWarpShuffle, reduce_warp_shuffle};
