// A program of 40 kernels, each launched once. None of them may be run twice without restoring
// memory, because each uses what the one before left. The exit code says whether the final memory
// is right. It shows that `ridge profile --counters`, which repeats such launches, leaves the
// program right (tests/device).
//
//   once_kernels           # 0: right, 1: wrong numbers, 2: no GPU
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr int elements = 1 << 22;

template <int K>
__global__ void advance(unsigned* data, unsigned* sum, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    data[i] = data[i] * 3U + K;
    if (i % 1024 == 0) atomicAdd(sum, data[i]);
}

template <int... K>
void launch_all(unsigned* data, unsigned* sum, cudaStream_t stream,
                std::integer_sequence<int, K...> /*kinds*/) {
    (advance<K>
     <<<elements / 256, 256, 0, K % 2 == 0 ? stream : cudaStreamPerThread>>>(data, sum, elements),
     ...);
}

bool holds(cudaError_t result) {
    if (result != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
    return result == cudaSuccess;
}

/// Does the program's arithmetic on the host.
unsigned expected_sum(std::vector<unsigned>& data, int kinds) {
    unsigned sum = 0;
    for (int kind = 0; kind < kinds; ++kind) {
        for (int i = 0; i < elements; ++i) {
            unsigned& value = data[static_cast<std::size_t>(i)];
            value = value * 3U + static_cast<unsigned>(kind);
            if (i % 1024 == 0) sum += value;
        }
    }
    return sum;
}

}  // namespace

int main() {
    std::vector<unsigned> data(elements);
    for (int i = 0; i < elements; ++i)
        data[static_cast<std::size_t>(i)] = static_cast<unsigned>(i) * 7U;
    constexpr std::size_t bytes = elements * sizeof(unsigned);
    unsigned* memory = nullptr;
    unsigned* sum = nullptr;
    if (!holds(cudaMalloc(&memory, bytes)) || !holds(cudaMalloc(&sum, sizeof(unsigned)))) return 2;
    cudaMemcpy(memory, data.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemset(sum, 0, sizeof(unsigned));
    constexpr int kinds = 40;
    launch_all(memory, sum, nullptr, std::make_integer_sequence<int, kinds>());
    if (!holds(cudaDeviceSynchronize())) return 1;
    std::vector<unsigned> result(elements);
    unsigned total = 0;
    cudaMemcpy(result.data(), memory, bytes, cudaMemcpyDeviceToHost);
    if (!holds(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost))) return 1;
    const unsigned expected = expected_sum(data, kinds);
    if (result == data && total == expected) return 0;
    std::fprintf(stderr, "wrong numbers: the sum is %u, not %u\n", total, expected);
    return 1;
}
