//! Groups of products: many by one launch.

use warpwright_gpu::{
    Family,
    gemm::{
        FAMILY, MEMBER_WORDS, Variant,
        policy::{GROUP_RESIDENT, SMALL, best_cut},
    },
};

use super::{Gemm, GemmElement, GemmRequest, OPERATION, Precision};
use crate::{
    error::Result,
    matrix::Matrix,
    ops::{
        choose,
        plan::Plan,
        request::{Destination, Operation, Prepared, Request, Shape},
    },
};

/// A group of matrix products: see [`Device::gemm_group`](crate::Device::gemm_group).
///
/// Its workspace has 256 bytes for each product that shares a launch, 4 bytes for each tile of 64 x 64 of that result, and what
/// the others need.
pub struct GemmGroup<'a, T: GemmElement, D: Destination<Matrix<T::Result>>> {
    products: Vec<Product<'a, T, D>>,
    /// The results, once the group is planned.
    results: Vec<D::Claimed>,
}

/// A product of a group, and the place of its result until it is planned.
struct Product<'a, T: GemmElement, D> {
    gemm: Gemm<'a, T>,
    variant: Option<String>,
    to: Option<D>,
}

/// A request of a group of matrix products.
pub type GemmGroupRequest<'a, T, D> = Request<GemmGroup<'a, T, D>>;
/// A group of matrix products whose variants are chosen and whose results have their memory.
pub type PreparedGemmGroup<'a, T, D> = Prepared<GemmGroup<'a, T, D>, ()>;

/// The products that share a launch: the words of their arguments, and for each block the number of its product.
#[derive(Default)]
struct Members {
    words: Vec<u64>,
    numbers: Vec<u32>,
}

impl<T: GemmElement, D: Destination<Matrix<T::Result>>> GemmGroupRequest<'_, T, D> {
    /// Computes the products. Returns the new matrices, or the places that the products were given, in their order. Queues
    /// the work and does not wait.
    ///
    /// # Errors
    /// Those of each product, as for [`Device::matmul`](crate::Device::matmul), and those of [`prepare`](Self::prepare). If
    /// there is an error, no product is computed.
    pub fn run(self) -> Result<Vec<D::Claimed>> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        Ok(prepared.op.results)
    }
}

impl<T: GemmElement, D: Destination<Matrix<T::Result>>> PreparedGemmGroup<'_, T, D> {
    /// Returns the results of the work queued last, in the order of the products. Does not wait for it.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn results(&self) -> Result<&[D::Claimed]> {
        self.output()?;
        Ok(&self.op.results)
    }
}

impl<'a, T: GemmElement, D: Destination<Matrix<T::Result>>> GemmGroup<'a, T, D> {
    pub(super) fn of(products: impl IntoIterator<Item = GemmRequest<'a, T, D>>) -> Self {
        let products = products.into_iter().map(|request| {
            let (gemm, to, variant) = request.into_parts();
            let to = Some(to);
            Product { gemm, variant, to }
        });
        Self {
            products: products.collect(),
            results: Vec::new(),
        }
    }
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the rows and columns of all results, if the operands fit together.
    fn extent(&self) -> [usize; 2] {
        let [stack_a, stack_b] = self.stacks();
        let m = match self.transpose_a {
            true => self.a.width(),
            false => self.a.height() / stack_a.max(1),
        };
        let n = match self.transpose_b {
            true => self.b.height() / stack_b.max(1),
            false => self.b.width(),
        };
        [m.saturating_mul(self.count), n]
    }

    /// Returns whether a launch for several products takes this one, and gains by it: alone it leaves multiprocessors without
    /// work.
    fn is_small(&self, plan: &Plan<'_>) -> bool {
        let info = plan.device.info();
        let tiles = best_cut(SMALL).tiles(self.extent());
        let most = (info.multiprocessors as usize).saturating_mul(GROUP_RESIDENT as usize);
        // A CPU's threads gain nothing, but give the same bits.
        let is_small = info.compute_capability.is_none() || tiles < most;
        is_small && self.precision == Precision::Exact && self.way.is_none() && self.parts.is_none()
    }
}

impl<T: GemmElement, D: Destination<Matrix<T::Result>>> Operation for GemmGroup<'_, T, D> {
    type Output = ();

    fn name(&self) -> &'static str {
        OPERATION
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let of_group = plan.choice;
        let mut members: [[Members; 2]; 2] = Default::default();
        for Product { gemm, variant, to } in &mut self.products {
            let Some(to) = to.take() else { continue };
            plan.choice = match variant {
                Some(name) => choose(&FAMILY, Some(name))?,
                None => of_group,
            };
            (plan.stride, plan.target) = (to.row_stride(), to.address());
            let is_best = Variant::ALL[plan.choice.index] == Variant::Best;
            gemm.is_grouped = T::GROUPS.is_some() && is_best && gemm.is_small(plan);
            let before = plan.work().len();
            let shape = gemm.plan(plan)?;
            let (claimed, address) = to.claim(OPERATION, plan.device, shape, plan.work())?;
            self.results.push(claimed);
            let device = plan.device;
            plan.work().put_output(device, before, address)?;
            if !gemm.is_grouped || plan.work().len() == before {
                continue;
            }
            // Otherwise the product stays a launch of its own.
            let Some((config, words)) = plan.work().take_launch() else {
                continue;
            };
            let [a, b] = [gemm.transpose_a, gemm.transpose_b].map(usize::from);
            let to = &mut members[a][b];
            let number = (to.words.len() / MEMBER_WORDS) as u32;
            to.words.push(to.numbers.len() as u64);
            to.words.extend(words);
            debug_assert!(to.words.len().is_multiple_of(MEMBER_WORDS));
            let blocks = to.numbers.len() + config.grid[0] as usize;
            to.numbers.resize(blocks, number);
        }
        plan.choice = of_group;
        for (kernels, members) in T::GROUPS.iter().flatten().zip(members) {
            for (kernel, Members { words, numbers }) in kernels.iter().zip(members) {
                if numbers.is_empty() {
                    continue;
                }
                let config = plan.tiles(numbers.len(), best_cut(SMALL).block)?;
                let numbers = plan.kept(numbers.len(), move || numbers.clone());
                let table = plan.kept(words.len(), move || words.clone());
                // SAFETY: the table has the arguments of a launch for each product, with the number of its first block, and
                // each block has the number of its product. The contract of each is kept as in `Gemm::plan`, with the same
                // kernel for a tile.
                unsafe { plan.launch(*kernel, config, (numbers, table)) };
            }
        }
        Ok(Shape::Nothing)
    }
}
