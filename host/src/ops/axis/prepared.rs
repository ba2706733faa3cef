//! A reduction along an axis that is ready to be queued.

use super::{
    AxisReducible,
    plan::{Argument, Plan, Room},
};
use crate::{
    buffer::{Element, Vector},
    device::Device,
    error::Result,
    executor::{Launch, ordered},
    launch::RawArgs,
    matrix::MatrixView,
    ops::{Choice, ChosenBy, made::Made},
};

/// A reduction along an axis whose variant is chosen and whose results have their place.
#[derive(Debug)]
pub struct PreparedAxis<'a, T, O> {
    pub(super) device: Device,
    pub(super) input: MatrixView<'a, T>,
    pub(super) operation: &'static str,
    pub(super) choice: Choice,
    pub(super) plan: Plan,
    pub(super) identity: [u8; 8],
    pub(super) workspace: Vector<u8>,
    /// Whether the workspace is as the kernels want it and leave it.
    pub(super) ready: bool,
    pub(super) output: Made<Vector<O>>,
}

impl<T: AxisReducible, O: Element> PreparedAxis<'_, T, O> {
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes beside the results, for totals of blocks that share a column or a row. Columns,
    /// `best`: 8 for each column of the 512 bytes that a block takes, of two blocks per multiprocessor or one per 4096 rows,
    /// whichever are more; and 8 for each element of the least multiple of a row that is one of 16 bytes. Rows, `best`: where
    /// blocks share rows of 32 KiB and more, 8 per block, which takes at least as much, and 4 per row; `chunk_atomic`: 8 per
    /// row. Otherwise none.
    pub fn workspace_bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        if self.plan.passes.is_empty() {
            return self.output.by(|output| output.view_mut().clear());
        }
        if !self.ready {
            self.make_ready()?;
        }
        // Until the work is queued as a whole.
        self.ready = false;
        let executor = &self.device.executor;
        let input = self.input.as_vector();
        let workspace = self.workspace.view().address();
        self.output.by(|output| {
            let output = (output.view().address(), output.len());
            ordered(executor, &[input.device()], || {
                for pass in &self.plan.passes {
                    let mut args = RawArgs::new();
                    for argument in &pass.arguments {
                        match *argument {
                            Argument::Input => args.view(input.address(), input.len()),
                            Argument::Output => args.view(output.0, output.1),
                            Argument::Nothing => args.view(output.0, 0),
                            Argument::Workspace(room) => {
                                args.view(workspace + room.offset as u64, room.len)
                            }
                            Argument::Number(number) => args.value(number),
                            Argument::Word(word) => args.value(word),
                        };
                    }
                    let launch = Launch {
                        operation: self.operation,
                        kernel: pass.kernel,
                        config: pass.config,
                        params: &args.pointers(),
                        constants: &[],
                        module: None,
                    };
                    // SAFETY: the plan keeps each kernel's contract: the parts of the workspace, which is
                    // this request's own, do not overlap, and tickets and totals are what they have to be.
                    unsafe { self.device.launch_tuned(&launch)? };
                }
                Ok(())
            })
        })?;
        self.ready = true;
        Ok(())
    }

    /// Sets what the kernels find in the workspace and leave there.
    fn make_ready(&mut self) -> Result<()> {
        let Room { offset, len } = self.plan.tickets;
        let bytes = offset..offset + len * size_of::<u32>();
        self.workspace.slice_mut(bytes)?.clear()?;
        if let Some((Room { offset, len }, size)) = self.plan.identities {
            let identities = self.identity[..size].repeat(len);
            let bytes = offset..offset + len * size;
            self.workspace.slice_mut(bytes)?.upload(&identities)?;
        }
        Ok(())
    }

    /// The results of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&Vector<O>> {
        self.output.get()
    }

    /// The results of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<Vector<O>> {
        self.output.take()
    }

    pub(super) fn run(mut self) -> Result<Vector<O>> {
        self.enqueue()?;
        self.into_output()
    }
}
