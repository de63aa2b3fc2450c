// The bulk copy engine and mbarriers as small device functions, and the corresponding host checks.
//
// Method: thin inline PTX (PTX ISA, cp.async.bulk, mbarrier) without tensor maps, so only
// contiguous bytes.
// Limits: sm_90 and later; sizes and addresses are multiples of 16 bytes. bulk_store_wait_read
// supports up to 8 groups.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void fence_barrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t phase) {
    std::uint32_t done = 0;
    while (done == 0) {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(phase)
            : "memory");
    }
}

__device__ __forceinline__ void bulk_load(void* shared, const void* global, std::uint32_t bytes,
                                          std::uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(shared)),
        "l"(global), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

__device__ __forceinline__ void bulk_store(void* global, const void* shared, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void bulk_store_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void bulk_store_wait() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Waits until the engine has read the shared memory of all but the newest `pending` groups.
__device__ __forceinline__ void bulk_store_wait_read(int pending) {
    switch (pending) {
        case 0:
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            break;
        case 1:
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            break;
        case 2:
            asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
            break;
        case 3:
            asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
            break;
        case 4:
            asm volatile("cp.async.bulk.wait_group.read 4;" ::: "memory");
            break;
        case 5:
            asm volatile("cp.async.bulk.wait_group.read 5;" ::: "memory");
            break;
        case 6:
            asm volatile("cp.async.bulk.wait_group.read 6;" ::: "memory");
            break;
        case 7:
            asm volatile("cp.async.bulk.wait_group.read 7;" ::: "memory");
            break;
        default:
            asm volatile("cp.async.bulk.wait_group.read 8;" ::: "memory");
            break;
    }
}

inline void require_bulk_copy_engine(const char* kernel) {
    int device = 0;
    int major = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "cudaDeviceGetAttribute");
    if (major < 9)
        throw std::runtime_error(std::string(kernel) +
                                 ": needs the bulk copy engine (compute capability 9.0)");
}

}  // namespace ridge::measure::cuda
