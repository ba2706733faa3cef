//! What depends on the device's architecture: the modules that it runs, and tensor maps.

use cuda_std::tensor_map::{EncodedTensorMap, TiledMatrix};
use warpwright_gpu::tuning;

use super::CudaBackend;
use crate::{cuda, error::Result, module};

impl CudaBackend {
    /// Returns the architecture of the newest module of a family that runs on the device, and whether it is specific. If there
    /// is no such module, no kernel of the family can be launched either.
    fn newest(&self, family: &str) -> (u32, bool) {
        let architectures = self.architectures.get_or_init(|| {
            let capability = self.info.compute_capability.unwrap_or_default();
            module::own_architectures(capability)
        });
        let known = architectures.iter().find(|(name, _)| *name == family);
        known.map_or((tuning::ARCHITECTURE, false), |(_, newest)| *newest)
    }

    /// As `Executor::architecture`.
    pub fn architecture(&self, family: &str) -> u32 {
        self.newest(family).0
    }

    /// As `Executor::is_specific`.
    pub fn is_specific(&self, family: &str) -> bool {
        self.newest(family).1
    }

    /// As `Executor::tensor_map`.
    pub fn tensor_map(
        &self,
        operation: &'static str,
        matrix: &TiledMatrix,
    ) -> Result<EncodedTensorMap> {
        cuda::encode_tensor_map(&self.context, matrix).map_err(self.error(operation))
    }
}
