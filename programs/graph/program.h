// A program as a list of operations: what runs, how often, where it comes from.
//
//   Program program;
//   program.entries.push_back({.operation = Matmul{...}, .count = 32, .name = "q_proj",
//                              .module = Module::attention});
//   const ProgramTime time = predict(program, machine);
//   time.total.time;   // of all kernels, one after the other, with the band of the sum
//
// The order is that in which an operation runs first. A model's config, a profiler's trace and a
// hand-written list all become this value; time, roofline and charts are functions of it.
// Method: each entry is predicted once and counted `count` times; errors of different entries are
// taken as independent, those of the same entry's repetitions as equal (R6 of docs/model.md).
// Limits: one stream; what overlaps is up to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "programs/graph/kernel_work.h"

namespace ridge::programs {

enum class Module : std::uint8_t {
    embedding,
    norm,
    attention,
    mlp,
    experts,
    residual,
    head,
    loss,
    optimizer,
    communication,
    other
};
inline constexpr std::size_t module_count = 11;

enum class Pass : std::uint8_t { forward, backward, update };

struct Entry {
    model::Operation operation;
    model::Execution execution;
    std::int64_t count = 1;    ///< runs in a step
    std::int64_t kernels = 1;  ///< launches of one run
    std::string name;          ///< "q_proj", "norm: mean"
    Module module = Module::other;
    Pass pass = Pass::forward;
    std::int64_t first_layer = -1;  ///< -1: outside the layers
    /// Elements for which a kernel without vector loads computes an index, times the share of a
    /// multiprocessor's clock that takes (W3 of docs/models.md); 0: none.
    double indexed_clocks = 0.0;
    /// How far the time is on the way from a warm L2 cache to a cold one: what of the operands the kernel before
    /// did not write (S10 of docs/model.md).
    double from_dram = 0.0;
    Time least{};          ///< of one launch, where that is more than an empty kernel takes
    double stretch = 1.0;  ///< of the operation's time, for a kernel that is not as good (W4)
    std::optional<KernelWork> work{};    ///< where the operation does not say how long it takes
    std::optional<KernelWork> beside{};  ///< what the operation leaves out, one after the other
    bool overlapped = false;             ///< runs beside the kernels, on a stream of its own
    std::optional<Time> measured;        ///< of one run, where a trace has it
};

struct Program {
    std::string name;
    std::vector<Entry> entries;

    /// Launches of the whole step.
    [[nodiscard]] std::int64_t kernels() const;
};

struct Totals {
    Time time;
    Time low;
    Time high;
    model::Work work;
    std::int64_t kernels = 0;
    std::int64_t not_modelled = 0;  ///< entries without a time
};

/// The outcomes stand in the order of the entries and are those of one run.
struct ProgramTime {
    std::vector<model::Outcome> outcomes;
    Totals total;
};

[[nodiscard]] ProgramTime predict(const Program& program, const model::Machine& machine);

/// The first operation without a time, and why it has none.
[[nodiscard]] std::optional<std::string> first_not_modelled(const Program& program,
                                                            const ProgramTime& time);

/// One run of the entry.
[[nodiscard]] model::Outcome predict(const Entry& entry, const model::Machine& machine);

/// The entry's time in the whole step; zero where it is not modelled.
[[nodiscard]] Time time_of(const Entry& entry, const model::Outcome& outcome);

[[nodiscard]] std::string_view name_of(Module module);
[[nodiscard]] std::string_view name_of(Pass pass);

}  // namespace ridge::programs
