// The computer that drives the GPU: how long it takes to dispatch a step's kernels.
//
//   const Host host = host_beside("h100-sxm");
//   host.per_kernel(), host.per_layer()          // Python, the dispatcher, the driver
//   find_host("xeon-h200")                       // by name; InputError lists the names
//   at_launch(host, 12.5 * units::us)            // scaled to a measured launch time
//
// Method: the speed of a host is set by the time that it takes to launch one small kernel. Its
// other times are multiples of that time, with the same factors for all hosts: for a kernel of
// eager PyTorch, for the Python of a transformers layer and of the whole model, for a kernel of the
// backward pass. Hosts are data (hardware/hosts/hosts.toml), the factors are costs of PyTorch
// (software/pytorch-2.11/costs.toml); scripts/fit/host.py fits them to measured steps (W5 of docs/models.md). A
// GPU without a measured host gets the faster one.
// A host has two speeds, between which each process changes on its own within seconds. Where the processes
// of several ranks wait for each other, a step takes as long as the slowest of them needs (`among`).
// Limits: both hosts are virtual machines, on which the time of the same launch varied by a factor
// of up to 1.6 from one second to the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hardware/embedded.h"
#include "hardware/quantity.h"

namespace ridge::programs {

struct Host {
    std::string name;
    std::string processor;
    Time launch{};            ///< of one small kernel, in a loop: mean of one process
    double slow = 1.0;        ///< the slower of its two speeds, over the time of the faster
    double slow_share = 0.0;  ///< of the time in which a process runs at the slower

    /// Of a kernel dispatched without gradients or in the forward pass.
    [[nodiscard]] Time per_kernel() const;
    /// Of a kernel of the backward pass.
    [[nodiscard]] Time per_gradient_kernel() const;
    /// Of a kernel of the optimizer, whose calls launch many kernels each.
    [[nodiscard]] Time per_update_kernel() const;
    /// Python time of a transformers layer, without its kernels; the same of the whole model.
    [[nodiscard]] Time per_layer() const;
    [[nodiscard]] Time per_step() const;
    /// Of a training step, without its kernels.
    [[nodiscard]] Time per_training_step() const;
    /// Of launching a CUDA graph.
    [[nodiscard]] Time per_graph(std::int64_t kernels) const;
};

/// The time that the GPU waits between two kernels in a stream, and in a graph.
[[nodiscard]] Time gap_of_stream();
[[nodiscard]] Time gap_of_graph();

[[nodiscard]] std::span<const Host> hosts();
/// Throws InputError, naming the option, if there is no such host.
[[nodiscard]] const Host& find_host(std::string_view name);
/// The host with the time of one small launch set to `launch`; its other times scale with it. (W5)
[[nodiscard]] Host at_launch(Host host, Time launch);
/// The host as a step meets it whose `ranks` processes wait for each other: the slowest of them counts. (W23)
[[nodiscard]] Host among(Host host, std::int64_t ranks);
/// The host that was measured with this GPU; without one, the faster of the measured ones.
[[nodiscard]] const Host& host_beside(std::string_view gpu);

/// The file in the binary. The build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_hosts();

/// Whether a host was measured with this GPU, so that the host's times are not assumed.
[[nodiscard]] bool has_measured_host(std::string_view gpu);

}  // namespace ridge::programs
