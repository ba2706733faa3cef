"""Arrays of PyTorch and CuPy on a CUDA device: without a copy, on their own streams, and nobody waits."""

import os
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import warpwright as ww

try:
    import torch

    TORCH = None if torch.cuda.is_available() else "PyTorch finds no CUDA device"
except ImportError as error:
    TORCH = str(error)
try:
    import cupy

    CUPY = None if cupy.cuda.is_available() else "CuPy finds no CUDA device"
except ImportError as error:
    CUPY = str(error)

if os.environ.get("WARPWRIGHT_REQUIRE_CUDA") == "1" and (TORCH or CUPY):
    raise RuntimeError(f"WARPWRIGHT_REQUIRE_CUDA=1 requires PyTorch and CuPy on a CUDA device: {TORCH}, {CUPY}")

# The library of tests/fault-driver, if the environment names it.
LISTING = os.environ.get("WARPWRIGHT_LISTING_DRIVER")

# Longer than all that the host does in a test.
SECOND = 2_000_000_000


class Interface:
    """An array with the CUDA array interface alone."""

    def __init__(self, array, stream=None):
        self.array = array
        self.__cuda_array_interface__ = dict(array.__cuda_array_interface__, stream=stream, version=3)


@unittest.skipIf(TORCH, TORCH)
class PyTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_results_are_tensors_with_torchs_values(self):
        for dtype in [torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64]:
            x = torch.randint(0, 100, (30, 1000), device="cuda").to(dtype)
            with self.subTest(dtype=dtype):
                self.assertIsInstance(ww.sum(x), torch.Tensor)
                self.assertEqual(ww.sum(x).device, x.device)
                self.assertEqual(ww.sum(x).item(), x.sum().item())
                self.assertEqual(ww.max(x).item(), x.max().item())
                self.assertEqual(ww.argmax(x.ravel()).dtype, torch.int64)
                row = x[3]
                self.assertTrue(torch.equal(ww.sort(row), row.sort().values))
                self.assertTrue(torch.equal(ww.argsort(row), row.argsort(stable=True)))
                self.assertTrue(torch.equal(ww.unique(row), row.unique()))
                self.assertTrue(torch.equal(ww.cumsum(row), row.cumsum(0).to(dtype)))
                self.assertTrue(torch.equal(ww.transpose(x), x.T))
        x = torch.randn(30, 1000, device="cuda")
        torch.testing.assert_close(ww.sum(x, axis=0), x.sum(0))
        torch.testing.assert_close(ww.mean(x, axis=1), x.double().mean(1))
        self.assertTrue(torch.equal(ww.sort(x), x.sort().values))
        values, positions = ww.topk(x, 7)
        self.assertTrue(torch.equal(values, x.topk(7).values))
        self.assertTrue(torch.equal(x.gather(1, positions), values))

    def test_products(self):
        for dtype, tolerance in [(torch.float16, 1e-2), (torch.bfloat16, 1e-1), (torch.float32, 1e-4), (torch.float64, 1e-11)]:
            a = torch.randn(100, 333, device="cuda", dtype=dtype)
            b = torch.randn(50, 333, device="cuda", dtype=dtype)
            exact = (a.double() @ b.T.double()).to(dtype)
            torch.testing.assert_close(ww.matmul(a, b.T), exact, atol=tolerance, rtol=tolerance)
            part = a[10:20, 5:300]
            torch.testing.assert_close(ww.matmul(part, b.T[5:300]), part @ b.T[5:300], atol=tolerance, rtol=tolerance)
            out = torch.empty(100, 50, device="cuda", dtype=dtype)
            self.assertIs(ww.matmul(a, b.T, out=out), out)
            self.assertTrue(torch.equal(out, ww.matmul(a, b.T)))
        a, b = torch.randn(4, 3, 20, 30, device="cuda"), torch.randn(4, 3, 10, 30, device="cuda")
        torch.testing.assert_close(ww.matmul(a, b.mT), a @ b.mT, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(ww.matmul(a.mT, a[0, 0]), a.mT @ a[0, 0], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(ww.matmul(a, b[1, 1].T), a @ b[1, 1].T, atol=1e-4, rtol=1e-4)
        with self.assertRaisesRegex(ValueError, "matrices one below the other without gaps required"):
            ww.matmul(a.transpose(0, 1), b.transpose(0, 1).mT)
        x, layer = torch.randn(50, 128, device="cuda").bfloat16(), torch.nn.Linear(128, 64, device="cuda").bfloat16()
        expected = torch.nn.functional.gelu(layer(x))
        given = ww.matmul(x, layer.weight.detach().T, bias=layer.bias.detach(), activation="gelu")
        torch.testing.assert_close(given, expected, atol=2e-2, rtol=2e-2)
        a = torch.randn(256, 256, device="cuda")
        torch.testing.assert_close(ww.matmul(a, a, precision="bf16x6"), a @ a, atol=1e-4, rtol=1e-4)
        # Up to 2^-10 of the sum of 256 magnitudes that are 0.64 on average.
        torch.testing.assert_close(ww.matmul(a, a.T, precision="tf32"), a @ a.T, atol=0.3, rtol=0)

    def test_nothing_is_copied(self):
        x = torch.ones(1 << 30, device="cuda")
        ww.sum(x[:1000])  # Loads the kernels.
        ww.sort(torch.ones(1000, device="cuda", dtype=torch.float32))
        torch.cuda.synchronize()
        before, _ = torch.cuda.mem_get_info()
        total = ww.sum(x)
        self.assertEqual(total.item(), 1 << 30)
        after, _ = torch.cuda.mem_get_info()
        self.assertLess(before - after, 64 << 20, "4 GiB were not allocated again")
        y = torch.randint(-1000, 1000, (1 << 20,), device="cuda", dtype=torch.int32)
        expected, address = y.sort().values, y.data_ptr()
        self.assertIs(ww.sort(y, out=y), y)
        self.assertEqual(y.data_ptr(), address)
        self.assertTrue(torch.equal(y, expected))
        given = ww.asarray(np.arange(5.0), device="cuda")
        self.assertEqual(torch.from_dlpack(given).data_ptr(), given.__cuda_array_interface__["data"][0])

    def test_nobody_waits_and_the_current_stream_orders(self):
        x = torch.zeros(1 << 20, device="cuda")
        square = torch.ones(256, 256, device="cuda")
        for warm in [ww.sum, ww.sort, ww.cumsum]:
            warm(x)
        ww.matmul(square, square)
        torch.cuda.synchronize()
        for stream in [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]:
            with torch.cuda.stream(stream):
                x.zero_()
                start = time.perf_counter()
                torch.cuda._sleep(SECOND)
                x += 1  # After the sleep: what read it before would find 0.
                results = [ww.sum(x), ww.sort(x), ww.cumsum(x), ww.matmul(square * x[0], square)]
                took = time.perf_counter() - start
                self.assertFalse(stream.query(), "the stream still sleeps")
                self.assertLess(took, 0.5)
                self.assertEqual(results[0].item(), 1 << 20)
                self.assertEqual(results[2][-1].item(), 1 << 20)
                self.assertEqual(results[3][0, 0].item(), 256)
                del results

    def test_a_stream_that_the_caller_names(self):
        x, stream = torch.zeros(1 << 20, device="cuda"), torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SECOND)
            x += 1
        for given in [stream, stream.cuda_stream]:
            self.assertEqual(ww.sum(x, stream=given).item(), 1 << 20)
        # The array's memory is used again on the current stream, after the work on the other one.
        for _ in range(5):
            y = torch.ones(1 << 20, device="cuda")
            with torch.cuda.stream(stream):
                torch.cuda._sleep(SECOND // 10)
            total = ww.sum(y, stream=stream)
            address = y.data_ptr()
            del y
            y = torch.zeros(1 << 20, device="cuda")
            self.assertEqual(y.data_ptr(), address)
            self.assertEqual(total.item(), 1 << 20)
            del y
        with self.assertRaisesRegex(TypeError, "stream: a handle"):
            ww.sum(x, stream="fast")
        with self.assertRaisesRegex(ValueError, "that of the calling thread given"):
            ww.sum(x, stream=2)

    def test_memory_is_used_again_after_other_streams(self):
        for _ in range(20):
            own = ww.default_rng(1, device="cuda").random(1 << 20, "float32")
            expected = own.numpy().sum(dtype=np.float64)
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.cuda._sleep(SECOND // 100)
                total = torch.from_dlpack(own).double().sum()
                del own
                ww.default_rng(2, device="cuda").random(1 << 20, "float32")
                total = total.item()
            self.assertAlmostEqual(total / expected, 1, 6)

    def test_from_several_threads(self):
        failed = []

        def work(seed):
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    x = torch.arange(100_000, device="cuda", dtype=torch.int32).flip(0) * (seed + 1)
                    for _ in range(20):
                        if not torch.equal(ww.sort(x), x.flip(0)):
                            failed.append(seed)
            except Exception as error:  # A thread's exception would be lost.
                failed.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_what_is_refused(self):
        x = torch.randn(10, 10, device="cuda")
        with self.assertRaisesRegex(ValueError, "sum: elements row by row without gaps required"):
            ww.sum(x.T)
        with self.assertRaisesRegex(ValueError, "matmul: rows or columns without gaps required"):
            ww.matmul(x[:, ::2], x[:5])
        with self.assertRaisesRegex(ValueError, "arrays on cuda:0 required, one of the host's memory given"):
            ww.matmul(x, x.cpu())
        with self.assertRaisesRegex(ValueError, "out that does not overlap the input required"):
            ww.matmul(x, x, out=x)
        with self.assertRaisesRegex(ValueError, "without a gradient required"):
            ww.sum(x.clone().requires_grad_())
        with self.assertRaises(TypeError):
            ww.sum(torch.zeros(3, device="cuda", dtype=torch.complex64))

    def test_tensors_of_the_host(self):
        x = torch.randn(1000)
        self.assertIsInstance(ww.sort(x), torch.Tensor)
        self.assertTrue(torch.equal(ww.sort(x), x.sort().values))
        half = torch.randn(20, 20).bfloat16()
        torch.testing.assert_close(ww.matmul(half, half), half @ half, atol=1e-1, rtol=1e-1)


@unittest.skipIf(CUPY, CUPY)
class CuPy(unittest.TestCase):
    def test_results_are_arrays_with_cupys_values(self):
        x = cupy.random.standard_normal((40, 500)).astype(cupy.float32)
        self.assertIsInstance(ww.sum(x), cupy.ndarray)
        cupy.testing.assert_allclose(ww.sum(x, axis=0), x.sum(0), rtol=1e-4, atol=1e-4)
        cupy.testing.assert_array_equal(ww.sort(x[0]), cupy.sort(x[0]))
        cupy.testing.assert_array_equal(ww.argsort(x[0]), cupy.argsort(x[0]))
        cupy.testing.assert_allclose(ww.matmul(x, x.T), x @ x.T, rtol=1e-4, atol=1e-3)
        y = x[1].copy()
        address = y.data.ptr
        self.assertIs(ww.sort(y, out=y), y)
        self.assertEqual(y.data.ptr, address)
        cupy.testing.assert_array_equal(y, cupy.sort(x[1]))

    def test_the_current_stream_orders_and_outlives_its_results(self):
        slow = cupy.ones((4096, 4096), cupy.float64)
        x = cupy.zeros(1 << 20, cupy.float32)
        x += 1  # The first launch of a kernel loads it, which waits for the device.
        ww.sum(x), ww.sort(x), slow @ slow
        cupy.cuda.Device().synchronize()
        for _ in range(5):
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                x[:] = 0
                for _ in range(30):
                    slow @ slow
                x += 1
                results = [ww.sum(x), ww.sort(x)]
                self.assertFalse(stream.done, "the stream still multiplies")
                stream.synchronize()
            del stream
            self.assertEqual(results[0].get(), 1 << 20)
            self.assertEqual(results[1][-1].get(), 1)
            del results

    def test_the_array_interface_alone(self):
        x = cupy.arange(1000, dtype=cupy.int32)
        for stream in [None, 1]:
            given = ww.sum(Interface(x, stream))
            self.assertIsInstance(given, ww.Array)
            self.assertEqual(cupy.asarray(given).get(), 499500)
        flat = Interface(x.reshape(10, 100)[:, ::2])
        with self.assertRaisesRegex(ValueError, "without gaps required"):
            ww.sum(flat)

    def test_own_arrays_go_both_ways(self):
        own = ww.asarray(np.arange(100, dtype=np.float32), device="cuda")
        theirs = cupy.from_dlpack(own)
        self.assertEqual(theirs.data.ptr, own.__cuda_array_interface__["data"][0])
        theirs *= 2
        cupy.cuda.get_current_stream().synchronize()
        self.assertEqual(ww.sum(own).numpy(), 9900)


@unittest.skipIf(TORCH or CUPY, TORCH or CUPY)
@unittest.skipUnless(LISTING, "WARPWRIGHT_LISTING_DRIVER names no library that lists the driver's calls")
class DriverCalls(unittest.TestCase):
    def test_none_copies_or_waits(self):
        program = os.path.join(os.path.dirname(__file__), "driver_calls.py")
        subprocess.run([sys.executable, program, LISTING], check=True)


if __name__ == "__main__":
    unittest.main()
