#include "answers/diagnose_text.h"

#include <fmt/format.h>

#include <cctype>

#include "hardware/units.h"
#include "measure/record/question.h"

namespace ridge::answers {
namespace {

std::string sentence(std::string text) {
    if (text.empty()) return text;
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text + ".";
}

std::string operation_text(const TimedOperation& row) {
    std::string text;
    for (const model::Step& step : row.steps) {
        text += (text.empty() ? "" : "; ") +
                measure::canonical_text(
                    measure::Question{.operation = step.operation, .execution = step.execution});
    }
    return text;
}

}  // namespace

std::string roof_text(const Case& one) {
    if (!one.expected) return {};
    const std::string share = format_number(100.0 * one.of_roof, 3) + " % " + one.roof_name;
    return one.verdict == Verdict::impossible ? share + " (!)" : share;
}

std::string text_of(const Case& one) {
    std::string text = one.row.name + ": " + one.why + ".";
    if (!one.advice.empty()) text += " " + sentence(one.advice);
    return text;
}

Json to_json(const Case& one) {
    Json json{{"name", one.row.name},
              {"operation", operation_text(one.row)},
              {"gpu", one.gpu},
              {"count", one.row.count},
              {"verdict", name_of(one.verdict)},
              {"measured_us", one.row.measured.in(units::us)}};
    if (one.expected) {
        json["expected_us"] = one.expected->in(units::us);
        json["expected_low_us"] = one.low.in(units::us);
        json["expected_high_us"] = one.high.in(units::us);
        json["evidence"] = model::name_of(one.evidence);
        json["roof"] = one.roof_name;
        json["roof_us"] = one.roof.in(units::us);
        json["of_roof"] = one.of_roof;
        json["limiter"] = one.limiter;
        json["to_win_us"] = one.to_win.in(units::us);
    } else {
        json["expected_us"] = Json();
    }
    json["why"] = one.why;
    json["advice"] = one.advice;
    json["elsewhere"] = Json::array();
    for (const Elsewhere& other : one.elsewhere) {
        Json there{{"gpu", other.gpu}, {"expected_us", Json()}};
        if (other.expected) {
            there["expected_us"] = other.expected->in(units::us);
            there["expected_low_us"] = other.low.in(units::us);
            there["expected_high_us"] = other.high.in(units::us);
            there["evidence"] = model::name_of(other.evidence);
            const double speed_up = one.row.measured / *other.expected;
            there["speed_up"] = speed_up;
        }
        json["elsewhere"].push_back(std::move(there));
    }
    return json;
}

Json to_json(const Report& report) {
    Json json{{"schema", diagnose_schema},
              {"verdict", verdict_of(report)},
              {"measured_us", report.measured.in(units::us)},
              {"to_win_us", report.to_win.in(units::us)},
              {"not_modelled", report.unknown},
              {"rows", Json::array()}};
    for (const Case& one : report.cases) json["rows"].push_back(to_json(one));
    return json;
}

}  // namespace ridge::answers
