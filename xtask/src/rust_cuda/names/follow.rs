//! Follows paths: to the type of a block of methods, and to public items.

use super::{FROM_ELSEWHERE, Named, Names, Reader};

/// The target of a path.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    Item(usize, usize),
    Elsewhere,
}

impl Reader {
    /// Adds the members of each block to its type.
    pub fn attach(&mut self) {
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
        // Two modules may import all of each other's names.
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
            // A name that is the only part of its own path belongs to another crate.
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

    /// Lists the public items of a module, under the path by which it was reached.
    pub fn list(
        &self,
        at: usize,
        path: &mut Vec<String>,
        names: &mut Names,
        inside: &mut Vec<usize>,
    ) {
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
    // The members of a type are listed only where it is defined.
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
