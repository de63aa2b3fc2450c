// What a serving engine adds to the kernels of a model: the time of its host, and how it schedules.
//
//   const Engine& vllm = find_engine("vllm");     // "vllm-0.24.0" names the same entry
//   vllm.hidden(64);                              // host, of a step of 64 sequences
//   vllm.step_time(gpu, 64);                      // wall, for kernels that take `gpu`
//
// Method: a step costs the host a fixed time and a time for each sequence; the same numbers serve all
// models. An engine with asynchronous scheduling prepares the next step while the GPU runs; the rest of
// each step is exposed (W14 of docs/models.md). The numbers are data, calibration/engines.toml, which
// scripts/fit/engine_host.py writes.
// Limits: fitted to the hosts of published servers; a slower host scales all of them (`slowed`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/embedded.h"
#include "hardware/quantity.h"

namespace ridge::programs {

/// calibration/engines.toml; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_engines();

struct Engine {
    std::string name;    ///< "vllm"
    std::string source;  ///< of the times
    // Host time, by W14.
    Time per_step;       ///< that no other work hides
    Time prepared_step;  ///< hidden behind the GPU if the engine overlaps
    Time prepared;       ///< likewise, per sequence
    Time vision_token;   ///< for each token of images, which no other work hides
    Time vision_step;    ///< for a step that begins images, likewise; twice with several processes
    bool overlaps = false;  ///< schedules the next step while the GPU runs
    // Kernels that no operation of the model describes.
    Time sampler_start;           ///< of the sampler's kernels
    double sampler_passes = 0.0;  ///< times that sampling reads the logits in fp32
    double sort_clocks = 0.0;     ///< of one SM per logit, where tokens are drawn from the top
    std::int64_t block_scaled_rows = 0;  ///< that each expert's fp8 product with block scales has
                                         ///< at least, with or without tokens
    std::int64_t block = 16;             ///< tokens of a page of the cache
    std::int64_t chunk = 2048;           ///< most tokens of a step
    std::int64_t sequences = 256;        ///< most sequences of a step
    double memory_share = 0.9;           ///< of a GPU's memory, for weights and caches
    std::string command;  ///< how it is started, with {model}, {tp}, ... (deployment.h)

    [[nodiscard]] Time hidden(std::int64_t count) const {
        return prepared_step + static_cast<double>(count) * prepared;
    }
    /// Of a step whose kernels take `gpu`. (W14)
    [[nodiscard]] Time step_time(Time gpu, std::int64_t sequences) const;
    /// The same engine on a host that takes `factor` times as long.
    [[nodiscard]] Engine slowed(double factor) const;
};

[[nodiscard]] const std::vector<Engine>& engines();
/// By name, with or without a version. InputError with the known names.
[[nodiscard]] const Engine& find_engine(std::string_view name);

}  // namespace ridge::programs
