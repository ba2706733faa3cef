//! Generates Rust-CUDA's `atomic::intrinsics` and `atomic::mid`: one function for each operation, type, ordering and scope,
//! which calls the operations of `cuda_std::atomic::Atomic`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

const TYPES: [&str; 6] = ["u32", "u64", "i32", "i64", "f32", "f64"];
const INTEGERS: [&str; 4] = ["u32", "u64", "i32", "i64"];
const SCOPES: [(&str, &str); 3] = [
    ("block", "Block"),
    ("device", "Device"),
    ("system", "System"),
];
/// The orderings in the names of read-modify-write operations. `volatile` means relaxed.
const ORDERS: [(&str, &str); 5] = [
    ("relaxed", "Relaxed"),
    ("acquire", "Acquire"),
    ("release", "Release"),
    ("acqrel", "AcqRel"),
    ("volatile", "Relaxed"),
];

/// An operation on a value in memory and an operand: its name, and its translation to `Atomic::rmw`.
struct Operation {
    name: &'static str,
    types: &'static [&'static str],
    rmw: &'static str,
    what: &'static str,
}

const OPERATIONS: [Operation; 8] = [
    operation("and", &TYPES, "And", "its bitwise and with `val`"),
    operation("or", &TYPES, "Or", "its bitwise or with `val`"),
    operation("xor", &TYPES, "Xor", "its bitwise exclusive or with `val`"),
    operation("exch", &TYPES, "Exchange", "`val`"),
    operation(
        "add",
        &TYPES,
        "Add",
        "its sum with `val` (integers wrap around)",
    ),
    operation(
        "sub",
        &TYPES,
        "Add",
        "itself minus `val` (integers wrap around)",
    ),
    operation("min", &INTEGERS, "Min", "the lesser of itself and `val`"),
    operation("max", &INTEGERS, "Max", "the greater of itself and `val`"),
];

const fn operation(
    name: &'static str,
    types: &'static [&'static str],
    rmw: &'static str,
    what: &'static str,
) -> Operation {
    Operation {
        name,
        types,
        rmw,
        what,
    }
}

impl Operation {
    /// Returns the operand of `Atomic::rmw` for `val`.
    fn operand(&self, ty: &str) -> TokenStream {
        match (self.name, ty.starts_with('f')) {
            ("sub", true) => quote!(-val),
            ("sub", false) => quote!(val.wrapping_neg()),
            _ => quote!(val),
        }
    }
}

fn ident(name: &str) -> Ident {
    format_ident!("{name}")
}

/// Generates a function that calls an operation of `Atomic` with the ordering and the scope.
fn function(
    doc: &str,
    name: &Ident,
    parameters: &TokenStream,
    result: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    quote! {
        #[doc = #doc]
        ///
        /// # Safety
        /// `ptr` must be valid and aligned. While other lanes may access the memory, all accesses must be atomic.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn #name(#parameters) #result {
            // SAFETY: the caller upholds the contract.
            unsafe { #body }
        }
    }
}

fn how(scope: &str, order: &TokenStream) -> TokenStream {
    let scope = ident(scope);
    quote!(how(#order, Scope::#scope))
}

pub fn intrinsics() -> TokenStream {
    let mut all = TokenStream::new();
    for (scope, variant) in SCOPES {
        for width in ["32", "64"] {
            let ty = format_ident!("u{width}");
            for (name, order) in [
                ("relaxed", "Relaxed"),
                ("acquire", "Acquire"),
                ("volatile", "Relaxed"),
            ] {
                let order = ident(order);
                let how = how(variant, &quote!(Ordering::#order));
                all.extend(function(
                    &format!("Loads {width} bits with {name} ordering and {scope} scope."),
                    &format_ident!("atomic_load_{name}_{width}_{scope}"),
                    &quote!(ptr: *const #ty),
                    &quote!(-> #ty),
                    &quote!(<#ty as Atomic>::load(ptr.cast_mut(), #how)),
                ));
            }
            for (name, order) in [
                ("relaxed", "Relaxed"),
                ("release", "Release"),
                ("volatile", "Relaxed"),
            ] {
                let order = ident(order);
                let how = how(variant, &quote!(Ordering::#order));
                all.extend(function(
                    &format!("Stores {width} bits with {name} ordering and {scope} scope."),
                    &format_ident!("atomic_store_{name}_{width}_{scope}"),
                    &quote!(ptr: *mut #ty, val: #ty),
                    &quote!(),
                    &quote!(<#ty as Atomic>::store(ptr, val, #how)),
                ));
            }
        }
        for (order, ordering) in ORDERS {
            let ordering = ident(ordering);
            let how = how(variant, &quote!(Ordering::#ordering));
            for operation in &OPERATIONS {
                for ty in operation.types {
                    let (name, rmw) = (operation.name, ident(operation.rmw));
                    let (operand, t) = (operation.operand(ty), ident(ty));
                    all.extend(function(
                        &format!(
                            "Sets the value to {} and returns the previous value ({order}, {scope} scope).",
                            operation.what
                        ),
                        &format_ident!("atomic_fetch_{name}_{order}_{ty}_{scope}"),
                        &quote!(ptr: *mut #t, val: #t),
                        &quote!(-> #t),
                        &quote!(<#t as Atomic>::rmw(Rmw::#rmw, ptr, #operand, #how)),
                    ));
                }
            }
            for ty in INTEGERS {
                let t = ident(ty);
                for (name, what, step) in [
                    ("inc", "Increments", quote!(1)),
                    ("dec", "Decrements", quote!(!0)),
                ] {
                    all.extend(function(
                        &format!("{what} the value, wrapping around, and returns the previous value ({order}, {scope} scope)."),
                        &format_ident!("atomic_fetch_{name}_{order}_{ty}_{scope}"),
                        &quote!(ptr: *mut #t),
                        &quote!(-> #t),
                        &quote!(<#t as Atomic>::rmw(Rmw::Add, ptr, #step, #how)),
                    ));
                }
            }
            for ty in TYPES {
                let t = ident(ty);
                all.extend(function(
                    &format!(
                        "Sets the value to `second_val` if its bits equal those of `first_val`. Returns the previous value ({order}, {scope} scope)."
                    ),
                    &format_ident!("atomic_fetch_cas_{order}_{ty}_{scope}"),
                    &quote!(ptr: *mut #t, first_val: #t, second_val: #t),
                    &quote!(-> #t),
                    &exchange(&t, &quote!(first_val, second_val), &how),
                ));
            }
        }
    }
    all
}

/// Generates a compare-and-exchange that returns the previous value.
fn exchange(ty: &Ident, values: &TokenStream, how: &TokenStream) -> TokenStream {
    quote!(match <#ty as Atomic>::cas(ptr, #values, #how) { Ok(old) | Err(old) => old })
}

pub fn mid() -> TokenStream {
    let mut all = TokenStream::new();
    let order = quote!(ordering);
    for (scope, variant) in SCOPES {
        let how = how(variant, &order);
        for width in ["32", "64"] {
            let ty = format_ident!("u{width}");
            all.extend(function(
                &format!("Loads {width} bits with {scope} scope.\n\n# Panics\nPanics for `Release` and `AcqRel`."),
                &format_ident!("atomic_load_{width}_{scope}"),
                &quote!(ptr: *mut #ty, ordering: Ordering),
                &quote!(-> #ty),
                &quote!(<#ty as Atomic>::load(ptr, #how)),
            ));
            all.extend(function(
                &format!("Stores {width} bits with {scope} scope.\n\n# Panics\nPanics for `Acquire` and `AcqRel`."),
                &format_ident!("atomic_store_{width}_{scope}"),
                &quote!(ptr: *mut #ty, ordering: Ordering, val: #ty),
                &quote!(),
                &quote!(<#ty as Atomic>::store(ptr, val, #how)),
            ));
        }
        for operation in &OPERATIONS {
            for ty in operation.types {
                let (name, rmw) = (operation.name, ident(operation.rmw));
                let (operand, t) = (operation.operand(ty), ident(ty));
                all.extend(function(
                    &format!(
                        "Sets the value to {} and returns the previous value ({scope} scope).",
                        operation.what
                    ),
                    &format_ident!("atomic_fetch_{name}_{ty}_{scope}"),
                    &quote!(ptr: *mut #t, ordering: Ordering, val: #t),
                    &quote!(-> #t),
                    &quote!(<#t as Atomic>::rmw(Rmw::#rmw, ptr, #operand, #how)),
                ));
            }
        }
        for ty in TYPES {
            let t = ident(ty);
            all.extend(function(
                &format!(
                    "Sets the value to `new` if its bits equal those of `current`. Returns the previous value ({scope} scope)."
                ),
                &format_ident!("atomic_compare_and_swap_{ty}_{scope}"),
                &quote!(ptr: *mut #t, current: #t, new: #t, ordering: Ordering),
                &quote!(-> #t),
                &exchange(&t, &quote!(current, new), &how),
            ));
        }
    }
    all
}
