#include "cli/views/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "cli/console/table.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

constexpr std::size_t most_names = 4;

constexpr double step = 1000.0;  ///< from one unit to the next

/// The name of the unit `factor` times as large as that of the column.
std::string other_unit(Time unit, double factor) {
    static constexpr std::array<std::pair<Time, std::string_view>, 4> units_of_columns{
        std::pair{units::ns, "nanoseconds"}, std::pair{units::us, "microseconds"},
        std::pair{units::ms, "milliseconds"}, std::pair{units::s, "seconds"}};
    for (const auto& [each, name] : units_of_columns) {
        const double ratio = each.in(factor * unit);
        if (ratio > 0.5 && ratio < 2.0) return std::string(name);
    }
    return {};
}

/// ": milliseconds?"
std::string question(Time unit, double factor) {
    const std::string name = other_unit(unit, factor);
    return name.empty() ? name : ": " + name + "?";
}

/// What is wrong with the time; empty if nothing is.
std::string doubt(Time measured, Time unit, const model::Prediction& p) {
    if (measured < p.lower_bound) {
        const bool fits = step * measured >= p.lower_bound && measured <= p.high;
        return fmt::format("{} is faster than the GPU can be ({} at least){}", format(measured),
                           format(p.lower_bound), fits ? question(unit, step) : "");
    }
    // A slow kernel may take ten times as long as predicted, but rarely a thousand times.
    const double ratio = measured.in(p.time);
    if (ratio < 0.5 * step || ratio > 2.0 * step) return {};
    return fmt::format("{} is {:.0f} times what is predicted ({}){}", format(measured), ratio,
                       format(p.time), question(unit, 1.0 / step));
}

}  // namespace

std::string unit_meant(Time measured, Time unit, const model::Prediction& p) {
    // Within a factor of ten of the prediction, if the unit is wrong by a thousand.
    constexpr double sure = 10.0;
    const double ratio = measured.in(p.time);
    const bool short_by_step = measured * sure < p.lower_bound && ratio * step < sure;
    const bool short_but_near = short_by_step && ratio * step > 1.0 / sure;
    if (short_but_near) return other_unit(unit, step);
    const bool long_by_step = ratio > step / 2.0 && ratio < 2.0 * step;
    return long_by_step ? other_unit(unit, 1.0 / step) : std::string();
}

std::string short_name_of(const measure::Record& record) {
    if (!record.row) return measure::canonical_text(record.question);
    const measure::TableRow& row = *record.row;
    return row.name.empty() ? to_string(row.location) : row.name;
}

void LeftOut::add(const measure::Record& record, const std::string& reason) {
    names_[reason].push_back(short_name_of(record));
}

std::size_t LeftOut::count() const {
    std::size_t count = 0;
    for (const auto& [reason, names] : names_) count += names.size();
    return count;
}

void LeftOut::write(const Context& context, std::size_t total) const {
    if (count() == 0) return;
    context.err << fmt::format("ridge: {} of {} records {} not drawn:\n", count(), total,
                               count() == 1 ? "is" : "are");
    for (const auto& [reason, names] : names_) {
        std::string line = fmt::format("{}, {}: ", names.size(), reason);
        for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i) {
            line += (i == 0 ? "" : "; ") + printable(names[i]);
        }
        if (names.size() > most_names) line += "; ...";
        const auto width = static_cast<std::size_t>(std::max(40, context.width));
        context.err << "  " << wrap(line, width, 4, 2) << '\n';
    }
}

DoubtfulTimes::~DoubtfulTimes() {
    if (found_ > most_names) {
        context_.err << fmt::format("ridge: and {} more such times\n", found_ - most_names);
    }
}

void DoubtfulTimes::look_at(const Location& place, Time measured, Time unit,
                            const model::Prediction& p) {
    const std::string text = doubt(measured, unit, p);
    if (text.empty() || ++found_ > most_names) return;
    context_.err << fmt::format("ridge: {}: {}\n", printable(to_string(place)), text);
}

void write_doubtful_times(const Context& context, const measure::Validation& validation,
                          std::span<const measure::Record> records) {
    DoubtfulTimes doubtful(context);
    for (const measure::Comparison& comparison : validation.comparisons) {
        const measure::Record& record = records[comparison.record];
        if (!record.row) continue;
        doubtful.look_at(record.row->location, record.time(), record.row->unit,
                         comparison.prediction);
    }
}

}  // namespace ridge::cli
