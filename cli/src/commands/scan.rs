//! `warpwright scan`

use warpwright::ops::scan::{Operator, Scannable, Widen};
use warpwright::{Device, MatrixView};
use warpwright_cli::array::{Array, Data, Dtype, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_numbers;

use super::{Done, failed, open, read, shaped, timed, variant};
use crate::args::{Global, Scan, ScanOp, WideType};

impl ScanOp {
    /// Returns the library's operator.
    fn operator(self) -> Operator {
        match self {
            ScanOp::Sum => Operator::Sum,
            ScanOp::Product => Operator::Product,
            ScanOp::Min => Operator::Min,
            ScanOp::Max => Operator::Max,
        }
    }
}

impl WideType {
    fn dtype(self) -> Dtype {
        match self {
            WideType::U32 => Dtype::U32,
            WideType::I64 => Dtype::I64,
            WideType::F32 => Dtype::F32,
        }
    }

    /// Returns the names of the types whose sums can have this type.
    fn taken(self) -> &'static str {
        match self {
            WideType::U32 => "u8 and u16",
            WideType::I64 => "u8, u16, u32 and i32",
            WideType::F32 => "f16 and bf16",
        }
    }
}

/// Computes the prefixes of an array and writes them.
pub fn run(global: &Global, options: &Scan) -> Result<()> {
    let variant = variant(global, "scan")?;
    if let Some(to) = options.to
        && options.op != ScanOp::Sum
    {
        return Err(Error::usage(format!(
            "scan: --to {} takes --op sum, given {}: leave --to out",
            to.dtype(),
            options.op.operator()
        )));
    }
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let done = match options.to {
        Some(to) => wide(&device, &input, to, options.exclusive, variant),
        None => with_numbers!("scan", &input, data => scan(&device, data, options, variant)),
    };
    let done = done.map_err(|error| error.within(options.input.display()))?;
    drop(input);
    done.write(global, &device, &target, "")
}

fn scan<T: Element + Scannable>(
    device: &Device,
    data: &Data<T>,
    options: &Scan,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let vector = device.upload(data.values()).map_err(failed)?;
    let operator = options.op.operator();
    macro_rules! scanned {
        ($request:expr) => {{
            let mut request = $request;
            if options.exclusive {
                request = request.exclusive();
            }
            done!(device, request, variant)
        }};
    }
    let done = match (options.axis, data.shape()) {
        (None, _) => scanned!(device.scan_request(&vector, operator)),
        (Some(_), Shape::Vector(_)) => {
            let error = "--axis needs two axes and the array has one: leave it out";
            return Err(Error::failed(error));
        }
        (Some(axis), Shape::Matrix { height, width }) => {
            let matrix = MatrixView::from_vector(vector.view(), height, width).map_err(failed)?;
            match axis {
                0 => scanned!(device.scan_columns_request(matrix, operator)),
                _ => scanned!(device.scan_rows_request(matrix, operator)),
            }
        }
    };
    done.map(|values| shaped(data.shape(), values))
}

/// Adds up the elements in a wider type.
fn wide(
    device: &Device,
    input: &Array,
    to: WideType,
    is_exclusive: bool,
    variant: Option<&str>,
) -> Result<Done<Array>> {
    let sums = Sums {
        device,
        is_exclusive,
        variant,
    };
    // Files have no u64. The bits of a sum modulo 2^64 are the same.
    let signed = |sum: u64| sum as i64;
    match (to, input) {
        (WideType::U32, Array::U8(data)) => sums.of(data, |sum: u32| sum),
        (WideType::U32, Array::U16(data)) => sums.of(data, |sum: u32| sum),
        (WideType::I64, Array::U8(data)) => sums.of(data, signed),
        (WideType::I64, Array::U16(data)) => sums.of(data, signed),
        (WideType::I64, Array::U32(data)) => sums.of(data, signed),
        (WideType::I64, Array::I32(data)) => sums.of(data, |sum: i64| sum),
        (WideType::F32, Array::F16(data)) => sums.of(data, |sum: f32| sum),
        (WideType::F32, Array::Bf16(data)) => sums.of(data, |sum: f32| sum),
        (to, other) => Err(Error::failed(format!(
            "scan --to {} takes {} and the array is {}: leave --to out, or convert the array",
            to.dtype(),
            to.taken(),
            other.dtype()
        ))),
    }
}

/// Sums of a wider type, without their elements.
struct Sums<'a> {
    device: &'a Device,
    is_exclusive: bool,
    variant: Option<&'a str>,
}

impl Sums<'_> {
    /// Adds up elements in the type `Out`. `written` converts a sum to one that a file can hold.
    fn of<T, Out, S>(&self, data: &Data<T>, written: impl Fn(Out) -> S) -> Result<Done<Array>>
    where
        T: Element + Widen<Out>,
        Out: warpwright::Element,
        S: Element,
    {
        let vector = self.device.upload(data.values()).map_err(failed)?;
        let mut request = self.device.cumulative_sum_wide_request(&vector);
        if self.is_exclusive {
            request = request.exclusive();
        }
        let done = done!(self.device, request, self.variant);
        done.map(|sums| shaped(data.shape(), sums.into_iter().map(written).collect()))
    }
}
