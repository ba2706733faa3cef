//! The passing of a kernel's parameters from the launch to its function.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Error, FnArg, Lifetime, Pat, Result, Type, TypePath,
    parse::{Parse, ParseStream},
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

/// The form of a parameter in the PTX: a pointer and a length, or one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `Global<T>` or `GlobalMut<T>`.
    View,
    /// `&[T]`.
    Slice,
    /// `&mut [T]`.
    SliceMut,
    /// `&str`.
    Str,
    /// `*const [T]`.
    RawSlice,
    /// `*mut [T]`.
    RawSliceMut,
    /// `&mut T`, which is not `Copy`, unlike the other values.
    Mut,
    /// `TensorMap`, which the launch passes as its 128 bytes and the kernel gets as their address.
    TensorMap,
    /// All other types, including thin pointers and `&T`.
    Value,
}

const KINDS: [(Kind, &str); 9] = [
    (Kind::View, "view"),
    (Kind::Slice, "slice"),
    (Kind::SliceMut, "slice_mut"),
    (Kind::Str, "str_slice"),
    (Kind::RawSlice, "raw_slice"),
    (Kind::RawSliceMut, "raw_slice_mut"),
    (Kind::Mut, "reference_mut"),
    (Kind::TensorMap, "tensor_map"),
    (Kind::Value, "value"),
];

/// A kernel's parameter as passed to `__kernel_instances!`.
pub struct Parameter {
    pub name: Ident,
    pub kind: Kind,
}

impl Parse for Parameter {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<syn::Token![:]>()?;
        let word: Ident = input.parse()?;
        let kind = KINDS.iter().find(|(_, name)| word == name);
        let Some((kind, _)) = kind else {
            return Err(Error::new(word.span(), "no kind of parameter"));
        };
        Ok(Self { name, kind: *kind })
    }
}

impl ToTokens for Parameter {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let name = &self.name;
        let word = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        let word = format_ident!("{}", word.map_or("value", |(_, word)| word));
        tokens.extend(quote!(#name: #word));
    }
}

/// Replaces every lifetime by `'static`, including elided ones: no other lifetime is in scope for a parameter's type
/// outside the function.
struct Static;

impl VisitMut for Static {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        reference.lifetime = Some(Lifetime::new("'static", reference.and_token.span()));
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = Lifetime::new("'static", lifetime.span());
    }

    // A function pointer has its own lifetimes.
    fn visit_type_bare_fn_mut(&mut self, _: &mut syn::TypeBareFn) {}
}

/// One parameter of the kernel's function.
pub struct Argument {
    pub parameter: Parameter,
    /// The parameter's type, as it can be named outside the function.
    pub ty: Type,
}

impl Argument {
    pub fn new(input: &FnArg) -> Result<Self> {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(input.span(), "a kernel cannot be a method"));
        };
        let Pat::Ident(name) = &*input.pat else {
            return Err(Error::new(
                input.pat.span(),
                "a kernel's parameter needs a plain name",
            ));
        };
        let mut ty = (*input.ty).clone();
        Static.visit_type_mut(&mut ty);
        Ok(Self {
            parameter: Parameter {
                name: name.ident.clone(),
                kind: kind(&ty)?,
            },
            ty,
        })
    }

    /// Returns the type that a launch from the host passes for the parameter.
    pub fn launched(&self) -> TokenStream {
        let ty = &self.ty;
        match (self.parameter.kind, pointee(ty)) {
            (Kind::Slice | Kind::RawSlice, Some(Type::Slice(slice))) => {
                let element = &slice.elem;
                quote!(::cuda_std::Global<#element>)
            }
            (Kind::SliceMut | Kind::RawSliceMut, Some(Type::Slice(slice))) => {
                let element = &slice.elem;
                quote!(::cuda_std::GlobalMut<#element>)
            }
            (Kind::Str, _) => quote!(::cuda_std::Global<u8>),
            (Kind::TensorMap, _) => quote!(::cuda_std::tensor_map::EncodedTensorMap),
            (Kind::Mut, Some(target)) => quote!(*mut #target),
            (Kind::Value, Some(target)) if matches!(ty, Type::Reference(_)) => {
                quote!(*const #target)
            }
            _ => ty.to_token_stream(),
        }
    }

    /// Returns the list of the parameter's raw parameters.
    pub fn raw(&self) -> TokenStream {
        if self.parameter.kind.is_two_words() {
            quote!(::cuda_std::kernel::RawParam::VIEW)
        } else {
            let encoded = quote!(::cuda_std::tensor_map::EncodedTensorMap);
            let ty = match self.parameter.kind {
                Kind::TensorMap => encoded,
                _ => self.ty.to_token_stream(),
            };
            quote!(::cuda_std::kernel::RawParam::value::<#ty>())
        }
    }

    /// Returns the expression that takes the parameter from `raw`, a reader of the raw parameters.
    pub fn read(&self) -> TokenStream {
        let ty = &self.ty;
        match self.parameter.kind {
            Kind::View => quote!({
                let (start, len) = raw.parts();
                <#ty>::from_raw_parts(start, len)
            }),
            Kind::Slice => quote!(raw.slice()),
            Kind::SliceMut => quote!(raw.slice_mut()),
            Kind::Str => quote!(::core::str::from_utf8_unchecked(raw.slice())),
            Kind::RawSlice | Kind::RawSliceMut => quote!({
                let (start, len) = raw.parts();
                ::core::ptr::slice_from_raw_parts_mut(start, len)
            }),
            Kind::Mut => quote!(raw.reference_mut()),
            Kind::TensorMap => quote!(<#ty>::__at(raw.place())),
            Kind::Value => quote!(raw.value()),
        }
    }
}

impl Kind {
    /// Returns whether the parameter is a pointer and a length.
    pub fn is_two_words(self) -> bool {
        !matches!(self, Self::Mut | Self::TensorMap | Self::Value)
    }
}

impl Parameter {
    /// Returns the parameters of the PTX entry for a parameter of type `ty`.
    pub fn entry(&self, ty: &TokenStream) -> TokenStream {
        let name = &self.name;
        if self.kind.is_two_words() {
            let length = self.length();
            quote!(#name: *mut (), #length: usize)
        } else if self.kind == Kind::TensorMap {
            quote!(#name: ::cuda_std::tensor_map::EncodedTensorMap)
        } else {
            quote!(#name: #ty)
        }
    }

    /// Returns the number of parameters of the PTX entry for a parameter of type `ty`, as an expression.
    fn count(&self, ty: &TokenStream) -> TokenStream {
        match self.kind {
            Kind::TensorMap => quote!(1_usize),
            // A type of size 0 has no place in the PTX.
            _ if !self.kind.is_two_words() => quote!((::core::mem::size_of::<#ty>() != 0) as usize),
            _ => quote!(2_usize),
        }
    }

    /// Returns the argument that the entry `entry` passes to the function. `before` is the number of the entry's parameters
    /// before this one.
    fn passed(&self, ty: &TokenStream, entry: &str, before: &TokenStream) -> TokenStream {
        let (name, length) = (&self.name, self.length());
        match self.kind {
            Kind::View => quote!(<#ty>::from_raw_parts(#name.cast(), #length)),
            Kind::Slice => quote!(::core::slice::from_raw_parts(#name.cast(), #length)),
            Kind::SliceMut => quote!(::core::slice::from_raw_parts_mut(#name.cast(), #length)),
            Kind::Str => quote!(::core::str::from_utf8_unchecked(
                ::core::slice::from_raw_parts(#name.cast(), #length)
            )),
            Kind::RawSlice | Kind::RawSliceMut => {
                quote!(::core::ptr::slice_from_raw_parts_mut(#name.cast(), #length))
            }
            // The address of the parameter itself: rustc passes its words as values. LLVM gives a parameter this name.
            Kind::TensorMap => {
                let text =
                    format!("mov.b64 {{0}}, {entry}_param_{{1}}; cvta.param.u64 {{0}}, {{0}};");
                quote!({
                    let place: *const ::cuda_std::tensor_map::EncodedTensorMap;
                    ::core::arch::asm!(
                        #text,
                        out(reg64) place,
                        const #before,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                    <#ty>::__at(place)
                })
            }
            Kind::Mut | Kind::Value => name.to_token_stream(),
        }
    }

    fn length(&self) -> Ident {
        format_ident!("{}_len", self.name)
    }
}

/// Returns the arguments that the entry `entry` passes to the function, for parameters and their types.
pub fn all_passed<'a>(
    parameters: impl Iterator<Item = (&'a Parameter, &'a TokenStream)>,
    entry: &str,
) -> Vec<TokenStream> {
    let mut before = quote!(0_usize);
    let passed = parameters.map(|(parameter, ty)| {
        let passed = parameter.passed(ty, entry, &before);
        let count = parameter.count(ty);
        before = quote!(#before + #count);
        passed
    });
    passed.collect()
}

/// Returns the pointee type of a reference or a pointer.
fn pointee(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(reference) => Some(&reference.elem),
        Type::Ptr(pointer) => Some(&pointer.elem),
        _ => None,
    }
}

fn kind(ty: &Type) -> Result<Kind> {
    let named = |path: &TypePath, names: &[&str]| {
        let last = path.path.segments.last();
        last.is_some_and(|last| names.iter().any(|name| last.ident == name))
    };
    Ok(match ty {
        Type::Path(path) if named(path, &["Global", "GlobalMut"]) => Kind::View,
        Type::Path(path) if named(path, &["TensorMap"]) => Kind::TensorMap,
        Type::Paren(inner) => kind(&inner.elem)?,
        Type::Group(inner) => kind(&inner.elem)?,
        Type::Reference(reference) => match (&*reference.elem, reference.mutability.is_some()) {
            (Type::Slice(_), false) => Kind::Slice,
            (Type::Slice(_), true) => Kind::SliceMut,
            (Type::Path(path), false) if path.path.is_ident("str") => Kind::Str,
            (Type::TraitObject(_), _) => return Err(trait_object(ty)),
            (_, true) => Kind::Mut,
            (_, false) => Kind::Value,
        },
        Type::Ptr(pointer) => match (&*pointer.elem, pointer.mutability.is_some()) {
            (Type::Slice(_), false) => Kind::RawSlice,
            (Type::Slice(_), true) => Kind::RawSliceMut,
            (Type::TraitObject(_), _) => return Err(trait_object(ty)),
            _ => Kind::Value,
        },
        Type::ImplTrait(_) => {
            return Err(Error::new(
                ty.span(),
                "a kernel's parameter needs a type that can be named",
            ));
        }
        _ => Kind::Value,
    })
}

fn trait_object(ty: &Type) -> Error {
    Error::new(
        ty.span(),
        "a kernel's parameter cannot be a trait object: its functions are the host's",
    )
}
