use super::*;

#[test]
fn docstrings_say_when_the_host_waits() {
    let at = |text: &str| after_adding("host/src/ops/sum.rs", &format!("{text}\n"));
    let found = ["host/src/ops/sum.rs:3: waits"];
    for text in [
        "impl Device {\npub fn g() -> Result<u8> {}\n}",
        "impl Device { /// Adds.\npub unsafe fn g<T>(&self) -> Result<()> where T: A {}\n}",
        // The function before waits, this one does not say.
        "impl Device { /// Waits.\n pub fn f() -> Result<u8> {} pub fn g() -> Result<u8> {}\n}",
        "macro_rules! m { ($($n:ident)*) => { impl Device { $(/// A.\npub fn $n() -> Result<u8> {})* } } }",
    ] {
        assert_eq!(at(text), found, "{text}");
    }
    for text in [
        "impl Device {\n/// Does not wait.\npub fn g() -> Result<u8> {}\n}",
        "impl Device {\n/// Waits.\n#[must_use]\npub fn g(a: A) -> Result<u8> { f(); }\n}",
        "impl Device {\npub fn g(make: impl Fn() -> Result<u8>) -> Request<A> {}\n}",
        "impl Device {\npub(crate) fn g() -> Result<u8> {}\nfn f() -> Result<u8> {}\n}",
        "impl<A> Request<A> {\npub fn g() -> Result<u8> {}\n}",
        "macro_rules! m { ($($n:ident)*) => { impl Device { $($(#[$d])*\n///\n/// Waits.\npub fn $n() -> Result<u8> {})* } } }",
    ] {
        assert_eq!(at(text), [""; 0], "{text}");
    }
}
