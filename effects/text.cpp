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
constexpr double alike = 0.05;  // two figures that differ by less are "the same"

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

bool Relation::holds() const {
    switch (relation) {
        case '>':
            return a > b;
        case '<':
            return a < b;
        default:
            return apart(a, b) < alike;
    }
}

Places::Places(const Study& study, const Subject& subject, std::map<std::string, std::string> facts,
               std::map<std::string, double> numbers)
    : study_(study), facts_(std::move(facts)), numbers_(std::move(numbers)) {
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
            if (!y) continue;
            const bool bounded = taken == Taken::predicted && !value->computed &&
                                 !value->measured && value->evidence == model::Grade::datasheet;
            return Found{.value = *y, .quantity = series.quantity, .only_bounded = bounded};
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

bool Places::only_bounded(std::string_view place) const {
    const auto found = find(place, Taken::predicted);
    return found && found->only_bounded;
}

namespace {

/// A place without its words after ':', and what they say.
struct Marked {
    std::string_view place;
    Taken taken = Taken::predicted;
    bool percent = false;
};

Marked marked(std::string_view place) {
    Marked out{.place = place};
    for (std::size_t colon = place.rfind(':'); colon != std::string_view::npos;
         colon = out.place.rfind(':')) {
        const std::string_view word = out.place.substr(colon + 1);
        if (word == "measured") out.taken = Taken::measured;
        if (word == "%") out.percent = true;
        out.place = out.place.substr(0, colon);
    }
    return out;
}

}  // namespace

std::optional<std::string> Places::figure(std::string_view text) const {
    const Marked mark = marked(text);
    if (const auto fact = facts_.find(std::string(mark.place)); fact != facts_.end()) {
        return fact->second;
    }
    if (const std::size_t slash = mark.place.find('/'); slash != std::string_view::npos) {
        const std::string_view over = trimmed(mark.place.substr(0, slash));
        const std::string_view under = trimmed(mark.place.substr(slash + 1));
        const auto found = ratio(over, under, mark.taken);
        if (!found) return std::nullopt;
        if (mark.taken == Taken::predicted && (only_bounded(over) || only_bounded(under))) {
            return std::nullopt;
        }
        return mark.percent ? format_number(100.0 * *found, *found < 0.1 ? 2 : 3) + " %"
                            : format_number(*found, 3);
    }
    const auto found = find(mark.place, mark.taken);
    if (!found || found->only_bounded) return std::nullopt;
    return mark.percent ? format_number(100.0 * found->value, 3) + " %"
                        : text_of(found->quantity, found->value);
}

std::optional<double> Places::operand(std::string_view text) const {
    if (const auto number = numbers_.find(std::string(text)); number != numbers_.end()) {
        return number->second;
    }
    if (text.find('@') == std::string_view::npos) {
        try {
            return parse_number(text, "relation");
        } catch (const InputError&) {
            return std::nullopt;
        }
    }
    const Marked mark = marked(text);
    if (const std::size_t slash = mark.place.find('/'); slash != std::string_view::npos) {
        return ratio(trimmed(mark.place.substr(0, slash)), trimmed(mark.place.substr(slash + 1)),
                     mark.taken);
    }
    const auto found = find(mark.place, mark.taken);
    return found ? std::optional(found->value) : std::nullopt;
}

/// Of "a > b; c ~ d"; empty if an operand is not known.
std::optional<std::vector<Relation>> Places::relations(std::string_view text) const {
    std::vector<Relation> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        const std::string_view one = text.substr(0, end);
        const std::size_t sign = one.find_first_of("><~");
        RIDGE_CONTRACT(sign != std::string_view::npos);
        const std::string_view left = trimmed(one.substr(0, sign));
        const std::string_view right = trimmed(one.substr(sign + 1));
        const auto a = operand(left);
        const auto b = operand(right);
        if (!a || !b) return std::nullopt;
        out.push_back({.left = std::string(left),
                       .a = *a,
                       .relation = one[sign],
                       .right = std::string(right),
                       .b = *b});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
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

std::vector<std::vector<Claim>> Places::claims(std::string_view text,
                                               std::vector<std::string>& unfilled) const {
    std::vector<std::vector<Claim>> paragraphs(1);
    bool said = false;  // of the group that the last line belongs to
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty()) {
            if (!paragraphs.back().empty()) paragraphs.emplace_back();
            continue;
        }
        const bool other = line.front() == '|';
        if (other) line = trimmed(line.substr(1));
        if (other && said) continue;
        said = false;
        std::vector<Relation> given;
        if (line.front() == '[') {
            const std::size_t close = line.find(']');
            RIDGE_CONTRACT(close != std::string_view::npos);
            const auto found = relations(line.substr(1, close - 1));
            if (!found) continue;
            const bool hold = algorithms::none_of(
                *found, [](const Relation& relation) { return !relation.holds(); });
            if (!hold) continue;
            given = *found;
            line = trimmed(line.substr(close + 1));
        }
        if (auto words = sentence(line, unfilled)) {
            said = true;
            paragraphs.back().push_back({.text = std::move(*words), .relations = std::move(given)});
        }
    }
    if (paragraphs.back().empty()) paragraphs.pop_back();
    return paragraphs;
}

std::vector<std::string> paragraphs_of(const std::vector<std::vector<Claim>>& claims) {
    std::vector<std::string> out;
    for (const std::vector<Claim>& paragraph : claims) {
        std::string text;
        for (const Claim& claim : paragraph) text += (text.empty() ? "" : " ") + claim.text;
        out.push_back(std::move(text));
    }
    return out;
}

}  // namespace ridge::effects
