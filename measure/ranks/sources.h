// Where the elements of a collective's result come from, and what they must be.
//
// Method: every rank knows the inputs of all others, because they follow from the rank's number. So
// each rank computes what its own output must hold, in double precision, without the library.
//
//   const CollectiveLayout layout = layout_of(op, rank, element_bytes);   // counts of elements
//   for (std::int32_t from = 0; from < op.gpus; ++from) {
//       if (const auto at = source_index(op.kind, layout, from, i)) expected += input(from, *at);
//   }
//
// Errors: `layout_of` refuses messages that do not divide into whole elements for each GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/record/observation.h"
#include "model/core/operation.h"

namespace ridge::measure {

struct CollectiveLayout {
    std::int32_t rank = 0;
    std::int64_t input = 0;   ///< elements of this rank's input
    std::int64_t output = 0;  ///< elements of this rank's output; 0 if it receives nothing
    std::int64_t part = 0;    ///< elements of one GPU's part
};

[[nodiscard]] Maybe<CollectiveLayout> layout_of(const model::Collective& op, std::int32_t rank,
                                                std::int64_t element_bytes);

/// The element of rank `from`'s input that enters element `index` of this rank's output; empty if
/// none does.
[[nodiscard]] std::optional<std::int64_t> source_index(model::CollectiveKind kind,
                                                       const CollectiveLayout& layout,
                                                       std::int32_t from, std::int64_t index);

/// Whether the operation adds, so that results are rounded; all others copy.
[[nodiscard]] bool adds(model::CollectiveKind kind);

}  // namespace ridge::measure
