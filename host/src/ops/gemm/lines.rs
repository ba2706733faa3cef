//! Products of operands with lines along k: of numbers of TF32, and of `i8`.

use cuda_std::tensor_map::EncodedTensorMap;
use warpwright_gpu::gemm::{Lines, Problem, policy};

use super::{Gemm, GemmElement, Places, Way, has_map, has_maps, map, map_of_output};
use crate::{
    error::Result,
    ops::plan::{Place, Plan},
};

impl<T: GemmElement> Gemm<'_, T> {
    /// Plans products of operands with lines along k. Operands that tensor maps cannot bring so take a workspace. `k` is not 0,
    /// and C has elements.
    pub(super) fn by_lines(
        &self,
        plan: &mut Plan<'_>,
        kernels: Lines<T>,
        ([a, b], out): Places<T>,
        problem: Problem,
        alpha: T::Scale,
    ) -> Result<()> {
        let Problem { m, n, k, count, .. } = problem;
        let bytes = size_of::<T::Factor>();
        let step = policy::LINE / bytes;
        let multiprocessors = plan.device.info().multiprocessors.max(1) as usize;
        // Coordinates of tensor maps have 32 bits.
        let fits = has_maps(plan.device)
            && [m, n, k, count]
                .iter()
                .all(|size| *size <= policy::WGMMA_MOST);
        let (rects, lines) = ([&self.a, &self.b], [m, n]);
        let along_k = [!self.transpose_a, self.transpose_b];
        let stacks = self.stacks();
        let mapped = [0, 1].map(|i| fits && has_map(rects[i], stacks[i], false));
        // One operand can have lines across k: then that with more of them, and it becomes the first one.
        let across = (0..2)
            .filter(|i| mapped[*i] && !along_k[*i] && kernels.across.is_some())
            .max_by_key(|i| lines[*i]);
        let (first, products) = match (across, kernels.across) {
            (Some(0), Some([of_a, _])) => ([0, 1], of_a),
            (Some(_), Some([_, of_b])) => ([1, 0], of_b),
            _ => ([0, 1], kernels.products),
        };
        let [rows, columns] = first.map(|i| lines[i]);
        // By the shape alone, so that the bits depend on nothing else.
        let usual = || policy::lines_part([m, n, k], bytes, count);
        let part = self.part(k, step, usual);
        let parts = k.div_ceil(part);
        let size = match self.way {
            Some(Way::Warpgroups(tiles)) => tiles as usize,
            Some(_) => policy::LARGE,
            None => policy::lines_size([rows, columns, k], bytes, count, part, multiprocessors),
        };
        let cut = policy::wgmma_cut(size);
        let tiles = cut.tiles([rows, columns]).saturating_mul(parts);
        let tiles = self.countable(plan, tiles.saturating_mul(count), cut.tile)?;
        let mut maps = [EncodedTensorMap::from_words([0; 16]); 2];
        let mut groups = [0; 2];
        for (role, i) in first.into_iter().enumerate() {
            if across == Some(i) {
                maps[role] = map(plan, rects[i], stacks[i], false, step)?;
            } else if along_k[i] && mapped[i] {
                maps[role] = map(plan, rects[i], stacks[i], false, cut.tile[role])?;
            } else {
                let own = policy::planes_groups(lines[i], k, step);
                groups[i] = own.saturating_mul(stacks[i]);
            }
        }
        let bits = |[low, high]: [usize; 2]| usize::from(low > 0) | usize::from(high > 0) << 1;
        let mut tiles_of = [Place::none(); 2];
        if groups != [0; 2] {
            let blocks = groups[0].saturating_add(groups[1]);
            let config = plan.linear(blocks, policy::SPLIT_BLOCK as usize)?;
            tiles_of = groups.map(|groups| match groups {
                0 => Place::none(),
                _ => plan.room(policy::tiles_len(groups, step)),
            });
            let args = (a, b, tiles_of[0], tiles_of[1], problem, bits(groups));
            // SAFETY: the operands have the sizes and strides of the problem, and there is room for the tiles of all groups,
            // of which each has a block.
            unsafe { plan.launch(kernels.tiles, config, args) };
        }
        // Blocks stay on their multiprocessors and take tile after tile.
        let config = plan.tiles(tiles.min(multiprocessors), cut.block)?;
        let config = config.with_shared(policy::wgmma_bytes(cut.tile[1]) as u32);
        let sums = self.sums_of_parts(plan, [m, n, parts]);
        let [map_x, map_y] = maps;
        let ([c, addend, bias], [row_scales, column_scales]) = out;
        let [tiles_of_x, tiles_of_y] = first.map(|i| tiles_of[i]);
        let map_of_c = map_of_output::<T::Result>(plan, &problem);
        let args = (
            map_x,
            map_y,
            map_of_c,
            tiles_of_x,
            tiles_of_y,
            c,
            sums,
            problem,
            part,
            bits(first.map(|i| groups[i])),
            alpha,
            self.beta,
            addend,
            bias,
            row_scales,
            column_scales,
        );
        // SAFETY: the maps are of the rectangles, which the plan keeps, and the launch before has written the tiles of the
        // others. C and the bias are as for every product.
        unsafe { plan.launch(products[size], config, args) };
        if parts > 1 {
            // SAFETY: the launch before has written all sums.
            unsafe { self.add_parts(plan, kernels.parts, (sums, out), problem, part, alpha)? };
        }
        Ok(())
    }
}
