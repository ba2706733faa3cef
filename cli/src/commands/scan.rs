//! `warpwright scan`

use warpwright::ops::scan::{Operator, Scannable};
use warpwright::{Device, MatrixView};
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::error::{Error, Result};
use warpwright_cli::output::Target;
use warpwright_cli::with_numbers;

use super::{Done, check_variant, failed, families, open, read, shaped, timed};
use crate::args::{Global, Scan, ScanOp};

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

/// Computes the prefixes of an array and writes them.
pub fn run(global: &Global, options: &Scan) -> Result<()> {
    check_variant(&families(Some("scan"))?, global.variant.as_deref())?;
    let target = Target::npy(&options.output)?;
    let device = open(global.device)?;
    let input = read(&options.input)?;
    let variant = global.variant.as_deref();
    let done = with_numbers!("scan", &input, data => scan(&device, data, options, variant));
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
            done!(device, request, variant, prepare(), |it| {
                it.output().and_then(|output| output.to_vec())
            })
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
