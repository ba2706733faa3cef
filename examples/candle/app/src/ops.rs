//! Operations of candle that warpwright computes.

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, Layout, Shape, Tensor, WithDType, backend::BackendStorage,
};
use kernels::BLOCK;
use warpwright::{CandleMemory, Device, LaunchConfig, Module, Result, Vector, VectorView};

/// The kernel as `build.rs` built it.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// All elements of a tensor in ascending order: an operation of the library.
pub struct Sort(pub Device);

impl Sort {
    fn compute(&self, tensor: &impl CandleMemory) -> Result<Vector<f32>> {
        self.0.with_candle(tensor, |values: VectorView<f32>| {
            values.device().sort(values)
        })
    }
}

impl CustomOp1 for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let sorted = self.compute(&(storage, layout))?.to_vec()?;
        Ok((f32::to_cpu_storage_owned(sorted), layout.shape().clone()))
    }

    fn cuda_fwd(
        &self,
        storage: &CudaStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CudaStorage, Shape)> {
        let sorted = self.compute(&(storage, layout))?;
        Ok((
            sorted.into_candle_cuda(storage.device())?,
            layout.shape().clone(),
        ))
    }
}

/// The squared ReLU of each element, by a kernel of our own, with its gradient.
pub struct SquaredRelu {
    device: Device,
    module: Module,
}

impl SquaredRelu {
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            module: Module::from_ptx(PTX)?,
        })
    }

    fn compute(&self, tensor: &impl CandleMemory) -> Result<Vector<f32>> {
        self.device.with_candle(tensor, |x: VectorView<f32>| {
            // A handle on candle's stream: the kernel is in order with candle's work.
            let device = x.device();
            let mut y = device.zeros(x.len())?;
            let config = LaunchConfig::linear(x.len().div_ceil(BLOCK) as u32, BLOCK as u32);
            if !x.is_empty() {
                // SAFETY: both have as many elements.
                unsafe {
                    device.launch::<kernels::SquaredRelu>(&self.module, config, (x, &mut y))?
                };
            }
            Ok(y)
        })
    }
}

impl CustomOp1 for SquaredRelu {
    fn name(&self) -> &'static str {
        "squared_relu"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let y = self.compute(&(storage, layout))?.to_vec()?;
        Ok((f32::to_cpu_storage_owned(y), layout.shape().clone()))
    }

    fn cuda_fwd(
        &self,
        storage: &CudaStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CudaStorage, Shape)> {
        let y = self.compute(&(storage, layout))?;
        Ok((
            y.into_candle_cuda(storage.device())?,
            layout.shape().clone(),
        ))
    }

    fn bwd(&self, x: &Tensor, _y: &Tensor, grad: &Tensor) -> candle_core::Result<Option<Tensor>> {
        Ok(Some(((grad * x.relu()?)? * 2.0)?))
    }
}
