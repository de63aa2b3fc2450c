// DRAM ceilings with 16-byte vectors; see stream.h.
//
// One device loop serves all four kernels: a Body says how to load the vectors of a tile and what
// to do with them. The first block processes the words after the last whole vector, one per thread.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "measure/cuda/kernels/reduce.cuh"
#include "measure/cuda/kernels/stream.h"
#include "measure/cuda/kernels/vector.cuh"

namespace ridge::measure::cuda {
namespace {

// Calls `full(first)` for whole tiles and `partial(first)` for the last one; `first` is this
// thread's first vector.
template <int unroll, typename Full, typename Partial>
__device__ __forceinline__ void for_each_tile(std::int64_t vectors, Full full, Partial partial) {
    const std::int64_t tile = static_cast<std::int64_t>(blockDim.x) * unroll;
    for (std::int64_t start = blockIdx.x * tile; start < vectors; start += gridDim.x * tile) {
        if (start + tile <= vectors) {
            full(start + threadIdx.x);
        } else {
            partial(start + threadIdx.x);
        }
    }
}

// Index of the single word that this thread processes after the vectors, or -1.
__device__ __forceinline__ std::int64_t tail_word(std::int64_t bytes) {
    const std::int64_t words = bytes / 4;
    const std::int64_t word = words / 4 * 4 + threadIdx.x;
    return blockIdx.x == 0 && word < words ? word : -1;
}

template <int unroll, CacheHint hint>
__global__ void read_kernel(const uint4* source, std::uint32_t* partial_sums, std::int64_t bytes) {
    const std::int64_t vectors = bytes / 16;
    std::uint32_t sum = 0;
    for_each_tile<unroll>(
        vectors,
        [&](std::int64_t first) {
            uint4 held[unroll];
#pragma unroll
            for (int i = 0; i < unroll; ++i)
                held[i] = load16<hint>(source + first + i * blockDim.x);
#pragma unroll
            for (int i = 0; i < unroll; ++i) sum += sum_of_words(held[i]);
        },
        [&](std::int64_t first) {
            for (std::int64_t i = first; i < vectors; i += blockDim.x)
                sum += sum_of_words(load16<hint>(source + i));
        });
    if (const std::int64_t word = tail_word(bytes); word >= 0)
        sum += reinterpret_cast<const std::uint32_t*>(source)[word];
    __shared__ std::uint32_t scratch[32];
    sum = reduce_block(sum, Add{}, 0U, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

template <int unroll, CacheHint hint>
__global__ void write_kernel(uint4* destination, std::int64_t bytes, std::uint32_t word) {
    const std::int64_t vectors = bytes / 16;
    const uint4 value = make_uint4(word, word, word, word);
    for_each_tile<unroll>(
        vectors,
        [&](std::int64_t first) {
#pragma unroll
            for (int i = 0; i < unroll; ++i)
                store16<hint>(destination + first + i * blockDim.x, value);
        },
        [&](std::int64_t first) {
            for (std::int64_t i = first; i < vectors; i += blockDim.x)
                store16<hint>(destination + i, value);
        });
    if (const std::int64_t tail = tail_word(bytes); tail >= 0)
        reinterpret_cast<std::uint32_t*>(destination)[tail] = word;
}

template <int unroll, CacheHint load_hint, CacheHint store_hint>
__global__ void copy_kernel(const uint4* __restrict__ source, uint4* __restrict__ destination,
                            std::int64_t bytes) {
    const std::int64_t vectors = bytes / 16;
    for_each_tile<unroll>(
        vectors,
        [&](std::int64_t first) {
            uint4 held[unroll];
#pragma unroll
            for (int i = 0; i < unroll; ++i)
                held[i] = load16<load_hint>(source + first + i * blockDim.x);
#pragma unroll
            for (int i = 0; i < unroll; ++i)
                store16<store_hint>(destination + first + i * blockDim.x, held[i]);
        },
        [&](std::int64_t first) {
            for (std::int64_t i = first; i < vectors; i += blockDim.x) {
                store16<store_hint>(destination + i, load16<load_hint>(source + i));
            }
        });
    if (const std::int64_t word = tail_word(bytes); word >= 0) {
        reinterpret_cast<std::uint32_t*>(destination)[word] =
            reinterpret_cast<const std::uint32_t*>(source)[word];
    }
    if (const std::int64_t byte = bytes / 4 * 4 + threadIdx.x; blockIdx.x == 0 && byte < bytes) {
        reinterpret_cast<unsigned char*>(destination)[byte] =
            reinterpret_cast<const unsigned char*>(source)[byte];
    }
}

__device__ __forceinline__ uint4 triad_of(uint4 b, uint4 c, float scale) {
    const auto one = [scale](std::uint32_t left, std::uint32_t right) {
        return __float_as_uint(fmaf(scale, __uint_as_float(right), __uint_as_float(left)));
    };
    return make_uint4(one(b.x, c.x), one(b.y, c.y), one(b.z, c.z), one(b.w, c.w));
}

template <int unroll, CacheHint load_hint, CacheHint store_hint>
__global__ void triad_kernel(uint4* __restrict__ a, const uint4* __restrict__ b,
                             const uint4* __restrict__ c, float scale, std::int64_t bytes) {
    const std::int64_t vectors = bytes / 16;
    for_each_tile<unroll>(
        vectors,
        [&](std::int64_t first) {
            uint4 left[unroll];
            uint4 right[unroll];
#pragma unroll
            for (int i = 0; i < unroll; ++i) {
                left[i] = load16<load_hint>(b + first + i * blockDim.x);
                right[i] = load16<load_hint>(c + first + i * blockDim.x);
            }
#pragma unroll
            for (int i = 0; i < unroll; ++i)
                store16<store_hint>(a + first + i * blockDim.x, triad_of(left[i], right[i], scale));
        },
        [&](std::int64_t first) {
            for (std::int64_t i = first; i < vectors; i += blockDim.x) {
                store16<store_hint>(
                    a + i, triad_of(load16<load_hint>(b + i), load16<load_hint>(c + i), scale));
            }
        });
    if (const std::int64_t word = tail_word(bytes); word >= 0) {
        reinterpret_cast<float*>(a)[word] = fmaf(scale, reinterpret_cast<const float*>(c)[word],
                                                 reinterpret_cast<const float*>(b)[word]);
    }
}

template <auto value>
using Constant = std::integral_constant<decltype(value), value>;

// Calls `visit` with the constant that `value` equals.
template <auto first, auto... rest, typename Value, typename Visit>
Launch with_one_of(Value value, const char* otherwise, Visit visit) {
    if (value == first) return visit(Constant<first>{});
    if constexpr (sizeof...(rest) > 0) {
        return with_one_of<rest...>(value, otherwise, visit);
    } else {
        throw std::invalid_argument(otherwise);
    }
}

template <typename Visit>
Launch with_unroll(const StreamPlan& plan, Visit visit) {
    return with_one_of<1, 2, 4, 8>(plan.unroll, "stream: unroll must be 1, 2, 4 or 8", visit);
}

template <typename Visit>
Launch with_load_hint(const StreamPlan& plan, Visit visit) {
    using enum CacheHint;
    return with_one_of<cached, streaming, l2_only, sector_prefetch>(
        plan.load_hint, "stream: unknown load hint", visit);
}

template <typename Visit>
Launch with_store_hint(const StreamPlan& plan, Visit visit) {
    using enum CacheHint;
    return with_one_of<cached, streaming, l2_only>(
        plan.store_hint, "stream: store hint must be cached, streaming or l2_only", visit);
}

template <typename Visit>
Launch with_plan(const StreamPlan& plan, Visit visit) {
    return with_unroll(plan, [&](auto unroll) {
        return with_load_hint(plan, [&](auto load) {
            return with_store_hint(plan, [&](auto store) { return visit(unroll, load, store); });
        });
    });
}

void check(std::int64_t bytes, const StreamPlan& plan, std::int64_t multiple = 4) {
    if (bytes <= 0 || bytes % multiple != 0) {
        throw std::invalid_argument("stream: bytes must be a positive multiple of " +
                                    std::to_string(multiple));
    }
    if (plan.threads < 32 || plan.threads > 1024 || plan.threads % 32 != 0) {
        throw std::invalid_argument("stream: threads must be a multiple of 32 up to 1024");
    }
}

bundled::LaunchGrid geometry(std::int64_t bytes, const StreamPlan& plan) {
    const std::int64_t tiles = bundled::stream_blocks(bytes, plan.threads, plan.unroll);
    const std::int64_t persistent =
        std::int64_t{plan.multiprocessors} * plan.blocks_per_multiprocessor;
    return {.x = persistent == 0 ? tiles : std::min(tiles, persistent), .threads = plan.threads};
}

template <typename... Parameters, typename... Arguments>
Launch enqueue(const char* name, void (*kernel)(Parameters...), const bundled::LaunchGrid& geometry,
               Arguments... arguments) {
    const LaunchShape shape = shape_of(geometry);
    return [=](cudaStream_t stream) { launch_kernel(name, kernel, shape, stream, arguments...); };
}

}  // namespace

bundled::LaunchGrid geometry_of(const StreamRead& read) {
    return geometry(read.bytes, read.plan);
}
bundled::LaunchGrid geometry_of(const StreamWrite& write) {
    return geometry(write.bytes, write.plan);
}
bundled::LaunchGrid geometry_of(const StreamCopy& copy) {
    return geometry(copy.bytes, copy.plan);
}
bundled::LaunchGrid geometry_of(const StreamTriad& triad) {
    return geometry(triad.bytes, triad.plan);
}

Launch launch_of(const StreamRead& read) {
    check(read.bytes, read.plan);
    return with_unroll(read.plan, [&](auto unroll) {
        return with_load_hint(read.plan, [&](auto hint) {
            return enqueue("stream read", read_kernel<unroll(), hint()>, geometry_of(read),
                           static_cast<const uint4*>(read.source), read.partial_sums, read.bytes);
        });
    });
}

Launch launch_of(const StreamWrite& write) {
    check(write.bytes, write.plan);
    return with_unroll(write.plan, [&](auto unroll) {
        return with_store_hint(write.plan, [&](auto hint) {
            return enqueue("stream write", write_kernel<unroll(), hint()>, geometry_of(write),
                           static_cast<uint4*>(write.destination), write.bytes, write.word);
        });
    });
}

Launch launch_of(const StreamCopy& copy) {
    check(copy.bytes, copy.plan, 1);
    return with_plan(copy.plan, [&](auto unroll, auto load, auto store) {
        return enqueue("stream copy", copy_kernel<unroll(), load(), store()>, geometry_of(copy),
                       static_cast<const uint4*>(copy.source),
                       static_cast<uint4*>(copy.destination), copy.bytes);
    });
}

Launch launch_of(const StreamTriad& triad) {
    check(triad.bytes, triad.plan);
    return with_plan(triad.plan, [&](auto unroll, auto load, auto store) {
        return enqueue("stream triad", triad_kernel<unroll(), load(), store()>, geometry_of(triad),
                       reinterpret_cast<uint4*>(triad.a), reinterpret_cast<const uint4*>(triad.b),
                       reinterpret_cast<const uint4*>(triad.c), triad.scale, triad.bytes);
    });
}

}  // namespace ridge::measure::cuda
