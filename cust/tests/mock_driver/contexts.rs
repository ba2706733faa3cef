//! Tests of initialization, devices, contexts, streams and events.

use std::sync::mpsc;
use std::time::Duration;

use cust::CudaApiVersion;
use cust::context::legacy::{self, ContextStack};
use cust::context::{
    CacheConfig, Context, ContextFlags, ContextHandle, CurrentContext, ResourceLimit,
    SharedMemoryConfig,
};
use cust::device::{Device, DeviceAttribute, PeerAttribute};
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer, mem_get_info};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};

use crate::common::mock;

#[test]
fn devices_are_described() {
    let mock = mock();
    assert_eq!(Device::num_devices(), Ok(2));
    let devices: Vec<_> = Device::devices().expect("devices").collect();
    assert_eq!(devices.len(), 2);
    let device = devices[1].expect("the second");
    assert_eq!(device, Device::get_device(1).expect("the same"));
    assert_eq!(device.name().as_deref(), Ok("Mock GPU"));
    assert_eq!(device.total_memory(), Ok(1 << 30));
    assert_eq!(device.uuid(), Ok([0xf1; 16]));
    assert_eq!(device.get_attribute(DeviceAttribute::WarpSize), Ok(32));
    assert_eq!(
        device.get_attribute(DeviceAttribute::ComputeCapabilityMajor),
        Ok(8)
    );
    assert_eq!(
        device.get_attribute(DeviceAttribute::MemoryPoolsSupported),
        Ok(1)
    );
    assert_eq!(Device::get_device(2), Err(CudaError::InvalidDevice));
    assert_eq!(Device::get_device(u32::MAX), Err(CudaError::InvalidDevice));
    let version = CudaApiVersion::get().expect("a version");
    assert_eq!((version.major(), version.minor()), (13, 1));
    mock.nothing_is_left();
}

#[test]
fn the_primary_context_is_kept_and_given_back() {
    let mock = mock();
    let before = mock.driver.live()[0];
    let (context, stream) = mock.open();
    assert_eq!(CurrentContext::get_device(), Device::get_device(0));
    assert_eq!(CurrentContext::get_flags(), Ok(ContextFlags::SCHED_AUTO));
    context
        .set_flags(ContextFlags::SCHED_BLOCKING_SYNC)
        .expect("flags");
    assert_eq!(
        CurrentContext::get_flags(),
        Ok(ContextFlags::SCHED_BLOCKING_SYNC)
    );
    assert_eq!(
        context.get_api_version().map(|version| version.major()),
        Ok(3)
    );
    let again = context.clone();
    assert_eq!(again.as_raw(), context.get_inner());
    assert_eq!(mock.driver.live()[0], before + 2);
    assert!(Context::drop(again).is_ok());
    assert_eq!(mem_get_info().map(|(_, total)| total), Ok(1 << 30));
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn what_is_set_of_a_context_can_be_asked() {
    let mock = mock();
    let (context, stream) = mock.open();
    CurrentContext::set_cache_config(CacheConfig::PreferL1).expect("set");
    assert_eq!(
        CurrentContext::get_cache_config(),
        Ok(CacheConfig::PreferL1)
    );
    CurrentContext::set_shared_memory_config(SharedMemoryConfig::EightByteBankSize).expect("set");
    let banks = CurrentContext::get_shared_memory_config();
    assert_eq!(banks, Ok(SharedMemoryConfig::EightByteBankSize));
    CurrentContext::set_resource_limit(ResourceLimit::StackSize, 4096).expect("set");
    assert_eq!(
        CurrentContext::get_resource_limit(ResourceLimit::StackSize),
        Ok(4096)
    );
    let range = CurrentContext::get_stream_priority_range().expect("a range");
    assert_eq!((range.least, range.greatest), (0, -5));
    CurrentContext::synchronize().expect("nothing to wait for");
    // A newer driver may return values that have no name here.
    // SAFETY: the argument is a number.
    assert_eq!(unsafe { cust::sys::cuCtxSetCacheConfig(77) }, 0);
    assert_eq!(
        CurrentContext::get_cache_config(),
        Err(CudaError::UnexpectedValue)
    );
    CurrentContext::set_cache_config(CacheConfig::PreferNone).expect("set");
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn contexts_of_ones_own_are_a_stack() {
    let mock = mock();
    let device = Device::get_device(1).expect("a device");
    let flags = ContextFlags::SCHED_SPIN | ContextFlags::MAP_HOST;
    let first = legacy::Context::create_and_push(flags, device).expect("a context");
    assert_eq!(CurrentContext::get_flags(), Ok(flags));
    let second = legacy::Context::create_and_push(flags, Device::get_device(0).expect("a device"))
        .expect("another");
    assert_eq!(
        CurrentContext::get_current().map(|it| it.get_inner()),
        Ok(second.get_inner())
    );
    let popped = ContextStack::pop().expect("the second");
    assert_eq!(popped.get_inner(), second.get_inner());
    assert_eq!(CurrentContext::get_device(), Ok(device));
    ContextStack::push(&popped).expect("back");
    let unowned = first.get_unowned();
    CurrentContext::set_current(&unowned).expect("the first");
    assert_eq!(CurrentContext::get_device(), Ok(device));
    assert!(unowned.get_api_version().is_ok());
    assert!(legacy::Context::drop(second).is_ok());
    drop(first);
    mock.nothing_is_left();
}

#[test]
fn peers_get_access_and_lose_it() {
    let mock = mock();
    let (first, second) = (
        Device::get_device(0).expect("a device"),
        Device::get_device(1).expect("a device"),
    );
    assert_eq!(first.can_access_peer(second), Ok(true));
    assert_eq!(first.can_access_peer(first), Ok(false));
    assert_eq!(
        first.peer_attribute(second, PeerAttribute::NativeAtomicSupported),
        Ok(30)
    );
    let other = Context::new(second).expect("a context");
    let context = Context::new(first).expect("a context");
    CurrentContext::enable_peer_access(&other).expect("access");
    let again = CurrentContext::enable_peer_access(&other);
    assert_eq!(again, Err(CudaError::PeerAccessAlreadyEnabled));
    // Access goes one way.
    CurrentContext::set_current(&other).expect("current");
    CurrentContext::enable_peer_access(&context).expect("access");
    CurrentContext::disable_peer_access(&context).expect("no access");
    CurrentContext::set_current(&context).expect("current");
    CurrentContext::disable_peer_access(&other).expect("no access");
    assert_eq!(
        CurrentContext::disable_peer_access(&other),
        Err(CudaError::PeerAccessNotEnabled)
    );
    assert_eq!(
        CurrentContext::enable_peer_access(&context),
        Err(CudaError::InvalidValue)
    );
    drop((context, other));
    mock.nothing_is_left();
}

#[test]
fn streams_have_flags_and_priorities() {
    let mock = mock();
    let (context, stream) = mock.open();
    assert_eq!(stream.get_flags(), Ok(StreamFlags::NON_BLOCKING));
    assert_eq!(stream.get_priority(), Ok(0));
    let urgent = Stream::new(StreamFlags::DEFAULT, Some(-9)).expect("a stream");
    assert_eq!(
        (urgent.get_flags(), urgent.get_priority()),
        (Ok(StreamFlags::DEFAULT), Ok(-5))
    );
    assert!(Stream::drop(urgent).is_ok());
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_callback_is_called_once_and_its_panic_ends_there() {
    let mock = mock();
    let (context, stream) = mock.open();
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    stream
        .add_callback(Box::new(move |status| sender.send(status).expect("sent")))
        .expect("queued");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Ok(())]);
    stream
        .add_callback(Box::new(|_| std::panic::resume_unwind(Box::new("a panic"))))
        .expect("queued");
    // A callback that the driver refuses is dropped without being called.
    mock.driver.arm(crate::common::Plan::Once, 1, 999);
    let refused = stream.add_callback(Box::new(move |status| other.send(status).expect("sent")));
    assert_eq!(refused, Err(CudaError::UnknownError));
    assert_eq!(
        receiver.recv_timeout(Duration::ZERO),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
    mock.driver.disarm();
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn an_event_is_ready_when_the_work_before_it_is_done() {
    let mock = mock();
    let (context, stream) = mock.open();
    let (start, end) = (
        Event::new(EventFlags::DEFAULT).expect("an event"),
        Event::new(EventFlags::BLOCKING_SYNC).expect("an event"),
    );
    let from = LockedBuffer::from_slice(&[1_u32, 2, 3]).expect("locked memory");
    let mut to = DeviceBuffer::from_slice(&[0_u32; 3]).expect("a buffer");
    start.record(&stream).expect("recorded");
    // SAFETY: both buffers live until the stream has finished.
    unsafe { to.async_copy_from(&from, &stream) }.expect("queued");
    end.record(&stream).expect("recorded");
    assert_eq!(
        (end.query(), stream.query()),
        (Ok(EventStatus::NotReady), Ok(false))
    );
    let other = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    other
        .wait_event(&end, StreamWaitEventFlags::DEFAULT)
        .expect("queued");
    end.synchronize().expect("waited");
    assert_eq!(
        (end.query(), stream.query()),
        (Ok(EventStatus::Ready), Ok(true))
    );
    assert_eq!(end.elapsed_time_f32(&start), Ok(1.0));
    assert_eq!(end.elapsed(&start), Ok(Duration::from_millis(1)));
    assert_eq!(to.as_host_vec().as_deref(), Ok([1, 2, 3].as_slice()));
    assert!(Event::drop(start).is_ok());
    drop((end, from, to, other, stream, context));
    mock.nothing_is_left();
}
