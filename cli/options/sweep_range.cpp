#include "cli/options/sweep_range.h"

#include "hardware/count.h"
#include "hardware/error.h"
#include "model/core/fields.h"

namespace ridge::cli {
namespace {

constexpr std::int64_t most_values = 10'000'000;

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

InputError broken(std::string_view field, std::string_view text, const std::string& why) {
    return InputError(std::string(field) + ": range '" + std::string(text) + "' " + why, {},
                      "first:last:step, first:last:*factor, a,b,c or @field");
}

std::vector<std::int64_t> arithmetic(std::string_view field, std::string_view text,
                                     std::int64_t first, std::int64_t last, std::int64_t step) {
    if (step < 1) throw broken(field, text, "needs a positive step");
    if ((last - first) / step >= most_values) throw broken(field, text, "has too many values");
    std::vector<std::int64_t> values;
    for (std::int64_t value = first; value <= last; value += step) {
        values.push_back(value);
        if (last - value < step) break;
    }
    return values;
}

std::vector<std::int64_t> geometric(std::string_view field, std::string_view text,
                                    std::int64_t first, std::int64_t last, std::int64_t factor) {
    if (factor < 2 || first < 1) {
        throw broken(field, text, "needs a factor of at least 2 and a positive start");
    }
    std::vector<std::int64_t> values;
    for (std::int64_t value = first; value <= last; value *= factor) {
        values.push_back(value);
        if (value > last / factor) break;
    }
    return values;
}

/// Parses a count, or a size if the field is a size.
std::int64_t value_of(std::string_view text, std::string_view field) {
    const bool size = field == model::info_of(model::Field::bytes).name;
    return parse_count(text, field, size ? CountUnit::bytes : CountUnit::none);
}

}  // namespace

bool is_range(std::string_view text) {
    return text.find_first_of(":,@") != std::string_view::npos;
}

SweepRange parse_range(std::string_view field, std::string_view text) {
    SweepRange range;
    if (!text.empty() && text.front() == '@') {
        range.follows = text.substr(1);
        return range;
    }
    if (text.find(',') != std::string_view::npos) {
        for (const std::string_view part : split(text, ',')) {
            range.values.push_back(value_of(part, field));
        }
        return range;
    }
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() == 1) {
        range.values.push_back(value_of(text, field));
        return range;
    }
    if (parts.size() > 3) throw broken(field, text, "has too many parts");
    const std::int64_t first = value_of(parts[0], field);
    const std::int64_t last = value_of(parts[1], field);
    if (last < first) throw broken(field, text, "ends before it begins");
    const std::string_view step = parts.size() == 3 ? parts[2] : std::string_view("1");
    const bool factor = step.starts_with('*') || step.starts_with('x');
    range.values = factor ? geometric(field, text, first, last, value_of(step.substr(1), field))
                          : arithmetic(field, text, first, last, value_of(step, field));
    return range;
}

}  // namespace ridge::cli
