//! The block's shared memory, and faults of accesses to it.

use super::*;

impl BlockState {
    /// Returns the static shared array that belongs to a source line and a type.
    pub fn static_array<A>(
        &self,
        lane: &Lane,
        site: *const u8,
        at: &'static Location<'static>,
    ) -> *mut u8 {
        let type_name = core::any::type_name::<A>();
        let mut statics = self.statics.borrow_mut();
        if let Some(array) = statics
            .iter_mut()
            .find(|array| array.site == site && array.type_name == type_name)
        {
            array.comes(lane);
            return array.memory.as_mut_ptr().cast();
        }
        let bytes = size_of::<A>().next_multiple_of(SHARED_ALIGN);
        let required = statics.iter().map(|array| array.bytes).sum::<usize>()
            + bytes
            + self.config.shared_bytes as usize;
        if required > super::super::MAX_SHARED_BYTES {
            drop(statics);
            self.fail(
                lane,
                FaultKind::SharedMemory {
                    required,
                    given: super::super::MAX_SHARED_BYTES,
                    at,
                },
            );
        }
        statics.push(StaticArray {
            site,
            type_name,
            bytes,
            memory: Lines::of_array(site, bytes),
            at,
            visits: match self.options.checks.contains(Checks::MEM) {
                true => vec![0; self.lanes as usize],
                false => Vec::new(),
            },
        });
        let array = statics.last_mut().expect("just pushed");
        array.comes(lane);
        array.memory.as_mut_ptr().cast()
    }

    /// Returns the start of the dynamic shared memory.
    pub fn dynamic_shared(&self) -> *mut u8 {
        self.dynamic.borrow_mut().as_mut_ptr().cast()
    }

    /// Returns whether an address is in the shared memory of a block of the cluster.
    pub fn is_shared(&self, ptr: *const u8) -> bool {
        self.owner_of(ptr).is_some()
    }

    /// Returns whether an address is in the block's shared memory.
    pub(super) fn has(&self, ptr: *const u8) -> bool {
        let within = |memory: &[Line]| memory.as_ptr_range().contains(&ptr.cast());
        within(&self.dynamic.borrow())
            || self
                .statics
                .borrow()
                .iter()
                .any(|array| within(&array.memory))
    }

    /// Ends the launch if the lane has visited the declaration of a view's array again since it got the view. On a GPU it
    /// depends on the compiler's inlining and unrolling whether the two are one array.
    #[cold]
    pub fn check_visit(&self, lane: &Lane, visit: u64, at: &'static Location<'static>) {
        let statics = self.statics.borrow();
        let array = &statics[(visit >> 32) as usize];
        if array.visits[lane.linear as usize] == visit as u32 || std::thread::panicking() {
            return;
        }
        let kind = FaultKind::SharedAgain {
            array: array.type_name.to_owned(),
            site: array.at,
            at,
        };
        drop(statics);
        self.fail(lane, kind);
    }

    /// Ends the launch if a view of shared memory does not lie within one of the block's arrays. Returns the array, and how
    /// many times the lane has visited its declaration.
    pub fn check_shared(
        &self,
        lane: &Lane,
        ptr: *const u8,
        bytes: usize,
        at: &'static Location<'static>,
    ) -> u64 {
        let room = |memory: *const u8, size: usize| {
            let offset = ptr.addr().checked_sub(memory.addr())?;
            (offset <= size).then(|| size - offset)
        };
        let statics = self.statics.borrow();
        let dynamic = self.dynamic.borrow().as_ptr().cast();
        let most = statics
            .iter()
            .map(|array| (array.memory.as_ptr().cast(), array.bytes))
            .chain([(dynamic, self.config.shared_bytes as usize)])
            .filter_map(|(memory, size)| room(memory, size))
            .max();
        if bytes > most.unwrap_or(0) {
            drop(statics);
            self.fail(
                lane,
                FaultKind::SharedMemory {
                    required: bytes,
                    given: most.unwrap_or(0),
                    at,
                },
            );
        }
        if !self.options.checks.contains(Checks::MEM) {
            return 0;
        }
        let holds = |array: &StaticArray| {
            let start = array.memory.as_ptr().addr();
            (start..start + array.bytes).contains(&ptr.addr())
        };
        let found = statics.iter().position(holds);
        found.map_or(0, |index| {
            (index as u64) << 32 | u64::from(statics[index].visits[lane.linear as usize])
        })
    }

    /// Ends the launch because of a finding of the sanitizer, for an access through the view that starts at `view`.
    #[cold]
    pub fn report(&self, lane: &Lane, view: usize, access: Access, found: Finding) -> ! {
        let Access {
            space,
            start,
            bytes,
            touched,
            at,
            ..
        } = access;
        let kind = match found {
            Finding::Unallocated => FaultKind::Unallocated {
                bytes: self.bytes(space, view, start, bytes),
                touched,
                at,
            },
            Finding::Unwritten { address } => FaultKind::Unwritten {
                bytes: self.bytes(space, view, address, start + bytes - address),
                at,
            },
            Finding::Race {
                address,
                bytes,
                block,
                lane,
                touched: other_touched,
                at: other_at,
            } => {
                let order = BlockOrder::new(self.options.order, &self.config, self.kernel.cluster);
                FaultKind::Race {
                    bytes: self.bytes(space, view, address, bytes),
                    touched,
                    at,
                    other_block: self.config.block_at(order.block(u64::from(block))),
                    other_lane: self.config.lane_at(lane),
                    other_touched,
                    other_at,
                }
            }
            Finding::NotFenced {
                address,
                bytes,
                lane,
                at: other_at,
            } => FaultKind::NotFenced {
                bytes: self.bytes(space, view, address, bytes),
                touched,
                at,
                other_lane: self.config.lane_at(lane),
                other_at,
            },
        };
        self.fail(lane, kind)
    }

    /// Returns the fault of a lane whose copy nobody waits for.
    pub fn not_awaited(&self, copy: AsyncCopy) -> FaultKind {
        let to = copy.to.addr();
        let space = match self.is_shared(copy.to) {
            true => Space::Shared,
            false => Space::Global,
        };
        FaultKind::NotAwaited {
            bytes: self.bytes(space, to, to, copy.bytes),
            at: copy.at,
        }
    }

    /// Describes bytes of memory that are accessed through the view that starts at `view`.
    pub(super) fn bytes(&self, space: Space, view: usize, address: usize, bytes: usize) -> Bytes {
        let shared = || {
            let pointer = core::ptr::without_provenance(address);
            let owner = self.owner_of(pointer).unwrap_or(self);
            let of = |array: String| match owner.rank == self.rank {
                true => array,
                false => format!("{array} of the cluster's block of rank {}", owner.rank),
            };
            let statics = owner.statics.borrow();
            let found = statics.iter().find_map(|array| {
                let start = array.memory.as_ptr().addr();
                (start..start + array.bytes)
                    .contains(&address)
                    .then(|| (of(format!("the shared array `{}`", array.type_name)), start))
            });
            let dynamic = || {
                let start = owner.dynamic.borrow().as_ptr().addr();
                (of("the dynamic shared memory".to_owned()), start)
            };
            found.unwrap_or_else(dynamic)
        };
        let global = || {
            let params = self.params.borrow();
            let allocation = memory::find(address);
            let near = params.iter().filter(|(_, start)| {
                *start <= address
                    && allocation
                        .as_ref()
                        .is_none_or(|allocation| allocation.contains(*start, 1))
            });
            let exact = params.iter().find(|(_, start)| *start == view);
            match exact.or_else(|| near.max_by_key(|(_, start)| *start)) {
                Some((name, start)) => (format!("`{name}`"), *start),
                None => (format!("the memory at {view:#x}"), view),
            }
        };
        let (of, start) = if space == Space::Shared {
            shared()
        } else {
            global()
        };
        Bytes {
            of,
            first: address.wrapping_sub(start),
            last: address.wrapping_sub(start) + bytes - 1,
        }
    }

    /// Returns the size of the static shared arrays seen so far, in bytes.
    pub fn static_bytes(&self) -> usize {
        self.statics.borrow().iter().map(|array| array.bytes).sum()
    }
}
