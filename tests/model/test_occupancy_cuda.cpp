// Occupancy against NVIDIA's own calculator, the header cuda_occupancy.h of the CUDA Toolkit, for
// every GPU with a compute capability. The test is built only if that header is found.
#include <cuda_occupancy.h>

#include <string>

#include "model/catalogue/catalogue.h"
#include "model/machine/occupancy.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

cudaOccDeviceProp properties_of(const Machine& machine) {
    const SmLimits& limits = machine.limits.value();
    cudaOccDeviceProp device;
    device.computeMajor = machine.compute_capability / 10;
    device.computeMinor = machine.compute_capability % 10;
    device.maxThreadsPerBlock = static_cast<int>(limits.threads_per_block);
    device.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads);
    device.regsPerBlock = static_cast<int>(limits.registers_per_block);
    device.regsPerMultiprocessor = static_cast<int>(limits.registers);
    device.warpSize = static_cast<int>(limits.warp_size);
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared.base());
    device.numSms = static_cast<int>(machine.sm_count);
    device.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_per_block.base());
    device.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.shared_reserved.base());
    return device;
}

struct Asked {
    int threads = 0;
    int registers = 0;
    std::size_t shared = 0;
};

int calculated(const cudaOccDeviceProp& device, const Asked& asked) {
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = device.maxThreadsPerBlock;
    kernel.numRegs = asked.registers;
    kernel.sharedSizeBytes = 0;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = asked.shared;
    kernel.numBlockBarriers = 0;
    const cudaOccDeviceState state;
    cudaOccResult result;
    const cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, &device, &kernel, &state, asked.threads, asked.shared);
    REQUIRE(status == CUDA_OCC_SUCCESS);
    return result.activeBlocksPerMultiprocessor;
}

TEST_CASE("occupancy of every GPU agrees with cuda_occupancy.h", "[occupancy]") {
    int compared = 0;
    for (const model::CatalogueEntry& entry : catalogue().entries()) {
        const Machine machine = make_machine(catalogue().at(entry.name));
        // The header covers compute capabilities up to 12.1, though not every version knows the
        // shared memory of 10.3. Devices without limits are skipped.
        if (machine.compute_capability == 0 || !machine.limits) continue;
        const cudaOccDeviceProp device = properties_of(machine);
        for (int threads = 1; threads <= 1024; threads += threads < 32 ? 31 : 32) {
            for (int registers = 8; registers <= 255; registers += 13) {
                for (const int kib : {0, 1, 16, 33, 48, 64, 96, 99, 100, 163, 227}) {
                    const Asked asked{.threads = threads,
                                      .registers = registers,
                                      .shared = static_cast<std::size_t>(kib) * 1024};
                    const Occupancy ours =
                        occupancy({.threads = threads,
                                   .registers = registers,
                                   .shared = static_cast<double>(kib) * units::KiB},
                                  *machine.limits);
                    const int theirs = calculated(device, asked);
                    if (ours.blocks != theirs) {
                        CAPTURE(entry.name, threads, registers, kib);
                        CHECK(ours.blocks == theirs);
                    }
                    ++compared;
                }
            }
        }
    }
    CHECK(compared > 100000);
}

}  // namespace
}  // namespace ridge::model
