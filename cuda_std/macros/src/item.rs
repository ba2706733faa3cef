//! Attributes and visibility of a user's item.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Path, Visibility};

/// Returns whether the attribute is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
pub fn is_no_mangle(attribute: &Attribute) -> bool {
    let unsafe_no_mangle = || {
        let inner = attribute.parse_args::<Path>();
        attribute.path().is_ident("unsafe") && inner.is_ok_and(|path| path.is_ident("no_mangle"))
    };
    attribute.path().is_ident("no_mangle") || unsafe_no_mangle()
}

/// Returns the visibility for an item in a submodule that is the same as `visibility` beside that module. A type must not
/// be more visible than the types of its kernel's parameters.
pub fn visibility_in_module(visibility: &Visibility) -> TokenStream {
    match visibility {
        Visibility::Public(_) => quote!(pub),
        Visibility::Inherited => quote!(pub(super)),
        Visibility::Restricted(restricted) => {
            let path = &restricted.path;
            if path.is_ident("self") {
                quote!(pub(super))
            } else if path.is_ident("crate") {
                quote!(pub(crate))
            } else if path
                .segments
                .first()
                .is_some_and(|first| first.ident == "super")
            {
                quote!(pub(in super::#path))
            } else {
                quote!(pub(in #path))
            }
        }
    }
}
