//! Tests of memory and copies.

use cust::DeviceCopy;
use cust::context::Context;
use cust::device::Device;
use cust::error::CudaError;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, DeviceMemory, DevicePointer,
    DeviceVariable, GpuBox, GpuBuffer, LockedBox, LockedBuffer, MemoryAdvise, MemoryPool,
    UnifiedBox, UnifiedBuffer, bytemuck, cuda_free, cuda_free_async, cuda_free_locked,
    cuda_free_unified, cuda_malloc, cuda_malloc_async, cuda_malloc_locked, cuda_malloc_pitched,
    cuda_malloc_unified, mem_get_info, memcpy_2d_dtoh, memcpy_2d_htod, memcpy_peer,
    memcpy_peer_async,
};
use cust::stream::Stream;
use cust::util::{DeviceCopyExt, SliceExt};

use crate::common::{Mock, mock};

/// Runs a test with a context and a stream, and checks that it releases everything.
fn with_stream(work: impl FnOnce(&Mock, &Stream)) {
    let mock = mock();
    let (context, stream) = mock.open();
    work(&mock, &stream);
    drop((stream, context));
    mock.nothing_is_left();
}

#[test]
fn a_buffer_holds_what_was_copied() {
    with_stream(|_, _| {
        let values: Vec<u32> = (0..100).collect();
        let (free, total) = mem_get_info().expect("numbers");
        let mut buffer = values.as_slice().as_dbuf().expect("a buffer");
        assert_eq!((buffer.len(), buffer.size_in_bytes()), (100, 400));
        assert_eq!(mem_get_info(), Ok((free - 400, total)));
        buffer[10..20].copy_from(&[7; 10]).expect("a copy");
        buffer[99].copy_from(&[8]).expect("a copy");
        let mut host = vec![0; 100];
        buffer.copy_to(&mut host).expect("a copy");
        let mut expected = values.clone();
        expected[10..20].fill(7);
        expected[99] = 8;
        assert_eq!(host, expected);
        assert_eq!(buffer[5..12].as_host_vec(), Ok(expected[5..12].to_vec()));
        let mut other = DeviceBuffer::from_slice(&[0_u32; 100]).expect("a buffer");
        other.copy_from(&buffer).expect("a copy");
        other[..50].copy_to(&mut buffer[50..]).expect("a copy");
        expected.copy_within(..50, 50);
        assert_eq!(buffer.as_host_vec(), Ok(expected));
        assert!(DeviceBuffer::drop(buffer).is_ok());
    });
}

#[test]
fn copies_of_different_lengths_are_errors() {
    with_stream(|mock, stream| {
        let mut buffer = [1_u8, 2, 3].as_dbuf().expect("a buffer");
        let mut other = [1_u8, 2].as_dbuf().expect("a buffer");
        let refused = Err(CudaError::InvalidValue);
        let before = mock.driver.calls();
        assert_eq!(buffer.copy_from(&[1, 2]), refused);
        assert_eq!(buffer.copy_to(&mut [0; 4]), refused);
        assert_eq!(buffer.copy_from(&other), refused);
        assert_eq!(buffer.copy_to(&mut other), refused);
        // SAFETY: the copies are refused, so nothing is queued.
        unsafe {
            assert_eq!(buffer.async_copy_from(&[1, 2], stream), refused);
            assert_eq!(buffer.async_copy_to(&mut [0; 4], stream), refused);
            assert_eq!(buffer.async_copy_from(&other, stream), refused);
            assert_eq!(buffer.async_copy_to(&mut other, stream), refused);
        }
        assert_eq!(mock.driver.calls(), before, "the driver was not asked");
    });
}

#[test]
fn without_bytes_the_driver_is_not_asked() {
    with_stream(|mock, stream| {
        let before = mock.driver.calls();
        let mut empty = DeviceBuffer::<u32>::from_slice(&[]).expect("a buffer");
        assert!(empty.is_empty() && empty.as_host_vec() == Ok(vec![]));
        empty.set_32(1).expect("nothing to set");
        let unit = DeviceBox::new(&()).expect("a box");
        assert_eq!(unit.as_host_value(), Ok(()));
        let units = DeviceBuffer::from_slice(&[(); 5]).expect("a buffer");
        assert_eq!(units.as_host_vec(), Ok(vec![(); 5]));
        let locked = LockedBuffer::new(&0_u8, 0).expect("a buffer");
        let unified = UnifiedBuffer::from_slice(&[(); 3]).expect("a buffer");
        assert_eq!((locked.len(), unified.len()), (0, 3));
        unified.prefetch_to_host(stream).expect("nothing to move");
        drop((
            LockedBox::new(&()).expect("a box"),
            UnifiedBox::new(()).expect("a box"),
        ));
        empty.drop_async(stream).expect("nothing to free");
        drop((unit, units, locked, unified));
        assert_eq!(mock.driver.calls(), before);
        let refused = Some(CudaError::InvalidMemoryAllocation);
        // SAFETY: the calls are refused, so nothing is allocated.
        unsafe {
            assert_eq!(cuda_malloc::<u8>(0).err(), refused);
            assert_eq!(cuda_malloc_async::<()>(stream, 7).err(), refused);
            assert_eq!(cuda_malloc_unified::<u64>(usize::MAX).err(), refused);
            assert_eq!(cuda_malloc_locked::<u64>(usize::MAX / 8 + 1).err(), refused);
            assert_eq!(cuda_malloc_pitched::<u32>(usize::MAX, 2).err(), refused);
            assert_eq!(
                DeviceBuffer::<u64>::uninitialized(usize::MAX).err(),
                refused
            );
            assert_eq!(cuda_free(DevicePointer::<u8>::null()).err(), refused);
        }
        assert_eq!(mock.driver.calls(), before);
        // SAFETY: refused by the driver.
        let much = unsafe { DeviceBuffer::<u8>::uninitialized(1 << 40) };
        assert_eq!(much.err(), Some(CudaError::OutOfMemory));
    });
}

#[test]
fn asynchronous_copies_arrive_when_the_stream_is_done() {
    with_stream(|_, stream| {
        let from = LockedBuffer::from_slice(&[1.5_f32, 2.5]).expect("locked memory");
        let mut back = LockedBuffer::new(&0.0_f32, 2).expect("locked memory");
        // SAFETY: all buffers live until the stream has finished, and nothing else uses them.
        unsafe {
            let mut buffer = DeviceBuffer::from_slice_async(&from, stream).expect("a buffer");
            let mut other = DeviceBuffer::<f32>::zeroed_async(2, stream).expect("a buffer");
            other.async_copy_from(&buffer, stream).expect("queued");
            buffer.set_zero_async(stream).expect("queued");
            other.async_copy_to(&mut back, stream).expect("queued");
            assert_eq!(back[..], [0.0, 0.0], "the stream has not begun");
            stream.synchronize().expect("done");
            assert_eq!(back[..], [1.5, 2.5]);
            assert_eq!(buffer.as_host_vec(), Ok(vec![0.0, 0.0]));
            buffer.drop_async(stream).expect("queued");
            other.drop_async(stream).expect("queued");
            let value = LockedBox::new(&9_u64).expect("locked memory");
            let mut there = DeviceBox::new_async(&*value, stream).expect("a box");
            let zero = DeviceBox::<u64>::zeroed_async(stream).expect("a box");
            let mut result = LockedBox::new(&1_u64).expect("locked memory");
            there.async_copy_to(&mut *result, stream).expect("queued");
            stream.synchronize().expect("done");
            assert_eq!(*result, 9);
            there.async_copy_from(&zero, stream).expect("queued");
            stream.synchronize().expect("done");
            assert_eq!(there.as_host_value(), Ok(0));
            there.drop_async(stream).expect("queued");
        }
    });
}

#[test]
fn fills_are_of_one_two_or_four_bytes() {
    with_stream(|_, stream| {
        let mut bytes = DeviceBuffer::from_slice(&[0_u8; 8]).expect("a buffer");
        bytes.set_8(0xab).expect("set");
        bytes[2..6].set_16(0x1234).expect("set");
        assert_eq!(
            bytes.as_host_vec(),
            Ok(vec![0xab, 0xab, 0x34, 0x12, 0x34, 0x12, 0xab, 0xab])
        );
        bytes.set_32(0x0403_0201).expect("set");
        assert_eq!(bytes.as_host_vec(), Ok(vec![1, 2, 3, 4, 1, 2, 3, 4]));
        let refused = Err(CudaError::InvalidValue);
        assert_eq!(bytes[..3].set_16(1), refused, "three bytes");
        assert_eq!(bytes[1..3].set_16(1), refused, "an odd address");
        assert_eq!(bytes[..6].set_32(1), refused, "six bytes");
        // SAFETY: nothing else uses the buffers until the stream has finished.
        unsafe {
            bytes[..4].set_16_async(0x0605, stream).expect("queued");
            bytes[4..]
                .set_32_async(0x0a09_0807, stream)
                .expect("queued");
            bytes[7..].set_8_async(0xff, stream).expect("queued");
            stream.synchronize().expect("done");
        }
        assert_eq!(bytes.as_host_vec(), Ok(vec![5, 6, 5, 6, 7, 8, 9, 0xff]));
        bytes.set_zero().expect("set");
        assert_eq!(bytes.as_host_vec(), Ok(vec![0; 8]));
        assert_eq!(
            DeviceBuffer::<u16>::zeroed(3).and_then(|it| it.as_host_vec()),
            Ok(vec![0; 3])
        );
    });
}

#[test]
fn a_buffer_is_cast_to_elements_that_fit() {
    with_stream(|_, _| {
        let buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3]).expect("a buffer");
        let bytes = buffer.cast::<u8>();
        assert_eq!(
            bytes.as_host_vec(),
            Ok(vec![1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])
        );
        let slop = bytes.try_cast::<u64>().err();
        assert_eq!(slop, Some(bytemuck::PodCastError::OutputSliceWouldHaveSlop));
    });
}

#[test]
fn boxes_and_variables_hold_one_value() {
    #[derive(Debug, Clone, Copy, PartialEq, DeviceCopy)]
    struct Pair {
        first: u8,
        second: f64,
    }
    with_stream(|_, _| {
        let pair = Pair {
            first: 1,
            second: 2.5,
        };
        let mut there = pair.as_dbox().expect("a box");
        assert_eq!(there.as_host_value(), Ok(pair));
        there.copy_from(&Pair { first: 3, ..pair }).expect("a copy");
        let mut other = DeviceBox::new(&pair).expect("a box");
        other.copy_from(&there).expect("a copy");
        let mut back = pair;
        other.copy_to(&mut back).expect("a copy");
        assert_eq!(back.first, 3);
        assert_eq!(
            DeviceBox::<u64>::zeroed().and_then(|it| it.as_host_value()),
            Ok(0)
        );
        let raw = DeviceBox::into_device(there);
        // SAFETY: the pointer comes from the box that was given away.
        let there = unsafe { DeviceBox::from_device(raw) };
        assert_eq!(GpuBox::as_device_ptr(&there), raw);
        assert!(DeviceBox::drop(there).is_ok());
        let mut variable = DeviceVariable::new(5_u32).expect("a variable");
        *variable = 6;
        variable.copy_htod().expect("a copy");
        *variable = 0;
        variable.copy_dtoh().expect("a copy");
        assert_eq!((*variable, variable.size_in_bytes()), (6, 4));
    });
}

#[test]
fn unified_memory_is_the_hosts_too() {
    with_stream(|mock, stream| {
        let mut value = UnifiedBox::new(5_u32).expect("a box");
        *value += 1;
        assert!(*value == 6 && value > UnifiedBox::new(2).expect("a box"));
        assert_eq!(format!("{value}"), "6");
        let mut buffer = [1_u16, 2, 3].as_unified_buf().expect("a buffer");
        buffer[1] = 9;
        assert_eq!(buffer.as_slice(), [1, 9, 3]);
        assert_eq!(GpuBuffer::len(&buffer), 3);
        let address = GpuBuffer::as_device_ptr(&buffer).as_raw();
        assert_eq!(address, buffer.as_unified_ptr().as_raw() as u64);
        let device = Device::get_device(1).expect("a device");
        let ((), calls) = mock.driver.calls_of(|| {
            buffer.prefetch_to_device(stream, &device).expect("queued");
            buffer.prefetch_to_host(stream).expect("queued");
            buffer.advise_read_mostly(true).expect("told");
            buffer.preferred_location(Some(device)).expect("told");
            value.preferred_location(None).expect("told");
            value.unset_preferred_location().expect("told");
        });
        let expected = [
            "cuMemPrefetchAsync 6B+0 6 1001",
            "cuMemPrefetchAsync 6B+0 6 -1",
            "cuMemAdvise 6B+0 6 1 0",
            "cuMemAdvise 6B+0 6 3 1001",
            "cuMemAdvise 4B+0 4 3 -1",
            "cuMemAdvise 4B+0 4 4 0",
        ];
        assert_eq!(calls, expected);
        let pointer = UnifiedBox::into_unified(value);
        // SAFETY: the pointer comes from the box that was given away.
        unsafe { cuda_free_unified(pointer) }.expect("freed");
        assert!(UnifiedBuffer::drop(buffer).is_ok());
    });
}

#[test]
fn locked_memory_is_given_away_and_taken_back() {
    with_stream(|_, _| {
        let raw = LockedBox::new(&3_u8).expect("a box").into_raw();
        // SAFETY: the pointer comes from the box that was given away.
        let taken = unsafe { LockedBox::from_raw(raw) };
        assert_eq!((*taken, taken.as_raw()), (3, raw));
        // SAFETY: the memory is written before it is read, and freed once.
        unsafe {
            let room = cuda_malloc_locked::<u32>(4).expect("room");
            room.write(7);
            assert_eq!(room.read(), 7);
            cuda_free_locked(room).expect("freed");
        }
        assert!(LockedBuffer::drop(LockedBuffer::from_slice(&[1]).expect("a buffer")).is_ok());
    });
}

#[test]
fn rectangles_are_copied_row_by_row() {
    with_stream(|_, _| {
        let values: Vec<u32> = (0..12).collect();
        let mut back = [0_u32; 6];
        // SAFETY: both ends have three rows of two elements.
        unsafe {
            let (room, pitch) = cuda_malloc_pitched::<u32>(2, 3).expect("room");
            assert_eq!(pitch, 512);
            memcpy_2d_htod(room, pitch, values.as_ptr().add(1), 16, 2, 3).expect("a copy");
            memcpy_2d_dtoh(back.as_mut_ptr(), 8, room, pitch, 2, 3).expect("a copy");
            assert_eq!(
                memcpy_2d_dtoh(back.as_mut_ptr(), 4, room, pitch, 2, 3),
                Err(CudaError::InvalidValue)
            );
            memcpy_2d_dtoh(back.as_mut_ptr(), 8, room, pitch, 0, 3).expect("nothing to copy");
            cuda_free(room).expect("freed");
            assert_eq!(
                cuda_malloc_pitched::<u8>(2, 3).err(),
                Some(CudaError::InvalidValue)
            );
        }
        assert_eq!(back, [1, 2, 5, 6, 9, 10]);
    });
}

#[test]
fn copies_go_from_device_to_device() {
    let mock = mock();
    let other = Context::new(Device::get_device(1).expect("a device")).expect("a context");
    let far = DeviceBuffer::from_slice(&[1_u8, 2, 3]).expect("a buffer");
    let (context, stream) = mock.open();
    let near = DeviceBuffer::from_slice(&[0_u8; 3]).expect("a buffer");
    // SAFETY: both ends have three elements until the stream has finished.
    unsafe {
        memcpy_peer(
            near.as_device_ptr(),
            &context,
            far.as_device_ptr(),
            &other,
            2,
        )
        .expect("a copy");
        assert_eq!(near.as_host_vec(), Ok(vec![1, 2, 0]));
        let (to, from) = (near.as_device_ptr(), far.as_device_ptr());
        memcpy_peer_async(to, &context, from, &other, 3, &stream).expect("queued");
        stream.synchronize().expect("done");
        memcpy_peer(to, &context, from, &other, 0).expect("nothing to copy");
    }
    assert_eq!(near.as_host_vec(), Ok(vec![1, 2, 3]));
    drop((near, far, stream, context, other));
    mock.nothing_is_left();
}

#[test]
fn pools_give_memory_in_the_order_of_a_stream() {
    with_stream(|mock, stream| {
        let device = Device::get_device(0).expect("a device");
        let pool = MemoryPool::new(device, 1000).expect("a pool");
        pool.set_release_threshold(12345).expect("set");
        assert_eq!(pool.release_threshold(), Ok(12345));
        // SAFETY: the memory is never read, and each allocation is freed once.
        unsafe {
            let room = pool.malloc_async::<u32>(stream, 200).expect("room");
            assert_eq!(
                (pool.used_bytes(), pool.most_used_bytes()),
                (Ok(800), Ok(800))
            );
            let more = pool.malloc_async::<u32>(stream, 100);
            assert_eq!(more.err(), Some(CudaError::OutOfMemory), "the pool's limit");
            cuda_free_async(stream, room).expect("freed");
            // SAFETY: the pool lives longer.
            let before = MemoryPool::current_of(device).expect("the device's own");
            device.set_memory_pool(&pool).expect("set");
            assert_eq!(
                MemoryPool::current_of(device).map(|it| it.as_raw()),
                Ok(pool.as_raw())
            );
            device.set_memory_pool(&before).expect("set");
        }
        let ((), calls) = mock.driver.calls_of(|| {
            pool.trim_to(64).expect("trimmed");
            pool.set_access(Device::get_device(1).expect("a device"), true)
                .expect("set");
        });
        assert_eq!(calls[0], "cuMemPoolTrimTo 64");
        assert_eq!(calls[2], "cuMemPoolSetAccess [1, 1001, 3]");
        drop(MemoryPool::default_of(device).expect("the device's own, which stays"));
        assert!(MemoryPool::drop(pool).is_ok());
    });
}
