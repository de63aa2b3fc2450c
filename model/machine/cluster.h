// Nodes of linked GPUs and the network between them, as a file describes them.
//
//   const Cluster cluster = read_cluster("dgx-h100.toml");
//   machine.cluster = cluster;      // predicts collectives among more GPUs than NVLink connects
//
// The file (docs/gpu-files.md, examples in hardware/clusters/) says how many GPUs NVLink connects, how
// many such nodes there are, and the network of one GPU: its rate, the share of it that collectives
// reach, the latency of a step, and how far the network above the first switch is oversubscribed.
//
// Errors: InputError with file, line and the field. More GPUs than the file describes are not
// predicted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::model {

struct Cluster {
    std::string name;
    std::int64_t domain = 0;  ///< GPUs that links connect: a node
    std::int64_t nodes = 0;
    Bandwidth network{};  ///< of one GPU, each way
    double efficiency = 1.0;
    Time latency{};
    double oversubscription = 1.0;

    [[nodiscard]] std::int64_t gpus() const { return domain * nodes; }
};

[[nodiscard]] Cluster parse_cluster(std::string_view text, const std::string& file);
[[nodiscard]] Cluster read_cluster(const std::string& file);

}  // namespace ridge::model
