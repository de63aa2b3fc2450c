#include "kernel/causes/roofs.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "kernel/pipes/pipes.h"
#include "model/roof/memory_time.h"

namespace ridge::kernel {
namespace {

struct Described {
    std::int64_t compute_capability = 0;
    PipeLanes lanes{};
};

struct LaneField {
    std::string_view name;
    double PipeLanes::*lanes;
};

constexpr std::array lane_fields{
    LaneField{"fma", &PipeLanes::fma},         LaneField{"alu", &PipeLanes::alu},
    LaneField{"fp64", &PipeLanes::fp64},       LaneField{"xu", &PipeLanes::xu},
    LaneField{"lsu", &PipeLanes::lsu},         LaneField{"fp16", &PipeLanes::fp16},
    LaneField{"uniform", &PipeLanes::uniform}, LaneField{"mma_share", &PipeLanes::mma_share},
};

std::vector<Described> read_pipes() {
    std::vector<Described> all;
    for (const hardware::EmbeddedFile& file : embedded_pipes()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        if (document.problem) throw InputError(to_string(*document.problem));
        const hardware::Node* const list = document.root.child("architecture");
        RIDGE_CONTRACT(list != nullptr);
        for (const hardware::Node& each : list->children) {
            Described made;
            if (const auto* number = each.child("compute_capability")) {
                made.compute_capability = number->integer;
            }
            for (const LaneField& field : lane_fields) {
                if (const auto* number = each.child(field.name)) {
                    made.lanes.*field.lanes = number->real;
                }
            }
            all.push_back(made);
        }
    }
    return all;
}

}  // namespace

std::optional<PipeLanes> lanes_of(std::int32_t compute_capability) {
    static const std::vector<Described> all = read_pipes();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Described& each) {
        return each.compute_capability == compute_capability;
    });
    return found == all.end() ? std::nullopt : std::optional(found->lanes);
}

double Roofs::dram_seconds(double read, double written) const {
    if (read + written <= 0.0) return 0.0;
    return model::dram_time(memory, Bytes::from_base(read), Bytes::from_base(written)).base();
}

std::optional<Roofs> roofs_of(const model::Machine& machine) {
    const auto lanes = lanes_of(machine.compute_capability);
    if (!lanes || !machine.memory || !machine.limits || machine.sm_count < 1) return std::nullopt;
    const model::MemoryParameters& memory = *machine.memory;
    return Roofs{.multiprocessors = static_cast<double>(machine.sm_count),
                 .clock = machine.boost_clock.base(),
                 .schedulers = static_cast<double>(machine.limits->partitions),
                 .warps = static_cast<double>(machine.limits->warps),
                 .l2_bytes_per_s = memory.l2_read.base(),
                 .kernel_floor = machine.kernel_floor.base(),
                 .dram_latency = memory.dram_latency.base(),
                 .idle_latency = machine.dram_latency.value_or(memory.dram_latency).base(),
                 .lanes = *lanes,
                 .memory = memory,
                 .limits = machine.limits};
}

}  // namespace ridge::kernel
