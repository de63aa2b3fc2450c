// Memory as text: bytes in both kinds of units, allocations at a peak, a timeline step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "hardware/quantity.h"
#include "model/allocator/memory_plan.h"
#include "model/core/grounds.h"

namespace ridge::cli {

/// Decimal gigabytes as the literature prints them, smaller sizes in their own unit.
[[nodiscard]] std::string decimal_bytes(Bytes bytes);
/// Decimal and binary, because sources use both: "34.36 GB (32 GiB)".
[[nodiscard]] std::string both_units(Bytes bytes);
[[nodiscard]] Bytes bytes_of(std::int64_t count);

/// "78.1 %"; near 100 % with more digits, so that what fits does not read as all.
[[nodiscard]] std::string share_of_memory(double share);

/// What the bytes of an answer rest on: rules that PyTorch's own counts were compared with, to the
/// byte, or a count of the tensors.
enum class BytesEvidence : std::uint8_t { counted, compared };

/// The evidence of bytes and, if they are compared with a GPU's memory, of what is usable there.
struct MemoryEvidence {
    BytesEvidence bytes = BytesEvidence::counted;
    std::optional<bool> usable_measured{};  ///< empty: no GPU, or a capacity that was given

    [[nodiscard]] model::Grade grade() const;
};
[[nodiscard]] Json to_json(const MemoryEvidence& evidence);
/// "Evidence: bytes counted from the tensors; usable memory from the data sheet."
[[nodiscard]] std::string sentence_of(const MemoryEvidence& evidence);

/// Writes a sentence, indented and wrapped at the terminal's width.
void write_sentence(const Context& context, const std::string& sentence);

/// The phase and step at which most is allocated.
struct MemoryPeak {
    std::string_view phase;
    std::size_t step = 0;
    model::MemoryLevel level;
};
[[nodiscard]] MemoryPeak peak_of(const model::MemoryPlan& plan,
                                 const model::MemoryTimeline& timeline);

/// Writes the allocations alive at the peak, with the phase that made them, and their sum.
void write_alive_at_peak(const Context& context, const model::MemoryPlan& plan,
                         const model::MemoryTimeline& timeline);
/// Writes every allocation and release with the levels after it; the peak is marked.
void write_timeline(const Context& context, const model::MemoryPlan& plan,
                    const model::MemoryTimeline& timeline);
/// Allocations with the steps and phases of their lives; "given" is null if they stay.
[[nodiscard]] Json json_of_allocations(const model::MemoryPlan& plan,
                                       const model::MemoryTimeline& timeline);

}  // namespace ridge::cli
