//! A slice of the host that a view may write is nobody else's.

use warpwright::Device;

fn main() {
    let device = Device::cpu();
    let mut values = [1.0_f32, 2.0];
    let mut view = device.host_view_mut(&mut values).unwrap();
    values[0] = 3.0;
    view.clear().unwrap();
}
