// One step of a model: what it runs, what it allocates, how long that takes.
//
//   const ModelStep step = make_step(find_model("llama-3.1-8b"), {.phase = Phase::prefill});
//   const StepTime time = predict(step, machine, host_beside("h100-sxm"));
//   time.gpu.total.time, time.host, time.wall
//   step.peak_extra_bytes    // the step's peak over what was allocated before it
//
// Method: the decoder is run on paper (software/decoder.h); equal kernels are one entry. Host and GPU
// are two clocks that go through forward pass, backward pass and update: a kernel starts when it has
// been dispatched and the one before it has ended. A CUDA graph leaves the host one launch.
// Limits: one node; weights lie on the GPU from the start.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/allocator/memory_plan.h"
#include "programs/configs/architecture.h"
#include "programs/graph/program.h"
#include "programs/host.h"
#include "programs/software/request.h"

namespace ridge::programs {

/// Of a request.
inline constexpr std::int64_t most_length = std::int64_t{1} << 24;
inline constexpr std::int64_t most_batch = std::int64_t{1} << 20;

struct ModelStep {
    Program program;
    model::MemoryPlan memory;
    std::int64_t parameters = 0;         ///< of the whole model
    std::int64_t active_parameters = 0;  ///< that a token passes through
    std::int64_t weights_bytes = 0;      ///< on one GPU
    std::int64_t kv_cache_bytes = 0;     ///< on one GPU, after a prefill or before a decode step
    std::int64_t tokens = 0;             ///< that the step makes or reads
    bool training = false;
    bool graph = false;       ///< replayed as a CUDA graph
    bool called = false;      ///< a model of transformers; false: a list of operations
    std::int64_t layers = 0;  ///< whose Python the host runs; a compiled model has none
};

[[nodiscard]] ModelStep make_step(const Architecture& architecture, const Request& request,
                                  bool memory = true);

struct StepTime {
    ProgramTime gpu;
    Time host;  ///< of dispatch alone
    Time wall;  ///< of both side by side (W5 of docs/models.md)
    [[nodiscard]] bool host_bound() const { return host > gpu.total.time; }
};
[[nodiscard]] StepTime predict(const ModelStep& step, const model::Machine& machine,
                               const Host& host);

/// Of kernels that take `busy` when a CUDA graph launches them. (W5)
[[nodiscard]] Time graph_wall(Time busy, std::int64_t kernels, const Host& host);

/// Bytes of a step through PyTorch's caching allocator.
struct StepMemory {
    std::int64_t resident = 0;  ///< weights, cache, optimizer states
    std::int64_t peak = 0;      ///< allocated
    std::int64_t reserved = 0;
    std::size_t peak_step = 0;  ///< of the plan
    struct Part {
        std::string_view name;  ///< "weights", "cache", "gradients", "logits and loss", ...
        std::int64_t bytes = 0;
    };
    std::vector<Part> parts{};  ///< what is allocated at the peak, and adds up to it
    model::MemoryTimeline timeline;

    [[nodiscard]] std::int64_t extra() const { return peak - resident; }
};
[[nodiscard]] StepMemory memory_of(const ModelStep& step);

/// InputError naming the field: sizes, GPUs that do not divide the heads, training without a way.
void validate(const Architecture& architecture, const Request& request);

}  // namespace ridge::programs
