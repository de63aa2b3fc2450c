#include "measure/ranks/topology.h"

#include <fmt/format.h>

namespace ridge::measure {

std::string links_text(const GpuPlace& gpu) {
    std::string text = "NVLinks unknown";
    if (gpu.links) {
        text =
            gpu.links->active == 0
                ? "no NVLink"
                : fmt::format("{} NVLinks (version {}) to {}", gpu.links->active,
                              gpu.links->version, gpu.links->to_switch ? "a switch" : "other GPUs");
    }
    std::string others;
    for (const std::int32_t other : gpu.reaches) {
        others += (others.empty() ? "" : ", ") + std::to_string(other);
    }
    text += others.empty() ? "; reaches no other GPU" : "; reaches GPU " + others;
    if (gpu.numa_node) text += fmt::format("; NUMA node {}", *gpu.numa_node);
    return text;
}

}  // namespace ridge::measure
