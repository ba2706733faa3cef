//! Tests with crates of a few lines.

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
