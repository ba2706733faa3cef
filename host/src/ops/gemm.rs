//! Matrix products.

mod device;
mod element;
mod epilogue;
mod group;
mod lines;
mod maps;
mod options;
mod parts;
mod precision;
mod rungs;
mod skinny;

pub use element::GemmElement;
pub use group::{GemmGroup, GemmGroupRequest, PreparedGemmGroup};
use maps::{has_map, has_maps, is_column, map, map_of_output};
use precision::Inexact;
pub use precision::Precision;

use std::any::type_name;

use cuda_std::tensor_map::EncodedTensorMap;
use warpwright_gpu::{
    Family,
    gemm::{
        Element as _, Epilogue, FAMILY, LinesAreFor, Problem, Products, Strides, Wgmma,
        policy::{self, BEST_MOST_K, Cut, Policy, TENSOR_ARCHITECTURE},
    },
};

#[doc(hidden)]
pub use warpwright_gpu::gemm::{Matrices, Rung};
pub use warpwright_gpu::gemm::{ResultIn, Variant};

use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
};
#[cfg(doc)]
use crate::device::Device;
use crate::{
    buffer::VectorView,
    error::{Error, InvalidKind, Result},
    matrix::Matrix,
    rect::MatrixRect,
};

const OPERATION: &str = "gemm";

/// The kernels of `best`. The library chooses them; tests name others, whose results are the same.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Sums in registers by fused multiply-adds, for tiles of a size.
    Registers(Tiles),
    /// Products on tensor cores, for tiles of a size.
    Tensor(Tiles),
    /// Products of warpgroups, for tiles of a size.
    Warpgroups(Tiles),
    /// Products of a matrix and a few vectors.
    Skinny,
}

/// The size of tiles of C.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tiles {
    /// The large ones.
    Large = policy::LARGE as isize,
    /// The small ones.
    Small = policy::SMALL as isize,
    /// Those between, which warpgroups have.
    Medium = policy::MEDIUM as isize,
}

impl Way {
    /// The kernels of `f64`.
    pub const OF_F64: [Self; 4] = [
        Self::Registers(Tiles::Large),
        Self::Registers(Tiles::Small),
        Self::Tensor(Tiles::Large),
        Self::Tensor(Tiles::Small),
    ];
    /// The kernels of `f16` and `bf16`, whose first two are on tensor cores too.
    pub const OF_HALVES: [Self; 6] = [
        Self::Registers(Tiles::Large),
        Self::Registers(Tiles::Small),
        Self::Warpgroups(Tiles::Large),
        Self::Warpgroups(Tiles::Medium),
        Self::Warpgroups(Tiles::Small),
        Self::Skinny,
    ];
}

/// The places of A and B, and of what C is written to and made of.
type Places<T> = ([Place<<T as Matrices>::Factor>; 2], OutPlaces<T>);
/// The places of C, of the matrix that `beta` multiplies, and of the bias; and of the scales of rows and columns.
type OutPlaces<T> = (
    [Place<<T as Matrices>::Result>; 3],
    [Place<<T as Matrices>::Scale>; 2],
);

/// How warpgroups compute a product: the kernels, of which those for tiles of a size, the maps of A and B, the dynamic shared
/// memory of a block, and the length along k of a part.
struct ByWarpgroups<T: GemmElement> {
    kernels: Wgmma<T>,
    size: usize,
    maps: [EncodedTensorMap; 2],
    bytes: usize,
    part: usize,
}

/// A matrix product `alpha * op(A) * op(B) + beta * C`, or several. It needs no workspace, except for the sums of parts (see
/// [`matmul`](Device::matmul)), for the planes of [`Precision::Bf16x6`], and for operands of 8 bits and of
/// [`Precision::Tf32`] that are copied.
#[derive(Debug, Clone)]
pub struct Gemm<'a, T: GemmElement> {
    a: MatrixRect<'a, T::Factor>,
    b: MatrixRect<'a, T::Factor>,
    transpose_a: bool,
    transpose_b: bool,
    alpha: T::Scale,
    beta: T::Scale,
    /// What `beta` multiplies, if not C.
    addend: Option<MatrixRect<'a, T::Result>>,
    /// The number of products, and whether all have the same A, and the same B.
    count: usize,
    shared: [bool; 2],
    bias: Option<VectorView<'a, T::Result>>,
    /// The scales of rows, and of columns.
    scales: [Option<VectorView<'a, T::Scale>>; 2],
    activation: Epilogue,
    precision: Precision,
    way: Option<Way>,
    parts: Option<usize>,
    /// Whether the product shares a launch with others, which has the kernel for small tiles.
    is_grouped: bool,
}

/// A request of a matrix product. The result is a new matrix, or is written to an `m` x `n` [`Matrix`], `&mut Matrix` or
/// [`MatrixRectMut`](crate::MatrixRectMut), whose rows may be apart.
pub type GemmRequest<'a, T, D = New> = Request<Gemm<'a, T>, D>;
/// A matrix product whose variant is chosen and whose result has its memory.
///
/// If `beta` is not 0, the result overwrites C. Queueing the product again then starts from that result.
pub type PreparedGemm<'a, T, R = Matrix<<T as Matrices>::Result>> = Prepared<Gemm<'a, T>, R>;

impl<T: GemmElement, D: Destination<Matrix<T::Result>>> GemmRequest<'_, T, D> {
    /// Computes the product. Returns the new matrix, or the place that the request was given. Queues the work and does not
    /// wait.
    ///
    /// # Errors
    /// As for [`Device::matmul`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns how many matrices A has, and B.
    fn stacks(&self) -> [usize; 2] {
        self.shared
            .map(|is_shared| if is_shared { 1 } else { self.count })
    }

    /// Returns the number of rows of a matrix of an operand, which is a stack of some.
    fn rows_of_one(
        &self,
        name: &str,
        rect: &MatrixRect<'_, T::Factor>,
        stack: usize,
    ) -> Result<usize> {
        match rect.height().checked_rem(stack) {
            Some(0) => Ok(rect.height() / stack),
            _ => Err(Error::invalid(
                InvalidKind::Shape,
                OPERATION,
                "a number of products, not 0, that divides the rows of A and B",
                format!("{} products and {name} of {} rows", stack, rect.height()),
            )),
        }
    }

    /// Returns the kernels of `best` that take the least time for matrices C, each `m` x `n`, with their cut and the dynamic
    /// shared memory of a block.
    fn best(&self, plan: &Plan<'_>, [m, n]: [usize; 2]) -> (Products<T>, Cut, usize) {
        let info = plan.device.info();
        let multiprocessors = info.multiprocessors as usize;
        // The CPU executor has every instruction.
        let is_new = info.compute_capability.is_none()
            || plan.device.executor.architecture(FAMILY.name) >= TENSOR_ARCHITECTURE;
        if let Some(kernels) = T::TENSOR
            && is_new
            && !matches!(self.way, Some(Way::Registers(_)))
        {
            let size = match self.way {
                Some(Way::Tensor(tiles)) => tiles as usize,
                _ => policy::tensor_size([m, n], self.count, multiprocessors),
            };
            let numbers: Policy = plan.policy(kernels[size][0][0], size_of::<T::Factor>());
            let bytes = numbers.tensor_bytes(size);
            if bytes <= info.shared_bytes_per_block {
                return (kernels[size], policy::tensor_cut(size), bytes);
            }
        }
        let large = policy::best_cut(policy::LARGE);
        let is_small = T::ONLY_SMALL
            || self.is_grouped
            || self.takes_small_tiles()
            || match self.way {
                Some(Way::Registers(tiles)) => tiles == Tiles::Small,
                _ => {
                    let tiles = large.tiles([m, n]).saturating_mul(self.count);
                    policy::is_small(tiles, multiprocessors)
                }
            };
        if is_small {
            return (T::SMALL, policy::best_cut(policy::SMALL), 0);
        }
        (T::LARGE, large, 0)
    }

    /// Returns whether warpgroups multiply lines along k, if no precision asks for them.
    fn is_by_lines(&self, plan: &Plan<'_>, are_for: LinesAreFor) -> bool {
        let is_wanted = match self.way {
            Some(way) => matches!(way, Way::Warpgroups(_)),
            // A CPU's threads gain nothing but the same bits.
            None => {
                plan.device.info().compute_capability.is_some() || are_for == LinesAreFor::Devices
            }
        };
        let is_wanted = is_wanted && are_for != LinesAreFor::Precision;
        is_wanted && plan.device.executor.is_specific(FAMILY.name)
    }

    /// Returns how warpgroups compute the product in the least time. Returns `None` where there are no such kernels, or tensor
    /// maps cannot describe A or B.
    fn by_warpgroups(
        &self,
        plan: &Plan<'_>,
        [m, n, k]: [usize; 3],
    ) -> Result<Option<ByWarpgroups<T>>> {
        let info = plan.device.info();
        let is_new = plan.device.executor.is_specific(FAMILY.name) && has_maps(plan.device);
        let (Some(kernels), true) = (T::WGMMA, is_new && k > 0) else {
            return Ok(None);
        };
        let usual = || policy::wgmma_part([m, n, k], self.count);
        let part = self.part(k, policy::WGMMA_STEP, usual);
        let is_wanted = match self.way {
            Some(way) => matches!(way, Way::Warpgroups(_)),
            // A CPU's threads gain nothing, but give the same bits.
            None => info.compute_capability.is_some() || part < k,
        };
        if !is_wanted {
            return Ok(None);
        }
        let size = match self.way {
            Some(Way::Warpgroups(tiles)) => tiles as usize,
            _ => {
                let multiprocessors = info.multiprocessors as usize;
                policy::wgmma_size([m, n, k], self.count, part, multiprocessors)
            }
        };
        let [height, width] = policy::wgmma_cut(size).tile;
        let bytes = policy::wgmma_bytes(width);
        let [stack_a, stack_b] = self.stacks();
        let tiles = policy::wgmma_cut(size).tiles([m, n]);
        let tiles = tiles.saturating_mul(k.div_ceil(part));
        // Kernels count tiles in 32 bits, and chunks of the sums of parts.
        let chunks = m.saturating_mul(n.div_ceil(policy::PARTS_CHUNK));
        let most = if part < k { tiles.max(chunks) } else { tiles };
        let are_few = most.saturating_mul(self.count) <= policy::WGMMA_MOST;
        if [m, n, k, self.count]
            .iter()
            .any(|size| !(1..=policy::WGMMA_MOST).contains(size))
            || !are_few
            || !has_map(&self.a, stack_a, false)
            || !has_map(&self.b, stack_b, false)
            || bytes + policy::WGMMA_STATIC_BYTES > info.shared_bytes_per_block
        {
            return Ok(None);
        }
        let rows = |along_k: bool, rows: usize| if along_k { rows } else { 64 };
        let maps = [
            map(
                plan,
                &self.a,
                stack_a,
                false,
                rows(!self.transpose_a, height),
            )?,
            map(plan, &self.b, stack_b, false, rows(self.transpose_b, width))?,
        ];
        Ok(Some(ByWarpgroups {
            kernels,
            size,
            maps,
            bytes,
            part,
        }))
    }
}

impl<T: GemmElement> Operation for Gemm<'_, T> {
    type Output = Matrix<T::Result>;

    fn name(&self) -> &'static str {
        OPERATION
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let a = plan.input(self.a.elements())?;
        let b = plan.input(self.b.elements())?;
        let count = self.count;
        let [stack_a, stack_b] = self.stacks();
        let rows_of_a = self.rows_of_one("A", &self.a, stack_a.min(count))?;
        let rows_of_b = self.rows_of_one("B", &self.b, stack_b.min(count))?;
        let operand = |rect: &MatrixRect<'_, T::Factor>, height: usize, transposed: bool| {
            let (shape, strides) = ([height, rect.width()], [rect.stride(), 1]);
            let [row, column] = strides;
            if transposed {
                let strides = Strides {
                    row: column,
                    column: row,
                };
                ([shape[1], shape[0]], strides)
            } else {
                (shape, Strides { row, column })
            }
        };
        let ([m, k], a_strides) = operand(&self.a, rows_of_a, self.transpose_a);
        let ([rows, n], b_strides) = operand(&self.b, rows_of_b, self.transpose_b);
        if k != rows {
            return Err(Error::invalid(
                InvalidKind::Shape,
                OPERATION,
                "as many columns of op(A) as rows of op(B)",
                format!("op(A) of {m} x {k} and op(B) of {rows} x {n}"),
            ));
        }
        let rows = count.saturating_mul(m);
        let bias = Self::of_lines(plan, "a bias", self.bias, n, "columns")?;
        let [of_rows, of_columns] = self.scales;
        let of_rows = Self::of_lines(plan, "scales of rows", of_rows, rows, "rows")?;
        let of_columns = Self::of_lines(plan, "scales of columns", of_columns, n, "columns")?;
        // Without products A, B and alpha must not affect the result: only `beta * C` may. Adding -0 changes nothing, not
        // even a sign.
        let (k, alpha) = match (
            k == 0 || self.alpha == T::Scale::ZERO,
            self.beta == T::Scale::ZERO,
        ) {
            (false, _) => (k, self.alpha),
            (true, true) => (0, T::Scale::ZERO),
            (true, false) => (0, T::NEGATIVE_ZERO),
        };
        if self.activation.has(Epilogue::GELU) && !T::HAS_GELU {
            return Err(Error::invalid(
                InvalidKind::Value,
                OPERATION,
                "matrices of another type than i8 for gelu",
                format!("matrices of {}", type_name::<T::Factor>()),
            ));
        }
        let inexact = self.inexact(plan)?;
        let variant = Variant::ALL[plan.choice.index];
        let best = variant == Variant::Best;
        if best && k > BEST_MOST_K {
            return Err(plan.not_eligible(format!(
                "it takes a k of {BEST_MOST_K} at most, given {k}; tiled takes any"
            )));
        }
        let shape = Shape::Rect(rows, n);
        let transposes = [self.transpose_a, self.transpose_b].map(usize::from);
        let ldc = plan.stride.unwrap_or(n);
        let c = Place::output(rows.saturating_sub(1).saturating_mul(ldc).saturating_add(n));
        let (addend, ld_addend) = match self.addend {
            Some(addend) if (addend.height(), addend.width()) != (rows, n) => {
                return Err(Error::invalid(
                    InvalidKind::Shape,
                    OPERATION,
                    format!("a matrix of {rows} x {n} to add, as the result is"),
                    format!("{} x {}", addend.height(), addend.width()),
                ));
            }
            Some(addend) => (plan.input(addend.elements())?, addend.stride()),
            None if self.beta == T::Scale::ZERO => (Place::none(), 0),
            None => (c, ldc),
        };
        // Without products the views of A and B may be empty.
        let next = |rect: &MatrixRect<'_, T::Factor>, height: usize, is_shared: bool| match k {
            0 => 0,
            _ if is_shared => 0,
            _ => height.saturating_mul(rect.stride()),
        };
        let problem = Problem {
            m,
            n,
            k,
            a: a_strides,
            b: b_strides,
            ldc,
            ld_addend,
            count,
            next: [
                next(&self.a, rows_of_a, self.shared[0]),
                next(&self.b, rows_of_b, self.shared[1]),
                m.saturating_mul(ldc),
                if self.beta == T::Scale::ZERO {
                    0
                } else {
                    m.saturating_mul(ld_addend)
                },
            ],
            epilogue: self.epilogue(k > 0),
        };
        let out = ([c, addend, bias], [of_rows, of_columns]);
        let places = ([a, b], out);
        let has_products = k > 0 && m > 0 && n > 0;
        let rung = T::rung(variant);
        let loading = self.loading(plan, rung)?;
        if let Rung::Mapped(kernels, numbers) = rung
            && has_products
        {
            self.by_maps(plan, (kernels, numbers), places, problem, alpha)?;
            return Ok(shape);
        }
        let best = best && !self.is_grouped;
        if best && has_products && self.by_vectors(plan, places, problem, alpha)? {
            return Ok(shape);
        }
        if let Some(kernels) = inexact
            && has_products
        {
            match kernels {
                Inexact::Tf32(kernels) => self.by_lines(plan, kernels, places, problem, alpha)?,
                Inexact::Planes(kernels) => {
                    self.by_planes(plan, kernels, places, problem, alpha)?
                }
            }
            return Ok(shape);
        }
        if let Some(kernels) = T::LINES
            && best
            && has_products
            && self.is_by_lines(plan, kernels.are_for)
        {
            self.by_lines(plan, kernels, places, problem, alpha)?;
            return Ok(shape);
        }
        if best && let Some(found) = self.by_warpgroups(plan, [m, n, k])? {
            let ByWarpgroups {
                kernels,
                size,
                maps: [map_a, map_b],
                bytes,
                part,
            } = found;
            let cut = policy::wgmma_cut(size);
            let parts = k.div_ceil(part);
            // Blocks stay on their multiprocessors and take tile after tile.
            let most = plan.device.info().multiprocessors.max(1) as usize;
            let tiles = cut.tiles([m, n]).saturating_mul(parts);
            let tiles = tiles.saturating_mul(count);
            let config = plan.tiles(tiles.min(most), cut.block)?;
            let config = config.with_shared(bytes as u32);
            let kernel = kernels.products[size][transposes[0]][transposes[1]];
            let sums = self.sums_of_parts(plan, [m, n, parts]);
            let map_c = map_of_output::<T::Result>(plan, &problem);
            let args = (
                map_a, map_b, map_c, c, sums, problem, part, alpha, self.beta, addend, bias,
                of_rows, of_columns,
            );
            // SAFETY: as below. The maps are of the rectangles, which the plan keeps, and of C if its rows are aligned; the
            // kernel takes any grid. There is room for the sums of all parts.
            unsafe { plan.launch(kernel, config, args) };
            if parts > 1 {
                // SAFETY: the launch before has written all sums.
                unsafe { self.add_parts(plan, kernels.parts, (sums, out), problem, part, alpha)? };
            }
            return Ok(shape);
        }
        let (kernels, cut, bytes) = match loading {
            Some(kernels) => (kernels, variant.cut(), 0),
            // Also what needs tensor maps otherwise, where there is nothing to multiply.
            None => self.best(plan, [m, n]),
        };
        let tiles = cut.tiles([m, n]).saturating_mul(count);
        let config = plan.tiles(tiles, cut.block)?;
        let config = config.with_shared(bytes as u32);
        if m == 0 || n == 0 {
            return Ok(shape);
        }
        let kernel = kernels[transposes[0]][transposes[1]];
        let args = (
            a, b, c, problem, alpha, self.beta, addend, bias, of_rows, of_columns,
        );
        // SAFETY: the rectangles have the sizes and strides of the problem, whose shapes match, and so many matrices as there
        // are products. The bias and the scales have an element for each column or row. C is borrowed mutably or owned, so it
        // overlaps no other view but, if it is added to, the addend. The kernel is the one for these transposes, and the grid
        // has a block per tile.
        unsafe { plan.launch(kernel, config, args) };
        Ok(shape)
    }
}
