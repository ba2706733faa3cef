"""GPU primitives from kernels written in Rust, for arrays of NumPy, PyTorch, CuPy and others.

Arrays on a CUDA device are used where they are, without a copy, and work is queued on the stream that their library has
current, or on the one that ``stream=`` names. A result is an array of the same library, on the same device; it can be used at
once on the same stream. Nobody may write to an array while a function reads it. Arrays of the host are copied to the first
CUDA device, and the result back; without such a device the CPU computes.

Work on a stream that ``stream=`` names is in order with the stream that the array's library has current: it comes after what is
queued there, and before what is queued there later. A stream that is given as a number has to exist as long as the results.
"""

from ._native import (
    Array,
    Generator,
    argmax,
    argmin,
    argsort,
    asarray,
    bincount,
    convolve,
    cumprod,
    cumsum,
    default_rng,
    devices,
    histogram,
    matmul,
    max,
    mean,
    median,
    min,
    prod,
    searchsorted,
    sort,
    sum,
    topk,
    transpose,
    unique,
)

__all__ = [
    "Array",
    "Generator",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "bincount",
    "convolve",
    "cumprod",
    "cumsum",
    "default_rng",
    "devices",
    "histogram",
    "matmul",
    "max",
    "mean",
    "median",
    "min",
    "prod",
    "searchsorted",
    "sort",
    "sum",
    "topk",
    "transpose",
    "unique",
]
