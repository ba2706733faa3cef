//! `#[address_space]` and `#[gpu_only]`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, ItemFn, ItemStatic, Result, StaticMutability};

pub fn attribute(space: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let space: Ident = syn::parse2(space)?;
    let item: ItemStatic = syn::parse2(item)?;
    let section = match space.to_string().as_str() {
        "shared" => ".cuda_std.shared",
        "constant" => ".cuda_std.constant",
        "global" => return Ok(quote!(#item)),
        other => {
            return Err(Error::new(
                space.span(),
                format!(
                    "a static may be in `shared`, `constant` or `global` memory, given `{other}`"
                ),
            ));
        }
    };
    let constant = space == "constant";
    let mutable = matches!(item.mutability, StaticMutability::Mut(_));
    if mutable == constant {
        let message = if constant {
            "kernels only read constant memory: a `static` without `mut`"
        } else {
            "shared memory is written by every block: a `static mut`"
        };
        return Err(Error::new(item.ident.span(), message));
    }
    let ItemStatic {
        attrs,
        vis,
        ident,
        ty,
        expr,
        ..
    } = &item;
    let on_host = if constant {
        quote!(#item)
    } else {
        quote! {
            #(#attrs)*
            #vis static mut #ident: ::cuda_std::shared::__SharedStatic<#ty> =
                ::cuda_std::shared::__SharedStatic::new(#expr);
        }
    };
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(link_section = #section)]
        #item

        #[cfg(not(target_arch = "nvptx64"))]
        #on_host
    })
}

pub fn gpu_only(item: TokenStream) -> Result<TokenStream> {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = syn::parse2(item)?;
    let message = format!("`{}` is for the GPU alone", sig.ident);
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #(#attrs)*
        #vis #sig {
            ::core::panic!(#message)
        }
    })
}
