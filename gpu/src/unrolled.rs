//! A macro that unrolls loops.

/// Unrolls `$body` for `$i` = 0, 1, … below `$n`, which is at most 8. An array that a loop indexes stays in registers only if
/// the loop is unrolled, and the compiler does not unroll loops as large as these. `$n of 16` is at most 16, and
/// `$n of 4` at most 4.
macro_rules! unrolled {
    ($i:ident < $n:tt of 16 => $body:block) => {
        unrolled!(@ $i, $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($i:ident < $n:tt of 4 => $body:block) => {
        unrolled!(@ $i, $n, $body, 0 1 2 3)
    };
    ($i:ident < $n:expr => $body:block) => {
        unrolled!(@ $i, $n, $body, 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident, $n:expr, $body:block, $($at:literal)*) => { $(
        if $at < $n {
            let $i: usize = $at;
            $body
        }
    )* };
}
pub(crate) use unrolled;
