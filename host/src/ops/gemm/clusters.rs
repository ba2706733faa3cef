//! Products of `f16` and `bf16` by clusters of blocks: the rung `cluster`.

use warpwright_gpu::gemm::{FAMILY, Problem, policy};

use super::{Gemm, GemmElement, Places, has_map, has_maps, map};
use crate::{error::Result, ops::plan::Plan};

impl<T: GemmElement> Gemm<'_, T> {
    /// Plans products of clusters. Returns false if there are no products.
    pub(super) fn by_clusters(
        &self,
        plan: &mut Plan<'_>,
        ([_, _], ([c, addend, bias], [row_scales, column_scales])): Places<T>,
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<bool> {
        let Problem { m, n, k, count, .. } = problem;
        let info = plan.device.info();
        let cut = policy::CLUSTER;
        let [height, width] = cut.tile;
        let blocks = policy::CLUSTER_BLOCKS as usize;
        let bytes = policy::wgmma_bytes(width);
        let Some(kernels) = T::CLUSTERS else {
            return Err(plan.not_eligible("it multiplies f16 and bf16 alone".to_owned()));
        };
        let has_kernels = plan.device.executor.is_specific(FAMILY.name) && has_maps(plan.device);
        if !has_kernels || bytes + policy::WGMMA_STATIC_BYTES > info.shared_bytes_per_block {
            let why = "it takes a device of compute capability 9.0, and CUDA 12 or later";
            return Err(plan.not_eligible(why.to_owned()));
        }
        if [m, n, k, count].contains(&0) {
            return Ok(false);
        }
        let stacks = self.stacks();
        let (rects, along_k) = ([&self.a, &self.b], [!self.transpose_a, self.transpose_b]);
        let fits = |size: &usize| *size <= policy::WGMMA_MOST;
        let are_mapped = (0..2).all(|i| has_map(rects[i], stacks[i], false));
        if ![m, n, k, count].iter().all(fits) || !are_mapped {
            return Err(plan.not_eligible(format!(
                "it takes sizes up to {} and rows that begin at multiples of 16 bytes, given {m} x {k} times {k} x {n}",
                policy::WGMMA_MOST
            )));
        }
        let tiles = cut.tiles([m, n]).saturating_mul(count);
        let tiles = self.countable(plan, tiles, cut.tile)?;
        // Each block brings its rows of A, and half of the columns of B.
        let part = [height / blocks, width / blocks];
        let rows = |i: usize| if along_k[i] { part[i] } else { 64 };
        let [map_a, map_b] = [0, 1].map(|i| map(plan, rects[i], stacks[i], false, rows(i)));
        // Clusters stay on their multiprocessors and take tile after tile.
        let most = (info.multiprocessors as usize / blocks).max(1);
        let config = plan.tiles(tiles.min(most) * blocks, cut.block)?;
        let config = config.with_shared(bytes as u32);
        let [a, b] = [self.transpose_a, self.transpose_b].map(usize::from);
        let args = (
            map_a?,
            map_b?,
            c,
            addend,
            bias,
            row_scales,
            column_scales,
            problem,
            alpha,
            self.beta,
        );
        // SAFETY: the maps are of the rectangles, which the plan keeps, with the tiles of the kernel. C and the bias are as for
        // every product, and the grid has whole clusters.
        unsafe { plan.launch(kernels[a][b], config, args) };
        Ok(true)
    }
}
