//! Plans: the steps that an operation takes, over named places: what it reads, its output, and its workspace.

use std::{fmt, marker::PhantomData, sync::Arc};

use cuda_std::{
    Global, GlobalMut,
    constant::ConstantValues,
    kernel::{Entry, KernelDescriptor, LaunchConfig},
};
use warpwright_gpu::{Family, tuning::Policy};

use super::{Choice, MOST_BLOCKS};
use crate::{
    buffer::{Element, VectorView},
    device::Device,
    error::{Error, Result},
    executor::{Executor, Launch, ordered},
    launch::{Arg, Args, Gathered, Pointers},
    module::Module,
};

/// What a place is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The start of all memory: the place is where a view's elements are.
    Memory,
    /// The start of the output, which is there once the plan is made.
    Output,
    /// The start of the workspace, as the output.
    Workspace,
}

/// Elements that the steps of a plan read or write.
pub struct Place<T> {
    base: Base,
    offset: u64,
    len: usize,
    marker: PhantomData<fn() -> T>,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} + {:#x}, {} elements",
            self.base, self.offset, self.len
        )
    }
}

impl<T> Place<T> {
    fn new(base: Base, offset: u64, len: usize) -> Self {
        Self {
            base,
            offset,
            len,
            marker: PhantomData,
        }
    }

    /// No elements, at no address.
    pub fn none() -> Self {
        Self::new(Base::Memory, 0, 0)
    }

    /// The elements of a view, where they are.
    pub fn of(view: VectorView<'_, T>) -> Self
    where
        T: Element,
    {
        Self::new(Base::Memory, view.address(), view.len())
    }

    /// The first `len` elements of the output.
    pub fn output(len: usize) -> Self {
        Self::new(Base::Output, 0, len)
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// The bytes between the base and the first element.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The same bytes as elements of another type.
    pub fn cast<U>(self) -> Place<U> {
        // An output that is more than there can be is refused when its place is claimed.
        let bytes = self.len.saturating_mul(size_of::<T>());
        Place::new(self.base, self.offset, bytes / size_of::<U>())
    }
}

/// Passed for a view as an argument of a step.
macro_rules! passed_for {
    ($($view:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<T> Arg<'_, $view<T>> for Place<T> {
            fn gather(self, to: &mut Gathered<'_>) {
                if self.base != Base::Memory {
                    to.later.push((to.words.len(), self.base));
                }
                to.view(self.offset, self.len);
            }
        }
    )* };
}
passed_for!(Global GlobalMut);

/// Makes the bytes of an upload, and hands them over.
pub type Bytes = Box<dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + Send + Sync>;
/// Hands over what a launch is to see in constant memory.
pub type Constants =
    Box<dyn Fn(&mut dyn FnMut(&[ConstantValues<'_>]) -> Result<()>) -> Result<()> + Send + Sync>;

/// A launch that is to be queued.
pub struct Queued {
    kernel: &'static KernelDescriptor,
    config: LaunchConfig,
    words: Vec<u64>,
    /// The words that count from a base, until they are addresses.
    later: Vec<(usize, Base)>,
    /// Where the kernel is; none for the library's own.
    pub module: Option<Module>,
    /// Constant tables that the kernel reads, with what it is to see in them.
    pub constants: Option<Constants>,
}

enum Step {
    Launch(Queued),
    /// Copies elements to the output's start.
    Copy(Place<u8>),
    /// Sets elements to nought.
    Clear(Place<u8>),
    /// Overwrites elements with what the host makes.
    Upload(Place<u8>, Bytes),
}

/// Alignment of each room in the workspace, in bytes.
const ALIGN: usize = 16;

/// What is to be done, and the memory that it takes beside the output.
#[derive(Default)]
pub struct Work {
    /// What comes before the steps where the workspace is not as they want it and leave it.
    setup: Vec<Step>,
    steps: Vec<Step>,
    /// The workspace's bytes.
    bytes: usize,
    /// Other handles whose memory it reads or writes.
    owners: Vec<Arc<Executor>>,
    output: u64,
    workspace: u64,
}

/// A plan in the making.
pub struct Plan<'a> {
    pub device: &'a Device,
    /// The operation's name in errors.
    pub operation: &'static str,
    pub family: &'static Family,
    pub choice: Choice,
    /// The elements from a row of the output to the next, where the caller's place says so.
    pub stride: Option<usize>,
    work: Work,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        device: &'a Device,
        operation: &'static str,
        family: &'static Family,
        choice: Choice,
        stride: Option<usize>,
    ) -> Self {
        Self {
            device,
            operation,
            family,
            choice,
            stride,
            work: Work::default(),
        }
    }

    /// The elements of a view, to read; an error where they are on another device.
    pub fn input<T: Element>(&mut self, view: VectorView<'_, T>) -> Result<Place<T>> {
        self.uses(view.device())?;
        Ok(Place::of(view))
    }

    /// The steps use memory of `owner`: an error where it is another device.
    pub fn uses(&mut self, owner: &Device) -> Result<()> {
        self.device.require_same(self.operation, owner)?;
        self.work.belongs_to(self.device, owner);
        Ok(())
    }

    /// Room for `len` elements in the workspace.
    pub fn room<T>(&mut self, len: usize) -> Place<T> {
        let offset = self.work.bytes.next_multiple_of(ALIGN);
        self.work.bytes = offset + len * size_of::<T>();
        Place::new(Base::Workspace, offset as u64, len)
    }

    /// Room for `len` elements whose bytes are nought before the steps, which leave them so.
    pub fn zeros<T>(&mut self, len: usize) -> Place<T> {
        let room = self.room::<T>(len);
        if len > 0 {
            self.work.bytes = self.work.bytes.next_multiple_of(ALIGN);
            let bytes = self.work.bytes - room.offset as usize;
            let room = Place::new(Base::Workspace, room.offset, bytes);
            self.work.setup.push(Step::Clear(room));
        }
        room
    }

    /// Room for elements that are these before the steps, which leave them so: `values` gives their bytes.
    pub fn kept<T>(
        &mut self,
        len: usize,
        values: impl Fn() -> Vec<T> + Send + Sync + 'static,
    ) -> Place<T>
    where
        T: Element,
    {
        let room = self.room::<T>(len);
        let upload: Bytes = Box::new(move |upload| upload(bytemuck::cast_slice(&values())));
        self.work.setup.push(Step::Upload(room.cast(), upload));
        room
    }

    /// Sets the whole workspace to nought before anything else is done there for the first time.
    pub fn zero_workspace(&mut self) {
        let all = Place::new(Base::Workspace, 0, self.work.bytes);
        self.work.setup = vec![Step::Clear(all)];
    }

    /// Adds a step that sets elements to nought.
    pub fn clear<T>(&mut self, place: Place<T>) {
        if place.len > 0 {
            self.work.steps.push(Step::Clear(place.cast()));
        }
    }

    /// Adds a step that copies elements to the output's start.
    pub fn copy<T>(&mut self, from: Place<T>) {
        self.work.steps.push(Step::Copy(from.cast()));
    }

    /// Adds a step that overwrites elements with those that `make` hands over.
    pub fn upload<T>(&mut self, to: Place<T>, make: Bytes) {
        self.work.steps.push(Step::Upload(to.cast(), make));
    }

    /// A launch of so many blocks of so many threads, if the grid can have as many.
    pub fn linear(&self, blocks: usize, threads: usize) -> Result<LaunchConfig> {
        let blocks = u32::try_from(blocks)
            .ok()
            .filter(|blocks| *blocks as usize <= MOST_BLOCKS)
            .ok_or_else(|| {
                self.not_eligible(format!(
                    "it takes {MOST_BLOCKS} blocks at most, and this needs {blocks}"
                ))
            })?;
        Ok(LaunchConfig::linear(blocks, threads as u32))
    }

    /// [`linear`](Self::linear) for blocks with threads along y too.
    pub fn tiles(&self, blocks: usize, [x, y]: [u32; 2]) -> Result<LaunchConfig> {
        let config = self.linear(blocks, 0)?;
        Ok(LaunchConfig {
            block: [x, y, 1],
            ..config
        })
    }

    /// The error of a variant that cannot do the problem.
    pub fn not_eligible(&self, reason: String) -> Error {
        Error::NotEligible {
            family: self.family.name,
            variant: self.choice.variant(),
            reason,
        }
    }

    /// The numbers to launch a kernel with, for elements of so many bytes.
    pub fn policy<P: Policy, Q>(&self, kernel: Entry<Q>, bytes: usize) -> P {
        self.device.policy(kernel.descriptor(), bytes)
    }

    /// Adds a launch.
    ///
    /// # Safety
    /// With the output and the workspace in place, the arguments keep the kernel's contract whenever the steps before it
    /// are done.
    pub unsafe fn launch<'v, P>(
        &mut self,
        kernel: Entry<P>,
        config: LaunchConfig,
        args: impl Args<'v, P>,
    ) -> &mut Queued {
        let gathered = Gathered::of(args);
        for owner in gathered.owners {
            self.work.belongs_to(self.device, owner);
        }
        let queued = Queued {
            kernel: kernel.descriptor(),
            config,
            words: gathered.words,
            later: gathered.later,
            module: None,
            constants: None,
        };
        self.work.steps.push(Step::Launch(queued));
        match self.work.steps.last_mut() {
            Some(Step::Launch(queued)) => queued,
            _ => unreachable!("it was just added"),
        }
    }

    pub(super) fn into_work(self) -> Work {
        self.work
    }
}

impl Work {
    /// The bytes of the workspace.
    pub fn workspace_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is to be done.
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty()
    }

    /// Reads or writes memory of `owner`.
    pub fn belongs_to(&mut self, user: &Device, owner: &Device) {
        let others = !Arc::ptr_eq(&user.executor, &owner.executor);
        if others
            && !self
                .owners
                .iter()
                .any(|it| Arc::ptr_eq(it, &owner.executor))
        {
            self.owners.push(owner.executor.clone());
        }
    }

    /// Says where the output and the workspace are.
    pub fn put(&mut self, output: u64, workspace: u64) {
        (self.output, self.workspace) = (output, workspace);
        for step in &mut self.steps {
            let Step::Launch(queued) = step else { continue };
            for (word, base) in queued.later.drain(..) {
                queued.words[word] += match base {
                    Base::Memory => 0,
                    Base::Output => output,
                    Base::Workspace => workspace,
                };
            }
        }
    }

    fn address<T>(&self, place: Place<T>) -> u64 {
        place.offset
            + match place.base {
                Base::Memory => 0,
                Base::Output => self.output,
                Base::Workspace => self.workspace,
            }
    }

    /// Queues it all, the set-up first where that is asked for.
    ///
    /// # Safety
    /// It was [put](Self::put) to an output of the plan's shape and to a workspace of its bytes, both of which nothing else
    /// uses, but for work queued before; what it reads is still there.
    pub unsafe fn queue(
        &self,
        operation: &'static str,
        device: &Device,
        set_up: bool,
    ) -> Result<()> {
        if self.is_nothing() {
            return Ok(());
        }
        let setup = self.setup.iter().filter(|_| set_up);
        ordered(&device.executor, self.owners.iter(), || {
            setup.chain(&self.steps).try_for_each(|step| {
                // SAFETY: by the contract.
                unsafe { self.step(operation, device, step) }
            })
        })
    }

    /// # Safety
    /// As for [`queue`](Self::queue).
    unsafe fn step(&self, operation: &'static str, device: &Device, step: &Step) -> Result<()> {
        let executor = &device.executor;
        match step {
            Step::Launch(queued) => {
                let pointers = Pointers::new(queued.kernel, &queued.words);
                let mut launch = |constants: &[ConstantValues<'_>]| {
                    let launch = Launch {
                        operation,
                        kernel: queued.kernel,
                        config: queued.config,
                        params: pointers.as_slice(),
                        module: queued.module.as_ref(),
                        constants,
                    };
                    // SAFETY: by the contract, and that of `Plan::launch`.
                    unsafe { device.launch_tuned(&launch) }
                };
                match &queued.constants {
                    Some(constants) => constants(&mut launch),
                    None => launch(&[]),
                }
            }
            // SAFETY: as many bytes on both sides, by the contract.
            Step::Copy(from) => unsafe {
                executor.copy_within(self.output, self.address(*from), from.len)
            },
            // SAFETY: by the contract.
            Step::Clear(place) => unsafe { executor.fill(self.address(*place), 0, place.len) },
            Step::Upload(place, make) => make(&mut |bytes| {
                let len = bytes.len().min(place.len);
                // SAFETY: no more bytes than the place has.
                unsafe { executor.copy_in(self.address(*place), bytes.as_ptr(), len) }
            }),
        }
    }
}
