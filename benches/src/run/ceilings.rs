//! Measures the card's highest rates: copy, read, write, and fused multiply-adds.
//!
//! The copies are the driver's. The other rates use kernels that do nothing else, in PTX written here, so that they are neither
//! ours nor a peer's. Each kernel is tried in several shapes, and the best rate counts.

use std::ffi::c_void;
use std::fmt::Write;

use warpwright::{Device, Vector};
use warpwright_workloads::sample;

use super::{Result, Scale, driver, pointer};
use crate::record::{Bound, Ceiling};
use crate::stats::Times;

/// The sizes of the buffers in bytes. A case's ceiling is that for as many bytes as it moves.
const SIZES: [usize; 7] = [
    1 << 20,
    4 << 20,
    16 << 20,
    32 << 20,
    64 << 20,
    256 << 20,
    1 << 30,
];
/// The shapes that are tried: threads per block, blocks per multiprocessor, and words of 16 bytes in flight.
const SHAPES: [(u32, u32, usize); 5] = [
    (256, 8, 4),
    (512, 4, 4),
    (256, 4, 8),
    (512, 2, 8),
    (1024, 2, 4),
];
/// The shapes of the arithmetic: threads per block and blocks per multiprocessor.
const ARITHMETIC: [(u32, u32); 3] = [(256, 2), (256, 4), (256, 8)];
/// The number of independent chains of multiply-adds.
const CHAINS: usize = 8;
/// The rounds of the loop over the chains, and the multiply-adds of each chain per round.
const ROUNDS: (u32, usize) = (1024, 16);

/// Measures all ceilings.
///
/// # Errors
/// Returns the driver's errors. The device must be a CUDA device.
pub fn measure(device: &Device, scale: Scale) -> Result<Vec<Ceiling>> {
    let driver = Driver::open(device)?;
    let samples = scale.pick(21, 9, 3);
    let mut found = Vec::new();
    let largest = SIZES[SIZES.len() - 1];
    // Two sets are used in turn, as in the cases.
    let mut from = [buffer(device, largest)?, buffer(device, largest)?];
    let mut to: [Vector<u32>; 2] = [device.zeros(largest / 4)?, device.zeros(largest / 4)?];
    let from = from.each_mut().map(pointer);
    let to = to.each_mut().map(pointer);
    let mut sink: Vector<u32> = device.zeros(4)?;
    let sink = pointer(&mut sink);

    for bound in [Bound::Copy, Bound::Read, Bound::Write] {
        let (mut by_size, mut how) = (Vec::new(), String::new());
        for bytes in SIZES {
            let (time, shape) = match bound {
                Bound::Copy => {
                    let time = timed(device, samples, |turn| {
                        let (set, past) = place(turn, bytes);
                        driver.copy(to[set] + past, from[set] + past, bytes)
                    })?;
                    (time, "the driver's copy within the device".to_owned())
                }
                Bound::Read => driver.best(device, samples, "read", |kernel, shape, turn| {
                    let (set, past) = place(turn, bytes);
                    driver.launch(
                        kernel,
                        shape,
                        &[from[set] + past, (bytes / 16) as u64, sink],
                    )
                })?,
                _ => driver.best(device, samples, "write", |kernel, shape, turn| {
                    let (set, past) = place(turn, bytes);
                    driver.launch(kernel, shape, &[to[set] + past, (bytes / 16) as u64, sink])
                })?,
            };
            let moved = if bound == Bound::Copy {
                2 * bytes
            } else {
                bytes
            };
            by_size.push((moved as u64, moved as f64 / time));
            how = shape;
        }
        let rate = by_size.last().map_or(0.0, |(_, rate)| *rate);
        found.push(Ceiling {
            bound,
            rate,
            how,
            by_size,
        });
    }
    for (bound, kernel) in [(Bound::FmaF32, "fma_f32"), (Bound::FmaF64, "fma_f64")] {
        let (mut rate, mut how) = (0.0, String::new());
        for (threads, blocks) in ARITHMETIC {
            let grid = driver.multiprocessors * blocks;
            let function = driver.function(&arithmetic(kernel))?;
            let time = timed(device, samples, |_| {
                driver.launch(function, (grid, threads), &[sink, 0, 0])
            })?;
            let done =
                f64::from(grid * threads) * f64::from(ROUNDS.0) * (ROUNDS.1 * CHAINS) as f64 * 2.0;
            if done / time > rate {
                rate = done / time;
                how = format!(
                    "{CHAINS} chains in each of {} threads per multiprocessor",
                    threads * blocks
                );
            }
        }
        found.push(Ceiling {
            bound,
            rate,
            how,
            by_size: Vec::new(),
        });
    }
    Ok(found)
}

/// Makes a buffer of random words.
fn buffer(device: &Device, bytes: usize) -> Result<Vector<u32>> {
    Ok(device.upload(&sample::values(bytes / 4, 3, |hash| hash as u32))?)
}

/// Returns which of two sets of the largest size a turn uses, and its offset. Consecutive turns use different bytes, so that
/// none of them are in the cache.
fn place(turn: usize, bytes: usize) -> (usize, u64) {
    let places = SIZES[SIZES.len() - 1] / bytes;
    (turn % 2, (turn / 2 % places * bytes) as u64)
}

/// Returns the median time of one piece of work, in seconds. The work gets the number of times that it was done before.
fn timed(
    device: &Device,
    samples: usize,
    mut work: impl FnMut(usize) -> Result<()>,
) -> Result<f64> {
    /// The number of pieces in a sample.
    const PIECES: usize = 8;
    let (mut times, mut turn) = (Vec::new(), 0);
    for _ in 0..samples {
        work(turn)?;
        let (done, time) =
            device.time(|| Ok((turn + 1..turn + 1 + PIECES).try_for_each(&mut work)))?;
        done?;
        times.push(time.as_secs_f64() / PIECES as f64);
        turn += 1 + PIECES;
    }
    Ok(Times::of(&times, PIECES as u32)
        .ok_or("times above 0 required")?
        .median)
}

/// The driver's functions in the library's context and stream.
struct Driver {
    driver: driver::Driver,
    stream: *mut c_void,
    multiprocessors: u32,
}

impl Driver {
    fn open(device: &Device) -> Result<Self> {
        let stream = device
            .cuda_stream()
            .ok_or("ceilings: a CUDA device required")?;
        Ok(Self {
            driver: driver::Driver::open()?,
            stream,
            multiprocessors: device.info().multiprocessors,
        })
    }

    /// Returns the kernel called `kernel` of a module that has only that kernel.
    fn function(&self, ptx: &str) -> Result<*mut c_void> {
        self.driver.kernel(&self.driver.module(ptx)?, "kernel")
    }

    fn launch(
        &self,
        function: *mut c_void,
        (grid, block): (u32, u32),
        arguments: &[u64; 3],
    ) -> Result<()> {
        let mut pointers = arguments
            .each_ref()
            .map(|word| std::ptr::from_ref(word).cast_mut().cast::<c_void>());
        let (none, stream) = (std::ptr::null_mut(), self.stream);
        let params = pointers.as_mut_ptr();
        // SAFETY: every kernel here has three 64-bit parameters, and stays within the buffers that they name.
        unsafe { (self.driver).launch(function, grid, 1, 1, block, 1, 1, 0, stream, params, none) }
    }

    fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: both buffers have at least as many bytes and do not overlap.
        unsafe { self.driver.copy(to, from, bytes, self.stream) }
    }

    /// Returns the shortest time of all shapes, and its shape.
    fn best(
        &self,
        device: &Device,
        samples: usize,
        kind: &str,
        work: impl Fn(*mut c_void, (u32, u32), usize) -> Result<()>,
    ) -> Result<(f64, String)> {
        let mut best = (f64::INFINITY, String::new());
        for (threads, blocks, words) in SHAPES {
            let function = self.function(&stream_kernel(kind == "read", words))?;
            let grid = self.multiprocessors * blocks;
            let time = timed(device, samples, |turn| {
                work(function, (grid, threads), turn)
            })?;
            if time < best.0 {
                let how = format!(
                    "a kernel that {kind}s 16 bytes at a time, {words} in flight, {blocks} blocks of {threads} threads per multiprocessor"
                );
                best = (time, how);
            }
        }
        Ok(best)
    }
}

/// The start of every kernel: `%p` is the first parameter, `%n` the second, `%i` the thread's number, and `%s` the number of
/// all threads.
const HEAD: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .pred %q<3>;
  .reg .b32 %x<8>;
  .reg .b64 %p, %n, %i, %s, %e, %t, %o;
  ld.param.u64 %p, [a];
  ld.param.u64 %n, [b];
  mov.u32 %x0, %ctaid.x;
  mov.u32 %x1, %ntid.x;
  mov.u32 %x2, %tid.x;
  mad.lo.u32 %x3, %x0, %x1, %x2;
  cvt.u64.u32 %i, %x3;
  mov.u32 %x0, %nctaid.x;
  mul.lo.u32 %x3, %x0, %x1;
  cvt.u64.u32 %s, %x3;
";

/// Returns a kernel that reads or writes `%n` words of 16 bytes, `words` at a time.
fn stream_kernel(read: bool, words: usize) -> String {
    let mut ptx = HEAD.to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(ptx, "  .reg .b32 %v<{}>;\n  .reg .b32 %f<4>;", 4 * words);
    for word in 0..4 {
        let _ = writeln!(ptx, "  cvt.u32.u64 %f{word}, %i;");
    }
    // `%t` is the first place from which fewer than `words` rounds are left.
    let _ = writeln!(
        ptx,
        "  mul.lo.u64 %t, %s, {};\nBODY:\n  add.u64 %e, %i, %t;\n  setp.gt.u64 %q0, %e, %n;\n  @%q0 bra REST;",
        words - 1
    );
    let _ = writeln!(
        ptx,
        "  setp.eq.u64 %q0, %e, %n;\n  @%q0 bra REST;\n  shl.b64 %o, %i, 4;\n  add.u64 %o, %p, %o;\n  shl.b64 %e, %s, 4;"
    );
    for word in 0..words {
        if read {
            let v = 4 * word;
            let _ = writeln!(
                ptx,
                "  ld.global.v4.u32 {{%v{v}, %v{}, %v{}, %v{}}}, [%o];",
                v + 1,
                v + 2,
                v + 3
            );
        } else {
            let _ = writeln!(ptx, "  st.global.v4.u32 [%o], {{%f0, %f1, %f2, %f3}};");
        }
        let _ = writeln!(ptx, "  add.u64 %o, %o, %e;");
    }
    if read {
        for value in 0..4 * words {
            let _ = writeln!(ptx, "  xor.b32 %f{0}, %f{0}, %v{value};", value % 4);
        }
    }
    let _ = writeln!(
        ptx,
        "  mad.lo.u64 %i, %s, {words}, %i;\n  bra BODY;\nREST:\n  setp.ge.u64 %q0, %i, %n;\n  @%q0 bra DONE;\n  shl.b64 %o, %i, 4;\n  add.u64 %o, %p, %o;"
    );
    if read {
        let _ = writeln!(ptx, "  ld.global.v4.u32 {{%v0, %v1, %v2, %v3}}, [%o];");
        for value in 0..4 {
            let _ = writeln!(ptx, "  xor.b32 %f{value}, %f{value}, %v{value};");
        }
    } else {
        let _ = writeln!(ptx, "  st.global.v4.u32 [%o], {{%f0, %f1, %f2, %f3}};");
    }
    let _ = writeln!(ptx, "  add.u64 %i, %i, %s;\n  bra REST;\nDONE:");
    if read {
        // The condition is almost never true, but the compiler cannot know.
        let _ = writeln!(
            ptx,
            "  xor.b32 %f0, %f0, %f1;\n  xor.b32 %f2, %f2, %f3;\n  xor.b32 %f0, %f0, %f2;\n  setp.ne.u32 %q1, %f0, 0x9e3779b9;\n  @%q1 bra END;\n  ld.param.u64 %p, [c];\n  st.global.u32 [%p], %f0;\nEND:"
        );
    }
    ptx + "  ret;\n}\n"
}

/// Returns a kernel of multiply-adds only. `name` is `fma_f32` or `fma_f64`.
fn arithmetic(name: &str) -> String {
    let (kind, from, bits, one) = match name {
        "fma_f64" => ("f64", "cvt.rn.f64.u32", "fd", "0d3FF0000000000001"),
        _ => ("f32", "cvt.rn.f32.u32", "fs", "0f3F800001"),
    };
    let mut ptx = HEAD.to_owned();
    let _ = writeln!(
        ptx,
        "  .reg .{kind} %{bits}<{}>;\n  .reg .{kind} %m;\n  mov.{kind} %m, {one};",
        CHAINS
    );
    for chain in 0..CHAINS {
        let _ = writeln!(
            ptx,
            "  add.u32 %x4, %x3, {chain};\n  {from} %{bits}{chain}, %x4;"
        );
    }
    let _ = writeln!(ptx, "  mov.u32 %x5, 0;\nBODY:");
    for _ in 0..ROUNDS.1 {
        for chain in 0..CHAINS {
            let _ = writeln!(
                ptx,
                "  fma.rn.{kind} %{bits}{chain}, %{bits}{chain}, %m, %m;"
            );
        }
    }
    let _ = writeln!(
        ptx,
        "  add.u32 %x5, %x5, 1;\n  setp.lt.u32 %q0, %x5, {};\n  @%q0 bra BODY;",
        ROUNDS.0
    );
    for chain in 1..CHAINS {
        let _ = writeln!(ptx, "  add.rn.{kind} %{bits}0, %{bits}0, %{bits}{chain};");
    }
    // No sum of these is below 0, but the compiler cannot know.
    let _ = writeln!(
        ptx,
        "  mov.{kind} %m, {};\n  setp.geu.{kind} %q1, %{bits}0, %m;\n  @%q1 bra END;\n  st.global.{kind} [%p], %{bits}0;\nEND:",
        if kind == "f64" {
            "0d0000000000000000"
        } else {
            "0f00000000"
        }
    );
    ptx + "  ret;\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_have_the_accesses_that_are_counted() {
        for (_, _, words) in SHAPES {
            let (read, write) = (stream_kernel(true, words), stream_kernel(false, words));
            // One more load handles the remainder.
            assert_eq!(read.matches("ld.global.v4.u32").count(), words + 1);
            assert_eq!(write.matches("st.global.v4.u32").count(), words + 1);
            assert_eq!(read.matches("st.global").count(), 1);
        }
        for (name, kind) in [("fma_f32", "fma.rn.f32"), ("fma_f64", "fma.rn.f64")] {
            assert_eq!(arithmetic(name).matches(kind).count(), CHAINS * ROUNDS.1);
        }
    }
}
