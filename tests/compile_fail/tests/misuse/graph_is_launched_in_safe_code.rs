//! Nothing ties the arrays of a graph to it: whoever launches it answers for them.

use warpwright::Device;

fn main() {
    let device = Device::cpu();
    let mut graph = device.capture(|| Ok(())).unwrap();
    graph.launch().unwrap();
}
