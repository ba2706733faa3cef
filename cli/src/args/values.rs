//! The values of options that have their own syntax.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;

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

    /// Parses numbers separated by commas; any other text is the name of a `.npy` file.
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

/// A condition that elements meet. The numbers are still text, because the data says which type they have.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Below a number.
    Less(String),
    /// Up to a number.
    AtMost(String),
    /// Above a number.
    Greater(String),
    /// From a number up.
    AtLeast(String),
    /// Equal to a number.
    Equal(String),
    /// Any other number.
    NotEqual(String),
    /// Between two numbers, or one of them.
    Within(String, String),
    /// Not between two numbers, nor one of them.
    Outside(String, String),
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "less at-most greater at-least equal not-equal, such as less:3, and within outside, such as \
                     within:1,5";
        let wrong = || format!("no such condition; there are {known}");
        let (name, numbers) = text.split_once(':').ok_or_else(wrong)?;
        let one = |condition: fn(String) -> Self| condition(numbers.trim().to_owned());
        let two = |condition: fn(String, String) -> Self| {
            let (low, high) = numbers.split_once(',').ok_or_else(wrong)?;
            Ok(condition(low.trim().to_owned(), high.trim().to_owned()))
        };
        match name {
            "less" => Ok(one(Self::Less)),
            "at-most" => Ok(one(Self::AtMost)),
            "greater" => Ok(one(Self::Greater)),
            "at-least" => Ok(one(Self::AtLeast)),
            "equal" => Ok(one(Self::Equal)),
            "not-equal" => Ok(one(Self::NotEqual)),
            "within" => two(Self::Within),
            "outside" => two(Self::Outside),
            _ => Err(wrong()),
        }
    }
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
    /// The negative.
    Neg,
    /// The power with this exponent.
    Pow(f32),
    /// The product of `x` and the first number, plus the second.
    Scale(f32, f32),
}

impl FromStr for MapOp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse::<f32>();
            let number = number.map_err(|_| format!("`{text}` is not a number"))?;
            // An infinity must be written as such; a number that overflows is refused.
            if number.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
                return Err(format!("`{text}` is larger than an f32 can be"));
            }
            Ok(number)
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

/// The choice of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device that works, else the CPU.
    Auto,
    /// The CPU executor.
    Cpu,
    /// The CUDA device with this ordinal.
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

/// A type that a product may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ResultType {
    /// 16 bits with 8 of a fraction
    Bf16,
    /// 16 bits with 11 of a fraction
    F16,
    /// 32 bits: the sums, not rounded
    F32,
}

/// The function of each element of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Activation {
    /// 0 for what is below 0
    Relu,
    /// x times the distribution function of the standard normal distribution at x
    Gelu,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Args, Command, Outside};
    use super::*;

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
            // An empty ordinal is not a number.
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
        assert!("scale:1e99,0".parse::<MapOp>().is_err());
        assert_eq!("pow:inf".parse(), Ok(MapOp::Pow(f32::INFINITY)));
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
}
