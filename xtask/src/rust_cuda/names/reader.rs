//! Reads the items of a crate's files, module by module.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

use super::signature::{flat, generics, own, signature};
use super::{Module, Named, Reader, Use};
use crate::Result;

impl Reader {
    pub fn file(&mut self, file: &Path, path: &[String], below: &Path) -> Result<usize> {
        let text =
            fs::read_to_string(file).map_err(|e| format!("reading {}: {e}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        self.module(parsed.items, path, below)
    }

    /// Reads the items of a module whose submodules have their files in `folder`.
    fn module(&mut self, items: Vec<Item>, path: &[String], folder: &Path) -> Result<usize> {
        let at = self.modules.len();
        let mut module = Module {
            path: path.to_vec(),
            ..Module::default()
        };
        self.modules.push(Module::default());
        for item in items {
            if hidden(attributes(&item)) {
                continue;
            }
            self.item(item, &mut module, folder)?;
        }
        self.modules[at] = module;
        Ok(at)
    }

    fn item(&mut self, item: Item, module: &mut Module, folder: &Path) -> Result<()> {
        let mut add = |name: String, visibility: &Visibility, signature: String, members| {
            module
                .items
                .push((name, public(visibility), Named { signature, members }));
        };
        match item {
            Item::Fn(item) => {
                add(
                    item.sig.ident.to_string(),
                    &item.vis,
                    signature(&item.sig, ""),
                    Vec::new(),
                );
            }
            Item::ForeignMod(item) => {
                for item in item.items {
                    if let syn::ForeignItem::Fn(item) = item {
                        let text = signature(&item.sig, "");
                        add(
                            item.sig.ident.to_string(),
                            &item.vis,
                            format!("unsafe {text}"),
                            Vec::new(),
                        );
                    }
                }
            }
            Item::Const(item) => {
                add(
                    item.ident.to_string(),
                    &item.vis,
                    format!("const {}", flat(item.ty)),
                    Vec::new(),
                );
            }
            Item::Static(item) => {
                add(
                    item.ident.to_string(),
                    &item.vis,
                    format!("static {}", flat(item.ty)),
                    Vec::new(),
                );
            }
            Item::Type(item) => add(
                item.ident.to_string(),
                &item.vis,
                "type".to_owned(),
                Vec::new(),
            ),
            Item::Struct(item) => {
                let fields = item.fields.iter().filter(|field| public(&field.vis));
                let fields = fields.filter_map(|field| {
                    Some((
                        field.ident.as_ref()?.to_string(),
                        format!("field {}", flat(&field.ty)),
                    ))
                });
                let members = fields.collect();
                add(
                    item.ident.to_string(),
                    &item.vis,
                    format!("type{}", generics(&item.generics)),
                    members,
                );
            }
            Item::Union(item) => add(
                item.ident.to_string(),
                &item.vis,
                "type".to_owned(),
                Vec::new(),
            ),
            Item::Enum(item) => {
                let variants = item.variants.iter().map(|variant| {
                    (
                        variant.ident.to_string(),
                        format!("variant{}", flat(&variant.fields)),
                    )
                });
                let members = variants.collect();
                add(
                    item.ident.to_string(),
                    &item.vis,
                    format!("type{}", generics(&item.generics)),
                    members,
                );
            }
            Item::Trait(item) => {
                let members = item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(item) => {
                        Some((item.sig.ident.to_string(), signature(&item.sig, "Self")))
                    }
                    TraitItem::Const(item) => {
                        Some((item.ident.to_string(), format!("const {}", flat(&item.ty))))
                    }
                    TraitItem::Type(item) => Some((item.ident.to_string(), "type".to_owned())),
                    _ => None,
                });
                let members = members.collect();
                let unsafety = item.unsafety.map_or("", |_| "unsafe ");
                let text = format!("{unsafety}trait{}", generics(&item.generics));
                add(item.ident.to_string(), &item.vis, text, members);
            }
            Item::Mod(item) => {
                let name = item.ident.to_string();
                let mut path = module.path.clone();
                path.push(name.clone());
                let below = folder.join(&name);
                let inner = match item.content {
                    Some((_, items)) => self.module(items, &path, &below)?,
                    None => {
                        let beside = folder.join(format!("{name}.rs"));
                        let file = if beside.is_file() {
                            beside
                        } else {
                            below.join("mod.rs")
                        };
                        self.file(&file, &path, &below)?
                    }
                };
                module.modules.push((name, public(&item.vis), inner));
            }
            Item::Use(item) => {
                let public = public(&item.vis);
                uses(&item.tree, &mut Vec::new(), &mut |path, name| {
                    module.uses.push(Use {
                        public,
                        path: path.to_vec(),
                        name,
                    });
                });
            }
            Item::Impl(item) => {
                let syn::Type::Path(of) = &*item.self_ty else {
                    return Ok(());
                };
                let name = of
                    .path
                    .segments
                    .iter()
                    .map(|part| part.ident.to_string())
                    .collect();
                if item.trait_.is_some() {
                    return Ok(());
                }
                let of = flat(&item.self_ty);
                let members = item
                    .items
                    .iter()
                    .filter(|item| !hidden(member_attributes(item)));
                let members = members.filter_map(|item| match item {
                    ImplItem::Fn(item) if public(&item.vis) => {
                        Some((item.sig.ident.to_string(), signature(&item.sig, &of)))
                    }
                    ImplItem::Const(item) if public(&item.vis) => Some((
                        item.ident.to_string(),
                        format!("const {}", own(flat(&item.ty), &of)),
                    )),
                    _ => None,
                });
                module.impls.push((name, members.collect()));
            }
            Item::Macro(item) => {
                let exported = item.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                words(item.mac.tokens.clone(), &mut self.in_macros);
                if let Some(name) = item.ident.filter(|_| exported) {
                    self.exported.push(name.to_string());
                } else if item
                    .mac
                    .path
                    .segments
                    .last()
                    .is_some_and(|part| part.ident == "bitflags")
                {
                    module.items.extend(flags(item.mac.tokens));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn uses(tree: &UseTree, path: &mut Vec<String>, add: &mut impl FnMut(&[String], Option<String>)) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            uses(&part.tree, path, add);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => add(path, path.last().cloned()),
        UseTree::Name(name) => {
            path.push(name.ident.to_string());
            add(path, Some(name.ident.to_string()));
            path.pop();
        }
        UseTree::Rename(name) => {
            path.push(name.ident.to_string());
            add(path, Some(name.rename.to_string()));
            path.pop();
        }
        UseTree::Glob(_) => add(path, None),
        UseTree::Group(group) => group.items.iter().for_each(|tree| uses(tree, path, add)),
    }
}

/// Returns the types and constants of an invocation of `bitflags!`.
fn flags(tokens: TokenStream) -> Vec<(String, bool, Named)> {
    let mut found: Vec<(String, bool, Named)> = Vec::new();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match (token, tokens.get(index + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "struct" => {
                let named = Named {
                    signature: "type".to_owned(),
                    members: Vec::new(),
                };
                found.push((name.to_string(), true, named));
            }
            (TokenTree::Group(group), _) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for pair in inner.windows(2) {
                    if let ([TokenTree::Ident(word), TokenTree::Ident(name)], Some(last)) =
                        (pair, found.last_mut())
                        && word == "const"
                    {
                        last.2
                            .members
                            .push((name.to_string(), format!("const {}", last.0)));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn words(tokens: TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                into.insert(word.to_string());
            }
            TokenTree::Group(group) => words(group.stream(), into),
            _ => {}
        }
    }
}

fn public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns whether an item is a test or undocumented.
fn hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = flat(attribute);
        text == "#[cfg(test)]" || text == "#[doc(hidden)]"
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => &[],
    }
}

fn member_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Const(item) => &item.attrs,
        _ => &[],
    }
}
