//! Every case, verified on the CPU executor at a tiny size, so that none rots where there is no GPU.

use warpwright::Device;
use warpwright_bench::record::Outcome;
use warpwright_bench::run::{Bench, Mode, Scale, families, peers::Peers};

fn bench(scale: Scale, mode: Mode) -> Bench {
    let device = Device::cpu();
    Bench::new(
        device.clone(),
        scale,
        mode,
        Peers::new(device, false),
        |_| {},
    )
}

#[test]
fn every_case_is_right_at_a_tiny_size() {
    for family in families::all() {
        let mut bench = bench(Scale::Tiny, Mode::Verify);
        family.run(&mut bench);
        let rows = bench.into_rows();
        assert!(!rows.is_empty(), "{}", family.name());
        for row in rows {
            let ours = row.ours().unwrap();
            assert_eq!(ours.outcome, Outcome::Verified, "{}", row.name());
        }
    }
}

#[test]
fn the_cases_are_listed_without_being_run() {
    for scale in [Scale::Full, Scale::Quick] {
        for family in families::all() {
            let name = family.name();
            let mut bench = bench(scale, Mode::List);
            family.run(&mut bench);
            let rows = bench.into_rows();
            assert!(
                rows.iter()
                    .all(|row| row.family == name && row.results.is_empty())
            );
            let mut names: Vec<_> = rows.iter().map(|row| row.name()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), rows.len(), "{name}: two cases with one name");
        }
    }
}
