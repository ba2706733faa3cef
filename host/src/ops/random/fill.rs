//! Launches that fill an output.

use cuda_std::{
    kernel::{ByValue, Entry, LaunchConfig},
    random::Philox4x32,
};
use warpwright_gpu::random::{
    Kernels, Quad, SETUP, Variant,
    policy::{self, Policy},
};

use super::{OPERATION, RandomGenerator, STREAM};
use crate::{
    buffer::{Element, Vector, VectorViewMut},
    error::{Error, InvalidKind, Result},
    executor::capture,
    launch::{Args, Gathered},
    ops::{
        Choice,
        calls::{Call, Calls, Launch, Room, Span},
        plan::Place,
    },
};

impl RandomGenerator {
    pub(super) fn fill<D: Kernels + ByValue>(
        &mut self,
        distribution: D,
        output: VectorViewMut<'_, D::Out>,
    ) -> Result<()>
    where
        D::Out: Element,
    {
        self.fill_with(distribution, 0, output)
    }

    /// Fills `output` with a distribution whose kernels take `shared_bytes` bytes of dynamic shared memory.
    pub(super) fn fill_with<D: Kernels + ByValue>(
        &mut self,
        distribution: D,
        shared_bytes: u32,
        mut output: VectorViewMut<'_, D::Out>,
    ) -> Result<()>
    where
        D::Out: Element,
    {
        self.device.require_same(OPERATION, output.device())?;
        let choice = self.choice()?;
        if output.is_empty() {
            return Ok(());
        }
        let per_quad = <D::Quad as Quad<D::Out>>::LEN as u64;
        let words = 4 / per_quad;
        let first = self.position.div_ceil(words.into());
        let end = (first + output.len() as u128) * u128::from(words);
        if end > STREAM {
            return Err(Error::invalid(
                InvalidKind::Range,
                OPERATION,
                format!(
                    "no more than the {} words that are left of the stream's 2^64",
                    STREAM - self.position
                ),
                format!("{} elements of {words} words", output.len()),
            ));
        }
        // There are elements, so the first element's words lie before the end of the stream.
        let first = first as u64;
        let states = self.states_at(first / per_quad)?;
        // If a launch fails, the states belong to no position.
        self.forget();
        match states {
            Some(states) => {
                // A quad's sequence is its number modulo the number of sequences, and every sequence is past the words
                // before.
                let round = policy::SEQUENCES as u64 * per_quad;
                let kernel = D::xorwow(Variant::ALL[choice.index]);
                let threads = self.numbers(choice, kernel, size_of::<D::Out>()).block;
                let config = linear(policy::SEQUENCES / threads, threads).with_shared(shared_bytes);
                let args = (output, distribution, states, first % round);
                // SAFETY: this generator owns the states, which are at the position where the kernel continues, and there
                // is a thread for each.
                unsafe { self.launch(kernel, config, args)? };
            }
            None => {
                // A launch takes only quads whose numbers have the same upper word.
                let mut done = 0;
                while done < output.len() {
                    let at = first + done as u64;
                    let quads = (1 << 32) - (at / per_quad) % (1 << 32);
                    let most = quads * per_quad - at % per_quad;
                    let part = most.min((output.len() - done) as u64) as usize;
                    let to = output.slice_mut(done..done + part)?;
                    self.philox(choice, distribution, shared_bytes, to, at)?;
                    done += part;
                }
            }
        }
        self.position = end;
        if let Some(states) = &mut self.states {
            states.at = Some((end / 4) as u64);
        }
        Ok(())
    }

    /// Launches Philox's kernel for the elements from `first` on.
    fn philox<D: Kernels + ByValue>(
        &mut self,
        choice: Choice,
        distribution: D,
        shared_bytes: u32,
        output: VectorViewMut<'_, D::Out>,
        first: u64,
    ) -> Result<()>
    where
        D::Out: Element,
    {
        let (per_quad, bytes) = (<D::Quad as Quad<D::Out>>::LEN, size_of::<D::Out>());
        // The kernels count from the quad with this upper word, so that their numbers of elements stay below 2^64 up to the
        // stream's end.
        let upper = (first / per_quad as u64) >> 32;
        let base = upper << 32;
        let first = first - base * per_quad as u64;
        let quads = output.len() / per_quad + 2;
        let config = |tuned: Policy| {
            let multiprocessors = self.device.info().multiprocessors.max(1) as usize;
            let most = multiprocessors * tuned.blocks_per_multiprocessor as usize;
            let least_per_block = tuned.block * policy::LEAST_PER_THREAD;
            let blocks = quads.div_ceil(least_per_block).min(most);
            linear(blocks, tuned.block).with_shared(shared_bytes)
        };
        #[cfg(feature = "ladder")]
        if Variant::ALL[choice.index] != Variant::Best {
            let config = config(self.numbers(choice, D::PER_THREAD, bytes));
            let (seed, sequence) = (self.seed, self.sequence);
            let args = (output, distribution, seed, sequence, base, first);
            // SAFETY: the output was checked to end before the stream does.
            return unsafe { self.launch(D::PER_THREAD, config, args) };
        }
        let config = config(self.numbers(choice, D::BEST, bytes));
        let [low, high] = Philox4x32::key(self.sequence);
        let key = Philox4x32::key(self.seed);
        let keys = Philox4x32::run_keys(key, [upper as u32, low, high]);
        let args = (output, distribution, keys, first);
        // SAFETY: the output was checked to end before the stream does.
        unsafe { self.launch(D::BEST, config, args) }
    }

    /// Returns the policy of the variant's kernel, for elements of `bytes` bytes.
    fn numbers<P>(&self, choice: Choice, kernel: Entry<P>, bytes: usize) -> Policy {
        if Variant::ALL[choice.index] == Variant::Best {
            return self.device.policy(kernel.descriptor(), bytes);
        }
        policy::RUNG
    }

    /// Returns XORWOW's states, advanced past the quads before `quad`. `None` for a generator without states.
    fn states_at(&mut self, quad: u64) -> Result<Option<Place<u32>>> {
        let Some(states) = &mut self.states else {
            return Ok(None);
        };
        states.in_graph |= capture::is_active();
        let words = Place::of(states.words.view());
        if states.in_graph || states.at != Some(quad) {
            let config = linear(policy::SEQUENCES / policy::BLOCK, policy::BLOCK);
            let first = self.sequence.wrapping_mul(policy::SEQUENCES as u64);
            let args = (words, self.seed, first, quad);
            // SAFETY: this generator owns the states, and there is a thread for each.
            unsafe { self.launch(SETUP, config, args)? };
        }
        Ok(Some(words))
    }

    /// Queues a launch, or notes it if only the calls are wanted.
    ///
    /// # Safety
    /// As for [`Device::queue`](crate::Device::queue).
    unsafe fn launch<'a, P>(
        &mut self,
        kernel: Entry<P>,
        config: LaunchConfig,
        args: impl Args<'a, P>,
    ) -> Result<()> {
        if let Some(noted) = &mut self.noted {
            noted.push(Launch {
                kernel: kernel.descriptor(),
                config,
                words: Gathered::of(args).words,
                places: Vec::new(),
                constants: Vec::new(),
            });
            return Ok(());
        }
        // SAFETY: by the contract.
        unsafe { self.device.queue(OPERATION, kernel, config, args) }
    }

    /// Returns what `fill`, by which this generator fills `output` next, asks of the driver. It is not done, and the stream
    /// stays where it is. For the benchmark, not for users.
    ///
    /// # Errors
    /// Those of `fill`.
    #[doc(hidden)]
    pub fn calls<T: Element>(
        &mut self,
        output: &mut Vector<T>,
        fill: impl FnOnce(&mut Self, &mut Vector<T>) -> Result<()>,
    ) -> Result<Calls> {
        let (position, at) = (self.position, self.states.as_ref().map(|states| states.at));
        self.noted = Some(Vec::new());
        let filled = fill(self, output);
        let noted = self.noted.take();
        self.position = position;
        if let (Some(states), Some(at)) = (&mut self.states, at) {
            states.at = at;
        }
        filled?;
        let room = Room {
            address: output.view().address(),
            bytes: output.len() * size_of::<T>(),
        };
        let whole = Span {
            address: room.address,
            bytes: room.bytes,
            room: Some(0),
        };
        let steps = noted.into_iter().flatten().map(|mut launch| {
            // Each of the kernels begins with what it writes: the output, or the states.
            if room.contains(launch.words[0]) {
                launch.places.push((0, 0));
            }
            Call::Launch(launch)
        });
        Ok(Calls {
            rooms: vec![room],
            setup: Vec::new(),
            steps: steps.collect(),
            results: vec![whole],
        })
    }
}

/// Returns a launch whose grid is small for every problem.
fn linear(blocks: usize, threads: usize) -> LaunchConfig {
    LaunchConfig::linear(blocks as u32, threads as u32)
}
