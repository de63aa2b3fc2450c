#include "measure/ranks/sources.h"

#include <fmt/format.h>

namespace ridge::measure {

using model::CollectiveKind;

bool adds(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

Maybe<CollectiveLayout> layout_of(const model::Collective& op, std::int32_t rank,
                                  std::int64_t element_bytes) {
    const bool divided = op.kind == CollectiveKind::all_gather ||
                         op.kind == CollectiveKind::reduce_scatter ||
                         op.kind == CollectiveKind::all_to_all;
    const std::int64_t grain = element_bytes * (divided ? op.gpus : 1);
    if (op.bytes % grain != 0) {
        return Unavailable{.reason = fmt::format(
                               "bytes {} is not a multiple of {}: {}elements of {} bytes", op.bytes,
                               grain, divided ? "one part for each GPU, of " : "", element_bytes),
                           .remedy = fmt::format("use bytes={}", (op.bytes / grain + 1) * grain)};
    }
    const std::int64_t whole = op.bytes / element_bytes;
    const std::int64_t part = divided ? whole / op.gpus : whole;
    switch (op.kind) {
        case CollectiveKind::all_gather:
            return CollectiveLayout{.rank = rank, .input = part, .output = whole, .part = part};
        case CollectiveKind::reduce_scatter:
            return CollectiveLayout{.rank = rank, .input = whole, .output = part, .part = part};
        case CollectiveKind::send:
            return CollectiveLayout{
                .rank = rank, .input = whole, .output = rank == 1 ? whole : 0, .part = part};
        default:
            return CollectiveLayout{.rank = rank, .input = whole, .output = whole, .part = part};
    }
}

std::optional<std::int64_t> source_index(CollectiveKind kind, const CollectiveLayout& layout,
                                         std::int32_t from, std::int64_t index) {
    switch (kind) {
        case CollectiveKind::all_reduce:
            return index;
        case CollectiveKind::reduce_scatter:
            return layout.rank * layout.part + index;
        case CollectiveKind::all_gather:
            if (index / layout.part != from) return std::nullopt;
            return index % layout.part;
        case CollectiveKind::all_to_all:
            if (index / layout.part != from) return std::nullopt;
            return layout.rank * layout.part + index % layout.part;
        default:
            if (from != 0) return std::nullopt;
            return index;
    }
}

}  // namespace ridge::measure
