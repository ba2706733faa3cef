//! The demo's picture.

use std::path::Path;
use std::sync::Arc;

use warpwright::DeviceKind;
use warpwright_cli::array::{Array, Data, Shape};
use warpwright_cli::output::Target;
use warpwright_cli::{input, render};
use warpwright_workloads::sample::Make;

use crate::Result;

/// Grey values, row by row from the top.
pub struct Picture {
    /// The pixels.
    pub pixels: Arc<[u8]>,
    /// The number of pixels of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The origin of the picture.
    pub origin: String,
}

impl Picture {
    /// Makes a synthetic picture whose height is three quarters of its width. The CPU executor runs lane by lane, so its
    /// picture is smaller.
    pub fn drawn(width: Option<u32>, device: DeviceKind) -> Self {
        let suitable = if device == DeviceKind::Cpu {
            3200
        } else {
            12_000
        };
        let width = width.map_or(suitable, |width| width as usize);
        let height = (width * 3 / 4).max(1);
        let pixels = render::landscape(width, height, 2026);
        Self {
            pixels: pixels.into(),
            width,
            height,
            origin: "drawn".to_owned(),
        }
    }

    /// Reads a PNG or JPEG file in gray. Of 16 bits, the upper 8 are used.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let (pixels, shape) = match input::read(path)?.array {
            Array::U8(data) => (data.values().to_vec(), data.shape()),
            Array::U16(data) => (
                data.values()
                    .iter()
                    .map(|value| (value >> 8) as u8)
                    .collect(),
                data.shape(),
            ),
            other => {
                return Err(format!(
                    "{name}: a PNG or JPEG picture required, given {}",
                    other.dtype()
                )
                .into());
            }
        };
        let Shape::Matrix { height, width } = shape else {
            return Err(format!("{name}: a picture required, given a row of numbers").into());
        };
        Ok(Self {
            pixels: pixels.into(),
            width,
            height,
            origin: format!("read from {name}"),
        })
    }

    /// Returns the pixels as the values of a problem.
    pub fn make(&self) -> Make<u8> {
        Make::given(self.pixels.clone())
    }

    /// Returns the size: `3200 x 2400`.
    pub fn size(&self) -> String {
        format!("{} x {}", self.width, self.height)
    }

    /// Writes a PNG file.
    pub fn save(&self, path: &Path) -> Result<()> {
        save(path, self.pixels.to_vec(), self.width, self.height)
    }
}

/// Writes gray values as a PNG file.
pub fn save(path: &Path, pixels: Vec<u8>, width: usize, height: usize) -> Result<()> {
    let data = Data::new(Shape::Matrix { height, width }, pixels)
        .ok_or("a picture with as many pixels as its sides say required")?;
    Target::array(path)?
        .stage_array(&Array::U8(data))?
        .commit()?;
    Ok(())
}
