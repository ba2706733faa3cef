//! `warpwright devices`

use serde::Serialize;
use warpwright::{Device, DeviceInfo};
use warpwright_cli::error::Result;

use crate::args::Global;
use crate::report::{self, Answer};

/// A device as JSON.
#[derive(Serialize)]
struct Row {
    device: String,
    name: String,
    memory_bytes: u64,
    multiprocessors: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    compute_capability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver_version: Option<String>,
}

impl Row {
    fn new(info: &DeviceInfo) -> Self {
        let version = |(major, minor)| format!("{major}.{minor}");
        Row {
            device: info.kind.to_string(),
            name: info.name.clone(),
            memory_bytes: info.memory_bytes,
            multiprocessors: info.multiprocessors,
            compute_capability: info.compute_capability.map(version),
            driver_version: info.driver_version.map(version),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{:<8} {}, {:.1} GiB",
            self.device,
            self.name,
            self.memory_bytes as f64 / (1u64 << 30) as f64
        );
        if let Some(capability) = &self.compute_capability {
            text.push_str(&format!(
                ", {} multiprocessors, compute capability {capability}",
                self.multiprocessors
            ));
        }
        if let Some(driver) = &self.driver_version {
            text.push_str(&format!(", driver for CUDA {driver}"));
        }
        text
    }
}

/// Lists the devices, the CUDA devices first.
pub fn run(global: &Global) -> Result<()> {
    let rows: Vec<Row> = Device::list().iter().map(Row::new).collect();
    if global.json {
        return report::json(&Answer {
            value: Some(rows),
            ..Answer::default()
        });
    }
    report::print(|out| {
        rows.iter()
            .try_for_each(|row| writeln!(out, "{}", row.text()))
    })
}
