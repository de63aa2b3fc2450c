// The computer beside the GPU: how long it takes to dispatch a step's kernels.
//
//   const Host host = host_beside("h100-sxm");
//   host.per_kernel, host.per_training_kernel    // Python, the dispatcher, the driver
//   find_host("xeon-h200")                       // by name; InputError lists the names
//
// Method: times of eager PyTorch for each kernel launched, fitted by scripts/fit-host.py to the steps
// of measure/records/torch-models (W5 of docs/models.md). A GPU beside which no host was measured takes
// the faster one.
// Limits: both hosts are virtual machines, on which the same step took up to 1.5 times as long from
// one minute to the next; `at_launch` scales that out by a measured launch.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::programs {

struct Host {
    std::string_view name;
    std::string_view processor;
    Time per_kernel;           ///< dispatched without gradients
    Time per_training_kernel;  ///< with a tape, or from it
    Time new_length;           ///< cuDNN's plan for a decode step whose length is new
    Time per_graph;            ///< launch of a CUDA graph
    Time launch;               ///< of one small kernel, when the rest was measured
    Time gap;                  ///< that the GPU waits between two kernels of a stream
};

[[nodiscard]] std::span<const Host> hosts();
/// InputError naming the option where there is no such host.
[[nodiscard]] const Host& find_host(std::string_view name);
/// The host when it takes `launch` for one small kernel: its other times are longer or shorter as that is. (W5)
[[nodiscard]] Host at_launch(Host host, Time launch);
/// The host that was measured with this GPU.
[[nodiscard]] const Host& host_beside(std::string_view gpu);

}  // namespace ridge::programs
