//! Tests of failing calls and of the look-up of functions.

use cust::context::Context;
use cust::device::Device;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBox, DeviceBuffer, LockedBuffer, UnifiedBox, UnifiedBuffer};
use cust::module::Module;
use cust::stream::Stream;

use crate::common::{Plan, mock};

#[test]
fn a_code_without_a_name_is_an_error_with_its_number() {
    let mock = mock();
    let (context, stream) = mock.open();
    mock.driver.arm(Plan::Once, 1, 9999);
    let error = DeviceBuffer::from_slice(&[1_u8]).expect_err("the call fails");
    mock.driver.disarm();
    assert_eq!(error, CudaError::from_code(9999));
    assert_eq!(error.code(), 9999);
    assert_eq!(error.to_string(), "unrecognized error (9999)");
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn an_error_says_name_number_and_text() {
    let _mock = mock();
    // The driver has a name and a text for the first error, and only a name for the second.
    let shown = |error: CudaError| error.to_string();
    assert_eq!(
        shown(CudaError::LaunchFailed),
        "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure"
    );
    assert_eq!(
        shown(CudaError::OutOfMemory),
        "CUDA_ERROR_OUT_OF_MEMORY (2)"
    );
    // The driver does not know this error, but the crate has a name for it.
    assert_eq!(shown(CudaError::Timeout), "CUDA_ERROR_TIMEOUT (909)");
    let own = shown(CudaError::InvalidMemoryAllocation);
    assert_eq!(
        own,
        "an allocation of no bytes, or of more than can be counted"
    );
}

/// Makes each driver call of `work`, and of the drop of its result, fail in turn. Returns the number of calls.
fn fail_each<T>(work: impl Fn() -> Result<T, CudaError>) -> u64 {
    let mock = mock();
    let (context, stream) = mock.open();
    mock.driver.arm(Plan::None, 0, 0);
    drop(work().expect("nothing fails"));
    let (calls, _) = mock.driver.disarm();
    for nth in 1..=calls {
        let before = mock.driver.live_in_all();
        mock.driver.arm(Plan::Once, nth, 9999);
        let result = work().map(drop);
        let (_, failed) = mock.driver.disarm();
        let failed = failed.expect("one failed");
        // A drop cannot return an error, and the mock driver then keeps the resource.
        let gives_back = ["Free", "Destroy", "Unload", "Release"];
        let is_drop = gives_back.iter().any(|part| failed.contains(part));
        let expected = if is_drop {
            Ok(())
        } else {
            Err(CudaError::from_code(9999))
        };
        assert_eq!(result, expected, "{failed}");
        let left = mock.driver.live_in_all() - before;
        assert_eq!(left, u64::from(is_drop), "left behind after {failed}");
    }
    drop((stream, context));
    calls
}

#[test]
fn no_failing_call_is_hidden_or_leaves_anything_behind() {
    assert_eq!(fail_each(|| DeviceBuffer::from_slice(&[1_u32, 2])), 3);
    assert_eq!(fail_each(|| DeviceBuffer::<u32>::zeroed(4)), 3);
    assert_eq!(fail_each(|| DeviceBox::new(&7_u64)), 3);
    assert_eq!(fail_each(|| UnifiedBox::new(7_u64)), 2);
    assert_eq!(fail_each(|| UnifiedBuffer::new(&1_u8, 9)), 2);
    assert_eq!(fail_each(|| LockedBuffer::new(&1_u8, 9)), 2);
    assert_eq!(fail_each(|| Event::new(EventFlags::DEFAULT)), 2);
    assert_eq!(fail_each(|| Stream::new(Default::default(), Some(-1))), 2);
    assert_eq!(fail_each(|| Context::new(Device::get_device(0)?)), 4);
    assert_eq!(fail_each(|| Module::from_ptx("", &[])), 2);
}

#[test]
fn what_cannot_be_given_back_is_given_to_the_caller() {
    let mock = mock();
    let (context, stream) = mock.open();
    let buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3]).expect("a buffer");
    let address = buffer.as_device_ptr();
    mock.driver.arm(Plan::Once, 1, 9999);
    // SAFETY: null is no allocation.
    assert_eq!(unsafe { cust::sys::cuMemFree(0) }, 9999);
    mock.driver.arm(Plan::Once, 1, 719);
    let Err((error, stream)) = Stream::drop(stream) else {
        panic!("the call fails")
    };
    assert_eq!(error, CudaError::LaunchFailed);
    let (_, failed) = mock.driver.disarm();
    assert_eq!(failed.as_deref(), Some("cuStreamDestroy_v2"));
    drop(stream);
    assert!(DeviceBuffer::drop(buffer).is_ok() && !address.is_null());
    drop(context);
}

#[test]
fn memory_that_the_driver_will_not_free_in_a_streams_order_stays() {
    let mock = mock();
    let (context, stream) = mock.open();
    let before = mock.driver.live_in_all();
    let buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3]).expect("a buffer");
    let value = DeviceBox::new(&4_u32).expect("a box");
    let addresses = [buffer.as_device_ptr(), value.as_device_ptr()];
    mock.driver.arm(Plan::Once, 1, 719);
    assert_eq!(buffer.drop_async(&stream), Err(CudaError::LaunchFailed));
    let (_, failed) = mock.driver.disarm();
    assert_eq!(failed.as_deref(), Some("cuMemFreeAsync"));
    mock.driver.arm(Plan::Once, 1, 719);
    assert_eq!(value.drop_async(&stream), Err(CudaError::LaunchFailed));
    let (_, failed) = mock.driver.disarm();
    assert_eq!(failed.as_deref(), Some("cuMemFreeAsync"));
    // Both allocations still exist. A caller who knows that nothing uses them can free them.
    assert_eq!(mock.driver.live_in_all(), before + 2);
    for address in addresses {
        // SAFETY: the memory was allocated above and is not freed.
        unsafe { cust::memory::cuda_free(address) }.expect("freed");
    }
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn functions_are_looked_up_by_the_driver_in_the_form_declared_here() {
    let mock = mock();
    for name in [
        "cuInit",
        "cuMemAlloc",
        "cuStreamBeginCapture",
        "cuGraphLaunch",
        "cuDeviceGetUuid",
    ] {
        assert!(cust::driver::has_function(name), "{name}");
    }
    let (found, missing) = mock.driver.lookups();
    assert!(found >= 5, "{found}");
    assert_eq!(
        missing, 0,
        "functions that the driver's own look-up has not in that version"
    );
    // A driver before CUDA 11.3 has no look-up function: the exported names are used.
    mock.driver.refuse_lookups(true);
    let all = [
        "cuMemAlloc",
        "cuCtxDestroy",
        "cuStreamBeginCapture",
        "cuLinkCreate",
        "cuDevicePrimaryCtxRelease",
    ];
    let found: Vec<_> = all
        .iter()
        .filter(|name| cust::driver::has_function(name))
        .collect();
    mock.driver.refuse_lookups(false);
    assert_eq!(found.len(), all.len());
    assert!(
        !cust::driver::has_function("cuMemAlloc_v2"),
        "a name that sys does not have"
    );
}
