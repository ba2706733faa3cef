//! `#[derive(DeviceCopy)]`, for the crates `cust` and `cust_core`, which export it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Path, WherePredicate, parse_macro_input, parse_quote};

/// Implements `cust::memory::DeviceCopy` for a type whose fields all implement it.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(input, &parse_quote!(::cust::memory::DeviceCopy)).into()
}

/// Implements `cust_core::DeviceCopy` for a type whose fields all implement it.
#[proc_macro_derive(DeviceCopyCore)]
pub fn device_copy_core(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(input, &parse_quote!(::cust_core::DeviceCopy)).into()
}

/// Returns the `impl` of the trait at `path`, with a check of every field.
///
/// The check is a function that is never called. Its calls have the fields' spans, so that the compiler's error names the
/// field. A bound in the `impl` would also work for fields of concrete types, but a generic type would then silently lack
/// the trait.
fn implement(mut input: DeriveInput, path: &Path) -> TokenStream {
    // Adds to the existing bounds, in one place, as lints require.
    let names: Vec<_> = input
        .generics
        .type_params()
        .map(|it| it.ident.clone())
        .collect();
    if let Some(bounds) = &mut input.generics.where_clause {
        bounds.predicates.extend(
            names
                .iter()
                .map(|name| -> WherePredicate { parse_quote!(#name: #path) }),
        );
    } else {
        for parameter in input.generics.type_params_mut() {
            parameter.bounds.push(parse_quote!(#path));
        }
    }
    let checks: TokenStream = field_types(&input.data)
        .into_iter()
        .map(|ty| quote_spanned!(ty.span()=> device_copy::<#ty>();))
        .collect();
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    quote! {
        // SAFETY: the function below compiles only if every field may be copied to a device.
        unsafe impl #generics #path for #name #arguments #bounds {}

        const _: () = {
            #[allow(dead_code, clippy::extra_unused_type_parameters, clippy::extra_unused_lifetimes)]
            fn every_field #generics () #bounds {
                fn device_copy<T: #path>() {}
                #checks
            }
        };
    }
}

/// Returns the types of all fields of a struct, a union, or an enum's variants.
fn field_types(data: &Data) -> Vec<&syn::Type> {
    fn types(fields: &Fields) -> impl Iterator<Item = &syn::Type> {
        fields.iter().map(|field| &field.ty)
    }
    match data {
        Data::Struct(data) => types(&data.fields).collect(),
        Data::Enum(data) => {
            let variants = data.variants.iter();
            variants
                .flat_map(|variant| types(&variant.fields))
                .collect()
        }
        Data::Union(data) => data.fields.named.iter().map(|field| &field.ty).collect(),
    }
}
