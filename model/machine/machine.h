// The data that the model needs of a GPU, resolved once from its description.
//
// A `Machine` is a plain struct of numbers in the units of the formulas, so a prediction needs no
// look-up. What the description does not have is absent (an empty optional), never zero. Peaks are
// datasheet rates: per-SM rate x SMs x the clock at which the vendor quotes them.
//
//   const Machine machine = make_machine(catalogue().at("h100-sxm"));
//   machine.tensor_peak(DataType::bf16)   // 989.4 TFLOP/s
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/data_type.h"
#include "model/core/static_vector.h"
#include "model/machine/attention_parameters.h"
#include "model/machine/cluster.h"
#include "model/machine/collective_kernels.h"
#include "model/machine/energy_parameters.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/evidence.h"
#include "model/machine/fabric_parameters.h"
#include "model/machine/launch.h"
#include "model/machine/matmul_parameters.h"
#include "model/machine/memory_parameters.h"
#include "model/machine/mla_parameters.h"
#include "model/machine/moe_parameters.h"
#include "model/machine/parameter.h"
#include "model/machine/residency.h"
#include "model/machine/torch_attention_parameters.h"
#include "model/machine/torch_product_parameters.h"

namespace ridge::model {

class Residuals;        // residual_parameters.h
class MachineSoftware;  // machine_software.h

/// Limits on what one SM can hold.
struct SmLimits {
    std::int64_t threads = 0;
    std::int64_t threads_per_block = 1024;
    std::int64_t warps = 0;
    std::int64_t blocks = 0;
    std::int64_t registers = 0;
    std::int64_t registers_per_block = 0;
    std::int64_t registers_per_thread = 255;
    std::int64_t register_unit = 256;  ///< registers per warp are allocated in these units
    std::int64_t partitions = 4;       ///< of the register file, each with a scheduler
    std::int64_t warp_size = 32;
    Bytes shared;            ///< per SM
    Bytes shared_per_block;  ///< opt-in maximum
    Bytes shared_unit = 128.0 * units::B;
    Bytes shared_reserved;  ///< taken by the driver per block
    /// Sizes that the driver may set apart of the L1 for shared memory, in increasing order; empty
    /// if the two are separate memories.
    StaticVector<Bytes, 12> shared_carveouts;
};

/// Architecture families that share kernels and therefore efficiencies.
enum class Family : std::uint8_t {
    kepler,
    pascal,
    volta,
    turing,
    ampere,
    ada,
    hopper,
    blackwell,
    other
};

struct Machine {
    std::string name;
    std::string title;
    Family family = Family::other;
    std::int32_t compute_capability = 0;  ///< 90 for 9.0; 0 if not an NVIDIA GPU
    std::int64_t sm_count = 0;            ///< 0 if the device has no such units (TPU)
    Frequency boost_clock;
    Frequency tensor_clock;
    std::array<std::optional<FlopRate>, data_type_count> tensor;  ///< dense, by DataType
    std::array<std::optional<FlopRate>, data_type_count> vector;  ///< fma pipes, by DataType
    /// Tensor rates that accumulate in fp16, if they differ (GeForce); by DataType.
    std::array<std::optional<FlopRate>, data_type_count> tensor_fp16_accumulate;
    std::optional<double> special_rate;  ///< special-function results per second
    Residency l2;
    std::optional<Bandwidth> l2_bandwidth;
    std::optional<Bandwidth> shared_bandwidth;  ///< all SMs
    Bytes dram_capacity;
    Bandwidth dram_bandwidth;
    bool stacked_memory = false;  ///< HBM
    std::optional<SmLimits> limits;
    std::int64_t dram_sector = 32;  ///< bytes of one transaction
    std::int64_t dram_access = 32;  ///< fewest bytes that DRAM delivers
    std::optional<Time> dram_latency;
    std::optional<Time> l2_latency;      ///< of the near partition
    std::optional<Time> l2_far_latency;  ///< absent if the L2 has one partition
    std::optional<Time> l1_latency;
    Time kernel_floor;           ///< duration of an empty kernel
    LaunchCosts launch;          ///< zero if the description has no launch costs
    Time library_gap;            ///< between library kernels of a replayed graph, in the tables
    Time library_call;           ///< what the library's host code adds to a launch in a stream
                                 ///< that were fitted
    double library_drift = 0.0;  ///< factor on the operands that blocks read again because they
                                 ///< drift apart
    double library_split = 1.0;  ///< largest number of parts of k
    double library_cluster_tile = 0.0;  ///< least elements of a tile whose clusters share loads
    std::optional<Bandwidth> link_per_direction;
    std::int64_t link_gpus = 0;  ///< GPUs that the links connect; 0: all of a node
    std::optional<Bandwidth> pcie_per_direction;
    std::optional<AttentionParameters> attention;       ///< fitted; if absent, attention is a
                                                        ///< roofline
    std::optional<TorchAttentionCode> torch_attention;  ///< backends of PyTorch's SDPA
    std::optional<TorchProductCode> torch_product;      ///< PyTorch's products
    std::optional<MemoryParameters> memory;             ///< of the model of memory-bound kernels
    std::optional<FabricParameters> fabric;             ///< of the model of collectives
    std::optional<FabricParameters> host_fabric;  ///< over PCIe, for more GPUs than are linked
    std::optional<CollectiveKernels> collective_kernels;  ///< of NCCL on linked GPUs
    std::optional<CustomReduce> custom_reduce;            ///< of an engine on linked GPUs
    std::optional<Cluster> cluster;        ///< the nodes around it, if the user describes them
    std::optional<CopyParameters> copies;  ///< costs of copies without a kernel
    MatmulCalibration matmul;
    Power power_limit;                           ///< zero if the description has none
    std::optional<EnergyParameters> energy;      ///< of the model of power and energy
    Laws laws;                                   ///< of parameters that carry over
    BundledCounts bundled;                       ///< of the bundled products and attention
    MlaParameters mla;                           ///< of latent attention
    std::optional<MoeParameters> moe;            ///< of blocks of experts
    std::vector<EngineKernel> engine;            ///< kernels of the engine that was chosen
    std::shared_ptr<const Residuals> residuals;  ///< corrections; empty: only the analytic model
    /// How to resolve the GPU for other software; empty if made of a description alone.
    std::shared_ptr<const MachineSoftware> software;

    /// Evidence of the costs of PyTorch's kernels.
    [[nodiscard]] Evidence torch_evidence() const {
        return memory && memory->torch ? memory->torch->evidence : Evidence::foreign;
    }

    /// The links over which `gpus` devices communicate: their own, or PCIe if those do not reach
    /// all.
    [[nodiscard]] bool are_linked(std::int64_t gpus) const {
        return link_per_direction.has_value() && (link_gpus == 0 || gpus <= link_gpus);
    }

    [[nodiscard]] std::optional<FlopRate> tensor_peak(DataType type) const {
        return tensor[static_cast<std::size_t>(type)];
    }
    [[nodiscard]] std::optional<FlopRate> vector_peak(DataType type) const {
        return vector[static_cast<std::size_t>(type)];
    }
};

/// The section of values that all library kernels share.
[[nodiscard]] std::span<const Section<Machine>> library_sections();

/// Resolves a description. Throws an InputError that names the first missing field that every model
/// needs (dram.bandwidth and dram.capacity).
[[nodiscard]] Machine make_machine(const hardware::Description& description);

}  // namespace ridge::model
