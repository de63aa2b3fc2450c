#include "model/machine/torch_parameters.h"

#include <array>

#include "model/machine/machine.h"
#include "model/machine/memory_parameters.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using hardware::Description;
using ranges::span_of_time;
using enum Origin;
using enum Need;

// The set lies in an optional inside the memory parameters, where each row looks it up.
constexpr auto torch = [](auto& memory) -> auto& {
    return *memory.torch;
};

template <auto member>
constexpr Parameter<MemoryParameters> cost(std::string_view name, std::string_view meaning) {
    return parameter_of<MemoryParameters, torch, member>(name, span_of_time, meaning, {records},
                                                         required);
}

// clang-format off
using T = TorchCosts;
constexpr std::array torch_table{
    cost<&T::first_dram>("first_dram", "start of a kernel including its first loads from DRAM"),
    cost<&T::first_l2>("first_l2", "the same from L2"),
    cost<&T::step_dram>("step_dram", "a further load from DRAM that waits for the previous one"),
    cost<&T::step_l2>("step_l2", "the same from L2"),
    cost<&T::combine>("combine", "fixed time of a reduction across blocks: zeroing its semaphores, its last block"),
    cost<&T::partial>("partial", "one load of partial results by that last block"),
    cost<&T::look_up>("look_up", "look-up in a loss: a target and then its logarithm"),
};
// clang-format on

constexpr auto place = [](auto& machine) {
    return machine.memory && machine.memory->torch ? &*machine.memory : nullptr;
};
constexpr std::array places{
    section<MemoryParameters, place>("torch", "kernels of PyTorch", torch_table)};

}  // namespace

std::span<const Section<MemoryParameters>> torch_sections() {
    return places;
}

void resolve_torch(const Description& gpu, Machine& machine) {
    MemoryParameters& memory = *machine.memory;
    memory.torch.emplace();
    const bool costs = read_section(gpu, places.front(), memory);
    const bool complete = read_sections(gpu, torch_stream_sections(), machine) && costs;
    memory.torch->evidence = evidence_of(gpu, places.front(), "first_dram");
    if (!complete) memory.torch.reset();
}

}  // namespace ridge::model
