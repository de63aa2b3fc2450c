#include "measure/fit/expert_rows.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ridge::measure {
namespace {

using Three = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// An expert's shape on one GPU; tuned tiles are saved under it.
Three tuned_shape(const model::Moe& op) {
    return {op.hidden, op.intermediate / op.tp, op.experts / op.ep};
}

Three owner_of(const model::Moe& op) {
    return {op.intermediate, op.topk, op.experts};
}

}  // namespace

ExpertRows split_experts(std::vector<MeasuredRow> rows) {
    std::map<Three, std::set<Three>> owners;
    for (const MeasuredRow& row : rows) {
        const auto* const op = std::get_if<model::Moe>(&row.operation);
        if (op != nullptr) owners[tuned_shape(*op)].insert(owner_of(*op));
    }
    ExpertRows split;
    for (MeasuredRow& row : rows) {
        const auto* const op = std::get_if<model::Moe>(&row.operation);
        const bool shared = op != nullptr && owners.at(tuned_shape(*op)).size() > 1;
        (shared ? split.shared : split.own).push_back(std::move(row));
    }
    return split;
}

}  // namespace ridge::measure
