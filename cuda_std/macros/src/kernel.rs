//! The expansion of `#[kernel]`.
//!
//! The attribute keeps the function, adds the marker type with its signature, and passes the list of instances to
//! `__kernel_instances!`, which emits one PTX entry (nvptx64) or one `Kernel` implementation (host) per row. The second
//! step is a macro of its own, so that a user's `macro_rules!` can produce the list of instances.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Error, GenericParam, ItemFn, Result, ReturnType, Token,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

use crate::{
    item::{is_no_mangle, visibility_in_module},
    options::{Instance, Instances, Options, Tuned},
    parameter::{self, Argument, Kind, Parameter},
};

fn camel_case(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(chars).collect::<String>()
            })
        })
        .collect()
}

pub fn attribute(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let span = signature.span();

    if signature.unsafety.is_none() {
        return Err(Error::new(
            span,
            "a kernel must be an `unsafe fn`: its launch is a promise about its arguments",
        ));
    }
    let is_c = signature
        .abi
        .as_ref()
        .is_none_or(|abi| abi.name.as_ref().is_none_or(|name| name.value() == "C"));
    if signature.asyncness.is_some() || signature.constness.is_some() || !is_c {
        return Err(Error::new(
            span,
            "a kernel is a plain `unsafe fn`: no async, const or extern but \"C\"",
        ));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new(
            signature.output.span(),
            "a kernel returns nothing: write results through a GlobalMut",
        ));
    }

    // The entry gets the name; the function stays a Rust function.
    function.attrs.retain(|attribute| !is_no_mangle(attribute));
    function.sig.abi = None;
    let signature = &function.sig;
    let parameters = signature.inputs.iter().map(Argument::new);
    let parameters = parameters.collect::<Result<Vec<_>>>()?;

    let name = &signature.ident;
    let marker = options
        .marker
        .unwrap_or_else(|| format_ident!("{}", camel_case(&name.to_string())));
    let marker_module = format_ident!("__{name}_marker");
    let visibility = &function.vis;
    // Types that are written outside the function use `'static` for its lifetimes.
    let mut generics = signature.generics.clone();
    generics.params = generics
        .params
        .into_iter()
        .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
        .collect();
    let generics = &generics;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let in_module = visibility_in_module(visibility);
    let generic_names: Vec<_> = generics
        .params
        .iter()
        .map(|parameter| match parameter {
            GenericParam::Type(p) => p.ident.to_token_stream(),
            GenericParam::Const(p) => p.ident.to_token_stream(),
            GenericParam::Lifetime(p) => p.to_token_stream(),
        })
        .collect();
    let phantom_types: Vec<_> = generics.type_params().map(|p| &p.ident).collect();
    let launched = parameters.iter().map(Argument::launched);
    let raw = parameters.iter().map(Argument::raw);
    let read = parameters.iter().map(Argument::read);
    let marker_doc = format!("Launch marker of the kernel `{name}`: `{name}` as a type.");

    let spec = {
        let rows = parameters.iter().map(|argument| &argument.parameter);
        let generic = !generics.params.is_empty();
        let tuned = &options.tuned;
        quote!(@kernel #name #marker_module #marker #generic [#(#rows),*] [#(#tuned),*])
    };
    let is_generic = !generics.params.is_empty();
    let emit = match (&options.instances, is_generic) {
        (Instances::Default, false) => quote!(::cuda_std::__kernel_instances! { #spec }),
        (Instances::Default, true) => {
            return Err(Error::new(
                generics.span(),
                "a generic kernel needs `instances(…)`",
            ));
        }
        (_, false) => {
            return Err(Error::new(
                span,
                "`instances` needs a kernel with generic parameters",
            ));
        }
        (Instances::List(list), true) => {
            let rows = list
                .iter()
                .map(|Instance { suffix, arguments }| quote!(#suffix: (#arguments)));
            quote!(::cuda_std::__kernel_instances! { #spec #(#rows),* })
        }
        (Instances::From(path), true) => {
            let callback = format_ident!("__{name}_instances");
            quote! {
                macro_rules! #callback {
                    ($($rows:tt)*) => { ::cuda_std::__kernel_instances! { #spec $($rows)* } };
                }
                #path! { #callback }
            }
        }
    };

    // The function is inlined into every entry: a call would need a stack frame and lose the address spaces of the views.
    function
        .attrs
        .push(syn::parse_quote!(#[cfg_attr(target_arch = "nvptx64", inline(always))]));

    // The types of the parameters for an instance, where the generic names are not in scope.
    let parameter_types = parameters.iter().enumerate().map(|(index, argument)| {
        let ty = &argument.ty;
        quote! {
            impl #impl_generics ::cuda_std::__Parameter<#index> for #marker_module::#marker #type_generics #where_clause {
                type Type = #ty;
            }
        }
    });
    // The same for the launch bounds, which may depend on the generic parameters.
    let (max_threads, min_blocks, dynamic_shared) = (
        &options.max_threads,
        &options.min_blocks,
        &options.dynamic_shared,
    );
    let [width, height, depth] = &options.cluster;
    // The marker of a kernel that is tuned is that of the row that ships, where no row is named.
    let row = generics.params.len().wrapping_sub(1);
    let marker_generics =
        generics
            .params
            .iter()
            .enumerate()
            .map(|(i, parameter)| match parameter {
                GenericParam::Const(p) => {
                    let (ident, ty) = (&p.ident, &p.ty);
                    let default =
                        (i == row && !options.tuned.is_empty()).then(|| quote!(= { usize::MAX }));
                    quote!(const #ident: #ty #default)
                }
                GenericParam::Type(p) => p.ident.to_token_stream(),
                GenericParam::Lifetime(p) => p.to_token_stream(),
            });
    let turbofish = if is_generic {
        quote!(::<#(#generic_names),*>)
    } else {
        quote!()
    };

    Ok(quote! {
        #function

        // A user's type shadows a glob import, so a kernel `blur` can stand beside a `struct Blur`.
        #[allow(unused_imports)]
        #visibility use #marker_module::*;
        #[doc(hidden)]
        mod #marker_module {
            #[allow(unused_imports)]
            use super::*;

            #[doc = #marker_doc]
            #[allow(dead_code)]
            #in_module struct #marker<#(#marker_generics),*>(
                ::core::marker::PhantomData<fn() -> (#(#phantom_types,)*)>,
            );
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the parameters and the body are those of the function above.
        unsafe impl #impl_generics ::cuda_std::kernel::Signature
            for #marker_module::#marker #type_generics #where_clause
        {
            type Params = (#(#launched,)*);
            const RAW: &'static [&'static [::cuda_std::kernel::RawParam]] = &[#(#raw),*];

            #[allow(unused_mut, unused_variables)]
            unsafe fn call(raw: &[*const ::core::ffi::c_void]) {
                let mut raw = ::cuda_std::kernel::__Reader::new(raw);
                // SAFETY: the caller passes the raw parameters and upholds the kernel's contract.
                unsafe { #name #turbofish (#(#read),*) }
            }
        }

        #(#parameter_types)*

        impl #impl_generics ::cuda_std::__Bounds for #marker_module::#marker #type_generics #where_clause {
            const LAUNCH: [u32; 5] = [#max_threads, #min_blocks, #width, #height, #depth];
            const DYNAMIC_SHARED: usize = #dynamic_shared;
        }

        #emit
    })
}

/// The description of the kernel that the attribute passes to `__kernel_instances!`.
struct Spec {
    name: Ident,
    /// The module of the marker.
    module: Ident,
    marker: Ident,
    generic: bool,
    parameters: Vec<Parameter>,
    tuned: Vec<Tuned>,
    instances: Vec<Instance>,
}

impl Parse for Spec {
    fn parse(input: ParseStream) -> Result<Self> {
        input.parse::<Token![@]>()?;
        input.parse::<Ident>()?;
        let name = input.parse()?;
        let module = input.parse()?;
        let marker = input.parse()?;
        let generic = input.parse::<syn::LitBool>()?.value;
        let content;
        syn::bracketed!(content in input);
        let parameters = Punctuated::<Parameter, Token![,]>::parse_terminated(&content)?;
        let content;
        syn::bracketed!(content in input);
        let tuned = Punctuated::<Tuned, Token![,]>::parse_terminated(&content)?;
        let instances = Punctuated::<Instance, Token![,]>::parse_terminated(input)?;
        Ok(Self {
            name,
            module,
            marker,
            generic,
            parameters: parameters.into_iter().collect(),
            tuned: tuned.into_iter().collect(),
            instances: instances.into_iter().collect(),
        })
    }
}

pub fn instances(input: TokenStream) -> Result<TokenStream> {
    let mut spec: Spec = syn::parse2(input)?;
    let rows = spec.rows()?;
    if spec.generic {
        if spec.instances.is_empty() {
            return Err(Error::new(
                spec.name.span(),
                "the list of instances is empty",
            ));
        }
        let mut emitted: TokenStream = spec
            .instances
            .iter()
            .map(|row| spec.emit(&spec.entry(&row.suffix), Some(&row.arguments)))
            .collect();
        emitted.extend(rows);
        Ok(emitted)
    } else {
        Ok(spec.emit(&spec.name.to_string(), None))
    }
}

impl Spec {
    fn entry(&self, suffix: &Ident) -> String {
        format!("{}__{suffix}", self.name)
    }

    /// Completes the instances of a kernel that is tuned by the row that ships; and emits, for the feature `tuning`, one for
    /// each other row, and the list of them.
    fn rows(&mut self) -> Result<TokenStream> {
        if self.tuned.is_empty() {
            return Ok(TokenStream::new());
        }
        let marker = {
            let (module, marker) = (&self.module, &self.marker);
            quote!(#module::#marker)
        };
        let with = |instance: &Instance, row: TokenStream| {
            let arguments = &instance.arguments;
            if arguments.is_empty() {
                row
            } else {
                quote!(#arguments, #row)
            }
        };
        let shipped = quote!({ usize::MAX });
        let (mut entries, mut list) = (TokenStream::new(), TokenStream::new());
        for Tuned { suffix, key, rows } in &self.tuned {
            let of_suffix = |instance: &&Instance| instance.suffix == *suffix;
            let Some(instance) = self.instances.iter().find(of_suffix) else {
                let text = format!("`tuned` needs an instance, there is none called `{suffix}`");
                return Err(Error::new(suffix.span(), text));
            };
            let key_text = key.to_string();
            let own = with(instance, shipped.clone());
            for row in rows.clone() {
                let literal = Literal::usize_unsuffixed(row);
                let other = with(instance, literal.to_token_stream());
                let entry = format!("tune_{}__{key}_{row}", self.name);
                entries.extend(self.emit(&entry, Some(&other)));
                list.extend(quote! {
                    ::cuda_std::kernel::TunedInstance {
                        key: #key_text,
                        row: #literal,
                        shipped: &<#marker<#own> as ::cuda_std::kernel::Kernel>::DESCRIPTOR,
                        instance: &<#marker<#other> as ::cuda_std::kernel::Kernel>::DESCRIPTOR,
                    },
                });
            }
        }
        for instance in &mut self.instances {
            instance.arguments = with(instance, shipped.clone());
        }
        let constant = format_ident!("{}_ROWS", self.name.to_string().to_uppercase());
        let doc = format!(
            "The instances of `{}` for the rows of its table of tuning.",
            self.name
        );
        Ok(quote! {
            #[cfg(feature = "tuning")]
            const _: () = { #entries };
            #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
            #[doc = #doc]
            pub const #constant: &[::cuda_std::kernel::TunedInstance] = &[#list];
        })
    }

    fn emit(&self, entry: &str, generic_arguments: Option<&TokenStream>) -> TokenStream {
        let Self {
            name,
            module,
            marker,
            ..
        } = self;
        let marker = quote!(#module::#marker);
        let arguments = generic_arguments.map(|arguments| quote!(<#arguments>));
        let turbofish = generic_arguments.map(|arguments| quote!(::<#arguments>));
        let bounds = quote!(<#marker #arguments as ::cuda_std::__Bounds>);
        let bounds_name = format!("__launch_bounds__{entry}");

        let types: Vec<_> = (0..self.parameters.len())
            .map(|index| quote!(<#marker #arguments as ::cuda_std::__Parameter<#index>>::Type))
            .collect();
        let each = || self.parameters.iter().zip(&types);
        let entry_parameters = each().map(|(parameter, ty)| parameter.entry(ty));
        let passed = parameter::all_passed(each(), entry);
        let names = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.to_string());
        // The name of a parameter's type decided the PTX entry's parameters, and the launch passes what the type itself
        // requires.
        let checks = each().map(|(parameter, ty)| {
            let name = &parameter.name;
            let view = parameter.kind == Kind::View;
            let message = if view {
                format!("`{name}`: a type called `Global` or `GlobalMut` must be cuda_std's view")
            } else {
                format!(
                    "`{name}`: write a view as `Global<…>` or `GlobalMut<…>`, and a slice as `&[…]`, not by another name"
                )
            };
            let expected = if view {
                quote!(VIEW)
            } else if parameter.kind.is_two_words() {
                quote!(SLICE)
            } else {
                quote!(VALUE)
            };
            let check = quote_spanned! {name.span()=>
                assert!(<__Shape<#ty>>::SHAPE == __Shape::<()>::#expected, #message);
            };
            quote! {
                const _: () = {
                    #[allow(unused_imports)]
                    use ::cuda_std::kernel::{__IsValue as _, __Shape};
                    #check
                };
            }
        });

        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #[allow(improper_ctypes_definitions, unused_variables)]
                #[unsafe(export_name = #entry)]
                unsafe extern "ptx-kernel" fn entry(#(#entry_parameters),*) {
                    // SAFETY: the launch upholds the kernel's contract; the views are its arguments.
                    unsafe { #name #turbofish (#(#passed),*) }
                }

                #[used]
                #[unsafe(export_name = #bounds_name)]
                static BOUNDS: [u32; 5] = #bounds::LAUNCH;
            };

            #(#[cfg(not(target_arch = "nvptx64"))] #checks)*

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the descriptor has the name of the instance's entry and its signature.
            unsafe impl ::cuda_std::kernel::Kernel for #marker #arguments {
                const DESCRIPTOR: ::cuda_std::kernel::KernelDescriptor =
                    ::cuda_std::kernel::KernelDescriptor::new::<Self>(
                        #entry,
                        #bounds::LAUNCH,
                        #bounds::DYNAMIC_SHARED,
                        &[#(#names),*],
                    );
            }
        }
    }
}
