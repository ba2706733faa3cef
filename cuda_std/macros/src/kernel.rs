//! The expansion of `#[kernel]`.
//!
//! The attribute keeps the function, adds the marker type with its signature, and hands the list of
//! instances to `__kernel_instances!`, which emits one PTX entry (nvptx64) or one `Kernel`
//! implementation (host) per row. The second step is a macro of its own so that a list of instances
//! can come from a user's `macro_rules!`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Error, Expr, FnArg, GenericParam, ItemFn, Pat, Path, Result, ReturnType, Token, Type,
    parenthesized,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

/// One row of a list of instances.
struct Instance {
    suffix: Ident,
    arguments: TokenStream,
}

impl Parse for Instance {
    fn parse(input: ParseStream) -> Result<Self> {
        if input.peek(syn::Ident) && input.peek2(Token![:]) && !input.peek2(Token![::]) {
            let suffix: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let arguments;
            parenthesized!(arguments in input);
            return Ok(Self {
                suffix,
                arguments: arguments.parse()?,
            });
        }
        let ty: Type = input.parse()?;
        let name = ty.to_token_stream().to_string();
        let suffix = syn::parse_str::<Ident>(&name).map_err(|_| {
            Error::new(
                ty.span(),
                format!("give `{name}` a suffix: `my_suffix: ({name})`"),
            )
        })?;
        Ok(Self {
            suffix,
            arguments: ty.to_token_stream(),
        })
    }
}

enum Instances {
    Default,
    List(Vec<Instance>),
    From(Path),
}

struct Options {
    max_threads: Expr,
    min_blocks: Expr,
    dynamic_shared: Expr,
    instances: Instances,
    marker: Option<Ident>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self {
            max_threads: syn::parse_quote!(0),
            min_blocks: syn::parse_quote!(0),
            dynamic_shared: syn::parse_quote!(0),
            instances: Instances::Default,
            marker: None,
        };
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "launch_bounds" => {
                    let content;
                    parenthesized!(content in input);
                    let bounds = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
                    let mut bounds = bounds.into_iter();
                    options.max_threads = bounds.next().ok_or_else(|| {
                        Error::new(name.span(), "launch_bounds needs a number of threads")
                    })?;
                    if let Some(blocks) = bounds.next() {
                        options.min_blocks = blocks;
                    }
                    if let Some(extra) = bounds.next() {
                        return Err(Error::new(
                            extra.span(),
                            "launch_bounds takes at most two numbers",
                        ));
                    }
                }
                "dynamic_shared" => {
                    let content;
                    parenthesized!(content in input);
                    options.dynamic_shared = content.parse()?;
                    if !content.is_empty() {
                        return Err(content.error("dynamic_shared takes one number of bytes"));
                    }
                }
                "instances" if input.peek(Token![=]) => {
                    input.parse::<Token![=]>()?;
                    options.instances = Instances::From(input.parse()?);
                }
                "instances" => {
                    let content;
                    parenthesized!(content in input);
                    let list = Punctuated::<Instance, Token![,]>::parse_terminated(&content)?;
                    options.instances = Instances::List(list.into_iter().collect());
                }
                "marker" => {
                    input.parse::<Token![=]>()?;
                    options.marker = Some(input.parse()?);
                }
                other => {
                    return Err(Error::new(
                        name.span(),
                        format!(
                            "unknown option `{other}`: expected launch_bounds, dynamic_shared, instances or marker"
                        ),
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// How a parameter travels: a view is a pointer and a length, everything else goes by value.
fn is_view(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "Global" || last.ident == "GlobalMut"),
        _ => false,
    }
}

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
    if signature.asyncness.is_some() || signature.constness.is_some() || signature.abi.is_some() {
        return Err(Error::new(
            span,
            "a kernel is a plain `unsafe fn`: no async, const or extern",
        ));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new(
            signature.output.span(),
            "a kernel returns nothing: write results through a GlobalMut",
        ));
    }

    let mut parameters = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(input.span(), "a kernel cannot be a method"));
        };
        let Pat::Ident(name) = &*input.pat else {
            return Err(Error::new(
                input.pat.span(),
                "a kernel's parameter needs a plain name",
            ));
        };
        if let Type::Reference(_) = &*input.ty {
            return Err(Error::new(
                input.ty.span(),
                "a kernel's parameter is a view or a plain value: take a Global or GlobalMut",
            ));
        }
        parameters.push((name.ident.clone(), (*input.ty).clone()));
    }

    let name = &signature.ident;
    let marker = options
        .marker
        .unwrap_or_else(|| format_ident!("{}", camel_case(&name.to_string())));
    let visibility = &function.vis;
    let generics = &signature.generics;
    if let Some(lifetime) = generics.lifetimes().next() {
        return Err(Error::new(
            lifetime.span(),
            "a kernel has no lifetime parameters",
        ));
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
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
    let types: Vec<_> = parameters.iter().map(|(_, ty)| ty).collect();
    let arguments: Vec<_> = (0..parameters.len())
        .map(|i| format_ident!("argument_{i}"))
        .collect();
    let marker_doc = format!("Launch marker of the kernel [`{name}`]: `{name}` as a type.");

    let spec = {
        let rows = parameters.iter().map(|(parameter, ty)| {
            let kind = if is_view(ty) {
                quote!(view)
            } else {
                quote!(value)
            };
            quote!(#parameter: #kind)
        });
        let generic = !generics.params.is_empty();
        quote!(@kernel #name #marker #generic [#(#rows),*])
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

    // Inlined into every entry: a call would cost a stack frame and the address spaces of the views.
    function
        .attrs
        .push(syn::parse_quote!(#[cfg_attr(target_arch = "nvptx64", inline(always))]));

    // The types of parameters as seen from an instance, where the generic names are not in scope.
    let parameter_types = types.iter().enumerate().map(|(index, ty)| {
        quote! {
            impl #impl_generics ::cuda_std::__Parameter<#index> for #marker #type_generics #where_clause {
                type Type = #ty;
            }
        }
    });
    // So are the bounds: they may depend on the generic parameters.
    let (max_threads, min_blocks, dynamic_shared) = (
        &options.max_threads,
        &options.min_blocks,
        &options.dynamic_shared,
    );
    let marker_generics = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Const(p) => {
            let (ident, ty) = (&p.ident, &p.ty);
            quote!(const #ident: #ty)
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

        #[doc = #marker_doc]
        #[allow(dead_code)]
        #visibility struct #marker<#(#marker_generics),*>(
            ::core::marker::PhantomData<fn() -> (#(#phantom_types,)*)>,
        );

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the parameters and the body of the function above.
        unsafe impl #impl_generics ::cuda_std::kernel::Signature for #marker #type_generics #where_clause {
            type Params = (#(#types,)*);

            unsafe fn call((#(#arguments,)*): Self::Params) {
                // SAFETY: the caller launches the kernel and so keeps the kernel's own contract.
                unsafe { #name #turbofish (#(#arguments),*) }
            }
        }

        #(#parameter_types)*

        impl #impl_generics ::cuda_std::__Bounds for #marker #type_generics #where_clause {
            const LAUNCH: [u32; 2] = [#max_threads, #min_blocks];
            const DYNAMIC_SHARED: usize = #dynamic_shared;
        }

        #emit
    })
}

/// What the attribute tells `__kernel_instances!` about the kernel.
struct Spec {
    name: Ident,
    marker: Ident,
    generic: bool,
    parameters: Vec<Parameter>,
    instances: Vec<Instance>,
}

struct Parameter {
    name: Ident,
    view: bool,
}

impl Parse for Parameter {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let kind: Ident = input.parse()?;
        Ok(Self {
            name,
            view: kind == "view",
        })
    }
}

impl Parse for Spec {
    fn parse(input: ParseStream) -> Result<Self> {
        input.parse::<Token![@]>()?;
        input.parse::<Ident>()?;
        let name = input.parse()?;
        let marker = input.parse()?;
        let generic = input.parse::<syn::LitBool>()?.value;
        let content;
        syn::bracketed!(content in input);
        let parameters = Punctuated::<Parameter, Token![,]>::parse_terminated(&content)?;
        let instances = Punctuated::<Instance, Token![,]>::parse_terminated(input)?;
        Ok(Self {
            name,
            marker,
            generic,
            parameters: parameters.into_iter().collect(),
            instances: instances.into_iter().collect(),
        })
    }
}

pub fn instances(input: TokenStream) -> Result<TokenStream> {
    let spec: Spec = syn::parse2(input)?;
    if spec.generic {
        if spec.instances.is_empty() {
            return Err(Error::new(
                spec.name.span(),
                "the list of instances is empty",
            ));
        }
        Ok(spec
            .instances
            .iter()
            .map(|row| {
                spec.emit(
                    &format!("{}__{}", spec.name, row.suffix),
                    Some(&row.arguments),
                )
            })
            .collect())
    } else {
        Ok(spec.emit(&spec.name.to_string(), None))
    }
}

impl Spec {
    fn emit(&self, entry: &str, generic_arguments: Option<&TokenStream>) -> TokenStream {
        let Self { name, marker, .. } = self;
        let arguments = generic_arguments.map(|arguments| quote!(<#arguments>));
        let turbofish = generic_arguments.map(|arguments| quote!(::<#arguments>));
        let bounds = quote!(<#marker #arguments as ::cuda_std::__Bounds>);
        let bounds_name = format!("__launch_bounds__{entry}");

        let types: Vec<_> = (0..self.parameters.len())
            .map(|index| quote!(<#marker #arguments as ::cuda_std::__Parameter<#index>>::Type))
            .collect();
        let entry_parameters =
            self.parameters
                .iter()
                .zip(&types)
                .map(|(Parameter { name, view }, ty)| {
                    if *view {
                        let length = format_ident!("{name}_len");
                        quote!(#name: *mut (), #length: usize)
                    } else {
                        quote!(#name: #ty)
                    }
                });
        let passed = self
            .parameters
            .iter()
            .zip(&types)
            .map(|(Parameter { name, view }, ty)| {
                if *view {
                    let length = format_ident!("{name}_len");
                    quote!(<#ty>::from_raw_parts(#name.cast(), #length))
                } else {
                    name.to_token_stream()
                }
            });
        let names = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.to_string());
        // The entry in the PTX was written by the type's name, and the launch passes what the type says.
        let checks = self.parameters.iter().zip(&types).map(|(parameter, ty)| {
            let Parameter { name, view } = parameter;
            let (raw, message) = if *view {
                (2usize, format!("`{name}`: a type called `Global` or `GlobalMut` must be cuda_std's view"))
            } else {
                (1, format!("`{name}`: write a view as `Global<…>` or `GlobalMut<…>`, not by another name"))
            };
            quote_spanned! {name.span()=>
                const _: () = assert!(
                    <#ty as ::cuda_std::kernel::Param>::RAW.len() == #raw,
                    #message
                );
            }
        });

        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #[unsafe(export_name = #entry)]
                unsafe extern "ptx-kernel" fn entry(#(#entry_parameters),*) {
                    // SAFETY: the launch keeps the kernel's contract; the views are its arguments.
                    unsafe { #name #turbofish (#(#passed),*) }
                }

                #[used]
                #[unsafe(export_name = #bounds_name)]
                static BOUNDS: [u32; 2] = #bounds::LAUNCH;
            };

            #(#[cfg(not(target_arch = "nvptx64"))] #checks)*

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the descriptor has the name of the instance's entry, and is made of its own signature.
            unsafe impl ::cuda_std::kernel::Kernel for #marker #arguments {
                const DESCRIPTOR: ::cuda_std::kernel::KernelDescriptor =
                    ::cuda_std::kernel::KernelDescriptor::new::<Self>(
                        #entry,
                        #bounds::LAUNCH[0],
                        #bounds::LAUNCH[1],
                        #bounds::DYNAMIC_SHARED,
                        &[#(#names),*],
                    );
            }
        }
    }
}
