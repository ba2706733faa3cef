//! What can select: predicates of the library, and those of a user's module.

use cuda_std::{
    kernel::Entry,
    map::MapFn,
    select::{Parameters, PersistentParameters, SelectKernel},
};
use half::{bf16, f16};
#[cfg(feature = "ladder")]
use warpwright_gpu::select::{Rung, Variant};
use warpwright_gpu::{
    scan,
    select::{
        LibraryPredicate,
        predicates::{Changed, Compare, Flagged, Ordered},
    },
};

use crate::{
    buffer::Element,
    module::Module,
    ops::{
        map::{ModuleFunction, sealed},
        sealed::Sealed,
    },
};

/// A predicate that can select: one of the library's, such as [`Compare`], or one of a user's module, made by
/// [`Module::select_function`].
pub trait Predicate: Clone + sealed::Sealed {
    /// The device type of the predicate.
    type Map: cuda_std::select::Predicate;

    #[doc(hidden)]
    fn map(&self) -> Self::Map;
    /// Returns the kernels of a variant below `best`, or `None` if they were not compiled.
    #[cfg(feature = "ladder")]
    #[doc(hidden)]
    fn rung(&self, variant: Variant) -> Option<Rung<Self::Map>>;
    #[doc(hidden)]
    fn best(&self) -> Entry<Parameters<Self::Map>>;
    /// Returns the kernel with persistent blocks, if there is one.
    #[doc(hidden)]
    fn persistent(&self) -> Option<Entry<PersistentParameters<Self::Map>>>;
    #[doc(hidden)]
    fn module(&self) -> Option<&Module>;
}

impl<P: LibraryPredicate> sealed::Sealed for Library<P> {}

/// A predicate of the library.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Library<P>(P);

impl<P: LibraryPredicate> Predicate for Library<P> {
    type Map = P;

    fn map(&self) -> P {
        self.0
    }

    #[cfg(feature = "ladder")]
    fn rung(&self, variant: Variant) -> Option<Rung<P>> {
        P::rung(variant)
    }

    fn best(&self) -> Entry<Parameters<P>> {
        P::BEST
    }

    fn persistent(&self) -> Option<Entry<PersistentParameters<P>>> {
        Some(P::PERSISTENT)
    }

    fn module(&self) -> Option<&Module> {
        None
    }
}

impl<F: SelectKernel> Predicate for ModuleFunction<F> {
    type Map = F;

    fn map(&self) -> F {
        self.parts().0
    }

    #[cfg(feature = "ladder")]
    fn rung(&self, _: Variant) -> Option<Rung<F>> {
        None
    }

    fn best(&self) -> Entry<Parameters<F>> {
        F::KERNEL
    }

    fn persistent(&self) -> Option<Entry<PersistentParameters<F>>> {
        let kernel = F::PERSISTENT;
        let mut there = self.parts().1.kernels();
        there
            .any(|name| name == kernel.descriptor().name)
            .then_some(kernel)
    }

    fn module(&self) -> Option<&Module> {
        Some(self.parts().1)
    }
}

/// What [`Device::select`](crate::Device::select) takes for a predicate: a [`Compare`], or a [`ModuleFunction`].
pub trait IntoPredicate {
    /// The predicate.
    type Predicate: Predicate;

    #[doc(hidden)]
    fn into_predicate(self) -> Self::Predicate;
}

impl<T: Ordered> IntoPredicate for Compare<T>
where
    Self: LibraryPredicate,
{
    type Predicate = Library<Self>;

    fn into_predicate(self) -> Library<Self> {
        Library(self)
    }
}

impl<F: SelectKernel> IntoPredicate for ModuleFunction<F> {
    type Predicate = Self;

    fn into_predicate(self) -> Self {
        self
    }
}

impl Module {
    /// Makes a predicate for [`Device::select`](crate::Device::select) and its like of `function`, whose kernels
    /// ([`select_kernel!`](cuda_std::select_kernel!)) are in this module. A module for `sm_80` or later has a second one, which
    /// selects from large arrays at the speed of the library's own predicates. Without it, the first one does.
    ///
    /// # Safety
    /// As for [`map_function`](Self::map_function).
    pub unsafe fn select_function<F: SelectKernel>(&self, function: F) -> ModuleFunction<F> {
        ModuleFunction::new(function, self)
    }
}

/// A type whose elements can be selected by flags and be unique: the library's element types.
pub trait Selectable: Element + Sealed {
    #[doc(hidden)]
    type Bits: Element;
    #[doc(hidden)]
    type Flagged: Predicate<Map: MapFn<In = (Self::Bits, u8)>>;
    #[doc(hidden)]
    type Changed: Predicate<Map: scan::Keys>;
    #[doc(hidden)]
    fn flagged() -> Self::Flagged;
    #[doc(hidden)]
    fn changed() -> Self::Changed;
}

macro_rules! selectable {
    ($($ty:ident: $bits:ident, $compared:ident;)*) => { $(
        impl Selectable for $ty {
            type Bits = $bits;
            type Flagged = Library<Flagged<$bits>>;
            type Changed = Library<Changed<$compared>>;

            fn flagged() -> Self::Flagged {
                Library(Flagged::new())
            }

            fn changed() -> Self::Changed {
                Library(Changed::new())
            }
        }
    )* };
}
// Integers are equal if their bits are.
selectable! {
    u8: u8, u8;
    u16: u16, u16;
    u32: u32, u32;
    i32: u32, u32;
    u64: u64, u64;
    i64: u64, u64;
    f16: u16, f16;
    bf16: u16, bf16;
    f32: u32, f32;
    f64: u64, f64;
}
