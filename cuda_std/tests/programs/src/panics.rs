//! Panics of every kind.

use core::fmt;

use cuda_std::prelude::*;

/// A text of 5000 characters of two bytes.
struct Long;

impl fmt::Display for Long {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..5000).try_for_each(|_| formatter.write_str("é"))
    }
}

/// A text that panics half way.
struct Unfinished;

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("half of a text")?;
        panic!("within a message")
    }
}

/// Each lane writes its number plus one; the lanes of `mask` of the second block, of 32 lanes, panic before, in the way that
/// `kind` says. `seven` is 7.
#[kernel]
pub unsafe fn panics(output: GlobalMut<u32>, mask: u32, kind: u32, seven: u32) {
    let lane = thread::index_1d();
    let table = [seven; 4];
    if lane >= 32 && mask >> (lane - 32) & 1 == 1 {
        let value = match kind {
            0 => panic!("a text without arguments"),
            1 => panic!("x = {seven}, of lane {lane}"),
            2 => table[seven as usize],
            3 => seven.checked_sub(8).unwrap(),
            4 => seven.checked_sub(8).expect("eight of them"),
            5 => {
                assert_eq!(seven, 8, "of lane {lane}");
                0
            }
            6 => 1 / (seven - 7),
            7 => panic!("{Long}"),
            8 => panic!("{Unfinished}"),
            _ => {
                // More than a device's heap has. It is kept: LLVM takes away what is given back unused.
                let room = Vec::<u8>::with_capacity(1 << 40);
                core::mem::ManuallyDrop::new(room).as_ptr().addr() as u32
            }
        };
        output.set(0, value);
    }
    output.set(lane as usize, lane + 1);
}
