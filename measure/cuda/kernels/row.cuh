// Device-side parts of the kernels over rows, and the dispatch from element type and vectors to a
// kernel instance.
//
// Method: see model/bundled/rows.h. A thread's share of a row is the vectors j = thread + i x
// threads of the row. Vectors past the row's end hold a filler that does not change the result.
// Width is the number of elements per access: those in 16 bytes, or 1.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "measure/cuda/kernels/launch.h"
#include "measure/cuda/kernels/reduce.cuh"
#include "measure/cuda/kernels/vector.cuh"
#include "model/bundled/rows.h"

namespace ridge::measure::cuda {

using bundled::RowMethod;
using bundled::RowPlan;

// The fastest of the hints tried on an H200 (softmax, 8192 columns): evict-first loads or 256-byte
// prefetch cost 4 to 5 %, and so do evict-first loads and stores together.
inline constexpr CacheHint row_load_hint = CacheHint::l2_only;
inline constexpr CacheHint row_store_hint = CacheHint::cached;

struct RowShare {
    std::int64_t row;
    int thread;
    int threads;
};

template <RowMethod method>
__device__ __forceinline__ RowShare my_share() {
    if constexpr (method == RowMethod::warp) {
        return {blockIdx.x * static_cast<std::int64_t>(blockDim.x / 32) + threadIdx.x / 32,
                static_cast<int>(threadIdx.x % 32), 32};
    } else {
        return {blockIdx.x, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    }
}

template <RowMethod method, typename T, typename Merge>
__device__ __forceinline__ T reduce_row(T value, Merge merge, T neutral, T* scratch) {
    if constexpr (method == RowMethod::warp) {
        return reduce_warp(value, merge);
    } else {
        return reduce_block(value, merge, neutral, scratch);
    }
}

template <typename T, int vectors>
struct HeldRow {
    static constexpr int count = Packed<T>::count;
    float value[vectors][count];

    __device__ __forceinline__ void load(const T* row, int row_vectors, const RowShare& share,
                                         float filler) {
        const auto* source = reinterpret_cast<const uint4*>(row);
        uint4 raw[vectors];
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const int index = share.thread + i * share.threads;
            if (index < row_vectors) raw[i] = load16<row_load_hint>(source + index);
        }
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            if (share.thread + i * share.threads < row_vectors) {
                unpack<T>(raw[i], value[i]);
            } else {
#pragma unroll
                for (int k = 0; k < count; ++k) value[i][k] = filler;
            }
        }
    }

    __device__ __forceinline__ void store(T* row, int row_vectors, const RowShare& share) const {
        auto* destination = reinterpret_cast<uint4*>(row);
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const int index = share.thread + i * share.threads;
            if (index < row_vectors)
                store16<row_store_hint>(destination + index, pack<T>(value[i]));
        }
    }
};

// The same share, kept as it was loaded and unpacked again for each pass. It takes half the
// registers of a HeldRow for two-byte elements, so more rows are in flight (layer norm of 8192
// columns: 2 % faster).
template <typename T, int vectors>
struct PackedRow {
    static constexpr int count = Packed<T>::count;
    uint4 raw[vectors];

    __device__ __forceinline__ void load(const T* row, int row_vectors, const RowShare& share) {
        const auto* source = reinterpret_cast<const uint4*>(row);
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const int index = share.thread + i * share.threads;
            raw[i] =
                index < row_vectors ? load16<row_load_hint>(source + index) : uint4{0, 0, 0, 0};
        }
    }

    // Calls visit(i, values) for each vector; past the row's end they are zeros.
    template <typename Visit>
    __device__ __forceinline__ void visit(Visit visit) const {
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            float values[count];
            unpack<T>(raw[i], values);
            visit(i, values);
        }
    }
};

// `width` elements as floats: one 16-byte vector, or a single element.
template <typename T, int width>
__device__ __forceinline__ void load_elements(const T* address, float (&values)[width]) {
    if constexpr (width == 1) {
        values[0] = to_float(*address);
    } else {
        unpack<T>(*reinterpret_cast<const uint4*>(address), values);
    }
}

template <typename T, int width>
__device__ __forceinline__ void store_elements(T* address, const float (&values)[width]) {
    if constexpr (width == 1) {
        *address = from_float<T>(values[0]);
    } else {
        *reinterpret_cast<uint4*>(address) = pack<T>(values);
    }
}

// Calls visit(T{}) for the element type. Throws std::invalid_argument for a type without row
// kernels.
template <typename Visit>
auto with_element(ElementType type, Visit visit) {
    switch (type) {
        case ElementType::float32:
            return visit(float{});
        case ElementType::float16:
            return visit(__half{});
        case ElementType::bfloat16:
            return visit(__nv_bfloat16{});
        default:
            throw std::invalid_argument("row kernel: elements are float32, float16 or bfloat16");
    }
}

// Calls visit(std::integral_constant<int, vectors>{}); two-byte elements hold at most 4 vectors.
template <typename T, typename Visit>
auto with_vectors(int vectors, Visit visit) {
    switch (vectors) {
        case 1:
            return visit(std::integral_constant<int, 1>{});
        case 2:
            return visit(std::integral_constant<int, 2>{});
        case 4:
            return visit(std::integral_constant<int, 4>{});
        case 8:
            if constexpr (sizeof(T) == 4) return visit(std::integral_constant<int, 8>{});
            [[fallthrough]];
        default:
            throw std::invalid_argument("row kernel: 1, 2, 4 or (float32) 8 vectors per thread");
    }
}

inline void check_rows(const char* kernel, std::int64_t rows, std::int64_t columns) {
    if (rows <= 0 || columns <= 0 || rows > 2147483647 || columns > 2147483647) {
        throw std::invalid_argument(std::string(kernel) +
                                    ": rows and columns must be 1 to 2147483647");
    }
}

}  // namespace ridge::measure::cuda
