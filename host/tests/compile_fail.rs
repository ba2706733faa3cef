//! A launch with a wrong argument list does not compile, and the compiler says why.

#[test]
fn wrong_arguments_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    if cfg!(feature = "cudarc") {
        cases.compile_fail("tests/compile_fail/cudarc/*.rs");
    }
}
