// A program as a list of operations: what runs, how often, and where it comes from.
//
//   Program program;
//   program.entries.push_back({.operation = Matmul{...}, .count = 32, .name = "q_proj",
//                              .module = Module::attention});
//   const ProgramTime time = predict(program, machine);
//   time.total.time;   // of all kernels, one after another, with the band of the sum
//
// Entries are in the order in which their operations first run. A model's config, a profiler's
// trace and a hand-written list all become a Program; time, roofline and charts are functions of
// it.
// Method: each entry is predicted once and counted `count` times; errors of different entries are
// assumed independent, errors of the repetitions of one entry equal (R6 of docs/model.md).
// Limits: one stream; the caller handles overlap.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/core/unmodelled.h"
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
    encoder,  ///< of images or sound
    other
};
inline constexpr std::size_t module_count = 12;

enum class Pass : std::uint8_t { forward, backward, update };

struct Entry {
    model::Operation operation;
    model::Execution execution;
    std::int64_t count = 1;    ///< runs per step
    std::int64_t kernels = 1;  ///< launches per run
    std::string name;          ///< "q_proj", "norm: mean"
    Module module = Module::other;
    Pass pass = Pass::forward;
    std::int64_t first_layer = -1;  ///< -1: outside the layers
    /// For a kernel without vector loads: its elements times the SM clocks that computing each
    /// index takes (W3 of docs/models.md); 0: none.
    double indexed_clocks = 0.0;
    /// Position of the time between a warm (0) and a cold (1) L2 cache: the share of the operands
    /// that the kernel before did not write (S10 of docs/model.md).
    double from_dram = 0.0;
    Time least{};          ///< of one launch, if that is longer than an empty kernel
    double stretch = 1.0;  ///< factor on the operation's time, for a less efficient kernel (W4)
    std::optional<KernelWork> work{};    ///< gives the time if the operation does not
    std::optional<KernelWork> beside{};  ///< work left out by the operation, run after it
    bool overlapped = false;             ///< runs concurrently with the kernels, in its own stream
    std::string unmodelled{};            ///< why no time is predicted; empty: it is
    std::optional<Time> measured;        ///< of one run, if a trace has it
};

struct Program {
    std::string name;
    std::vector<Entry> entries;

    /// Kernel launches of the whole step.
    [[nodiscard]] std::int64_t kernels() const;
};

struct Totals {
    Time time;
    Time low;
    Time high;
    model::Work work;
    std::int64_t kernels = 0;
    /// How much of `time` rests on each grade of evidence, by `model::Grade`.
    std::array<Time, 4> by_grade{};
    model::Unmodelled left_out{};  ///< entries without a time; the sums do not contain them
};

/// The weakest grade on which at least a thousandth of the time rests.
[[nodiscard]] model::Grade weakest_grade(const Totals& total);

/// The outcomes are in the order of the entries; each is for one run.
struct ProgramTime {
    std::vector<model::Outcome> outcomes;
    Totals total;
};

[[nodiscard]] ProgramTime predict(const Program& program, const model::Machine& machine);

/// The first operation without a time, and the reason.
[[nodiscard]] std::optional<std::string> first_not_modelled(const Program& program,
                                                            const ProgramTime& time);

/// Predicts one run of the entry.
[[nodiscard]] model::Outcome predict(const Entry& entry, const model::Machine& machine);

/// The entry's time in the whole step; zero if it is not modelled.
[[nodiscard]] Time time_of(const Entry& entry, const model::Outcome& outcome);

[[nodiscard]] std::string_view name_of(Module module);
[[nodiscard]] std::string_view name_of(Pass pass);

}  // namespace ridge::programs
