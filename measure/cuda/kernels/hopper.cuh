// Hopper's asynchronous features as small functions: mbarriers, TMA copies, clusters, named
// barriers, register reallocation.
//
// Method: each function is one PTX instruction (or the shortest correct sequence) with typed
// arguments. A pipeline stage is a pair of barriers: `full` (the copy engine reports its bytes) and
// `empty` (the readers report that they are done); PipelineState walks the stages and flips the
// phase at each wrap.
//
// Limits: sm_90a only. For other targets kernels compile to an empty body (see can_compile), and
// their factories refuse to launch.
#pragma once

#include <cuda.h>

#include <cstdint>

// Other targets do not instantiate the kernel bodies, so functions that only those use are
// unreferenced there.
#pragma nv_diag_suppress 177

namespace ridge::measure::cuda::hopper {

// True while compiling for the host or for sm_90a. Kernel templates wrap their body in `if
// constexpr (can_compile)`.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool can_compile = true;
#else
inline constexpr bool can_compile = false;
#endif

inline constexpr int warpgroup_threads = 128;

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers

struct Barrier {
    std::uint64_t state;
};

__device__ __forceinline__ void init(Barrier& barrier, std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
                 "r"(arrivals)
                 : "memory");
}

// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void fence_barrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(Barrier& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
                 : "memory");
}

// Arrives at the barrier with the same offset in block `rank` of the cluster. This signals that
// reads by the tensor cores are complete, which the waiting copy engine needs to know. It publishes
// no writes, so the default scope is enough (release at cluster scope would cost a fence of the
// whole GPU each time).
__device__ __forceinline__ void arrive_remote(Barrier& barrier, std::uint32_t rank) {
    asm volatile(
        "{\n\t.reg .b32 remote;\n\t"
        "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}" ::"r"(shared_address(&barrier)),
        "r"(rank)
        : "memory");
}

// Arrives and announces `bytes` that copies will deliver in this phase.
__device__ __forceinline__ void arrive_expecting(Barrier& barrier, std::uint32_t bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
        "r"(bytes)
        : "memory");
}

// Waits until the phase of the given parity is complete.
__device__ __forceinline__ void wait(Barrier& barrier, std::uint32_t parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n\t"
        "WAIT:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
        "@!done bra WAIT;\n\t}" ::"r"(shared_address(&barrier)),
        "r"(parity)
        : "memory");
}

template <int Stages>
struct PipelineState {
    std::uint32_t stage = 0;
    std::uint32_t phase = 0;

    __device__ __forceinline__ void advance() {
        if (++stage == Stages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// ---- TMA copies (four-dimensional tensor maps, coordinates innermost first)

__device__ __forceinline__ void prefetch_descriptor(const CUtensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

__device__ __forceinline__ void load_box(void* destination, const CUtensorMap& map, Barrier& full,
                                         int c0, int c1, int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3, %4, %5, %6}], [%2];" ::"r"(shared_address(destination)),
        "l"(&map), "r"(shared_address(&full)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

// Delivers the box to the same offset, and its byte count to the same barrier, of every block in
// `blocks` (a bit mask).
__device__ __forceinline__ void load_box_multicast(void* destination, const CUtensorMap& map,
                                                   Barrier& full, std::uint16_t blocks, int c0,
                                                   int c1, int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
        "cluster"
        " [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(shared_address(destination)),
        "l"(&map), "r"(shared_address(&full)), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void store_box(const CUtensorMap& map, const void* source, int c0,
                                          int c1, int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
            &map),
        "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until the shared memory of this thread's committed stores has been read and may be
// overwritten.
__device__ __forceinline__ void wait_stores_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Waits until this thread's committed stores are complete.
__device__ __forceinline__ void wait_stores() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Orders ordinary shared-memory writes before later accesses of the copy engine and the tensor
// cores.
__device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- clusters, named barriers, registers

__device__ __forceinline__ std::uint32_t cluster_rank() {
    std::uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// Named barriers: 0 is __syncthreads, so identifiers start at 1. `threads` counts the threads that
// sync plus those that arrive.
__device__ __forceinline__ void named_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

template <int Registers>
__device__ __forceinline__ void shrink_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

template <int Registers>
__device__ __forceinline__ void grow_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// Stores four 8x8 matrices of two-byte elements from a warp's fragments; each lane gives the
// address of one row.
__device__ __forceinline__ void store_matrices(std::uint32_t address,
                                               const std::uint32_t (&words)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
}

// Byte offset of the 16-byte chunk `chunk` of row `row` in a box of 128-byte rows with the 128-byte
// swizzle.
__device__ __forceinline__ std::uint32_t swizzled_offset(int row, int chunk) {
    return static_cast<std::uint32_t>(row * 128 + ((chunk ^ (row & 7)) << 4));
}

}  // namespace ridge::measure::cuda::hopper
