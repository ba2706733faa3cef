//! Every device function of `cuda_std` compiles for nvptx64, and `ptxas` takes what comes out. A machine
//! without the device tools gets them: nothing here is skipped.

use cuda_builder::{NvvmArch, assemble::Ptxas};
use warpwright_tests::device_library;

#[test]
fn every_device_function_compiles_and_assembles_for_every_kind_of_architecture() {
    let ptxas = Ptxas::discover().or_else(|_| Ptxas::install(false));
    let ptxas = ptxas.unwrap_or_else(|error| panic!("{error}"));
    // The oldest; the first with `redux`; the first with clusters.
    for arch in [
        NvvmArch::Compute75,
        NvvmArch::Compute80,
        NvvmArch::Compute90,
    ] {
        let path = device_library::build(arch).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let kernel = text
            .split_once(".entry barrier_between_branches(")
            .unwrap()
            .1;
        let kernel = kernel.split_once("\n}").unwrap().0;
        assert_eq!(kernel.matches("bar.sync").count(), 1, "{kernel}");
        let redux = text.contains("redux.sync");
        assert_eq!(redux, arch >= NvvmArch::Compute80, "{arch:?}");
        let assembly = ptxas
            .assemble(&path, arch)
            .unwrap_or_else(|error| panic!("{error}"));
        let entries = text.matches(".visible .entry ").count();
        assert!(entries >= 80, "{entries}");
        assert_eq!(assembly.kernels.len(), entries, "{arch:?}");
    }
}
