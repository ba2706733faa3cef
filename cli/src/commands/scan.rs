//! `warpwright scan`

use warpwright::Device;
use warpwright::ops::scan::{Operator, Scannable};
use warpwright_cli::array::{Array, Data, Element};
use warpwright_cli::error::Result;
use warpwright_cli::output::Target;
use warpwright_cli::with_data;

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
    let done = with_data!(&input, data => scan(&device, data, options, variant));
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
    let mut request = device.scan_request(&vector, options.op.operator());
    if options.exclusive {
        request = request.exclusive();
    }
    let done = done!(device, request, variant, prepare(), |it| {
        it.output().and_then(|output| output.to_vec())
    });
    done.map(|values| shaped(data.shape(), values))
}
