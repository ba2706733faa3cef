//! Writes signatures as text in one uniform way.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{FnArg, Generics, Signature};

/// Returns a function's signature. `of` is the type that it belongs to.
pub fn signature(signature: &Signature, of: &str) -> String {
    let unsafety = signature.unsafety.map_or("", |_| "unsafe ");
    let inputs = signature.inputs.iter().map(|input| match input {
        FnArg::Receiver(receiver) if receiver.colon_token.is_none() => {
            let reference = receiver.reference.as_ref().map_or("", |_| "&");
            let mutable = receiver.mutability.filter(|_| receiver.reference.is_some());
            format!("{reference}{}self", mutable.map_or("", |_| "mut "))
        }
        FnArg::Receiver(receiver) => format!("self:{}", flat(&receiver.ty)),
        FnArg::Typed(input) => flat(&input.ty),
    });
    let inputs = inputs.collect::<Vec<_>>().join(",");
    let output = match &signature.output {
        syn::ReturnType::Default => String::new(),
        syn::ReturnType::Type(_, ty) => format!("->{}", flat(ty)),
    };
    own(
        format!(
            "{unsafety}fn{}({inputs}){output}",
            generics(&signature.generics)
        ),
        of,
    )
}

/// Returns parameters and their bounds, in order, wherever they are written.
pub fn generics(generics: &Generics) -> String {
    let mut bounds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let text = |bound: &syn::TypeParamBound| match bound {
        syn::TypeParamBound::Lifetime(_) => None,
        bound => Some(flat(bound)),
    };
    for parameter in generics.type_params() {
        let of = bounds.entry(parameter.ident.to_string()).or_default();
        of.extend(parameter.bounds.iter().filter_map(text));
    }
    for parameter in generics.const_params() {
        bounds.insert(
            format!("const {}", parameter.ident),
            [flat(&parameter.ty)].into(),
        );
    }
    for predicate in generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates)
    {
        if let syn::WherePredicate::Type(predicate) = predicate {
            let of = bounds.entry(flat(&predicate.bounded_ty)).or_default();
            of.extend(predicate.bounds.iter().filter_map(text));
        }
    }
    if bounds.is_empty() {
        return String::new();
    }
    let bounds = bounds.into_iter().map(|(name, bounds)| {
        let bounds: Vec<String> = bounds.into_iter().collect();
        [name, bounds.join("+")].join(if bounds.is_empty() { "" } else { ":" })
    });
    format!("<{}>", bounds.collect::<Vec<_>>().join(","))
}

/// Replaces `Self` by the type that it stands for.
pub fn own(text: String, of: &str) -> String {
    if of.is_empty() {
        text
    } else {
        text.replace("Self", of)
    }
}

/// Returns tokens without lifetimes, unneeded spaces, and modules before names.
pub fn flat(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    write_flat(tokens.to_token_stream(), &mut text);
    // Remove what a lifetime leaves behind, and trailing commas.
    for (from, to) in [("<,", "<"), ("<>", ""), (",>", ">"), (",)", ")")] {
        text = text.replace(from, to);
    }
    text
}

fn write_flat(tokens: TokenStream, text: &mut String) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let punct = |index: usize, what: char| matches!(tokens.get(index), Some(TokenTree::Punct(found)) if found.as_char() == what);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let path = punct(index + 1, ':') && punct(index + 2, ':');
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '\'' => index += 1,
            TokenTree::Ident(_) if path && !punct(index + 3, '<') => index += 2,
            TokenTree::Punct(mark) if mark.as_char() == ':' && punct(index + 1, ':') => index += 1,
            TokenTree::Ident(word) => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                *text += &word.to_string();
            }
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ["(", ")"],
                    proc_macro2::Delimiter::Brace => ["{", "}"],
                    proc_macro2::Delimiter::Bracket => ["[", "]"],
                    proc_macro2::Delimiter::None => ["", ""],
                };
                *text += open;
                write_flat(group.stream(), text);
                *text += close;
            }
            other => *text += &other.to_string(),
        }
        index += 1;
    }
}
