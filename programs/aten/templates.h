// Laws of a framework's kernel templates as data: an operator takes a fixed time, its bytes at a share of
// the DRAM bandwidth, and clocks for each element, index or row. (docs/model.md S11)
//
//   if (const Template* law = template_of("scatter_add", ElementType::fp32))
//       time_of(*law, counts_of(call, ElementType::unknown), machine)
//
// software/pytorch-2.11/templates.toml states the laws, fitted by scripts/fit/templates.py to the records
// of operators drawn at random (scripts/measure/torch-operators.py); each states on how many rows it rests,
// and its band. Clocks are of one multiprocessor, spread over all of them; `chain` terms are of one chain
// that all wait for; `turns` are chains of one block for each channel, `missed` chains that wait longer for what
// the L2 does not hold.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/embedded.h"
#include "model/machine/machine.h"
#include "programs/aten/counts.h"

namespace ridge::programs {

/// The embedded file of laws; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_templates();

struct Template {
    std::vector<std::string> operators{};
    std::string kernel{};  ///< only for calls whose longest kernel has this name
    Time fixed{};
    double bytes = 0.0;                        ///< times of the bytes at the DRAM bandwidth
    double rule = 0.0;                         ///< times of what the model's own rule says
    std::array<double, count_count> clocks{};  ///< of a multiprocessor, for one of each count
    std::array<double, count_count> chain{};   ///< clocks that nothing else hides
    /// The same for each turn that the multiprocessors take over the channels, one block for each.
    std::array<double, count_count> turns{};
    /// The same for the share of the bytes that the L2 cannot hold: chains that wait for DRAM there.
    std::array<double, count_count> missed{};
    double bytes_missed = 0.0;  ///< times of that share of the bytes at the DRAM bandwidth
    double low = 1.0;           ///< the 80 % band, times the time
    double high = 1.0;
    std::int64_t rows = 0;  ///< of records that it rests on
    bool fallback = false;  ///< only for calls that no rule describes
};

/// What a law is of: a call by its shapes; by its launches too, where a trace has them; or only the band of
/// the sum of its kernels, each of which has a law.
enum class LawOf : std::uint8_t { shapes, launches, kernels };

/// The law of an operator, by its name without "aten::" and the '_' of in-place forms; null: none.
[[nodiscard]] const Template* template_of(std::string_view name, LawOf which = LawOf::shapes);

/// The law of calls whose longest kernel has this name; null: none.
[[nodiscard]] const Template* template_of_kernel(std::string_view name, std::string_view kernel);

/// What of a kernel's name tells templates apart: without namespaces, the tile and all arguments but numbers in
/// front, "reduce_kernel<512, 1" or "nvjet_tst".
[[nodiscard]] std::string kernel_key(std::string_view name);

struct TemplateTime {
    Time time;
    Time low;
    Time high;
    Time lower_bound;
    bool streams = false;  ///< the bytes take most of the time
    bool by_rule = false;  ///< the rule's share of the time is the largest
};
/// `rule` is the time by the model's own rule; zero if there is none.
[[nodiscard]] TemplateTime time_of(const Template& law, const Counts& counts,
                                   const model::Machine& machine, Time rule = {});

}  // namespace ridge::programs
