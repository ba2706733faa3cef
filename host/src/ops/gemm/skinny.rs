//! Products of a matrix and a few vectors.

use warpwright_gpu::gemm::{FAMILY, LinesAreFor, Problem, policy};

use super::{Gemm, GemmElement, Places, Precision, Way, has_map, has_maps, is_column, map};
use crate::{error::Result, ops::plan::Plan};

impl<T: GemmElement> Gemm<'_, T> {
    /// Plans products by the kernels for a few vectors, and returns whether there are such kernels for these operands and they
    /// are wanted. `k` is not 0, and C has elements.
    ///
    /// This depends on nothing but the matrices and the generation of the device, and so do the bits.
    pub(super) fn by_vectors(
        &self,
        plan: &mut Plan<'_>,
        ([_, _], ([c, addend, bias], [row_scales, column_scales])): Places<T>,
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<bool> {
        let Problem { m, n, k, count, .. } = problem;
        let info = plan.device.info();
        let is_specific = plan.device.executor.is_specific(FAMILY.name);
        let (Some(kernels), true) = (T::SKINNY, is_specific && has_maps(plan.device)) else {
            return Ok(false);
        };
        // The matrix and the vectors, whose lines must be along k, are B and A where C has few rows.
        let (rects, stacks, lines) = ([&self.a, &self.b], self.stacks(), [m, n]);
        let are_rows = rects.map(|rect| k > 1 && is_column(rect));
        let along_k = [
            self.transpose_a == are_rows[0],
            self.transpose_b != are_rows[1],
        ];
        let roles = if m <= n {
            [[1, 0], [0, 1]]
        } else {
            [[0, 1], [1, 0]]
        };
        let found = roles.into_iter().find_map(|roles: [usize; 2]| {
            let [matrix, vectors] = roles;
            let all = match along_k[matrix] {
                true => Some(kernels.along),
                false => kernels.across,
            };
            let shape = [lines[matrix], lines[vectors]];
            let width = match self.way {
                Some(Way::Skinny) => Some(usize::from(lines[vectors] > policy::SKINNY_WIDTH[0])),
                _ => {
                    let bytes = size_of::<T::Factor>();
                    policy::skinny_width(shape, count, bytes, matrix == 1, along_k[matrix])
                }
            };
            let (all, width) = (all.filter(|_| along_k[vectors])?, width?);
            Some((roles, all[width], width))
        });
        let Some((roles, kernel, width)) = found else {
            return Ok(false);
        };
        let [lines, vectors] = roles.map(|i| lines[i]);
        let usual =
            || policy::skinny_part([lines, vectors, k], width, size_of::<T::Factor>(), count);
        let part = self.part(k, policy::LINE / size_of::<T::Factor>(), usual);
        let is_wanted = match self.way {
            Some(way) => way == Way::Skinny,
            // A CPU's threads gain nothing, but give the same bits.
            None => match T::LINES {
                Some(kernels) if kernels.are_for == LinesAreFor::Precision => true,
                Some(kernels) if kernels.are_for == LinesAreFor::Devices => true,
                Some(_) => info.compute_capability.is_some(),
                None => info.compute_capability.is_some() || part < k,
            },
        };
        let is_asked =
            size_of::<T::Factor>() != size_of::<f32>() || self.precision == Precision::Tf32;
        let parts = k.div_ceil(part);
        let of_all = policy::skinny_tiles([lines, vectors], width).saturating_mul(count);
        let tiles = of_all.saturating_mul(parts);
        // Kernels count tiles in 32 bits.
        if !is_wanted
            || !is_asked
            || [m, n, k, count, tiles]
                .iter()
                .any(|size| *size > policy::WGMMA_MOST)
            || (0..2).any(|i| !has_map(rects[i], stacks[i], are_rows[i]))
        {
            return Ok(false);
        }
        let [matrix, of_vectors] = roles;
        let rows = match (along_k[matrix], size_of::<T::Factor>() == size_of::<f32>()) {
            (false, true) => 32,
            _ => policy::SKINNY_HEIGHT,
        };
        let of_a_tile = policy::SKINNY_WIDTH[width];
        let map_of = |i: usize, rows| map(plan, rects[i], stacks[i], are_rows[i], rows);
        // Zeros beyond the vectors would take time.
        let rows_of_y = vectors.min(of_a_tile);
        let (map_x, map_y) = (map_of(matrix, rows)?, map_of(of_vectors, rows_of_y)?);
        // Blocks stay on their multiprocessors and take tile after tile.
        let multiprocessors = info.multiprocessors.max(1) as usize;
        let config = plan.tiles(tiles.min(multiprocessors), [policy::SKINNY_BLOCK, 1])?;
        let config = config.with_shared(policy::skinny_bytes(of_a_tile) as u32);
        let sums = self.sums_of_parts(plan, [m, n, parts]);
        let tickets = plan.zeros::<u32>(if parts > 1 { of_all } else { 0 });
        let args = (
            map_x,
            map_y,
            c,
            sums,
            tickets,
            problem,
            part,
            matrix,
            rows_of_y,
            alpha,
            self.beta,
            addend,
            bias,
            row_scales,
            column_scales,
        );
        // SAFETY: the maps are of the rectangles, which the plan keeps. C and the bias are as for every product, and there is
        // room for the sums of all parts and for their tickets, which are 0 before and after.
        unsafe { plan.launch(kernel, config, args) };
        Ok(true)
    }
}
