//! Graphs: nodes that copy, fill or launch, done in the order in which they were added, which no edge contradicts.

use super::{
    CAPTURE_UNSUPPORTED, INVALID_HANDLE, INVALID_VALUE, LAST_DEFAULT_STREAM, Work, code, in_context,
    invalid, with,
};
use crate::Handle;
use crate::control::{detail, is_listing};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_uint, c_void};

/// The driver's description of a kernel node.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNode {
    pub function: Handle,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// A launch as text, and its shape.
#[derive(Clone)]
pub(super) struct Launch {
    pub(super) function: u64,
    pub(super) text: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared_bytes: u32,
}

/// What a node does.
#[derive(Clone)]
pub(super) enum Task {
    Nothing,
    Work(Work),
    Launch(Launch),
}

#[derive(Clone)]
struct Node {
    kind: u32,
    task: Task,
}

#[derive(Default)]
pub(super) struct Graphs {
    nodes: BTreeMap<u64, Node>,
    /// By graph: its nodes, and pairs of them.
    graphs: BTreeMap<u64, (Vec<u64>, Vec<[u64; 2]>)>,
    execs: BTreeMap<u64, Vec<(u64, Node)>>,
    /// By stream that is captured: the graph, and the node that was last.
    captures: BTreeMap<u64, (u64, Option<u64>)>,
}

impl Graphs {
    pub(super) fn captures(&self, stream: Handle) -> bool {
        self.captures.contains_key(&(stream as u64))
    }
}

impl super::Fake {
    fn add(&mut self, graph: u64, kind: u32, task: Task, after: &[u64]) -> Option<u64> {
        let handle = self.handle();
        let (nodes, edges) = self.graphs.graphs.get_mut(&graph)?;
        if !after.iter().all(|node| nodes.contains(node)) {
            return None;
        }
        nodes.push(handle);
        edges.extend(after.iter().map(|node| [*node, handle]));
        self.graphs.nodes.insert(handle, Node { kind, task });
        Some(handle)
    }

    /// Adds to what a stream captures.
    pub(super) fn capture(&mut self, stream: Handle, kind: u32, task: Task) {
        let Some((graph, last)) = self.graphs.captures.get(&(stream as u64)).copied() else {
            return;
        };
        let added = self.add(graph, kind, task, last.as_slice());
        self.graphs.captures.insert(stream as u64, (graph, added));
    }

    /// A launch in words.
    ///
    /// # Safety
    /// As for [`Self::arguments`].
    unsafe fn launch_of(&self, params: &KernelNode) -> Option<Launch> {
        let function = self.functions.get(&(params.function as u64))?;
        // SAFETY: by the contract.
        let arguments = unsafe { self.arguments(function, params.params) };
        let KernelNode {
            grid,
            block,
            shared_bytes,
            ..
        } = *params;
        let text = format!(
            "{} {grid:?} {block:?} {shared_bytes} ({arguments})",
            function.name
        );
        let function = params.function as u64;
        Some(Launch {
            function,
            text,
            grid,
            block,
            shared_bytes,
        })
    }
}

pub unsafe fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) -> u32 {
    in_context(|fake, ordinal| {
        if let Err(code) = fake.stream(stream, ordinal) {
            return code;
        }
        // The legacy default stream cannot be captured.
        if (stream as u64) < LAST_DEFAULT_STREAM {
            return CAPTURE_UNSUPPORTED;
        }
        if mode > 2 || fake.graphs.captures(stream) {
            return 401;
        }
        let graph = fake.handle();
        fake.graphs.graphs.insert(graph, Default::default());
        fake.graphs.captures.insert(stream as u64, (graph, None));
        0
    })
}

pub unsafe fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) -> u32 {
    in_context(
        |fake, _| match fake.graphs.captures.remove(&(stream as u64)) {
            Some((captured, _)) => {
                unsafe { *graph = captured as Handle };
                0
            }
            None => 401,
        },
    )
}

pub unsafe fn cuStreamIsCapturing(stream: Handle, status: *mut c_uint) -> u32 {
    in_context(|fake, ordinal| {
        code(fake.stream(stream, ordinal).map(|()| {
            unsafe { *status = c_uint::from(fake.graphs.captures(stream)) };
            0
        }))
    })
}

pub unsafe fn cuGraphCreate(graph: *mut Handle, flags: c_uint) -> u32 {
    with(|fake| {
        let handle = fake.handle();
        fake.graphs.graphs.insert(handle, Default::default());
        unsafe { *graph = handle as Handle };
        if flags == 0 { 0 } else { INVALID_VALUE }
    })
}

pub unsafe fn cuGraphDestroy(graph: Handle) -> u32 {
    with(|fake| match fake.graphs.graphs.remove(&(graph as u64)) {
        Some((nodes, _)) => {
            for node in nodes {
                fake.graphs.nodes.remove(&node);
            }
            0
        }
        None => invalid("destroying a graph that is not there", INVALID_HANDLE),
    })
}

/// # Safety
/// So many handles are readable.
unsafe fn handles<'a>(handles: *const Handle, count: usize) -> &'a [u64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: by the contract; a handle is as long as a word.
    unsafe { std::slice::from_raw_parts(handles.cast(), count) }
}

pub unsafe fn cuGraphAddKernelNode(
    node: *mut Handle,
    graph: Handle,
    dependencies: *const Handle,
    count: usize,
    params: *const KernelNode,
) -> u32 {
    in_context(|fake, _| {
        // SAFETY: as for any driver.
        let (launch, after) = unsafe { (fake.launch_of(&*params), handles(dependencies, count)) };
        let Some(launch) = launch else {
            return invalid("a node of a kernel that is not there", INVALID_HANDLE);
        };
        match fake.add(graph as u64, 0, Task::Launch(launch), after) {
            Some(added) => {
                unsafe { *node = added as Handle };
                0
            }
            None => invalid("a node after one of another graph", INVALID_VALUE),
        }
    })
}

pub unsafe fn cuGraphAddEmptyNode(
    node: *mut Handle,
    graph: Handle,
    dependencies: *const Handle,
    count: usize,
) -> u32 {
    with(|fake| {
        let after = unsafe { handles(dependencies, count) };
        match fake.add(graph as u64, 5, Task::Nothing, after) {
            Some(added) => {
                unsafe { *node = added as Handle };
                0
            }
            None => invalid("a node after one of another graph", INVALID_VALUE),
        }
    })
}

pub unsafe fn cuGraphKernelNodeGetParams(node: Handle, params: *mut KernelNode) -> u32 {
    with(|fake| {
        let Some(Node {
            task: Task::Launch(launch),
            ..
        }) = fake.graphs.nodes.get(&(node as u64))
        else {
            return INVALID_VALUE;
        };
        unsafe {
            (*params).function = launch.function as Handle;
            (*params).grid = launch.grid;
            (*params).block = launch.block;
            (*params).shared_bytes = launch.shared_bytes;
        }
        0
    })
}

pub unsafe fn cuGraphExecKernelNodeSetParams(
    exec: Handle,
    node: Handle,
    params: *const KernelNode,
) -> u32 {
    in_context(|fake, _| {
        let Some(launch) = (unsafe { fake.launch_of(&*params) }) else {
            return INVALID_HANDLE;
        };
        let nodes = fake.graphs.execs.get_mut(&(exec as u64));
        let found = nodes.and_then(|nodes| nodes.iter_mut().find(|(it, _)| *it == node as u64));
        match found {
            Some((_, found)) if found.kind == 0 => {
                found.task = Task::Launch(launch);
                0
            }
            _ => INVALID_VALUE,
        }
    })
}

pub unsafe fn cuGraphNodeGetType(node: Handle, kind: *mut c_uint) -> u32 {
    with(|fake| match fake.graphs.nodes.get(&(node as u64)) {
        Some(found) => {
            unsafe { *kind = found.kind };
            0
        }
        None => invalid("a node that is not there", INVALID_HANDLE),
    })
}

pub unsafe fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> u32 {
    with(|fake| match fake.graphs.graphs.get(&(graph as u64)) {
        Some((all, _)) => {
            unsafe {
                if !nodes.is_null() {
                    for (index, node) in all.iter().take(*count).enumerate() {
                        *nodes.add(index) = *node as Handle;
                    }
                }
                *count = all.len();
            }
            0
        }
        None => INVALID_HANDLE,
    })
}

pub unsafe fn cuGraphGetEdges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    count: *mut usize,
) -> u32 {
    with(|fake| match fake.graphs.graphs.get(&(graph as u64)) {
        Some((_, edges)) => {
            unsafe {
                if !from.is_null() {
                    for (index, edge) in edges.iter().take(*count).enumerate() {
                        *from.add(index) = edge[0] as Handle;
                        *to.add(index) = edge[1] as Handle;
                    }
                }
                *count = edges.len();
            }
            0
        }
        None => INVALID_HANDLE,
    })
}

fn nodes_of(fake: &super::Fake, graph: Handle) -> Option<Vec<(u64, Node)>> {
    let (nodes, _) = fake.graphs.graphs.get(&(graph as u64))?;
    let node = |handle: &u64| Some((*handle, fake.graphs.nodes.get(handle)?.clone()));
    nodes.iter().map(node).collect()
}

pub unsafe fn cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64) -> u32 {
    in_context(|fake, _| {
        let Some(nodes) = nodes_of(fake, graph).filter(|_| flags == 0) else {
            return INVALID_VALUE;
        };
        let handle = fake.handle();
        fake.graphs.execs.insert(handle, nodes);
        unsafe { *exec = handle as Handle };
        0
    })
}

/// Takes over a graph of as many nodes of the same kinds.
pub unsafe fn cuGraphExecUpdate(
    exec: Handle,
    graph: Handle,
    node: *mut Handle,
    result: *mut c_uint,
) -> u32 {
    in_context(|fake, _| {
        let Some(new) = nodes_of(fake, graph) else {
            return INVALID_VALUE;
        };
        let Some(old) = fake.graphs.execs.get_mut(&(exec as u64)) else {
            return INVALID_VALUE;
        };
        if old.len() != new.len() {
            unsafe { *result = 2 };
            return 910;
        }
        let other = old
            .iter()
            .zip(&new)
            .find(|(old, new)| old.1.kind != new.1.kind);
        if let Some((_, (handle, _))) = other {
            unsafe { (*node, *result) = (*handle as Handle, 3) };
            return 910;
        }
        for (old, new) in old.iter_mut().zip(new) {
            old.1 = new.1;
        }
        0
    })
}

pub unsafe fn cuGraphLaunch(exec: Handle, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        if let Err(code) = fake.stream(stream, ordinal) {
            return code;
        }
        let Some(nodes) = fake.graphs.execs.get(&(exec as u64)).cloned() else {
            return INVALID_HANDLE;
        };
        let is_loaded = |launch: &Launch| {
            let function = fake.functions.get(&launch.function);
            function.is_some_and(|it| fake.modules.contains_key(&it.module))
        };
        let all_loaded = nodes.iter().all(|(_, node)| match &node.task {
            Task::Launch(launch) => is_loaded(launch),
            Task::Nothing | Task::Work(_) => true,
        });
        if !all_loaded {
            return invalid("a graph with a kernel that is not there", INVALID_HANDLE);
        }
        for (_, node) in nodes {
            match node.task {
                Task::Nothing => {}
                Task::Work(work) => {
                    fake.queue(work, false, stream);
                }
                Task::Launch(launch) if is_listing() => detail(&format!("[{}]", launch.text)),
                Task::Launch(_) => {}
            }
        }
        0
    })
}

pub unsafe fn cuGraphExecDestroy(exec: Handle) -> u32 {
    with(|fake| match fake.graphs.execs.remove(&(exec as u64)) {
        Some(_) => 0,
        None => INVALID_HANDLE,
    })
}

pub unsafe fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, _: c_uint) -> u32 {
    with(|fake| {
        let Some((nodes, edges)) = fake.graphs.graphs.get(&(graph as u64)) else {
            return INVALID_HANDLE;
        };
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
        let text = format!(
            "digraph {{}} // {} nodes, {} edges",
            nodes.len(),
            edges.len()
        );
        if std::fs::write(&*path, text).is_ok() {
            0
        } else {
            304
        }
    })
}
