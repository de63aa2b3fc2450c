// What a serving engine adds to the kernels of a model: the time of its host, and how it schedules.
//
//   const Engine& vllm = find_engine("vllm");     // "vllm-0.24.0" names the same entry
//   vllm.host_time(64, 2048);                     // of a step of 64 sequences, 2048 prompt tokens
//   vllm.step_time(gpu, 64, 2048);                // with the GPU's part
//
// Method: a step costs the host a fixed time and a time for each sequence and for each token of a
// prompt; the same numbers serve all models. An engine with asynchronous scheduling prepares the next
// step while the GPU runs; the rest of each step is exposed (W14 of docs/models.md). The numbers are
// data, calibration/engines.toml, which scripts/fit/engine_host.py writes.
// Limits: measured beside Xeon and EPYC hosts of data centres; a slower host scales all of them
// (`Engine::slowed`).
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
    Time per_step;                 ///< that no other work hides
    Time per_sequence;             ///< likewise
    Time prepared;                 ///< per sequence, hidden behind the GPU if the engine overlaps
    Time per_prompt_token;         ///< likewise
    bool overlaps = false;         ///< schedules the next step while the GPU runs
    double sampler_passes = 0.0;   ///< times that sampling reads the logits in fp32
    std::int64_t block = 16;       ///< tokens of a page of the cache
    std::int64_t chunk = 2048;     ///< most tokens of a step
    std::int64_t sequences = 256;  ///< most sequences of a step
    double memory_share = 0.9;     ///< of a GPU's memory, for weights and caches
    std::string command;           ///< how it is started, with {model}, {tp}, ... (deployment.h)

    [[nodiscard]] Time exposed(std::int64_t sequences) const {
        return per_step + static_cast<double>(sequences) * per_sequence;
    }
    [[nodiscard]] Time hidden(std::int64_t sequences, std::int64_t prompt_tokens) const {
        return static_cast<double>(sequences) * prepared +
               static_cast<double>(prompt_tokens) * per_prompt_token;
    }
    /// Of a step whose kernels take `gpu`. (W14)
    [[nodiscard]] Time step_time(Time gpu, std::int64_t sequences,
                                 std::int64_t prompt_tokens) const;
    /// The same engine on a host that takes `factor` times as long.
    [[nodiscard]] Engine slowed(double factor) const;
};

[[nodiscard]] const std::vector<Engine>& engines();
/// By name, with or without a version. InputError with the known names.
[[nodiscard]] const Engine& find_engine(std::string_view name);

}  // namespace ridge::programs
