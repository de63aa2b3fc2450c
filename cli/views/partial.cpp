#include "cli/views/partial.h"

#include "hardware/units.h"

namespace ridge::cli {

void add_left_out(Json& json, Time sum, const model::Unmodelled& left_out) {
    json["not_modelled"] = left_out.operations();
    if (left_out.empty()) return;
    json["at_least_us"] = sum.in(units::us);
    json["not_modelled_reasons"] = Json::array();
    for (const auto& [reason, operations] : left_out.reasons()) {
        json["not_modelled_reasons"].push_back({{"reason", reason}, {"operations", operations}});
    }
}

Json sum_in_us(Time sum, const model::Unmodelled& left_out) {
    return left_out.empty() ? Json(sum.in(units::us)) : Json();
}

}  // namespace ridge::cli
