//! The public names of a crate with their signatures, read from its sources: of Rust-CUDA's crates into a file of the
//! workspace, and of this workspace's to be held against it.
//!
//! Names are followed through `pub use` inside a crate. A signature is written without lifetimes, names of parameters and the
//! modules in front of a type; bounds are in order. What a macro makes has no signature here: its name is taken to be there
//! where the macro's text has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, FnArg, Generics, ImplItem, Item, Signature, TraitItem, UseTree, Visibility};

use crate::Result;

/// The signatures of each public name; several where the crate has one for each of several targets.
pub type Names = BTreeMap<String, BTreeSet<String>>;

/// What a name that comes from another crate has in the place of a signature.
pub const FROM_ELSEWHERE: &str = "use";

/// A crate's names, and the words in its macros.
#[derive(Default)]
pub struct Crate {
    pub names: Names,
    pub in_macros: BTreeSet<String>,
}

/// Reads the crate whose root is this file.
pub fn read(root: &Path) -> Result<Crate> {
    let mut reader = Reader::default();
    let top = reader.file(root, &[], &root.parent().unwrap_or(root).to_owned())?;
    for name in std::mem::take(&mut reader.exported) {
        let named = Named {
            signature: "macro".to_owned(),
            members: Vec::new(),
        };
        reader.modules[top].items.push((name, true, named));
    }
    reader.attach();
    let mut found = Crate::default();
    let mut path = Vec::new();
    reader.list(top, &mut path, &mut found.names, &mut Vec::new());
    found.in_macros = reader.in_macros;
    Ok(found)
}

/// A name in a module: what it is, and what belongs to it.
#[derive(Clone)]
struct Named {
    signature: String,
    members: Vec<(String, String)>,
}

struct Use {
    public: bool,
    path: Vec<String>,
    /// The name that it gets; none for `*`.
    name: Option<String>,
}

#[derive(Default)]
struct Module {
    path: Vec<String>,
    items: Vec<(String, bool, Named)>,
    modules: Vec<(String, bool, usize)>,
    uses: Vec<Use>,
    /// The type's name, and what the block adds.
    impls: Vec<(Vec<String>, Vec<(String, String)>)>,
}

#[derive(Default)]
struct Reader {
    modules: Vec<Module>,
    /// Macros that are at the root, wherever they stand.
    exported: Vec<String>,
    in_macros: BTreeSet<String>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    Item(usize, usize),
    Elsewhere,
}

impl Reader {
    fn file(&mut self, file: &Path, path: &[String], below: &PathBuf) -> Result<usize> {
        let text =
            fs::read_to_string(file).map_err(|e| format!("reading {}: {e}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        self.module(parsed.items, path, below)
    }

    /// Reads the items of a module whose submodules have their files in `folder`.
    fn module(&mut self, items: Vec<Item>, path: &[String], folder: &PathBuf) -> Result<usize> {
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

    /// Gives each type what its blocks add.
    fn attach(&mut self) {
        for at in 0..self.modules.len() {
            for (name, members) in std::mem::take(&mut self.modules[at].impls) {
                if let Some(Found::Item(module, item)) = self.resolve(at, &name, 0) {
                    self.modules[module].items[item].2.members.extend(members);
                }
            }
        }
    }

    /// Follows a path from a module.
    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<Found> {
        // Two modules may take all of each other's names.
        let (first, rest) = path.split_first().filter(|_| depth < 12)?;
        let module = &self.modules[at];
        let start = match first.as_str() {
            "crate" => Found::Module(0),
            "self" => Found::Module(at),
            "super" => {
                let (_, above) = module.path.split_last()?;
                Found::Module(self.modules.iter().position(|other| other.path == above)?)
            }
            name => self.lookup(at, name, depth)?,
        };
        match (start, rest) {
            (found, []) => Some(found),
            (Found::Module(next), rest) => self.resolve(next, rest, depth + 1),
            (Found::Elsewhere, _) => Some(Found::Elsewhere),
            (Found::Item(..), _) => None,
        }
    }

    fn lookup(&self, at: usize, name: &str, depth: usize) -> Option<Found> {
        let module = &self.modules[at];
        if let Some(item) = module.items.iter().position(|(own, ..)| own == name) {
            return Some(Found::Item(at, item));
        }
        if let Some((.., inner)) = module.modules.iter().find(|(own, ..)| own == name) {
            return Some(Found::Module(*inner));
        }
        let named = module
            .uses
            .iter()
            .find(|used| used.name.as_deref() == Some(name));
        if let Some(used) = named {
            // A name that is its own path's first part is another crate's.
            let own = used.path.len() == 1 && used.path[0] == name;
            return match own {
                true => Some(Found::Elsewhere),
                false => self
                    .resolve(at, &used.path, depth + 1)
                    .or(Some(Found::Elsewhere)),
            };
        }
        module
            .uses
            .iter()
            .filter(|used| used.name.is_none())
            .find_map(|used| match self.resolve(at, &used.path, depth + 1)? {
                Found::Module(from) if from != at => self.lookup(from, name, depth + 1),
                _ => None,
            })
    }

    /// Writes down what is public in a module, under the path by which it was reached.
    fn list(&self, at: usize, path: &mut Vec<String>, names: &mut Names, inside: &mut Vec<usize>) {
        if inside.contains(&at) {
            return;
        }
        inside.push(at);
        let module = &self.modules[at];
        for (name, public, named) in &module.items {
            if *public {
                note(path, name, named, names);
            }
        }
        for (name, public, inner) in &module.modules {
            if *public {
                path.push(name.clone());
                self.list(*inner, path, names, inside);
                path.pop();
            }
        }
        for used in module.uses.iter().filter(|used| used.public) {
            let found = self.resolve(at, &used.path, 0);
            match (found, &used.name) {
                (Some(Found::Module(from)), None) => self.list(from, path, names, inside),
                (Some(Found::Module(from)), Some(name)) if !of_prelude(path) => {
                    path.push(name.clone());
                    self.list(from, path, names, inside);
                    path.pop();
                }
                (Some(Found::Item(module, item)), Some(name)) => {
                    note(path, name, &self.modules[module].items[item].2, names);
                }
                (_, Some(name)) => {
                    let named = Named {
                        signature: FROM_ELSEWHERE.to_owned(),
                        members: Vec::new(),
                    };
                    note(path, name, &named, names);
                }
                _ => {}
            }
        }
        inside.pop();
    }
}

fn note(path: &[String], name: &str, named: &Named, names: &mut Names) {
    let mut full = path.join("::");
    if !full.is_empty() {
        full += "::";
    }
    full += name;
    // What belongs to a name is written where it is at home.
    if !of_prelude(path) {
        for (member, signature) in &named.members {
            let of = names.entry(format!("{full}::{member}")).or_default();
            of.insert(signature.clone());
        }
    }
    names
        .entry(full)
        .or_default()
        .insert(named.signature.clone());
}

fn of_prelude(path: &[String]) -> bool {
    path.first().is_some_and(|first| first == "prelude")
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

/// The types and constants in an invocation of `bitflags!`.
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

/// Tests, and what is not documented.
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

/// A function's signature; `of` is the type that it belongs to.
fn signature(signature: &Signature, of: &str) -> String {
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

/// Parameters and their bounds, in order and wherever they stand.
fn generics(generics: &Generics) -> String {
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

/// `Self` as the type that it stands for.
fn own(text: String, of: &str) -> String {
    if of.is_empty() {
        text
    } else {
        text.replace("Self", of)
    }
}

/// Tokens without lifetimes, spaces where none are needed, and modules in front of names.
fn flat(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    write_flat(tokens.to_token_stream(), &mut text);
    // What a lifetime leaves behind, and commas at an end.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read_crate(files: &[(&str, &str)]) -> Crate {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            crate::project::write(&folder.path().join(path), text.as_bytes()).unwrap();
        }
        read(&folder.path().join("lib.rs")).unwrap()
    }

    fn lines(found: &Crate) -> Vec<String> {
        let lines = found.names.iter().flat_map(|(path, signatures)| {
            signatures
                .iter()
                .map(move |signature| format!("{path} {signature}"))
        });
        lines.collect()
    }

    #[test]
    fn names_are_followed_through_modules_and_uses() {
        let found = read_crate(&[
            (
                "lib.rs",
                "mod private; pub mod open; pub use private::*; pub use other::thing; pub mod prelude { pub use crate::open; }\
                 #[cfg(test)] mod tests { pub fn t() {} } fn inside() {}",
            ),
            (
                "private.rs",
                "mod deep; pub use self::deep::{Deep as Renamed}; pub(crate) fn near() {} pub const LEN: usize = 1;",
            ),
            (
                "private/deep.rs",
                "pub struct Deep { pub x: u32, y: u8 } impl Deep { pub fn new() -> Self { todo!() } fn no() {} }",
            ),
            (
                "open/mod.rs",
                "pub enum Which { A, B(u8) } pub trait Does { fn it(&mut self); } #[macro_export] macro_rules! m { () => {} }\
                 bitflags::bitflags! { pub struct Flags: u32 { const ONE = 1; } } made! { by_macro }",
            ),
        ]);
        let wanted = [
            "LEN const usize",
            "Renamed type",
            "Renamed::new fn()->Deep",
            "Renamed::x field u32",
            "m macro",
            "open::Does trait",
            "open::Does::it fn(&mut self)",
            "open::Flags type",
            "open::Flags::ONE const Flags",
            "open::Which type",
            "open::Which::A variant",
            "open::Which::B variant(u8)",
            "prelude::open use",
            "thing use",
        ];
        assert_eq!(lines(&found), wanted);
        assert!(found.in_macros.contains("by_macro") && !found.in_macros.contains("inside"));
    }

    #[test]
    fn signatures_are_written_one_way() {
        let found = read_crate(&[(
            "lib.rs",
            "pub unsafe fn a<'a, T: B + A, const N: usize>(mut x: &'a mut std::vec::Vec<T>, (y, _): [T; N]) -> Slice<'a, T> \
             where T: C {}\npub unsafe fn b<const N: usize, T>(x: &mut Vec<T>, y: [T; N]) -> Slice<T> where T: A + B + C {}\n\
             pub struct S<T>(T); impl<T> S<T> { pub fn c(mut self, of: &Self) -> Option<Self> {} }\n\
             pub fn d(x: <u8 as Into<u16>>::X, y: impl Fn(u8) -> u8 + 'static) {}",
        )]);
        let signature = |name: &str| found.names[name].first().unwrap().as_str();
        assert_eq!(
            signature("a"),
            "unsafe fn<T:A+B+C,const N:usize>(&mut Vec<T>,[T;N])->Slice<T>"
        );
        assert_eq!(signature("a"), signature("b"));
        assert_eq!(signature("S::c"), "fn(self,&S<T>)->Option<S<T>>");
        assert_ne!(signature("a"), signature("d"));
    }
}
