//! The command line.

#[path = "args/values.rs"] // The tests have this file as a module of theirs.
mod values;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub use values::{Activation, Condition, DeviceChoice, MapOp, Mask, ResultType, Size};
use warpwright::ops::gemm::Precision;

/// The most bins that the library counts.
const MAX_BINS: u64 = warpwright::ops::histogram::MOST_BINS as u64;

/// GPU kernels written in Rust, for .npy files and pictures.
///
/// Runs on a CUDA device where there is one and on the CPU elsewhere. Results go to standard output or
/// to the file that -o names, everything else to standard error. Exit status: 0 done, 1 failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(
    name = "warpwright",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Args {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Where to compute: auto (a CUDA device, else the CPU), cpu, cuda or cuda:N
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// The rung of the ladder to use, instead of letting the library choose
    #[arg(long, global = true, value_name = "NAME")]
    pub variant: Option<String>,
    /// Print one JSON object: value or output, variant, device, seconds (NaN and infinities as strings)
    #[arg(long, global = true)]
    pub json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the devices that can compute
    Devices,
    /// Transpose a matrix or picture
    Transpose(Transpose),
    /// Reduce an array to one value, or a matrix along an axis
    Reduce(Reduce),
    /// Count the values in each bin
    Histogram(Histogram),
    /// Multiply two matrices
    Matmul(Matmul),
    /// Convolve a vector, or each row of a matrix or picture
    Convolve(Convolve),
    /// Apply a function to every element of an f32 array
    Map(Map),
    /// Keep the elements that meet a condition, in order
    Select(Select),
    /// Keep the first element of each run of equal ones
    Unique(Unique),
    /// Find the runs of equal elements, and their lengths
    RunLengths(RunLengths),
    /// Make an array of random numbers
    Random(Random),
    /// Compute the running sums, products, minima or maxima of an array
    Scan(Scan),
    /// Sort a vector, or find the positions of its elements in order
    Sort(Sort),
    /// Merge two sorted vectors
    Merge(Merge),
    /// Find the places of keys in a sorted vector
    Bounds(Bounds),
    /// Find the greatest or smallest elements of a vector, or of each row of a matrix
    TopK(TopK),
    /// Check every variant against plain Rust on the chosen device
    Verify(Verify),
    /// Check and time every variant, beside the device's copy rate
    Ladder(Ladder),
    /// Measure the errors of the device functions of f32, as a Markdown table
    Ulp(Ulp),
}

/// `transpose IN -o OUT`
#[derive(Debug, ClapArgs)]
pub struct Transpose {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write the result: .npy, .png, .jpg or .jpeg
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
}

/// `sort IN -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Sort {
    /// A .npy, PNG or JPEG file of one axis; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write the result: .npy
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Sort in descending order; equal elements keep their order
    #[arg(long)]
    pub descending: bool,
    /// Write the elements' positions in place of the elements, counted from 0, as i64
    #[arg(long)]
    pub argsort: bool,
}

/// `merge A B [--descending] -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Merge {
    /// A .npy, PNG or JPEG file of one axis, whose elements are sorted; - reads standard input
    ///
    /// That they are is not checked: the result of others has their elements in some order.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// A file of the same type, sorted too; its elements come behind equal ones of A
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Where to write the elements of both: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Merge files that are in descending order
    #[arg(long)]
    pub descending: bool,
}

/// `bounds SORTED KEYS [--upper] [--descending] -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Bounds {
    /// A .npy, PNG or JPEG file of one axis, whose elements are sorted; - reads standard input
    ///
    /// That they are is not checked: the places in others are any up to their number.
    #[arg(value_name = "SORTED")]
    pub sorted: PathBuf,
    /// A file of the same type: the keys, in any order
    #[arg(value_name = "KEYS")]
    pub keys: PathBuf,
    /// Where to write for each key its place, as i64: a .npy file
    ///
    /// That is the number of elements that come before it: the less ones or, with --descending, the greater ones. The places
    /// have the shape of the keys.
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Find the places behind equal elements, not before them
    #[arg(long)]
    pub upper: bool,
    /// Search a file that is in descending order
    #[arg(long)]
    pub descending: bool,
}

/// `top-k IN -k K [--smallest] -o OUT.npy [--positions OUT.npy]`
#[derive(Debug, ClapArgs)]
pub struct TopK {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Number of elements, of the vector or of each row of the matrix
    #[arg(short, value_name = "K")]
    pub k: usize,
    /// Find the smallest elements, the smallest one first, instead of the greatest; NaNs come first in both
    #[arg(long)]
    pub smallest: bool,
    /// Where to write the elements, the greatest one first: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Where to write the elements' positions, counted from 0 in the vector or the row, as i64: a .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub positions: Option<PathBuf>,
}

/// `reduce IN --op OP [--axis AXIS [-o OUT.npy]]`
#[derive(Debug, ClapArgs)]
pub struct Reduce {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// What to compute
    ///
    /// Sums and products of integers are 64-bit and modulo 2^64: they wrap, without an error. Those of floats
    /// have the type of the data; argmin and argmax are the first position, counted from 0 in C order; NaN wins.
    #[arg(long, value_enum)]
    pub op: Op,
    /// Reduce a matrix along this axis: 0 gives one result per column, 1 one per row
    ///
    /// Takes sum, mean, min and max. Sums of integers are 64-bit and exact, and written as i64.
    #[arg(long, value_name = "AXIS", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub axis: Option<u8>,
    /// Where to write the results of --axis: a .npy file
    #[arg(short, long, value_name = "OUT.npy", requires = "axis")]
    pub output: Option<PathBuf>,
}

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Op {
    /// All values added
    Sum,
    /// All values multiplied
    Product,
    /// The smallest value
    Min,
    /// The largest value
    Max,
    /// The position of the smallest value
    Argmin,
    /// The position of the largest value
    Argmax,
    /// The arithmetic mean, in f64; of integers it is right whatever their sum is
    Mean,
}

/// `histogram IN [--bins N] [--range LO HI] [-o OUT.npy] [--plot OUT.svg]`
#[derive(Debug, ClapArgs)]
pub struct Histogram {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Number of bins [default: 256, and 65536 for u16; u32 needs it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BINS))]
    pub bins: Option<u64>,
    /// For f32 and f64: the ends of the binned range, HI belonging to the last bin
    ///
    /// Without it the values are bin numbers and must be u8, u16 or u32.
    // Not `allow_negative_numbers`, which does not take -1e-3 for a number.
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_hyphen_values = true)]
    pub range: Option<Vec<f64>>,
    /// Where to write the counts, as i64: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Where to draw the histogram: an .svg file
    #[arg(long, value_name = "OUT.svg")]
    pub plot: Option<PathBuf>,
}

/// `matmul A B -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Matmul {
    /// A .npy file of i8, F8E4M3, F8E5M2, f16, bf16, f32 or f64 with two axes, M x K; - reads standard input
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// A .npy file of the same type, K x N; - reads standard input
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Where to write the function of alpha * A * B + beta * C + bias: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Factor of the product; with 0, A and B do not count, whatever is in them
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub alpha: f64,
    /// Factor of C [default: 1 with --c]; with 0, C does not count, whatever is in it
    #[arg(long, value_name = "X", requires = "c", allow_hyphen_values = true)]
    pub beta: Option<f64>,
    /// The type of the product: bf16 and f16 for F8E4M3, f32 for f16 and bf16 [default: i32 for i8, f32 for 8-bit floats, else
    /// A's type]
    #[arg(long, value_name = "TYPE")]
    pub result: Option<ResultType>,
    /// A .npy file of the type of sums with one axis of M elements, which multiply the sums of each row: i32 for i8, f64 for
    /// f64, else f32
    #[arg(long, value_name = "SCALES")]
    pub scale_rows: Option<PathBuf>,
    /// A .npy file of that type with one axis of N elements, which multiply the sums of each column
    #[arg(long, value_name = "SCALES")]
    pub scale_columns: Option<PathBuf>,
    /// A .npy file of the product's type, M x N, to be added
    #[arg(long, value_name = "C")]
    pub c: Option<PathBuf>,
    /// A .npy file of the product's type with one axis of N elements, which are added to each row
    #[arg(long, value_name = "BIAS")]
    pub bias: Option<PathBuf>,
    /// The function of each element that is written
    #[arg(long, value_name = "NAME")]
    pub activation: Option<Activation>,
    /// How products of f32 are computed: exact, by fused multiply-adds; bf16x6, on tensor cores by six products of bf16, about
    /// as exact and faster; or tf32, of elements rounded to 10 bits of a fraction, faster still
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub precision: Precision,
    /// Take the transpose of A, which is then K x M
    #[arg(long)]
    pub transpose_a: bool,
    /// Take the transpose of B, which is then N x K
    #[arg(long)]
    pub transpose_b: bool,
}

/// `convolve IN --mask M -o OUT [--boundary B]`
#[derive(Debug, ClapArgs)]
pub struct Convolve {
    /// A .npy file of u8, f32 or f64, a PNG or a JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The mask: weights such as 0.25,0.5,0.25, or a .npy file of f32 or f64 with one axis
    ///
    /// It is not flipped: output i is the sum of M[j] * IN[i - W/2 + j] over its W weights, in the order of
    /// j. Sums are f32 for u8 and f32, and f64 for f64; those of u8 are rounded to the nearest integer, of two
    /// to the even one, and limited to 0 to 255.
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub mask: Mask,
    /// Where to write the result: .npy, .png, .jpg or .jpeg
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// What lies outside of the vector, or of a row
    #[arg(long, value_enum, default_value_t = Outside::Zero)]
    pub boundary: Outside,
}

/// What lies outside of a vector or row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Outside {
    /// Zeros
    Zero,
    /// The nearest element
    Clamp,
    /// The elements from the other end on
    Wrap,
}

/// `map IN --op OP -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Map {
    /// A .npy file of f32; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The function: sin cos exp exp2 ln log2 tanh sqrt abs neg, pow:Y (x to the power Y), scale:A,B (A x + B)
    // Not `allow_negative_numbers`: -1 is no function.
    #[arg(long)]
    pub op: MapOp,
    /// Where to write the result: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
}

/// `scan IN --op OP [--axis AXIS] [--exclusive] [--to TYPE] -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Scan {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// What the elements up to each one combine to
    ///
    /// The results have the shape of the data, whose elements are taken in C order, and without --to its type. Sums and
    /// products of integers wrap, without an error; from the first NaN on everything is NaN.
    #[arg(long, value_enum)]
    pub op: ScanOp,
    /// Leave each element out of its own result: the first one is 0 for sums
    #[arg(long)]
    pub exclusive: bool,
    /// Scan a matrix along this axis: 0 scans each column by itself, 1 each row
    #[arg(long, value_name = "AXIS", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub axis: Option<u8>,
    /// Add up in this wider type, which the sums have: u32 or i64 of u8 and u16, i64 of u32 and i32, f32 of f16 and bf16
    #[arg(long, value_enum, value_name = "TYPE", conflicts_with = "axis")]
    pub to: Option<WideType>,
    /// Where to write the results: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
}

/// A type of sums that is wider than that of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WideType {
    /// 32-bit unsigned integer
    U32,
    /// 64-bit signed integer
    I64,
    /// IEEE 754 binary32
    F32,
}

/// The operator of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScanOp {
    /// The sum
    Sum,
    /// The product
    Product,
    /// The smallest value
    Min,
    /// The largest value
    Max,
}

/// `select IN --where CONDITION -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Select {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Which elements: less:X at-most:X greater:X at-least:X equal:X not-equal:X, within:A,B or outside:A,B (ends included)
    ///
    /// Numbers of the data's type. A NaN meets not-equal and outside alone.
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Condition,
    /// Where to write the elements: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
}

/// `unique IN -o OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct Unique {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write the elements: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
}

/// `run-lengths IN -o OUT.npy --lengths OUT.npy`
#[derive(Debug, ClapArgs)]
pub struct RunLengths {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write the element of each run, in order: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Where to write the number of elements of each run, as i64: a .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub lengths: PathBuf,
}

/// `ulp [--full]`
#[derive(Debug, ClapArgs)]
pub struct Ulp {
    /// Every one of the 2^32 arguments (2^28 pairs of them), instead of a million
    #[arg(long)]
    pub full: bool,
}

/// `random DISTRIBUTION --count N --seed S -o OUT.npy [--plot OUT.svg]`
#[derive(Debug, ClapArgs)]
pub struct Random {
    /// What the numbers are like
    #[arg(value_enum, value_name = "DISTRIBUTION")]
    pub distribution: Distribution,
    /// Number of elements, such as 1000000, 64M or 2^28
    #[arg(long, value_name = "N")]
    pub count: Size,
    /// Which stream of numbers: the same seed gives the same numbers, on every device
    #[arg(long, value_name = "S")]
    pub seed: u64,
    /// What makes the random words
    #[arg(long, value_enum, value_name = "GENERATOR", default_value = "philox")]
    pub generator: GeneratorChoice,
    /// The sequence of the seed's that is taken
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub sequence: u64,
    /// The 32-bit word of the sequence to start at
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: u64,
    /// For normal and log-normal: the mean, of the logarithm for log-normal [default: 0]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub mean: Option<f64>,
    /// For normal and log-normal: the standard deviation, of the logarithm for log-normal [default: 1]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub std: Option<f64>,
    /// For poisson, which needs it: the mean, from 0 to 1000000
    #[arg(long, value_name = "L", allow_hyphen_values = true)]
    pub lambda: Option<f64>,
    /// The elements' type; Poisson numbers are u32 [default: f32]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub dtype: Option<FloatType>,
    /// Where to write the numbers: a .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Where to draw their histogram: an .svg file
    #[arg(long, value_name = "OUT.svg")]
    pub plot: Option<PathBuf>,
}

/// A distribution of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// Evenly over (0, 1]
    Uniform,
    /// Normal, by --mean and --std
    Normal,
    /// e to the power of a normal number
    LogNormal,
    /// Poisson, by --lambda
    Poisson,
}

/// A generator of random words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GeneratorChoice {
    /// Philox4x32-10
    Philox,
    /// XORWOW, 65536 sequences side by side
    Xorwow,
}

/// A type of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FloatType {
    /// IEEE 754 binary32
    F32,
    /// IEEE 754 binary64
    F64,
}

/// `verify [--family F] [--quick] [--orders N]`
#[derive(Debug, ClapArgs)]
pub struct Verify {
    /// Only this family
    #[arg(long, value_name = "FAMILY")]
    pub family: Option<String>,
    /// Only small problems, on a GPU too: for runs under a sanitizer
    #[arg(long)]
    pub quick: bool,
    /// On the CPU, with every check of memory, races and barriers, in N orders of blocks and lanes
    ///
    /// The orders are forward, backward, and the seeds from 1 on; WARPWRIGHT_CHECK chooses other checks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub orders: Option<u64>,
}

/// `ladder [--family F] [--size N]`
#[derive(Debug, ClapArgs)]
pub struct Ladder {
    /// Only this family
    #[arg(long, value_name = "FAMILY")]
    pub family: Option<String>,
    /// Number of elements, such as 1000000, 64M or 2^28 [default: by family and device]
    #[arg(long, value_name = "N")]
    pub size: Option<Size>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_range_may_be_negative() {
        for (low, high) in [("-1", "-0.5"), ("-1e3", "-0.5"), ("-2.5e-3", "1E3")] {
            let line = [
                "warpwright",
                "histogram",
                "x.npy",
                "--range",
                low,
                high,
                "--bins",
                "3",
            ];
            let args = Args::try_parse_from(line).unwrap();
            let Command::Histogram(histogram) = args.command else {
                panic!("not a histogram")
            };
            let expected = vec![low.parse().unwrap(), high.parse().unwrap()];
            assert_eq!(histogram.range, Some(expected));
            assert_eq!(histogram.bins, Some(3));
        }
    }
}
