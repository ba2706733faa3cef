//! Plans: the steps of an operation over places: inputs, the output, and the workspace.

pub mod calls;
mod queued;

pub use queued::{MapOfOutput, Queued};

use std::{fmt, marker::PhantomData, sync::Arc};

use cuda_std::{
    constant::ConstantValues,
    kernel::{Entry, KernelDescriptor, LaunchConfig},
};
use warpwright_gpu::{Family, tuning::Policy};

use super::{Choice, MOST_BLOCKS};
use crate::{
    backend::{Launch, Pointers},
    buffer::{Element, VectorView, VectorViewMut},
    device::Device,
    error::{Error, Result},
    executor::{Executor, capture, ordered},
    launch::{Args, Base, Gathered},
};

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

    /// Returns a place without elements, at no address.
    pub fn none() -> Self {
        Self::new(Base::Memory, 0, 0)
    }

    /// Returns the place of a view's elements.
    pub fn of(view: VectorView<'_, T>) -> Self
    where
        T: Element,
    {
        Self::new(Base::Memory, view.address(), view.len())
    }

    /// Returns the place of a view's elements, which the steps write.
    pub fn of_mut(view: &VectorViewMut<'_, T>) -> Self
    where
        T: Element,
    {
        Self::new(Base::Memory, view.address(), view.len())
    }

    /// Returns the place of `len` elements at an address.
    pub fn at(address: u64, len: usize) -> Self {
        Self::new(Base::Memory, address, len)
    }

    /// Returns the first `len` elements of the output.
    pub fn output(len: usize) -> Self {
        Self::new(Base::Output, 0, len)
    }

    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns the offset of the first element from the base, in bytes.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Returns `len` of the elements, from element `from` on.
    pub fn part(self, from: usize, len: usize) -> Self {
        debug_assert!(from + len <= self.len);
        let offset = self.offset + (from * size_of::<T>()) as u64;
        Self::new(self.base, offset, len)
    }

    /// Returns the same bytes as elements of another type.
    pub fn cast<U>(self) -> Place<U> {
        // An output that is too large is refused when its place is claimed.
        let bytes = self.len.saturating_mul(size_of::<T>());
        Place::new(self.base, self.offset, bytes / size_of::<U>())
    }
}

/// A matrix that has elements, as a place.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Rows<T> {
    pub(super) elements: Place<T>,
    pub(super) height: usize,
    pub(super) width: usize,
}

/// Makes the bytes of an upload and passes them to its argument.
pub type Bytes = Box<dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + Send + Sync>;
/// Makes a launch's constants and passes them to its argument.
pub type Constants =
    Box<dyn Fn(&mut dyn FnMut(&[ConstantValues<'_>]) -> Result<()>) -> Result<()> + Send + Sync>;

enum Step {
    Launch(Queued),
    /// Copies elements to the start of a place.
    Copy(Place<u8>, Place<u8>),
    /// Sets elements to 0.
    Clear(Place<u8>),
    /// Overwrites elements with those that the host makes.
    Upload(Place<u8>, Bytes),
}

/// The alignment of each room in the workspace, in bytes.
const ALIGN: usize = 16;

/// The steps of a plan, and the memory that they take beside the output.
#[derive(Default)]
pub struct Work {
    /// The steps that bring the workspace into the state that the other steps require and preserve.
    setup: Vec<Step>,
    steps: Vec<Step>,
    /// The size of the workspace in bytes.
    bytes: usize,
    /// Other handles whose memory the steps access.
    owners: Vec<Arc<Executor>>,
    /// What the host reads beside the output.
    read: Vec<Place<u8>>,
    output: u64,
    output_bytes: usize,
    workspace: u64,
}

/// A plan under construction.
pub struct Plan<'a> {
    pub device: &'a Device,
    /// The operation's name in errors.
    pub operation: &'static str,
    pub family: &'static Family,
    pub choice: Choice,
    /// The row stride of the output in elements, if the caller's place sets it.
    pub stride: Option<usize>,
    /// The address of the output, if it is the caller's place. A new array starts at a multiple of 16 bytes.
    pub target: Option<u64>,
    work: Work,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        device: &'a Device,
        operation: &'static str,
        family: &'static Family,
        choice: Choice,
        (stride, target): (Option<usize>, Option<u64>),
    ) -> Self {
        Self {
            device,
            operation,
            family,
            choice,
            stride,
            target,
            work: Work::default(),
        }
    }

    /// Returns the place of a view that the steps read. Fails if the view is on another device.
    pub fn input<T: Element>(&mut self, view: VectorView<'_, T>) -> Result<Place<T>> {
        self.uses(view.device())?;
        Ok(Place::of(view))
    }

    /// Notes that the steps use memory of `owner`. Fails if that is another device.
    pub fn uses(&mut self, owner: &Device) -> Result<()> {
        self.device.require_same(self.operation, owner)?;
        self.work.belongs_to(self.device, owner);
        Ok(())
    }

    /// Reserves room for `len` elements in the workspace.
    pub fn room<T>(&mut self, len: usize) -> Place<T> {
        let offset = self.work.bytes.next_multiple_of(ALIGN);
        self.work.bytes = offset + len * size_of::<T>();
        Place::new(Base::Workspace, offset as u64, len)
    }

    /// Reserves room for `len` elements, whose bytes are 0 before the steps run for the first time. The steps must
    /// leave them as they need them for the next run: 0, or words that name the run which wrote them.
    pub fn zeros<T>(&mut self, len: usize) -> Place<T> {
        if len == 0 {
            return Place::none();
        }
        let room = self.room::<T>(len);
        self.work.bytes = self.work.bytes.next_multiple_of(ALIGN);
        let bytes = self.work.bytes - room.offset as usize;
        let cleared = Place::new(Base::Workspace, room.offset, bytes);
        self.work.setup.push(Step::Clear(cleared));
        room
    }

    /// Reserves room for `len` elements, which have the values `values()` before the steps. The steps must leave them so.
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

    /// Returns the steps and what they use so far.
    pub fn work(&mut self) -> &mut Work {
        &mut self.work
    }

    /// Notes that these elements are results beside the output. Where they are in no room, they are an array of their own.
    pub fn result<T>(&mut self, place: Place<T>) {
        self.work.read.push(place.cast());
    }

    /// Plans `count` parts one after the other, which all use the same memory: each must reserve the same rooms, and can rely
    /// on their contents no more than at the start of a run.
    pub fn in_turn(
        &mut self,
        count: usize,
        mut part: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let begin = self.work.bytes;
        for i in 0..count {
            let set_up = self.work.setup.len();
            self.work.bytes = begin;
            part(self, i)?;
            if i > 0 {
                self.work.setup.truncate(set_up);
            }
        }
        Ok(())
    }

    /// Sets the whole workspace to 0 before its first use. This replaces all other set-up.
    pub fn zero_workspace(&mut self) {
        let all = Place::new(Base::Workspace, 0, self.work.bytes);
        self.work.setup = vec![Step::Clear(all)];
    }

    /// Adds a step that sets elements to 0.
    pub fn clear<T>(&mut self, place: Place<T>) {
        if place.len > 0 {
            self.work.steps.push(Step::Clear(place.cast()));
        }
    }

    /// Adds a step that copies elements to the start of the output.
    pub fn copy<T>(&mut self, from: Place<T>) {
        self.copy_to(from, Place::output(from.len));
    }

    /// Adds a step that copies elements to the start of `to`.
    pub fn copy_to<T>(&mut self, from: Place<T>, to: Place<T>) {
        self.work.steps.push(Step::Copy(from.cast(), to.cast()));
    }

    /// Adds a step that overwrites elements with those that `make` passes on.
    pub fn upload<T>(&mut self, to: Place<T>, make: Bytes) {
        self.work.steps.push(Step::Upload(to.cast(), make));
    }

    /// Returns a launch of `blocks` blocks of `threads` threads, if a grid can have that many blocks.
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

    /// Like [`linear`](Self::linear), for blocks that have threads along y too.
    pub fn tiles(&self, blocks: usize, [x, y]: [u32; 2]) -> Result<LaunchConfig> {
        let config = self.linear(blocks, 0)?;
        Ok(LaunchConfig {
            block: [x, y, 1],
            ..config
        })
    }

    /// Makes the error of a variant that cannot solve the problem.
    pub fn not_eligible(&self, reason: String) -> Error {
        Error::NotEligible {
            family: self.family.name,
            variant: self.choice.variant(),
            reason,
        }
    }

    /// Returns the policy with which a kernel is launched, for elements of `bytes` bytes.
    pub fn policy<P: Policy, Q>(&self, kernel: Entry<Q>, bytes: usize) -> P {
        self.device.policy(kernel.descriptor(), bytes)
    }

    /// Adds a launch.
    ///
    /// # Safety
    /// Once the output and the workspace are in place, the arguments must uphold the kernel's contract whenever the steps
    /// before are done.
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
            places: gathered.places,
            maps: gathered.maps,
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
    /// Returns the size of the workspace in bytes.
    pub fn workspace_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the kernels of the launches, in their order.
    pub fn kernels(&self) -> impl Iterator<Item = &'static KernelDescriptor> {
        let kernel = |step: &Step| match step {
            Step::Launch(queued) => Some(queued.kernel),
            Step::Copy(..) | Step::Clear(_) | Step::Upload(..) => None,
        };
        self.steps.iter().filter_map(kernel)
    }

    /// Fails if a capture would refuse a step.
    pub fn capturable(&self, operation: &'static str) -> Result<()> {
        let refused = self.steps.iter().any(|step| match step {
            Step::Launch(queued) => queued.constants.is_some(),
            Step::Upload(..) => true,
            Step::Copy(..) | Step::Clear(_) => false,
        });
        if refused {
            return Err(capture::not_capturable(format!("`{operation}`")));
        }
        Ok(())
    }

    /// Returns the number of steps so far.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Puts the output of the steps from number `from` on at an address, so that later ones can have another.
    ///
    /// # Errors
    /// Those of [`Device::tensor_map`].
    pub fn put_output(&mut self, device: &Device, from: usize, output: u64) -> Result<()> {
        let put = |place: &mut Place<u8>| {
            if place.base == Base::Output {
                *place = Place::at(output + place.offset, place.len);
            }
        };
        for step in &mut self.steps[from..] {
            match step {
                Step::Launch(queued) => queued.put_output(device, output)?,
                Step::Copy(from, to) => [from, to].into_iter().for_each(put),
                Step::Clear(place) | Step::Upload(place, _) => put(place),
            }
        }
        Ok(())
    }

    /// Removes the last step, a launch whose places are in memory, and returns its configuration and the words of its
    /// arguments.
    pub fn take_launch(&mut self) -> Option<(LaunchConfig, Vec<u64>)> {
        let launch = self.steps.pop_if(|step| match step {
            Step::Launch(queued) => queued.places.iter().all(|(_, base)| *base == Base::Memory),
            _ => false,
        })?;
        match launch {
            Step::Launch(queued) => Some((queued.config, queued.words)),
            _ => None,
        }
    }

    /// Returns whether there are no steps.
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty()
    }

    /// Notes that the steps access memory of `owner`.
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

    /// Sets the address and the size in bytes of the output, and the address of the workspace.
    ///
    /// # Errors
    /// Those of [`Device::tensor_map`].
    pub fn put(
        &mut self,
        device: &Device,
        (output, output_bytes): (u64, usize),
        workspace: u64,
    ) -> Result<()> {
        (self.output, self.output_bytes, self.workspace) = (output, output_bytes, workspace);
        for step in &mut self.steps {
            let Step::Launch(queued) = step else { continue };
            queued.put_output(device, output)?;
            for (word, base) in &queued.places {
                if *base == Base::Workspace {
                    queued.words[*word] += workspace;
                }
            }
        }
        Ok(())
    }

    fn address<T>(&self, place: Place<T>) -> u64 {
        place.offset
            + match place.base {
                Base::Memory => 0,
                Base::Output => self.output,
                Base::Workspace => self.workspace,
            }
    }

    /// Queues all steps. If `set_up` is true, the set-up steps come first.
    ///
    /// # Safety
    /// The plan must have been [put](Self::put) to an output of its shape and to a workspace of its size. Nothing else may
    /// use them, except work queued before. The inputs must still exist.
    pub unsafe fn queue(
        &self,
        operation: &'static str,
        device: &Device,
        set_up: bool,
    ) -> Result<()> {
        if self.is_nothing() {
            return Ok(());
        }
        let queue = |steps: &[Step]| {
            steps.iter().try_for_each(|step| {
                // SAFETY: by the contract.
                unsafe { self.step(operation, device, step) }
            })
        };
        let mut setup = if set_up { &self.setup[..] } else { &[] };
        if capture::is_active() {
            // What is captured is repeated, but the set-up is needed once, and now.
            capture::uncaptured(|| queue(setup))?;
            setup = &[];
        }
        ordered(&device.executor, self.owners.iter(), || {
            queue(setup).and_then(|()| queue(&self.steps))
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
            // SAFETY: both sides have the same number of bytes, by the contract.
            Step::Copy(from, to) => unsafe {
                executor.copy_within(self.address(*to), self.address(*from), from.len)
            },
            // SAFETY: by the contract.
            Step::Clear(place) => unsafe { executor.fill(self.address(*place), 0, place.len) },
            Step::Upload(place, make) => make(&mut |bytes| {
                let len = bytes.len().min(place.len);
                // SAFETY: `len` is at most the size of the place.
                unsafe { executor.copy_in(self.address(*place), bytes.as_ptr(), len) }
            }),
        }
    }
}
