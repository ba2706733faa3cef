use std::time::Instant;
use warpwright::Device;
fn main() -> warpwright::Result<()> {
    let device = match std::env::args().nth(1).as_deref() { Some("cuda") => Device::cuda(0)?, _ => Device::cpu() };
    println!("{:?}", Device::list());
    for n in [0usize, 1, 2, 31, 33, 255, 256, 257, 1000, 4097, 100_003] {
        let v: Vec<i32> = (0..n as i32).map(|i| (i * 7919) % 1013 - 500).collect();
        let d = device.upload(&v)?;
        let want: i64 = v.iter().map(|x| *x as i64).sum();
        for variant in warpwright::families()[1].variants {
            let got = device.reduce(&d).variant(variant.name).sum()?;
            if got != want { println!("{} n {n}: {got} want {want}", variant.name); }
            let got = device.reduce(&d).variant(variant.name).argmin()?;
            let want = v.iter().enumerate().min_by_key(|(i, x)| (**x, *i)).map(|(i, _)| i as u64);
            if got != want { println!("{} argmin n {n}: {got:?} want {want:?}", variant.name); }
        }
    }
    for (h, w) in [(1, 1), (1, 5), (3, 2), (33, 65), (100, 37)] {
        let v: Vec<u16> = (0..h * w).map(|i| i as u16).collect();
        let m = device.upload_matrix(&v, h, w)?;
        for variant in warpwright::families()[0].variants {
            let got = device.transpose_request(&m).variant(variant.name).run()?.to_vec()?;
            let want: Vec<u16> = (0..w).flat_map(|x| { let v = &v; (0..h).map(move |y| v[y * w + x]) }).collect();
            if got != want { println!("{} {h}x{w}", variant.name); }
        }
    }
    for n in [0usize, 1, 15, 17, 5000, 70001] {
        let v: Vec<u8> = (0..n).map(|i| (i * i % 251) as u8).collect();
        let d = device.upload(&v)?;
        for bins in [1usize, 100, 256] {
            for offset in [0, 1, 7] {
            let s = d.slice(offset.min(n)..)?;
            let want = device.histogram_request(s, bins).variant("serial").run()?;
            for variant in warpwright::families()[2].variants {
                let got = device.histogram_request(s, bins).variant(variant.name).run()?;
                if got != want { println!("{} n {n} bins {bins}", variant.name); }
            }}
        }
    }
    let n = 1 << 24;
    let d = device.upload(&vec![1.0f32; n])?;
    let t = Instant::now();
    println!("{} in {:?}", device.sum(&d)?, t.elapsed());
    Ok(())
}
