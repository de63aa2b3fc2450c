#include "cli/views/grades.h"

#include <fmt/format.h>

#include <utility>

#include "hardware/units.h"

namespace ridge::cli {

std::string evidence_text(const programs::Totals& total) {
    std::string text;
    for (std::size_t i = total.by_grade.size(); i-- > 0;) {
        if (total.by_grade[i] <= Time{}) continue;
        text += fmt::format("{}{} {} %", text.empty() ? "" : ", ",
                            name_of(static_cast<model::Grade>(i)),
                            format_number(100.0 * (total.by_grade[i] / total.time), 3));
    }
    return text;
}

Json evidence_json(const programs::Totals& total) {
    if (!total.left_out.empty() || total.time <= Time{}) return {};
    Json shares = Json::object();
    for (std::size_t i = 0; i < total.by_grade.size(); ++i) {
        shares[name_of(static_cast<model::Grade>(i))] = Json(total.by_grade[i].in(total.time));
    }
    return {{"grade", name_of(weakest_grade(total))}, {"shares", std::move(shares)}};
}

}  // namespace ridge::cli
