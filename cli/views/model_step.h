// A step of a model as a table, Markdown, CSV and JSON.
#pragma once

#include <optional>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/input/machines.h"
#include "cli/views/memory.h"
#include "hardware/json.h"
#include "programs/model_step.h"

namespace ridge::cli {

struct StepAnswer {
    const programs::Architecture* architecture = nullptr;
    programs::Request request;
    programs::ModelStep step;
    programs::StepMemory memory;
    programs::Host host;
    const model::Machine* machine = nullptr;  ///< nullptr: only memory was asked for
    std::optional<Bytes> usable{};
    std::optional<bool> usable_measured{};  ///< on this GPU, not estimated
    std::optional<programs::StepTime> time{};
    bool listed = false;  ///< a list of operations: weights and memory are unknown
    std::optional<std::int64_t> largest_batch{};   ///< that fits at the given length; 0: none
    std::optional<std::int64_t> largest_length{};  ///< that fits at the given batch
};

/// Where a step runs; without a machine, the answer is about memory only.
struct Place {
    const model::Machine* machine = nullptr;
    std::int64_t usable = 0;       ///< bytes
    bool usable_measured = false;  ///< on this GPU, not estimated
    programs::Host host = programs::host_beside("");
};
[[nodiscard]] Place place_on(Machines& machines, const std::string& gpu);

/// `architecture` must outlive the answer. `add_largest` searches for what fits.
[[nodiscard]] StepAnswer answer_step(const programs::Architecture& architecture,
                                     programs::Request request, const Place& place);
void add_largest(StepAnswer& answer);
/// Answers for a program written by hand; `named` has its name and must outlive the answer.
[[nodiscard]] StepAnswer answer_program(const programs::Architecture& named,
                                        programs::Program program, const Place& place);

/// "llama-3.1-8b, decode of 8 x 2048"
[[nodiscard]] std::string title_of(const StepAnswer& answer);
/// Tokens that the step makes or reads per second of wall time, on the GPUs that share a batch;
/// empty if parts of the step are not modelled.
[[nodiscard]] std::optional<double> tokens_per_s(const StepAnswer& answer);
/// GPUs that share a batch (`--tp`, `--ep`), and those that each have their own (`--gpus`).
[[nodiscard]] std::int64_t gpus_of_batch(const programs::Request& request);

[[nodiscard]] Json json_of(const StepAnswer& answer);
/// Only its memory: what is there, and whether it fits.
void write_memory(const Context& context, const StepAnswer& answer);
/// The parts of its memory in bytes.
/// Memory of eager steps was compared with PyTorch's (records/torch-models).
[[nodiscard]] MemoryEvidence memory_evidence(const StepAnswer& answer);
[[nodiscard]] Json memory_json(const StepAnswer& answer);
void write_step(const Context& context, const StepAnswer& answer, bool all_kernels, Format format);

}  // namespace ridge::cli
