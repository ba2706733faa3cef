use core::ffi::c_void;
use cuda_std::kernel::{ByValue, Param, Params, RawParam};

#[derive(Clone, Copy)]
struct Forged;

impl Param for Forged {
    const RAW: &'static [RawParam] = &[];

    unsafe fn read(_: &[*const c_void]) -> Self {
        Self
    }
}

// What may be passed by value is no tuple of parameters for it.
#[derive(Clone, Copy)]
struct Plain(u32);

unsafe impl ByValue for Plain {}

impl Params for Plain {
    const RAW: &'static [&'static [RawParam]] = &[];

    unsafe fn read(_: &[*const c_void]) -> Self {
        Self(0)
    }
}

fn main() {}
