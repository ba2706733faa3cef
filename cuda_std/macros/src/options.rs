//! The options of `#[kernel]`.

use std::ops::Range;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Error, Expr, LitInt, Path, Result, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

/// One row of a list of instances.
pub struct Instance {
    pub suffix: Ident,
    pub arguments: TokenStream,
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

/// An entry of `tuned(…)`: for which instance there is one for each of some rows of a table of tuning.
pub struct Tuned {
    /// Of the instance that ships.
    pub suffix: Ident,
    pub key: Ident,
    pub rows: Range<usize>,
}

impl Parse for Tuned {
    fn parse(input: ParseStream) -> Result<Self> {
        let suffix: Ident = input.parse()?;
        let key = match input.parse::<Option<Token![as]>>()? {
            Some(_) => input.parse()?,
            None => suffix.clone(),
        };
        input.parse::<Token![:]>()?;
        let first = input.parse::<LitInt>()?.base10_parse()?;
        let rows = match input.parse::<Option<Token![..]>>()? {
            Some(_) => first..input.parse::<LitInt>()?.base10_parse()?,
            None => first..first + 1,
        };
        Ok(Self { suffix, key, rows })
    }
}

impl ToTokens for Tuned {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { suffix, key, rows } = self;
        let [start, end] = [rows.start, rows.end].map(Literal::usize_unsuffixed);
        tokens.extend(quote!(#suffix as #key: #start..#end));
    }
}

pub enum Instances {
    Default,
    List(Vec<Instance>),
    From(Path),
}

pub struct Options {
    pub max_threads: Expr,
    pub min_blocks: Expr,
    /// The blocks of a cluster along x, y and z.
    pub cluster: [Expr; 3],
    pub dynamic_shared: Expr,
    pub instances: Instances,
    pub tuned: Vec<Tuned>,
    pub marker: Option<Ident>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self {
            max_threads: syn::parse_quote!(0),
            min_blocks: syn::parse_quote!(0),
            cluster: [(); 3].map(|()| syn::parse_quote!(1)),
            dynamic_shared: syn::parse_quote!(0),
            instances: Instances::Default,
            tuned: Vec::new(),
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
                "cluster" => {
                    let content;
                    parenthesized!(content in input);
                    let sizes = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
                    if sizes.is_empty() || sizes.len() > 3 {
                        return Err(Error::new(
                            name.span(),
                            "cluster takes one to three numbers of blocks, along x, y and z",
                        ));
                    }
                    for (to, size) in options.cluster.iter_mut().zip(sizes) {
                        *to = size;
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
                "tuned" => {
                    let content;
                    parenthesized!(content in input);
                    let list = Punctuated::<Tuned, Token![,]>::parse_terminated(&content)?;
                    options.tuned = list.into_iter().collect();
                }
                "marker" => {
                    input.parse::<Token![=]>()?;
                    options.marker = Some(input.parse()?);
                }
                other => {
                    return Err(Error::new(
                        name.span(),
                        format!(
                            "unknown option `{other}`: expected launch_bounds, cluster, dynamic_shared, instances, tuned or marker"
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
