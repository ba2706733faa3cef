// The peer CUB, for `warpwright-bench`, which compiles this file with nvcc at run time: once per part, with
// -DPART_REDUCE (or _ROWS, _HISTOGRAM, _SCAN, _SCAN_WIDE, _SELECT, _SORT, _PAIRS, _SEGMENTS, _SORT_SEGMENTS, _BY_KEY,
// _SCAN_BY_KEY, _LENGTHS) -DELEMENT=<a type below>.
// Not a part of the product.
//
// Every function takes CUB's temporary storage from its caller: with `temp` null it sets `*temp_bytes` and does
// nothing else. It gives the code of the CUDA runtime, 0 for success.

#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using f32 = float;
using f64 = double;
using bf16 = __nv_bfloat16;

// The type of sums: that of warpwright's. It is also the type that CUB accumulates in.
template <typename In> struct SumOf { using Type = In; };
template <> struct SumOf<u8> { using Type = unsigned long long; };
template <> struct SumOf<i32> { using Type = long long; };
template <> struct SumOf<bf16> { using Type = float; };
using T = ELEMENT;
using Sum = SumOf<T>::Type;

#if defined(PART_REDUCE)

// The operator of DeviceReduce::Sum, but for bf16, which that does not add up in f32.
struct PlusInFloat {
    __host__ __device__ float operator()(float a, float b) const { return a + b; }
};
using Plus = std::conditional_t<std::is_same_v<T, bf16>, PlusInFloat, cuda::std::plus<>>;

// `operation`: 0 sum, 1 min, 2 argmax. The result of argmax is an index of 32 bits and the element behind it.
extern "C" int bench_reduce(int operation, void *temp, std::size_t *temp_bytes, const T *in, void *out, int n,
                            cudaStream_t stream) {
    switch (operation) {
    case 0:
        return cub::DeviceReduce::Reduce(temp, *temp_bytes, in, static_cast<Sum *>(out), n, Plus{}, Sum{0}, stream);
    case 1:
        return cub::DeviceReduce::Min(temp, *temp_bytes, in, static_cast<T *>(out), n, stream);
    default: {
        struct Found { int index; T value; };
        Found *found = static_cast<Found *>(out);
        return cub::DeviceReduce::ArgMax(temp, *temp_bytes, in, &found->value, &found->index, n, stream);
    }
    }
}

#elif defined(PART_ROWS)

struct Start {
    int width;
    __host__ __device__ int operator()(int row) const { return row * width; }
};

// The sums of the rows of a matrix, as segments of one length.
extern "C" int bench_rows(void *temp, std::size_t *temp_bytes, const T *in, void *out, int height, int width,
                          cudaStream_t stream) {
    auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator(0), Start{width});
    return cub::DeviceSegmentedReduce::Sum(temp, *temp_bytes, in, static_cast<Sum *>(out), height, starts,
                                           starts + 1, stream);
}

#elif defined(PART_HISTOGRAM)

// Counts in `bins` even parts of `low` to `high`.
extern "C" int bench_histogram(void *temp, std::size_t *temp_bytes, const T *in, unsigned int *counts, int bins,
                               double low, double high, int n, cudaStream_t stream) {
    using Level = std::conditional_t<std::is_integral_v<T>, int, T>;
    return cub::DeviceHistogram::HistogramEven(temp, *temp_bytes, in, counts, bins + 1, static_cast<Level>(low),
                                               static_cast<Level>(high), n, stream);
}

#elif defined(PART_SCAN)

// The cumulative sums, in the type of the elements. The length has 64 bits, as warpwright's has.
extern "C" int bench_scan(void *temp, std::size_t *temp_bytes, const T *in, T *out, std::size_t n,
                          cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(temp, *temp_bytes, in, out, n, stream);
}

#elif defined(PART_SCAN_WIDE)

// The cumulative sums in 32 bits.
extern "C" int bench_scan_wide(void *temp, std::size_t *temp_bytes, const T *in, unsigned int *out, std::size_t n,
                               cudaStream_t stream) {
    return cub::DeviceScan::InclusiveScanInit(temp, *temp_bytes, in, out, cuda::std::plus<>{}, 0U, n, stream);
}

#elif defined(PART_SELECT)

struct Above {
    T value;
    __host__ __device__ bool operator()(T x) const { return x > value; }
};

// `operation`: 0 the elements above a value, 1 those with a flag, 2 the first of each run of equals, 3 a partition, whose
// rejected elements CUB writes in reverse.
extern "C" int bench_select(int operation, void *temp, std::size_t *temp_bytes, const T *in, const u8 *flags, T *out,
                            int *count, double above, int n, cudaStream_t stream) {
    const Above predicate{static_cast<T>(above)};
    switch (operation) {
    case 0:
        return cub::DeviceSelect::If(temp, *temp_bytes, in, out, count, n, predicate, stream);
    case 1:
        return cub::DeviceSelect::Flagged(temp, *temp_bytes, in, flags, out, count, n, stream);
    case 2:
        return cub::DeviceSelect::Unique(temp, *temp_bytes, in, out, count, n, stream);
    default:
        return cub::DevicePartition::If(temp, *temp_bytes, in, out, count, n, predicate, stream);
    }
}

#elif defined(PART_SORT)

extern "C" int bench_sort(void *temp, std::size_t *temp_bytes, const T *keys, T *sorted, const void *, void *, std::size_t n,
                          cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(temp, *temp_bytes, keys, sorted, n, 0, 8 * sizeof(T), stream);
}

#elif defined(PART_PAIRS)

// The values are numbers of the keys' type.
extern "C" int bench_pairs(void *temp, std::size_t *temp_bytes, const T *keys, T *sorted, const T *values, T *moved,
                           std::size_t n, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(temp, *temp_bytes, keys, sorted, values, moved, n, 0, 8 * sizeof(T),
                                           stream);
}

#elif defined(PART_SEGMENTS)

// The sums of segments. There is an offset more than there are segments.
extern "C" int bench_segments(void *temp, std::size_t *temp_bytes, const T *in, const u32 *offsets, Sum *sums,
                              std::size_t segments, cudaStream_t stream) {
    return cub::DeviceSegmentedReduce::Sum(temp, *temp_bytes, in, sums, static_cast<std::int64_t>(segments), offsets,
                                           offsets + 1, stream);
}

#elif defined(PART_SORT_SEGMENTS)

// The keys of each segment in order. There is an offset more than there are segments.
extern "C" int bench_sort_segments(void *temp, std::size_t *temp_bytes, const T *keys, const u32 *offsets, T *sorted,
                                   std::size_t n, std::size_t segments, cudaStream_t stream) {
    return cub::DeviceSegmentedSort::SortKeys(temp, *temp_bytes, keys, sorted, static_cast<std::int64_t>(n),
                                              static_cast<std::int64_t>(segments), offsets, offsets + 1, stream);
}

#elif defined(PART_BY_KEY)

// The first key of each run of equal keys, the sum of its values, and the number of runs.
extern "C" int bench_by_key(void *temp, std::size_t *temp_bytes, const T *keys, const f32 *values, T *firsts, f32 *sums,
                            int *count, int n, cudaStream_t stream) {
    return cub::DeviceReduce::ReduceByKey(temp, *temp_bytes, keys, firsts, values, sums, count, cuda::std::plus<>{}, n,
                                          stream);
}

#elif defined(PART_SCAN_BY_KEY)

// The cumulative sums of the values of each run of equal keys.
extern "C" int bench_scan_by_key(void *temp, std::size_t *temp_bytes, const T *keys, const f32 *values, f32 *sums, int n,
                                 cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSumByKey(temp, *temp_bytes, keys, values, sums, n, cuda::std::equal_to<>{}, stream);
}

#elif defined(PART_LENGTHS)

// The first key of each run of equal keys, its length, and the number of runs.
extern "C" int bench_lengths(void *temp, std::size_t *temp_bytes, const T *keys, T *firsts, int *lengths, int *count, int n,
                             cudaStream_t stream) {
    return cub::DeviceRunLengthEncode::Encode(temp, *temp_bytes, keys, firsts, lengths, count, n, stream);
}

#else
#error "a part required, as at the top of this file"
#endif
