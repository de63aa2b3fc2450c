// All effects, in reading order: the machine, memory and branches, kernels, products, attention,
// systems.
#include <algorithm>
#include <array>

#include "effects/lessons/lessons.h"
#include "effects/study.h"
#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::effects {

namespace {

template <const Knob&... knobs>
std::span<const Knob* const> set_by() {
    static constexpr std::array<const Knob*, sizeof...(knobs)> all{&knobs...};
    return all;
}

}  // namespace

std::span<const Effect> effects() {
    static const std::array all{
        Effect{"roofline", "The roofline", "What bounds an operation, arithmetic or memory?",
               "R2, R3, R7", roofline_plan, set_by<knob::rows>()},
        Effect{"precision", "Number formats", "What do fewer bits buy?", "R1, M1, W1",
               precision_plan, set_by<knob::size>()},
        Effect{"memory-hierarchy", "Levels of memory", "How far away is data?", "H1, H2, B3",
               memory_hierarchy_plan, set_by<knob::bytes>()},
        Effect{"occupancy", "Warps in flight", "How many threads does it take to keep memory busy?",
               "O1, B6", occupancy_plan, set_by<knob::registers>()},
        Effect{"coalescing", "Coalesced access", "What does strided access cost?", "P1, P2, P5",
               coalescing_plan, set_by<knob::stride>()},
        Effect{"bank-conflicts", "Bank conflicts",
               "Why does an unused column make shared memory faster?", "P4", bank_conflicts_plan,
               set_by<knob::width>()},
        Effect{"divergence", "Divergent branches", "What do branches cost within a warp?", "P3, P6",
               divergence_plan, set_by<knob::paths>()},
        Effect{"launch", "Launching kernels", "When is a kernel too small?", "B8, B18", launch_plan,
               set_by<knob::elements>()},
        Effect{"fusion", "Fused kernels", "What does a chain of operations move?", "E1, E2, B22",
               fusion_plan, set_by<knob::chain_elements>()},
        Effect{"recomputation", "Recomputation", "When is recomputing cheaper than storing?",
               "E4, E5, E6", recomputation_plan, set_by<knob::functions>()},
        Effect{"tiling", "Tiles", "How often is each number of a product fetched?", "M3, M4",
               tiling_plan, set_by<knob::tiled_size>()},
        Effect{"wave-quantization", "Waves of blocks", "Why does one more block cost a whole wave?",
               "M4, M5", wave_quantization_plan, set_by<knob::blocks>()},
        Effect{"alignment", "Aligned rows", "Why is 50304 faster than 50257?", "M6", alignment_plan,
               set_by<knob::aligned_size>()},
        Effect{"matmul-mystery", "The sawtooth of matrix products",
               "Why does throughput jump between neighbouring sizes?", "M4 to M7",
               matmul_mystery_plan},
        Effect{"online-softmax", "Softmax in one pass",
               "How can a row be normalised before its end is known?", "A16, B20, B21",
               online_softmax_plan, set_by<knob::cols>()},
        Effect{"flash-io", "FlashAttention's traffic",
               "What does attention save by not storing its scores?", "A4, A7, A8, A10",
               flash_io_plan, set_by<knob::seq>()},
        Effect{"attention-vram", "Memory of attention", "How long can a sequence be?",
               "V1, V3, V4, V15", attention_vram_plan, set_by<knob::tokens>()},
        Effect{"power", "Power and data", "Why are zeros multiplied faster?", "L2, L5", power_plan},
        Effect{"transfers", "Links", "How long does it take to move data?", "C1 to C6",
               transfers_plan},
        Effect{"scaling",
               "Chips over the years",
               "Why are more operations bound by memory now?",
               "R2",
               scaling_plan,
               {},
               true},
        Effect{"mlp", "A multilayer perceptron", "Where does a training step spend its time?",
               "M1, R6", mlp_plan,
               set_by<knob::batch, knob::layer_width, knob::layers, knob::steps>()}};
    return all;
}

const Effect& find_effect(std::string_view name) {
    const auto found = algorithms::find_if(
        effects(), [name](const Effect& effect) { return same_word(effect.name, name); });
    if (found != effects().end()) return *found;
    std::vector<std::string> names;
    for (const Effect& effect : effects()) names.emplace_back(effect.name);
    const std::string near = did_you_mean(name, names);
    throw InputError("effect: there is no effect '" + std::string(name) + "'", {},
                     near.empty() ? "`ridge effect list` lists them" : near);
}

}  // namespace ridge::effects
