//! Tests of graphs, by capture and node by node.

use cust::error::CudaError;
use cust::graph::{
    CaptureMode, CaptureStatus, Graph, GraphCreationFlags, GraphNode, GraphNodeType, UpdateError,
};
use cust::memory::{AsyncCopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::{kernel_invocation, launch};

use crate::common::mock;

const PTX: &str = "
.visible .entry first(.param .u64 x) { ret; }
.visible .entry second(.param .u32 n, .param .u8 flag) { ret; }
";

#[test]
fn what_is_captured_is_done_when_the_graph_is_launched() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let from = DeviceBuffer::from_slice(&[1_u32, 2, 3]).expect("a buffer");
    let mut to = DeviceBuffer::from_slice(&[0_u32; 3]).expect("a buffer");
    assert_eq!(stream.capture_status(), Ok(CaptureStatus::None));
    stream
        .begin_capture(CaptureMode::ThreadLocal)
        .expect("begun");
    assert_eq!(stream.capture_status(), Ok(CaptureStatus::Active));
    // SAFETY: all resources live until the graph was launched; the mock driver runs no kernel.
    unsafe {
        to.set_zero_async(&stream).expect("captured");
        launch!(module.first<<<4, 64, 0, stream>>>(from.as_device_ptr())).expect("captured");
        to.async_copy_from(&from, &stream).expect("captured");
    }
    let graph = stream.end_capture().expect("a graph");
    assert_eq!(stream.end_capture().err(), Some(CudaError::IllegalState));
    stream.synchronize().expect("nothing to do");
    assert_eq!(to.as_host_vec(), Ok(vec![0; 3]), "nothing was done yet");
    let nodes = graph.nodes().expect("nodes");
    let types: Vec<_> = nodes
        .iter()
        .map(|node| graph.node_type(*node).expect("a type"))
        .collect();
    assert_eq!(
        types,
        [
            GraphNodeType::Memset,
            GraphNodeType::KernelInvocation,
            GraphNodeType::Memcpy
        ]
    );
    assert_eq!(
        graph.edges(),
        Ok(vec![(nodes[0], nodes[1]), (nodes[1], nodes[2])])
    );
    let shape = graph.kernel_node_shape(nodes[1]).expect("a shape");
    assert_eq!((shape.grid_dim, shape.block_dim), (4.into(), 64.into()));
    assert_eq!(
        graph.kernel_node_shape(nodes[0]).err(),
        Some(CudaError::InvalidValue)
    );
    // SAFETY: the module is loaded.
    let mut exec = unsafe { graph.instantiate() }.expect("a graph to launch");
    assert!(Graph::drop(graph).is_ok());
    for _ in 0..2 {
        to.set_8(9).expect("set");
        // SAFETY: all resources are valid.
        let (result, calls) = mock.driver.calls_of(|| unsafe { exec.launch(&stream) });
        assert_eq!(result, Ok(()));
        assert_eq!(
            calls,
            ["cuGraphLaunch [first [4, 1, 1] [64, 1, 1] 0 (12B+0)]"]
        );
        stream.synchronize().expect("done");
        assert_eq!(to.as_host_vec(), Ok(vec![1, 2, 3]));
    }
    drop((exec, from, to, module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn nodes_are_added_after_others_and_launched_in_order() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let (first, second) = (
        module.get_function("first").expect("a kernel"),
        module.get_function("second").expect("a kernel"),
    );
    let mut graph = Graph::new(GraphCreationFlags::NONE).expect("a graph");
    // SAFETY: the arguments match the kernels' parameters.
    let (a, b) = unsafe {
        let invocation = kernel_invocation!(first<<<1, 32, 0>>>(0x1234_u64));
        let a = graph.add_kernel_node(invocation, []).expect("a node");
        let invocation = kernel_invocation!(second<<<(2, 2), 64, 16>>>(7_u32, 1_u8));
        (a, graph.add_kernel_node(invocation, [a]).expect("a node"))
    };
    let end = graph.add_empty_node([a, b]).expect("a node");
    assert_eq!((graph.num_nodes(), graph.num_edges()), (Ok(3), Ok(3)));
    assert_eq!(graph.node_type(end), Ok(GraphNodeType::Empty));
    assert_eq!(graph.is_valid_node(b), Ok(true));
    let stranger = GraphNode::from_raw(std::ptr::dangling_mut());
    assert_eq!(graph.is_valid_node(stranger), Ok(false));
    assert_eq!(graph.node_type(stranger), Err(CudaError::InvalidValue));
    assert_eq!(
        graph.add_empty_node([stranger]),
        Err(CudaError::InvalidValue)
    );
    // SAFETY: the module is loaded; the kernels are not run.
    let ((), calls) = mock.driver.calls_of(|| unsafe {
        let mut exec = graph.instantiate().expect("a graph to launch");
        exec.launch(&stream).expect("queued");
        let other = kernel_invocation!(second<<<1, 32, 0>>>(8_u32, 0_u8));
        exec.set_kernel_node(b, other).expect("another launch");
        exec.launch(&stream).expect("queued");
    });
    let start = "cuGraphLaunch [first [1, 1, 1] [32, 1, 1] 0 (0x1234)]";
    let launches: Vec<_> = calls
        .iter()
        .filter(|call| call.starts_with("cuGraphLaunch"))
        .collect();
    assert_eq!(
        *launches[0],
        format!("{start} [second [2, 2, 1] [64, 1, 1] 16 (0x00000007, 0x01)]")
    );
    assert_eq!(
        *launches[1],
        format!("{start} [second [1, 1, 1] [32, 1, 1] 0 (0x00000008, 0x00)]")
    );
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph.dot");
    graph.dump_debug_dotfile(&path).expect("written");
    let text = std::fs::read_to_string(path).expect("a file");
    assert_eq!(text, "digraph {} // 3 nodes, 3 edges");
    assert_eq!(
        graph.dump_debug_dotfile("a\0b"),
        Err(CudaError::InvalidValue)
    );
    // SAFETY: the handle comes from `into_raw`.
    drop(unsafe { Graph::from_raw(graph.into_raw()) });
    drop((module, stream, context));
    mock.nothing_is_left();
}

#[test]
fn an_update_takes_over_a_graph_of_the_same_form() {
    let mock = mock();
    let (context, stream) = mock.open();
    let module = Module::from_ptx(PTX, &[]).expect("a module");
    let first = module.get_function("first").expect("a kernel");
    let one_node = |address: u64| {
        let mut graph = Graph::new(GraphCreationFlags::NONE).expect("a graph");
        // SAFETY: the argument matches the kernel's parameter.
        unsafe { graph.add_kernel_node(kernel_invocation!(first<<<1, 32, 0>>>(address)), []) }
            .expect("a node");
        graph
    };
    let mut empty = Graph::new(GraphCreationFlags::NONE).expect("a graph");
    // SAFETY: the module is loaded; the kernels are not run.
    unsafe {
        let mut exec = one_node(0x1111).instantiate().expect("a graph to launch");
        exec.update(&one_node(0x2222)).expect("the same form");
        let (result, calls) = mock.driver.calls_of(|| exec.launch(&stream));
        assert_eq!(result, Ok(()));
        assert_eq!(
            calls,
            ["cuGraphLaunch [first [1, 1, 1] [32, 1, 1] 0 (0x2222)]"]
        );
        let error = exec.update(&empty).expect_err("no nodes");
        assert_eq!(
            (error.error, error.node, error.result),
            (CudaError::GraphExecUpdateFailure, None, 2)
        );
        let node = empty.add_empty_node([]).expect("a node");
        let UpdateError {
            node: other,
            result,
            ..
        } = exec.update(&empty).expect_err("another type");
        assert_eq!((other, result), (Some(node), 3));
        let text = exec.update(&empty).expect_err("another type").to_string();
        assert_eq!(
            text,
            "update of a graph: CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE (910): a node is of another type"
        );
    }
    drop((empty, module, stream, context));
    mock.nothing_is_left();
}
