//! The command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// The most bins that the library counts.
const MAX_BINS: u64 = u32::MAX as u64 - 1;

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
    /// Make an array of random numbers
    Random(Random),
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

/// `reduce IN --op OP [--axis AXIS [-o OUT.npy]]`
#[derive(Debug, ClapArgs)]
pub struct Reduce {
    /// A .npy, PNG or JPEG file; - reads standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// What to compute
    ///
    /// Sums and products of unsigned integers are 64-bit and wrap, those of floats have the type of the
    /// data; argmin and argmax are the first position, counted from 0 in C order; NaN wins.
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
    /// The arithmetic mean, in f64
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
    /// A .npy file of f32 or f64 with two axes, M x K; - reads standard input
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// A .npy file of the same type, K x N; - reads standard input
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Where to write alpha * A * B + beta * C: a .npy file
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
    /// A .npy file of the same type, M x N, to be added
    #[arg(long, value_name = "C")]
    pub c: Option<PathBuf>,
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

/// A mask: weights, or the file that holds them.
#[derive(Debug, Clone, PartialEq)]
pub enum Mask {
    /// At least one weight.
    Weights(Vec<f64>),
    /// A file.
    File(PathBuf),
}

impl FromStr for Mask {
    type Err = String;

    /// Numbers with commas between them, else the name of a `.npy` file.
    fn from_str(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
            return Ok(Mask::File(path.to_owned()));
        }
        let weights: Result<Vec<f64>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        weights.map(Mask::Weights).map_err(|_| {
            "weights such as 0.25,0.5,0.25 or the name of a .npy file are needed".to_owned()
        })
    }
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

/// A function to map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapOp {
    /// The sine, in radians.
    Sin,
    /// The cosine, in radians.
    Cos,
    /// `e^x`.
    Exp,
    /// `2^x`.
    Exp2,
    /// The natural logarithm.
    Ln,
    /// The logarithm to base 2.
    Log2,
    /// The hyperbolic tangent.
    Tanh,
    /// The square root.
    Sqrt,
    /// The absolute value.
    Abs,
    /// The opposite.
    Neg,
    /// The power with this exponent.
    Pow(f32),
    /// The first number times `x`, and the second added.
    Scale(f32, f32),
}

impl FromStr for MapOp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<f32>()
                .map_err(|_| format!("`{text}` is not a number"))
        };
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let op = match (name, parameters) {
            ("sin", None) => MapOp::Sin,
            ("cos", None) => MapOp::Cos,
            ("exp", None) => MapOp::Exp,
            ("exp2", None) => MapOp::Exp2,
            ("ln", None) => MapOp::Ln,
            ("log2", None) => MapOp::Log2,
            ("tanh", None) => MapOp::Tanh,
            ("sqrt", None) => MapOp::Sqrt,
            ("abs", None) => MapOp::Abs,
            ("neg", None) => MapOp::Neg,
            ("pow", Some(exponent)) => MapOp::Pow(number(exponent)?),
            ("scale", Some(numbers)) => {
                let (factor, offset) = numbers
                    .split_once(',')
                    .ok_or("scale needs two numbers, such as scale:2,0.5")?;
                MapOp::Scale(number(factor)?, number(offset)?)
            }
            _ => {
                return Err(
                    "sin cos exp exp2 ln log2 tanh sqrt abs neg pow:Y scale:A,B are known"
                        .to_owned(),
                );
            }
        };
        Ok(op)
    }
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

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device that works, else the CPU.
    Auto,
    /// The CPU executor.
    Cpu,
    /// The CUDA device of this ordinal.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "auto, cpu, cuda and cuda:N are known".to_owned();
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                if !ordinal.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(wrong());
                }
                ordinal.parse().map(DeviceChoice::Cuda).map_err(|_| wrong())
            }
        }
    }
}

/// A number of elements, at least 1: `1000`, `4K`, `64M`, `1G` (powers of 1024), `2^28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = if let Some((base, exponent)) = text.split_once('^') {
            base.parse::<usize>()
                .ok()
                .zip(exponent.parse().ok())
                .and_then(|(b, e)| b.checked_pow(e))
        } else {
            let (digits, shift) = match text.char_indices().last() {
                Some((at, 'K' | 'k')) => (&text[..at], 10),
                Some((at, 'M' | 'm')) => (&text[..at], 20),
                Some((at, 'G' | 'g')) => (&text[..at], 30),
                _ => (text, 0),
            };
            digits
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_mul(1 << shift))
        };
        match size {
            Some(size) if size > 0 => Ok(Size(size)),
            _ => Err("a number of at least 1 is needed, such as 1000000, 64M or 2^28".to_owned()),
        }
    }
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
    fn devices_are_spelled_in_few_ways() {
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("cuda:12".parse(), Ok(DeviceChoice::Cuda(12)));
        for wrong in [
            "",
            "gpu",
            "CPU",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:x",
            "cuda:99999999999999999999",
        ] {
            // An empty ordinal is no number.
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_in_three_ways() {
        assert_eq!("1000".parse(), Ok(Size(1000)));
        assert_eq!("4K".parse(), Ok(Size(4096)));
        assert_eq!("2^28".parse(), Ok(Size(1 << 28)));
        for wrong in ["", "0", "-1", "M", "2^99", "1.5", "2^", "99999999999999G"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mask_is_a_list_or_a_file() {
        assert_eq!("2".parse(), Ok(Mask::Weights(vec![2.0])));
        assert_eq!(
            "-0.25, 5e-1,0.25".parse(),
            Ok(Mask::Weights(vec![-0.25, 0.5, 0.25]))
        );
        assert_eq!("a/M.NPY".parse(), Ok(Mask::File(PathBuf::from("a/M.NPY"))));
        for wrong in ["", ",", "1,,2", "1;2", "mask.png", "1,2,x"] {
            assert!(wrong.parse::<Mask>().is_err(), "{wrong}");
        }
        let line = "warpwright convolve x.npy --mask -1,2 -o y.npy --boundary wrap";
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        let Command::Convolve(convolve) = args.command else {
            panic!("not a convolution")
        };
        assert_eq!(convolve.mask, Mask::Weights(vec![-1.0, 2.0]));
        assert_eq!(convolve.boundary, Outside::Wrap);
    }

    #[test]
    fn functions_are_read_with_their_numbers() {
        assert_eq!("sin".parse(), Ok(MapOp::Sin));
        assert_eq!("pow:-0.5".parse(), Ok(MapOp::Pow(-0.5)));
        assert_eq!("scale:2,-1e3".parse(), Ok(MapOp::Scale(2.0, -1000.0)));
        for wrong in [
            "",
            "sine",
            "sin:1",
            "pow",
            "pow:",
            "pow:x",
            "scale:1",
            "scale:1,2,3",
        ] {
            assert!(wrong.parse::<MapOp>().is_err(), "{wrong}");
        }
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
