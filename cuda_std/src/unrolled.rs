//! A macro that unrolls loops.

/// Unrolls a loop in the source: `unrolled!(i < N => { … })` runs the block for `i` = 0, 1, … below `N`, on the GPU each time
/// with `i` as a constant.
///
/// An array stays in registers only if every index is a constant, and the compiler does not unroll large loop bodies. `N` must
/// be known when the body is compiled, after inlining, and at most 8; `unrolled!(i < N of 4 => { … })`, `of 16` and `of 32`
/// have other limits. Each expansion has as many copies of the block as the limit, of which those from `N` on are removed: take
/// the lowest limit that suffices, above all in nested loops. With debug assertions a larger `N` is a panic.
///
/// For the CPU executor the expansion is a loop, because copies take longer to compile. `break` and `continue` of a loop around
/// the macro need the loop's label; without one they are an error of the compiler on both:
///
/// ```compile_fail,E0695
/// for _ in 0..4 {
///     cuda_std::unrolled!(i < 2 => { break; });
/// }
/// ```
///
/// ```
/// use cuda_std::unrolled;
///
/// fn sum<const N: usize>(values: [u32; N]) -> u32 {
///     let mut sum = 0;
///     unrolled!(i < N of 16 => { sum += values[i]; });
///     sum
/// }
/// assert_eq!(sum([1; 12]), 12);
/// ```
#[macro_export]
macro_rules! unrolled {
    ($i:ident < $n:expr => $body:block) => {
        $crate::unrolled!(@ 8, $i, $n, $body, 0 1 2 3 4 5 6 7)
    };
    ($i:ident < $n:tt of 4 => $body:block) => {
        $crate::unrolled!(@ 4, $i, $n, $body, 0 1 2 3)
    };
    ($i:ident < $n:tt of 16 => $body:block) => {
        $crate::unrolled!(@ 16, $i, $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($i:ident < $n:tt of 32 => $body:block) => {
        $crate::unrolled!(@ 32, $i, $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@ $limit:literal, $i:ident, $n:expr, $body:block, $($at:literal)*) => {
        debug_assert!($n <= $limit, "more turns than this form of `unrolled!` has");
        // In a block with a label, `break` and `continue` need one: without it they would mean the loop on the CPU, and one
        // around the macro on the GPU.
        #[cfg(target_arch = "nvptx64")]
        {
            $(
                if $at < $n {
                    let $i: usize = $at;
                    #[allow(unused_labels)]
                    'turn: { $body }
                }
            )*
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut turn: usize = 0;
            while turn < $n {
                let $i: usize = turn;
                #[allow(unused_labels)]
                'turn: { $body }
                turn += 1;
            }
        }
    };
}
