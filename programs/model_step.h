// One step of a model: the kernels that it runs, the memory that it allocates, and its time.
//
//   const ModelStep step = make_step(find_model("llama-3.1-8b"), {.phase = Phase::prefill});
//   const StepTime time = predict(step, machine, host_beside("h100-sxm"));
//   time.gpu.total.time, time.host, time.wall
//   memory_of(step).extra()  // the peak of the step over what was allocated before it
//
// Method: the model runs symbolically (software/model_run.h); equal kernels become one entry. Host
// and GPU have separate clocks through forward pass, backward pass and update: a kernel starts when
// it has been dispatched and the kernel before it has ended. With a CUDA graph the host only
// launches once. A step with collectives in a stream of their own is replayed, launch by launch
// (replay/replay.h).
// Limits: one node; the weights are on the GPU from the start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocator/memory_plan.h"
#include "programs/configs/architecture.h"
#include "programs/graph/program.h"
#include "programs/host.h"
#include "programs/software/recorder.h"
#include "programs/software/request.h"
#include "programs/software/wrapper.h"

namespace ridge::programs {

/// Limits of a request.
inline constexpr std::int64_t most_length = std::int64_t{1} << 24;
inline constexpr std::int64_t most_batch = std::int64_t{1} << 20;

/// A launch of a training step, in the order of the step.
struct StepLaunch {
    std::int32_t entry = 0;    ///< first entry of the program that it runs
    std::int32_t entries = 1;  ///< a split product has two
    std::int32_t after = -1;   ///< index of a launch of the other stream that has to end first
    std::int32_t layer = -1;   ///< -1: outside the layers
};

/// Tokens of a sequence that stand for one image, and for its sound.
struct InputTokens {
    std::int64_t of_image = 0;
    std::int64_t of_audio = 0;
};
[[nodiscard]] InputTokens input_tokens(const Architecture& architecture, const Request& request);

/// Throws InputError if images and sound are more tokens than a sequence has.
void check_inputs(const Architecture& architecture, const Request& request);

struct ModelStep {
    Program program;
    model::MemoryPlan memory;
    std::vector<Purpose> purposes{};     ///< of each allocation
    std::int64_t parameters = 0;         ///< of the whole model
    std::int64_t active_parameters = 0;  ///< used by each token
    std::int64_t weights_bytes = 0;      ///< on one GPU
    std::int64_t kv_cache_bytes = 0;     ///< on one GPU, after a prefill or before a decode step
    std::string weight_format{};         ///< "none", "fp8", ...: of the layers' products
    std::string weight_format_source{};  ///< kind of the checkpoint's config that says so
    std::int64_t tokens = 0;             ///< that the step produces or reads
    InputTokens inputs{};                ///< of these, in each sequence
    std::int64_t images = 0;             ///< in each sequence
    bool training = false;
    bool graph = false;       ///< replayed as a CUDA graph
    bool called = false;      ///< runs as a model of transformers; false: a list of operations
    std::int64_t layers = 0;  ///< layers whose Python the host runs; 0 for a compiled model
    std::vector<StepLaunch> order{};             ///< of a training step
    const Wrapper* wrapper = nullptr;            ///< that spreads it over GPUs; null: one GPU
    const Wrapper* attention_wrapper = nullptr;  ///< around attention, with shared sequences
    std::int64_t parameter_tensors = 0;          ///< of a training step
    std::int64_t ranks = 1;                      ///< processes that wait for each other in it
};

[[nodiscard]] ModelStep make_step(const Architecture& architecture, const Request& request,
                                  bool memory = true);

struct StepTime {
    ProgramTime gpu;
    Time host;             ///< time of dispatch alone
    Time wall;             ///< of host and GPU working in parallel (W5 of docs/models.md)
    Time communication{};  ///< of collectives, all together
    Time exposed{};        ///< of these, while no kernel runs beside them
    [[nodiscard]] bool host_bound() const { return host > gpu.total.time; }
};
[[nodiscard]] StepTime predict(const ModelStep& step, const model::Machine& machine,
                               const Host& host);

/// The kernels of a pass that `counted` accepts, and the host's time to dispatch them, with the Python of
/// their layers.
struct PassTime {
    Time gpu{};
    Time host{};
};
[[nodiscard]] PassTime time_of_pass(const ModelStep& step, const StepTime& time, Pass pass,
                                    const Host& host,
                                    const std::function<bool(const Entry&)>& counted);

/// Wall time of kernels that take `busy` on the GPU and are launched as a CUDA graph. (W5)
[[nodiscard]] Time graph_wall(Time busy, std::int64_t kernels, const Host& host);

/// Memory of a step, in bytes, with PyTorch's caching allocator.
struct StepMemory {
    std::int64_t resident = 0;  ///< weights, cache, optimizer states
    std::int64_t peak = 0;      ///< allocated
    std::int64_t reserved = 0;
    std::size_t peak_step = 0;  ///< index in the plan
    struct Part {
        std::string_view name;  ///< "weights", "cache", "gradients", "logits and loss", ...
        std::int64_t bytes = 0;
    };
    std::vector<Part> parts{};  ///< what is allocated at the peak; the parts add up to it
    model::MemoryTimeline timeline;

    [[nodiscard]] std::int64_t extra() const { return peak - resident; }
};
[[nodiscard]] StepMemory memory_of(const ModelStep& step);

/// Throws InputError naming the field: sizes out of range, GPUs that do not divide the heads or
/// experts.
void validate(const Architecture& architecture, const Request& request);

}  // namespace ridge::programs
