//! A launch with a wrong argument list does not compile, and the compiler says why.
#![allow(missing_docs)]

#[test]
fn wrong_arguments_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
