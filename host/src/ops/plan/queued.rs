//! Launches that will be queued, and places as their arguments.

use cuda_std::{
    Global, GlobalMut,
    kernel::{KernelDescriptor, LaunchConfig},
    tensor_map::{EncodedTensorMap, TiledMatrix},
};

use super::{Constants, Place};
use crate::{
    device::Device,
    error::Result,
    launch::{Arg, Base, Gathered},
    module::Module,
};

/// Lets a place be passed for a view, as an argument of a step.
macro_rules! passed_for {
    ($($view:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<T> Arg<'_, $view<T>> for Place<T> {
            fn gather(self, to: &mut Gathered<'_>) {
                to.places.push((to.words.len(), self.base));
                to.view(self.offset, self.len);
            }
        }
    )* };
}
passed_for!(Global GlobalMut);

/// The tensor map of a matrix in the output, whose address is an offset, as an argument of a step; or of no matrix.
pub struct MapOfOutput(pub Option<TiledMatrix>);

impl Arg<'_, EncodedTensorMap> for MapOfOutput {
    fn gather(self, to: &mut Gathered<'_>) {
        let matrix = self.0.map(|matrix| (to.words.len(), matrix));
        to.maps.extend(matrix);
        to.value(EncodedTensorMap::from_words([0; 16]));
    }
}

/// A launch that will be queued.
pub struct Queued {
    pub(super) kernel: &'static KernelDescriptor,
    pub(super) config: LaunchConfig,
    pub(super) words: Vec<u64>,
    /// The words that are addresses of places. Until the plan is put to its places they are offsets from these bases.
    pub(super) places: Vec<(usize, Base)>,
    /// The words that become the tensor maps of these matrices, whose addresses are offsets in the output.
    pub(super) maps: Vec<(usize, TiledMatrix)>,
    /// The module of the kernel. `None` for the library's own.
    pub module: Option<Module>,
    /// The constant tables that the kernel reads, with their values.
    pub constants: Option<Constants>,
}

impl Queued {
    /// Puts the output at an address.
    pub(super) fn put_output(&mut self, device: &Device, output: u64) -> Result<()> {
        for (word, base) in &mut self.places {
            if *base == Base::Output {
                self.words[*word] += output;
                *base = Base::Memory;
            }
        }
        for (word, mut matrix) in self.maps.drain(..) {
            matrix.address += output;
            let map = device.tensor_map(&matrix)?;
            self.words[word..][..map.words().len()].copy_from_slice(map.words());
        }
        Ok(())
    }
}
