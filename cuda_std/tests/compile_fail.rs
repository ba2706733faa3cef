//! What `#[kernel]` refuses, and how it says so.

#[test]
fn misuse_of_kernel_is_a_compile_error() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
