#include "tests/device/counted_kernels.h"

#include <cuda_runtime.h>

#include <stdexcept>

namespace ridge::test {
namespace {

constexpr unsigned threads = 256;

template <class Number, int Steps>
__global__ void streamed(const Number* in, Number* out, std::size_t count) {
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    if (i >= count) return;
    Number value = in[i];
    for (int step = 0; step < Steps; ++step) value = value * Number(1.5) + Number(0.25);
    out[i] = value;
}

void require(cudaError_t result) {
    if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

template <class Number, int Steps>
void launch(const float* in, float* out, std::size_t count) {
    const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
    streamed<Number, Steps><<<blocks, threads>>>(reinterpret_cast<const Number*>(in),
                                                 reinterpret_cast<Number*>(out), count);
    require(cudaGetLastError());
}

}  // namespace

bool has_gpu() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

CountedArrays::CountedArrays(std::size_t count) : count_(count) {
    require(cudaMalloc(&in_, count * sizeof(float)));
    require(cudaMalloc(&out_, count * sizeof(float)));
    require(cudaMemset(in_, 0, count * sizeof(float)));
    require(cudaDeviceSynchronize());
}

CountedArrays::~CountedArrays() {
    cudaFree(in_);
    cudaFree(out_);
}

void CountedArrays::stream() const {
    launch<float, 3>(in_, out_, count_);
}

void CountedArrays::stream_double() const {
    launch<double, 1>(in_, out_, count_ / 2);
}

}  // namespace ridge::test
