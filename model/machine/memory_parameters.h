// The parameters of one GPU for memory-bound kernels, resolved once from its description.
//
//   const auto memory = resolve_memory(catalogue.at("h200-sxm"), machine);
//   memory->dram * memory->read_efficiency     // what a pure read stream reaches
//
// The efficiencies, loaded latencies and costs of eager kernels are the fields `model.memory.*` and
// `model.eager.*`. Values in the GPU's own file were measured or fitted on it; the others come from
// its architecture. A device without them (other vendors, old GPUs) has no parameters and uses the
// roofline.
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/prediction.h"
#include "model/machine/bundled_parameters.h"
#include "model/machine/launch.h"
#include "model/machine/parameter.h"
#include "model/machine/residency.h"
#include "model/machine/torch_parameters.h"

namespace ridge::model {

/// Costs of an eager framework's kernels that are fitted, not derived.
struct EagerCosts {
    Time launch{};       ///< events around one call, beside the kernel
    Time reductions{};   ///< of a row, including its start and end
    double reuse = 1.0;  ///< share of all L1 and of the L2 that rows between two passes may fill
};

/// Costs of the bundled kernels' compiled code, the same on every GPU: `model.bundled.code`.
struct BundledCode {
    double single_load =
        1.0;  ///< slots of an element loaded by itself, over those of one in a vector
    double empty_place = 0.0;    ///< slots of an element's place that may stay empty, over the same
    double added_only = 1.0;     ///< slots of an element that is only added, over those of one
                                 ///< computed with
    double element_chain = 0.0;  ///< clocks of an element of a row, over those of a FLOP
    double narrow_chain = 0.0;   ///< clocks of a two-byte element of a norm loaded by itself
    double dependent_load = 1.0;  ///< a load that waits for another's bytes, in first loads
    double thread_share = 1.0;    ///< slots of a thread without sums, over those of one with them
    double element_tile = 0.0;  ///< dependent part of a tile moved by elements, in loads from DRAM
    double tile_overlap = 1.0;  ///< loads, copies and stores of tiles: exponent of their norm
    double rounds_overlap = 1.0;  ///< rounds of blocks and throughput: exponent of their norm
    double evicted = 0.0;  ///< share of sectors of single elements that go to DRAM before they are
                           ///< full
};

/// Costs of the bundled kernels that depend on the GPU (eq. B10, B15 to B25), and the code that all
/// GPUs share.
struct BundledCosts {
    Time first_dram{};          ///< start of a block including its first load from DRAM
    Bandwidth scatter{};        ///< rate of sectors written for single elements, whole GPU
    double tile_rate = 0.0;     ///< elements per clock and multiprocessor, tiled transpose
    double further_load = 0.0;  ///< a load after the first, as a share of a first one
    // Issue slots of the compiled code.
    double reduction_slots = 0.0;  ///< of a thread that takes part in the sums of its row
    double element_slots = 0.0;    ///< of an element of a row
    double narrow_slots = 0.0;     ///< conversion of a two-byte element that is read or written
    double flop_clocks = 0.0;      ///< of a FLOP in a thread's dependent chain

    BundledCode code{};
    BundledSectors sectors{};
    BundledRegisters registers{};

    /// Slots of a thread beside its elements: addresses and ends, but no shuffles as in sums.
    [[nodiscard]] double thread_slots() const { return code.thread_share * reduction_slots; }
};

/// Costs of the views that PyTorch joins, the same on every GPU: `model.torch.views`. (eq. B33)
struct ViewCode {
    double chain = 0.0;   ///< clocks of a thread's first element
    double rounds = 0.0;  ///< time of each further element, as a share of the first
    double slots = 0.0;   ///< lane slots for the indices of an element's source and its result
};

struct MemoryParameters {
    double sm_count = 0.0;
    Frequency clock{};
    double threads_per_sm = 0.0;
    double blocks_per_sm = 0.0;
    double registers_per_sm = 65536.0;
    Bytes shared_per_block{};
    double fp32_lanes = 0.0;  ///< results per cycle and multiprocessor
    double fp64_lanes = 0.0;
    double special_lanes = 0.0;
    Bandwidth dram{};  ///< theoretical
    double read_efficiency = 1.0;
    double write_efficiency = 1.0;
    double turnaround = 0.0;
    Bandwidth skip{};     ///< rate at which DRAM skips bytes between pieces; 0: no cost
    Time dram_latency{};  ///< under load
    Time l2_latency{};    ///< under load
    Bandwidth l2_read{};  ///< reached by all multiprocessors
    Bandwidth l2_write{};
    Bandwidth port{};  ///< between the L2 and one multiprocessor
    Residency l2{};
    Bytes l1_size{};  ///< of one multiprocessor
    LaunchCosts launch{};
    EagerCosts eager{};
    BundledCosts bundled{};
    std::optional<TorchCosts> torch{};
    ViewCode views{};
    ChipEvidence streams = ChipEvidence::relative;        ///< origin of the DRAM efficiencies
    ChipEvidence eager_kernels = ChipEvidence::relative;  ///< origin of the eager costs

    /// Time of a reduction over a block: shuffles, shared memory and two barriers take about as
    /// long as a trip to L2.
    [[nodiscard]] Time reduction() const { return l2_latency; }
    /// Cycles of all multiprocessors per second.
    [[nodiscard]] Frequency sm_clocks() const { return clock * sm_count; }
};

/// The sections `model.memory`, `model.bundled` and `model.eager`.
[[nodiscard]] std::span<const Section<MemoryParameters>> memory_sections();

/// Empty if the description lacks one of the required fields. `machine` has its L2, launch costs and
/// laws already.
[[nodiscard]] std::optional<MemoryParameters> resolve_memory(const hardware::Description& gpu,
                                                             const Machine& machine);

}  // namespace ridge::model
