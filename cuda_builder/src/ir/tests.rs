use super::*;

const IR: &str = "\
@llvm.used = appending global [3 x ptr] [ptr @__launch_bounds__b_one, ptr @KEPT, ptr @__launch_bounds__a_two], section \"llvm.metadata\"
@KEPT = local_unnamed_addr constant [4 x i8] zeroinitializer, align 4
@__launch_bounds__b_one = constant [20 x i8] c\"\\00\\01\\00\\00\\02\\00\\00\\00\\01\\00\\00\\00\\01\\00\\00\\00\\01\\00\\00\\00\", align 4
@__launch_bounds__a_two = constant [20 x i8] c\"\\80\\00\\00\\00\\00\\00\\00\\00\\02\\00\\00\\00\\01\\00\\00\\00\\01\\00\\00\\00\", align 4
@_RNvCs1_1k6HIDDEN = constant [4 x i8] zeroinitializer, align 4
@private_one = private unnamed_addr constant [4 x i8] zeroinitializer, align 4
@elsewhere = external global [4 x i8], align 4

define ptx_kernel void @b_one(ptr noundef readonly captures(none) %0, ptr byval([16 x i8]) align 8 %1) unnamed_addr #23 {
  ret void
}

define ptx_kernel void @a_two(i64 noundef range(i64 0, 5) %0) local_unnamed_addr #24 !dbg !7 {
  ret void
}

define ptx_kernel void @a_free() unnamed_addr #24 {
  ret void
}

define internal void @helper() unnamed_addr #2 {
  ret void
}
";

fn entry(name: &str, max_threads: u32, min_blocks: u32, across: u32) -> EntryPoint {
    EntryPoint {
        name: name.to_owned(),
        max_threads,
        min_blocks,
        cluster: [across, 1, 1],
    }
}

#[test]
fn entries_bounds_and_statics_are_found() {
    let prepared = prepare(IR, NvvmArch::Compute90).unwrap();
    assert_eq!(
        prepared.entries,
        [
            entry("a_free", 0, 0, 1),
            entry("a_two", 128, 0, 2),
            entry("b_one", 256, 2, 1)
        ]
    );
    assert_eq!(prepared.statics, ["KEPT"]);
}

#[test]
fn bounds_move_from_statics_to_attributes() {
    let text = prepare(IR, NvvmArch::Compute90).unwrap().text;
    assert!(!text.contains(LAUNCH_BOUNDS), "{text}");
    assert!(text.contains(
        "@llvm.used = appending global [1 x ptr] [ptr @KEPT], section \"llvm.metadata\"\n"
    ));
    assert!(text.contains(
        "ptr byval([16 x i8]) align 8 %1) unnamed_addr \"nvvm.maxntid\"=\"256,1,1\" \
         \"nvvm.minctasm\"=\"2\" #23 {\n"
    ));
    assert!(text.contains(
        "@a_two(i64 noundef range(i64 0, 5) %0) local_unnamed_addr \
         \"nvvm.maxntid\"=\"128,1,1\" \"nvvm.cluster_dim\"=\"2,1,1\" #24 !dbg !7 {\n"
    ));
    assert!(text.contains("define ptx_kernel void @a_free() unnamed_addr #24 {\n"));
    assert!(text.contains("define internal void @helper() unnamed_addr #2 {\n"));
}

#[test]
fn a_list_of_used_symbols_with_nothing_left_goes() {
    let ir = "\
@llvm.compiler.used = appending global [1 x ptr] [ptr @__launch_bounds__k], section \"llvm.metadata\"
@__launch_bounds__k = constant [5 x i32] [i32 64, i32 0, i32 1, i32 1, i32 1]
define ptx_kernel void @k() {
";
    let prepared = prepare(ir, NvvmArch::Compute86).unwrap();
    assert_eq!(
        prepared.text,
        "define ptx_kernel void @k() \"nvvm.maxntid\"=\"64,1,1\" {\n"
    );
}

#[test]
fn every_form_of_a_value_is_read() {
    let value = |text: &str| launch_bounds_value(&format!("@x = constant {text}, align 4"));
    let all = "[5 x i32] [i32 256, i32 3, i32 2, i32 1, i32 4]";
    assert_eq!(value(all), Some([256, 3, 2, 1, 4]));
    // 0x20, 0x40 and the backslash are printed as the characters that they are.
    let one = "\\01\\00\\00\\00";
    assert_eq!(
        value(&format!(
            "[20 x i8] c\" \\00\\00\\00@\\00\\00\\00\\\\\\00\\00\\00{one}{one}\""
        )),
        Some([32, 64, 92, 1, 1])
    );
    assert_eq!(value("[4 x i8] c\"@\\00\\00\\00\""), None);
    assert_eq!(value("[20 x i8] c\"@\\00"), None);
    assert_eq!(value("[5 x i32] [i32 256]"), None);
    assert_eq!(value("[2 x i32] [i32 256, i32 3]"), None);
}

fn failure(ir: &str) -> String {
    prepare(ir, NvvmArch::Compute86).unwrap_err().to_string()
}

#[test]
fn bounds_that_cannot_be_met_are_refused() {
    let bounds = |threads: u32, blocks: u32| {
        format!(
            "@__launch_bounds__k = constant [5 x i32] [i32 {threads}, i32 {blocks}, i32 1, i32 1, i32 1]\n\
             define ptx_kernel void @k() #1 {{\n"
        )
    };
    assert!(prepare(&bounds(1024, 1), NvvmArch::Compute86).is_ok());
    assert_eq!(
        failure(&bounds(1025, 0)),
        "launch bounds of `k`: at most 1024 threads per block required, given 1025"
    );
    assert!(failure(&bounds(0, 2)).contains("given 0 threads and 2 blocks"));
    assert_eq!(
        failure(
            "@__launch_bounds__gone = constant [5 x i32] [i32 32, i32 0, i32 1, i32 1, i32 1]\n"
        ),
        "launch bounds of `gone`: a kernel of that name required, given none"
    );
    assert!(failure("@__launch_bounds__k = constant i32 7\n").contains("[u32; 5] required"));
}

#[test]
fn clusters_that_no_device_runs_are_refused() {
    let kernel = |cluster: [u32; 3]| {
        let [x, y, z] = cluster;
        format!(
            "@__launch_bounds__k = constant [5 x i32] [i32 0, i32 0, i32 {x}, i32 {y}, i32 {z}]\n\
             define ptx_kernel void @k() #1 {{\n"
        )
    };
    let prepared = prepare(&kernel([1, 2, 4]), NvvmArch::Compute90).unwrap();
    let line = "define ptx_kernel void @k() \"nvvm.cluster_dim\"=\"1,2,4\" #1 {\n";
    assert_eq!(prepared.text, line);
    let refused = |cluster: [u32; 3], arch: NvvmArch| {
        prepare(&kernel(cluster), arch).unwrap_err().to_string()
    };
    for cluster in [[9, 1, 1], [4, 3, 1], [2, 0, 1], [u32::MAX; 3]] {
        assert_eq!(
            refused(cluster, NvvmArch::Compute90),
            format!("cluster of `k`: 1 to 8 blocks required, given {cluster:?}")
        );
    }
    assert_eq!(
        refused([2, 1, 1], NvvmArch::Compute86),
        "cluster of `k`: an architecture from sm_90 on required, given sm_86"
    );
}

#[test]
fn calls_and_declarations_are_no_entries() {
    let ir = "\
declare ptx_kernel void @declared()
define void @plain(ptr %k) {
  call ptx_kernel void @called()
";
    let prepared = prepare(ir, NvvmArch::Compute86).unwrap();
    assert!(prepared.entries.is_empty());
    assert_eq!(prepared.text, ir);
}

#[test]
fn every_function_is_for_the_architecture() {
    let ir = "\
define ptx_kernel void @a() unnamed_addr #0 {
  ret void
}
attributes #0 = { nounwind \"target-cpu\"=\"sm_86\" }
attributes #1 = { inlinehint nounwind \"target-cpu\"=\"sm_30\" \"other\"=\"sm_30\" }
attributes #2 = { nounwind }
";
    let text = prepare(ir, NvvmArch::Compute86).unwrap().text;
    let groups: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("attributes"))
        .collect();
    assert_eq!(
        groups,
        [
            "attributes #0 = { nounwind \"target-cpu\"=\"sm_86\" }",
            "attributes #1 = { inlinehint nounwind \"target-cpu\"=\"sm_86\" \"other\"=\"sm_30\" }",
            "attributes #2 = { nounwind }",
        ]
    );
}
