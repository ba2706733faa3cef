use super::*;
use crate::tidy::circles::circles_but;

/// The file `a.rs` has `A`, which `b.rs` imports; `c.rs` has `C`, which the module above imports.
#[test]
fn imports_are_followed_to_the_file_that_has_the_item() {
    let with = |one: &str| {
        after_writing([
            (
                "cuda_std/src/lib.rs",
                "mod a; mod b; mod c;\npub use b::*;\npub use c::{C, f as g};\npub struct Root;\n",
            ),
            ("cuda_std/src/a.rs", &format!("{one}\npub struct A;\n")),
            (
                "cuda_std/src/b.rs",
                "use crate::{a, c::{self, *}};\npub struct B(a::A);\n",
            ),
            (
                "cuda_std/src/c.rs",
                "pub struct C;\npub fn f() -> crate::a::A {}\n",
            ),
            (
                "cuda_std/src/a/below.rs",
                "use super::A;\nuse crate::c::C;\npub struct Below;\n",
            ),
        ])
    };
    let found = ["cuda_std/src/a.rs:1: circles"];
    for one in [
        "use crate::b::B;",
        "use super::{Root, b::{B as Other}};",
        "use crate::B;",
        "use crate::C;",
        "use crate::g;",
        "use crate::b::C;",
        "fn f() -> crate::B {}",
        "fn f(x: super::b::B) {}",
        "use crate::b; const X: b::B = 1;",
        "mod inside { use super::super::B; }",
    ] {
        assert_eq!(with(one), found, "{one}");
    }
    for one in [
        "",
        "use crate::Root;",
        // A module by itself, what no file writes out, and another crate.
        "use crate::b;",
        "use crate::b::made_by_a_macro;",
        "use crate::Made;",
        "use ::b::B;",
        "use other::b::B;",
        // Modules inside the file, and what they have.
        "pub mod below; use below::Below;",
        // Tests, and text that is not this module's.
        "#[cfg(test)] use crate::b::B;",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "macro_rules! m { () => { crate::b::B } }",
        "m!($crate::b::B);",
        "// use crate::b::B;",
        "pub(in crate::b::B) fn f() {}",
    ] {
        assert_eq!(with(one), [""; 0], "{one}");
    }
}

#[test]
fn exceptions_for_circles_must_be_needed() {
    let mut tree = sound();
    let a = "use crate::b::B;\npub struct A;\n";
    let b = "use crate::a::A;\npub struct B;\n";
    for (path, text) in [("cuda_std/src/a.rs", a), ("cuda_std/src/b.rs", b)] {
        tree.files.insert(path.to_owned(), text.to_owned());
    }
    let found = |pair| circles_but(&tree, &[(pair, "a reason")]).len();
    assert_eq!(found(["cuda_std/src/b.rs", "cuda_std/src/a.rs"]), 0);
    assert_eq!(found(["cuda_std/*", "cuda_std/*/b.rs"]), 0);
    assert_eq!(found(["cuda_std/src/b.rs", "gpu/*"]), 2);
}
