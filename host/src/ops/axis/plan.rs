//! The launches of a reduction along an axis, and the memory that they share.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};
use warpwright_gpu::Family;

use super::Kernels;
use crate::{
    device::Device,
    error::Result,
    ops::{Choice, grid_size},
};

/// What a plan is made for. The matrix has elements.
pub(in crate::ops) struct Problem<'a> {
    pub device: &'a Device,
    pub family: &'static Family,
    pub choice: Choice,
    pub kernels: Kernels,
    pub address: u64,
    pub height: usize,
    pub width: usize,
}

/// A place in the workspace: its offset in bytes and its elements.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::ops) struct Room {
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// An argument of a launch.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) enum Argument {
    /// The matrix.
    Input,
    /// The results.
    Output,
    /// A view of no elements.
    Nothing,
    /// A part of the workspace.
    Workspace(Room),
    /// A `usize`.
    Number(usize),
    /// A `u32`.
    Word(u32),
}

/// A launch.
#[derive(Debug)]
pub(super) struct Pass {
    pub kernel: &'static KernelDescriptor,
    pub config: LaunchConfig,
    pub arguments: Vec<Argument>,
}

/// The launches that a reduction takes, in order, and the memory that they share. None for a matrix
/// without elements.
#[derive(Debug, Default)]
pub(in crate::ops) struct Plan {
    pub(super) passes: Vec<Pass>,
    pub(super) bytes: usize,
    /// Totals that hold the identity before and after the work, and their size.
    pub(super) identities: Option<(Room, usize)>,
    /// Tickets that are 0 before and after the work.
    pub(super) tickets: Room,
}

/// Alignment of each part of the workspace, in bytes.
const ALIGN: usize = 16;

impl Plan {
    /// Room for so many elements of so many bytes.
    pub fn room(&mut self, len: usize, size: usize) -> Room {
        let offset = self.bytes;
        self.bytes += (len * size).next_multiple_of(ALIGN);
        Room { offset, len }
    }

    /// Room for so many tickets.
    pub fn tickets(&mut self, len: usize) -> Room {
        self.tickets = self.room(len, size_of::<u32>());
        self.tickets
    }

    /// Room for so many totals that hold the identity before and after the work.
    pub fn identities(&mut self, len: usize, size: usize) -> Room {
        let room = self.room(len, size);
        self.identities = Some((room, size));
        room
    }

    /// Adds a launch of `blocks` blocks of these threads.
    pub fn push(
        &mut self,
        problem: &Problem<'_>,
        kernel: &'static KernelDescriptor,
        blocks: usize,
        block: [u32; 2],
        shared_bytes: usize,
        arguments: Vec<Argument>,
    ) -> Result<()> {
        let config = LaunchConfig {
            grid: [grid_size(problem.family, problem.choice, blocks)?, 1, 1],
            block: [block[0], block[1], 1],
            shared_bytes: shared_bytes as u32,
        };
        self.passes.push(Pass {
            kernel,
            config,
            arguments,
        });
        Ok(())
    }
}
