//! The kernels of each element type, for the host.

use cuda_std::{
    F8E4M3, F8E5M2, Global, GlobalMut, bf16, f16,
    kernel::{ByValue, Entry},
    tensor_map::EncodedTensorMap,
};

use super::*;

/// The kernels of products: one for each way in which A and B are stored, indexed by whether A is transposed and whether B
/// is.
pub type Products<T> = [[Entry<(
    Global<<T as Matrices>::Factor>,
    Global<<T as Matrices>::Factor>,
    GlobalMut<<T as Matrices>::Result>,
    Problem,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>; 2]; 2];

/// The kernels of products whose operands tensor maps bring and whose results they take, indexed as [`Products`] are.
pub type TiledProducts<T> = [[Entry<(
    EncodedTensorMap,
    EncodedTensorMap,
    EncodedTensorMap,
    GlobalMut<<T as Matrices>::Result>,
    GlobalMut<<T as Matrices>::Scale>,
    Problem,
    usize,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>; 2]; 2];

/// The kernel that adds the sums of parts, for elements of C.
pub type Parts<T> = Entry<(
    Global<<T as Element>::Scale>,
    GlobalMut<T>,
    Problem,
    usize,
    <T as Element>::Scale,
    <T as Element>::Scale,
    GlobalMut<T>,
    Global<T>,
    Global<<T as Element>::Scale>,
    Global<<T as Element>::Scale>,
)>;

/// The kernels of groups of products, indexed as [`Products`] are.
pub type Groups = [[Entry<(Global<u32>, Global<u64>)>; 2]; 2];

/// The kernels for warpgroups.
#[derive(Debug, Clone, Copy)]
pub struct Wgmma<T: Matrices> {
    /// The products: for large, small and medium tiles.
    pub products: [TiledProducts<T>; 3],
    /// Adds the sums of parts.
    pub parts: Parts<T::Result>,
}

/// The kernels of a rung whose operands tensor maps bring, indexed as [`Products`] are.
pub type MappedProducts<T> = [[Entry<(
    EncodedTensorMap,
    EncodedTensorMap,
    GlobalMut<<T as Matrices>::Result>,
    Problem,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>; 2]; 2];

/// The kernels of a variant for a type: which products it takes, and how it is launched.
#[derive(Debug, Clone, Copy)]
pub enum Rung<T: Matrices> {
    /// Those of `best`, which the library chooses by the product: it takes all.
    Best,
    /// Each sum takes its products in the order of k, by fused multiply-adds: any product.
    InOrder(Products<T>),
    /// Products of fragments: any product, on a device with such tensor cores.
    Tensor(Products<T>),
    /// Products of warpgroups: operands that tensor maps can describe, on a device with such tensor cores.
    Mapped(MappedProducts<T>, policy::Mapped),
    /// The variant has no kernels for this type.
    None,
}

/// The kernel that writes the planes of A and B.
pub type Split<T> = Entry<(
    Global<<T as Matrices>::Factor>,
    Global<<T as Matrices>::Factor>,
    GlobalMut<bf16>,
    GlobalMut<bf16>,
    Problem,
)>;

/// A kernel that multiplies planes.
pub type OfPlanes<T> = Entry<(
    Global<bf16>,
    Global<bf16>,
    Global<<T as Matrices>::Factor>,
    Global<<T as Matrices>::Factor>,
    GlobalMut<<T as Matrices>::Result>,
    Problem,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>;

/// The kernels for planes of `bf16`.
#[derive(Debug, Clone, Copy)]
pub struct Planes<T: Matrices> {
    /// Writes the planes.
    pub split: Split<T>,
    /// The products: for large and small tiles.
    pub products: [OfPlanes<T>; 2],
}

/// The kernel that writes the tiles of A and B.
pub type OfTiles<T> = Entry<(
    Global<<T as Matrices>::Factor>,
    Global<<T as Matrices>::Factor>,
    GlobalMut<<T as Matrices>::Factor>,
    GlobalMut<<T as Matrices>::Factor>,
    Problem,
    usize,
)>;

/// The kernels of products of operands with lines along k: for large, small and medium tiles.
pub type ProductsOfLines<T> = [Entry<(
    EncodedTensorMap,
    EncodedTensorMap,
    EncodedTensorMap,
    Global<<T as Matrices>::Factor>,
    Global<<T as Matrices>::Factor>,
    GlobalMut<<T as Matrices>::Result>,
    GlobalMut<<T as Matrices>::Scale>,
    Problem,
    usize,
    usize,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>; 3];

/// When `best` multiplies lines along k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinesAreFor {
    /// The precision that asks for it.
    Precision,
    /// Cards that can: other kernels give the same bits.
    Cards,
    /// Every device that can: other kernels give other bits.
    Devices,
}

/// The kernels for operands with lines along k.
#[derive(Debug, Clone, Copy)]
pub struct Lines<T: Matrices> {
    /// When they are used.
    pub are_for: LinesAreFor,
    /// Writes the tiles of operands that have none.
    pub tiles: OfTiles<T>,
    /// The products.
    pub products: ProductsOfLines<T>,
    /// Those of an A, or a B, with lines across k, if there are any.
    pub across: Option<[ProductsOfLines<T>; 2]>,
    /// Adds the sums of parts.
    pub parts: Parts<T::Result>,
}

/// A kernel that multiplies a matrix by a few vectors.
pub type OfVectors<T> = Entry<(
    EncodedTensorMap,
    EncodedTensorMap,
    GlobalMut<<T as Matrices>::Result>,
    GlobalMut<<T as Matrices>::Scale>,
    GlobalMut<u32>,
    Problem,
    usize,
    usize,
    usize,
    <T as Matrices>::Scale,
    <T as Matrices>::Scale,
    GlobalMut<<T as Matrices>::Result>,
    Global<<T as Matrices>::Result>,
    Global<<T as Matrices>::Scale>,
    Global<<T as Matrices>::Scale>,
)>;

/// The kernels that multiply a matrix by a few vectors.
#[derive(Debug, Clone, Copy)]
pub struct Skinny<T: Matrices> {
    /// Those of a matrix with lines along k: for narrow and wide tiles.
    pub along: [OfVectors<T>; 2],
    /// Those of a matrix with lines across k, if there are any.
    pub across: Option<[OfVectors<T>; 2]>,
}

/// An element type, with its kernels.
///
/// # Safety
/// The kernels must be those of this family: the library keeps their contracts when it launches them.
pub unsafe trait Kernels:
    Matrices<Factor: ByValue, Scale: ByValue, Result: ByValue> + Copy
{
    /// The kernels of `best` for large tiles.
    const LARGE: Products<Self>;
    /// The kernels of `best` for small tiles.
    const SMALL: Products<Self>;
    /// Whether `best` has no others, apart from those of other fields here.
    const ONLY_SMALL: bool;
    /// The kernels of `best` for groups, if there are any: those of [`SMALL`](Self::SMALL) for many products.
    const GROUPS: Option<Groups>;
    /// The kernels of `best` on tensor cores, if there are any: for large and small tiles.
    const TENSOR: Option<[Products<Self>; 2]>;
    /// The kernels of `best` for warpgroups, if there are any.
    const WGMMA: Option<Wgmma<Self>>;
    /// The kernels of `best` for planes of `bf16`, if there are any.
    const PLANES: Option<Planes<Self>>;
    /// The kernels of `best` for operands with lines along k, if there are any.
    const LINES: Option<Lines<Self>>;
    /// The kernels of `best` for a few vectors, if there are any.
    const SKINNY: Option<Skinny<Self>>;
    /// Returns the kernels of a variant.
    fn rung(variant: Variant) -> Rung<Self>;
}

macro_rules! kernels {
    (of $kernel:ident $(for $($first:tt),+)?) => {
        // A lies along k as it is, B if it is transposed.
        [
            [
                Entry::of::<$kernel<$($($first,)+)? true, false>>(),
                Entry::of::<$kernel<$($($first,)+)? true, true>>(),
            ],
            [
                Entry::of::<$kernel<$($($first,)+)? false, false>>(),
                Entry::of::<$kernel<$($($first,)+)? false, true>>(),
            ],
        ]
    };
    ($($ty:ident: $best:ident $(of ($($first:tt),+))?, $small:ident, $only_small:literal, $groups:expr, $tensor:expr, $wgmma:expr, $planes:expr, $lines:expr, $skinny:expr;)*) => { $(
        // SAFETY: the kernels are those of this family.
        unsafe impl Kernels for $ty {
            const LARGE: Products<Self> = kernels!(of $best $(for $($first),+)?);
            const SMALL: Products<Self> = kernels!(of $small $(for $($first),+)?);
            const ONLY_SMALL: bool = $only_small;
            const GROUPS: Option<Groups> = $groups;
            const TENSOR: Option<[Products<Self>; 2]> = $tensor;
            const WGMMA: Option<Wgmma<Self>> = $wgmma;
            const PLANES: Option<Planes<Self>> = $planes;
            const LINES: Option<Lines<Self>> = $lines;
            const SKINNY: Option<Skinny<Self>> = $skinny;

            fn rung(variant: Variant) -> Rung<Self> {
                match variant {
                    #[cfg(feature = "ladder")]
                    Variant::Naive => Rung::InOrder([[Entry::of::<GemmNaive<$ty>>(); 2]; 2]),
                    #[cfg(feature = "ladder")]
                    Variant::Tiled => Rung::InOrder([[Entry::of::<GemmTiled<$ty>>(); 2]; 2]),
                    #[cfg(feature = "ladder")]
                    Variant::Registers => Rung::InOrder([[Entry::of::<GemmRegisters<$ty>>(); 2]; 2]),
                    Variant::Best => Rung::Best,
                    #[cfg(feature = "ladder")]
                    of_halves => of_halves!($ty, of_halves),
                }
            }
        }
    )* };
}
#[cfg(feature = "ladder")]
macro_rules! of_halves {
    (f16, $variant:ident) => { of_halves!(of f16, $variant) };
    (bf16, $variant:ident) => { of_halves!(of bf16, $variant) };
    (of $ty:ident, $variant:ident) => {
        match $variant {
            Variant::Fragments => Rung::Tensor(kernels!(of GemmFragments for $ty)),
            Variant::Copies => Rung::Tensor(kernels!(of GemmCopies for $ty)),
            Variant::Warpgroups => {
                Rung::Mapped(kernels!(of GemmWarpgroups for $ty), policy::WARPGROUPS)
            }
            Variant::Specialised => {
                Rung::Mapped(kernels!(of GemmSpecialised for $ty), policy::SPECIALISED)
            }
            Variant::Cluster => Rung::Mapped(kernels!(of GemmCluster for $ty), policy::CLUSTER),
            _ => Rung::None,
        }
    };
    ($ty:ident, $variant:ident) => {{
        let _: Variant = $variant;
        Rung::None
    }};
}
macro_rules! wgmma {
    ($ty:ident, $result:ident) => {
        Some(Wgmma {
            products: [
                kernels!(of GemmBestWgmma for $ty, $result, 128),
                kernels!(of GemmBestWgmma for $ty, $result, 32),
                kernels!(of GemmBestWgmma for $ty, $result, 64),
            ],
            parts: Entry::of::<GemmBestParts<$result>>(),
        })
    };
}
macro_rules! lines {
    ($ty:ident, $result:ident, $source:ident, $turned:literal) => {
        [
            Entry::of::<GemmBestLines<$ty, $result, $source, 128, $turned>>(),
            Entry::of::<GemmBestLines<$ty, $result, $source, 32, $turned>>(),
            Entry::of::<GemmBestLines<$ty, $result, $source, 64, $turned>>(),
        ]
    };
}
macro_rules! bytes {
    ($ty:ident, $result:ident, $source:ident, $are_for:ident) => {
        Some(Lines {
            are_for: LinesAreFor::$are_for,
            tiles: Entry::of::<GemmBestTiles<$ty, 16>>(),
            products: lines!($ty, $result, $source, false),
            across: None,
            parts: Entry::of::<GemmBestParts<$result>>(),
        })
    };
}
macro_rules! skinny {
    (of $ty:ident, $result:ident, $source:ident) => {
        [
            Entry::of::<GemmBestSkinny<$ty, $result, $source, 8>>(),
            Entry::of::<GemmBestSkinny<$ty, $result, $source, 32>>(),
        ]
    };
    ($ty:ident, $result:ident, $along:ident $(+ $across:ident)?) => {
        Some(Skinny {
            along: skinny!(of $ty, $result, $along),
            across: skinny!(or_none $(skinny!(of $ty, $result, $across))?),
        })
    };
    (or_none) => { None };
    (or_none $some:expr) => { Some($some) };
}
kernels! {
    f32: GemmBest, GemmBestSmall, false, Some(kernels!(of GemmBestGroupSingle)), None, None, Some(Planes {
        split: Entry::of::<GemmBestSplit>(),
        products: [
            Entry::of::<GemmBestPlanes<64>>(),
            Entry::of::<GemmBestPlanes<32>>(),
        ],
    }), Some(Lines {
        are_for: LinesAreFor::Precision,
        tiles: Entry::of::<GemmBestTiles<f32, 4>>(),
        products: lines!(f32, f32, FromShared, false),
        across: Some([lines!(f32, f32, ByThreads, false), lines!(f32, f32, ByThreads, true)]),
        parts: Entry::of::<GemmBestParts<f32>>(),
    }), skinny!(f32, f32, FromShared + ByThreads);
    f64: GemmBestDouble, GemmBestSmallDouble, false, None, Some([
        kernels!(of GemmBestTensor),
        kernels!(of GemmBestTensorSmall),
    ]), None, None, None, None;
    f16: GemmBestFragments of (f16, f16, 8), GemmBestFragmentsSmall, false,
        Some(kernels!(of GemmBestGroup for f16, f16, 8)), None, wgmma!(f16, f16), None, None,
        skinny!(f16, f16, FromShared + AcrossShared);
    bf16: GemmBestFragments of (bf16, bf16, 8), GemmBestFragmentsSmall, false,
        Some(kernels!(of GemmBestGroup for bf16, bf16, 8)), None, wgmma!(bf16, bf16), None, None,
        skinny!(bf16, bf16, FromShared + AcrossShared);
    i8: GemmBestFragments of (i8, i32, 16), GemmBestFragmentsSmall, false,
        Some(kernels!(of GemmBestGroup for i8, i32, 16)), None, None, None,
        bytes!(i8, i32, FromShared, Cards), skinny!(i8, i32, FromShared);
    F8E4M3: GemmBestFragmentsSmall of (F8E4M3, f32, 16), GemmBestFragmentsSmall, true, None, None, None, None,
        bytes!(F8E4M3, f32, BySteps, Devices), skinny!(F8E4M3, f32, BySteps);
    F8E5M2: GemmBestFragmentsSmall of (F8E5M2, f32, 16), GemmBestFragmentsSmall, true, None, None, None, None,
        bytes!(F8E5M2, f32, BySteps, Devices), skinny!(F8E5M2, f32, BySteps);
}
macro_rules! results {
    ($($ty:ident in $result:ident: $best:ident of $chunk:literal, $only_small:literal, $groups:expr, $wgmma:expr, $lines:expr, $skinny:expr;)*) => { $(
        // SAFETY: the kernels are those of this family.
        unsafe impl Kernels for ResultIn<$ty, $result> {
            const LARGE: Products<Self> = kernels!(of $best for $ty, $result, $chunk);
            const SMALL: Products<Self> = kernels!(of GemmBestFragmentsSmall for $ty, $result, $chunk);
            const ONLY_SMALL: bool = $only_small;
            const GROUPS: Option<Groups> = $groups;
            const TENSOR: Option<[Products<Self>; 2]> = None;
            const WGMMA: Option<Wgmma<Self>> = $wgmma;
            const PLANES: Option<Planes<Self>> = None;
            const LINES: Option<Lines<Self>> = $lines;
            const SKINNY: Option<Skinny<Self>> = $skinny;

            fn rung(variant: Variant) -> Rung<Self> {
                match variant {
                    Variant::Best => Rung::Best,
                    #[cfg(feature = "ladder")]
                    _ => Rung::None,
                }
            }
        }
    )* };
}
results! {
    F8E4M3 in bf16: GemmBestFragmentsSmall of 16, true, None, None,
        bytes!(F8E4M3, bf16, BySteps, Devices), skinny!(F8E4M3, bf16, BySteps);
    F8E4M3 in f16: GemmBestFragmentsSmall of 16, true, None, None,
        bytes!(F8E4M3, f16, BySteps, Devices), skinny!(F8E4M3, f16, BySteps);
    f16 in f32: GemmBestFragments of 8, false, Some(kernels!(of GemmBestGroup for f16, f32, 8)), wgmma!(f16, f32), None,
        skinny!(f16, f32, FromShared + AcrossShared);
    bf16 in f32: GemmBestFragments of 8, false, Some(kernels!(of GemmBestGroup for bf16, f32, 8)), wgmma!(bf16, f32), None,
        skinny!(bf16, f32, FromShared + AcrossShared);
}
