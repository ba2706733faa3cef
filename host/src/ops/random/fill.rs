//! Launches that fill an output.

use cuda_std::{
    kernel::{ByValue, KernelDescriptor, LaunchConfig},
    random::Philox4x32,
};
use warpwright_gpu::random::{
    FAMILY, Kernels, Quad, SETUP,
    policy::{self, Policy},
};

use super::{OPERATION, RandomGenerator, STREAM};
use crate::{
    buffer::{Element, VectorViewMut},
    device::Device,
    error::{Error, Result},
    launch::RawArgs,
    ops::{Choice, grid_size},
};

/// A call that fills an output.
struct Fill<'a, D> {
    choice: Choice,
    distribution: D,
    shared_bytes: u32,
    owner: &'a Device,
}

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

    /// Fills `output` by kernels that take so much dynamic shared memory.
    pub(super) fn fill_with<D: Kernels + ByValue>(
        &mut self,
        distribution: D,
        shared_bytes: u32,
        output: VectorViewMut<'_, D::Out>,
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
                OPERATION,
                format!(
                    "no more than the {} words that are left of the stream's 2^64",
                    STREAM - self.position
                ),
                format!("{} elements of {words} words", output.len()),
            ));
        }
        // There are elements, so the first one's words are before the end.
        let first = first as u64;
        let (address, len) = (output.address(), output.len());
        let states = match &self.states {
            Some(_) => Some(self.states_at(first / per_quad, choice)?),
            None => None,
        };
        // Should a launch fail, the states are those of no place.
        self.forget();
        let launch = Fill {
            choice,
            distribution,
            shared_bytes,
            owner: output.device(),
        };
        match states {
            Some(states) => self.xorwow(&launch, states, (address, len), first)?,
            None => {
                // A launch takes quads whose numbers share their upper word.
                let mut done = 0;
                while done < len {
                    let at = first + done as u64;
                    let quads = (1 << 32) - (at / per_quad) % (1 << 32);
                    let most = quads * per_quad - at % per_quad;
                    let part = most.min((len - done) as u64) as usize;
                    let to = address + (done * size_of::<D::Out>()) as u64;
                    self.philox(&launch, (to, part), at)?;
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

    /// Launches Philox's kernel for elements `first` and on.
    fn philox<D: Kernels + ByValue>(
        &self,
        fill: &Fill<'_, D>,
        (address, len): (u64, usize),
        first: u64,
    ) -> Result<()> {
        let Fill {
            choice,
            distribution,
            ..
        } = *fill;
        let per_quad = <D::Quad as Quad<D::Out>>::LEN;
        let kernel = D::PHILOX[choice.index];
        let mut args = RawArgs::new();
        args.view(address, len).value(distribution);
        // The kernels count from the quad with this upper word, so that the stream's last element is not past 2^64 to them.
        let upper = (first / per_quad as u64) >> 32;
        let base = upper << 32;
        match choice.variant() {
            "best" => {
                let [low, high] = Philox4x32::key(self.sequence);
                let key = Philox4x32::key(self.seed);
                args.value(Philox4x32::run_keys(key, [upper as u32, low, high]))
            }
            _ => args.value(self.seed).value(self.sequence).value(base),
        };
        args.value(first - base * per_quad as u64);
        let tuned = self.numbers(choice, kernel, size_of::<D::Out>());
        let quads = len / per_quad + 2;
        let multiprocessors = self.device.info().multiprocessors.max(1) as usize;
        let most = multiprocessors * tuned.blocks_per_multiprocessor as usize;
        let least_per_block = tuned.block * policy::LEAST_PER_THREAD;
        let blocks = quads.div_ceil(least_per_block).min(most);
        self.launch_fill(fill, kernel, [blocks, tuned.block], &args)
    }

    /// Launches XORWOW's kernel, which goes on from the states at this address.
    fn xorwow<D: Kernels + ByValue>(
        &self,
        fill: &Fill<'_, D>,
        states: u64,
        (address, len): (u64, usize),
        first: u64,
    ) -> Result<()> {
        let kernel = D::XORWOW[fill.choice.index];
        // A quad's sequence is its number modulo that of the sequences, and all of them are behind the words before.
        let round = (policy::SEQUENCES * <D::Quad as Quad<D::Out>>::LEN) as u64;
        let first = first % round;
        let mut args = RawArgs::new();
        args.view(address, len)
            .value(fill.distribution)
            .view(states, policy::STATE_WORDS * policy::SEQUENCES)
            .value(first);
        let threads = self.numbers(fill.choice, kernel, size_of::<D::Out>()).block;
        self.launch_fill(fill, kernel, [policy::SEQUENCES / threads, threads], &args)
    }

    fn launch_fill<D>(
        &self,
        fill: &Fill<'_, D>,
        kernel: &'static KernelDescriptor,
        [blocks, threads]: [usize; 2],
        args: &RawArgs,
    ) -> Result<()> {
        let shape = [grid_size(&FAMILY, fill.choice, blocks)?, threads as u32];
        self.launch(kernel, shape, fill.shared_bytes, args, fill.owner)
    }

    /// The numbers of the variant's kernel, for elements of `bytes` bytes.
    fn numbers(&self, choice: Choice, kernel: &KernelDescriptor, bytes: usize) -> Policy {
        if choice.variant() == "best" {
            return self.device.policy(kernel, bytes);
        }
        policy::RUNG
    }

    /// The address of XORWOW's states, with the quads before `quad` used up.
    fn states_at(&self, quad: u64, choice: Choice) -> Result<u64> {
        let Some(states) = &self.states else {
            return Err(Error::invalid(
                OPERATION,
                "a generator with states",
                "one without",
            ));
        };
        let address = states.words.view().address();
        if states.at != Some(quad) {
            let mut args = RawArgs::new();
            args.view(address, states.words.len())
                .value(self.seed)
                .value(self.sequence.wrapping_mul(policy::SEQUENCES as u64))
                .value(quad);
            let blocks = grid_size(&FAMILY, choice, policy::SEQUENCES / policy::BLOCK)?;
            let shape = [blocks, policy::BLOCK as u32];
            self.launch(SETUP, shape, 0, &args, &self.device)?;
        }
        Ok(address)
    }

    fn launch(
        &self,
        kernel: &'static KernelDescriptor,
        [blocks, threads]: [u32; 2],
        shared_bytes: u32,
        args: &RawArgs,
        owner: &Device,
    ) -> Result<()> {
        let config = LaunchConfig::linear(blocks, threads).with_shared(shared_bytes);
        // SAFETY: the output is borrowed to be written, the states are this generator's own and at the place
        // that the kernel goes on from, the grid covers them, and the stream's end was checked.
        unsafe {
            self.device
                .queue(OPERATION, (kernel, config), args, &[owner])
        }
    }
}
