//! Every row of the tables of tuning, as the sweep runs it, on the CPU executor at a tiny size.

use warpwright::Device;
use warpwright_bench::record::Outcome;
use warpwright_bench::run::{Bench, Mode, Scale, families, peers::Peers, tune::Tuning};

#[test]
fn every_row_of_the_tables_of_tuning_is_right_at_a_tiny_size() {
    let device = Device::cpu();
    for family in Tuning::families() {
        let peers = Peers::new(device.clone(), false);
        let rows = Tuning::new(&device, &[], "all").unwrap();
        let mut bench =
            Bench::new(device.clone(), Scale::Tiny, Mode::Verify, peers, |_| {}).sweep(rows);
        families::Family::called(family).unwrap().run(&mut bench);
        let rows = bench.into_rows();
        assert!(!rows.is_empty(), "{family}");
        for row in rows {
            assert!(row.peers().count() > 1, "{}", row.name());
            for peer in row.peers() {
                assert_eq!(
                    peer.outcome,
                    Outcome::Verified,
                    "{}: {}",
                    row.name(),
                    peer.name
                );
            }
        }
    }
}
