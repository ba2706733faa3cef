//! `#[externally_visible]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Item, Result, spanned::Spanned};

use crate::item::is_no_mangle;

pub fn attribute(item: TokenStream) -> Result<TokenStream> {
    let item: Item = syn::parse2(item)?;
    let (attributes, name) = match &item {
        Item::Fn(function) => (&function.attrs, &function.sig.ident),
        Item::Static(variable) => (&variable.attrs, &variable.ident),
        other => {
            return Err(Error::new(
                other.span(),
                "a function or a static can be externally visible",
            ));
        }
    };
    if !attributes.iter().any(is_no_mangle) {
        return Err(Error::new(
            name.span(),
            format!(
                "what is externally visible needs a name to be known by: `#[unsafe(no_mangle)]` on `{name}`"
            ),
        ));
    }
    let mark = format!("__externally_visible__{name}");
    Ok(quote! {
        #item

        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[used]
            #[unsafe(export_name = #mark)]
            static MARK: u8 = 0;
        };
    })
}
