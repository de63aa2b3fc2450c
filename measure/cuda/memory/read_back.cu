// Reading, poisoning and index filling on the device; see read_back.h.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <stdexcept>

#include "measure/cuda/kernels/fill.h"
#include "measure/cuda/memory/handles.h"
#include "measure/cuda/memory/read_back.h"

namespace ridge::measure::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;

unsigned blocks_for(std::int64_t count) {
    return static_cast<unsigned>(
        std::clamp<std::int64_t>(ceil_div(count, threads), 1, most_blocks));
}

template <class T>
__device__ double widened(T value) {
    return static_cast<double>(value);
}
template <>
__device__ double widened(__nv_bfloat16 value) {
    return static_cast<double>(__bfloat162float(value));
}
template <>
__device__ double widened(__half value) {
    return static_cast<double>(__half2float(value));
}
template <>
__device__ double widened(__nv_fp8_e4m3 value) {
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
__global__ void read_kernel(const T* base, std::int64_t first, std::int64_t stride,
                            std::int64_t count, double* out) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += step) {
        out[i] = widened(base[first + i * stride]);
    }
}

template <class T>
__device__ bool is_poison(T value) {
    if constexpr (std::is_integral_v<T>) {
        T pattern{};
        for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
            pattern = static_cast<T>(static_cast<std::make_unsigned_t<T>>(pattern) |
                                     (std::make_unsigned_t<T>{0x80} << (8 * byte)));
        }
        return value == pattern;
    } else {
        const double wide = widened(value);
        return wide != wide;
    }
}

template <class T>
__global__ void count_kernel(const T* base, std::int64_t count, unsigned long long* found) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    unsigned long long mine = 0;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += step) {
        if (is_poison(base[i])) ++mine;
    }
    if (mine > 0) atomicAdd(found, mine);
}

__global__ void indices_kernel(std::int64_t* indices, std::int64_t count, std::int64_t rows,
                               std::uint64_t seed) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += step) {
        const PhiloxWords words = philox(static_cast<std::uint64_t>(i), seed);
        const std::uint64_t wide = (std::uint64_t{words.word[0]} << 32) | words.word[1];
        indices[i] = static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(rows));
    }
}

template <class Visit>
auto with_stored(StoredType type, Visit visit) {
    switch (type) {
        case StoredType::float64:
            return visit(double{});
        case StoredType::float32:
            return visit(float{});
        case StoredType::bfloat16:
            return visit(__nv_bfloat16{});
        case StoredType::float16:
            return visit(__half{});
        case StoredType::float8_e4m3:
            return visit(__nv_fp8_e4m3{});
        case StoredType::int8:
            return visit(std::int8_t{});
        case StoredType::int32:
            return visit(std::int32_t{});
        case StoredType::int64:
            return visit(std::int64_t{});
    }
    throw std::invalid_argument("unknown stored type");
}

bool is_integer(StoredType type) {
    return type == StoredType::int8 || type == StoredType::int32 || type == StoredType::int64;
}

}  // namespace

StoredType stored(ElementType type) {
    switch (type) {
        case ElementType::float64:
            return StoredType::float64;
        case ElementType::float32:
        case ElementType::tfloat32:
            return StoredType::float32;
        case ElementType::bfloat16:
            return StoredType::bfloat16;
        case ElementType::float16:
            return StoredType::float16;
        case ElementType::float8_e4m3:
            return StoredType::float8_e4m3;
        case ElementType::int8:
            return StoredType::int8;
    }
    throw std::invalid_argument("unknown element type");
}

int bytes_of(StoredType type) {
    return with_stored(type, [](auto value) { return static_cast<int>(sizeof value); });
}

std::vector<double> read_elements(const void* base, StoredType type, std::int64_t first,
                                  std::int64_t stride, std::int64_t count, cudaStream_t stream) {
    const Buffer wide(static_cast<std::size_t>(count) * sizeof(double));
    with_stored(type, [&]<class T>(T) {
        read_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<const T*>(base), first,
                                                               stride, count, wide.as<double>());
    });
    require(cudaGetLastError(), "read kernel");
    std::vector<double> values(static_cast<std::size_t>(count));
    require(cudaMemcpyAsync(values.data(), wide.as(), wide.bytes(), cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return values;
}

void poison(void* base, StoredType type, std::int64_t count, cudaStream_t stream) {
    const int byte = is_integer(type) ? 0x80 : 0xFF;
    const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes_of(type));
    require(cudaMemsetAsync(base, byte, bytes, stream), "cudaMemsetAsync");
}

std::int64_t count_poisoned(const void* base, StoredType type, std::int64_t count,
                            cudaStream_t stream) {
    const Buffer found(sizeof(unsigned long long));
    require(cudaMemsetAsync(found.as(), 0, found.bytes(), stream), "cudaMemsetAsync");
    with_stored(type, [&]<class T>(T) {
        count_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<const T*>(base), count,
                                                                found.as<unsigned long long>());
    });
    require(cudaGetLastError(), "count kernel");
    unsigned long long value = 0;
    require(cudaMemcpyAsync(&value, found.as(), sizeof value, cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return static_cast<std::int64_t>(value);
}

void fill_indices(std::int64_t* indices, std::int64_t count, std::int64_t rows, std::uint64_t seed,
                  cudaStream_t stream) {
    indices_kernel<<<blocks_for(count), threads, 0, stream>>>(indices, count, rows, seed);
    require(cudaGetLastError(), "indices kernel");
}

}  // namespace ridge::measure::cuda
