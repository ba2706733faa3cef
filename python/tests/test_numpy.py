"""The functions beside NumPy's, on the first CUDA device or the CPU."""

import ast
import math
import pathlib
import unittest

import numpy as np

import warpwright as ww

INTEGERS = [np.uint8, np.uint16, np.uint32, np.uint64, np.int32, np.int64]
FLOATS = [np.float16, np.float32, np.float64]
SORTED = INTEGERS + [np.int8, np.int16] + FLOATS
SIZES = [1, 31, 1000, 4097]


def some(dtype, size, seed=0):
    """Numbers that are small enough for sums of them, and integers of the whole range."""
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size, dtype, endpoint=True)
    return rng.standard_normal(size).astype(dtype)


class Reductions(unittest.TestCase):
    def test_integers_are_exact(self):
        for dtype in INTEGERS:
            for size in SIZES:
                x = some(dtype, size)
                for name in ["sum", "prod", "min", "max", "argmin", "argmax"]:
                    with self.subTest(name=name, dtype=dtype, size=size):
                        expected = getattr(np, name)(x)
                        given = getattr(ww, name)(x)
                        self.assertEqual(given, expected)
                        self.assertEqual(given.dtype, expected.dtype)
                self.assertAlmostEqual(ww.mean(x) / np.mean(x, dtype=np.longdouble), 1, 12)

    def test_floats_are_as_near_as_their_sums_are(self):
        for dtype in FLOATS:
            for size in SIZES:
                x = some(dtype, size)
                wide = np.float64 if dtype == np.float64 else np.float32
                bound = 2 * np.finfo(wide).eps * np.abs(x.astype(np.float64)).sum() * 20
                with self.subTest(dtype=dtype, size=size):
                    self.assertEqual(ww.sum(x).dtype, wide)
                    exact = x.astype(np.longdouble).sum()
                    self.assertLessEqual(abs(ww.sum(x) - exact), bound)
                    self.assertLessEqual(abs(ww.mean(x) - exact / size), bound)
                    self.assertEqual(ww.min(x), x.min())
                    self.assertEqual(ww.max(x), x.max())
                    self.assertEqual(ww.argmin(x), x.argmin())

    def test_along_an_axis(self):
        for dtype in [np.uint8, np.uint16, np.int32, np.uint32, np.float64]:
            x = some(dtype, (7, 5, 13))
            for axis in [0, 2, -1, -3]:
                for name in ["sum", "min", "max", "mean"]:
                    with self.subTest(name=name, dtype=dtype, axis=axis):
                        given = getattr(ww, name)(x, axis=axis)
                        expected = getattr(np, name)(x, axis=axis)
                        self.assertEqual(given.shape, expected.shape)
                        np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-12)

    def test_what_cannot_be_reduced(self):
        x = some(np.float32, (2, 3, 4))
        for axis in [1, 3, -4]:
            with self.assertRaisesRegex(ValueError, "sum: the first or the last of 3 axes required"):
                ww.sum(x, axis=axis)
        with self.assertRaisesRegex(ValueError, "argmax: axis=None required, 0 given"):
            ww.argmax(x, axis=0)
        with self.assertRaisesRegex(TypeError, "complex128 given"):
            ww.sum(np.zeros(3, np.complex128))
        with self.assertRaisesRegex(TypeError, "sum: elements of .* required, int8 given"):
            ww.sum(np.zeros(3, np.int8))
        for name in ["min", "argmax", "mean", "median"]:
            with self.assertRaises(ValueError):
                getattr(ww, name)(np.zeros(0, np.float32))
        self.assertEqual(ww.sum(np.zeros(0, np.float32)), 0)

    def test_the_median(self):
        for dtype in [np.uint8, np.int16, np.int32, np.float32, np.float64]:
            for size in [1, 2, 31, 1000]:
                x = some(dtype, size)
                self.assertEqual(ww.median(x), np.median(x.astype(np.float64)))
        self.assertTrue(np.isnan(ww.median(np.array([1.0, -np.nan, 3.0]))))
        self.assertEqual(ww.median(np.array([np.inf, -np.inf, 3.0])), 3)


class Scans(unittest.TestCase):
    def test_integers(self):
        for dtype in INTEGERS:
            for size in SIZES:
                x = some(dtype, size)
                np.testing.assert_array_equal(ww.cumsum(x), np.cumsum(x, dtype=dtype))
                np.testing.assert_array_equal(ww.cumprod(x), np.cumprod(x, dtype=dtype))

    def test_along_an_axis(self):
        x = some(np.int32, (9, 70))
        for axis in [0, 1, -1]:
            np.testing.assert_array_equal(ww.cumsum(x, axis), np.cumsum(x, axis, dtype=np.int32))
        np.testing.assert_array_equal(ww.cumsum(x), np.cumsum(x, dtype=np.int32))

    def test_the_place_of_the_result(self):
        for axis in [None, 0, 1]:
            x = some(np.uint32, (6, 11))
            out = np.zeros(66 if axis is None else (6, 11), np.uint32)
            self.assertIs(ww.cumsum(x, axis, out=out), out)
            np.testing.assert_array_equal(out, np.cumsum(x, axis, dtype=np.uint32))
        x = some(np.uint32, 100)
        expected = np.cumsum(x, dtype=np.uint32)
        ww.cumsum(x, out=x)
        np.testing.assert_array_equal(x, expected)
        with self.assertRaisesRegex(ValueError, "cumsum: out of the shape"):
            ww.cumsum(ww.asarray(x), out=ww.asarray(x[:5]))


class Orders(unittest.TestCase):
    def test_sorts(self):
        for dtype in SORTED:
            for size in [0] + SIZES:
                x = some(dtype, size)
                with self.subTest(dtype=dtype, size=size):
                    np.testing.assert_array_equal(ww.sort(x), np.sort(x))
                    np.testing.assert_array_equal(ww.sort(x, descending=True), np.sort(x)[::-1])
                    np.testing.assert_array_equal(ww.argsort(x), np.argsort(x, kind="stable"))
                    self.assertEqual(ww.argsort(x).dtype, np.int64)
                    self.assertIs(ww.sort(x, out=x), x)
                    np.testing.assert_array_equal(x, np.sort(x))

    def test_sorts_along_the_last_axis(self):
        for dtype in [np.uint8, np.int32, np.float64]:
            for shape in [(0, 5), (5, 0), (1, 1), (7, 300), (40, 3, 11)]:
                x = some(dtype, shape)
                with self.subTest(dtype=dtype, shape=shape):
                    np.testing.assert_array_equal(ww.sort(x), np.sort(x))
                    np.testing.assert_array_equal(ww.sort(x, descending=True), np.sort(x)[..., ::-1])
                    out = np.empty_like(x)
                    self.assertIs(ww.sort(x, out=out), out)
                    np.testing.assert_array_equal(out, np.sort(x))
        with self.assertRaisesRegex(ValueError, "an axis at least required"):
            ww.sort(np.float32(1))

    def test_nans_and_zeros(self):
        x = np.array([np.nan, 0.0, -0.0, -np.inf, 1.0], np.float32)
        given = ww.sort(x)
        np.testing.assert_array_equal(given, np.sort(x))
        np.testing.assert_array_equal(np.signbit(given), [True, True, False, False, False])

    def test_unique_and_searchsorted(self):
        for dtype in [np.uint8, np.int32, np.float64]:
            x = some(dtype, 1000)
            x[500:] = x[:500]
            given = ww.unique(x)
            np.testing.assert_array_equal(given, np.unique(x))
            for side in ["left", "right"]:
                np.testing.assert_array_equal(
                    ww.searchsorted(given, x.reshape(10, 100), side),
                    np.searchsorted(given, x.reshape(10, 100), side),
                )
        with self.assertRaisesRegex(ValueError, "arrays of one type required, float64 and int32 given"):
            ww.searchsorted(given, np.zeros(2, np.int32))

    def test_the_greatest(self):
        for shape in [(1000,), (7, 90)]:
            x = some(np.float32, shape)
            order = np.argsort(-x, kind="stable", axis=-1)[..., :5]
            values, positions = ww.topk(x, 5)
            np.testing.assert_array_equal(positions, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))
            values, positions = ww.topk(x, 5, largest=False)
            np.testing.assert_array_equal(values, np.sort(x, -1)[..., :5])
        with self.assertRaises(ValueError):
            ww.topk(x, 91)


class Products(unittest.TestCase):
    def test_transposed_and_strided(self):
        for dtype in [np.float16, np.float32, np.float64]:
            a, b = some(dtype, (33, 70)), some(dtype, (70, 21), 1)
            exact = a.astype(np.float64) @ b.astype(np.float64)
            tolerance = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-12}[np.dtype(dtype).name]
            np.testing.assert_allclose(ww.matmul(a, b), exact, atol=tolerance)
            copied = np.asfortranarray(a), np.asfortranarray(b)
            np.testing.assert_array_equal(ww.matmul(*copied), ww.matmul(a, b))
            out = np.empty((33, 21), dtype)
            self.assertIs(ww.matmul(a, b, out=out), out)
            np.testing.assert_array_equal(out, ww.matmul(a, b))
        near = ww.matmul(some(np.float32, (9, 40)), some(np.float32, (40, 9)), precision="exact")
        self.assertEqual(near.shape, (9, 9))
        for a, b, text in [
            (np.zeros((2, 3)), np.zeros((2, 3)), "3"),
            (np.zeros(3), np.zeros((3, 2)), "an array with 2 axes at least required"),
            (np.zeros((2, 3)), np.zeros((3, 2), np.float32), "arrays of one type"),
        ]:
            with self.assertRaisesRegex(ValueError, text):
                ww.matmul(a, b)
        with self.assertRaises(ValueError):
            ww.matmul(out, out, precision="rough")

    def test_stacks_of_matrices(self):
        a, b = some(np.float64, (3, 2, 5, 7)), some(np.float64, (3, 2, 7, 4), 1)
        for left, right in [
            (a, b),
            (a, b[0, 0]),
            (a[0, 0], b),
            (a[:1, :1], b),
            (a[0], b[1]),
            (np.float64(2) * a[:, :, :0], b),
        ]:
            with self.subTest(left=left.shape, right=right.shape):
                given, expected = ww.matmul(left, right), left @ right
                self.assertEqual(given.shape, expected.shape)
                np.testing.assert_allclose(given, expected, atol=1e-12)
        with self.assertRaisesRegex(ValueError, "as many matrices in both stacks required"):
            ww.matmul(a, b[:2])
        with self.assertRaisesRegex(ValueError, "an array with 2 axes at least required"):
            ww.matmul(a, b[0, 0, 0])

    def test_layers(self):
        x, weights, bias = some(np.float32, (6, 30)), some(np.float32, (9, 30), 1), some(np.float32, 9, 2)
        plain = ww.matmul(x, np.ascontiguousarray(weights.T)) + bias
        np.testing.assert_allclose(ww.matmul(x, weights.T, bias=bias), plain, atol=1e-6)
        relu = ww.matmul(x, weights.T, bias=bias, activation="relu")
        np.testing.assert_allclose(relu, np.maximum(plain, 0), atol=1e-6)
        gelu = [0.5 * y * (1 + math.erf(y / math.sqrt(2))) for y in plain.ravel().tolist()]
        given = ww.matmul(x, weights.T, bias=bias, activation="gelu")
        np.testing.assert_allclose(given.ravel(), gelu, atol=1e-5)
        for arguments in [{"activation": "tanh"}, {"bias": bias[:5]}, {"bias": x}, {"bias": bias.astype(np.float64)}]:
            with self.assertRaises(ValueError):
                ww.matmul(x, weights.T, **arguments)

    def test_bytes(self):
        x, weights = (np.arange(n * 70, dtype=np.int32).astype(np.int8).reshape(n, 70) for n in (33, 21))
        bias = np.arange(21, dtype=np.int32) - 9
        exact = x.astype(np.int32) @ weights.T.astype(np.int32)
        plain = ww.matmul(x, weights.T)
        self.assertEqual(plain.dtype, np.int32)
        np.testing.assert_array_equal(plain, exact)
        relu = ww.matmul(x, weights.T, bias=bias, activation="relu")
        np.testing.assert_array_equal(relu, np.maximum(exact + bias, 0))
        out = np.empty((33, 21), np.int32)
        self.assertIs(ww.matmul(x, weights.T, out=out), out)
        np.testing.assert_array_equal(out, exact)
        for arguments in [{"activation": "gelu"}, {"bias": bias.astype(np.int8)}]:
            with self.assertRaises((ValueError, TypeError)):
                ww.matmul(x, weights.T, **arguments)

    def test_the_transpose(self):
        for dtype in SORTED:
            x = some(dtype, (37, 65))
            np.testing.assert_array_equal(ww.transpose(x), x.T)

    def test_the_convolution(self):
        for taps in [1, 2, 5, 8]:
            x, mask = some(np.float64, 300), some(np.float64, taps, 1)
            np.testing.assert_allclose(ww.convolve(x, mask), np.convolve(x, mask, "same"), atol=1e-12)


class Counts(unittest.TestCase):
    def test_bincount(self):
        for dtype in [np.uint8, np.uint16]:
            x = some(dtype, 4000) % 200
            np.testing.assert_array_equal(ww.bincount(x), np.bincount(x))
            np.testing.assert_array_equal(ww.bincount(x, 1000), np.bincount(x, minlength=1000))
        self.assertEqual(ww.bincount(np.zeros(0, np.uint8)).shape, (0,))

    def test_histogram(self):
        x = some(np.float64, 5000)
        for arguments in [{"bins": 16, "range": (-2.0, 2.0)}, {}]:
            (counts, edges), (expected, bounds) = ww.histogram(x, **arguments), np.histogram(x, **arguments)
            np.testing.assert_array_equal(counts, expected)
            np.testing.assert_allclose(edges, bounds)


class Arrays(unittest.TestCase):
    def test_random_numbers_are_the_same_everywhere(self):
        for generator in ["philox", "xorwow"]:
            numbers = [
                ww.default_rng(7, generator=generator, device=device).standard_normal(1000, "float32").numpy()
                for device in ["auto", "cpu"]
            ]
            np.testing.assert_array_equal(*numbers)
            rng = ww.default_rng(7, generator=generator)
            self.assertFalse(np.array_equal(rng.bits(100).numpy(), rng.bits(100).numpy()))
        self.assertEqual(rng.normal(1.0, 2.0, size=(3, 0, 5)).shape, (3, 0, 5))
        with self.assertRaisesRegex(ValueError, "size: at most"):
            rng.bits((2**63, 2))
        x = rng.random((100, 100)).numpy()
        self.assertEqual(x.shape, (100, 100))
        self.assertTrue(0 <= x.min() and x.max() <= 1 and abs(x.mean() - 0.5) < 0.02)
        self.assertLess(abs(rng.poisson(3.0, 10000).numpy().mean() - 3), 0.1)

    def test_results_of_own_arrays_are_own_arrays(self):
        x = ww.asarray(np.arange(10, dtype=np.float32))
        self.assertEqual((x.shape, x.dtype, x.ndim, x.size, len(x)), ((10,), "float32", 1, 10, 10))
        self.assertRegex(repr(x), r"<warpwright.Array of float32, shape \[10\], on (cpu|cuda:0)>")
        total = ww.sum(ww.sort(x, descending=True))
        self.assertIsInstance(total, ww.Array)
        self.assertEqual(total.numpy(), 45)
        np.testing.assert_array_equal(np.asarray(x, np.int64), np.arange(10))

    def test_memory_of_the_host_is_taken_and_given_without_a_copy(self):
        x = ww.asarray(np.arange(6, dtype=np.int16), device="cpu")
        y = np.from_dlpack(x)
        self.assertEqual(y.__array_interface__["data"], np.from_dlpack(x).__array_interface__["data"])
        del x
        np.testing.assert_array_equal(y, np.arange(6))
        with self.assertRaisesRegex(ValueError, "CUDA device required"):
            ww.sum(ww.asarray(y, device="cpu"), stream=0)

    def test_lists_and_awkward_arrays(self):
        self.assertEqual(ww.sum([1.0, 2.0, 4.5]), 7.5)
        x = np.arange(20, dtype=np.int32).reshape(4, 5)
        self.assertEqual(ww.sum(x[:, ::2]), x[:, ::2].sum())
        np.testing.assert_array_equal(ww.sort(x.ravel()[::-1]), x.ravel())
        bytes_ = np.zeros(17, np.uint8)
        unaligned = np.frombuffer(bytes_.data, np.float64, 2, 1)
        self.assertEqual(ww.sum(unaligned), 0)
        with self.assertRaisesRegex(TypeError, "order of bytes required"):
            ww.sum(x.astype(">i4"))
        read_only = np.arange(3.0)
        read_only.flags.writeable = False
        self.assertEqual(ww.sum(read_only), 3)
        with self.assertRaises(ValueError):
            ww.sort(read_only, out=read_only)

    def test_the_place_of_a_result_is_not_read_by_the_operation(self):
        x = np.arange(4.0).reshape(2, 2)
        expected = x @ x
        own = ww.asarray(x)
        with self.assertRaisesRegex(ValueError, "matmul: out that does not overlap the input required"):
            ww.matmul(own, own, out=own)
        # The host's memory is written when the result is there.
        self.assertIs(ww.matmul(x, x, out=x), x)
        np.testing.assert_array_equal(x, expected)

    def test_every_name_has_a_type_and_a_docstring(self):
        stub = ast.parse((pathlib.Path(ww.__file__).parent / "__init__.pyi").read_text())
        named = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.assertEqual(named, set(ww.__all__))
        for name in ww.__all__:
            self.assertTrue(getattr(ww, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
