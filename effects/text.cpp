#include "effects/text.h"

#include <algorithm>
#include <cmath>

#include "hardware/algorithms.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/text.h"
#include "hardware/units.h"

namespace ridge::effects {
namespace {

/// The place of a sentence that speaks of measured points.
constexpr std::string_view if_measured = "if measured";

/// The value at the x of a place.
const Value* value_at(const StudiedSeries& series, std::string_view x) {
    if (series.values.empty()) return nullptr;
    if (x == "first") return &series.values.front();
    if (x == "last") return &series.values.back();
    const auto named = algorithms::find(series.values, x, &Value::name);
    if (named != series.values.end()) return &*named;
    double number = 0.0;
    try {
        number = x.find('.') == std::string_view::npos ? static_cast<double>(parse_count(x, "x"))
                                                       : parse_number(x, "x");
    } catch (const InputError&) {
        return nullptr;
    }
    const auto at = algorithms::find_if(series.values, [number](const Value& value) {
        return std::abs(value.x - number) < 1e-9 * std::max(1.0, std::abs(number));
    });
    return at == series.values.end() ? nullptr : &*at;
}

}  // namespace

Places::Places(const Study& study, const Subject& subject, std::map<std::string, std::string> facts)
    : study_(study), facts_(std::move(facts)) {
    const model::Machine& machine = subject.machine;
    facts_.emplace("gpu", machine.title);
    facts_.emplace("bandwidth", format(machine.dram_bandwidth));
    facts_.emplace("memory", format_capacity(machine.dram_capacity));
    if (machine.sm_count > 0) facts_.emplace("sms", std::to_string(machine.sm_count));
    if (machine.l2.size > Bytes{}) facts_.emplace("l2", format_capacity(machine.l2.size));
    for (const model::DataType type : {model::DataType::bf16, model::DataType::fp16,
                                       model::DataType::tf32, model::DataType::fp8}) {
        if (const auto peak = machine.tensor_peak(type)) {
            facts_.emplace("peak_" + std::string(name_of(type)), format(*peak));
            facts_.emplace("ridge_" + std::string(name_of(type)),
                           format_number((*peak / machine.dram_bandwidth).base(), 3));
        }
    }
    if (const auto peak = machine.vector_peak(model::DataType::fp32)) {
        facts_.emplace("peak_fp32", format(*peak));
        facts_.emplace("ridge_fp32", format_number((*peak / machine.dram_bandwidth).base(), 3));
    }
}

std::optional<Places::Found> Places::find(std::string_view place, Taken taken) const {
    const std::size_t at = place.find('@');
    if (at == std::string_view::npos) return std::nullopt;
    for (const StudiedFigure& figure : study_.figures) {
        for (const StudiedSeries& series : figure.series) {
            if (series.id != place.substr(0, at)) continue;
            const Value* value = value_at(series, place.substr(at + 1));
            if (value == nullptr) continue;
            const auto& y = taken == Taken::measured ? value->measured : value->predicted;
            if (y) return Found{.value = *y, .quantity = series.quantity};
        }
    }
    return std::nullopt;
}

std::optional<double> Places::ratio(std::string_view above, std::string_view below,
                                    Taken taken) const {
    const auto over = find(above, taken);
    const auto under = find(below, taken);
    if (!over || !under || under->value <= 0.0 || over->value <= 0.0) return std::nullopt;
    return over->value / under->value;
}

std::optional<std::string> Places::figure(std::string_view place) const {
    Taken taken = Taken::predicted;
    bool percent = false;
    for (std::size_t colon = place.rfind(':'); colon != std::string_view::npos;
         colon = place.rfind(':')) {
        const std::string_view word = place.substr(colon + 1);
        if (word == "measured") taken = Taken::measured;
        if (word == "%") percent = true;
        place = place.substr(0, colon);
    }
    if (const auto fact = facts_.find(std::string(place)); fact != facts_.end()) {
        return fact->second;
    }
    if (const std::size_t slash = place.find('/'); slash != std::string_view::npos) {
        const auto found =
            ratio(trimmed(place.substr(0, slash)), trimmed(place.substr(slash + 1)), taken);
        if (!found) return std::nullopt;
        return percent ? format_number(100.0 * *found, *found < 0.1 ? 2 : 3) + " %"
                       : format_number(*found, 3);
    }
    const auto found = find(place, taken);
    if (!found) return std::nullopt;
    return percent ? format_number(100.0 * found->value, 3) + " %"
                   : text_of(found->quantity, found->value);
}

bool Places::any_measured() const {
    return algorithms::any_of(study_.figures, [](const StudiedFigure& figure) {
        return algorithms::any_of(figure.series, [](const StudiedSeries& series) {
            return algorithms::any_of(
                series.values, [](const Value& value) { return value.measured.has_value(); });
        });
    });
}

std::optional<std::string> Places::sentence(std::string_view line,
                                            std::vector<std::string>& unfilled) const {
    std::string out;
    bool whole = true;
    while (!line.empty()) {
        const std::size_t open = line.find('{');
        out += line.substr(0, open);
        if (open == std::string_view::npos) break;
        const std::size_t close = line.find('}', open);
        RIDGE_CONTRACT(close != std::string_view::npos);
        const std::string_view place = line.substr(open + 1, close - open - 1);
        if (place == if_measured) {
            whole = whole && any_measured();
        } else if (const auto text = figure(place)) {
            out += *text;
        } else {
            unfilled.emplace_back(place);
            whole = false;
        }
        line.remove_prefix(close + 1);
    }
    return whole ? std::optional(out) : std::nullopt;
}

std::vector<std::string> Places::filled(std::string_view text,
                                        std::vector<std::string>& unfilled) const {
    std::vector<std::string> paragraphs;
    std::string paragraph;
    const auto finish = [&] {
        if (!paragraph.empty()) paragraphs.push_back(std::exchange(paragraph, {}));
    };
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty()) {
            finish();
        } else if (const auto words = sentence(line, unfilled)) {
            paragraph += (paragraph.empty() ? "" : " ") + *words;
        }
    }
    finish();
    return paragraphs;
}

}  // namespace ridge::effects
