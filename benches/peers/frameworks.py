"""The peers PyTorch and CuPy, for `warpwright-bench`, which runs this and talks to it in lines of JSON.

A request is `prepare` (a case: gives a number for it), `check`, `sample` or `drop`. A sample is taken as the benchmark takes
its own: one operation to keep the device busy, an event, the operations back to back, an event.
"""

import json
import sys

import numpy as np

# How many elements are compared where the reference takes long.
CONVOLUTION_CHECKED = 200_000
MAP_CHECKED = 4_000_000


class Torch:
    """PyTorch; its convolutions are cuDNN's."""

    def __init__(self):
        import torch

        self.torch = torch
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.version = f"{torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
        if not torch.cuda.is_available():
            raise RuntimeError("torch finds no CUDA device")

    def upload(self, values):
        return self.torch.from_numpy(values).cuda()

    def download(self, values):
        return values.cpu().numpy()

    def empty(self, shape, element):
        return self.torch.empty(shape, dtype=self.torch.from_numpy(np.empty(0, element)).dtype, device="cuda")

    def transpose(self, source, output):
        output.copy_(source.t())

    def sums(self, source, axis, output):
        self.torch.sum(source, dim=axis, dtype=output.dtype, out=output)

    def top_k(self, source, k, output):
        self.torch.topk(source, k, out=output)

    def argsort(self, source):
        # Positions have 64 bits. The function takes no output.
        return self.torch.argsort(source)

    def median(self, source, output):
        # Of each row of a matrix; the positions are not wanted.
        output.copy_(self.torch.median(source, dim=-1).values if source.dim() > 1 else self.torch.median(source))

    def sin(self, source, output):
        self.torch.sin(source, out=output)

    def sqrt(self, source, output):
        self.torch.sqrt(source, out=output)

    def convolve(self, source, mask):
        conv1d = self.torch.nn.functional.conv1d
        return conv1d(source[None, None], mask[None, None], padding=mask.shape[0] // 2)[0, 0]

    def capture(self, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            work()
        return graph.replay

    def wait(self):
        self.torch.cuda.synchronize()

    def event(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def free(self):
        self.torch.cuda.empty_cache()


class Cupy:
    """CuPy."""

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.version = cupy.__version__
        cupy.zeros(1)

    def upload(self, values):
        return self.cupy.asarray(values)

    def download(self, values):
        return self.cupy.asnumpy(values)

    def empty(self, shape, element):
        return self.cupy.empty(shape, element)

    def transpose(self, source, output):
        self.cupy.copyto(output, source.T)

    def sums(self, source, axis, output):
        self.cupy.sum(source, axis=axis, dtype=output.dtype, out=output)

    def sin(self, source, output):
        self.cupy.sin(source, out=output)

    def sqrt(self, source, output):
        self.cupy.sqrt(source, out=output)

    def event(self):
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3

    def free(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class Case:
    """A case with its buffers."""

    def __init__(self, library, request):
        self.library = library
        self.work = request["work"]
        self.sets = request["sets"]
        shape, element = tuple(request["shape"]), np.dtype(request["element"])
        random = np.random.default_rng(request["sets"])
        self.outputs, self.mask, self.k = [], None, request.get("k")
        # One set's values moved along are another's.
        values = self.values(random, shape, element)
        self.values_of = lambda index: np.roll(values, 1001 * index)
        self.sources = [library.upload(self.values_of(index)) for index in range(self.sets)]
        if self.work == "transpose":
            self.outputs = [library.empty(shape[::-1], element) for _ in range(self.sets)]
        elif self.work in ("columns", "rows"):
            self.axis = 0 if self.work == "columns" else 1
            sums = np.dtype(np.int64) if element.kind in "iu" else element
            self.outputs = [library.empty((shape[1 - self.axis],), sums) for _ in range(self.sets)]
        elif self.work in ("sin", "sqrt"):
            self.outputs = [library.empty(shape, element) for _ in range(self.sets)]
        elif self.work == "top_k":
            parts = [(shape[:-1] + (self.k,), kind) for kind in (element, np.dtype(np.int64))]
            self.outputs = [tuple(library.empty(*part) for part in parts) for _ in range(self.sets)]
        elif self.work == "median":
            self.outputs = [library.empty(shape[:-1], element) for _ in range(self.sets)]
        elif self.work == "convolve":
            self.mask = library.upload(random.uniform(-1, 1, request["mask"]).astype(element))
            self.outputs = [None] * self.sets
        elif self.work == "argsort":
            self.outputs = [None] * self.sets
        elif self.work == "graph":
            self.capture(request)
        else:
            raise ValueError(f"no such work: {self.work}")

    def values(self, random, shape, element):
        if element.kind in "iu":
            bits = random.integers(0, 256, size=int(np.prod(shape)) * element.itemsize, dtype=np.uint8)
            return bits.view(element).reshape(shape)
        if self.work in ("columns", "rows"):
            # Whole numbers, whose sums are exact.
            return random.integers(-8, 9, size=shape, dtype=np.int8).astype(element)
        values = random.random(shape, dtype=element)
        return values * element.type(1000) if self.work in ("sin", "sqrt") else values

    def capture(self, request):
        """Makes a graph of operations, each with an input and an output of its own, which `enqueue` replays from then on."""
        self.parts = [Case(self.library, {**request, "work": work}) for work in request["operations"]]
        # What PyTorch does once, such as loading a kernel, cannot be captured.
        for part in self.parts:
            part.enqueue(0)
            part.outputs[0][...] = 0
        replay = self.library.capture(lambda: [part.enqueue(0) for part in self.parts])
        wait = self.library.wait
        self.enqueue = (lambda _: (replay(), wait())) if request["waits"] else (lambda _: replay())

    def enqueue(self, index):
        source, output = self.sources[index], self.outputs[index]
        if self.work == "transpose":
            self.library.transpose(source, output)
        elif self.work in ("columns", "rows"):
            self.library.sums(source, self.axis, output)
        elif self.work == "top_k":
            self.library.top_k(source, self.k, output)
        elif self.work == "convolve":
            self.outputs[index] = self.library.convolve(source, self.mask)
        elif self.work == "argsort":
            self.outputs[index] = self.library.argsort(source)
        else:
            getattr(self.library, self.work)(source, output)

    def check(self, index):
        """What is wrong with the answer, if something is."""
        self.enqueue(index)
        return self.wrong(index)

    def wrong(self, index):
        if self.work == "graph":
            return next(filter(None, (part.wrong(index) for part in self.parts)), None)
        get = self.library.download
        source, output = self.values_of(index), self.outputs[index]
        if self.work == "top_k":
            found, positions = map(get, output)
            greatest = np.sort(np.partition(source, -self.k)[..., -self.k :])[..., ::-1]
            # Which of equal elements are found is not defined.
            right = np.array_equal(greatest, found) and np.array_equal(np.take_along_axis(source, positions, -1), found)
            return None if right else "top_k: other elements than NumPy's"
        found = get(output)
        if self.work == "transpose":
            right = np.array_equal(source.T[:4096], found[:4096]) and np.array_equal(source.T[-64:], found[-64:])
        elif self.work in ("columns", "rows"):
            wide = np.int64 if source.dtype.kind in "iu" else np.float64
            right = np.array_equal(source.sum(axis=self.axis, dtype=wide), found)
        elif self.work == "argsort":
            # The order of equal elements is not defined.
            right = np.array_equal(np.sort(source), source[found]) and np.bincount(found).max() == 1
        elif self.work == "median":
            # The lower one of two in the middle, as PyTorch has it.
            middle = (source.shape[-1] - 1) // 2
            right = np.array_equal(np.partition(source, middle)[..., middle], found)
        elif self.work == "convolve":
            mask = get(self.mask).astype(np.float64)
            some = source[:CONVOLUTION_CHECKED].astype(np.float64)
            expected = np.correlate(some, mask, mode="same")[: CONVOLUTION_CHECKED - len(mask)]
            right = bool(np.all(np.abs(expected - found[: len(expected)]) <= 1e-4))
        else:
            some = source[:MAP_CHECKED].astype(np.float64)
            expected, found = getattr(np, self.work)(some), found[:MAP_CHECKED]
            right = bool(np.all(np.abs(expected - found) <= 1e-6 * np.maximum(np.abs(expected), 1e-3)))
        return None if right else f"{self.work}: other numbers than NumPy's"

    def sample(self, repeats):
        self.enqueue(self.sets - 1)
        start = self.library.event()
        for turn in range(repeats):
            self.enqueue(turn % self.sets)
        return self.library.seconds(start, self.library.event()) / repeats

    def drop(self):
        self.sources = self.outputs = self.mask = self.values_of = None
        self.library.free()


def answer(libraries, cases, request):
    """What to say to a request."""
    action = request["do"]
    if action == "prepare":
        number = max(cases, default=0) + 1
        cases[number] = Case(libraries[request["library"]], request)
        return {"case": number}
    case = cases[request["case"]]
    if action == "check":
        return {"wrong": case.check(request["set"])}
    if action == "sample":
        return {"seconds": case.sample(request["repeats"])}
    if action == "drop":
        case.drop()
        del cases[request["case"]]
        return {}
    raise ValueError(f"no such request: {action}")


def main():
    replies = sys.stdout
    # What libraries print must not get between the answers.
    sys.stdout = sys.stderr
    libraries, hello = {}, {}
    for name, library in (("PyTorch", Torch), ("CuPy", Cupy)):
        try:
            libraries[name] = library()
            hello[name] = {"found": libraries[name].version}
        except Exception as error:
            hello[name] = {"missing": f"{type(error).__name__}: {error}"}
    print(json.dumps(hello), file=replies, flush=True)
    cases = {}
    for line in sys.stdin:
        try:
            reply = answer(libraries, cases, json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
