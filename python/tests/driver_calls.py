"""Shows the driver calls of operations on arrays of PyTorch and CuPy, with addresses, and checks that none copies or waits.

Its argument is the library of tests/fault-driver, which lists calls and has the real driver make them:

    python driver_calls.py libfault_driver.so

PyTorch and CuPy open the real driver by themselves, so that the lists have the calls of warpwright alone.
"""

import ctypes
import os
import sys

LISTING = os.path.abspath(sys.argv[1])
os.environ["WARPWRIGHT_LIBCUDA"] = LISTING

import cupy  # noqa: E402
import torch  # noqa: E402

import warpwright as ww  # noqa: E402

DRIVER = ctypes.CDLL(LISTING)
DRIVER.fault_stand_before.restype = ctypes.c_bool
DRIVER.fault_listed.restype = ctypes.c_size_t
DRIVER.fault_listed.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
FORBIDDEN = ["Synchronize", "cuMemcpy", "StreamQuery", "EventQuery"]


def shown(title, addresses, stream, work):
    """Runs the work twice, so that its kernels are loaded, and shows the calls of the second time."""
    work()
    DRIVER.fault_list()
    work()
    text = ctypes.create_string_buffer(1 << 20)
    DRIVER.fault_listed(text, len(text))
    calls = text.value.decode().splitlines()
    print(title)
    for call in calls:
        print(f"    {call}")
        if any(word in call for word in FORBIDDEN):
            sys.exit(f"{title}: {call}")
    launches = [call.split() for call in calls if call.startswith("cuLaunchKernel ")]
    given = [word for launch in launches for word in launch]
    for address in addresses:
        if hex(address) not in given:
            sys.exit(f"{title}: no kernel was given {address:#x}")
    if not launches or any(hex(stream) not in launch for launch in launches):
        sys.exit(f"{title}: launches on the stream {stream:#x} required")


def in_place(name, stream, address_of, numbers, a, b, c):
    """Sums and sorts whole numbers, and multiplies matrices, on a stream of the arrays' library."""
    x, of_product = address_of(numbers), [address_of(array) for array in (a, b, c)]
    print(f"{name}: its stream is {stream:#x}")
    shown(f"sum of {len(numbers)} {numbers.dtype} at {x:#x}", [x], stream, lambda: ww.sum(numbers))
    shown("sort of them in their place", [x], stream, lambda: ww.sort(numbers, out=numbers))
    title = "product of {} x {} {} at {:#x} and {:#x} to {:#x}".format(*a.shape, a.dtype, *of_product)
    # Tensor maps hold the addresses of large operands.
    shown(title, of_product[2:], stream, lambda: ww.matmul(a, b, out=c))
    if [address_of(array) for array in (numbers, a, b, c)] != [x, *of_product]:
        sys.exit(f"{name}: an array moved")


def main():
    if not DRIVER.fault_stand_before(b"libcuda.so.1"):
        sys.exit("libcuda.so.1 required")
    print(f"device: {torch.cuda.get_device_name()}")
    torch.manual_seed(1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        numbers = torch.randint(-1000, 1000, (1 << 20,), device="cuda", dtype=torch.int32)
        a, b = (torch.randn(512, 512, device="cuda").bfloat16() for _ in range(2))
        c = torch.empty_like(a)
        sum_before, sorted_before = numbers.sum().item(), numbers.sort().values
        in_place("PyTorch", stream.cuda_stream, lambda x: x.data_ptr(), numbers, a, b, c)
        assert ww.sum(numbers).item() == sum_before and torch.equal(numbers, sorted_before)
        torch.testing.assert_close(c, a @ b, atol=0.5, rtol=0.02)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        numbers = cupy.random.randint(-1000, 1000, 1 << 20).astype(cupy.int32)
        a, b = (cupy.random.standard_normal((512, 512)).astype(cupy.float32) for _ in range(2))
        c = cupy.empty_like(a)
        sum_before, sorted_before = int(numbers.sum()), cupy.sort(numbers)
        in_place("CuPy", stream.ptr, lambda x: x.data.ptr, numbers, a, b, c)
        assert int(ww.sum(numbers).get()) == sum_before
        cupy.testing.assert_array_equal(numbers, sorted_before)
        cupy.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-3)
    print("nothing was copied, and nobody waited")


if __name__ == "__main__":
    main()
