#include "cli/views/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/table.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

constexpr std::size_t most_names = 4;

/// The unit that the column may have meant, where the time would fit with it.
std::string meant_unit(const measure::Record& record, const model::Prediction& p) {
    constexpr double step = 1000.0;
    const Time larger = step * record.time();
    if (larger < p.lower_bound || larger > step * p.high) return {};
    if (record.row->unit < 0.5 * units::us) return ": microseconds?";
    return record.row->unit < 0.5 * units::ms ? ": milliseconds?" : ": seconds?";
}

}  // namespace

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
        context.err << "  " << wrap(line, width - 2, 4) << '\n';
    }
}

void write_impossible_times(const Context& context, const measure::Validation& validation,
                            std::span<const measure::Record> records) {
    std::size_t found = 0;
    for (const measure::Comparison& comparison : validation.comparisons) {
        const measure::Record& record = records[comparison.record];
        if (!record.row || record.time() >= comparison.prediction.lower_bound) continue;
        if (++found > most_names) continue;
        context.err << fmt::format("ridge: {}: {} is faster than the GPU can be ({} at least){}\n",
                                   printable(to_string(record.row->location)),
                                   format(record.time()), format(comparison.prediction.lower_bound),
                                   meant_unit(record, comparison.prediction));
    }
    if (found > most_names) {
        context.err << fmt::format("ridge: and {} more such times\n", found - most_names);
    }
}

}  // namespace ridge::cli
