// The computer beside the GPU: how long it takes to dispatch a step's kernels.
//
//   const Host host = host_beside("h100-sxm");
//   host.per_kernel(), host.per_layer()          // Python, the dispatcher, the driver
//   find_host("xeon-h200")                       // by name; InputError lists the names
//   at_launch(host, 12.5 * units::us)            // as fast as it is now
//
// Method: what a host takes is told by what it takes to launch one small kernel; the rest are
// multiples of that, which the hosts share: for a kernel of eager PyTorch, for the Python of a
// transformers layer and of the whole model, for a kernel of gradients. scripts/fit-host.py fits
// them to measured steps (W5 of docs/models.md). A GPU beside which no host was measured takes the
// faster one.
// Limits: both hosts are virtual machines, on which the same launch took up to 1.6 times as long
// from one second to the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::programs {

struct Host {
    std::string_view name;
    std::string_view processor;
    Time launch;  ///< of one small kernel, in a loop

    /// Dispatched without gradients or in the forward pass.
    [[nodiscard]] Time per_kernel() const;
    /// Of the backward pass.
    [[nodiscard]] Time per_gradient_kernel() const;
    /// Of the optimizer, whose calls launch many each.
    [[nodiscard]] Time per_update_kernel() const;
    /// Python of a layer of transformers, beside its kernels; of the whole model.
    [[nodiscard]] Time per_layer() const;
    [[nodiscard]] Time per_step() const;
    /// Of a training step, beside its kernels.
    [[nodiscard]] Time per_training_step() const;
    /// Launch of a CUDA graph.
    [[nodiscard]] Time per_graph(std::int64_t kernels) const;
};

/// That the GPU waits between two kernels of a stream, and of a graph.
[[nodiscard]] Time gap_of_stream();
[[nodiscard]] Time gap_of_graph();

[[nodiscard]] std::span<const Host> hosts();
/// InputError naming the option where there is no such host.
[[nodiscard]] const Host& find_host(std::string_view name);
/// The host when it takes `launch` for one small kernel: its other times are longer or shorter as that is. (W5)
[[nodiscard]] Host at_launch(Host host, Time launch);
/// The host that was measured with this GPU.
[[nodiscard]] const Host& host_beside(std::string_view gpu);

}  // namespace ridge::programs
