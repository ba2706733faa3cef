// The words of cuRAND's device generators, for the comparison in tests/tests/random/peer.rs. Not a part of the product.
//
//   nvcc -o words words.cu && ./words > words.txt
//
// A line is: generator, seed, sequence, offset, and the eight words that come next, in hexadecimal.

#include <cstdio>
#include <curand_kernel.h>

struct Place {
    unsigned long long seed, sequence, offset;
};

static const Place PLACES[] = {
    {0ull, 0ull, 0ull},
    {1234ull, 0ull, 0ull},
    {1234ull, 1ull, 0ull},
    {1234ull, 0ull, 1ull},
    {1234ull, 7ull, 3ull},
    {16045690984503111693ull, 65535ull, 4ull},
    {16045690984503111693ull, 65536ull, 1000003ull},
    {18446744073709551615ull, 4294967296ull, 4294967295ull},
    {42ull, 1000000007ull, 17179869185ull},
    {42ull, 281474976710655ull, 6ull},
    {99ull, 3ull, 1152921504606846977ull},
    {99ull, 1152921504606846979ull, 2ull},
};

template <typename State>
__global__ void words(Place place, unsigned int *output) {
    State state;
    curand_init(place.seed, place.sequence, place.offset, &state);
    for (int i = 0; i < 8; i++) {
        output[i] = curand(&state);
    }
}

template <typename State>
static int print(const char *name) {
    unsigned int *device, host[8];
    if (cudaMalloc(&device, sizeof host) != cudaSuccess) {
        return 1;
    }
    for (const Place &place : PLACES) {
        words<State><<<1, 1>>>(place, device);
        if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) {
            return 1;
        }
        printf("%s %llu %llu %llu", name, place.seed, place.sequence, place.offset);
        for (unsigned int word : host) {
            printf(" %08x", word);
        }
        printf("\n");
    }
    return cudaFree(device) != cudaSuccess;
}

int main() {
    int failed = print<curandStatePhilox4_32_10_t>("philox") || print<curandStateXORWOW_t>("xorwow");
    if (failed) {
        fprintf(stderr, "error: words: %s\n", cudaGetErrorString(cudaGetLastError()));
    }
    return failed;
}
