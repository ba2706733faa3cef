use super::*;

const IR: &str = "\
@llvm.used = appending global [3 x ptr] [ptr @__launch_bounds__b_one, ptr @KEPT, ptr @__launch_bounds__a_two], section \"llvm.metadata\"
@KEPT = local_unnamed_addr constant [4 x i8] zeroinitializer, align 4
@__launch_bounds__b_one = constant [8 x i8] c\"\\00\\01\\00\\00\\02\\00\\00\\00\", align 4
@__launch_bounds__a_two = constant [8 x i8] c\"\\80\\00\\00\\00\\00\\00\\00\\00\", align 4
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

fn entry(name: &str, max_threads: u32, min_blocks: u32) -> EntryPoint {
    EntryPoint {
        name: name.to_owned(),
        max_threads,
        min_blocks,
    }
}

#[test]
fn entries_bounds_and_statics_are_found() {
    let prepared = prepare(IR, NvvmArch::Compute86).unwrap();
    assert_eq!(
        prepared.entries,
        [
            entry("a_free", 0, 0),
            entry("a_two", 128, 0),
            entry("b_one", 256, 2)
        ]
    );
    assert_eq!(prepared.statics, ["KEPT"]);
}

#[test]
fn bounds_move_from_statics_to_attributes() {
    let text = prepare(IR, NvvmArch::Compute86).unwrap().text;
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
         \"nvvm.maxntid\"=\"128,1,1\" #24 !dbg !7 {\n"
    ));
    assert!(text.contains("define ptx_kernel void @a_free() unnamed_addr #24 {\n"));
    assert!(text.contains("define internal void @helper() unnamed_addr #2 {\n"));
}

#[test]
fn a_list_of_used_symbols_with_nothing_left_goes() {
    let ir = "\
@llvm.compiler.used = appending global [1 x ptr] [ptr @__launch_bounds__k], section \"llvm.metadata\"
@__launch_bounds__k = constant [2 x i32] [i32 64, i32 0]
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
    assert_eq!(value("[2 x i32] [i32 256, i32 3]"), Some([256, 3]));
    assert_eq!(value("[2 x i32] zeroinitializer"), Some([0, 0]));
    assert_eq!(value("[8 x i8] zeroinitializer"), Some([0, 0]));
    // 0x20 and 0x40 are printed as the characters that they are.
    assert_eq!(
        value("[8 x i8] c\" \\00\\00\\00\\01\\00\\00\\00\""),
        Some([32, 1])
    );
    assert_eq!(
        value("[8 x i8] c\"@\\00\\00\\00\\\\\\00\\00\\00\""),
        Some([64, 92])
    );
    assert_eq!(value("[4 x i8] c\"@\\00\\00\\00\""), None);
    assert_eq!(value("[8 x i8] c\"@\\00"), None);
    assert_eq!(value("[2 x i32] [i32 256]"), None);
}

fn failure(ir: &str) -> String {
    prepare(ir, NvvmArch::Compute86).unwrap_err().to_string()
}

#[test]
fn bounds_that_cannot_be_met_are_refused() {
    let bounds = |threads: u32, blocks: u32| {
        format!(
            "@__launch_bounds__k = constant [2 x i32] [i32 {threads}, i32 {blocks}]\n\
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
        failure("@__launch_bounds__gone = constant [2 x i32] [i32 32, i32 0]\n"),
        "launch bounds of `gone`: a kernel of that name required, given none"
    );
    assert!(failure("@__launch_bounds__k = constant i32 7\n").contains("[u32; 2] required"));
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
