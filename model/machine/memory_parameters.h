// One GPU as memory-bound kernels see it, resolved once from its description.
//
//   const auto memory = resolve_memory(catalogue.at("h200-sxm"));
//   memory->dram * memory->read_efficiency     // what a pure read stream reaches
//
// The efficiencies, loaded latencies and costs of eager kernels are the fields `model.memory.*` and
// `model.eager.*`. Those that the GPU's own file gives were measured or fitted on it; the others
// come from its architecture. A device without them (other makers, old GPUs) has no parameters and
// keeps the roofline.
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

/// Costs of the kernels of an eager framework that are fitted, not derived.
struct EagerCosts {
    Time launch{};       ///< events around one call, beside the kernel
    Time reductions{};   ///< of a row, with its start and end
    double reuse = 0.4;  ///< share of all L1 and of the L2 that rows between two passes have
};

/// Of the compiled code of the bundled kernels, the same on every GPU: `model.bundled.code`.
struct BundledCode {
    double single_load =
        1.0;  ///< slots of an element loaded by itself, in those of one in a vector
    double empty_place = 0.0;  ///< of a place for an element that may stay empty, the same
    double added_only = 1.0;   ///< of an element that is only added, in those of one computed with
    double element_chain = 0.0;   ///< clocks of an element of a row, in those of a FLOP
    double narrow_chain = 0.0;    ///< clocks of a two-byte element of a norm loaded by itself
    double dependent_load = 1.0;  ///< a load that waits for another's bytes, in first loads
    double thread_share = 1.0;    ///< slots of a thread without sums, in those of one with them
    double element_tile = 0.0;  ///< dependent part of a tile moved by elements, in loads from DRAM
    double tile_overlap = 1.0;  ///< of loads, copies and stores of tiles: exponent of their norm
    double rounds_overlap = 1.0;  ///< of rounds of blocks and throughput: exponent of their norm
    double evicted = 0.0;  ///< sectors of single elements that go to DRAM before they are full
};

/// What bundled kernels meet on a GPU (eq. B10, B15 to B25), beside the code that all GPUs share.
struct BundledCosts {
    Time first_dram{};          ///< start of a block with its first load, from DRAM
    Bandwidth scatter{};        ///< sectors written for single elements, whole GPU
    double tile_rate = 0.0;     ///< elements per clock and multiprocessor, tiled transpose
    double further_load = 0.0;  ///< a load behind the first, as a share of a first one
    // Issue slots of the compiled code.
    double reduction_slots = 0.0;  ///< of a thread that takes part in sums of its row
    double element_slots = 0.0;    ///< of an element of a row
    double narrow_slots = 0.0;     ///< of a two-byte element read or written: its conversion
    double flop_clocks = 0.0;      ///< of a FLOP in a thread's dependent chain

    BundledCode code{};
    BundledSectors sectors{};
    BundledRegisters registers{};

    /// Of a thread beside its elements, addresses and ends: no shuffles as in sums.
    [[nodiscard]] double thread_slots() const { return code.thread_share * reduction_slots; }
};

/// Of the views that PyTorch joins, the same on every GPU: `model.torch.views`. (eq. B33)
struct ViewCode {
    double chain = 0.0;   ///< clocks of a thread's first element
    double rounds = 0.0;  ///< of it that each further one takes
    double slots = 0.0;   ///< of a lane for the indices of an element's source and its result
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
    Bandwidth skip{};     ///< at which DRAM passes over what lies between its pieces; 0: no cost
    Time dram_latency{};  ///< loaded
    Time l2_latency{};    ///< loaded
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
    Confidence streams = Confidence::family;        ///< what the DRAM efficiencies rest on
    Confidence eager_kernels = Confidence::family;  ///< what the eager costs rest on

    /// Over a block: shuffles, shared memory, two barriers, each a trip about as long as one to L2.
    [[nodiscard]] Time reduction() const { return l2_latency; }
    /// Cycles of all multiprocessors per second.
    [[nodiscard]] Frequency sm_clocks() const { return clock * sm_count; }
};

/// `model.memory`, `model.bundled` and `model.eager`.
[[nodiscard]] std::span<const Section<MemoryParameters>> memory_sections();

/// Empty when the description lacks one of the required fields. `l2` is the machine's.
[[nodiscard]] std::optional<MemoryParameters> resolve_memory(const hardware::Description& gpu,
                                                             const Residency& l2);

}  // namespace ridge::model
